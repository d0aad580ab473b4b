//! Finds the files and lines that differ from a git commit, by running git.

use gemini_tools_builtin_tools::patch::unquoted;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, RunOptions};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

const GIT_LIMIT: Duration = Duration::from_secs(100);

/// How long to wait, after git has exited, for a process that it has started and that still holds
/// its output open.
const GIT_HOLD: Duration = Duration::from_secs(1);

/// Options of every git command here. They override settings of the repository that would run a
/// program (`core.fsmonitor`, hooks), change how names are printed (`core.quotePath`), or list
/// files of which only the times have changed (`diff.autoRefreshIndex`).
const PLAIN: [&str; 8] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.autoRefreshIndex=true",
];

/// The command that compares the files with a commit. Its options override settings that change
/// what it prints. It runs no external diff and no textconv program, and does not look into
/// submodules, which have settings of their own. It does run clean filters, such as Git LFS's:
/// without them, each file that a filter stores in another form would differ in every line. Deleted
/// files are left out.
const DIFF: [&str; 9] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--ignore-submodules=all",
    "-O/dev/null",
    "--diff-filter=d",
    "--relative",
];

/// The lines that were added to each changed file, by the file's name.
#[derive(Debug, Default)]
pub struct ChangedLines(HashMap<Vec<u8>, Vec<Range<u64>>>);

impl ChangedLines {
    /// Returns true if a file is new or has changed, even if no line was added to it.
    pub fn has_file(&self, file: &[u8]) -> bool {
        self.0.contains_key(file)
    }

    /// Returns true if the line with this number, from 1, was added to the file.
    pub fn has_line(&self, file: &[u8], line: u64) -> bool {
        let ranges = self.0.get(file).into_iter().flatten();
        ranges.into_iter().any(|range| range.contains(&line))
    }
}

/// Returns the files below `root` that differ from the merge base of HEAD and `base`, and the
/// untracked files that git does not ignore. The names are sorted, and relative to `root`.
///
/// # Errors
///
/// Returns `execution_failed` with git's message, for example that there is no such commit.
pub fn files(root: &Path, base: &str, cancel: &Cancellation) -> Result<Vec<Vec<u8>>, ToolError> {
    let changed = diff(root, &["--name-only", "-z"], base, cancel)?;
    let new = untracked(root, cancel)?;
    let mut names: Vec<Vec<u8>> = split_names(&changed).chain(split_names(&new)).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Returns the lines that were added since the merge base of HEAD and `base`. In an untracked file,
/// every line counts as added.
pub fn lines(root: &Path, base: &str, cancel: &Cancellation) -> Result<ChangedLines, ToolError> {
    let more = [
        "--unified=0",
        "--inter-hunk-context=0",
        "--text",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let patch = diff(root, &more, base, cancel)?;
    let mut lines = added(&patch);
    // The patch says nothing of a file that is new and empty, or of which only the mode has
    // changed.
    for name in split_names(&diff(root, &["--name-only", "-z"], base, cancel)?) {
        lines.0.entry(name).or_default();
    }
    for name in split_names(&untracked(root, cancel)?) {
        lines.0.insert(name, std::iter::once(0..u64::MAX).collect());
    }
    Ok(lines)
}

/// Splits a list of names: at NUL bytes if it contains any, otherwise at line feeds. Empty names
/// are dropped.
pub fn split_names(list: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let separator = if list.contains(&0) { 0 } else { b'\n' };
    let names = list.split(move |b| *b == separator);
    names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec)
}

fn untracked(root: &Path, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    git(
        root,
        &["ls-files", "-z", "--others", "--exclude-standard"],
        cancel,
    )
}

fn diff(
    root: &Path,
    more: &[&str],
    base: &str,
    cancel: &Cancellation,
) -> Result<Vec<u8>, ToolError> {
    let arguments = [
        &DIFF[..],
        more,
        &["--merge-base", "--end-of-options", base, "--"],
    ]
    .concat();
    git(root, &arguments, cancel)
}

fn git(root: &Path, arguments: &[&str], cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let arguments = PLAIN.iter().chain(arguments);
    let arguments: Vec<String> = arguments.map(|word| (*word).to_owned()).collect();
    let program = Program {
        name: "git".as_ref(),
        arguments: &arguments,
        environment: &std::env::vars_os().collect(),
        directory: root,
    };
    let options = RunOptions {
        input: Input::Bytes(&[]),
        limit: GIT_LIMIT,
        hold: GIT_HOLD,
        leaves: false,
    };
    let failed = |why: &str| {
        let why = why.trim().trim_end_matches('.');
        let what = format!("git can't tell what has changed: {why}.");
        ToolError::new(ErrorKind::ExecutionFailed, what).with_hint(
            "The commit and its history have to be there: in CI, fetch them (fetch-depth: 0).",
        )
    };
    let run = program.run(options, cancel);
    cancel.check()?;
    let run = run.map_err(|e| failed(&e.to_string()).with_source(e))?;
    match run.ending {
        Ok(ProcessEnd::Code(0)) if run.is_cut => Err(failed("its answer is too long.")),
        Ok(ProcessEnd::Code(0)) => Ok(run.stdout),
        Ok(_) => Err(failed(&String::from_utf8_lossy(&run.stderr))),
        Err(_) => Err(failed("it takes too long.")),
    }
}

/// Finds the added lines in a patch.
fn added(patch: &[u8]) -> ChangedLines {
    let mut files: HashMap<Vec<u8>, Vec<Range<u64>>> = HashMap::new();
    let mut file: Option<Vec<u8>> = None;
    // The lines of the current hunk that are still to come. Only their first byte is looked at,
    // because the text of a removed line may look like a heading of the patch.
    let (mut old, mut new) = (0..0, 0..0);
    for line in patch.split(|b| *b == b'\n') {
        if !old.is_empty() || !new.is_empty() {
            match line.first() {
                // The remark `\ No newline at end of file` is not a line of the file.
                Some(b'\\') => {}
                Some(b'-') => old.start += 1,
                Some(b'+') => {
                    if let Some(file) = &file {
                        push_line(files.entry(file.clone()).or_default(), new.start);
                    }
                    new.start += 1;
                }
                // A line of context, which the variable `GIT_DIFF_OPTS` may ask for.
                _ => {
                    old.start += 1;
                    new.start += 1;
                }
            }
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            file = name_of(name);
        } else if let Some(ranges) = line.strip_prefix(b"@@ -").and_then(hunk) {
            (old, new) = ranges;
        }
    }
    ChangedLines(files)
}

fn push_line(ranges: &mut Vec<Range<u64>>, line: u64) {
    match ranges.last_mut() {
        Some(last) if last.end == line => last.end += 1,
        _ => ranges.push(line..line + 1),
    }
}

/// Reads the old and the new range of a hunk from the text after `@@ -`, such as `1,2 +3,4 @@`: the
/// first line, and the number of lines, which is 1 if it is missing.
fn hunk(line: &[u8]) -> Option<(Range<u64>, Range<u64>)> {
    let line = std::str::from_utf8(line.split(|b| *b == b'@').next()?).ok()?;
    let (old, new) = line.trim().split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let start: u64 = start.parse().ok()?;
        Some(start..start + count.parse::<u64>().ok()?)
    };
    Some((range(old)?, range(new)?))
}

/// Reads the file name after `+++ ` without its prefix `b/`. Git quotes a name that has special
/// characters, and puts a tab after a name that contains a blank. Returns `None` for `/dev/null`.
fn name_of(text: &[u8]) -> Option<Vec<u8>> {
    let name = if text.starts_with(b"\"") {
        unquoted(text)?.0
    } else {
        text.strip_suffix(b"\t").unwrap_or(text).to_vec()
    };
    name.strip_prefix(b"b/").map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::{added, lines, name_of};
    use gemini_tools_core::tool::Cancellation;
    use std::collections::BTreeSet;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn lines_of_a_hunk_that_look_like_headings_are_none() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n--- a/gone\n+++ b/y\n+@@ -9 +9 @@\n\
                     @@ -5,0 +7 @@ fn f() {\n+last\n\\ No newline at end of file\n";
        let lines = added(patch.as_bytes());
        let has: Vec<u64> = (0..10).filter(|n| lines.has_line(b"x", *n)).collect();
        assert_eq!(has, [1, 2, 7]);
        assert!(!lines.has_file(b"y"));
    }

    #[test]
    fn lines_of_context_are_not_added() {
        let patch = "+++ b/x\n@@ -1,4 +1,4 @@\n kept\n-old\n\n+new\n +++ b/y\n\
                     diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -3,0 +4 @@\n+new\n";
        let lines = added(patch.as_bytes());
        let has = |file| {
            (0..10)
                .filter(|n| lines.has_line(file, *n))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (has(b"x"), has(b"y"), has(b"z")),
            (vec![3], vec![], vec![4])
        );
    }

    #[test]
    fn names_are_read_as_git_writes_them() {
        for (written, name) in [
            (&b"b/a b\t"[..], &b"a b"[..]),
            (b"\"b/a\\tb\\n\\\"\\\\ \\303\\274\"", b"a\tb\n\"\\ \xc3\xbc"),
        ] {
            assert_eq!(name_of(written).as_deref(), Some(name));
        }
        assert_eq!(name_of(b"/dev/null"), None);
    }

    /// Settings of git that change what `git diff` prints.
    const SETTINGS: &str = "diff.interHunkContext=9 diff.context=7 diff.noprefix=true \
        diff.mnemonicPrefix=true diff.srcPrefix=x/ diff.dstPrefix=y/ diff.external=./.git/run \
        diff.renames=copies diff.suppressBlankEmpty=true diff.algorithm=patience \
        diff.colorMoved=zebra color.ui=always color.diff=always diff.wsErrorHighlight=all \
        diff.orderFile=/no-such-file diff.relative=false diff.submodule=log \
        diff.ignoreSubmodules=none diff.indentHeuristic=false diff.wordRegex=. \
        diff.autoRefreshIndex=false diff.own.command=./.git/run diff.own.textconv=./.git/run \
        diff.own.binary=true core.quotePath=true core.fsmonitor=./.git/run core.pager=false";

    /// Beginnings of lines; some look like those of a patch.
    const STARTS: [&str; 8] = [
        "",
        " ",
        "-- a/",
        "++ b/",
        "@@ -1 +1 @@ ",
        "\\ ",
        "diff --git a/x b/x ",
        "\t",
    ];

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(self.0 >> 33).expect("a small number") % end
        }

        /// Keeps about two of three lines and puts new ones between them. Returns the lines, and
        /// the numbers of the new ones.
        fn change(&mut self, old: &[String], made: &mut usize) -> (Vec<String>, BTreeSet<u64>) {
            let (mut lines, mut new) = (Vec::new(), BTreeSet::new());
            for at in 0..=old.len() {
                while self.below(3) == 0 {
                    *made += 1;
                    lines.push(format!("{}{made}\n", STARTS[self.below(STARTS.len())]));
                    new.insert(lines.len() as u64);
                }
                lines.extend(old.get(at).filter(|_| self.below(3) > 0).cloned());
            }
            (lines, new)
        }
    }

    fn git(root: &Path, arguments: &[&str]) {
        let plain = "-c user.name=a -c user.email=a@b.c -c commit.gpgSign=false -c core.hooksPath=";
        let mut git = Command::new("git");
        git.current_dir(root).args(plain.split(' ')).args(arguments);
        assert!(git.status().expect("git runs").success(), "{arguments:?}");
    }

    #[test]
    fn no_setting_of_git_changes_which_lines_were_added_or_runs_a_program() {
        let given = std::env::var("GEMINI_TOOLS_SEED").ok();
        let first = given.and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
        for seed in first..first + 6 {
            let mut random = Random(seed);
            let root = tempfile::tempdir().expect("a directory");
            let root = root.path();
            git(root, &["init", "-q"]);
            let write = |name: &str, lines: &[String]| {
                std::fs::write(root.join(name), lines.concat()).expect("written");
            };
            let (mut made, mut files) = (0, Vec::new());
            for name in ["a", "b c", "d\u{fc}\t", "same", "z"] {
                let (lines, _) = random.change(&vec![String::new(); 20], &mut made);
                let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                write(name, &lines);
                files.push((name, lines));
            }
            write(".gitattributes", &["* diff=own\n".to_owned()]);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "first"]);
            std::fs::create_dir_all(root.join(".git/hooks")).expect("made");
            // This program leaves a file when git starts it, through a setting or as the hook. Git
            // would run the hook if it refreshed the index.
            let program = root.join(".git/run");
            std::fs::write(&program, "#!/bin/sh\ntouch .git/has-run\n").expect("written");
            std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
            std::fs::hard_link(&program, root.join(".git/hooks/post-index-change"))
                .expect("a hook");
            for (key, value) in SETTINGS.split(' ').filter_map(|one| one.split_once('=')) {
                if random.below(2) == 0 {
                    git(root, &["config", key, value]);
                }
            }
            write("empty", &[]);
            git(root, &["add", "--intent-to-add", "empty"]);
            let has_run = root.join(".git/has-run");
            let _ = std::fs::remove_file(&has_run);
            for (name, old) in &mut files {
                let (new, wanted) = match *name {
                    "same" => (old.clone(), BTreeSet::new()),
                    _ => random.change(old, &mut made),
                };
                write(name, &new);
                *old = new;
                let found = lines(root, "HEAD", &Cancellation::default()).expect("compared");
                let has = |line: &u64| found.has_line(name.as_bytes(), *line);
                let has: BTreeSet<u64> = (1..=old.len() as u64 + 1).filter(has).collect();
                assert_eq!(has, wanted, "seed {seed}: {name}");
                assert_eq!(
                    found.has_file(name.as_bytes()),
                    *name != "same",
                    "seed {seed}"
                );
                assert!(found.has_file(b"empty"), "seed {seed}");
            }
            assert!(!has_run.exists(), "seed {seed}");
        }
    }
}
