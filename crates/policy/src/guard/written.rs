//! The files that a line of shell may write, as bash will name them.
//!
//! A name can be written in many ways: `.g'i't`, `.{git,x}`, `packag?.json`. So the words are taken
//! from the analysis of the line, without their quotes, and lists in braces are expanded. Patterns
//! are compared with the names of existing files, because bash expands a pattern to existing names
//! only.

use super::Guard;
use gemini_tools_shell::{Analysis, Command};
use gemini_tools_workspace::pattern::expand_braces;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Programs whose operands are files that they write. If one of their words is known only when the
/// line runs, it may be any file.
const WRITERS: &str = "cp dd install ln mkdir mv patch rsync tee touch truncate unzip";

/// Programs that write to some of the files that they are given, such as `curl -o FILE`. Most of
/// their words do not name such a file, so a word that is known only when the line runs is not
/// taken for one.
const SOMETIMES: &str =
    "aria2c bsdtar cpio csplit curl ed ex scp sed sftp shred sort split tar wget xxd zip";

/// The most directory entries that are compared with a pattern. If there are more, the pattern
/// counts as one that matches a guarded file.
const MAX_ENTRIES: usize = 20_000;

/// Returns true if a program writes to files that its words name.
pub(super) fn is_writer(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    [WRITERS, SOMETIMES].iter().any(|list| is_among(list, name))
}

fn is_among(list: &str, name: &str) -> bool {
    list.split(' ').any(|one| one == name)
}

/// Returns true if a text has a `>` that may open a file. The `>` of `2>&1` does not, and a `>`
/// before `/dev/null` does not count.
pub(super) fn redirects(text: &str) -> bool {
    let ends_word =
        |rest: &str| !rest.starts_with(|c: char| !c.is_whitespace() && !";|&)<>".contains(c));
    text.split('>').skip(1).any(|behind| {
        let duplicates = behind.strip_prefix('&').is_some_and(|word| {
            let rest = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            rest.len() < word.len() && ends_word(rest)
        });
        let target = behind.trim_start_matches(['|', '&', ' ', '\t']);
        let is_null = target.strip_prefix("/dev/null").is_some_and(ends_word);
        // In `>>`, no text stands between the first `>` and the second one, which decides.
        !behind.is_empty() && !duplicates && !is_null
    })
}

/// Returns true if each operand of a command counts as a file that it writes.
fn is_sure(command: &Command) -> bool {
    let in_place = |word: &Option<String>| {
        word.as_ref()
            .is_none_or(|word| word.starts_with('-') && word.contains('i'))
    };
    is_among(WRITERS, command.root())
        || command.root() == "sed" && command.patterns.iter().skip(1).any(in_place)
}

/// Returns true if a line redirects its output to a file, or runs a program for which [`is_writer`]
/// returns true.
pub(super) fn may_write(analysis: &Analysis) -> bool {
    let mut commands = analysis.commands.iter();
    !analysis.targets.is_empty() || commands.any(|command| is_writer(command.root()))
}

/// Returns the parts of a word that may be a path: the word, the value of `--option=value` and
/// `of=value`, and that of `-ovalue`.
fn paths_in(pattern: &str) -> impl Iterator<Item = &str> {
    let value = pattern.split_once('=').map(|(_, value)| value);
    let attached = pattern.strip_prefix('-').and_then(|rest| rest.get(1..));
    [Some(pattern), value, attached].into_iter().flatten()
}

impl Guard<'_> {
    /// Returns true if a line that runs in `directory` may write a guarded file. If the line
    /// changes its directory, the directory counts as a file that it writes, because later relative
    /// paths lead there.
    pub(super) fn covers_writes_of(&self, analysis: &Analysis, directory: &Path) -> bool {
        let enters = |command: &Command| ["cd", "popd", "pushd"].contains(&command.root());
        let directory = (!analysis.commands.iter().any(enters)).then_some(directory);
        let covers = |word: &Option<String>, unknown: bool| match word {
            Some(word) => paths_in(word).any(|path| self.covers_pattern(path, directory)),
            None => unknown,
        };
        let writes = |command: &Command| {
            let is_sure = enters(command) || is_sure(command);
            let mut words = command.patterns.iter().skip(1);
            (is_sure || is_writer(command.root())) && words.any(|word| covers(word, is_sure))
        };
        analysis.targets.iter().any(|word| covers(word, true))
            || analysis.commands.iter().any(writes)
    }

    /// Returns true if bash may turn a word into the path of a guarded file. Where `directory` is
    /// not known, a pattern may mean any file.
    fn covers_pattern(&self, pattern: &str, directory: Option<&Path>) -> bool {
        let Ok(alternatives) = expand_braces(pattern) else {
            return true;
        };
        alternatives.iter().any(|alternative| {
            let parts: Vec<Vec<Unit>> = alternative.split('/').map(units).collect();
            let is_wild = |unit: &Unit| !matches!(unit, Unit::Char(_));
            if !parts.iter().flatten().any(is_wild) {
                return self.covers(&text(&parts));
            }
            let Some(directory) = directory else {
                return true;
            };
            let start = if alternative.starts_with('/') {
                Path::new("/")
            } else {
                directory
            };
            self.covers_any(start, &parts)
        })
    }

    /// Returns true if a guarded file is among the existing ones whose path matches `parts` below
    /// `start`.
    fn covers_any(&self, start: &Path, parts: &[Vec<Unit>]) -> bool {
        let mut found = vec![start.to_owned()];
        let mut left = MAX_ENTRIES;
        for part in parts {
            if let Some(name) = literal(part) {
                found = found.iter().map(|path| path.join(&name)).collect();
                continue;
            }
            let mut matching = Vec::new();
            for entry in found.iter().flat_map(std::fs::read_dir).flatten().flatten() {
                let name = entry.file_name();
                let is_hidden = name.as_bytes().starts_with(b".");
                if (!is_hidden || part.first() == Some(&Unit::Char('.')))
                    && matches(part, &name.to_string_lossy())
                {
                    matching.push(entry.path());
                }
                left -= 1;
                if left == 0 {
                    return true;
                }
            }
            found = matching;
        }
        found.iter().any(|path| self.covers_path(path))
    }
}

/// A part of a pattern of bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Char(char),
    One,
    Many,
}

/// Parses a component of a pattern. A set of characters, such as `[a-c]`, and all that follows it
/// count as `*`, so that it does not matter how bash would interpret the set.
fn units(component: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut chars = component.chars();
    while let Some(c) = chars.next() {
        units.push(match c {
            '\\' => Unit::Char(chars.next().unwrap_or('\\')),
            '?' => Unit::One,
            '*' => Unit::Many,
            '[' => {
                units.push(Unit::Many);
                break;
            }
            c => Unit::Char(c),
        });
    }
    units
}

fn literal(part: &[Unit]) -> Option<String> {
    let text = |unit: &Unit| match unit {
        Unit::Char(c) => Some(*c),
        _ => None,
    };
    part.iter().map(text).collect()
}

fn text(parts: &[Vec<Unit>]) -> String {
    let parts: Vec<String> = parts.iter().filter_map(|part| literal(part)).collect();
    parts.join("/")
}

/// Returns true if a pattern matches the whole name. Where a character does not match, the last `*`
/// before it is made to match one character more of the name.
fn matches(pattern: &[Unit], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(Unit::Many) => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(unit) if *unit == Unit::One || *unit == Unit::Char(name[n]) => {
                (p, n) = (p + 1, n + 1);
            }
            _ => {
                let Some((behind, from)) = retry else {
                    return false;
                };
                (p, n) = (behind, from + 1);
                retry = Some((behind, from + 1));
            }
        }
    }
    pattern[p..].iter().all(|unit| *unit == Unit::Many)
}
