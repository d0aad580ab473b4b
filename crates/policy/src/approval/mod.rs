//! The one gate that every call passes: the policy, and a person where one must be asked.
//!
//! `call_tool`, `serve_tools` and `run_agent` differ in what they know of a call and in how they
//! reach a person; each says so by a [`GatedCall`]. What is asked, which answers there are, what
//! is kept of them and what happens to changed arguments is decided here. [`terminal`] asks on
//! the controlling terminal; `serve_tools` has its client ask the same [`ApprovalQuestion`].

mod question;
pub mod terminal;

pub use question::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation};

use crate::{Decision, Mode, Policy, PolicyCall, Verdict, mode_from_env};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::{Cancellation, ConfirmationDetails, ServerTool};
use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call is judged at most so often: once, and again after each change by a person.
const MAX_CHANGES: usize = 20;

/// A call that wants to pass.
pub trait GatedCall {
    /// The reason why a call can't be explained, or can't be made with changed arguments.
    type Error;

    /// Returns the call as rules see it.
    fn call(&self) -> PolicyCall<'_>;

    /// Returns true if a person can be asked.
    fn can_ask(&self) -> bool;

    /// Returns the cancellation of the call, also while a person is asked.
    fn cancel(&self) -> &Cancellation;

    /// Checks the arguments as far as that tells nothing of what is in files.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with them: the call ends with this.
    fn validate(&self) -> Result<(), Self::Error>;

    /// Returns the effect of the call, and the question for a person. It is only asked for where
    /// one can be asked. [`Explanation::is_for_once`] is the gate's to say.
    ///
    /// # Errors
    ///
    /// Returns the reason why that can't be said: the call ends with this.
    fn explain(&mut self) -> Result<Explanation, Self::Error>;

    /// Asks a person; `None` where there is no answer.
    fn ask(&mut self, explanation: &Explanation) -> Option<ApprovalReply>;

    /// Takes the arguments that a person has changed.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with them: the call ends with this.
    fn change(&mut self, change: ArgumentChange) -> Result<(), Self::Error>;
}

/// Arguments as a person has changed them.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentChange {
    /// Arguments of the call.
    pub args: Map<String, Value>,
    /// Lines that the person has added to what would be written.
    pub added: u64,
    /// Lines that the person has removed from it.
    pub removed: u64,
}

/// The permission of a call, with what runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// True if a person has said yes to this very call.
    pub is_by_person: bool,
    /// The line of shell as it was understood, which is what runs. `None` after a person's yes: the
    /// line then runs as the person saw it.
    pub line: Option<String>,
}

/// The reason why a call does not pass.
#[derive(Debug)]
pub enum GateError<E> {
    /// The rules deny it.
    Denied(Verdict),
    /// The rules want a person to be asked, and there is no answer.
    NoAnswer(Verdict),
    /// The person says no.
    No {
        /// True if the person wants nothing more to happen.
        stops: bool,
    },
    /// The call can't be shown whole, so no person can agree to it; why, for the model.
    NotShown(String),
    /// The person has changed it too often.
    ChangedTooOften,
    /// The call was cancelled before it began.
    Cancelled,
    /// The call can't be explained, or its changed arguments are not valid.
    Failed(E),
}

/// The rules of a session, and what a person has agreed to in it.
#[derive(Debug)]
pub struct Gate {
    policy: Mutex<Policy>,
    /// The mode in which calls are asked about; `None` where the host has asked already.
    approval_mode: Option<Mode>,
    /// The mode by which rules count: that one, or the host's where it says so.
    mode: Mode,
    /// There are no rules, and what is built in denies nothing: no line need be parsed.
    lets_all_pass: bool,
}

impl Gate {
    /// Makes a gate that asks about calls in `approval_mode`; with `None` the host has asked already.
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

    /// Returns true if rules may have a person asked: where the host asks, one can be.
    fn is_interactive(&self, can_ask: bool) -> bool {
        self.approval_mode.is_none() || can_ask
    }

    /// Returns the verdict of the rules on a call; `can_ask` is true if a person can be asked.
    pub fn verdict(&self, call: &PolicyCall<'_>, can_ask: bool) -> Verdict {
        let is_interactive = self.is_interactive(can_ask);
        self.policy().check(call, self.mode, is_interactive)
    }

    /// Returns true if a model is told of a tool; `can_ask` is whether a person can be asked.
    pub fn shows(&self, call: &PolicyCall<'_>, can_ask: bool) -> bool {
        let is_interactive = self.is_interactive(can_ask);
        self.policy().shows(call, self.mode, is_interactive)
    }

    /// Returns true if verdicts go by what MCP servers say of their tools.
    pub fn heeds_annotations(&self) -> bool {
        self.mode == Mode::Plan || self.policy().heeds_annotations()
    }

    /// Returns the reason why no call may run at all, if a policy file can't be read. It is for an
    /// early stop: [`Gate::pass`] denies each call then anyway.
    pub fn obstacle(&self) -> Option<String> {
        self.policy().obstacle()
    }

    /// Returns the problems of the rules.
    pub fn problems(&self) -> Vec<String> {
        let policy = self.policy();
        policy.problems.iter().map(Diagnostic::text).collect()
    }

    /// Lets a call pass, with what a person has made of its arguments.
    ///
    /// # Errors
    ///
    /// Returns the reason why it does not.
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
                // It was not the person who ended the question.
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

    /// Returns the error of a call that does not pass by the rules. Where only a user is missing, a model learns first
    /// what is wrong with the arguments. No explanation says that: it looks at files, and its failures would say what
    /// is there.
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

    /// Judges a call that the built-in rules ask about by what it says of itself.
    fn by_explanation<C: GatedCall>(
        &self,
        candidate: &C,
        explanation: &Explanation,
        verdict: Verdict,
    ) -> Result<ByRules, GateError<C::Error>> {
        // A rule that somebody wrote decides.
        if !verdict.is_default {
            return Ok(ByRules::Asks(verdict));
        }
        match &explanation.confirmation {
            // What has nothing to ask about need not, unless a rule wants it to.
            None => Ok(ByRules::Passes(Pass::default())),
            // Only now is the MCP server known: its rules are looked at as well.
            Some(ConfirmationDetails::Mcp {
                server_name,
                tool_name,
                ..
            }) => {
                let server = Some(ServerTool {
                    name: server_name,
                    tool: tool_name,
                });
                let call = candidate.call();
                self.by_rules(&PolicyCall { server, ..call }, candidate.can_ask())
            }
            Some(_) => Ok(ByRules::Asks(verdict)),
        }
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
    /// Returns the reason, for the model; a failure is given back.
    ///
    /// # Errors
    ///
    /// Returns what the candidate failed with.
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
