//! Asks a person on the controlling terminal, even if the standard streams are redirected.
//!
//! `show` formats the question, `tty` reads keys, `editor` starts the user's editor, and `change`
//! makes a new call from the edited text.

mod change;
mod editor;
mod show;
#[cfg(test)]
mod tests;
mod tty;

use super::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation};
use change::EditOutcome;
use editor::Draft;
use gemini_tools_core::colours::ColourChoice;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::signals::Signals;
use gemini_tools_process::tty::Tty;
use show::escape_controls;
pub use show::question;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tty::KeyPress;

/// A terminal on which a person is asked.
#[derive(Debug)]
pub struct TerminalPrompt {
    tty: Tty,
    /// The editor as a command line for a shell, to which the path of the file is appended.
    pub editor: OsString,
    shows_colours: bool,
    /// True if there will be no later calls, so that answers for them are not offered.
    pub is_for_one_call: bool,
    /// Ends the session. A question that is waiting then counts as answered with
    /// [`ApprovalReply::Stop`].
    pub cancel: Cancellation,
    /// Signal handlers that must ignore Ctrl-C while the editor runs; `None` if there are none.
    pub signals: Option<Arc<Signals>>,
}

#[derive(Debug, Clone)]
enum Choice {
    Answer(ApprovalReply, &'static str),
    View,
    Edit,
}

impl TerminalPrompt {
    /// Opens the controlling terminal. Returns `None` if there is none. The editor is `VISUAL`,
    /// `EDITOR` or `vi`, and [`ColourChoice`] decides about colours.
    pub fn open() -> Option<Self> {
        Some(Self {
            editor: editor::from_environment(),
            shows_colours: ColourChoice::Auto.shows_on(true),
            ..Self::new(Tty::open()?)
        })
    }

    /// Makes a prompt that asks on `tty`, without colours and with `vi` as the editor.
    pub fn on(tty: File) -> Self {
        Self::new(tty.into())
    }

    fn new(tty: Tty) -> Self {
        Self {
            tty,
            editor: editor::USUAL.into(),
            shows_colours: false,
            is_for_one_call: false,
            cancel: Cancellation::default(),
            signals: None,
        }
    }

    fn print_line(&self, text: &str) -> io::Result<()> {
        self.tty.write(&format!(
            "  {}\n",
            escape_controls(text, self.shows_colours)
        ))
    }

    fn converse(&self, question: &ApprovalQuestion<'_>) -> io::Result<ApprovalReply> {
        let page = |whole| show::page(question, self.shows_colours, whole);
        let first = page(false);
        self.tty.write(&first.text)?;
        let line = show::keys(question, first.is_cut);
        loop {
            let pressed = self.key(&line, |byte| choice(byte, question, first.is_cut))?;
            let (reply, word) = match pressed {
                KeyPress::Key(Choice::Answer(reply, word)) => (reply, word),
                KeyPress::Key(Choice::View) => {
                    self.tty.write("view all\n")?;
                    self.tty.write(&page(true).text)?;
                    continue;
                }
                KeyPress::Key(Choice::Edit) => {
                    self.tty.write("edit\n")?;
                    match self.edit(question)? {
                        Some(reply) => return Ok(reply),
                        None => continue,
                    }
                }
                KeyPress::Stop => (ApprovalReply::Stop, "quit"),
                KeyPress::End => (ApprovalReply::No, "no"),
            };
            // The answer is valid even if it can't be shown.
            let _ = self.tty.write(&format!("{word}\n"));
            return Ok(reply);
        }
    }

    fn give_up(&self, why: &str) -> io::Result<Option<ApprovalReply>> {
        self.print_line(why).map(|()| None)
    }

    fn edit(&self, question: &ApprovalQuestion<'_>) -> io::Result<Option<ApprovalReply>> {
        let proposal = change::proposal(question);
        let draft = match Draft::new(&proposal.name, &proposal.text) {
            Ok(draft) => draft,
            Err(e) => return self.give_up(&format!("There can be no file for the editor: {e}.")),
        };
        loop {
            let editor = self.editor.to_string_lossy();
            let edit = || draft.edit(&self.editor, &self.tty);
            let ended = match &self.signals {
                Some(signals) => signals.leave_interrupt(edit),
                None => edit(),
            };
            match ended {
                Ok(status) if status.success() => {}
                Ok(status) => {
                    let what = format!("has failed ({status}); nothing was changed");
                    return self.give_up(&format!("The editor {editor} {what}."));
                }
                Err(e) => {
                    return self.give_up(&format!("The editor {editor} can't be started: {e}."));
                }
            }
            let edited = draft.text().map_or_else(
                |e| EditOutcome::Invalid(format!("The edited file can't be read: {e}.")),
                |text| proposal.applied(question, &text),
            );
            match edited {
                EditOutcome::Change(reply) => return Ok(Some(reply)),
                EditOutcome::Unchanged(why) => return self.give_up(why),
                EditOutcome::Invalid(why) => self.print_line(&why)?,
            }
            match self.key("[e]dit again  [g]ive up ", edits_again)? {
                KeyPress::Key(true) => self.tty.write("edit again\n")?,
                KeyPress::Key(false) | KeyPress::End => {
                    self.tty.write("give up\n")?;
                    return Ok(None);
                }
                KeyPress::Stop => {
                    self.tty.write("quit\n")?;
                    return Ok(Some(ApprovalReply::Stop));
                }
            }
        }
    }
}

impl ApprovalPrompt for TerminalPrompt {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        let explanation = Explanation {
            is_for_once: question.explanation.is_for_once || self.is_for_one_call,
            ..question.explanation.clone()
        };
        let question = ApprovalQuestion {
            explanation: &explanation,
            ..*question
        };
        // If the question can't be shown, there is no answer.
        self.converse(&question).ok()
    }
}

/// Returns the meaning of a key, or `None` if it has none for this question. Capital letters have
/// none, so that nobody answers by mistake.
fn choice(byte: u8, question: &ApprovalQuestion<'_>, is_cut: bool) -> Option<Choice> {
    Some(match byte {
        b'y' => Choice::Answer(ApprovalReply::Once, "yes"),
        b'a' if show::always(question).is_some() => Choice::Answer(ApprovalReply::Always, "always"),
        b't' if show::offers_tool(question) => {
            Choice::Answer(ApprovalReply::AlwaysTool, "tool always")
        }
        b's' if show::offers_server(question) => {
            Choice::Answer(ApprovalReply::AlwaysServer, "server always")
        }
        b'n' => Choice::Answer(ApprovalReply::No, "no"),
        b'q' => Choice::Answer(ApprovalReply::Stop, "quit"),
        b'e' => Choice::Edit,
        b'v' if is_cut => Choice::View,
        _ => return None,
    })
}

fn edits_again(byte: u8) -> Option<bool> {
    match byte {
        b'e' => Some(true),
        b'g' | b'n' => Some(false),
        _ => None,
    }
}
