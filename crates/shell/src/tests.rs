//! Tests of programs that run others, with the options of their manuals.

use super::{Analysis, analyse, mentions};

/// Applies rules as a policy does: every command must begin with one of `allow`, if that is given,
/// none may be denied, and a line with unknown commands is not permitted.
fn permits(analysis: &Analysis, allow: Option<&[String]>, deny: &[String]) -> bool {
    let begins = |command: &super::Command| {
        allow.is_none_or(|allow| {
            allow
                .iter()
                .any(|prefix| command.begins_exactly_with(prefix))
        })
    };
    let is_text_denied = |text: &String| deny.iter().any(|prefix| mentions(prefix, text));
    analysis.unresolved.is_empty()
        && !analysis.texts.iter().any(is_text_denied)
        && analysis
            .commands
            .iter()
            .all(|command| begins(command) && !deny.iter().any(|prefix| command.may_run(prefix)))
}

const FOLLOWED: &str = r#"
env -iu A rm x
env -vu A rm x
env -iuA rm x
env --unset=A -C /tmp rm x
env rm -fS x
env -iu A -- rm x
nice -n 5 env -iu A rm x
nice -5 rm x
nice --5 rm x
nohup env -iu A rm x
\time -f %e rm x
command time -ao log rm x
timeout -vk 5 10 rm x
timeout -vs KILL 10 rm x
xargs -tn 1 rm <<< x
xargs -ra f rm
xargs -tL 1 rm
xargs -i rm {}
xargs -iX rm X
xargs --replace rm {}
xargs -l rm
xargs -e rm
xargs -0P4 -I{} rm {}
xargs -J % rm %
exec -ca foo rm x
exec -cla foo rm x
bash -eo pipefail -c "rm x"
sudo -Eu root -- rm x
sudo -nHu root A=1 rm x
stdbuf -o L -eL rm x
setsid -fw rm x
command -p rm x
builtin command rm x
find . -exec env -u + rm {} \;
find . -ok nice -n 5 rm {} +
"#;

#[test]
fn a_program_is_found_behind_options_however_they_are_written() {
    let deny = ["rm".to_owned()];
    let mut hidden = Vec::new();
    for line in FOLLOWED.lines().filter(|line| !line.is_empty()) {
        let analysis = analyse(line);
        let is_named = analysis.root_commands().iter().any(|r| r == "rm");
        if !is_named || permits(&analysis, None, &deny) {
            hidden.push(format!("{line}: {analysis:?}"));
        }
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
}

const NOT_FOLLOWED: &str = r#"
env --unse A rm x
env -S 'rm x'
env -vS 'rm x'
env -iS'-u A rm x'
env --split-string 'A=1 rm' x
nice --adj 5 rm x
timeout --kill 5 10 rm x
bash -oe pipefail -c "rm x"
bash /dev/stdin <<< "rm x"
bash -s a <<< "rm x"
bash <<< "rm x"
env - rm x
env a.b=1 rm x
bash -oc pipefail "rm x"
bash -norc -c "rm x"
bash --norc -O extglob -c "rm x"
sudo --use root rm x
ltrace -fo out rm x
setarch x86_64 rm x
setarch x86_64 -R rm x
setarch -R rm x
linux64 rm x
linux32 -3v rm x
i386 rm x
x86_64 -R rm x
uname26 rm x
setpriv --reuid 1 --clear-groups rm x
chrt -fR 5 rm x
chrt --idle rm x
uclampset -am 5 rm x
choom -n 5 rm x
unshare -rUw /x rm x
unshare --mount rm x
nsenter -t 1 -m rm x
systemd-run -qp A=1 rm x
systemd-run --user --scope -u a rm x
systemd-inhibit --what=idle --why x rm x
dbus-run-session --config-file f rm x
fakeroot -us f rm x
numactl -lN 0 rm x
catchsegv rm x
firejail --quiet --net=none rm x
bwrap --bind / / --dev /dev --setenv A B rm x
proot -b /x -r / rm x
perf trace -s rm x
capsh -- -c "rm x"
/lib64/ld-linux-x86-64.so.2 --argv0 a /bin/rm x
proxychains4 rm x
tini -g -- rm x
dumb-init rm x
faketime -f @1 rm x
caffeinate rm x
unshare
flock -nw 1 f rm x
flock -n f -c 'rm x'
flock --timeout 1 f rm x
ionice -tc 2 rm x
strace -fo out rm x
strace -fe trace=open rm x
strace --output out rm x
watch -tn 1 rm x
watch -xtn 1 rm x
watch -d rm x
zsh -opipefail -c "rm x"
zsh --emulate sh -c "rm x"
fish --command="rm x"
fish -ic "rm x"
script -qc "rm x" /dev/null
script -qec"rm x" /dev/null
script /dev/null --command "rm x"
script -q /dev/null rm x
su -lc "rm /x"
su -pc "rm x"
su root -c "rm x"
su - root -- -c "rm x"
su -s /bin/rm root
su root <<< "rm x"
runuser -u root -- rm x
runuser -u root rm x
runuser -lc "rm x" root
doas -nu root rm x
taskset -ac 0 rm x
prlimit --nofile=5 -c rm x
chroot --userspec=a:b / rm x
xvfb-run -as "-screen 0" rm x
busybox rm x
busybox env -iu A rm x
busybox sh -c "rm x"
toybox rm x
pkexec --user root rm x
valgrind -q --tool=none rm x
perf stat -vr 5 rm x
perf stat -r 5 -e cycles rm x
perf record -go out rm x
parallel -kj 4 rm ::: x
parallel 'rm {}' ::: x
fd -HIx rm
fd -e txt -X env -iu A rm
"#;

#[test]
fn what_other_programs_run_is_not_followed() {
    for line in NOT_FOLLOWED.lines().filter(|line| !line.is_empty()) {
        let analysis = analyse(line);
        assert!(!analysis.unresolved.is_empty(), "{line}: {analysis:?}");
        assert!(!permits(&analysis, None, &["q".to_owned()]));
    }
}

#[test]
fn what_an_option_takes_is_no_program() {
    for (line, roots) in [
        ("env -iu A rm x", vec!["env", "rm"]),
        ("timeout -vk 5 10 rm x", vec!["timeout", "rm"]),
        ("xargs -tn 1 rm", vec!["xargs", "rm"]),
        ("command -pv ls", vec!["command"]),
        ("env rm -fS x", vec!["env", "rm"]),
        ("nice --5 rm x", vec!["nice", "rm"]),
    ] {
        let analysis = analyse(line);
        assert_eq!(analysis.root_commands(), roots, "{line}");
        assert_eq!(analysis.unresolved, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn what_may_be_an_option_makes_a_line_unresolved() {
    for line in [
        "env -q A rm2 x",
        "env --weird A ls x",
        "env $X ls",
        "env {-u,A,ls} x",
        "env {rm,x}",
        "env -u $X ls",
        "env \"-$X\" ls",
        "env A=$X ls",
        "env -S 'rm\\_x'",
        "timeout \"$X\" 5 ls",
        "xargs -P $X ls",
        "xargs env",
        "xargs -I{} {} x",
        "xargs -I% env % x",
        "xargs sh -c",
        "find . -exec {} \\;",
        "flock \"$f\" g ls",
        "bash /dev/fd/3 3<<< 'rm x'",
        "strace -o '|rm x' ls",
        "sudo -Es",
        "linux64",
        "entr -s 'rm x'",
        "git $X status",
        "git --config-env=alias.z=v z",
        "git --config-env alias.z=v z",
        "git --exec-path=/tmp status",
        "git --unheard-of status",
        "git x/y",
        "git my-alias",
        "git rebase -s x/y main",
        "git merge -qs x/y main",
        "git pull --strat=x/y",
        "git revert --strategy x/y HEAD",
        "git config alias.x '!q'",
        "git config --comment user.name core.fsmonitor ./q",
        "git config --file $x",
        "git config -f .git/config core.fsmonitor ./q",
        "git config -f.git/config core.fsmonitor ./q",
        "git submodule --quiet foreach q",
        "exec -a git-remote-ext git x ./q",
        "sg root -c q",
        "tmux new q",
        "man -Tx ls",
        "xargs sort",
        "xargs rg -e --",
        "xargs -I{} rg -{} f",
        "xargs tar cf --",
        "xargs git grep x",
        "xargs --process-slot-var=BASH_ENV ls",
        "script -t 5 log ls",
        "BASH_ALIASES[ls]=rm; shopt -s expand_aliases\nls x",
        "declare -A BASH_CMDS; BASH_CMDS[ls]=/bin/rm; ls x",
        "declare -n p=PATH; p=/tmp; ls",
        "PATH[0]=/tmp; ls",
        "sh -c 'alias ls=rm\nls x'",
        "alias ll='ls -l'",
        "sh -c 'x=\"a PATH=/tmp\"; export A=$x; ls'",
        "declare -a x='($(q))'",
        "readonly -A x=\"$v\"",
        "for i in a b; do export x=$v; read -ra x <<< a; done",
        "a=(b); typeset a='($(q))'",
        "mapfile < f; eval 'declare MAPFILE=$v'",
        ": ${a[1]:=b}; local a+=\"$v\"",
        "tar -I ./q -cf t f",
        "tar cIf ./q t f",
        "tar -vF./q -cf t f",
        "tar --use-comp ./q -cf t f",
        "tar -I 'zstd -19; q' -cf t f",
        "tar \"-$x\" ./q -cf t f",
        "tar -I\"$x\" -cf t f",
        "rsync -avze ./q f h:",
        "split --fil=./q f",
        "git send-email --smtp=/q f",
        "git fetch \"--$x\" . a",
        "rg --pre ./q a",
        "man -aP./q ls",
        "zip -qTT ./q -T x f",
        "scp -Bo ProxyCommand=./q f h:",
    ] {
        let analysis = analyse(line);
        assert!(!analysis.unresolved.is_empty(), "{line}: {analysis:?}");
        assert!(!permits(&analysis, None, &["q".to_owned()]));
    }
}

#[test]
fn ordinary_lines_stay_resolved() {
    let mut wrong = Vec::new();
    for (line, roots) in [
        ("xargs -n1 -P4 grep -l foo", vec!["xargs", "grep"]),
        ("xargs -0 -I{} cp {} \"$dir\"", vec!["xargs", "cp"]),
        (
            "xargs -P \"$(nproc)\" -n 1 grep x",
            vec!["xargs", "grep", "nproc"],
        ),
        ("env FOO=1 make -j4", vec!["env", "make", "FOO="]),
        ("env FOO=\"$BAR\" make", vec!["env", "make", "FOO="]),
        ("env FOO=*.c make", vec!["env", "make", "FOO="]),
        ("timeout -k 5 10 make", vec!["timeout", "make"]),
        ("timeout --foreground 10m make", vec!["timeout", "make"]),
        ("git -C sub status", vec!["git"]),
        ("git -C \"$dir\" log --oneline -5", vec!["git"]),
        ("git rebase --onto main a", vec!["git"]),
        ("git grep -n -e FOO", vec!["git"]),
        ("git rebase --strategy ours origin/main", vec!["git"]),
        ("git merge --strategy=ort -X theirs main", vec!["git"]),
        ("git bisect start HEAD v1; git bisect bad", vec!["git"]),
        ("git submodule update --init \"$d\"", vec!["git"]),
        ("git config --global user.name 'a b'", vec!["git"]),
        ("git config --get remote.origin.url", vec!["git"]),
        ("xargs git add", vec!["xargs", "git"]),
        ("xargs rg foo --", vec!["xargs", "rg"]),
        ("nice -n 10 cargo build", vec!["nice", "cargo"]),
        ("time make", vec!["make"]),
        (
            "find . -name '*.rs' -exec grep -l x {} +",
            vec!["find", "grep"],
        ),
        ("fd -HI pattern", vec!["fd"]),
        ("bash -euo pipefail -c 'make'", vec!["bash", "make"]),
        ("bash --norc script.sh", vec!["bash"]),
        ("declare -A map", vec!["declare"]),
        ("unshare --help", vec!["unshare"]),
        ("gdb ./program", vec!["gdb"]),
        ("stdbuf -oL make", vec!["stdbuf", "make"]),
        ("sudo -u root -n ls", vec!["sudo", "ls"]),
        ("read -ra a <<< x; export b=\"$c\"", vec!["read", "export"]),
        ("declare -a a; declare a=x b='(c)'", vec!["declare"]),
        ("tar -xzf Images.tgz -CInstall", vec!["tar"]),
        ("tar -cI 'zstd -19 -T0' -f x \"$d\"", vec!["tar"]),
        ("tar --checkpoint=9 -cf t f", vec!["tar"]),
        ("rsync -avz --delete -e ssh f h:", vec!["rsync"]),
        ("git log --cc --author=x", vec!["git"]),
        ("wget -qe robots=off -Oexe u", vec!["wget"]),
        ("scp -i ie -o BatchMode=yes f h:", vec!["scp"]),
        ("rg --pre-glob '*.x' a", vec!["rg"]),
    ] {
        let analysis = analyse(line);
        if analysis.root_commands() != roots || !analysis.unresolved.is_empty() {
            wrong.push(format!("{line}: {analysis:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_command_hides_between_backticks() {
    let deny = ["evil".to_owned()];
    let allow = ["echo".to_owned()];
    let mut hidden = Vec::new();
    for line in [
        "echo \"`:` `evil`\"",
        "echo \"`:``evil`\"",
        "echo `echo x``evil`",
        "echo `echo x`\n`evil`",
        "x=\"`:` `evil`\"",
        "[[ \"`:` `evil`\" ]]",
        "cat <<< \"`:` `evil`\"",
        "a[`echo 1``evil`]=1",
        "echo ${a[`echo 1``evil`]}",
        "echo \"`echo $(ls)` `evil`\"",
        "echo \"$(echo \"`echo x` `evil`\")\"",
        "cat <<E\n`echo x`\n`evil`\nE",
        "cat <<E\n$(echo `echo x` `evil`)\nE",
        "cat <<E\n${x:-`echo x` `evil`}\nE",
        "echo $((`echo 1` `evil`))",
        "echo \"$(ls) `:` `evil`\"",
        "cat <<E\n$(ls) `:` `evil`\nE",
        "echo \"`echo \\`ls\\`` `evil`\"",
        "echo \"`echo x` `evil` `echo y`\"",
    ] {
        let analysis = analyse(line);
        let is_denied = !permits(&analysis, None, &deny);
        if !is_denied || permits(&analysis, Some(&allow), &[]) {
            hidden.push(format!("{line}: {analysis:?}"));
        }
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
}

#[test]
fn substitutions_in_backticks_and_letters_behind_a_backslash_stay_resolved() {
    for line in [
        "echo `ls`",
        "echo \"`ls` `pwd`\"",
        "echo \"$(pwd) `ls`\"",
        "echo \"`ls`\"",
        "echo \"a `ls` b\" $(pwd)",
        "cat <<E\n`ls`\nE",
        "ls caf\\é",
    ] {
        let analysis = analyse(line);
        assert!(analysis.unresolved.is_empty(), "{line}: {analysis:?}");
    }
}

#[test]
fn a_line_that_is_too_long_as_it_is_printed_is_not_understood() {
    // The printed line has quotes around each of these letters, which makes it longer than an
    // argument of a program may be.
    let line = format!("echo {}", "é a ".repeat(26_000));
    assert!(line.len() < super::MAX_LINE);
    let analysis = analyse(&line);
    assert!(analysis.understood().is_none());
    assert!(!permits(&analysis, None, &["q".to_owned()]));
}

#[test]
fn scripts_for_shells_with_words_of_their_own_are_not_understood() {
    for line in [
        "fish -c 'and q'",
        "fish -c \"echo '\\\\' ';q #'\"",
        "zsh -c 'noglob q'",
        "zsh5 -c 'repeat 1 q'",
        "rzsh -c q",
        "ksh93 -c 'redirect q'",
        "csh -c q",
    ] {
        assert!(!analyse(line).unresolved.is_empty(), "{line}");
    }
    for line in ["bash-static -c q", "rbash -c q", "dash -c q"] {
        let analysis = analyse(line);
        assert!(!permits(&analysis, None, &["q".to_owned()]), "{line}");
        assert!(analysis.unresolved.is_empty(), "{line}: {analysis:?}");
    }
}

/// Lines in which one program runs another. Many of the programs are not installed where the tests
/// run; `crates/policy/tests/shell_fuzz.rs` executes the others.
const GIVEN: &str = r#"
awk 'BEGIN { if (1) /"/ ; print 1 | "evil" ; /"/ }'
awk '{ print /[/]|"/ | "evil" }' f
sed 'b}#;e evil' f
sed -ie 1e\ evil -e '1e evil' f
apt-get -qqo apt::update::pre-invoke::=evil update
dpkg --status-logger=evil --configure -a
apt --opt=APT::Update::Pre-Invoke::=evil update
ccache evil
cargo --config 'target.x.runner="evil"' run
cargo rustc -- -C linker=evil
cmake -DCMAKE_C_COMPILER=evil .
cmake -DCMAKE_C_COMPILER_LAUNCHER:STRING=evil .
cmake -E env A=1 B=2 C=3 D=4 evil
cmake -E time evil
bear -- evil
clang -fuse-ld=./evil x.c
cross-env A=1 B=2 C=3 D=4 evil
cargo watch -s evil
dc -e '!evil'
dc <<< '!evil'
debconf-apt-progress --from 0 --to 1 -- evil
npm {exec,evil}
sed 's/a/b/;ba}#;e evil' f
sed '1{b};1e evil' f
sed -йe '1e evil' f
node -p "require('./package.json').version;evil"
read x <<< run; uv "$x" evil
uv r$x evil
npm "$x" -- evil
cmake -E "$x" evil
sed $'a x\ne evil' f
sed $'i\\\\\ne evil' f
awk 'BEGIN { $1system("evil") }'
sed '/[/;e evil;]/d' f
sed '/x/,+1e evil' f
sed $'y/a/b/;1!{1!e evil\n}' f
awk '{ x = 1 / 2; y = "/"; print | "evil" }' f
awk 'BEGIN { print length / 2 ; print | "evil"; print 1 / 3 }'
awk '{ print a[1] /x"/ 1; print | "evil" "/" }' f
awk '{ i++ /"/ 2; print | "evil"; "/" }' f
npx -a a -a b -a c -a d -a e evil
dtach -n s evil
elvish -c evil
emacs -Q --batch --ev '(call-process "evil")'
fzf --prev evil
gdb -ex 'run -c evil' sh
gdb -batch -ex run evil
gdb <<< '!evil'
gdbserver :1 evil
gdbserver --wrapper evil -- :1 ls
git clone -nu evil a b
go run -exec evil .
go test --exec=evil ./...
go build -ldflags -extld=evil .
go vet -vettool evil ./...
gosu root evil
gpg --agent-program evil -K
gpg2 --pinentry-prog evil -K
gpgtar --gpg evil -c f
hg --config alias.x=!evil x
jj util exec -- evil
java -XX:OnError=evil X
lckdo f evil
less -N+!evil f
lldb -o 'platform shell evil'
m4 -Dx='syscmd(evil)' f
m4 <<< 'syscmd(evil)'
make 'x!=evil'
make 'x;evil'
make COMPILE.c=evil x.o
make CFLAGS='-O2 -wrapper evil' x.o
make SHELL=evil x
man -aPevil ls
man --pag=evil ls
more +!evil f
mypy --python-exec evil x
mysql -e '\! evil'
mysql --pager=evil
npm --editor evil config edit
npm expl npm -- evil
ftp < evil
pkexec < evil
poetry shell < evil
npx < evil
timeout 2 npx --prefix d <evil
echo evil | npm exec
echo evil | nix develop
npx -yc evil
npx --ca evil
npx -p a -p b -p c evil
yarn evil x
npx -p a -p b -p c npx -p d evil
nix shell a b c d -c evil
mise exec a b c d -- evil
nu -c evil
pee evil
perl -F'/x/;system("evil");#/' f
pip config edit --editor evil
pip --pyth evil list
pnpm -C d --reporter silent evil
pnpm evil exec x
pnpm exec 'true; evil'
proxychains evil
proxychains3 evil
prove -ve evil
psql -o '|evil' -c 'select 1'
psql --output='|evil'
psql -qo'|evil'
psql -c '\! evil'
pwsh -c evil
python3 -m pipx "$x" evil
python3 -m uv run evil
R CMD evil
rg --pre evil x
rg --pre=evil x
rg --hostname-bin evil x
rr record evil
rustc -Clinker=evil x.rs
rsync -avze evil a h:
runcon a evil
scp -qS evil a h:x
scp -D evil a h:x
scp -oProxyCommand=evil a h:x
sftp h <<< '!evil'
sqlite3 :memory: '.tables |evil'
sqlite3 :memory: $'.tables\n.shell evil'
sqlite3 :memory: ' .sh evil'
su-exec root evil
svn --diff-cmd evil diff
svn diff --config-op config:helpers:diff-cmd=evil
systemd-cat -t a -p info --level-prefix=1 evil
systemd-socket-activate -l 1 evil
tar -cf x --rmt-comm=evil f
tar -cf x f $x-I evil
tar -cf x f "${x}-I" evil
tar -cf x f ''""$x-I evil
tar -cf x f "$(true)"-I evil
tar -cf x f ${x:--I} evil
tar -cf x f "${x:+a}"-I evil
sed p "${x}-e1e evil"
sort "$x--compress-program=evil" f
scp "$x-oProxyCommand=evil" a b
git grep x "$x-O"evil
git clone "$x-c" core.sshCommand=evil a b
git bisect "${x}run" evil
git submodule "${x}foreach" evil
ip netns "${x}exec" n evil
tar -cf x f {$x-I,evil}
git rebase "$x-x" evil main
less "$x+!evil" f
torsocks evil
tsp evil
wget -qe use_askpass=evil http://x
x86_64-linux-gnu-g++ -wrapper evil x.cc
xonsh -c evil
yarn exec 'true; evil'
zip -qrTT evil x f
AS=evil make
ZCAT=evil x
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=evil cargo run
CARGO_BUILD_RUSTC_WRAPPER=evil cargo run
EXINIT=!evil x
LESS=+!evil git log
MANOPT=-Pevil man ls
NPM_CONFIG_EDITOR=evil npm config edit
Npm_Config_Editor=evil npm config edit
RSYNC_RSH=evil rsync a h:
"#;

#[test]
fn a_program_that_is_given_to_another_is_refused() {
    let deny = ["evil".to_owned()];
    let wrong: Vec<_> = GIVEN
        .lines()
        .filter(|line| !line.is_empty() && permits(&analyse(line), None, &deny))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_letter_of_two_bytes_may_stand_anywhere() {
    for line in GIVEN.lines() {
        for (at, _) in line.char_indices() {
            let (before, behind) = line.split_at(at);
            // The test only makes sure that this does not panic.
            analyse(&format!("{before}й{behind}"));
        }
    }
}

#[test]
fn a_line_may_end_anywhere() {
    for line in GIVEN.lines().chain(FOLLOWED.lines()) {
        for (at, _) in line.char_indices() {
            for end in ["", "\"$", "\"`", "\\", "$("] {
                // The test only makes sure that this does not panic.
                analyse(&format!("{}{end}", &line[..at]));
            }
        }
    }
}

#[test]
fn programs_with_harmless_options_are_permitted() {
    let deny = ["evil".to_owned()];
    let mut wrong = Vec::new();
    for line in [
        "awk '{ print $1 / 2, $2 / 3 }' f",
        "node -p \"require('./package.json').version\"",
        "V=$(node -p 'require(\"./apps/x-y/package.json\").a.b_c')",
        "pnpm -r test && pnpm --filter web build && yarn add lodash",
        "python3 -m pytest -q && python3 -m uv sync",
        "tar -czf \"$name-$version.tar.gz\" \"$dir/-I\" x-$y $z/a",
        "sed -i s/a/b/ \"$f\" \"${d}/x-y\"",
        "sort \"$x.txt\" ${y:-f}",
        "npm dist-tag add ${name}@${version} latest",
        "npm publish --dry-run=\"$x\" --workspace=\"$y\" --tag next",
        "awk 'length($0) > 80 { print FILENAME \":\" NR }' *.rs",
        "awk -F: '{ print $1 }' \"$file\"",
        "awk '!seen[$0]++' f",
        "gcc -MMD -c -o x.o x.c",
        "less -SR f",
        "man -k foo",
        "python3 -V",
        "python3 -u x.py -c y",
        "node -v",
        "npx -y eslint -c x .",
        "echo a | npx -y prettier --stdin-filepath a.js",
        "sed -n '/^a\\/b/,$p' f",
        "sed 's/[[:space:]]*$//; s|a/b|c|' f",
        "sed '1i\\\nhello\n2d' f",
        "sed -E 's/(a|b)/\\1/g;/x/!d' f",
        "wget -nv -O x.html https://example.com/execute",
        "zip -r x.zip .",
    ] {
        if !permits(&analyse(line), None, &deny) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_prefix_is_mentioned_in_its_order_by_whatever_program() {
    for (prefix, line) in [
        ("git push", "docker run img git push"),
        ("git push", "make -f x CMD=\"git push\""),
        ("git push", "npx -c 'git push'"),
        ("git push", "git -C . push"),
        ("git push", "git --no-pager push"),
        ("git push", "python3 -c 'run([\"git\", \"push\"])'"),
        ("git push", "x='git push'; docker run img $x"),
        ("git push", "docker exec -i x sh <<< 'git push'"),
        ("git push", "git $x"),
        ("rm", "kubectl exec p -- rm -rf /"),
        ("rm", "awk 'BEGIN { system(\"/bin/rm x\") }'"),
        ("rm", "find . -name x -exec ./{} \\;"),
        ("rm", "echo a | sed s/a/rm/e"),
        ("rm -rf", "printf 'set -e\\nrm -rf d\\n' > s.sh; sh s.sh"),
        ("rm -rf", "rm -Rf x"),
        ("rm -rf", "rm -r -f x"),
        ("rm -rf", "rm --recursive x --force"),
        ("git push --force", "git push origin main -f"),
        ("npm publish", "npm -s publish"),
        ("cargo publish", "cargo +stable publish"),
    ] {
        assert!(
            !permits(&analyse(line), None, &[prefix.to_owned()]),
            "{prefix}: {line}"
        );
    }
    for (prefix, line) in [
        ("git push", "git log --oneline; docker push x"),
        ("git push", "git log $x"),
        ("git push", "git -C \"$dir\" log"),
        ("rm -rf", "rm -r x"),
        ("rm", "cat docs/rm.d/x.md; ls -l alarm"),
        ("git push --force", "git push origin main --follow-tags"),
    ] {
        assert!(
            permits(&analyse(line), None, &[prefix.to_owned()]),
            "{prefix}: {line}"
        );
    }
}

#[test]
fn an_assignment_that_may_start_programs_is_a_command() {
    for line in [
        "JAVA_HOME=jh; mvn -v",
        "for CARGO_HOME in x; do mvn; done",
        "mvn ${KUBECONFIG:=x}",
    ] {
        let analysis = analyse(line);
        assert!(
            !permits(&analysis, Some(&["mvn".to_owned()]), &[]),
            "{analysis:?}"
        );
    }
    for line in ["LANG=C; mvn -v", "i=0; for f in a b; do mvn $f; done"] {
        let analysis = analyse(line);
        assert!(
            permits(&analysis, Some(&["mvn".to_owned()]), &[]),
            "{analysis:?}"
        );
    }
}

#[test]
fn a_line_that_exceeds_a_limit_is_one_unresolved_text() {
    let nested =
        |open: &str, close: &str| format!("echo {}x{}", open.repeat(10_000), close.repeat(10_000));
    for line in [
        nested("${x:-", "}"),
        nested("${x#", "}"),
        nested("${x/a/", "}"),
        nested("$(", ")"),
        nested("\"$(", ")\""),
        nested("$((", "))"),
        format!("[[ {} x ]]", "! ".repeat(20_000)),
        format!("[[ x{} ]]", " || x".repeat(20_000)),
        format!("[[ {} x {} ]]", "( ".repeat(20_000), ") ".repeat(20_000)),
        format!("{} x", "eval ".repeat(25_000)),
        format!("{} x", "xargs ".repeat(20_000)),
        "a;".repeat(60_000),
        format!("find . {}", "-exec a ".repeat(10_000)),
        "x".repeat(200_000),
    ] {
        let analysis = analyse(&line);
        let reason = analysis.not_plain.as_ref().map(ToString::to_string);
        assert!(reason.is_some(), "{}", &line[..40]);
        assert!(analysis.commands.is_empty() && analysis.unresolved.len() == 1);
    }
}

#[test]
fn what_is_not_plain_is_named_with_its_place() {
    for (line, reason) in [
        ("make; coproc rm x", "`coproc` at column 7"),
        ("ls\necho $[1+2]", "`$[` at line 2, column 6"),
        ("echo 'x", "`'` at column 6"),
        ("select x in a; do :; done", "`select` at column 1"),
        (
            "make; for ((i = 0; i < 3; i++)); do :; done",
            "`((` at column 11",
        ),
        ("echo $((i + 1))", "`i` at column 9"),
        ("echo ${!x}", "`!` at column 8"),
        ("a[0]=b", "`a` at column 1"),
        ("[[ a =~ b ]]", "`=~` at column 6"),
    ] {
        let analysis = analyse(line);
        let not_plain = analysis.not_plain.expect("more than plain shell");
        assert_eq!(not_plain.to_string(), reason, "{line}");
    }
}

#[test]
fn text_beyond_ascii_is_printed_in_single_quotes() {
    // A locale may read the last byte of such a letter and a backslash as one character.
    let analysis = analyse("echo \"中\\$(evil)$x\" 中\\a");
    assert_eq!(
        analysis.understood(),
        Some("echo '中$(evil)'\"${x}\" '中a';")
    );
}
