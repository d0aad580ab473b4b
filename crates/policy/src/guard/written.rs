//! The files that a line of shell may write, as bash will name them.
//!
//! A name can be written in many ways: `.g'i't`, `.{git,x}`, `packag?.json`. So the words are taken
//! from the analysis of the line, without their quotes, and lists in braces are expanded. Patterns
//! are compared with the names of existing files, because bash expands a pattern to existing names
//! only.

use super::Guard;
use super::programs::{self, is_writer};
use gemini_tools_shell::{Analysis, Command};
use gemini_tools_workspace::pattern::expand_braces;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most directory entries that are compared with a pattern. If there are more, the pattern
/// counts as one that matches a guarded file.
const MAX_ENTRIES: usize = 20_000;

/// The most parts of a word that are taken for paths. A word with more counts as one that names a
/// guarded file.
const MAX_PARTS: usize = 256;

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

/// Returns what stands between blanks, quotes and operators in a text.
pub(super) fn parts_of_code(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_whitespace() || "<>|&;()=\"'".contains(c));
    parts.filter(|part| !part.is_empty())
}

/// Returns the names in scripts that the line hands to programs, such as `awk '{ print > "x" }'` or
/// a here-document for `python`, if the script redirects or mentions a program that is known to
/// write. Programs of which all operands are known to be read have no scripts.
fn names_in_scripts(analysis: &Analysis) -> impl Iterator<Item = &str> {
    let commands = &analysis.commands;
    let scripts = commands.iter().enumerate().flat_map(|(at, command)| {
        if programs::runs_code(command) {
            command.patterns.iter().skip(1).collect()
        } else {
            programs::written(command, commands.get(at + 1), true)
        }
    });
    let mut scripts = scripts.flatten().peekable();
    let texts = scripts.peek().is_some().then_some(&analysis.texts);
    let all = scripts.chain(texts.into_iter().flatten());
    all.filter(|text| {
        // The arrows of JavaScript and PHP open no file.
        redirects(&text.replace("=>", "").replace("->", "")) || parts_of_code(text).any(is_writer)
    })
    .flat_map(|text| parts_of_code(text))
}

/// Returns true if a line neither redirects its output to a file nor has a command or a script that
/// may write.
pub(super) fn only_reads(analysis: &Analysis) -> bool {
    let mut commands = analysis.commands.iter();
    analysis.targets.is_empty()
        && with_written(analysis).next().is_none()
        && names_in_scripts(analysis).next().is_none()
        && !commands.any(programs::configures_git)
}

/// Returns true if a word that may name a file that is written is known only when the line runs, or
/// may be put together from what `xargs` reads or `find` finds.
fn computes_words(analysis: &Analysis, written: &[WrittenWords<'_>]) -> bool {
    let passes_on = |command: &Command| ["find", "xargs"].contains(&command.root());
    let has_input = analysis.commands.iter().any(passes_on);
    written.iter().any(|(command, words)| {
        // Of an assignment such as `PATH=$HOME/bin`, the value is no name.
        !command.root().ends_with('=')
            && (has_input && !passes_on(command) || words.iter().any(|word| word.is_none()))
    })
}

/// Returns all words of a line from which the value of a variable or the input of a program may
/// come.
fn with_texts(analysis: &Analysis) -> impl Iterator<Item = &str> {
    let words = analysis.commands.iter().flat_map(|command| {
        // `HEAD` is a commit in commands such as `git diff --name-only HEAD`.
        let is_commit = |word: &&String| command.root() == "git" && *word == "HEAD";
        let words = command.patterns.iter().skip(1).flatten();
        words.filter(move |word| !is_commit(word))
    });
    let texts = words.chain(&analysis.texts);
    texts.flat_map(|text| text.split_whitespace())
}

/// Returns true if a line has any redirection of output, even `2>&1`, or runs a program that is
/// known to write.
fn surely_writes(analysis: &Analysis) -> bool {
    let mut commands = analysis.commands.iter();
    !analysis.targets.is_empty() || commands.any(|command| is_writer(command.root()))
}

/// Returns true if a command changes the directory of the line.
fn enters(command: &Command) -> bool {
    ["cd", "popd", "pushd"].contains(&command.root())
}

/// Returns the commands of a line that may write, each with the words that may name what it writes.
fn with_written(analysis: &Analysis) -> impl Iterator<Item = WrittenWords<'_>> {
    let commands = &analysis.commands;
    let moves = commands.iter().any(enters);
    let each = commands.iter().enumerate().map(move |(at, command)| {
        let words = programs::written(command, commands.get(at + 1), moves);
        (command, words)
    });
    each.filter(|(_, words)| !words.is_empty())
}

/// A command with the words that may name what it writes.
type WrittenWords<'a> = (&'a Command, Vec<&'a Option<String>>);

type Parts<'p> = &'p dyn Fn(&str) -> Option<BTreeSet<&str>>;

/// Returns the parts of a word that may be a path: the word, what stands before and behind `=`, `:`
/// and `,`, and what stands behind letters of options, as in `-uoFILE`. `None` if there are too many.
fn paths_in(word: &str) -> Option<BTreeSet<&str>> {
    let separators = ['=', ':', ','];
    let cluster = word.strip_prefix('-').unwrap_or_default();
    let letters = cluster
        .bytes()
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    if word.matches(separators).count() + letters > MAX_PARTS {
        return None;
    }
    let behind = |(at, _): (usize, &str)| &word[at + 1..];
    let mut found: BTreeSet<&str> = word.split(separators).collect();
    found.extend(word.match_indices(separators).map(behind));
    found.extend((1..=letters).map(|at| &cluster[at..]));
    found.insert(word);
    found.remove("");
    Some(found)
}

/// Returns the names of files that a script of `sed` may write: those behind `w`, which is a command
/// or a flag of `s`. `None` if there are too many.
fn paths_in_script(word: &str) -> Option<BTreeSet<&str>> {
    let starts = word
        .match_indices(['w', 'W'])
        .map(|(at, _)| &word[at + 1..]);
    if starts.clone().count() > MAX_PARTS {
        return None;
    }
    let lines = starts.map(|rest| rest.lines().next().unwrap_or_default());
    Some(
        lines
            .map(str::trim_start)
            .filter(|line| !line.is_empty())
            .collect(),
    )
}

impl Guard<'_> {
    /// Returns true if a line that runs in `directory` may write a guarded file or a setting of git.
    /// If the line changes its directory, the directory counts as a file that it writes, because
    /// later relative paths lead there.
    pub(super) fn covers_writes_of(&self, analysis: &Analysis, directory: &Path) -> bool {
        let commands = &analysis.commands;
        let start = (!commands.iter().any(enters)).then_some(directory);
        let covers = |word: &Option<String>, unknown: bool| match word {
            Some(word) => self.covers_parts(word, start, unknown, &paths_in),
            None => unknown,
        };
        let writes = |(command, words): &WrittenWords<'_>| {
            let is_sure = programs::is_sure(command);
            let is_known = is_sure || is_writer(command.root());
            let covers = |word: &String| match command.root() {
                // Without `-i`, `sed` only writes to files that its script names.
                "sed" if !is_sure => self.covers_parts(word, start, true, &paths_in_script),
                "sed" => [&paths_in as Parts<'_>, &paths_in_script]
                    .iter()
                    .any(|parts| self.covers_parts(word, start, true, parts)),
                // `find` compares its patterns with names in all directories.
                "find" if may_be_listed(&parts_of(&word.to_ascii_lowercase()), true) => true,
                _ => self.covers_parts(word, start, is_known, &paths_in),
            };
            let mut words = words.iter();
            words.any(|word| word.as_ref().map_or(is_sure, covers))
        };
        let written: Vec<_> = with_written(analysis).collect();
        let is_sure = surely_writes(analysis);
        let mut entered = commands.iter().filter(|one| enters(one));
        let entered = entered.any(|one| {
            one.patterns
                .iter()
                .skip(1)
                .any(|word| covers(word, is_sure))
        });
        analysis.targets.iter().any(|word| covers(word, true))
            || commands.iter().any(programs::configures_git)
            || written.iter().any(writes)
            || names_in_scripts(analysis).any(|name| self.covers(name))
            || entered && !(analysis.targets.is_empty() && written.is_empty())
            || computes_words(analysis, &written)
                && with_texts(analysis).any(|word| self.covers_parts(word, start, false, &paths_in))
    }

    /// Returns true if bash may turn a word into one that has the path of a guarded file as one of
    /// its `parts`. Where `directory` is not known, a pattern may mean any file if `unknown`, and
    /// else one with a listed name.
    fn covers_parts(
        &self,
        pattern: &str,
        directory: Option<&Path>,
        unknown: bool,
        parts: Parts<'_>,
    ) -> bool {
        let Ok(alternatives) = expand_braces(pattern) else {
            return true;
        };
        alternatives.iter().any(|alternative| {
            let covers = |path: &str| self.covers_pattern(path, directory, unknown);
            parts(alternative).is_none_or(|paths| paths.into_iter().any(covers))
        })
    }

    fn covers_pattern(&self, path: &str, directory: Option<&Path>, unknown: bool) -> bool {
        let parts = parts_of(path);
        let is_wild = |unit: &Unit| !matches!(unit, Unit::Char(_));
        if !parts.iter().flatten().any(is_wild) {
            return self.covers(&text(&parts));
        }
        let Some(directory) = directory else {
            return unknown || may_be_listed(&parts, false);
        };
        let (start, parts) = match (path.strip_prefix("~/"), self.home.as_deref()) {
            (Some(_), Some(home)) => (home, &parts[1..]),
            // The home directory of another user, or of nobody knows whom.
            _ if path.starts_with('~') => return true,
            _ if path.starts_with('/') => (Path::new("/"), &parts[..]),
            _ => (directory, &parts[..]),
        };
        self.covers_any(start, parts)
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

fn parts_of(pattern: &str) -> Vec<Vec<Unit>> {
    pattern.split('/').map(units).collect()
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

/// Returns true if a pattern may match a listed name: as bash compares it, `*` means no dot at the
/// start, or as `find` does it with `-iname`.
fn may_be_listed(parts: &[Vec<Unit>], is_find: bool) -> bool {
    let is = |part: &Vec<Unit>, names: &str| {
        let is_open = is_find || part.first() == Some(&Unit::Char('.'));
        let mut names = names.split(' ');
        names.any(|name| {
            (is_open || !name.starts_with('.'))
                && (matches(part, name) || is_find && matches(part, &name.to_ascii_lowercase()))
        })
    };
    let is_file = |part: &Vec<Unit>| is(part, super::FILES) || is(part, super::BUILD_FILES);
    parts.last().is_some_and(is_file) || parts.iter().any(|part| is(part, super::DIRECTORIES))
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
