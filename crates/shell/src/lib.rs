//! The commands that a line of bash runs.
//!
//! A program that lets a model run commands wants to know before it does: does this line only run
//! `git`, or does it also delete something? Splitting at `;` and `|` does not tell: programs hide
//! behind quotes, substitutions, `env`, `xargs`, `bash -c`, `find -exec` and many more. [`analyse`]
//! reads the line as bash would, and says what it does not know.
//!
//! ```
//! use gemini_tools_shell::analyse;
//!
//! let analysis = analyse("cd build && LANG=C xargs -n1 rm <list | tee log");
//! assert_eq!(analysis.root_commands(), ["cd", "xargs", "rm", "tee"]);
//!
//! // What can't be known before it runs is never passed over.
//! let analysis = analyse(r#"git status; eval "$x""#);
//! assert!(!analysis.unresolved.is_empty());
//!
//! // A construct that is not plain shell is named.
//! let analysis = analyse("make; coproc rm x");
//! assert_eq!(analysis.not_plain.unwrap().to_string(), "`coproc` at column 7");
//! ```
//!
//! # How it works
//!
//! A line is read, never executed. `plain` understands a part of bash exactly, and what it
//! understood is printed anew ([`Analysis::understood`]). Callers run that text instead of the line,
//! so that what is judged is what runs. A text that differs from the line is read once more and must
//! give the same commands. A line with any other construct is [`NotPlain`]: one unresolved text.
//!
//! Each command goes to `wrappers`, which looks for the commands that it runs in turn (`env`,
//! `xargs`, `bash -c`, `find -exec`, …), and a script in an argument is read like a line, up to
//! `MAX_SCRIPTS`, if all shells read it alike. A shell that reads its script from a file that is
//! not on the disk is unresolved.
//!
//! Rules that deny have a second look, at words rather than at commands: [`mentions`].
//!
//! # Guarantees
//!
//! Two things hold. A command that may run is in [`Analysis::commands`], or the text that it may
//! come from is in `unresolved`. And a line that exceeds the budget of `budget` is unresolved as a
//! whole.
//!
//! # Limits
//!
//! - A line of more than 128 KiB, of more than 20,000 parts or 40 levels of nesting, or with scripts
//!   more than eight deep inside each other is not looked through.
//! - A program is known by its name. What a program does with its arguments (`python -c`, `docker
//!   run`) is not known.
//! - What files hold is not read: `./build.sh` is the command `./build.sh`.
//! - The environment counts. A caller that runs [`Analysis::understood`] must give bash none that
//!   changes how it reads (`BASH_ENV`, `ENV`, `SHELLOPTS`, `BASHOPTS`, `PS4`, `POSIXLY_CORRECT`,
//!   functions).
//!
//! What follows from all this is up to the callers: `gemini-tools-policy` decides, and the tool
//! `run_shell_command` shows and runs. This crate works on text only, and knows no files, rules or
//! settings.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod budget;
mod builtins;
mod meaning;
mod mention;
mod options;
mod plain;
mod render;
mod variables;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

pub use mention::mentions;
pub use plain::NotPlain;

use budget::Limits;
use std::collections::BTreeSet;

const MAX_LINE: usize = 128 * 1024;

const MAX_SCRIPTS: usize = 8;

/// The commands of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The simple commands, in the order in which they are written.
    pub commands: Vec<Command>,
    /// Source text whose commands can't be known before it runs; the line, where it is not plain.
    pub unresolved: Vec<String>,
    /// The texts outside of commands: values of variables, here-documents, words of loops.
    pub texts: Vec<String>,
    /// True if the line, or a script in it, reads or writes files by `<`, `>` and their like.
    pub redirects: bool,
    /// The first construct that is not plain shell.
    pub not_plain: Option<NotPlain>,
    understood: Option<String>,
}

/// A simple command that the line may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Name and arguments, quotes removed; `None` for one that can't be known.
    pub words: Vec<Option<String>>,
    /// The source text.
    pub text: String,
    /// The unknown words as they are written in the source, for rules that deny a word wherever it
    /// stands.
    unknown: String,
}

fn base(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => name,
    }
}

/// Finds the commands of a line.
pub fn analyse(line: &str) -> Analysis {
    let budget = Limits::default();
    let mut analysis = Analysis::default();
    if line.len() > MAX_LINE {
        budget.exceed("more than 128 KiB");
    } else if let Err(not_plain) = analysis.add_script(line, 0, &budget) {
        return Analysis::not_plain(line, not_plain);
    } else {
        analysis.check_understanding(line, &budget);
    }
    if let Some(limit) = budget.exceeded() {
        return Analysis::not_plain(line, NotPlain::new(line, 0, Some(limit)));
    }
    // Assignments come last: they are shown as programs are.
    analysis
        .commands
        .sort_by_key(|command| command.root().ends_with('='));
    let mut seen = BTreeSet::new();
    analysis.unresolved.retain(|text| seen.insert(text.clone()));
    analysis
}

impl Analysis {
    fn not_plain(line: &str, not_plain: NotPlain) -> Self {
        Self {
            unresolved: vec![excerpt(line)],
            not_plain: Some(not_plain),
            ..Self::default()
        }
    }

    /// Returns the line as it was understood, to be run in its place: bash can read that in one way
    /// only. `None` where it is more than plain shell.
    pub fn understood(&self) -> Option<&str> {
        self.understood.as_deref()
    }

    /// Returns the names of the programs and builtins, each once, in the order in which they are
    /// written; what can't be resolved is there as its source text.
    pub fn root_commands(&self) -> Vec<String> {
        let mut roots: Vec<String> = Vec::new();
        if self.commands.is_empty() {
            return self.unresolved.clone();
        }
        for command in &self.commands {
            if !roots.iter().any(|r| r == command.root()) {
                roots.push(command.root().to_owned());
            }
        }
        roots
    }

    /// Returns the texts that a person is shown because their commands can't be known, with the reason where
    /// the line is not plain.
    pub fn unresolved_with_reason(&self) -> Vec<String> {
        match &self.not_plain {
            None => self.unresolved.clone(),
            Some(not_plain) => vec![format!("{not_plain} is not understood")],
        }
    }

    /// Parses the printed line, which is what will run, once more. If that gives other commands,
    /// then the parser and the printer disagree, and the line counts as unresolved.
    fn check_understanding(&mut self, line: &str, budget: &Limits) {
        let Some(text) = self.understood.take_if(|text| text != line) else {
            return;
        };
        let mut again = Self::default();
        let is_plain = again.add_script(&text, 0, budget).is_ok();
        let words = |command: &Command| command.words.clone();
        let is_same = is_plain
            && again.understood.as_ref() == Some(&text)
            && again.unresolved.is_empty() == self.unresolved.is_empty()
            && again
                .commands
                .iter()
                .map(words)
                .eq(self.commands.iter().map(words));
        if is_same {
            self.understood = Some(text);
        } else {
            self.unresolved.push(excerpt(line));
        }
    }

    fn add_script(&mut self, source: &str, depth: usize, budget: &Limits) -> Result<(), NotPlain> {
        let script = plain::parse(source, budget)?;
        if depth == 0 {
            let text = script.to_string();
            // No argument of a program is longer: the line could only run as it came.
            if text.len() >= MAX_LINE {
                budget.exceed("more than 128 KiB as it is printed");
            } else {
                self.understood = Some(text);
            }
        }
        let mut walk = Walk {
            source,
            depth,
            budget,
            analysis: self,
        };
        walk.script(&script);
        Ok(())
    }
}

impl Command {
    /// Returns the name without directories; the source text where it can't be known.
    pub fn root(&self) -> &str {
        match self.words.first() {
            Some(Some(name)) => base(name),
            _ => &self.text,
        }
    }

    /// Returns true if the words begin with those of a prefix, to the letter, and nothing is assigned
    /// before them.
    pub fn begins_exactly_with(&self, prefix: &str) -> bool {
        let assigns = self
            .text
            .trim_start()
            .split_once('=')
            .is_some_and(|(name, _)| {
                let name = name.strip_suffix('+').unwrap_or(name);
                let name = name.split_once('[').map_or(name, |(name, _)| name);
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            });
        let mut wanted = prefix.split_whitespace().peekable();
        let mut words = self.words.iter().map(Option::as_deref);
        wanted.peek().is_some()
            && !assigns
            && wanted.all(|wanted| words.next().flatten() == Some(wanted))
    }

    /// Returns true if a rule that denies this prefix has to apply: the known words begin with it,
    /// or mention its words in any place, whatever the program. An unknown word may be anything.
    pub fn may_run(&self, prefix: &str) -> bool {
        let known = self.words.iter().flatten().map(String::as_str);
        self.may_begin_with(prefix)
            || mention::mentioned(prefix, &known.chain([self.unknown.as_str()]))
    }

    /// Returns true if the words may begin with those of a prefix. An unknown word matches
    /// anything, and options with their values may stand between: `git -C dir push` matches `git
    /// push`. The directory of the program is ignored.
    fn may_begin_with(&self, prefix: &str) -> bool {
        let mut wanted = prefix.split_whitespace();
        let mut words = self.words.iter().map(Option::as_deref);
        let Some(first) = wanted.next() else {
            return false;
        };
        let is_first = words
            .next()
            .is_some_and(|word| word.is_none_or(|word| word == first || base(word) == first));
        is_first
            && wanted.all(|wanted| {
                let mut takes_value = false;
                for word in words.by_ref() {
                    match word {
                        None if !takes_value => return true,
                        Some(word) if word == wanted => return true,
                        Some(word) if !word.starts_with('-') && !takes_value => return false,
                        word => {
                            takes_value = word.is_some_and(|w| w.starts_with('-') && w.len() == 2);
                        }
                    }
                }
                false
            })
    }
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(200) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

struct Walk<'a> {
    source: &'a str,
    depth: usize,
    budget: &'a Limits,
    analysis: &'a mut Analysis,
}

impl Walk<'_> {
    fn unresolved(&mut self, text: &str) {
        let text = excerpt(text);
        if self.budget.take(1, text.len()).is_some() {
            self.analysis.unresolved.push(text);
        }
    }

    fn nested(&mut self, script: &str) {
        let depth = self.depth + 1;
        let is_read = depth <= MAX_SCRIPTS
            && plain::is_portable(script)
            && self.analysis.add_script(script, depth, self.budget).is_ok();
        if !is_read {
            self.unresolved(script);
        }
    }

    fn push(&mut self, words: Vec<Option<String>>, unknown: String, text: &str) {
        if self.budget.take(words.len(), 2 * text.len()).is_some() {
            self.analysis.commands.push(Command {
                words,
                text: text.to_owned(),
                unknown,
            });
        }
    }
}
