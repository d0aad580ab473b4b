//! Finds the files and lines that differ from a git commit, by running git.

use crate::git;
use gemini_tools_builtin_tools::patch::unquoted;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::Workspace;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// How much is kept of a line of a patch, in bytes: enough for the names in its headings.
const LINE_BYTES: usize = 64 * 1024;

/// The command that compares the files with a commit. Its options override settings that change
/// what it prints. It runs no external diff and no textconv program, and does not look into
/// submodules, which have settings of their own. It does run clean filters, such as Git LFS's:
/// without them, each file that a filter stores in another form would differ in every line. Deleted
/// files are left out.
const DIFF: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--no-color",
    "--ignore-submodules=all",
    "-O/dev/null",
    "--diff-filter=d",
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
        let ranges = self.0.get(file).map_or(&[][..], Vec::as_slice);
        // Behind that of the whole file, which comes first, a patch has them in order.
        let next = ranges.partition_point(|range| range.end <= line);
        let mut near = ranges.first().into_iter().chain(ranges.get(next));
        near.any(|range| range.contains(&line))
    }

    /// Returns the names of the files that are new or have changed, sorted.
    pub fn files(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<_> = self.0.keys().cloned().collect();
        names.sort();
        names
    }
}

/// Returns the files below `root` that differ from the merge base of HEAD and `base`, and the
/// untracked files that git does not ignore. The names are sorted, and relative to `root`.
///
/// # Errors
///
/// Returns `execution_failed` with git's message, for example that there is no such commit.
pub fn files(root: &Path, base: &str, cancel: &Cancellation) -> Result<Vec<Vec<u8>>, ToolError> {
    Ok(named(root, &merge_base(root, base, cancel)?, cancel)?.files())
}

/// Returns the lines that were added since the merge base of HEAD and `base`. In an untracked file,
/// every line counts as added; in one that was renamed, only those that are new.
///
/// # Errors
///
/// Returns the errors of [`files`].
pub fn lines(
    workspace: &Workspace,
    base: &str,
    cancel: &Cancellation,
) -> Result<ChangedLines, ToolError> {
    let root = workspace.root();
    let base = merge_base(root, base, cancel)?;
    // The patch says nothing of a file that is new and empty, or of which only the name or the mode
    // has changed.
    let mut lines = named(root, &base, cancel)?;
    let more = [
        "--unified=0",
        "--inter-hunk-context=0",
        "--text",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        &base,
        "--",
    ];
    // It is not kept, because with `--text` it has all that is new in files that are not text.
    let mut patch = Patch::default();
    let diff = [&DIFF[..], &more].concat();
    git::stream(root, &diff, cancel, &mut |bytes| patch.push(bytes))?;
    let prefix = prefix(root, cancel)?;
    for (name, added) in patch.files {
        if let Some(name) = name.strip_prefix(&*prefix) {
            lines.0.insert(name.to_vec(), added);
        }
    }
    Ok(lines)
}

fn named(root: &Path, base: &str, cancel: &Cancellation) -> Result<ChangedLines, ToolError> {
    // What was renamed is there by its new name, and a partial clone lacks what git compares to
    // recognise it.
    let names = ["--no-renames", "--name-only", "-z", base, "--"];
    let diff = [&DIFF[..], &names].concat();
    let untracked = ["ls-files", "-z", "--others", "--exclude-standard"];
    let mut all = HashMap::new();
    let prefix = prefix(root, cancel)?;
    for (command, prefix, lines) in [(&diff[..], &*prefix, 0..0), (&untracked, b"", 0..u64::MAX)] {
        let names = git::output(root, command, cancel)?;
        let names = split_names(&names);
        let below = names.filter_map(|name| Some(name.strip_prefix(prefix)?.to_vec()));
        all.extend(below.map(|name| (name, vec![lines.clone()])));
    }
    Ok(ChangedLines(all))
}

/// Returns the path from the top of the repository to `root`, with a slash at its end. The names in
/// a comparison begin with it.
fn prefix(root: &Path, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let mut prefix = git::output(root, &["rev-parse", "--show-prefix"], cancel)?;
    prefix.pop();
    Ok(prefix)
}

/// Splits a list of names: at NUL bytes if it contains any, otherwise at line feeds, where names in
/// quotes are those that git quotes unless it is asked for NUL bytes. Empty names are dropped.
pub fn split_names(list: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let separator = if list.contains(&0) { 0 } else { b'\n' };
    let names = list.split(move |b| *b == separator);
    names.filter(|name| !name.is_empty()).map(move |name| {
        let whole = unquoted(name).filter(|(_, length)| *length == name.len() && separator != 0);
        whole.map_or_else(|| name.to_vec(), |(name, _)| name)
    })
}

/// Returns the commit where HEAD has left `base`: one of them if there are several, as for
/// `git diff base...HEAD`.
fn merge_base(root: &Path, base: &str, cancel: &Cancellation) -> Result<String, ToolError> {
    let command = ["merge-base", "--end-of-options", "HEAD", base];
    let found = git::output(root, &command, cancel).map_err(|error| {
        let hint =
            "The commit and its history have to be there: in CI, fetch them (fetch-depth: 0).";
        let is_lacking = ["Not a valid object name", "have none in common"]
            .iter()
            .any(|said| error.message.contains(said));
        if is_lacking {
            error.with_hint(hint)
        } else {
            error
        }
    })?;
    Ok(String::from_utf8_lossy(found.trim_ascii()).into_owned())
}

#[derive(Default)]
struct Patch {
    files: HashMap<Vec<u8>, Vec<Range<u64>>>,
    file: Option<Vec<u8>>,
    /// How many lines of the current hunk are still to come. Only their first byte tells what they
    /// are, because the text of a removed line may look like a heading of the patch.
    left: u64,
    line: Vec<u8>,
}

impl Patch {
    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let room = LINE_BYTES - self.line.len();
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < piece.len() {
                let line = std::mem::take(&mut self.line);
                self.push_line(&line);
            }
        }
    }

    fn push_line(&mut self, line: &[u8]) {
        if self.left > 0 {
            // The remark `\ No newline at end of file` is not a line of the file.
            self.left -= u64::from(!line.starts_with(b"\\"));
            // In UTF-16, git's lines are not those of the text, so all of its lines count.
            if line.contains(&0)
                && let Some(ranges) = self.file.as_ref().and_then(|file| self.files.get_mut(file))
            {
                ranges.clear();
                ranges.push(0..u64::MAX);
            }
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            self.file = name_of(name);
        } else if let Some((left, added)) = line.strip_prefix(b"@@ -").and_then(hunk) {
            self.left = left;
            if let Some(file) = &self.file {
                self.files.entry(file.clone()).or_default().push(added);
            }
        }
    }
}

/// Returns how many lines a hunk without context has, and which lines it adds.
fn hunk(line: &[u8]) -> Option<(u64, Range<u64>)> {
    let line = std::str::from_utf8(line.split(|b| *b == b'@').next()?).ok()?;
    let (old, new) = line.trim().split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let start: u64 = start.parse().ok()?;
        Some((start, count.parse::<u64>().ok()?))
    };
    let ((_, removed), (start, added)) = (range(old)?, range(new)?);
    Some((removed + added, start..start + added))
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
    use super::{ChangedLines, Patch, files, lines, name_of};
    use gemini_tools_core::tool::Cancellation;
    use gemini_tools_workspace::Workspace;
    use std::collections::BTreeSet;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    fn added(patch: &[u8]) -> ChangedLines {
        let read = |size: usize| {
            let mut read = Patch::default();
            patch.chunks(size).for_each(|piece| read.push(piece));
            read.files
        };
        let whole = read(patch.len());
        for size in 1..9 {
            assert_eq!(read(size), whole, "pieces of {size}");
        }
        ChangedLines(whole)
    }

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
    fn every_line_counts_as_added_in_a_file_whose_lines_git_can_not_tell() {
        let lines =
            added(b"--- a/x\n+++ b/x\n@@ -7 +7 @@\n-\0a\n+\0b\n+++ b/y\n@@ -0,0 +3 @@\n+z\n");
        assert!(lines.has_line(b"x", 1) && lines.has_line(b"x", 99));
        assert!(lines.has_line(b"y", 3) && !lines.has_line(b"y", 4));
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

    const SETTINGS: &str = "diff.interHunkContext=9 diff.context=7 diff.noprefix=true \
        diff.mnemonicPrefix=true diff.srcPrefix=x/ diff.dstPrefix=y/ diff.external=./.git/run \
        diff.renames=copies diff.suppressBlankEmpty=true diff.algorithm=patience \
        diff.colorMoved=zebra color.ui=always color.diff=always diff.wsErrorHighlight=all \
        diff.orderFile=/no-such-file diff.relative=false diff.submodule=log \
        diff.ignoreSubmodules=none diff.indentHeuristic=false diff.wordRegex=. \
        diff.autoRefreshIndex=false diff.own.command=./.git/run diff.own.textconv=./.git/run \
        diff.own.binary=true core.quotePath=true core.fsmonitor=./.git/run core.pager=false \
        remote.origin.promisor=true remote.origin.url=ssh://h/x \
        core.sshCommand=./.git/run protocol.ssh.allow=always";

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
            let top = tempfile::tempdir().expect("a directory");
            git(top.path(), &["init", "-q"]);
            let below = top.path().join("s\u{fc}b/dir");
            std::fs::create_dir_all(&below).expect("made");
            let root = [top.path(), &below][random.below(2)];
            let workspace = Workspace::open_at(root, &[], None).expect("a workspace");
            // A file can be moved into the root from elsewhere in the repository.
            let write = |name: &str, lines: &[String]| match name {
                "moved" | ".gitattributes" => {
                    std::fs::write(top.path().join(name), lines.concat()).expect("written");
                }
                _ => std::fs::write(root.join(name), lines.concat()).expect("written"),
            };
            let (mut made, mut files) = (0, Vec::new());
            for name in ["a", "b c", "d\u{fc}\t", "same", "moved", "z"] {
                let (lines, _) = random.change(&vec![String::new(); 20], &mut made);
                let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                write(name, &lines);
                files.push((name, lines));
            }
            write(".gitattributes", &["* diff=own\n".to_owned()]);
            git(top.path(), &["add", "-A"]);
            git(top.path(), &["commit", "-qm", "first"]);
            let git_dir = top.path().join(".git");
            std::fs::create_dir_all(git_dir.join("hooks")).expect("made");
            // This program leaves a file when git starts it, through a setting or as the hook. Git
            // would run the hook if it refreshed the index.
            let program = git_dir.join("run");
            std::fs::write(&program, "#!/bin/sh\ntouch .git/has-run\n").expect("written");
            std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
            std::fs::hard_link(&program, git_dir.join("hooks/post-index-change")).expect("a hook");
            for (key, value) in SETTINGS.split(' ').filter_map(|one| one.split_once('=')) {
                if random.below(2) == 0 {
                    git(root, &["config", key, value]);
                }
            }
            write("empty", &[]);
            git(root, &["add", "--intent-to-add", "empty"]);
            let moved = root.join("moved to");
            git(top.path(), &["mv", "moved", moved.to_str().expect("UTF-8")]);
            let has_run = git_dir.join("has-run");
            let _ = std::fs::remove_file(&has_run);
            for (name, old) in &mut files {
                if *name == "moved" {
                    *name = "moved to";
                }
                let (new, wanted) = match *name {
                    "same" | "moved to" => (old.clone(), BTreeSet::new()),
                    _ => random.change(old, &mut made),
                };
                write(name, &new);
                *old = new;
                let compared = lines(&workspace, "HEAD", &Cancellation::default());
                let found = compared.expect("compared");
                let has = |line: &u64| found.has_line(name.as_bytes(), *line);
                let has: BTreeSet<u64> = (1..=old.len() as u64 + 2).filter(has).collect();
                assert_eq!(has, wanted, "seed {seed}: {name}");
                assert_eq!(
                    found.has_file(name.as_bytes()),
                    *name != "same",
                    "seed {seed}"
                );
                assert!(found.has_file(b"empty"), "seed {seed}");
            }
            assert!(!has_run.exists(), "seed {seed}");
            // In a partial clone git would fetch what is not there.
            git(root, &["config", "extensions.partialClone", "origin"]);
            let objects = git_dir.join("objects");
            for entry in std::fs::read_dir(&objects).expect("read").flatten() {
                let is_first = random.below(2) == 0 && entry.file_name().len() == 2;
                if is_first {
                    std::fs::remove_dir_all(entry.path()).expect("removed");
                }
            }
            let _ = lines(&workspace, "HEAD", &Cancellation::default());
            assert!(!has_run.exists(), "seed {seed}");
        }
    }

    #[test]
    fn a_directory_that_looks_like_a_repository_is_not_taken_for_one() {
        let root = tempfile::tempdir().expect("a directory");
        let inner = root.path().join("sub");
        git(root.path(), &["init", "-q", "--bare", "sub"]);
        git(&inner, &["config", "core.bare", "false"]);
        git(&inner, &["config", "core.worktree", "."]);
        let found = files(&inner, "HEAD", &Cancellation::default());
        let message = found.expect_err("no repository").message;
        assert!(message.contains("safe.bareRepository"), "{message}");
    }

    #[test]
    fn git_is_started_in_one_place() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let top = own.ancestors().nth(2).expect("the workspace");
        let mut left = vec![top.join("src"), top.join("crates")];
        let mut starts = Vec::new();
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("read").flatten();
                let is_code = |path: &PathBuf| !path.ends_with("tests");
                left.extend(entries.map(|entry| entry.path()).filter(is_code));
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("read");
                let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                if ["new(\"git\")", "name: \"git\".as_ref()"]
                    .iter()
                    .any(|one| code.contains(one))
                {
                    starts.push(path);
                }
            }
        }
        assert_eq!(starts, [own.join("src/git.rs")]);
    }
}
