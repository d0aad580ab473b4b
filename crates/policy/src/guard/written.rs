//! The files that a line of shell may write, as bash will name them.
//!
//! A name can be written in many ways: `.g'i't`, `.{git,x}`, `packag?.json`. So the words are taken
//! from the analysis of the line, without their quotes, and lists in braces are expanded. A pattern
//! is compared with the names of existing files, and also counts as a name itself: bash leaves it as
//! it is if no file matches.

use super::Guard;
use super::programs::{self, is_writer};
use gemini_tools_shell::{Analysis, Command};
use gemini_tools_workspace::pattern::expand_braces;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most directory entries that are compared with a pattern, and the most parts of a word that
/// are taken for paths (`MAX_PARTS`). If there are more, the pattern or word counts as one that
/// means a guarded file.
const MAX_ENTRIES: usize = 20_000;

const MAX_PARTS: usize = 256;

const MAX_BASES: usize = 32;

/// Returns true if a text has a `>` by which a shell may open a file. The `>` of `2>&1` does not
/// open one, and `>/dev/null` does not count.
pub(super) fn redirects(text: &str) -> bool {
    let ends_word =
        |rest: &str| !rest.starts_with(|c: char| !c.is_whitespace() && !";|&)<>".contains(c));
    text.split('>').skip(1).any(|behind| {
        let duplicates = behind.strip_prefix('&').is_some_and(|word| {
            let word = word.trim_start_matches(' ');
            let rest = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            rest.len() < word.len() && ends_word(rest)
        });
        let target = behind.trim_start_matches(['|', '&', ' ', '\t']);
        let is_null = target.strip_prefix("/dev/null").is_some_and(ends_word);
        // Of `>>`, the text between the two signs is empty and does not count. What follows the
        // second sign decides.
        !behind.is_empty() && !duplicates && !is_null
    })
}

/// Returns the parts of a program's text between blanks, quotes, brackets and operators, which may
/// be names of files.
pub(super) fn parts_of_code(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_whitespace() || "<>|&;()[]{}=,:\"'`\\".contains(c));
    parts.filter(|part| !part.is_empty())
}

/// Removes the files that `source` and `.` read from a line of shell, where these are surely
/// commands: they are not written.
pub(super) fn without_sourced(line: &str) -> String {
    let (mut begins, mut is_read) = (true, false);
    let words = line.split_whitespace().filter(|word| {
        let is_name = begins && [".", "source"].contains(word);
        begins = word.ends_with([';', '&', '|']);
        !std::mem::replace(&mut is_read, is_name)
    });
    words.collect::<Vec<_>>().join(" ")
}

fn mentions_writer(text: &str) -> bool {
    // Many programs have a command `install`, which takes no file to write.
    let mut parts = parts_of_code(text);
    parts.any(|part| part != "install" && is_writer(part))
}

/// Returns the words that follow each `>` of a script and may name files. The name may be a word
/// further on, as in Perl's `open(F, ">", "x")`.
fn redirected(script: &str) -> impl Iterator<Item = &str> {
    let behind = script.match_indices('>').map(|(at, _)| &script[at + 1..]);
    behind.flat_map(|rest| parts_of_code(rest).take(2))
}

fn prints_to_file(script: &str) -> bool {
    let mut statements = script.split([';', '}', '\n']);
    statements.any(|text| {
        let print = text.find("print");
        print.is_some_and(|at| redirects(&text[at..]))
    })
}

fn is_file(target: Option<&String>) -> bool {
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    target.is_none_or(|word| {
        let is_device = ["/dev/null", "/dev/tty"].contains(&word.as_str());
        !is_number(word) && !is_device
    })
}

fn targets(analysis: &Analysis) -> impl Iterator<Item = &Option<String>> {
    let targets = analysis.targets.iter();
    targets.filter(|target| is_file(target.as_ref()))
}

fn is_descriptor(word: &str) -> bool {
    word.contains("/dev/fd") || word.contains("/dev/std") || word.contains("/proc/")
}

/// Returns true if a line neither redirects its output to a file nor has a command that may write.
/// What is done by scripts that the line hands to programs is not considered.
pub(super) fn only_reads(analysis: &Analysis) -> bool {
    targets(analysis).next().is_none()
        && with_written(analysis).next().is_none()
        && !analysis.commands.iter().any(programs::configures_git)
}

pub(super) fn runs_code(analysis: &Analysis) -> bool {
    analysis.commands.iter().any(programs::runs_code)
}

/// Returns true if the line may write a file whose name is known only when the line runs, or is put
/// together from what `xargs` reads or `find` finds.
fn computes_words(analysis: &Analysis, written: &[WrittenWords<'_>]) -> bool {
    let passes_on = |command: &Command| ["find", "xargs"].contains(&command.root());
    let has_input = analysis.commands.iter().any(passes_on);
    written.iter().any(|(command, words)| {
        // Of an assignment such as `PATH=$HOME/bin`, the value is no name.
        !command.root().ends_with('=')
            && (has_input && !passes_on(command) || words.iter().any(|word| word.is_none()))
    })
}

/// Returns all words of a line that may become the value of a variable or the input of a program.
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

fn surely_writes(analysis: &Analysis) -> bool {
    let mut commands = analysis.commands.iter();
    targets(analysis).next().is_some() || commands.any(|command| is_writer(command.root()))
}

fn enters(command: &Command) -> bool {
    ["cd", "popd", "pushd"].contains(&command.root())
}

/// Returns the words that name a directory in which a command of the line, or the rest of it, runs.
fn entered(analysis: &Analysis) -> impl Iterator<Item = &Option<String>> {
    analysis.commands.iter().flat_map(|command| {
        if enters(command) {
            let words = command.patterns.iter().skip(1);
            return words.filter(|word| !is_option(word.as_ref())).collect();
        }
        programs::directories(command)
    })
}

fn without_option(word: &str) -> &str {
    match (word.strip_prefix("-C"), word.split_once('=')) {
        (Some(value), _) => value,
        (None, Some((option, value))) if option.starts_with("--") => value,
        _ => word,
    }
}

fn is_option(word: Option<&String>) -> bool {
    word.is_some_and(|word| word.starts_with('-'))
}

fn with_written(analysis: &Analysis) -> impl Iterator<Item = WrittenWords<'_>> {
    let commands = &analysis.commands;
    let moves = entered(analysis).next().is_some();
    let each = commands.iter().enumerate().map(move |(at, command)| {
        let words = programs::written(command, commands.get(at + 1), moves);
        (command, words)
    });
    each.filter(|(_, words)| !words.is_empty())
}

type WrittenWords<'a> = (&'a Command, Vec<&'a Option<String>>);

type Parts<'p> = &'p dyn Fn(&str) -> Option<BTreeSet<&str>>;

/// Returns the parts of a word that may be a path: the word, what stands before and behind `=`, `:`
/// and `,`, and what stands behind letters of options, as in `-uoFILE`. `None` if there are too many.
fn paths_in(word: &str) -> Option<BTreeSet<&str>> {
    let separators = ['=', ':', ',', '!'];
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
    // `git clone x.git` makes the directory `x`, and unpacking `x.gz` makes the file `x`. So the
    // name without its last ending counts as well.
    let clone = [".git", ".gz", ".xz", ".bz2", ".zst", ".br", ".gpg"]
        .iter()
        .find_map(|end| word.strip_suffix(end));
    found.extend(clone);
    found.extend(clone.and_then(|path| path.rsplit(['/', ':']).next()));
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
    /// From now on, takes relative paths from each directory in which the line may run if it begins
    /// in `directory`. Returns false if not all of these directories are known.
    pub(super) fn enter(&mut self, analysis: &Analysis, directory: &str) -> bool {
        self.bases = vec![self.root.join(directory)];
        for word in entered(analysis) {
            let parts = word.as_deref().map(|word| parts_of(without_option(word)));
            let name = parts.and_then(|parts| parts.iter().map(|part| literal(part)).collect());
            let Some(name) = name.map(|parts: Vec<String>| parts.join("/")) else {
                return false;
            };
            let inner: Vec<_> = self.bases.iter().map(|base| base.join(&name)).collect();
            self.bases.extend(inner);
            self.bases.sort();
            self.bases.dedup();
            if self.bases.len() > MAX_BASES {
                return false;
            }
        }
        true
    }

    /// Returns true if a line that is not understood has a word that is a guarded file once its
    /// quotes are gone and its patterns and lists are expanded.
    pub(super) fn covers_spelled(&self, line: &str) -> bool {
        let line = line.replace(['"', '\'', '\\'], "");
        let words = line.split(|c: char| c.is_whitespace() || "<>|&;()=`".contains(c));
        let mut words = words.filter(|word| !word.is_empty());
        words.any(|word| self.covers_word(word, true))
    }

    /// Returns true if a line may write a guarded file or a setting of git. If the line changes its
    /// directory, the directory counts as a file that it writes, because later relative paths lead
    /// there. `is_known` says whether all directories in which it runs are known.
    pub(super) fn covers_writes_of(&self, analysis: &Analysis, is_known: bool) -> bool {
        let commands = &analysis.commands;
        let covers = |word: &Option<String>, unknown: bool| match word {
            Some(word) => self.covers_word(word, is_known),
            None => unknown,
        };
        let written: Vec<_> = with_written(analysis).collect();
        let is_sure = surely_writes(analysis);
        let writes = targets(analysis).next().is_some() || !written.is_empty();
        let words = written.iter().flat_map(|(_, words)| words.iter().copied());
        let mut all = words
            .chain(targets(analysis))
            .chain(entered(analysis))
            .flatten();
        targets(analysis).any(|word| covers(word, true))
            || commands.iter().any(programs::configures_git)
            // With this variable, `cp -b` and `mv -b` write files whose names are not in the line.
            || writes && commands.iter().any(|command| command.text.contains("SIMPLE_BACKUP_SUFFIX"))
            || programs::makes_git_directory(commands)
            || written.iter().any(|written| self.covers_words(written, is_known))
            || self.covers_scripts(analysis, &written)
            || writes && entered(analysis).any(|word| covers(word, is_sure))
            // A name such as `/dev/fd/3` stands for a file that another part of the line has
            // opened, perhaps only to read it. So each text of the line may be the name of the
            // written file.
            || all.any(|word| is_descriptor(word))
                && analysis.texts.iter().any(|word| self.covers_word(word, is_known))
            || computes_words(analysis, &written)
                && with_texts(analysis).any(|word| self.covers_word(word, is_known))
    }

    fn covers_words(&self, (command, words): &WrittenWords<'_>, is_known: bool) -> bool {
        let is_sure = programs::is_sure(command);
        let root = command.root();
        let plain = |word: &str| word.to_ascii_lowercase();
        let covers = |word: &String| {
            match root {
                // Without `-i`, `sed` only writes to files that its script names.
                "sed" if !is_sure => self.covers_parts(word, true, &paths_in_script),
                "sed" => [&paths_in as Parts<'_>, &paths_in_script]
                    .iter()
                    .any(|parts| self.covers_parts(word, is_known, parts)),
                // `find` compares its patterns with names in all directories, and git does so with
                // those that the shell has left to it.
                "find" if may_be_found(&plain(word)) => true,
                "git" if may_be_found(pathspec(&plain(word).replace('\\', ""))) => true,
                _ => self.covers_word(word, is_known),
            }
        };
        // Programs that edit in place or copy files may keep the old file under its name with an
        // ending that an option gives. So the names with such endings count as well.
        let copies = is_sure || is_writer(root) || root == "perl";
        let endings = words.iter().filter(|_| copies).copied().flatten();
        let endings = endings.filter_map(|word| paths_in(word)).flatten();
        let endings: BTreeSet<&str> = endings.filter(|end| is_ending(end)).collect();
        let has_ending = |word: &String| {
            let at = word.rfind('/').map_or(0, |slash| slash + 1);
            let (directory, name) = word.split_at(at);
            let mut endings = endings.iter();
            endings.any(|end| {
                // In the ending that `sed -i` gets, a star stands for the name of the file. The
                // line quotes the star, so that bash does not expand it.
                let named = end.replace('\\', "").replace('*', name);
                let is_whole = end.contains('*');
                self.covers(&format!(
                    "{}{named}",
                    if is_whole { directory } else { word }
                ))
            })
        };
        // A word with a variable can't be compared as a whole, but the name of a guarded file may
        // be written out in it.
        let names_guarded = || {
            let unknown = command.unknown().replace(['"', '\'', '\\'], "");
            let is_guarded = |part: &str| may_be_found(&plain(part)) || self.covers(part);
            let mut options = command.options().zip(&command.patterns);
            !command.root().ends_with('=')
                && (parts_of_code(&unknown).any(is_guarded)
                    || options.any(|(text, word)| word.is_none() && self.covers_word(text, true)))
        };
        let mut words = words.iter();
        words.any(|word| match word {
            Some(word) => covers(word) || has_ending(word),
            None => is_sure || names_guarded(),
        })
    }

    /// Returns true if a script that the line hands to a program may write a guarded file: in an
    /// argument, such as `awk '{ print > "x" }'`, or as standard input, in a here-document.
    fn covers_scripts(&self, analysis: &Analysis, written: &[WrittenWords<'_>]) -> bool {
        let covers = |text: &str| parts_of_code(text).any(|part| self.covers(part));
        let covers_redirected = |text: &str| redirected(text).any(|part| self.covers(part));
        let documents = &analysis.documents;
        let is_code = |command: &Command| programs::runs_code(command);
        let mut runs = analysis.commands.iter().filter(|command| is_code(command));
        // It is not known in which of their arguments other programs expect a script.
        let takes_text = |command: &Command| !programs::takes_prose(command) && !is_code(command);
        let mut others = written.iter().filter(|(command, _)| takes_text(command));
        runs.any(|command| {
            let words = command.patterns.iter().skip(1).flatten();
            let texts = || words.clone().chain(documents);
            let may_write = |text: &String| {
                mentions_writer(text) || command.root().ends_with("awk") && prints_to_file(text)
            };
            texts().any(|text| covers_redirected(text))
                || texts().any(may_write) && texts().any(|text| covers(text))
        }) || others.any(|(command, words)| {
            // An argument with blanks may be a script. Those of git are messages, which often
            // mention files.
            let is_script =
                |word: &&String| word.contains(char::is_whitespace) && command.root() != "git";
            let words = words.iter().copied().flatten().filter(is_script);
            words.chain(documents).any(|text| covers(text))
        })
    }

    fn covers_word(&self, word: &str, is_known: bool) -> bool {
        self.covers_parts(word, is_known, &paths_in)
    }

    /// Returns true if bash may expand the word `pattern` to one that contains the path of a
    /// guarded file. `parts` finds the paths in a word. If the directory is not known, a pattern
    /// may mean any file.
    fn covers_parts(&self, pattern: &str, is_known: bool, parts: Parts<'_>) -> bool {
        let Ok(alternatives) = expand_braces(pattern) else {
            return true;
        };
        alternatives.iter().any(|alternative| {
            // bash expands only the word as a whole. Its parts are compared as they are written.
            let covers = |path: &str| {
                self.covers(&unescaped(path))
                    || path == alternative && self.covers_pattern(path, is_known)
            };
            parts(alternative).is_none_or(|paths| paths.into_iter().any(covers))
        })
    }

    fn covers_pattern(&self, path: &str, is_known: bool) -> bool {
        let parts = parts_of(path);
        let is_wild = |unit: &Unit| !matches!(unit, Unit::Char(_));
        if !parts.iter().flatten().any(is_wild) {
            return false;
        }
        if !is_known {
            return true;
        }
        match (path.strip_prefix("~/"), self.home.as_deref()) {
            (Some(_), Some(home)) => self.covers_any(home, &parts[1..]),
            // The home directory of another user, or of nobody knows whom.
            _ if path.starts_with('~') => true,
            _ if path.starts_with('/') => self.covers_any(Path::new("/"), &parts),
            _ => {
                let mut bases = self.bases.iter();
                bases.any(|base| self.covers_any(base, &parts))
            }
        }
    }

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Char(char),
    One,
    Many,
}

fn parts_of(pattern: &str) -> Vec<Vec<Unit>> {
    pattern.split('/').map(units).collect()
}

/// Parses a component of a pattern of bash. A set of plain characters, such as `[a-c]`, is one
/// character. One that is less simple, and all that follows it, counts as `*`, so that it does not
/// matter how bash would interpret the set.
fn units(component: &str) -> Vec<Unit> {
    let is_plain = |set: &str| {
        let mut chars = set.chars();
        !set.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let mut units = Vec::new();
    let mut chars = component.chars();
    while let Some(c) = chars.next() {
        units.push(match c {
            '\\' => Unit::Char(chars.next().unwrap_or('\\')),
            '?' => Unit::One,
            '*' => Unit::Many,
            '[' => match chars.as_str().split_once(']') {
                Some((set, rest)) if is_plain(set) => {
                    chars = rest.chars();
                    Unit::One
                }
                Some(_) => {
                    units.push(Unit::Many);
                    break;
                }
                None => Unit::Char('['),
            },
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

fn unescaped(pattern: &str) -> String {
    let mut chars = pattern.chars();
    let next = || match chars.next()? {
        '\\' => Some(chars.next().unwrap_or('\\')),
        c => Some(c),
    };
    std::iter::from_fn(next).collect()
}

/// Returns true if a pattern, in lower case, may match a path with a listed name where `*` and `?`
/// also match a `/` and a dot at the start, as they do for `find` and git.
fn may_be_found(pattern: &str) -> bool {
    let all = units(pattern);
    let separates = |unit: &Unit| !matches!(unit, Unit::Char(c) if *c != '/');
    let starts: Vec<usize> = (0..all.len())
        .filter(|&at| at == 0 || separates(&all[at - 1]) || all[at] == Unit::Many)
        .collect();
    let is = |part: &[Unit], names: &str| {
        let mut names = names.split(' ');
        names.any(|name| matches(part, &name.to_ascii_lowercase()))
    };
    starts.iter().any(|&start| {
        let file = &all[start..];
        let mut ends = (start + 1..=all.len())
            .filter(|&end| end == all.len() || separates(&all[end]) || all[end - 1] == Unit::Many);
        is(file, super::FILES)
            || is(file, super::BUILD_FILES)
            || ends.any(|end| is(&all[start..end], super::DIRECTORIES))
    })
}

/// Returns a git pathspec without the prefix that git calls magic, such as `:(top)` in `:(top)x`.
fn pathspec(word: &str) -> &str {
    match word.strip_prefix(':') {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, path)| path),
        Some(rest) => rest.trim_start_matches(['/', '!', '^', ':']),
        None => word,
    }
}

/// Returns true if a word may be the suffix by which a program names a copy of a file that it
/// changes, such as `.bak` or `old*`.
fn is_ending(word: &str) -> bool {
    word.len() > 1 && !word.contains('/') && (word.starts_with('.') || word.contains('*'))
}

/// Returns true if a pattern matches the whole name. Where a character does not match, the last `*`
/// before it takes one character more of the name.
pub(crate) fn matches(pattern: &[Unit], name: &str) -> bool {
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
