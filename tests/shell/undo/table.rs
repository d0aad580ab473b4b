//! Commands that change files, each with the program that it needs.

use crate::harness::Workspace;

/// Makes the project in which they run, in a shell.
const PROJECT: &str = r#"
set -e
git init -q -b main .
git config user.email a@b; git config user.name a
printf 'one\ntwo\nthree\n' > a.txt; printf 'int main(void) { return 0; }\n' > main.c
mkdir -p src/deep docs empty; printf 'int util(void) { return 1; }\n' > src/util.c; printf 'int more(void) { return 2; }\n' > src/deep/more.c
printf 'fn   main( ) { }\n' > src/lib.rs; printf '{"b": 1, "a": [1,2]}\n' > data.json
printf '#!/bin/sh\necho run\n' > script.sh; chmod 755 script.sh
ln -s a.txt link; ln -s gone dangling; ln -s src dir-link
printf 'x' > 'with space.txt'; printf 'y' > "$(printf 'new\nline')"; printf 'z' > "$(printf 'caf\351')"; head -c 100000 /dev/zero | tr '\0' q > big.bin
printf 'read only\n' > ro.txt; chmod 444 ro.txt
printf 'all: util.o more.o\n%%.o: src/%%.c\n\tcc -c $< -o $@\nmore.o: src/deep/more.c\n\tcc -c $< -o $@\n' > Makefile
printf 'node_modules/\n*.swp\n' > .gitignore
mkdir dep; printf '{"name":"dep","version":"1.0.0"}\n' > dep/package.json
printf 'text\n' > docs/page.md
git add . ; git commit -qm first
printf 'one\ntwo\nthree\nfour\n' > a.txt; git commit -qam second
git checkout -q -b other HEAD~1; printf 'other\n' > docs/page.md; git rm -q data.json; printf new > docs/other.md; git add .; git commit -qm other; git checkout -q main
printf 'untracked\n' > untracked.txt
printf -- '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n' > ../change.patch
"#;

/// The commands.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("sed", "sed -i s/one/ONE/ a.txt"),
    ("sed", "sed -i.bak s/one/ONE/ a.txt link"),
    ("perl", "perl -pi -e 's/one/ONE/' a.txt main.c"),
    ("awk", "awk '{ print NR, $0 }' a.txt > t && mv t a.txt"),
    ("ed", r"printf '1d\nw\nq\n' | ed -s a.txt"),
    ("vim", "vim -es -u NONE -c '%s/one/two/' -c wq a.txt"),
    ("rm", "rm -rf ./*"),
    ("rm", "rm link dir-link dangling"),
    ("mv", "mv src lib && echo more >> lib/util.c"),
    ("mv", "mv docs src/ && mv src empty/"),
    ("mv", "mv a.txt t && mv data.json a.txt && mv t data.json"),
    ("cp", "cp a.txt new.txt && cp -r src copy"),
    ("bash", ": > a.txt; echo more >> main.c; echo x > dangling"),
    ("dd", "dd if=/dev/zero of=a.txt bs=1 count=3 conv=notrunc"),
    ("chmod", "chmod -R go-rwx docs src; echo more >> src/util.c"),
    ("ln", "ln a.txt hard; echo more >> hard"),
    ("git", "git checkout -q other"),
    ("git", "echo x > a.txt; git checkout -q -- a.txt"),
    ("git", "git clean -fdxq"),
    ("git", "git reset -q --hard HEAD~1"),
    ("git", "echo x >> a.txt; git stash -q -u"),
    ("git", "echo x >> a.txt; git commit -qam third"),
    ("git", "git merge -q -m merged other"),
    ("git", "git cherry-pick other"),
    ("git", "git gc -q --prune=now"),
    ("patch", "patch -p1 < ../change.patch"),
    (
        "python3",
        r#"python3 -c 'open("a.txt", "w").write("x"); open("main.c", "r+").write("y")'"#,
    ),
    (
        "python3",
        r#"python3 -c 'import os; open("t", "w").write("x"); os.replace("t", "a.txt"); os.truncate("main.c", 2)'"#,
    ),
    (
        "python3",
        r#"python3 -c 'import subprocess as s; s.run(["sed", "-i", "s/one/1/", "a.txt"]); s.run(["rm", "main.c"])'"#,
    ),
    (
        "python3",
        r#"python3 -c 'import threading as t; [t.Thread(target=lambda i=i: open(f"t{i % 7}", "a").write("x")).start() for i in range(200)]; open("a.txt", "a").write("y")'"#,
    ),
    (
        "python3",
        r#"python3 -c 'import mmap; f = open("big.bin", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:3] = b"abc"; m.flush()'"#,
    ),
    (
        "python3",
        r#"python3 -c 'import sqlite3; c = sqlite3.connect("new.db"); c.execute("create table t(x)"); c.execute("insert into t values(1)"); c.commit()'"#,
    ),
    (
        "node",
        r#"node -e 'const fs = require("fs"); fs.writeFileSync("a.txt", "x"); fs.rmSync("src", {recursive: true}); fs.renameSync("docs", "d")'"#,
    ),
    (
        "npm",
        "npm init -y && npm install --offline --no-audit ./dep",
    ),
    ("make", "make -s -j4 && make -s -B -j4"),
    ("cc", "cc -static -o prog main.c && ./prog && strip prog"),
    (
        "musl-gcc",
        r#"printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { FILE *f = fopen("a.txt", "w"); fputs("x", f); fclose(f); return unlink("main.c"); }' > s.c && musl-gcc -static -o s s.c && ./s"#,
    ),
    (
        "tar",
        "tar cf t.tar src docs && rm -r src && echo x > docs/page.md && tar xf t.tar",
    ),
    (
        "zip",
        "zip -qr t.zip src && echo x > src/util.c && unzip -qo t.zip src/lib.rs && rm -r docs",
    ),
    ("gzip", "gzip a.txt main.c && gunzip main.c.gz"),
    ("rsync", "rsync -a --delete src/ docs/"),
    ("python3", "python3 -m json.tool data.json data.json"),
    (
        "find",
        "find . -name '*.c' -delete; find . -name '*.txt' -exec sed -i s/e/E/ {} +",
    ),
    (
        "install",
        "install -m 600 a.txt src/util.c && install -D main.c bin/main.c",
    ),
    ("split", "split -b 4 a.txt part. && rm a.txt"),
    ("sort", "sort -r -o a.txt a.txt"),
    ("shred", "shred -u a.txt"),
    ("mkfifo", "mkfifo pipe"),
    ("jq", "jq .a data.json > t && mv t data.json"),
    (
        "bash",
        r#"for f in *; do [ -f "$f" ] && echo x >> "$f"; done; exit 3"#,
    ),
    (
        "bash",
        "rm -r src && echo file > src; rm a.txt && mkdir a.txt && touch a.txt/f",
    ),
    (
        "bash",
        "rm src/util.c && ln -s ../a.txt src/util.c; rm link && mkdir link",
    ),
    (
        "bash",
        r#"cd src/deep && echo x >> ../../a.txt && rm ../util.c && mv more.c "$OLDPWD/docs/""#,
    ),
    (
        "bash",
        "echo x > /dev/fd/3 3>>a.txt; cat main.c > /proc/self/cwd/a.txt",
    ),
];

/// Makes a project with a git repository, links, and names and modes of every kind.
pub(super) fn project() -> Workspace {
    let ws = Workspace::new();
    let made = ws.program("bash".as_ref(), &["-c", PROJECT]).unwatched();
    let answer = made.run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    ws
}
