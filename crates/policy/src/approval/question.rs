//! The question that a person is asked about a call, and the possible answers.

use super::ArgumentChange;
use crate::{self as policy, SessionGrant};
use gemini_tools_core::tool::{Cancellation, ConfirmationDetails, Location};
use serde_json::{Map, Value};
use std::fmt;

/// What a call would do.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// The effect, in words.
    pub description: String,
    /// Paths that the call would touch.
    pub locations: Vec<Location>,
    /// What a person has to agree to; `None` if the tool has nothing to ask.
    pub confirmation: Option<ConfirmationDetails>,
    /// True if a person can only approve this one call. Answers that allow more calls are not
    /// offered then.
    pub is_for_once: bool,
}

/// The reply to a question whether a call may run.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalReply {
    /// Yes, this time.
    Once,
    /// Yes, also to calls like it: to all commands of the same programs, to all edits, or else to
    /// all calls of the tool.
    Always,
    /// Yes, also to all other calls of the tool.
    AlwaysTool,
    /// Yes, also to all tools of the MCP server.
    AlwaysServer,
    /// Yes, with the arguments that the person has edited. The changed call is judged again.
    Change(ArgumentChange),
    /// No; the model goes on without the call.
    No,
    /// No; the session stops.
    Stop,
    /// The call can't be shown completely, so nobody can approve it. Holds the reason, for the
    /// model.
    NotShown(String),
}

impl ApprovalReply {
    /// Returns which later calls the answer allows as well, or `None` if it allows none.
    pub fn grant<'a>(
        &self,
        tool: &'a str,
        explanation: &'a Explanation,
    ) -> Option<SessionGrant<'a>> {
        match (self, explanation.confirmation.as_ref()) {
            _ if explanation.is_for_once => None,
            (ApprovalReply::Always, Some(ConfirmationDetails::Edit { .. })) => {
                Some(SessionGrant::Edits)
            }
            (ApprovalReply::Always, Some(ConfirmationDetails::Exec { root_commands, .. }))
                if policy::is_shell(tool) =>
            {
                // If the names of its programs are not known, the command could only be allowed
                // together with all other commands.
                (!root_commands.is_empty()).then_some(SessionGrant::Programs {
                    tool,
                    programs: root_commands,
                })
            }
            (ApprovalReply::AlwaysServer, Some(ConfirmationDetails::Mcp { server_name, .. })) => {
                Some(SessionGrant::Server(server_name))
            }
            (
                ApprovalReply::Always | ApprovalReply::AlwaysTool | ApprovalReply::AlwaysServer,
                _,
            ) => Some(SessionGrant::Tool(tool)),
            _ => None,
        }
    }
}

/// A question for a person.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalQuestion<'a> {
    /// The tool's name, as the model wrote it.
    pub name: &'a str,
    /// The arguments.
    pub args: &'a Map<String, Value>,
    /// The explanation of the call.
    pub explanation: &'a Explanation,
    /// The cancellation of the call, after which no answer is needed.
    pub cancel: &'a Cancellation,
}

/// A way to ask a person.
pub trait ApprovalPrompt: fmt::Debug + Send {
    /// Shows what a call would do, and returns the answer, or `None` if there is none.
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply>;
}
