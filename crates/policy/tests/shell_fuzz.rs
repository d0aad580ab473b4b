//! Random lines of shell, judged by the policy and then run by bash: a program that a rule denies,
//! or that no rule allows, never runs. Each run has a seed of its own, which is printed;
//! `GEMINI_TOOLS_SEED` repeats one, and `GEMINI_TOOLS_TRIALS` multiplies the number of lines.

#![cfg(target_os = "linux")]

#[path = "../../../fuzz/shell/lines.rs"]
mod lines;

use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall, PolicyOptions};
use gemini_tools_settings::settings::Settings;
use gemini_tools_shell::analyse;
use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, path_beneath_rules,
};
use lines::Random;
use serde_json::{Map, Value};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

const LINES: usize = 25_000;

/// How long a random line may run before it is ended. A line that is known to start the program
/// gets more time (`KNOWN_LIMIT`): some start a compiler or a virtual machine first, and the
/// machine may be busy.
const WAIT_LIMIT: Duration = Duration::from_secs(5);

const KNOWN_LIMIT: Duration = Duration::from_secs(600);

const DENY: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"evil\"]\ndecision = \"deny\"\npriority = 900\n";
const ALLOW: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"echo\", \"cat\", \":\"]\ndecision = \"allow\"\npriority = 900\nallowRedirection = true\n";

/// A directory where lines run, with the program `evil`, which creates a file when it runs.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        let place = Self { directory };
        fs::create_dir_all(place.work()).expect("a directory");
        // Another process writes the file: if it were open for writing here, a process that another
        // thread starts at that moment would inherit it, and a file that is open for writing can't
        // be run.
        let evil = "printf '%s\\n' '#!/bin/sh' ': > \"$EVIL_RAN\"' > \"$1\" && chmod 755 \"$1\"";
        for file in [place.path("bin/evil"), place.work().join("evil")] {
            fs::create_dir_all(file.parent().expect("its directory")).expect("a directory");
            let mut sh = Command::new("sh");
            let written = sh.args(["-c", evil, "sh"]).arg(&file).status();
            assert!(written.expect("sh").success(), "{}", file.display());
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn work(&self) -> PathBuf {
        self.path("home/work")
    }

    /// Returns the command for bash as the tool starts it, without a terminal.
    fn bash(&self, line: &str) -> Command {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "--noprofile", "-c", "--", line])
            .current_dir(self.work())
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .env("EVIL_RAN", self.path("ran"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        bash
    }

    /// Runs a line as the tool does, until it ends, `limit` has passed or the program has run.
    /// Returns true if the program has run.
    fn runs(&self, line: &str, limit: Duration) -> bool {
        let mark = self.path("ran");
        let _ = fs::remove_file(&mark);
        // A file that another line has left could be a script for this one.
        for entry in fs::read_dir(self.work()).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                let _ = fs::remove_dir_all(path);
            } else if entry.file_name() != "evil" {
                let _ = fs::remove_file(path);
            }
        }
        // A file for lines to read. If its content is evaluated as a number, it runs the program.
        // It is not a valid script, because scripts that a line runs by their names are not judged.
        fs::write(self.work().join("f"), "a[$(evil)] )\n").expect("a file");
        let mut bash = self.bash(line);
        let Ok(mut child) = bash.spawn() else {
            return false;
        };
        let group = rustix::process::Pid::from_child(&child);
        let started = Instant::now();
        let mut pause = Duration::from_micros(500);
        while matches!(child.try_wait(), Ok(None)) && !mark.exists() && started.elapsed() < limit {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
        mark.exists()
    }
}

/// Restricts this thread and the processes that it starts to writing below the directories for
/// temporary files and to a few devices: a random line may name any file, and the tests may run as
/// root. If the kernel has no Landlock, nothing is restricted.
fn confine() -> Result<(), RulesetError> {
    let all = AccessFs::from_write(ABI::V3);
    let temporary = [std::env::temp_dir(), "/tmp".into()];
    let devices = [
        "/dev/full",
        "/dev/null",
        "/dev/ptmx",
        "/dev/pts",
        "/dev/tty",
    ];
    Ruleset::default()
        .handle_access(all)?
        .create()?
        .add_rules(path_beneath_rules(temporary, all))?
        .add_rules(path_beneath_rules(devices, all))?
        .restrict_self()?;
    Ok(())
}

struct Judge {
    name: &'static str,
    policy: Policy,
    mode: Mode,
}

impl Judge {
    fn all() -> [Self; 3] {
        [
            Self::that_denies(),
            Self::with("allow", ALLOW, Mode::Default),
            Self::with("nothing", "", Mode::Default),
        ]
    }

    fn that_denies() -> Self {
        Self::with("deny", DENY, Mode::Yolo)
    }

    fn with(name: &'static str, rules: &str, mode: Mode) -> Self {
        let root = TempDir::new().expect("a directory");
        let file = root.path().join("rules.toml");
        fs::write(&file, rules).expect("rules");
        let mut options = PolicyOptions::default();
        options.policy = vec![file];
        let policy = Policy::load(&Settings::default(), None, root.path(), &options);
        assert!(policy.problems.is_empty(), "{:?}", policy.problems);
        Self { name, policy, mode }
    }

    /// Returns what bash would be given without a question, or `None` if there would be one.
    fn lets_run(&self, line: &str) -> Option<String> {
        let mut args = Map::new();
        args.insert("command".to_owned(), Value::from(line));
        let call = PolicyCall {
            name: "run_shell_command",
            aliases: &[],
            server: None,
            args: &args,
            renamed: &[],
            annotations: None,
            kind: Kind::Execute,
            is_built_in: true,
            has_namesake: false,
        };
        let verdict = self.policy.check(&call, self.mode, true);
        let runs = verdict.understood.unwrap_or_else(|| line.to_owned());
        (verdict.decision == Decision::Allow).then_some(runs)
    }
}

#[test]
fn no_program_that_is_denied_or_not_allowed_runs() {
    let trials: usize = number("GEMINI_TOOLS_TRIALS").unwrap_or(1);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    let seed = number("GEMINI_TOOLS_SEED").unwrap_or(now.as_secs() ^ u64::from(now.subsec_nanos()));
    let _ = writeln!(std::io::stderr(), "shell_fuzz: GEMINI_TOOLS_SEED={seed}");
    let (tried, run) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // More threads than processors, because each waits for bash, for some lines until the limit.
    let threads = 3 * std::thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let (tried, run) = (&tried, &run);
        let workers: Vec<_> = (0..threads as u64)
            .map(|i| {
                scope.spawn(move || {
                    let mut random = Random(seed.wrapping_add(i.wrapping_mul(0x1000_0000_01b3)));
                    fuzz(
                        &mut random,
                        (LINES * trials + i as usize) / threads,
                        tried,
                        run,
                    )
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("its failures"))
            .collect()
    });
    let _ = writeln!(
        std::io::stderr(),
        "shell_fuzz: {} lines, of which {} ran",
        tried.load(Ordering::Relaxed),
        run.load(Ordering::Relaxed)
    );
    assert!(failures.is_empty(), "seed {seed}:\n{}", failures.join("\n"));
    assert!(
        run.load(Ordering::Relaxed) * 50 > tried.load(Ordering::Relaxed),
        "hardly any line is let run"
    );
}

/// Lines with which bash runs the program, each in a way that the policy once overlooked.
const ROUNDABOUT: &[&str] = &[
    "echo evil > >(bash); wait; sleep 0.2",
    "exec <<< evil; bash",
    "echo evil | eval bash",
    "echo evil | bash -c bash",
    "echo evil | case x in x) bash;; esac",
    "if false; then :; else bash; fi <<< evil",
    "h() { bash; }; h <<< evil",
    "coproc bash; echo evil >&\"${COPROC[1]}\"; sleep 0.2",
    "echo evil | echo $(bash)",
    "echo evil > h; bash <<<: <h",
    "sh //dev/stdin <<<evil",
    "cd /dev; sh stdin <<<evil",
    "sh 0<<<evil",
    "echo 'a;evil' | xargs -I% sh -c 'echo %'",
    "> 'x;evil'; find . -name 'x;*' -exec sh -c 'echo {}' \\;",
    "$'evil\\0zzz'",
    "evil() { :; }; unset evil; evil",
    "evil() { :; }; builtin unset -f evil; evil",
    "evil() { :; }; un\"set\" evil; evil",
    "false && evil() { :; }; evil",
    "hash -rp $(type -P evil) ls; ls",
    "mapfile -tC evil -c1 y < /etc/passwd",
    "compgen -Cevil",
    "compgen -W '$(evil)'",
    "shopt -s expand_alia\"s\"es\nalias ls=evil\nls",
    "POSIXLY_CORRECT=1\nalias ls=evil\nls",
    "x='a[$(evil)]'; let x",
    "x='a[$(evil)]'; printf -v \"$x\" a",
    "x='a[$(evil)]'; read \"$x\" <<< a",
    "x='a[$(evil)]'; test -v \"$x\"",
    "x='a[$(evil)]'; declare \"$x=1\"",
    "x='a[$(evil)]'; [ -v \"$x\" ]",
    "x='-v a[$(evil)]'; [ $x ]",
    "x=-v; y='a[$(evil)]'; [ \"$x\" \"$y\" ]",
    "x='a[$(evil)]'; [[ $x -eq 1 ]]",
    "x='$(evil)'; echo ${x@P}",
    "x='a[$(evil)]'; echo ${!x}",
    "RANDOM='a[$(evil)]'",
    "for OPTIND in 'a[$(evil)]'; do :; done",
    "x='a[$(evil)]';a=([x]=1)",
    "declare -i x; x='a[$(evil)]'",
    "read x < f; echo $((x))",
    "while read x; do ((s+=x)); done < f",
    "echo evil > h; export 'BASH_ENV=h'; bash -c :",
    "for PS4 in '$(evil)'; do set -x; :; done",
    "env 'BASH_FUNC_ls%%=() { evil; }' bash -c ls",
    "HOME=$(type -P evil); ~",
    "x=-exec; find . $x evil ';'",
    "find . {-exec,evil,';'}",
    "git -c 'alias.x=-c alias.y=!evil y' x",
    "ev\\\n\\\nil",
    "exec 3>g evil",
    "<$\\\nf evil; evil",
    ">\\\t evil",
    "eval -- evil",
    "0>g evil",
    "{evil,x}",
    "echo evil > h; set -k; bash -c : BASH_ENV=h",
    "trap evil EXIT",
    "echo a\\ #; evil",
    "echo hi\n\\\nevil",
    "printf -v PATH %s bin; export PATH=../../bin; evil",
    "tar cf /dev/null f -I evil",
    "awk 'BEGIN { system(\"evil\") }'",
    "sed -n '1e evil' f",
    "sed 's/.*/evil/e' f",
    "python3 -c 'import os; os.system(\"evil\")'",
    "perl -e 'system(\"evil\")'",
    "echo 'system(\"evil\")' | perl",
    "make --eval 'x: ; evil' x",
    "split --filter=evil f",
    "ssh-agent evil",
    "env -S evil",
    "nice env evil",
    "git -c core.pager=evil -p log --help; git -c alias.a=!evil a",
    "find . -maxdepth 0 -exec evil \\;",
    "bash evil",
    "x='a[$(evil)]'; eval 'echo $((x))'",
    "x='a[$(evil)]' bash -c 'echo $((x))'",
    "x='-v a[$(evil)]'; eval '[ $x ]'",
    "declare -n r; r=PS4; r='$(evil)'; set -x; echo",
    "read -aar <<< 'a[$(evil)]'; echo $((ar))",
    "bash 3<<< evil <<< 'exec <&3'",
    "bash <<< 'exec <<< evil'",
    "bash <<< $'read -n 5 x\\nabcdeevil'",
    "cp ../../bin/evil .; bash ev?l",
    "PS1='$(evil)' bash --norc -i <<< :",
    "SHELL=evil script -qc : x",
    "tar -cf /dev/null f '--checkpoint=1' '--checkpoint-act=exec=evil'",
    "perl /dev/fd/0 <<< 'system \"evil\"'",
    "python3 -W error <<< 'import os; os.system(\"evil\")'",
    "python3 -m timeit -n1 'import os; os.system(\"evil\")'",
    "sed '/a/e evil' f",
    "sed -ne'1e evil' f",
    "awk -f - <<< 'BEGIN { system(\"evil\") }'",
    "make -f - <<< 'a:;evil'",
    ". {evil,x}",
    "git {-c,alias.a=!evil} a",
    "cd ../../bin; . evil",
    "[ {\"-v\",'a[$(evil)]'} ]",
    "X+\\\n=1 evil",
    "echo evil > h; BASH_ENV+\\\n=h bash -c :",
    "jobs -x evil",
    "echo 'system(\"evil\")' | perl -I lib",
    "echo 'import os; os.system(\"evil\")' | python3 -W error",
    "echo 'system(\"evil\")' | { perl -I lib; }",
    "h() { perl -I lib; }; echo 'system(\"evil\")' | h",
    "exec <<< 'system(\"evil\")'; perl -I lib",
    "echo 'system(\"evil\")' | bash -c 'perl -I lib'",
    "git init -q; git add f; git grep '-Oevil' a",
    "git init -q; git add f; git grep -1Oevil a",
    "chrt -o '0' evil",
    "x=h; echo evil > h; env \"BASH_ENV=$x\" bash -c :",
    "x=5; timeout -\"k$x\" 5 evil",
    "x=c; taskset -\"$x\" 0 evil",
    "x=5; flock -\"w$x\" a evil",
    "OLDPWD=$PWD/evil; bash ~-",
    "OLDPWD=$PWD/evil; . ~-",
    "git init -q; git config user.email a@b; git config user.name a; git commit -q --allow-empty -m a; git commit -q --allow-empty -m b; git rebase -q -mx evil HEAD~1",
    "git init -q; git config user.email a@b; git config user.name a; git commit -q --allow-empty -m a; git commit -q --allow-empty -m b; x=evil; git rebase -q --exec=\"$x\" HEAD~1",
    "git -c alias.x='!env' x evil",
    "GIT_SSH_COMMAND=env git ls-remote evil:x",
    "git -c diff.external=env diff --no-index evil f",
    "git init -q; export X=evil; git --config-env core.fsmonitor=X status",
    "git init -q; git clone -qu evil . c",
    "git init -q; git ls-remote --u=evil .",
    "git init -q; x=evil; git ls-remote --up\"load-pack=$x\" .",
    "echo evil | script -q /dev/null",
    "script -q /dev/null <<< evil",
    "wc() { cat f; }; n=$(wc -l); echo $((n))",
    "tar cf /dev/null f {--checkpoint=1,--checkpoint-action=exec=evil}",
    "split {--filter=evil,f}",
    "split {\"\"--filter=evil,f}",
    "env {}x=1-e evil",
    "env =-S evil",
    "env /a=b evil",
    "pushd -n \"$(type -P evil)\" > a; bash ~1",
    "pushd -n 'BEGIN { system(\"evil\") }' > a; awk ~1",
    "eval \"exec <<< 'system(q(evil))'\"; perl -I lib",
    "trap \"exec <<< 'system(q(evil))'\" DEBUG; perl -I lib",
    "BASH_ARGV0='a[$(evil)]+'; n=$(wc -l 2>/dev/stdout </none); echo $((n))",
    "command_not_found_handle() { evil; }; none",
    "GIT_EXTERNAL_DIFF='env -u' git diff --no-index evil f",
    "GIT_SSH_VARIANT=ssh GIT_SSH_COMMAND='env -u' git ls-remote evil:x",
    "sed 'a\\' -e '1e evil' f",
    "sed p {-e,'1e evil'} f",
    "sed $'1a\\\\  \\n1e evil' f",
    "awk -- '-v{}; BEGIN { system(\"evil\") }'",
    "perl -V -e 'system(\"evil\")'",
    "python3 -m pickle /dev/stdin <<< $'cos\\nsystem\\n(S\"evil\"\\ntR.'",
    "echo 'int main(){}' > x.c; CFLAGS=';evil #' make -s x.o",
    "tar cfI /dev/null evil f",
    "tar cVIf zstd evil z.tar f",
    "tar -I 'gzip ; evil' -cf z.tgz f",
    "zip -qTTevil -T x.zip f",
    "zip -qT --unz=evil x2.zip f",
    "scp -qS ./evil f h:x",
    "scp -D ./evil f h:x",
    "sftp -qS ./evil h",
    "wget -q --use-askp=evil http://127.0.0.1:9/",
    "wget -qe use_askpass=evil http://127.0.0.1:9/",
    "vim -esc '!evil|q'",
    "echo '!evil' | vim -es",
    "vimdiff -es -c '!evil' -c qa f",
    "gdb -batch -ex 'she evil'",
    "gdb -batch -ex '!evil'",
    "gdb -batch -ex 'pipe info line|evil'",
    "gdb <<< '!evil'",
    "sed 's,.*\\\\,evil,e#,g' <<< 'a\\'",
    "sed 's/[]/]/g;a X/e' <<< 'evil;]'",
    "sed -n --expression='1e evil' f",
    "awk 'BEGIN { print \"x\" | \"evil\" }'",
    "awk 'BEGIN { \"evil\" | getline }'",
    "awk 'BEGIN { 1system(\"evil\") }'",
    "sed $'i\\\\\\\\\\ne evil' f",
    "awk -f /dev/stdin <<< 'BEGIN { system(\"evil\") }'",
    "python3 -Im timeit -n1 'import os; os.system(\"evil\")'",
    "python3 -m trace -c /dev/stdin <<< 'import os; os.system(\"evil\")'",
    "python3 -W ignore -c 'import os; os.system(\"evil\")'",
    "node --import 'data:text/javascript,import{execSync}from\"child_process\";execSync(\"evil\")' /dev/null",
    "npx -c ': ; evil'",
    "npx --call=evil",
    "npm exec --call=evil",
    "npm exe -c evil",
    "npm config edit --editor=evil",
    "sqlite3 <<< '.shell evil'",
    "sqlite3 :memory: \"select edit ('x','evil')\"",
    "sqlite3 :memory: '.once |evil' 'select 1'",
    "gcc -wrapper ./evil -c -x c /dev/null",
    "echo 'int main;' > t.c; make CC=evil t.o",
    "echo 'int main;' > t.c; make 'CC=env evil' t.o",
    "echo 'int main;' > t.c; make CFLAGS=';evil' t.o",
    ": > u.s; AS=evil make u.o",
    "make --ev='x: ; evil' x",
    "prove -e evil f",
    "json_pp -f eval <<< 'system(\"evil\")'",
    "jshell -s - <<< 'new ProcessBuilder(\"evil\").start().waitFor()'",
    "gpgtar --gpg evil -c f",
    "git clone -qu evil f x",
    "python3 -i f <<< 'import os; os.system(\"evil\")'",
    "npm explore npm -g -- evil",
    "ZIPOPT='-TTevil -T' zip q.zip f",
];

#[test]
fn ways_round_a_rule_that_denies_end_in_a_refusal() {
    confine().expect("confined");
    let wrong = |lines: &[&str]| {
        let place = Place::new();
        let deny = Judge::that_denies();
        let mut wrong = Vec::new();
        for line in lines {
            if deny.lets_run(line).is_some() {
                wrong.push(format!("let run: {line:?}"));
            }
            // A line that does not run the program proves nothing.
            if is_here(line) && !place.runs(line, KNOWN_LIMIT) {
                wrong.push(format!("leads nowhere: {line:?}"));
            }
        }
        wrong
    };
    // Some lines wait, so four threads share them.
    let wrong = std::thread::scope(|scope| {
        let parts = ROUNDABOUT.chunks(ROUNDABOUT.len().div_ceil(4));
        let parts: Vec<_> = parts
            .map(|lines| scope.spawn(move || wrong(lines)))
            .collect();
        let parts = parts.into_iter();
        parts
            .flat_map(|part| part.join().expect("judged"))
            .collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines that pass a script to a shell, each with the separators of commands that are tried in the
/// place of `~`.
const CARRIERS: &[(&str, &[&str])] = &[
    ("printf ':~evil~' > s.sh; sh s.sh", C_ESCAPES),
    ("printf \":~evil\" > s.sh; env sh ./s.sh", C_ESCAPES),
    (
        "printf %s: > /dev/null; printf 'set -e~evil -rf d~' | tee s.sh; sh s.sh",
        C_ESCAPES,
    ),
    ("printf '%b' ':~evil~' > s.sh; bash s.sh", C_ESCAPES),
    ("echo -e ':~evil' > s.sh; sh s.sh", C_ESCAPES),
    ("echo $':~evil' > s.sh; sh s.sh", C_ESCAPES),
    (
        "printf 'a:~\\tevil~' | make -f -",
        &["\\n", "\\012", "\\x0a"],
    ),
    ("printf 'a: ;evil~' | make -f -", C_ESCAPES),
    ("awk 'BEGIN { system(\":~evil\") }'", &["\\n", "\\012", ";"]),
    (
        "awk 'BEGIN { print \":~evil\" | \"sh\" }'",
        &["\\n", "\\012", ";"],
    ),
    (
        "python3 -c 'import os; os.system(\":~evil\")'",
        &["\\n", "\\012", "\\x0a", "\\u000a", ";"],
    ),
    (
        "perl -e 'system(\":~evil\")'",
        &["\\n", "\\012", "\\x0a", ";"],
    ),
    (
        "node -e 'require(\"child_process\").execSync(\":~evil\")'",
        &["\\n", "\\x0a", "\\u000a"],
    ),
    ("cat > s.sh <<'E'\n:~evil\nE\nsh s.sh", &["\n", ";", "\n\t"]),
    ("sh -c 'printf \":~evil\" > s.sh; sh s.sh'", &["\\n", ";"]),
    ("echo a | sed 's/a/evil/e'", &[""]),
    ("echo a | sed s/a/evil/e", &[""]),
    ("echo a | sed s,a,evil,e", &[""]),
    ("echo a | sed -e s/a/x/ -e s/x/evil/e", &[""]),
    ("printf ':;\\x65vil' > s.sh; sh s.sh", &[""]),
    ("printf ':;ev\\151l' > s.sh; sh s.sh", &[""]),
    ("echo 'e\\vil' > s.sh; sh s.sh", &[""]),
];

/// Separators of two commands, as escapes that `printf` and `echo -e` know.
const C_ESCAPES: &[&str] = &["\\n", "\\012", "\\x0a", "\\n\\t", "\\x0A", "\\n ", "\\n\\n"];

#[test]
fn a_name_that_stands_in_a_line_is_denied_whatever_carries_it() {
    confine().expect("confined");
    let place = Place::new();
    let deny = Judge::that_denies();
    let mut wrong = Vec::new();
    for (carrier, spellings) in CARRIERS {
        for spelling in *spellings {
            let line = carrier.replace('~', spelling);
            if deny.lets_run(&line).is_some() {
                wrong.push(format!("let run: {line:?}"));
            }
            if is_here(&line) && !place.runs(&line, KNOWN_LIMIT) {
                wrong.push(format!("leads nowhere: {line:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines in which some charset reads the last byte of a letter and the backslash behind it as one
/// character.
const BEYOND_ASCII: &[&str] = &[
    "echo \"中\\$(evil)$x\"",
    "echo \"$x\u{ff5e}\\$(evil)\"",
    "echo \"中\\`evil\\`$x\"",
];

#[test]
fn no_charset_reads_a_printed_line_otherwise() {
    let place = Place::new();
    let judge = Judge::with("nothing", "", Mode::Default);
    let locales = place.path("locales");
    fs::create_dir_all(&locales).expect("a directory");
    let made = ["GBK", "BIG5", "BIG5-HKSCS"].map(|charset| {
        let mut localedef = Command::new("localedef");
        localedef.args(["-c", "-f", charset, "-i", "POSIX"]);
        localedef.stdout(Stdio::null()).stderr(Stdio::null());
        (charset, localedef.arg(locales.join(charset)).spawn())
    });
    for (charset, localedef) in made {
        // `localedef` complains of characters that the charset lacks, but makes the locale.
        let _ = localedef.and_then(|mut localedef| localedef.wait());
        let runs = |line: &str| {
            let _ = fs::remove_file(place.path("ran"));
            let mut bash = place.bash(line);
            bash.env("LOCPATH", &locales).env("LC_ALL", charset);
            bash.status().expect("bash runs");
            place.path("ran").exists()
        };
        if locales.join(charset).is_dir() && charset == "GBK" {
            assert!(runs(BEYOND_ASCII[0]), "the locale is not in force");
        }
        for line in BEYOND_ASCII {
            let text = judge.lets_run(line).expect("let run");
            assert!(
                !runs(&text),
                "{charset}: {line:?} runs the program as {text:?}"
            );
        }
    }
}

/// Programs in the lines above that not every machine has.
const OPTIONAL: &[&str] = &[
    "gcc", "gdb", "git", "gpgtar", "jshell", "json_pp", "make", "node", "npm", "npx", "perl",
    "prove", "python3", "scp", "script", "sftp", "sqlite3", "vim", "vimdiff", "wget", "zip",
];

fn is_here(line: &str) -> bool {
    let is_part = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-');
    let is_there = |program: &str| {
        ["/usr/bin", "/bin"]
            .iter()
            .any(|directory| Path::new(directory).join(program).exists())
    };
    line.split(is_part)
        .filter(|word| OPTIONAL.contains(word))
        .all(is_there)
}

#[test]
fn lines_of_every_day_are_understood() {
    let deny = Judge::that_denies();
    let refused: Vec<_> = EVERY_DAY
        .iter()
        .filter(|line| deny.lets_run(line).is_none())
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Lines whose output and exit status show what they do.
const SHOWN: &[&str] = &[
    "echo hi > a; cat a; wc -l < a",
    "for f in 1 2 3; do echo \"n$f\"; done | tail -n 2",
    "x='a  b'; echo $x \"$x\" ${x#a} ${#x} ${x/a/c} ${x:0:1} ${y:-none}",
    "i=a; while [ $i != aaaa ]; do i=a$i; echo $i; done",
    "case abc in a*) echo yes;; *) echo no;; esac",
    "case x in (a|x) echo 1 ;; y) echo 2 ;; *) echo 3;; esac",
    "case 'a b' in 'a b' | [!a]?) echo $(case in in in) echo one;; esac);; if) echo two; esac",
    "cat <<EOF\nhello $HOME \\$x `echo t` $((1+2)) \"q\" 'r'\n\ttab\nEOF",
    "cat <<'EOF'\n$HOME `x` \\ \"\nEOF",
    "cat <<-EOF\n\tone\n\t\ttwo\n\tEOF\n",
    "cat <<EOF\nEOF\necho done",
    "a=(one 'two three'); echo ${#a[@]} \"${a[1]}\"; for i in \"${a[@]}\"; do echo \"<$i>\"; done",
    "echo {a,b}{1,2} {1..4} *.none",
    "touch p.js q.ts; ls *.{js,ts}",
    "[[ foo.txt == *.txt && 'a b' == a?b ]] && echo m",
    "[[ -f nofile || ! -d . ]] || echo none",
    "echo 'it'\\''s' \"a\\\"b\" \\$HOME \"\\$HOME\" a\\ b",
    "( cd /; pwd ); pwd | grep -c .",
    "{ echo a; echo b >&2; } 2>&1 | sort",
    "true && echo 1 || echo 2; false || echo 3; ! false && echo 4",
    "diff <(echo a) <(echo b); echo $?",
    "read a b <<< 'x y z'; echo \"$b\"",
    "IFS=, read -r a b <<< '1,2'; echo $a-$b",
    "printf '%s|' a 'b c' \"\"; echo",
    "set -- a 'b c'; echo $# \"$2\"; for x in \"$@\"; do echo \"<$x>\"; done",
    "set -euo pipefail; echo ok; false; echo no",
    "trap 'echo bye' EXIT; echo hi",
    "x=$(echo a; echo b); echo \"$x\"; y=`echo c`; echo $y",
    "echo a # comment\n# more\necho b;",
    "if false; then echo 1; elif true; then echo 2; else echo 3; fi",
    "sleep 0.1 & wait $!; echo $?",
    "export A=1 B='x y'; env | grep -c '^[AB]='; A=2 bash -c 'echo $A'",
    "echo one \\\n  two",
    "echo \"multi\nline\"",
    "[ -n \"x\" ] && [ 1 -eq 1 -a 2 -gt 1 ] && echo t",
    "exec 3>o; echo x >&3; exec 3>&-; cat o",
    "echo x | tee y | cat - y",
    "echo $(( 5 * 2 ** 3 % 7 )) $((1<2)) $((-1 - (2 - 3)))",
    "echo ${x:=def} $x; echo ${z:+set}; p=/a/b; echo ${p%/*}",
    "ls nofile 2>/dev/null || echo missing",
    "time true 2>/dev/null; echo t",
    "echo \"${x:-a b}\" '*' \"*\" \\*",
    "echo ~ | grep -c /; echo a~b ~nouser",
    "cat <<A; cat <<B\n1\nA\n2\nB\n",
    "echo é ü \"ß\"",
    "x=5; x+=1; echo $x; arr=(1); arr+=(2); echo ${arr[*]}",
    "while read -r l; do echo \"[$l]\"; done < <(printf 'a\\nb\\n')",
    "echo ok &> out; cat out; echo more &>> out; cat out",
    "echo a >| f1; cat < f1 > f2; cat f2 <f1",
    "echo \"$(cat <<'EOF'\nfix: it's\n\nbody\nEOF\n)\"",
];

#[test]
fn what_is_understood_does_what_was_written() {
    let mut wrong = Vec::new();
    for line in SHOWN {
        let Some(text) = analyse(line).understood().map(str::to_owned) else {
            wrong.push(format!("not understood: {line:?}"));
            continue;
        };
        let run = |line: &str| {
            let place = Place::new();
            let mut bash = place.bash(line);
            let output = bash.stdout(Stdio::piped()).output().expect("bash runs");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let home = place.path("home").display().to_string();
            (said.replace(&home, "~"), output.status)
        };
        if run(line) != run(&text) {
            wrong.push(format!("{line:?} does something else than {text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const EVERY_DAY: &[&str] = &[
    "cargo build --release && cargo test --workspace -- --nocapture",
    "VERSION=$(node -p \"require('./package.json').version\")",
    "npm publish --dry-run=\"$DRY\" --workspace=\"$PACKAGE\" --tag next",
    "RUST_BACKTRACE=1 cargo test foo::bar 2>&1 | tee log",
    "make -j$(nproc) CC=clang test",
    "git commit -m \"$(cat <<'EOF'\nfix: it's done\n\nbody\nEOF\n)\"",
    "while IFS= read -r line; do echo \"$line\"; done < f",
    "IFS=, read -r a b <<< '1,2'; echo $a",
    "source .venv/bin/activate && pip install -r requirements.txt",
    "export PATH=$HOME/.cargo/bin:$PATH && cargo build",
    "PATH=\"$PWD/node_modules/.bin:$PATH\" eslint .",
    "for f in *.txt; do echo \"${f%.txt}\"; done",
    "for i in $(seq 3); do echo \"$i of $((1 + 2))\"; done",
    "find . -type f -name '*.py' -exec grep -l foo {} +",
    "find \"$dir\" -name x | xargs -r rm -f",
    "if [[ \"$x\" == v[0-9]* && -f y ]]; then echo yes; else echo no; fi",
    "case \"$1\" in -h | --help) echo usage ;; *) exit 1 ;; esac",
    "set -euo pipefail; trap 'rm -f tmp' EXIT; echo hi > tmp",
    "arr=(a b c); for i in \"${arr[@]}\"; do echo \"$i ${#arr[@]}\"; done",
    "diff <(sort a) <(sort b) || true",
    "cat <<EOF > f.txt\nhello $USER ${x:-none}\nEOF",
    "npx eslint \"src/**/*.ts\" && uv run pytest -q",
    "RUSTFLAGS='-D warnings' cargo test; CFLAGS=\"-O2 $CFLAGS\" LDFLAGS=-Lx make",
    "git log --oneline | less; rg -n \"$pattern\" src; cargo test \"$name\"; npm run \"$task\" -- --watch",
    "python3 -m mypackage.cli --verbose; tar xzf \"$f\" -C \"$d\"; gcc -o \"$out\" a.c -Wall",
    "awk '{print $1}' file | sort -u | sed -e 's/a/b/g'",
    "time make; sleep 1 & wait $!",
    "echo `date` $((1 + 2)) ${HOME} $? $# $$",
    "tar -czf x.tgz src && tar -I zstd -xf y.tar.zst",
    "scp -r -P 2222 dir host:dir && rsync -avz src/ host:src/",
    "scp -i ~/.ssh/key -o StrictHostKeyChecking=no a h:b",
    "zip -qr x.zip dir -x '*.git*' && wget -q https://example.com/x -O x",
    "wget -O \"$out\" https://example.com/x && tar -xzf \"$out\" -C \"$dir\"",
    "tar czf x.tgz src && tar -I 'zstd -19 -T0' -cf x.tar.zst src",
    "make -j4 && make install PREFIX=/usr DESTDIR=/tmp/x",
    "make CC=gcc-12 CFLAGS='-O2 -g' test V=1",
    "man ls && man 3 printf",
    "less file && less -R file",
    "python3 -m pytest -q tests && python3 -m pip install -e . && python3 -m venv .venv",
    "python3 -m http.server 8080",
    "python3 -m json.tool < x.json",
    "python3 -m build && python3 -m mypy src --python-version 3.11 && python3 -m black . && python3 -m ruff check .",
    "python3 -m unittest discover -s tests && python3 -u script.py -c conf",
    "python3 -W ignore script.py --flag",
    "python3 -m coverage run -m pytest",
    "pip install -r requirements.txt && pip list --outdated",
    "node script.js && node --inspect script.js && node --max-old-space-size=4096 script.js",
    "node -r ts-node/register src/index.ts && node --test && node -v",
    "npm ci && npm run build -- -c x && npm install --save-dev typescript && npm test",
    "npx eslint -c eslint.config.js src && npx --yes prettier --check .",
    "npx -p typescript tsc -p . && pnpm install && yarn build",
    "sqlite3 db 'select * from t where a || b = 1' && sqlite3 db .tables '.schema t'",
    "sqlite3 -header -csv ./x.db 'select edits from t'",
    "psql -c 'select a || b from t' -d db && psql -h localhost -U me -f x.sql",
    "gcc -o x x.c -Wall -I. -lm && clang++ -std=c++20 -fuse-ld=lld -o x x.cc",
    "gcc -o \"$out\" x.c",
    "apt-get install -y x && apt-get update -qq && dpkg -i x.deb && dpkg -l",
    "gpg --version && gpg --verify x.sig x",
    "gdb -batch -ex run -ex bt ./x && gdb -p 12 --batch -ex 'thread apply all bt' -ex 'set pagination off'",
    "sed 's/a/b/;s/;$//' f && sed -i '1,3{s/a/b/}' f && sed -i '3i hello' f && sed -i '$ a export FOO=1' f",
    "sed ':a;N;$!ba;s/\\n/ /g' f && sed -n '/a/,/b/p;5q' f && sed -E 's#/x(/y)?#z#g; /^[[:space:]]*$/d' f",
    "sed -i.bak -e '/^#/!s/[^]a]*x/y/' -e 'y/abc/def/' f && sed '/a/{N;d;}' f && sed -i '/x/c\\new text; e' f",
    "sed -n '0~3p;1~2p;2,+3p' f && sed '$!{N;ba};:a' f",
    "awk '$3 > 10 {print $1}' a && awk 'NR>5 && NR<10' a",
    "awk '{ if ($1 ~ /a|b/) print }' f && awk '{ if ($1 > 3) print }' f && awk -F: '$1 == \"a|b\" || /x/ { n += $2 / 2 } END { print n/NR > \"out\" }' f",
    "awk -F'|' -v n=3 '{ print ($1 + $2) / n, arr[$1]++ }' \"$file\"",
    "cargo build --release -p x && cargo clippy --all-targets -- -D warnings && RUSTFLAGS='-D warnings' cargo test",
    "go build ./... && go test -run TestX -v ./pkg && go vet ./... && cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang",
    "rg -n --glob '*.rs' 'fn main' src && rg --pre-glob '*.pdf' x",
    "java -jar x.jar -Xmx1g && perl script.pl && ruby -Ilib test.rb && php artisan migrate",
    "git clone --depth 1 https://example.com/x.git && git push -u origin main && git log --extended-regexp",
    "julia -t 4 x.jl && Rscript x.R && lua x.lua",
    "cmake -E env A=1 ls && ccache gcc -c x.c && ctest --output-on-failure",
    "hg status && svn update && jj log && fzf -m < list && gpg --list-keys",
    "vim --version && emacs --version",
];

/// Programs in the random lines that get code as an argument. A rule that denies a program finds
/// its name in the code only if it is written out there, and not if the code composes it: `sed '1e
/// ev*il'`.
const CODE: &[&str] = &["awk", "perl", "python3", "sed", "tar"];

fn fuzz(random: &mut Random, count: usize, tried: &AtomicUsize, run: &AtomicUsize) -> Vec<String> {
    confine().expect("confined");
    let place = Place::new();
    let judges = Judge::all();
    let mut failures = Vec::new();
    for _ in 0..count {
        let line = lines::line(random);
        tried.fetch_add(1, Ordering::Relaxed);
        if line.contains('\0') || line.trim().is_empty() {
            continue;
        }
        if let Some(text) = analyse(&line).understood()
            && analyse(text).understood() != Some(text)
        {
            failures.push(format!(
                "{line:?} is understood as {text:?}, and that otherwise"
            ));
        }
        let let_run: Vec<_> = judges
            .iter()
            .filter_map(|judge| Some((judge.name, judge.lets_run(&line)?)))
            .collect();
        let Some((_, text)) = let_run.first() else {
            continue;
        };
        run.fetch_add(1, Ordering::Relaxed);
        // A process that an earlier line left in the background may run the program late, so a line
        // has failed only if the program runs twice.
        if place.runs(text, WAIT_LIMIT) && place.runs(text, WAIT_LIMIT) {
            let is_in_code = text
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| CODE.contains(&w));
            if is_in_code && let_run.iter().all(|(name, _)| *name == "deny") {
                continue;
            }
            let names: Vec<_> = let_run.iter().map(|(name, _)| *name).collect();
            failures.push(format!("{names:?}: {line:?} ran the program as {text:?}"));
        }
        if failures.len() > 20 {
            break;
        }
    }
    failures
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
