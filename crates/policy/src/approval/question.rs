//! Questions to a person about a call, and the possible answers.

use super::ArgumentChange;
use crate::{self as policy, SessionGrant};
use gemini_tools_core::tool::{ConfirmationDetails, Location};
use serde_json::{Map, Value};
use std::fmt;

/// An explanation of what a call would do.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// The effect in words.
    pub description: String,
    /// The paths that it would touch.
    pub locations: Vec<Location>,
    /// The request for a person's consent; `None` where the tool has nothing to ask about.
    pub confirmation: Option<ConfirmationDetails>,
    /// True if a yes can only be for this call: no other answer is offered then.
    pub is_for_once: bool,
}

/// An answer of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalReply {
    /// Yes, this time.
    Once,
    /// Yes, and to all like it: to commands of these programs, to all edits.
    Always,
    /// Yes, and to all calls of the tool.
    AlwaysTool,
    /// Yes, and to all tools of the MCP server.
    AlwaysServer,
    /// With other arguments, which are judged again.
    Change(ArgumentChange),
    /// No, and the model goes on without it.
    No,
    /// No, and nothing goes on.
    Stop,
    /// The call can't be shown whole, so no person can agree to it; why, for the model.
    NotShown(String),
}

impl ApprovalReply {
    /// Returns the calls that the answer allows besides the one that was asked about; `None` if it
    /// allows nothing more.
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
                // No program of such a command is known.
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
    /// The tool's name, as the call has it.
    pub name: &'a str,
    /// The arguments.
    pub args: &'a Map<String, Value>,
    /// The explanation of the call.
    pub explanation: &'a Explanation,
}

/// Asks a person.
pub trait ApprovalPrompt: fmt::Debug + Send {
    /// Shows what a call would do and gives the answer. `None` where there is none.
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply>;
}
