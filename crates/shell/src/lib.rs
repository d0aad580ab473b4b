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
//! // A text that is known only when the line runs is reported as unresolved.
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
//! understood is printed anew ([`Analysis::understood`]). Callers run that text instead of the
//! line, so that what is judged is what runs. If the printed text differs from the line, it is
//! parsed once more and must give the same commands. A line with any other construct is
//! [`NotPlain`]: one unresolved text.
//!
//! Each command goes to `wrappers`, which looks for the commands that it runs in turn (`env`,
//! `xargs`, `bash -c`, `find -exec`, …), and a script in an argument is read like a line, up to
//! `MAX_SCRIPTS` scripts deep, if all shells read it alike. A shell that reads its script from
//! standard input, from a device or from a file whose name is unknown is unresolved.
//!
//! Rules that deny commands are also matched against the words of any text, by [`mentions`],
//! because a denied command may be hidden in an argument, a variable or a here-document.
//!
//! # Guarantees
//!
//! Two things hold. A command that may run is in [`Analysis::commands`], or the text that it may
//! come from is in [`Analysis::unresolved`]. And a line that exceeds a limit of the module `budget`
//! is unresolved as a whole.
//!
//! # Limits
//!
//! - A line of more than 128 KiB, of more than 20,000 parts or 40 levels of nesting is unresolved
//!   as a whole. A script more than eight scripts deep is unresolved, but not the line around it.
//! - A program is known by its name. What a program does with its arguments (`python -c`, `docker
//!   run`) is not known.
//! - What files hold is not read: `./build.sh` is the command `./build.sh`.
//! - A caller that runs [`Analysis::understood`] must not give bash an environment that changes how
//!   bash reads a text or that holds code (`BASH_ENV`, `ENV`, `SHELLOPTS`, `BASHOPTS`, `PS4`,
//!   `POSIXLY_CORRECT`, exported functions).
//!
//! The callers use the result: `gemini-tools-policy` decides whether a line may run, and the tool
//! `run_shell_command` shows and runs it. This crate works on text only, and knows no files, rules
//! or settings.

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
mod starters;
mod variables;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

pub use mention::mentions;
pub use plain::NotPlain;
pub use wrappers::reads_git_settings;

use budget::Limits;
use std::collections::BTreeSet;
use variables::Arrays;
use words::Word;

const MAX_LINE: usize = 128 * 1024;

const MAX_SCRIPTS: usize = 8;

/// The commands of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The simple commands in the order in which they are written, followed by the assignments
    /// through which a program may start another.
    pub commands: Vec<Command>,
    /// The beginnings of the source texts whose commands can't be known before they run. If the
    /// line is not plain shell, that is the beginning of the line.
    pub unresolved: Vec<String>,
    /// The texts of the line that are not words of commands: values of variables, here-documents,
    /// words of loops.
    pub texts: Vec<String>,
    /// Those of the texts that a command reads from its standard input: here-documents and
    /// here-strings.
    pub documents: Vec<String>,
    /// True if the line, or a script in it, has a redirection of any kind, such as `>file`, `2>&1`
    /// or a here-document.
    pub redirects: bool,
    /// The words of all redirections that write, as [`Command::patterns`] has them.
    pub targets: Vec<Option<String>>,
    /// The first construct of the line that is not plain shell, or the limit that the line exceeds.
    pub not_plain: Option<NotPlain>,
    understood: Option<String>,
    arrays: Arrays,
}

/// A simple command that the line may run. An assignment through which a program may start another
/// counts as a command with a name such as `PATH=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name and the arguments without quotes. A word that can't be known before the line runs
    /// is `None`.
    pub words: Vec<Option<String>>,
    /// The same words as bash expands them: `*`, `?`, `[`, `{` and a `~` at the start have their
    /// meaning, unless a backslash stands before them. That is the only quoting character left. A
    /// word that holds a variable or a substitution is `None`.
    pub patterns: Vec<Option<String>>,
    /// The source text of the command, or only that of its name if the name can't be known.
    pub text: String,
    options: Vec<String>,
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
    // Assignments are commands with names such as `PATH=`. They come last, so that whoever lists
    // the commands shows the programs first.
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

    /// Returns the line as it was understood and printed anew. Callers run this text instead of the
    /// line, because bash can read it in one way only. `None` if the line is not plain shell, or if
    /// the printed text, when it is read again, does not give the same commands.
    pub fn understood(&self) -> Option<&str> {
        self.understood.as_deref()
    }

    /// Returns the names of [`Analysis::commands`], each once and in the same order, with the
    /// source text of a name that can't be known. If there are no commands, returns
    /// [`Analysis::unresolved`].
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

    /// Returns, for a person, the parts of the line whose commands can't be known: the unresolved
    /// texts or, if the line is not plain shell, the construct that makes it so.
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
            // Linux refuses arguments that are longer, so this text could not be passed to bash.
            if text.len() >= MAX_LINE {
                budget.exceed("more than 128 KiB as it is printed");
            } else {
                self.understood = Some(text);
            }
        }
        let mut walk = Walk {
            depth,
            budget,
            analysis: self,
        };
        walk.script(&script);
        if depth == 0 {
            for text in walk.analysis.arrays.take_evaluated() {
                walk.unresolved(&text);
            }
        }
        Ok(())
    }
}

impl Command {
    /// Returns the name without its directories, or the source text if the name can't be known.
    pub fn root(&self) -> &str {
        match self.words.first() {
            Some(Some(name)) => base(name),
            _ => &self.text,
        }
    }

    /// Returns true if the first words are exactly those of the prefix and the command does not
    /// begin with an assignment.
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

    /// Returns for each word the beginning of the option that it is, or is if what may be empty in it
    /// is empty: `--x=` for `--x=$y` and `$y--x=`. Other words are returned as far as they are known.
    pub fn options(&self) -> impl Iterator<Item = &str> + Clone {
        self.options.iter().map(String::as_str)
    }

    /// Returns the words that can't be known before the line runs, as the line has them, with blanks
    /// between.
    pub fn unknown(&self) -> &str {
        &self.unknown
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

    fn push(&mut self, words: &[Word], text: &str) {
        let unknown = words.iter().filter(|word| word.value.is_none());
        let unknown: Vec<&str> = unknown.map(|word| word.written.as_str()).collect();
        if self.budget.take(words.len(), 4 * text.len()).is_some() {
            let unknown = unknown.join(" ");
            self.analysis.commands.push(Command {
                words: words.iter().map(|word| word.value.clone()).collect(),
                patterns: words.iter().map(|word| word.pattern.clone()).collect(),
                text: text.to_owned(),
                options: words.iter().map(|word| word.option().to_owned()).collect(),
                unknown,
            });
        }
    }
}
