//! Formats a question for a terminal.
//!
//! Most of the text comes from a model or a file and may try to deceive the person. So everything
//! is printed visibly: control characters are escaped, and nothing can be pushed out of sight.

use super::super::{ApprovalQuestion, ApprovalReply};
use crate::SessionGrant;
use gemini_tools_core::text::is_deceptive;
use gemini_tools_core::tool::ConfirmationDetails;

const MAX_LINES: usize = 60;

const FIRST_LINES: usize = 35;

const LAST_LINES: usize = 15;

const MAX_LINE_CHARS: usize = 1000;

const FIRST_CHARS: usize = 700;

const LAST_CHARS: usize = 200;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// A longer run of blanks is replaced by its length. Otherwise it could push the rest of a line out
/// of sight.
const MAX_BLANKS: usize = 80;

const MAX_BLANK_LINES: usize = 10;

pub(super) struct PromptPage {
    pub(super) text: String,
    pub(super) is_cut: bool,
    colours: bool,
    whole: bool,
}

impl PromptPage {
    fn new(colours: bool, whole: bool) -> Self {
        Self {
            text: String::new(),
            is_cut: false,
            colours,
            whole,
        }
    }

    fn paint(&mut self, colour: Option<&str>, text: &str) {
        match colour.filter(|_| self.colours) {
            Some(colour) => self.text.push_str(&format!("\x1b[{colour}m{text}\x1b[0m")),
            None => self.text.push_str(text),
        }
    }

    /// Adds a line with everything in it visible, line feeds included. A long line is cut in the
    /// middle, so that both ends show: the harmful part could be at the end.
    fn line(&mut self, label: &str, line: &str, colour: Option<&str>) {
        let count = line.chars().count();
        let at = |n: usize| line.char_indices().nth(n).map_or(line.len(), |(at, _)| at);
        self.text.push_str("  ");
        self.paint(Some(DIM), label);
        if self.whole || count <= MAX_LINE_CHARS {
            self.paint(colour, &escape_controls(line, self.colours));
        } else {
            self.is_cut = true;
            let (first, last) = (&line[..at(FIRST_CHARS)], &line[at(count - LAST_CHARS)..]);
            self.paint(colour, &escape_controls(first, self.colours));
            let hidden = count - FIRST_CHARS - LAST_CHARS;
            self.paint(Some(DIM), &format!(" … {hidden} characters … "));
            self.paint(colour, &escape_controls(last, self.colours));
        }
        self.text.push('\n');
    }

    fn block(&mut self, text: &str, mut colour: impl FnMut(&str) -> Option<&'static str>) {
        let lines: Vec<&str> = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .collect();
        let is_empty = |line: &str| line.chars().all(is_blank);
        // The lines to show, each with its colour and with the number of lines of `text` that it
        // stands for.
        let mut shown: Vec<(String, Option<&str>, usize)> = Vec::new();
        for run in lines.chunk_by(|a, b| is_empty(a) == is_empty(b)) {
            if is_empty(run[0]) && run.len() > MAX_BLANK_LINES {
                let note = format!("… {} blank lines …", run.len());
                shown.push((note, Some(DIM), run.len()));
            } else {
                // `colour` is also called for lines that are hidden below, because the colour of a
                // line may depend on the lines before it.
                shown.extend(run.iter().map(|line| ((*line).to_owned(), colour(line), 1)));
            }
        }
        let hidden = if self.whole || shown.len() <= MAX_LINES {
            0..0
        } else {
            FIRST_LINES..shown.len() - LAST_LINES
        };
        for (i, (line, colour, _)) in shown.iter().enumerate() {
            if i == hidden.start && !hidden.is_empty() {
                self.is_cut = true;
                let count: usize = shown[hidden.clone()]
                    .iter()
                    .map(|(_, _, count)| count)
                    .sum();
                self.line("", &format!("… {count} lines more …"), Some(DIM));
            }
            if !hidden.contains(&i) {
                self.line("", line, *colour);
            }
        }
    }

    fn diff(&mut self, text: &str) {
        let mut is_header = true;
        self.block(text, |line| match line.as_bytes() {
            [b'@', b'@', ..] => {
                is_header = false;
                Some(CYAN)
            }
            [b'+' | b'-', ..] if is_header => Some(BOLD),
            [b'+', ..] => Some(GREEN),
            [b'-', ..] => Some(RED),
            _ => None,
        });
    }

    /// Shows the question below the tool's name. A command comes before its description, so that no
    /// description can push it out of sight.
    fn body(&mut self, question: &ApprovalQuestion<'_>) {
        let confirmation = question.explanation.confirmation.as_ref();
        let description = question.explanation.description.trim();
        let Some(ConfirmationDetails::Exec { command, .. }) = confirmation else {
            if !description.is_empty() {
                self.line("", description, None);
            }
            return self.details(question, confirmation);
        };
        // The description usually begins with the command, which is shown already.
        let quoted = format!("`{}`", command.trim());
        let rest = description.strip_prefix(&*quoted).unwrap_or(description);
        let rest = if rest == command { "" } else { rest };
        self.details(question, confirmation);
        if !rest.is_empty() {
            self.line("", rest.trim_start(), None);
        }
    }

    fn details(
        &mut self,
        question: &ApprovalQuestion<'_>,
        confirmation: Option<&ConfirmationDetails>,
    ) {
        match confirmation {
            Some(ConfirmationDetails::Edit {
                file_path,
                file_diff,
                new_content,
                ..
            }) => {
                self.line("File: ", file_path, None);
                if file_diff.is_empty() {
                    self.line("There is no diff. The new content:", "", None);
                    self.block(new_content, |_| None);
                } else {
                    self.diff(file_diff);
                }
            }
            Some(ConfirmationDetails::Exec {
                command,
                root_commands,
                unresolved,
                ..
            }) => {
                self.block(command, |_| Some(BOLD));
                if !root_commands.is_empty() {
                    self.line("Programs: ", &root_commands.join(", "), None);
                }
                for text in unresolved {
                    self.line("Not known before it runs: ", text, Some(YELLOW));
                }
            }
            Some(ConfirmationDetails::Info { prompt, urls, .. }) => {
                self.block(prompt, |_| None);
                for url in urls {
                    self.line("Address: ", url, None);
                }
            }
            Some(ConfirmationDetails::Mcp {
                server_name,
                tool_name,
                ..
            }) => {
                self.line("Server: ", server_name, None);
                self.line("Tool: ", tool_name, None);
                self.block(&arguments(question), |_| None);
            }
            _ => self.block(&arguments(question), |_| None),
        }
    }
}

fn arguments(question: &ApprovalQuestion<'_>) -> String {
    serde_json::to_string_pretty(question.args).unwrap_or_default()
}

/// Returns a text on one line with everything in it visible. Invisible characters become escapes
/// such as `\u{1b}`, in reverse video if there are colours.
pub(super) fn escape_controls(text: &str, colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let blanks = rest.chars().take_while(|c| is_blank(*c)).count();
        let escaped = match c {
            _ if blanks > MAX_BLANKS => {
                rest = rest.trim_start_matches(is_blank);
                format!("[{blanks} blanks]")
            }
            c => {
                rest = &rest[c.len_utf8()..];
                match c {
                    '\n' => "\\n".to_owned(),
                    '\r' => "\\r".to_owned(),
                    c if is_deceptive(c) && c != '\t' => c.escape_unicode().to_string(),
                    c => {
                        out.push(c);
                        continue;
                    }
                }
            }
        };
        if colours {
            // The second sequence ends reverse video only, so that the line's own colour stays.
            out.push_str(&format!("\x1b[7m{escaped}\x1b[27m"));
        } else {
            out.push_str(&escaped);
        }
    }
    out
}

fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\u{2800}') || c.is_whitespace() && !is_deceptive(c)
}

/// Returns the whole question as plain text, for an MCP client to show.
pub fn question(question: &ApprovalQuestion<'_>) -> String {
    let mut page = PromptPage::new(false, true);
    page.body(question);
    let name = escape_controls(question.name, false);
    format!("May {name} run?\n\n{}", page.text.trim_end())
}

pub(super) fn page(question: &ApprovalQuestion<'_>, colours: bool, whole: bool) -> PromptPage {
    let mut page = PromptPage::new(colours, whole);
    page.text.push('\n');
    page.paint(Some(BOLD), &escape_controls(question.name, colours));
    page.text.push('\n');
    page.body(question);
    page
}

pub(super) fn always(question: &ApprovalQuestion<'_>) -> Option<&'static str> {
    let agreed = ApprovalReply::Always.grant(question.name, question.explanation);
    agreed.map(SessionGrant::words)
}

/// Returns true if the answer "tool always" is offered. It is not if the answer "always" already
/// means all calls of this tool.
pub(super) fn offers_tool(question: &ApprovalQuestion<'_>) -> bool {
    !question.explanation.is_for_once && always(question) != Some("this tool")
}

pub(super) fn offers_server(question: &ApprovalQuestion<'_>) -> bool {
    let is_mcp = matches!(
        question.explanation.confirmation,
        Some(ConfirmationDetails::Mcp { .. })
    );
    is_mcp && !question.explanation.is_for_once
}

pub(super) fn keys(question: &ApprovalQuestion<'_>, is_cut: bool) -> String {
    let mut line = "[y]es".to_owned();
    if let Some(what) = always(question) {
        line.push_str(&format!("  [a]lways ({what})"));
    }
    if offers_tool(question) {
        line.push_str("  [t]ool always");
    }
    if offers_server(question) {
        line.push_str("  [s]erver always");
    }
    if is_cut {
        line.push_str("  [v]iew all");
    }
    line.push_str("  [e]dit  [n]o  [q]uit ");
    line
}

#[cfg(test)]
mod tests;
