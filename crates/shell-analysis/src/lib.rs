//! Which commands a line of bash runs.
//!
//! A program that lets a model run commands wants to know before it does: does this line only run
//! `git`, or does it also delete something? Splitting at `;` and `|` does not tell: programs hide
//! behind quotes, substitutions, `env`, `xargs`, `bash -c`, `find -exec` and many more. [`analyse`]
//! reads the line as bash would, and says what it does not know.
//!
//! ```
//! use gemini_tools_shell_analysis::analyse;
//!
//! let analysis = analyse("cd build && LANG=C xargs -n1 rm <list | tee log");
//! assert_eq!(analysis.root_commands(), ["cd", "xargs", "rm", "tee"]);
//!
//! // What can't be known before it runs is never passed over.
//! let analysis = analyse(r#"git status; eval "$x""#);
//! assert!(!analysis.unresolved.is_empty());
//! ```
//!
//! # How it works
//!
//! A line is read, never executed. [`analyse`] has two readers:
//!
//! - `plain`, the reader of plain shell, understands a part of bash exactly. What it understood is
//!   printed anew ([`Analysis::understood`]), and callers run that text instead of the line, so
//!   that what is judged is what runs. A text that differs from the line is read once more and must
//!   give the same commands.
//! - A parser of all of bash (tree-sitter) reads every other line. It finds commands in order to
//!   show them and to refuse more of them, but never makes a line known: the line, or a part of it,
//!   is also in [`Analysis::unresolved`].
//!
//! Both hand each command to `wrappers`, which looks for the commands that it runs in turn (`env`,
//! `xargs`, `bash -c`, `find -exec`, …), and a script in an argument goes through the readers
//! again, up to `MAX_DEPTH`. `ScriptPosition` says how a script is going to be read: by which kind
//! of shell, with or without the functions of the line, and whether something feeds its standard
//! input.
//!
//! # Guarantees
//!
//! Two things hold. A command that may run is in [`Analysis::commands`], or the text that it may
//! come from is in `unresolved`. And what can't be parsed within the limits of length, nodes, time
//! and depth is unresolved as a whole (`parse_failed`). On Windows, whose shell is PowerShell,
//! every line is.
//!
//! # Limits
//!
//! - A line of more than 128 KiB, of more than 10,000 nodes, or with scripts more than eight deep
//!   inside each other is not looked through, and parsing is given up after half a second.
//! - A program is known by its name. What a program does that is given code in a language of its
//!   own, such as `python -c`, is not looked into: [`Command::runs_code`] says so.
//! - What files hold is not read: `./build.sh` is the command `./build.sh`.
//! - The environment counts. A caller that runs [`Analysis::understood`] must give bash none that
//!   changes how it reads (`BASH_ENV`, `ENV`, `SHELLOPTS`, `BASHOPTS`, `PS4`, `POSIXLY_CORRECT`,
//!   functions).
//!
//! What follows from all this is up to the callers: `gemini-tools-policy` decides, and the tool
//! `run_shell_command` shows and runs. This crate works on text only, and knows no files, rules or
//! settings.

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod builtins;
mod code;
mod meaning;
mod options;
mod plain;
mod render;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

use plain::ShellDialect;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};
use words::{Word, literal, text_of, word_of};

/// A longer line is not looked through, in bytes.
const MAX_LINE: usize = 128 * 1024;

/// A line of more parts than this is not looked through either: finding a part's environment
/// takes time that grows with their number.
const MAX_NODES: usize = 10_000;

/// Parsing is given up after this: some texts take the parser time and memory that grow with
/// the square of their length.
const MAX_PARSING: Duration = Duration::from_millis(500);

/// Commands within commands are followed so deep.
const MAX_DEPTH: usize = 8;

/// What a line runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The simple commands, in the order in which they are written.
    pub commands: Vec<Command>,
    /// Source text whose commands can't be known before it runs.
    pub unresolved: Vec<String>,
    /// Whether the line, or a script in it, reads or writes files by `<`, `>` and their like.
    pub redirects: bool,
    /// Whether the parser does not take the line for bash, or the line is too much to be read.
    pub parse_failed: bool,
    /// Functions that the line defines for what comes after.
    functions: Vec<(String, usize)>,
    /// Whether the line may take functions away again.
    forgets_functions: bool,
    /// The line as it was understood.
    understood: Option<String>,
}

/// One simple command that the line may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program or builtin as it is called, quotes removed; its source text where that
    /// can't be known.
    pub name: String,
    /// Name and arguments, quotes removed; `None` for one that can't be known.
    pub words: Vec<Option<String>>,
    /// As it is written.
    pub text: String,
    /// Where in the line.
    at: usize,
    /// Whether a function of this name is passed over.
    is_direct: bool,
    /// Whether it is given code, in a language that is not looked into: what that runs can't be
    /// known.
    pub runs_code: bool,
    /// Whether a program runs it that is there to run others (`npx`, `uv run`): who allows that
    /// one allows this.
    pub is_carried: bool,
}

impl Command {
    /// The name without directories; the source text where it can't be known.
    pub fn root(&self) -> &str {
        match self.words.first() {
            Some(Some(name)) => base(name),
            _ => &self.name,
        }
    }
}

/// A program's name without its directories.
fn base(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => name,
    }
}

/// Finds the commands of a line.
pub fn analyse(line: &str) -> Analysis {
    let mut analysis = Analysis::default();
    analysis.script(line, ScriptPosition::default());
    analysis.check_understanding(line);
    analysis.commands.sort_by_key(|c| c.at);
    let mut seen = BTreeSet::new();
    analysis.unresolved.retain(|text| seen.insert(text.clone()));
    if cfg!(windows) {
        // The shell is PowerShell there, and what is read here is bash: nothing is known of it.
        analysis.parse_failed = true;
        analysis.unresolved = vec![line.to_owned()];
    }
    analysis
}

impl Analysis {
    /// The line as it was understood, to be run in its place: bash can read that in one way only.
    /// `None` where it is more than plain shell.
    pub fn understood(&self) -> Option<&str> {
        self.understood.as_deref()
    }

    /// The names of the programs and builtins, each once, in the order in which they are
    /// written; what can't be resolved is there as its source text. Functions that the
    /// line itself defines are not programs.
    pub fn root_commands(&self) -> Vec<String> {
        let mut roots: Vec<String> = Vec::new();
        if self.commands.is_empty() {
            return self.unresolved.clone();
        }
        for command in self.programs().filter(|command| !command.is_carried) {
            if !roots.iter().any(|r| r == command.root()) {
                roots.push(command.root().to_owned());
            }
        }
        roots
    }

    /// The commands but for calls of functions that the line itself defines.
    pub fn programs(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter().filter(|command| {
            command.is_direct
                || self.forgets_functions
                || !self
                    .functions
                    .iter()
                    .any(|(name, at)| *name == command.name && *at <= command.at)
        })
    }

    /// What runs is the line as it was printed. Read again it must say the same: else printing has
    /// made another line of it, and nothing is known.
    fn check_understanding(&mut self, line: &str) {
        let Some(text) = self.understood.take_if(|text| text != line) else {
            return;
        };
        let mut again = Self::default();
        again.script(&text, ScriptPosition::default());
        let is_same = again.understood.as_ref() == Some(&text)
            && again.unresolved.is_empty() == self.unresolved.is_empty()
            && again
                .commands
                .iter()
                .map(Command::judged)
                .eq(self.commands.iter().map(Command::judged));
        if is_same {
            self.understood = Some(text);
        } else {
            self.unresolved.push(excerpt(line));
        }
    }

    /// Adds what a script runs.
    fn script(&mut self, script: &str, place: ScriptPosition) {
        if script.len() > MAX_LINE || place.depth > MAX_DEPTH {
            self.unresolved.push(excerpt(script));
            self.parse_failed = true;
            return;
        }
        let plain = if place.is_tree_only {
            None
        } else {
            plain::parse(script, place.dialect)
        };
        let Some(plain) = plain else {
            return self.parsed(script, place);
        };
        if place.depth == 0 {
            let text = plain.text();
            // No argument of a program is longer: the line could only run as it came.
            if text.len() >= MAX_LINE {
                self.unresolved.push(excerpt(script));
            } else {
                self.understood = Some(text);
            }
        }
        Walk {
            source: script,
            place,
            analysis: self,
            shell: ShellDialect::Posix,
        }
        .plain(&plain);
    }

    /// Adds what the parser of all of bash finds in a script that is not understood.
    fn parsed(&mut self, script: &str, place: ScriptPosition) {
        let (known, was_within) = (self.unresolved.len(), place.is_tree_only);
        let tree = parse(script).filter(|t| t.root_node().descendant_count() <= MAX_NODES);
        let Some(tree) = tree else {
            self.unresolved.push(excerpt(script));
            self.parse_failed = true;
            return;
        };
        let place = ScriptPosition {
            is_tree_only: true,
            ..place
        };
        Walk {
            source: script,
            place,
            analysis: self,
            shell: ShellDialect::Posix,
        }
        .tree(&tree);
        self.parse_failed |= tree.root_node().has_error();
        if self.unresolved.len() == known && !was_within {
            self.unresolved.push(excerpt(script));
        }
    }
}

impl Command {
    /// What rules look at.
    fn judged(&self) -> (&[Option<String>], bool, bool) {
        (&self.words, self.runs_code, self.is_carried)
    }

    /// Whether the words begin with those of a prefix, to the letter, and nothing is assigned
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

    /// Whether the command's words begin with those of a prefix; `None` where that can't be
    /// known. The command's directory does not count.
    pub fn begins_with(&self, prefix: &str) -> Option<bool> {
        let mut unknown = false;
        for (i, wanted) in prefix.split_whitespace().enumerate() {
            match self.words.get(i) {
                None => return Some(false),
                Some(None) => unknown = true,
                Some(Some(word)) => {
                    let is_same = word == wanted || (i == 0 && base(word) == wanted);
                    if !is_same {
                        return Some(false);
                    }
                }
            }
        }
        (!unknown).then_some(true)
    }
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(200) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

fn parse(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let started = Instant::now();
    let mut go_on = |_: &ParseState| {
        if started.elapsed() < MAX_PARSING {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let mut read = |at: usize, _| &script.as_bytes()[at.min(script.len())..];
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut read, None, Some(options))
}

/// A walk over the tree of one script.
struct Walk<'a> {
    source: &'a str,
    place: ScriptPosition,
    analysis: &'a mut Analysis,
    /// How a shell that is started reads its script.
    shell: ShellDialect,
}

/// Where a script is in the whole line.
#[derive(Debug, Clone, Copy)]
struct ScriptPosition {
    at: usize,
    /// Within how many others.
    depth: usize,
    /// Whether another shell runs it, which knows none of the line's functions.
    is_other_shell: bool,
    /// How it is going to be read.
    dialect: ShellDialect,
    /// Whether it is only looked through for further reasons to refuse.
    is_tree_only: bool,
    /// Whether a pipe or a redirection around it may give it something to read.
    is_fed: bool,
}

impl Default for ScriptPosition {
    fn default() -> Self {
        Self {
            at: 0,
            depth: 0,
            is_other_shell: false,
            dialect: ShellDialect::Printed,
            is_tree_only: false,
            is_fed: false,
        }
    }
}

impl Walk<'_> {
    fn tree(&mut self, tree: &Tree) {
        let mut evaluates = false;
        // A stack of our own: a line may nest deeper than ours reaches.
        let mut nodes = vec![tree.root_node()];
        while let Some(node) = nodes.pop() {
            self.node(node);
            evaluates |= evaluates_text(node, self.source);
            let mut cursor = node.walk();
            let from = nodes.len();
            nodes.extend(node.children(&mut cursor));
            nodes[from..].reverse();
        }
        if evaluates {
            self.hidden_substitutions(tree);
        }
    }

    fn unresolved(&mut self, text: &str) {
        self.analysis.unresolved.push(excerpt(text));
    }

    /// A script within this one, for the same shell.
    fn inner(&mut self, script: &str, at: usize) {
        let place = ScriptPosition {
            at: self.place.at + at,
            depth: self.place.depth + 1,
            dialect: ShellDialect::Bash,
            ..self.place
        };
        self.analysis.script(script, place);
    }

    /// A script within this one, for a shell of its own.
    fn in_subshell(&mut self, script: &str, at: usize) {
        let place = self.place.in_subshell(at, self.shell);
        self.analysis.script(script, place);
    }

    fn node(&mut self, node: Node<'_>) {
        let text = text_of(node, self.source);
        if node.is_missing() {
            return self.unresolved(self.source);
        }
        match node.kind() {
            "ERROR" => self.error(node),
            "command" => self.command(node),
            "declaration_command" | "unset_command" => self.builtin(node),
            "test_command" if text.starts_with('[') && !text.starts_with("[[") => {
                self.builtin(node);
            }
            "variable_assignment" => self.assignment(node),
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                self.analysis.redirects = true;
            }
            "redirected_statement" => self.redirected(node),
            // A prompt's text is expanded once more.
            "expansion" if text.ends_with("@P}") || text.ends_with("@p}") => {
                self.analysis.parse_failed = true;
            }
            // The parser leaves these as they are, but bash expands them.
            "regex"
            | "extglob_pattern"
            | "word"
            | "heredoc_content"
            | "string_content"
            | "variable_name"
            | "test_operator"
            | "special_variable_name" => {
                self.leaf(node);
            }
            "heredoc_body" => self.heredoc(node),
            _ => {}
        }
    }

    fn error(&mut self, node: Node<'_>) {
        let text = text_of(node, self.source);
        let parent = node.parent().map(|p| p.kind());
        // The parser does not know `<>`.
        if text == ">" && parent == Some("file_redirect") {
            return;
        }
        // Text of a here-document can't be wrong; only its substitutions matter.
        let is_text = |n: Node<'_>| matches!(n.kind(), "heredoc_body" | "heredoc_redirect");
        if !ancestors(node).any(is_text) {
            self.unresolved(text);
        }
        // Words outside of all commands may be commands that were not understood.
        for at in substitutions(text) {
            self.substitution(&text[at..], node.start_byte());
        }
    }

    /// A word that the parser has not looked into.
    fn leaf(&mut self, node: Node<'_>) {
        let text = text_of(node, self.source);
        let is_within_backticks = node
            .parent()
            .is_some_and(|p| ancestors(p).any(|p| is_backtick(p, self.source)));
        let unescaped = if is_within_backticks {
            text.replace("\\`", "`").replace("\\$", "$")
        } else {
            text.to_owned()
        };
        for at in substitutions(&unescaped) {
            self.substitution(&unescaped[at..], node.start_byte());
        }
    }

    /// The commands of a substitution with which a text begins.
    fn substitution(&mut self, text: &str, at: usize) {
        let before = self.analysis.commands.len();
        let place = ScriptPosition {
            at: self.place.at + at,
            depth: self.place.depth + 1,
            ..self.place
        };
        // As a word of a command, which is then taken away again.
        self.analysis.script(&format!("echo {text}"), place);
        if self
            .analysis
            .commands
            .get(before)
            .is_some_and(|c| c.text.starts_with("echo "))
        {
            self.analysis.commands.remove(before);
        }
    }

    fn heredoc(&mut self, node: Node<'_>) {
        if is_quoted_heredoc(node, self.source) {
            return;
        }
        // The parser passes over some substitutions, between those that it looks into.
        let mut end = node.start_byte();
        let next = children(node).into_iter().map(|child| child.byte_range());
        for child in next.chain(std::iter::once(node.end_byte()..node.end_byte())) {
            let gap = self.source.get(end..child.start).unwrap_or_default();
            for at in substitutions(gap) {
                self.substitution(&gap[at..], end);
            }
            end = end.max(child.end);
        }
    }

    fn builtin(&mut self, node: Node<'_>) {
        let text = text_of(node, self.source);
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let words = words_of(node, self.source);
        if text[..end] == *"unset" {
            self.analysis.forgets_functions = true;
        }
        let name = text[..end].to_owned();
        let mut all = vec![Some(name)];
        all.extend(words.into_iter().map(|w| w.value));
        self.push(all, text, node.start_byte(), false);
    }

    /// Variables by which other programs run than those that are named.
    fn assignment(&mut self, node: Node<'_>) {
        let name = node.child_by_field_name("name");
        let name = name.map(|n| text_of(n, self.source)).unwrap_or_default();
        // The first element of a list is its variable too.
        let name = name.split('[').next().unwrap_or_default();
        let value = node.child_by_field_name("value");
        let at = node.start_byte();
        if wrappers::HOLDS_COMMAND.contains(&name) {
            match value.map(|v| literal(v, self.source)) {
                Some(Some(command)) => self.inner(&command, at),
                Some(None) => self.unresolved(text_of(node, self.source)),
                None => {}
            }
        } else if (wrappers::changes_commands(name) && !self.splits_only(node, name))
            || self.names_changing_variable(node)
        {
            self.unresolved(text_of(node, self.source));
        }
    }

    /// Whether an assignment is `IFS=…` before a builtin that splits its input by it and does
    /// nothing else with it.
    fn splits_only(&self, node: Node<'_>, name: &str) -> bool {
        let command = node.parent().filter(|p| p.kind() == "command");
        let command = command.and_then(|c| c.child_by_field_name("name"));
        let builtin = command.map(|c| text_of(c, self.source));
        name == "IFS"
            && builtin.is_some_and(|b| matches!(b, "read" | "mapfile" | "readarray"))
            && !self
                .analysis
                .functions
                .iter()
                .any(|(f, _)| Some(f.as_str()) == builtin)
    }

    /// Whether an assignment makes a name stand for a variable by which other programs run.
    fn names_changing_variable(&self, node: Node<'_>) -> bool {
        let declaration = node.parent().filter(|p| p.kind() == "declaration_command");
        let is_reference = |p: Node<'_>| {
            let mut words = text_of(p, self.source).split_whitespace().skip(1);
            words.any(|w| w.starts_with('-') && w.contains('n'))
        };
        let value = node.child_by_field_name("value");
        let value = value.map(|v| literal(v, self.source));
        declaration.is_some_and(is_reference)
            && value.is_some_and(|value| {
                value.is_none_or(|value| {
                    let name = value.split('[').next().unwrap_or_default();
                    wrappers::HOLDS_COMMAND.contains(&name) || wrappers::changes_commands(name)
                })
            })
    }

    /// Words behind the redirections of something else than a command: nothing knows them.
    fn redirected(&mut self, node: Node<'_>) {
        if last_command(node).is_none() && words_behind(node).next().is_some() {
            self.unresolved(text_of(node, self.source));
        }
    }

    fn command(&mut self, node: Node<'_>) {
        let words = words_of(node, self.source);
        let Some(first) = words.first() else {
            return;
        };
        // The parser takes what follows `!` for a command, also where it is a compound one.
        if !first.is_quoted && KEYWORDS.contains(&first.text.as_str()) {
            self.analysis.parse_failed = true;
            self.unresolved(text_of(node, self.source));
        }
        let input = input_of(node, self.source);
        wrappers::resolve(
            self,
            &words,
            text_of(node, self.source),
            &input,
            node.start_byte(),
        );
    }

    /// Adds a command.
    fn push(&mut self, words: Vec<Option<String>>, text: &str, at: usize, is_direct: bool) {
        let name = words.first().cloned().flatten();
        self.analysis.commands.push(Command {
            name: name.unwrap_or_else(|| excerpt(text)),
            words,
            text: text.to_owned(),
            at: self.place.at + at,
            is_direct: is_direct || self.place.is_other_shell,
            runs_code: false,
            is_carried: false,
        });
    }

    /// Arithmetic, subscripts and prompts expand the text of variables: a substitution in any
    /// text of the line may run, however it is quoted.
    fn hidden_substitutions(&mut self, tree: &Tree) {
        let mut nodes = vec![tree.root_node()];
        while let Some(node) = nodes.pop() {
            if matches!(
                node.kind(),
                "raw_string" | "ansi_c_string" | "string" | "word"
            ) && let Some(value) = literal(node, self.source)
            {
                for at in substitutions(&value) {
                    self.substitution(&value[at..], node.start_byte());
                }
            }
            let mut cursor = node.walk();
            nodes.extend(node.named_children(&mut cursor));
        }
    }
}

fn ancestors(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(Some(node), Node::parent)
}

fn is_backtick(node: Node<'_>, source: &str) -> bool {
    node.kind() == "command_substitution" && text_of(node, source).starts_with('`')
}

/// Where substitutions begin in a text, but for those within others and those behind a
/// backslash.
fn substitutions(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'`' => {
                found.push(i);
                break;
            }
            b'$' | b'<' | b'>' if bytes.get(i + 1) == Some(&b'(') => {
                found.push(i);
                // The rest of the text is parsed with it.
                break;
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// Words that are not commands where a command begins.
const KEYWORDS: [&str; 16] = [
    "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "until", "while", "{",
];

/// Variables of bash's own to which only numbers can be assigned.
const NUMBERS: [&str; 9] = [
    "BASHPID",
    "BASH_SUBSHELL",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
];

/// Tests whose operands are arithmetic, or names with a subscript.
const CALCULATES: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

/// Whether bash evaluates texts here that it would only pass on elsewhere.
fn evaluates_text(node: Node<'_>, source: &str) -> bool {
    let text = text_of(node, source);
    match node.kind() {
        "arithmetic_expansion" | "subscript" | "c_style_for_statement" => true,
        // Some variables are numbers: what is assigned to them is arithmetic.
        "variable_assignment" => {
            let name = text.split(['=', '+']).next().unwrap_or_default();
            NUMBERS.contains(&name)
        }
        "compound_statement" => text.starts_with("(("),
        // A prompt is expanded, and an offset is arithmetic.
        "expansion" => text.contains("@P") || text.contains(':') || text.contains('!'),
        "test_command" => {
            let calculates = |w: &str| CALCULATES.contains(&w);
            text.split(char::is_whitespace).any(calculates)
        }
        "declaration_command" => text.contains(" -") || text.contains('['),
        "unset_command" | "array" => text.contains('['),
        "command" => {
            let name = text.split_whitespace().next().unwrap_or_default();
            matches!(
                name,
                "let" | "test" | "printf" | "read" | "mapfile" | "readarray" | "wait"
            ) && text.contains('[')
        }
        _ => false,
    }
}

/// The words of a command, its name first.
fn words_of(node: Node<'_>, source: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut end = None;
    for child in children(node) {
        let is_word = match child.kind() {
            "variable_assignment" => node.kind() != "command",
            kind if kind.ends_with("_redirect") => false,
            _ => child.is_named(),
        };
        if !is_word {
            continue;
        }
        let word = word_of(child, source);
        // The parser makes two words of backticks and what is right behind them.
        match words.last_mut().filter(|_| end == Some(child.start_byte())) {
            Some(last) => last.append(word),
            None => words.push(word),
        }
        end = Some(child.end_byte());
    }
    let is_last = |p: &Node<'_>| is_made_of_commands(*p) && p.end_byte() == node.end_byte();
    let statement = ancestors(node).skip(1).find(|p| !is_last(p));
    let statement = statement.filter(|p| last_command(*p).is_some_and(|c| c == node));
    if let Some(statement) = statement {
        words.extend(words_behind(statement).map(|word| word_of(word, source)));
    }
    words
}

fn is_made_of_commands(node: Node<'_>) -> bool {
    matches!(node.kind(), "list" | "pipeline" | "negated_command")
}

/// The command that the redirections of a statement belong to.
fn last_command(statement: Node<'_>) -> Option<Node<'_>> {
    if statement.kind() != "redirected_statement" {
        return None;
    }
    let mut node = statement.child(0)?;
    while is_made_of_commands(node) {
        node = *children(node).last()?;
    }
    (node.kind() == "command").then_some(node)
}

/// The words behind redirections, which the parser takes for a part of them.
fn words_behind(statement: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut words = Vec::new();
    let mut redirects: Vec<Node<'_>> = children(statement);
    redirects.reverse();
    while let Some(redirect) = redirects.pop() {
        match redirect.kind() {
            "file_redirect" => {
                let mut end = None;
                for child in children(redirect) {
                    let is_word = child.is_named() && child.kind() != "file_descriptor";
                    if is_word && end.is_some_and(|end| end < child.start_byte()) {
                        words.push(child);
                    }
                    end = is_word.then_some(child.end_byte()).or(end);
                }
            }
            "heredoc_redirect" => {
                for child in children(redirect) {
                    match child.kind() {
                        kind if kind.ends_with("_redirect") => redirects.push(child),
                        "word"
                        | "string"
                        | "raw_string"
                        | "ansi_c_string"
                        | "translated_string"
                        | "concatenation"
                        | "number"
                        | "expansion"
                        | "simple_expansion"
                        | "command_substitution"
                        | "process_substitution"
                        | "arithmetic_expansion"
                        | "brace_expression" => words.push(child),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    words.into_iter()
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// What a command finds on its standard input, where the line says it.
struct Input {
    /// The text of a here-document or here-string.
    text: Option<String>,
    /// Whether something else is there: a pipe or a file.
    is_other: bool,
}

fn input_of(node: Node<'_>, source: &str) -> Input {
    let mut input = Input {
        text: None,
        is_other: false,
    };
    let mut holders = vec![node];
    for parent in ancestors(node).skip(1) {
        match parent.kind() {
            "redirected_statement" => holders.push(parent),
            "pipeline" => {
                let is_first = parent
                    .child(0)
                    .is_some_and(|c| c.start_byte() == node.start_byte());
                input.is_other |= !is_first;
            }
            "negated_command" | "list" | "compound_statement" | "subshell" | "do_group"
            | "while_statement" | "for_statement" | "if_statement" => {}
            // The part of a pipeline behind a here-document's beginning.
            "heredoc_redirect" => input.is_other = true,
            _ => break,
        }
    }
    for holder in holders {
        let mut cursor = holder.walk();
        for child in holder.children(&mut cursor) {
            match child.kind() {
                "herestring_redirect" => {
                    let value = child.named_child(0).and_then(|v| literal(v, source));
                    input.is_other |= value.is_none();
                    input.text = value.or(input.text);
                }
                "heredoc_redirect" => {
                    let mut inner = child.walk();
                    let body = child
                        .children(&mut inner)
                        .find(|c| c.kind() == "heredoc_body");
                    if let Some(body) = body {
                        input.text = Some(text_of(body, source).to_owned());
                    }
                }
                "file_redirect" => {
                    let text =
                        text_of(child, source).trim_start_matches(|c: char| c.is_ascii_digit());
                    input.is_other |= text.starts_with('<');
                }
                _ => {}
            }
        }
    }
    input
}

fn is_quoted_heredoc(body: Node<'_>, source: &str) -> bool {
    let start = body.parent().and_then(|redirect| {
        let mut cursor = redirect.walk();
        redirect
            .children(&mut cursor)
            .find(|c| c.kind() == "heredoc_start")
            .map(|c| text_of(c, source).to_owned())
    });
    start.is_some_and(|s| s.contains(['\'', '"', '\\']))
}
