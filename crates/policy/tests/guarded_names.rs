//! Names of guarded files, written in all the ways that bash knows, in lines that a rule allows:
//! bash never writes such a file without a question. bash itself says what a name means. Each run
//! has a seed of its own, which is printed; `GEMINI_TOOLS_SEED` repeats one, and
//! `GEMINI_TOOLS_TRIALS` multiplies the number of lines.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only the generator of numbers is used here")]
mod lines;
mod trials;

use gemini_tools_policy::{Policy, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trials::{number, seed, unasked};

const LINES: u64 = 1_000;

const ALLOW: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 900\nallowRedirection = true\n";

/// Names that no file has yet: bash leaves a pattern for them as it is.
const ABSENT: [&str; 3] = [
    ".github/workflows/new.yml",
    ".git/hooks/post-merge",
    ".git/new/x",
];

const GUARDED: [&str; 7] = [
    ".envrc",
    ".git/hooks/pre-commit",
    ".github/workflows/ci.yml",
    "package.json",
    "src/Makefile",
    "src/.mcp.json",
    "Dockerfile.dev",
];

const FREE: [&str; 4] = ["notes.txt", "src/main.rs", "src/lib/a.rs", "packages.md"];

fn make(root: &Path) {
    for name in GUARDED.iter().chain(&FREE) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("its directory")).expect("made");
        fs::write(path, "as before\n").expect("written");
    }
    fs::write(root.join("new"), "new\n").expect("written");
    symlink("../package.json", root.join("src/link")).expect("a link");
}

fn guarded(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("its entries").flatten() {
            let path = entry.path();
            let name = path
                .strip_prefix(root)
                .expect("below it")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                pending.push(path);
            } else if GUARDED.contains(&name.as_str()) || is_in_guarded_directory(&name) {
                found.insert(name, fs::read(&path).expect("its content"));
            }
        }
    }
    found
}

/// A pattern that is part of a longer word, as in `-t.git*`, matches nothing: bash leaves it as it
/// is, and a directory with this very name is not guarded.
fn is_in_guarded_directory(name: &str) -> bool {
    name.starts_with(".git/") || name.starts_with(".github/")
}

fn spelled(c: char, random: &mut Random, computes: bool) -> String {
    match random.below(18) {
        0 => format!("'{c}'"),
        1 => format!("\"{c}\""),
        2 if c != '/' => format!("\\{c}"),
        3 if c != '/' => "?".to_owned(),
        4 if c != '/' => format!("[{c}]"),
        5 if c != '/' => "*".to_owned(),
        6 => format!("{{{c},zz}}"),
        7 => format!("$'\\x{:02x}'", u32::from(c)),
        8 => format!("{{zz,'{c}'}}"),
        9 if computes && random.below(3) == 0 => format!("$(echo {c})"),
        10 if computes && random.below(3) == 0 => format!("${{x:-{c}}}"),
        11 if random.below(3) == 0 => format!("$'{c}'\"\""),
        _ => c.to_string(),
    }
}

fn line(name: &str, random: &mut Random) -> String {
    let kind = random.below(54);
    // What a variable or a substitution adds to a name is seen for the best-known programs only.
    let computes = kind < 12;
    let words = |name: &str, random: &mut Random| -> String {
        name.chars().map(|c| spelled(c, random, computes)).collect()
    };
    let (directory, base) = name.rsplit_once('/').unwrap_or((".", name));
    let (whole, directory, base) = (
        words(name, random),
        words(directory, random),
        words(base, random),
    );
    match kind {
        0 => format!("echo x > {whole}"),
        1 => format!("echo x >> {whole}"),
        2 => format!("echo x | tee {whole}"),
        3 => format!("cp new {whole}"),
        4 => format!("c'p' new {whole}"),
        5 => format!("cd {directory} && echo x > {base}"),
        6 => format!("dd status=none if=new of={whole}"),
        7 => format!("env cp new {whole}"),
        8 if !whole.contains('\'') => format!("bash -c 'cp new {whole}'"),
        9 => format!("for f in {whole}; do cp new $f; done"),
        10 => format!("sed -i s/before/after/ {whole}"),
        8 | 11 => format!("true; (mv new {whole}) 2>&1 | cat"),
        12 => format!("sort new -uo{whole}"),
        13 => format!("env sort --output={whole} new"),
        14 => format!("shuf -eo{whole} x"),
        15 => format!("sed -n w{whole} new"),
        16 => format!("sed '1!s/a/b/;s/n/m/w '{whole} new"),
        17 => format!("uniq -c new {whole}"),
        18 => format!("ptx -G new {whole}"),
        19 => format!("install -Dt{directory} new"),
        20 => format!("mktemp -p {directory}"),
        21 => format!("find new -fprint {whole}"),
        22 => format!("find {directory} -name {base} -delete"),
        23 => format!("find . -path ./{name} -delete"),
        24 => format!("env time -o {whole} true"),
        25 => format!("git diff --no-index --output={whole} /dev/null new"),
        26 => format!("git -C {directory} diff --no-index --outpu {base} /dev/null main.rs"),
        27 => format!("git interpret-trailers --trailer a=b --in-place {whole}"),
        28 => format!("cat {whole} && split -l1 new {whole} && mv {whole}aa {whole}"),
        29 => format!("git config --file {whole} a.b c"),
        30 => format!("echo {whole} | xargs shuf new -o"),
        31 => format!("f={whole}; shuf new -o \"$f\""),
        32 => format!("cd {directory}; csplit -sf {base} ../new 1"),
        33 => format!("rm {whole}"),
        34 => format!("tar -cf{whole} new"),
        35 => format!("echo x 1<>{whole}"),
        36 => format!("awk '{{ print > \"{name}\" }}' new"),
        38 => format!("cp new /dev/fd/3/{base} 3<{directory}"),
        39 => format!("tee /dev/stdin <{whole}"),
        40 => format!("cd {directory}; gzip {base} 2>&1"),
        41 => format!(
            "env -C {directory} cp {} {base}",
            "../".repeat(9) + "dev/null"
        ),
        42 => format!("awk -v out={whole} '{{ print > out }}' new"),
        43 => format!("ed -s new <<E\nw {name}\nq\nE"),
        44 => format!("find {directory} -name {base} -exec cp new {{}} ';'"),
        45 => format!("sort new --o={whole}"),
        46 => format!("sort new \"-o$PWD/{name}\""),
        47 => format!("git diff --no-index \"--output=$PWD/{name}\" /dev/null new"),
        48 => format!("git diff --no-index {{,}}--output={whole} /dev/null new"),
        49 => format!("sort \"$x\"-o {whole} new"),
        50 => format!("git diff --no-index $(echo --output={name}) /dev/null new"),
        51 => format!("sort new \"${{x:--o{name}}}\""),
        52 => format!("for f in {name}; do git diff --no-index --output=$f /dev/null new; done"),
        53 => format!("echo {whole} | xargs -I{{}} sort new -o{{}}"),
        37 => format!("perl -e 'system(\"cp new {name}\")'"),
        _ => format!("env -C {directory} shuf -eo {base} x"),
    }
}

/// A rule that allows a program lets it read what is guarded, and run what the project has.
#[test]
fn what_reads_or_runs_guarded_files_is_not_asked_about() {
    let place = TempDir::new().expect("a directory");
    let root = place.path().canonicalize().expect("its name");
    make(&root);
    let rules = [(Tier::User, PathBuf::from("own.toml"), ALLOW.to_owned())];
    let policy = Policy::from_texts(&rules, &Settings::default(), &root);
    let is_free = |line: &&&str| unasked(&policy, line).is_some();
    let asked: Vec<_> = READING.iter().filter(|line| !is_free(line)).collect();
    let free: Vec<_> = WRITING.iter().filter(is_free).collect();
    assert!(
        asked.is_empty() && free.is_empty(),
        "asked: {asked:#?}, not asked: {free:#?}"
    );
}

const READING: &[&str] = &[
    "docker build -f Dockerfile.dev -t \"$TAG\" .",
    "sort -o \"$out\" new",
    "cat package.json .git/config",
    "cat package.json | jq -r .version",
    "cat .git/config; gh pr create --title 'about package.json'",
    "cd .github && grep -rn uses . && git log -p -- workflows",
    "sed -n 1,20p package.json",
    "sed -n '/a/,/b/p' src/Makefile",
    "sed 's/a/b/g' package.json | grep -c name | sort",
    "find . -name package.json",
    "git diff --name-only HEAD | xargs prettier --check",
    "git add package.json && git commit -m 'package.json: newer'",
    "git diff HEAD -- package.json",
    "git log --oneline HEAD package.json",
    "git show HEAD:package.json",
    "git push origin HEAD",
    "git archive -o a.tar HEAD",
    "git clone https://example.com/x.git",
    "git remote add up git@example.com:x/y.git",
    "git branch -u up/main && git push -u up main",
    "git config user.name",
    "git config --global --get user.name",
    "git -C src config --list --show-origin",
    "git config get --all a.b",
    "git config --file .gitmodules --get-regexp path",
    "env A=b git config --type=bool --get a.b",
    "cargo test --manifest-path src/Cargo.toml",
    "npm test",
    "make -f src/Makefile all",
    "docker build -f Dockerfile.dev -t a:b .",
    "python3 setup.py build",
    "bash .github/x.sh",
    "time timeout 5 cat .envrc",
    "uniq package.json",
    "test -f package.json && echo .git/config",
    "PATH=\"$PWD/.git/x:$PATH\" ls package.json",
    "ls packages.md | xargs rm",
    "gh pr create --title x --body \"$(cat <<'E'\nchanges package.json\nE\n)\"",
    "cd web && vale src/**/*.ts",
    "gh pr list --json number --jq '.[].number'",
    "bat package.json && perl -e 'print 1' package.json",
    "git --work-tree=.github status",
    "./x.sh package.json && prettier --check package.json && git restore --staged package.json",
    "rm packages.md",
    "find packages.md -iname '*.MD' -empty -print",
    "npm install && cat package.json",
    "git commit -m 'a -> b in package.json'",
    "jq '.version > 3' package.json > new",
    "awk '$3 > 5' package.json",
    "node -e 'console.log([1].map(x => x), require(\"./package.json\").version)'",
    "tree .github && sort -u .envrc && yq .name package.json && ruff check src/.x",
    "cat > new <<'E'\ncp a package.json\nE",
    "echo 'to copy: cp a package.json > b'",
    "pip install -r .github/requirements.txt",
    "eval \"$(ssh-agent -s)\" >/dev/null 2>&1",
    "\"$PYTHON\" -m pytest 2>&1 | tail",
    ". \"$HOME/.cargo/env\" && cargo test",
    "cd .github && cat a.yml 2>/dev/null | head && ls 2>&1",
    "VERSION=$(sed -nE 's/^version = \"(.*)\"/\\1/p' src/Cargo.toml); cargo publish",
    "[[ \"$(sed -n 1p package.json)\" == x ]] && npm t",
    "npm-run-all test:* && tool --omit=a.py,tests/*",
    "git rm -q --cached .envrc && git restore -S package.json",
    "git archive HEAD package.json -o x.tar && git hash-object package.json",
    "git checkout -b x origin/HEAD && git rebase --onto main HEAD~1 x",
    "cd src && cp *.rs ../target/",
    "gh pr create --body-file - <<'E'\nchanges package.json\nE",
    "grep -rn x src | tee /dev/stderr | wc -l",
    "grep -C 3 x new && ./x.sh package.json",
];

const WRITING: &[&str] = &[
    "cp new .github/workflows/ci?.yml",
    "tee ~/.gemini/policies/a?.toml <new",
    "sort new >.vscode/[a]*",
    "curl -so $HOME/.gemini/policies/a.toml https://example.com",
    "tar cf ~+/.gemini/policies/a.toml new",
    "sort -o \"$PWD\"/package.'json' new",
    "uniq new ${x}/.envrc",
    "git config alias.x '!./evil'",
    "cp new ~/.bashr?",
    "rm ~root/.ssh/*",
    "git --work-tree=.gemini reset --hard",
    "cd .gemini && git --git-dir=../.git --work-tree=. reset --hard",
    "git -C .gemini --git-dir=../.git --work-tree . pull",
    "cd /usr && bin/chmod +x package.json",
    "perl -pi -e s/a/b/ package.json",
    "gawk -i inplace 1 package.json",
    "cmake -E rm package.json",
    "git config --add alias.x '!./evil'",
    "git config --global core.fsmonitor ./evil",
    "git config set core.fsmonitor ./evil",
    "git config --type bool a.b true",
    "git config --unset a.b",
    "git config --uns a.b",
    "git config --rename-section a b",
    "git config -e",
    "git config -f src/x a.b c",
    "git config -f --get a.b c",
    "git config $name",
    "git -C src --no-pager config a.b c",
    "env -u X git config a.b c",
    "echo a.b c | xargs git config",
    "strace git config a.b c",
    "/usr/lib/git-core/git-config a.b c",
    "sed -i s/a/b/ package.json",
    "until false; do tee .envr$c; done",
    "bash -c 'git config a.b c'",
    "git init .gemini",
    "git worktree add .claude/x",
    "git checkout other -- package.json",
    "git --work-tree=.gemini checkout other -- settings.json",
    "git format-patch -o .git/hooks HEAD",
    "git archive -oHEAD x",
    "tool --to=local:.git/config",
    "GIT_TRACE=/x/.git/config git status",
    "find .git/hooks -delete",
    "find . -name '*rc' -delete",
    "find . -iname PACKAGE.JSON -delete",
    "tool -aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaao.git/config",
    "command time -o .envrc true",
    "sed -n -e p -e w.envrc new",
    "cd src && shuf new -o .mc?.json",
    "sort -uo.envrc new",
    "sort -uo .envrc new",
    "yq -i .a=1 package.json",
    "yq --inplace .a=1 package.json",
    "ruff check --fix --output-file=package.json",
    "tree -o .envrc",
    "tool run 'cp a package.json'",
    "python3 - <<'E'\nimport os\nos.system('cp new package.json')\nE",
    "ssh localhost 'cd x && echo 1 >.envrc'",
    "tee /dev/stdin <package.json",
    "echo x 3<package.json >/dev/fd/3",
    "cp new /dev/fd/3/ci.yml 3<.github/workflows",
    "{ cd -P /proc/self/fd/3; tee pre-commit; } 3<.git/hooks <new",
    "echo 'rm packag?.json' | sh",
    "bash <<E\ngzip pack\"age.json\"\nE",
    "shopt -s dotglob; gzip *nvrc",
    "awk 'BEGIN{system(\"rm package.json\")}'",
    "make --eval='x:;rm package.json' x",
    "python3 -c 'import os; os.system(\"cp new package.json\\n\")'",
    "node -e 'require(\"child_process\").execSync(`cp new package.json`)'",
    "awk 'BEGIN{system(\"echo a=>package.json\")}'",
    "awk -v out=package.json '{print > out}' new",
    "awk '{print \"x\" > FILENAME}' package.json",
    "npm exec -- cp new package.json",
    "docker run -v .:/w x cp /w/new /w/package.json",
    "ed -s new <<E\nw package.json\nE",
    "sed -n -f - new <<E\nw package.json\nE",
    "vim -es '+w! .envrc' +q new",
    "sqlite3 :memory: '.once package.json' 'select 1'",
    "git checkout v1 --pathspec-from-file=- <<<package.json",
    "git checkout v1 -- 'packag?.json'",
    "git checkout v1 -- ':(top)package.json'",
    "git restore -s v1 --staged --work package.json",
    "git restore -s v1 -S -qW package.json",
    "git clone https://example.com/org/.claude.git",
    "gunzip -f src/package.json.gz",
    "sed -i.json s/a/b/ package",
    "sed -i'*.json' s/a/b/ package",
    "sed -i'pack*.json' s/a/b/ age",
    "SIMPLE_BACKUP_SUFFIX=.json cp -b new package",
    "export SIMPLE_BACKUP_SUFFIX=.json; mv -b new package",
    "vim -es '+w!package.json' +q new",
    "cp -b -S .json new package",
    "sort new --o=package.json",
    "find . -name 'packag?.json' -exec cp new {} ';'",
    "fd -H . | xargs -I{} cp new {}",
    "find . -path './src?Makefile' -delete",
    "cd src && cp ../new link",
    "pushd src; tee lin? <../new",
    "env -C src cp ../new link",
    "cp -t. new src/link",
    "env --chdir=src cp ../new link",
    "env -Csrc cp ../new link",
];

fn run(root: &Path, line: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", line])
        .current_dir(root)
        .stdin(Stdio::null());
    let _ = bash.output().expect("bash");
}

#[test]
fn no_spelling_of_a_guarded_name_is_written_without_a_question() {
    let seed = seed("guarded_names");
    let mut random = Random(seed);
    let rules = [(Tier::User, PathBuf::from("own.toml"), ALLOW.to_owned())];
    let (mut free, mut guards) = (0, 0);
    let place = TempDir::new().expect("a directory");
    let root = place
        .path()
        .canonicalize()
        .expect("its name")
        .join("project");
    make(&root);
    for _ in 0..LINES * number("GEMINI_TOOLS_TRIALS").unwrap_or(1) {
        let policy = Policy::from_texts(&rules, &Settings::default(), &root);
        let is_guarded = random.below(2) == 0;
        let names = match is_guarded {
            true if random.below(4) == 0 => &ABSENT[..],
            true => &GUARDED[..],
            false => &FREE[..],
        };
        let line = line(names[random.below(names.len())], &mut random);
        let Some(runs) = unasked(&policy, &line) else {
            guards += usize::from(is_guarded);
            continue;
        };
        let before = guarded(&root);
        run(&root, &runs);
        free += usize::from(!is_guarded);
        assert!(guarded(&root) == before, "seed {seed}: {line}");
        fs::remove_dir_all(&root).expect("removed");
        make(&root);
    }
    let _ = writeln!(
        std::io::stderr(),
        "guarded_names: {guards} lines asked, {free} of other files ran"
    );
    assert!(
        free > 50 && guards > 50,
        "one kind of line hardly occurs: {free}, {guards}"
    );
}
