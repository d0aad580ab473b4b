//! The programs that only print what is in the workspace, each with the arguments with which it
//! does nothing else. The programs are those on a list of Gemini CLI 0.61, the arguments those that
//! GNU, BSD and busybox understand in the same way.
//!
//! Left out are options that follow links out of the workspace (`grep -R`, `ls -L`), read names of
//! files from a file (`--files0-from`) or go on for ever (`tail -f`), and options that are a flag
//! on one system and take a value on another (`ls -I`, `ls -w`, `base64 -i`).

use super::grammar::Grammar;

pub(super) const PRINT_ANYTHING: [&str; 3] = ["echo", "false", "true"];

/// Builtins of bash that have a grammar below. The program of that name in `PATH` is never used.
pub(super) const BUILTINS: [&str; 2] = ["cd", "pwd"];

/// The tests, operators and printing actions of `find`. Its other actions write files or start
/// programs.
pub(super) const FIND: &str = "\
    find | file... | -a -amin=number -and -atime=number -cmin=number -ctime=number -daystart \
    -depth -empty -executable -false -group=text -iname=text -inum=number -ipath=text \
    -iregex=text -iwholename=text -links=number -ls -maxdepth=number -mindepth=number \
    -mmin=number -mount -mtime=number -name=text -newer=file -nogroup -not -nouser -o -or \
    -path=text -perm=mode -print -print0 -printf=text -prune -quit -readable -regex=text \
    -regextype=text -size=number -true -type=text -user=text -wholename=text -writable -xdev";

const DIFFERENCES: &str = "\
    -a -b -c -C[=number] -G=text -m -M[=number] -p -q -R -s -S=text -u -U[=number] -w -W -z \
    --abbrev[=number] --cc --check --color[=text] --compact-summary --diff-filter=text \
    --dirstat[=text] --exit-code --find-copies[=number] --find-renames[=number] --full-index \
    --function-context --histogram --ignore-all-space --ignore-blank-lines \
    --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --minimal --name-only \
    --name-status --no-color --no-ext-diff --no-patch --no-renames --no-textconv --numstat \
    --patch --patch-with-stat --patience --pickaxe-all --pickaxe-regex --quiet --raw --shortstat \
    --stat[=text] --summary --text --unified=number --word-diff[=text]";

const COMMITS: &str = "\
    -E -F -i -n=number -NUMBER --abbrev-commit --after=text --all --all-match \
    --author=text --author-date-order --before=text --branches[=text] --committer=text \
    --date=text --date-order --decorate[=text] --first-parent --follow --format=format \
    --full-history --graph --grep=text --invert-grep --left-right --max-count=number --merges \
    --no-abbrev-commit --no-decorate --no-merges --oneline --pretty[=format] \
    --regexp-ignore-case --remotes[=text] --reverse --since=text --skip=number --source \
    --tags[=text] --topo-order --until=text";

/// The commands of git that only read, in a table like [`PROGRAMS`]. They also need a trusted
/// project, because git starts programs that a repository's settings name.
pub(super) const GIT: &str = "\
    branch | | -a -l -r -v --all --color[=text] --format=format --list --no-color --remotes \
        --show-current --sort=key --verbose
    diff | file... | DIFFERENCES --cached --merge-base --staged
    log | file... | COMMITS DIFFERENCES
    show | file... | COMMITS DIFFERENCES
    status | file... | -b -s -u[=text] -v -z --ahead-behind --branch --ignored[=text] --long \
        --no-renames --porcelain[=text] --short --show-stash --untracked-files[=text] --verbose";

/// The programs: each a line with the name, the kinds of the operands and the options, in the
/// notation of [`Grammar`]. A second operand of `uniq` is the file that it writes, so only one is
/// accepted.
pub(super) const PROGRAMS: &str = "\
    base64 | file | -d -w=number --decode --ignore-garbage --wrap=number
    cat | file... | -A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all \
        --show-ends --show-nonprinting --show-tabs --squeeze-blank
    cd | file | -L -P
    cut | file... | -b=text -c=text -d=text -f=text -n -s -z --bytes=text --characters=text \
        --complement --delimiter=text --fields=text --only-delimited --output-delimiter=text \
        --zero-terminated
    expr | text... |
    grep | pattern file... | -A=number -B=number -C=number -D=read|skip -E -F -G -H -I -L \
        -NUMBER -P -T -U -Z -a -b -c -d=read|skip|recurse -e=pattern -h -i -l -m=number -n -o -q \
        -r -s -v -w -x -y -z --after-context=number --basic-regexp --before-context=number \
        --binary --binary-files=text --byte-offset --color[=text] --colour[=text] \
        --context=number --count --devices=read|skip --directories=read|skip|recurse \
        --exclude-dir=text --exclude=text --extended-regexp --files-with-matches \
        --files-without-match --fixed-strings --group-separator=text --ignore-case \
        --include=text --initial-tab --invert-match --label=text --line-buffered --line-number \
        --line-regexp --max-count=number --no-filename --no-group-separator --no-ignore-case \
        --no-messages --null --null-data --only-matching --perl-regexp --quiet --recursive \
        --regexp=pattern --silent --text --with-filename --word-regexp
    head | file... | -NUMBER -c=number -n=number -q -v -z --bytes=number --lines=number \
        --quiet --silent --verbose --zero-terminated
    id | text... | -G -Z -a -g -n -r -u -z --context --group --groups --name --real --user \
        --zero
    ls | file... | -1 -A -B -C -F -G -N -Q -R -S -U -X -Z -a -b -c -d -f -g -h -i -k -l -m \
        -n -o -p -q -r -s -t -u -v -x --all --almost-all --author --block-size=text \
        --classify[=text] --color[=text] --context --directory --escape --file-type \
        --format=text --full-time --group-directories-first --hide-control-chars --hide=text \
        --human-readable --ignore-backups --ignore=text --indicator-style=text --inode \
        --kibibytes --literal --no-group --numeric-uid-gid --quote-name --quoting-style=text \
        --recursive --reverse --show-control-chars --si --size --sort=text --time-style=text \
        --time=text --width=number --zero
    nl | file... | -b=text -d=text -f=text -h=text -i=number -l=number -n=ln|rn|rz -p \
        -s=text -v=number -w=number --body-numbering=text --footer-numbering=text \
        --header-numbering=text --join-blank-lines=number --line-increment=number --no-renumber \
        --number-format=ln|rn|rz --number-separator=text --number-width=number \
        --section-delimiter=text --starting-line-number=number
    numfmt | text... | -d=text -z --debug --delimiter=text --field=text --format=text \
        --from-unit=number --from=text --grouping --header[=number] --invalid=text \
        --padding=number --round=text --suffix=text --to-unit=number --to=text --zero-terminated
    paste | file... | -d=text -s -z --delimiters=text --serial --zero-terminated
    pwd | | -L -P
    rev | file... |
    sed | script file... | -E -e=script -n -r -s -u -z --expression=script --null-data \
        --posix --quiet --regexp-extended --sandbox --separate --silent --unbuffered
    seq | number... | -f=text -s=text -w --equal-width --format=text --separator=text
    stat | file... | -c=text -f -t --file-system --format=text --printf=text --terse
    tac | file... | -b -r -s=text --before --regex --separator=text
    tail | file... | -NUMBER -c=number -n=number -q -v -z --bytes=number --lines=number \
        --quiet --silent --verbose --zero-terminated
    tr | text text | -C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1
    uname | | -a -i -m -n -o -p -r -s -v --all --hardware-platform --kernel-name \
        --kernel-release --kernel-version --machine --nodename --operating-system --processor
    uniq | file | -D -c -d -f=number -i -s=number -u -w=number -z --all-repeated[=text] \
        --check-chars=number --count --group[=text] --ignore-case --repeated --skip-chars=number \
        --skip-fields=number --unique --zero-terminated
    wc | file... | -L -c -l -m -w --bytes --chars --lines --max-line-length --total=text \
        --words
    which | text... | -a
    whoami | |";

/// Finds the grammar of a program, or of a command of git, in a table. In place of an option, a
/// table may have the name of a list of options.
pub(super) fn grammar(table: &'static str, name: &str) -> Option<Grammar> {
    let mut lines = table.lines().map(|line| line.trim_start().splitn(3, " |"));
    let mut line = lines.find(|line| line.clone().next() == Some(name))?;
    let (operands, options) = (line.nth(1)?, line.next()?);
    let options = options.split_whitespace().flat_map(|option| match option {
        "COMMITS" => COMMITS.split_whitespace(),
        "DIFFERENCES" => DIFFERENCES.split_whitespace(),
        option => option.split_whitespace(),
    });
    Some(Grammar {
        options: options.collect(),
        operands,
    })
}
