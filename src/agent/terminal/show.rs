//! What a person is shown of a call, as text for a terminal.
//!
//! Most of it comes from a model or from a file. None of that reaches the terminal but as
//! characters that can be seen.

use super::super::call::ToolCall;
use super::super::pair::Explanation;
use crate::tool::ConfirmationDetails;

/// A longer text is shown by its first and last lines.
const MAX_LINES: usize = 60;

/// Of a text that is too long.
const FIRST_LINES: usize = 35;

/// Of a text that is too long.
const LAST_LINES: usize = 15;

/// The rest of a longer line is left out.
const MAX_LINE_CHARS: usize = 1000;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// Whether a character is not seen where it stands, or changes how others are seen.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, and fillers that look like nothing.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{3164}' | '\u{ffa0}'
            // The directions of text.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            // Without a width, ends of lines, and annotations.
            | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}'
            // Tags and selectors, in which whole texts can hide.
            | '\u{e0000}'..='\u{e0fff}')
}

/// What is shown, as it grows.
pub(super) struct Page {
    /// For the terminal.
    pub(super) text: String,
    /// Whether something was left out.
    pub(super) is_cut: bool,
    colours: bool,
    whole: bool,
}

impl Page {
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

    /// A line, of which everything can be seen; line feeds in it, too.
    fn line(&mut self, label: &str, line: &str, colour: Option<&str>) {
        let count = line.chars().count();
        let shown: String = if self.whole || count <= MAX_LINE_CHARS {
            harmless(line, self.colours)
        } else {
            self.is_cut = true;
            let first: String = line.chars().take(MAX_LINE_CHARS).collect();
            harmless(&first, self.colours)
        };
        self.text.push_str("  ");
        self.paint(Some(DIM), label);
        self.paint(colour, &shown);
        if !self.whole && count > MAX_LINE_CHARS {
            let more = format!(" … {} characters more", count - MAX_LINE_CHARS);
            self.paint(Some(DIM), &more);
        }
        self.text.push('\n');
    }

    /// Lines, each with the colour that it is given.
    fn block(&mut self, text: &str, mut colour: impl FnMut(&str) -> Option<&'static str>) {
        let lines: Vec<&str> = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .collect();
        let hidden = if self.whole || lines.len() <= MAX_LINES {
            0..0
        } else {
            FIRST_LINES..lines.len() - LAST_LINES
        };
        for (i, line) in lines.iter().enumerate() {
            // All lines are looked at: a line's colour may depend on those before.
            let colour = colour(line);
            if i == hidden.start && !hidden.is_empty() {
                self.is_cut = true;
                self.paint(Some(DIM), &format!("  … {} lines more …\n", hidden.len()));
            }
            if !hidden.contains(&i) {
                self.line("", line, colour);
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

    fn details(&mut self, call: &ToolCall, confirmation: Option<&ConfirmationDetails>) {
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
                self.block(&arguments(call), |_| None);
            }
            None => self.block(&arguments(call), |_| None),
        }
    }
}

fn arguments(call: &ToolCall) -> String {
    serde_json::to_string_pretty(&call.request.args).unwrap_or_default()
}

/// A text on one line in which everything is seen: what is not appears as `\u{1b}`, in
/// reverse where there are colours.
pub(super) fn harmless(text: &str, colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let escaped = match c {
            '\t' => {
                out.push(c);
                continue;
            }
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            c if is_unseen(c) => c.escape_unicode().to_string(),
            c => {
                out.push(c);
                continue;
            }
        };
        if colours {
            // Only the reverse is ended, so that the line's own colour stays.
            out.push_str(&format!("\x1b[7m{escaped}\x1b[27m"));
        } else {
            out.push_str(&escaped);
        }
    }
    out
}

/// The call and what it would do.
pub(super) fn page(call: &ToolCall, explanation: &Explanation, colours: bool, whole: bool) -> Page {
    let mut page = Page::new(colours, whole);
    page.text.push('\n');
    page.paint(Some(BOLD), &harmless(&call.request.name, colours));
    page.text.push('\n');
    let description = match &explanation.confirmation {
        // It repeats the command in one line.
        Some(ConfirmationDetails::Exec { command, .. }) if explanation.description == *command => {
            ""
        }
        _ => explanation.description.trim(),
    };
    if !description.is_empty() {
        page.line("", description, None);
    }
    page.details(call, explanation.confirmation.as_ref());
    page
}

/// What a yes to all like it means; `None` where it would mean nothing.
pub(super) fn always(confirmation: Option<&ConfirmationDetails>) -> Option<&'static str> {
    match confirmation {
        Some(ConfirmationDetails::Edit { .. }) => Some("all edits"),
        Some(ConfirmationDetails::Exec { root_commands, .. }) => {
            (!root_commands.is_empty()).then_some("these programs")
        }
        _ => Some("this tool"),
    }
}

/// The line of keys.
pub(super) fn keys(confirmation: Option<&ConfirmationDetails>, is_cut: bool) -> String {
    let mut line = "[y]es".to_owned();
    let always = always(confirmation);
    if let Some(what) = always {
        line.push_str(&format!("  [a]lways ({what})"));
    }
    if always != Some("this tool") {
        line.push_str("  [t]ool always");
    }
    if matches!(confirmation, Some(ConfirmationDetails::Mcp { .. })) {
        line.push_str("  [s]erver always");
    }
    if is_cut {
        line.push_str("  [v]iew all");
    }
    line.push_str("  [e]dit  [n]o  [q]uit ");
    line
}

#[cfg(all(test, unix))]
mod tests {
    use super::{harmless, keys, page};
    use crate::agent::terminal::tests::{call, edit, exec, explained};
    use crate::tool::ConfirmationDetails;
    use serde_json::json;

    #[test]
    fn nothing_gets_through_that_a_terminal_would_obey() {
        let text = "a\x1b[2Jb\u{202e}c\u{9b}1m\x07\r\n\td\u{200b}\u{e0041}é\x7f";
        assert_eq!(
            harmless(text, false),
            "a\\u{1b}[2Jb\\u{202e}c\\u{9b}1m\\u{7}\\r\\n\td\\u{200b}\\u{e0041}é\\u{7f}"
        );
    }

    #[test]
    fn every_field_of_every_kind_is_made_harmless() {
        let odd = "x\x1b]0;title\x07\u{202e}";
        let own = || odd.to_owned();
        let kinds = [
            edit(odd, None, odd, odd),
            edit(odd, None, odd, ""),
            ConfirmationDetails::Exec {
                title: own(),
                command: own(),
                root_command: own(),
                root_commands: vec![own()],
                unresolved: vec![own()],
            },
            ConfirmationDetails::Info {
                title: own(),
                prompt: own(),
                urls: vec![own()],
            },
            ConfirmationDetails::Mcp {
                title: own(),
                server_name: own(),
                tool_name: own(),
                tool_display_name: own(),
            },
        ];
        for details in kinds.into_iter().map(Some).chain([None]) {
            let mut explanation = explained(details);
            explanation.description = own();
            let call = call(odd, json!({ odd: odd }));
            for whole in [false, true] {
                let text = page(&call, &explanation, false, whole).text;
                assert!(
                    text.chars().all(|c| c == '\n' || !super::is_unseen(c)),
                    "{text:?}"
                );
                assert!(text.contains("\\u{1b}]0;title"), "{text}");
            }
        }
    }

    #[test]
    fn a_diff_has_colours_where_they_are_wanted() {
        let diff = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\x1b[0m\n--- x\n";
        let explanation = explained(Some(edit("a", Some("old\n"), "new\n", diff)));
        let call = call("write_file", json!({}));
        let plain = page(&call, &explanation, false, false).text;
        assert!(!plain.contains('\x1b'), "{plain:?}");
        let coloured = page(&call, &explanation, true, false).text;
        for want in [
            "\x1b[1m--- a\x1b[0m\n",
            "\x1b[36m@@ -1 +1 @@\x1b[0m\n",
            "\x1b[31m-old\x1b[0m\n",
            "\x1b[32m+new\x1b[7m\\u{1b}\x1b[27m[0m\x1b[0m\n",
            "\x1b[31m--- x\x1b[0m\n",
        ] {
            assert!(coloured.contains(want), "{want:?} in {coloured:?}");
        }
    }

    #[test]
    fn what_is_long_is_cut_until_all_of_it_is_wanted() {
        let diff: Vec<String> = (0..200).map(|i| format!("+line {i}\n")).collect();
        let diff = diff.concat();
        let explanation = explained(Some(edit("a", None, "", &diff)));
        let call = call("write_file", json!({}));
        let short = page(&call, &explanation, false, false);
        assert!(short.is_cut);
        assert!(short.text.contains("… 150 lines more …"), "{}", short.text);
        assert!(short.text.contains("+line 34\n") && short.text.contains("+line 185\n"));
        assert!(!short.text.contains("+line 35\n") && !short.text.contains("+line 184\n"));
        let whole = page(&call, &explanation, false, true);
        assert!(!whole.is_cut && whole.text.contains("+line 100\n"));

        let wide = explained(Some(exec(&"é".repeat(1500), &["x"])));
        let short = page(&call, &wide, false, false);
        assert!(short.is_cut && short.text.contains("é … 500 characters more\n"));
        assert!(
            page(&call, &wide, false, true)
                .text
                .contains(&"é".repeat(1500))
        );
    }

    #[test]
    fn the_keys_say_what_always_means() {
        let line = |details: &ConfirmationDetails| keys(Some(details), false);
        assert_eq!(
            line(&exec("git status", &["git"])),
            "[y]es  [a]lways (these programs)  [t]ool always  [e]dit  [n]o  [q]uit "
        );
        assert!(!line(&exec("$x", &[])).contains("[a]lways"));
        assert!(line(&edit("a", None, "", "")).contains("[a]lways (all edits)"));
        assert!(keys(None, true).starts_with("[y]es  [a]lways (this tool)  [v]iew all"));
    }
}
