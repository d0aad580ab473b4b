//! The gate that every call passes: it applies the policy, and asks a person where one must be
//! asked.
//!
//! `call_tool`, `serve_tools` and `run_agent` know different things about a call and reach a person
//! in different ways. Each implements [`GatedCall`] for that. The gate decides what to ask, which
//! answers exist, what is remembered of them and what happens to arguments that a person edits.
//! [`terminal`] asks on the controlling terminal; `serve_tools` has its client ask the same
//! [`ApprovalQuestion`].

mod question;
pub mod terminal;

pub use question::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation};

use crate::{Decision, Mode, Policy, PolicyCall, Verdict, mode_from_env};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::{Cancellation, ConfirmationDetails, ServerTool};
use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most times that a call is judged: once at first, and again after each edit by a person.
/// Without a limit an editor that always changes something would go on for ever.
const MAX_CHANGES: usize = 20;

/// A call awaiting a policy decision.
pub trait GatedCall {
    /// The error of a call that can't be explained, or whose edited arguments can't be used.
    type Error;

    /// Returns what the policy sees of the call.
    fn call(&self) -> PolicyCall<'_>;

    /// Returns true if a person can be asked.
    fn can_ask(&self) -> bool;

    /// Returns the cancellation of the call. It also ends a question that is waiting for an answer.
    fn cancel(&self) -> &Cancellation;

    /// Checks the arguments without revealing what files hold.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with them. The call ends with this error.
    fn validate(&self) -> Result<(), Self::Error>;

    /// Returns what the call would do, and the question for a person. It is called only if a person
    /// can be asked. The gate sets [`Explanation::is_for_once`] itself.
    ///
    /// # Errors
    ///
    /// Returns why the effect of the call can't be told. The call ends with this error.
    fn explain(&mut self) -> Result<Explanation, Self::Error>;

    /// Asks a person. Returns `None` if there is no answer.
    fn ask(&mut self, explanation: &Explanation) -> Option<ApprovalReply>;

    /// Replaces the arguments by those that a person has edited.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with them. The call ends with this error.
    fn change(&mut self, change: ArgumentChange) -> Result<(), Self::Error>;
}

/// Arguments that a person has edited.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentChange {
    /// The new arguments.
    pub args: Map<String, Value>,
    /// Number of lines that the person added to the text to be written.
    pub added: u64,
    /// Number of lines that the person removed from the text to be written.
    pub removed: u64,
}

/// Permission for a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// True if a person has approved this very call.
    pub is_by_person: bool,
    /// The shell line as it was understood and printed anew, which must run in place of the written
    /// one. `None` if the line runs as written, for example because a person has approved it, and
    /// for calls without a shell line.
    pub line: Option<String>,
}

/// Why a call may not run.
#[derive(Debug)]
pub enum GateError<E> {
    /// A rule denies the call.
    Denied(Verdict),
    /// A person must be asked, but there is no answer.
    NoAnswer(Verdict),
    /// A person declined.
    No {
        /// True if the person wants the whole session to stop.
        stops: bool,
    },
    /// The call can't be shown completely, so nobody can approve it. Holds the reason, for the
    /// model.
    NotShown(String),
    /// A person has edited the arguments too often.
    ChangedTooOften,
    /// The call was cancelled before it began.
    Cancelled,
    /// The call can't be explained, or its changed arguments are not valid.
    Failed(E),
}

/// The policy of a session, with what a person has approved in it.
#[derive(Debug)]
pub struct Gate {
    policy: Mutex<Policy>,
    approval_mode: Option<Mode>,
    mode: Mode,
    /// True if no rule can deny a call or ask about it, so that shell lines need not be parsed.
    lets_all_pass: bool,
}

impl Gate {
    /// Creates a gate. In `approval_mode` a person is asked where the policy says so; `None` means
    /// that the host asks, so that the gate only denies.
    pub fn new(policy: Policy, approval_mode: Option<Mode>) -> Self {
        let mode = approval_mode.unwrap_or_else(mode_from_env);
        Self {
            lets_all_pass: approval_mode.is_none() && policy.is_empty() && mode != Mode::Plan,
            policy: Mutex::new(policy),
            approval_mode,
            mode,
        }
    }

    fn policy(&self) -> MutexGuard<'_, Policy> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_interactive(&self, can_ask: bool) -> bool {
        // Without an approval mode the host asks, and it has a person to ask.
        self.approval_mode.is_none() || can_ask
    }

    /// Returns the policy's verdict on a call. `can_ask` says that a person can be asked.
    pub fn verdict(&self, call: &PolicyCall<'_>, can_ask: bool) -> Verdict {
        let is_interactive = self.is_interactive(can_ask);
        self.policy().check(call, self.mode, is_interactive)
    }

    /// Returns true if the model is told about a tool. `can_ask` says that a person can be asked.
    pub fn shows(&self, call: &PolicyCall<'_>, can_ask: bool) -> bool {
        let is_interactive = self.is_interactive(can_ask);
        self.policy().shows(call, self.mode, is_interactive)
    }

    /// Returns true if verdicts depend on what MCP servers say about their tools.
    pub fn heeds_annotations(&self) -> bool {
        self.mode == Mode::Plan || self.policy().heeds_annotations()
    }

    /// Returns why no call may run at all, if what may restrict calls has a fault. A caller can stop
    /// early then, since [`Gate::pass`] would deny every call.
    pub fn obstacle(&self) -> Option<String> {
        self.policy().obstacle()
    }

    /// Returns descriptions of what is wrong with the rules, for a person.
    pub fn problems(&self) -> Vec<String> {
        let policy = self.policy();
        policy.problems.iter().map(Diagnostic::text).collect()
    }

    /// Decides about a call, asking a person and applying their edits if need be.
    ///
    /// # Errors
    ///
    /// Returns why the call may not run.
    pub fn pass<C: GatedCall>(&self, candidate: &mut C) -> Result<Pass, GateError<C::Error>> {
        if self.lets_all_pass {
            return Ok(Pass::default());
        }
        for _ in 0..MAX_CHANGES {
            if candidate.cancel().interruption().is_some() {
                return Err(GateError::Cancelled);
            }
            let can_ask = candidate.can_ask();
            let verdict = match self.by_rules(&candidate.call(), can_ask) {
                Ok(ByRules::Passes(pass)) => return Ok(pass),
                Ok(ByRules::Asks(verdict)) if can_ask => verdict,
                Ok(ByRules::Asks(verdict)) => {
                    return Err(self.refusal(candidate, GateError::NoAnswer(verdict)));
                }
                Err(error) => return Err(self.refusal(candidate, error)),
            };
            let mut explanation = candidate.explain().map_err(GateError::Failed)?;
            explanation.is_for_once = self.policy().keeps_no_answers;
            let verdict = match self.by_explanation(candidate, &explanation, verdict)? {
                ByRules::Passes(pass) => return Ok(pass),
                ByRules::Asks(verdict) => verdict,
            };
            match candidate.ask(&explanation) {
                // The call was cancelled while the question waited; the person has not decided.
                None | Some(ApprovalReply::Stop) if candidate.cancel().interruption().is_some() => {
                    return Err(GateError::Cancelled);
                }
                None => return Err(GateError::NoAnswer(verdict)),
                Some(ApprovalReply::Change(change)) => {
                    candidate.change(change).map_err(GateError::Failed)?;
                }
                Some(ApprovalReply::NotShown(why)) => return Err(GateError::NotShown(why)),
                Some(ApprovalReply::Stop) => return Err(GateError::No { stops: true }),
                Some(ApprovalReply::No) => return Err(GateError::No { stops: false }),
                Some(yes) => {
                    if let Some(agreed) = yes.grant(candidate.call().name, &explanation) {
                        self.policy().grant(agreed, self.mode);
                    }
                    return Ok(Pass {
                        is_by_person: true,
                        line: None,
                    });
                }
            }
        }
        Err(GateError::ChangedTooOften)
    }

    /// Returns the error for a call that the policy refuses. If the call would be asked about if
    /// there were a person to ask, the model is told first what is wrong with the arguments.
    /// `validate` finds that out and not `explain`, which reads files: its errors would reveal what
    /// exists.
    fn refusal<C: GatedCall>(
        &self,
        candidate: &C,
        refusal: GateError<C::Error>,
    ) -> GateError<C::Error> {
        let with_user = self.verdict(&candidate.call(), true);
        if with_user.decision == Decision::Deny {
            return refusal;
        }
        candidate
            .validate()
            .err()
            .map_or(refusal, GateError::Failed)
    }

    /// Decides whether a person is really asked. If only the built-in default wants a question, and
    /// no rule, the call runs without one when the tool itself has nothing to confirm.
    fn by_explanation<C: GatedCall>(
        &self,
        candidate: &C,
        explanation: &Explanation,
        verdict: Verdict,
    ) -> Result<ByRules, GateError<C::Error>> {
        // Only the explanation names the MCP server, so the rules about that server have not been
        // applied yet.
        if let Some(ConfirmationDetails::Mcp {
            server_name,
            tool_name,
            ..
        }) = &explanation.confirmation
        {
            let server = Some(ServerTool {
                name: server_name,
                tool: tool_name,
            });
            let call = candidate.call();
            let of_server = self.by_rules(&PolicyCall { server, ..call }, candidate.can_ask())?;
            if verdict.is_default {
                return Ok(of_server);
            }
        }
        // A rule that somebody wrote wants the question, so it is asked even if the tool has
        // nothing to confirm.
        if verdict.is_default && explanation.confirmation.is_none() {
            return Ok(ByRules::Passes(Pass::default()));
        }
        Ok(ByRules::Asks(verdict))
    }

    fn by_rules<E>(&self, call: &PolicyCall<'_>, can_ask: bool) -> Result<ByRules, GateError<E>> {
        let verdict = self.verdict(call, can_ask);
        match (verdict.decision, self.approval_mode) {
            (Decision::Allow, _) | (Decision::AskUser, None) => Ok(ByRules::Passes(Pass {
                is_by_person: false,
                line: verdict.understood,
            })),
            (Decision::AskUser, Some(_)) => Ok(ByRules::Asks(verdict)),
            (Decision::Deny, _) => Err(GateError::Denied(verdict)),
        }
    }
}

enum ByRules {
    Passes(Pass),
    Asks(Verdict),
}

impl<E> GateError<E> {
    /// Returns the message for the model.
    ///
    /// # Errors
    ///
    /// Returns the call's own error of [`GateError::Failed`].
    pub fn message(self) -> Result<String, E> {
        Ok(match self {
            GateError::Denied(verdict) => verdict.to_error().to_string(),
            GateError::NoAnswer(verdict) => format!(
                "{} No user can be asked. Go on without it, or say what it would have done.",
                verdict.reason
            ),
            GateError::No { .. } => "The user declined this call.".to_owned(),
            GateError::NotShown(why) => why,
            GateError::ChangedTooOften => "The call was changed too often.".to_owned(),
            GateError::Cancelled => "The call was cancelled before it began.".to_owned(),
            GateError::Failed(e) => return Err(e),
        })
    }
}

#[cfg(test)]
mod tests;
