//! The steps of a call, which are the same for all programs: it is prepared for its reader, judged,
//! made, and its answer is shortened.

use crate::{CallOptions, Session};
use gemini_tools_core::answer::Answer;
use gemini_tools_core::tool::{Context, ToolError, ToolResult, catch};
use gemini_tools_environment::variables::{self, Variable};
use gemini_tools_workspace::seen::UnseenChanges;
use serde_json::Value;

/// The reader of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub enum Reader {
    /// A model: commands' output is condensed, and the answer is kept within the settings' limit.
    #[default]
    Model,
    /// A model whose host shortens answers itself, to this many characters if that is known. Tools
    /// that choose what to leave out keep to that number.
    Host(Option<usize>),
    /// A person or a pipe: nothing is left out.
    Person,
}

impl Session {
    /// Makes a call for the reader of its answer. Any failure, even one before the call, becomes
    /// the outcome of the answer.
    pub fn run<'a>(
        &self,
        name: &'a str,
        args: Value,
        options: CallOptions<'a>,
        cx: &mut Context,
    ) -> Answer<'a> {
        cx.view.call_id = options.id.map(str::to_owned);
        self.prepare(options.reader, cx);
        // Files count as seen only if a model reads the answer and the call is really made.
        let remembers = !options.is_explained && !matches!(options.reader, Reader::Person);
        cx.view.remembers = remembers && self.unseen_changes != UnseenChanges::Off;
        cx.view.tells_unseen = self.unseen_changes == UnseenChanges::Warn;
        let mut notes = Vec::new();
        let call = || self.call(name, args, options, cx, &mut notes);
        let outcome = catch(name, call);
        if let Some(tell) = options.tell {
            self.tell_notes(tell);
        }
        let id = options.id;
        let mut answer = Answer { name, id, outcome };
        if let Reader::Model = options.reader {
            answer.limit(cx.view.limit_chars, &|text| self.tool_env.keep(name, text));
        }
        // The notes are added last, because the limit cuts the end of a text.
        match options.notes {
            Some(apart) => apart.borrow_mut().append(&mut notes),
            None => push_notes(&mut answer.outcome, &notes),
        }
        answer
    }

    fn prepare(&self, reader: Reader, cx: &mut Context) {
        cx.view.limit_chars = match reader {
            Reader::Person => return,
            Reader::Host(limit) => limit,
            Reader::Model => self.tool_env.settings.limit_chars(),
        };
        let chosen = variables::values("GEMINI_TOOLS_CONDENSE");
        let chosen = chosen.first().map(Variable::text);
        cx.view.condenses = chosen.is_none_or(|chosen| chosen.trim() != "off");
    }
}

fn push_notes(outcome: &mut Result<ToolResult, ToolError>, notes: &[String]) {
    for note in notes {
        let message = match outcome {
            Ok(result) => {
                result.push_note(note);
                result.error.as_mut().map(|error| &mut error.message)
            }
            Err(error) => Some(&mut error.message),
        };
        if let Some(message) = message {
            message.push('\n');
            message.push_str(note);
        }
    }
}
