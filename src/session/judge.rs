//! Whether a call may run: the policy, and a person where one is to be asked.

use super::{Person, Rules};
use crate::agent::approval::Reply;
use crate::agent::call::{CallRequest, ToolCall};
use crate::agent::pair::Explanation;
use crate::builtin;
use crate::policy::{Call, Decision, Extra, Mode, Policy, ServerTool, Verdict, hosts_mode};
use crate::registry::Judged;
use crate::settings::Settings;
use crate::tool::{Args, Confirmation, Context, ErrorKind, Tool, ToolError};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Arguments that a person changes are looked at again so often.
const MOST_CHANGES: usize = 20;

pub(super) struct Judge {
    policy: Mutex<Policy>,
    /// `None` where the host has asked already.
    mode: Option<Mode>,
    /// The mode of the host, where it says so.
    hosts_mode: Mode,
    /// There are no rules, and what is built in denies nothing: no line need be parsed.
    lets_all_pass: bool,
}

impl Judge {
    pub(super) fn new(
        rules: &Rules,
        settings: &Settings,
        home: Option<&Path>,
        root: &Path,
    ) -> Self {
        let extra = Extra::with_paths(&rules.policy);
        let policy = Policy::load(settings, home, root, &extra);
        let hosts_mode = hosts_mode();
        Self {
            lets_all_pass: policy.is_empty() && hosts_mode != Mode::Plan,
            policy: Mutex::new(policy),
            mode: rules.approval,
            hosts_mode,
        }
    }

    /// What the rules say; `person` is who can be asked.
    pub(super) fn verdict(
        &self,
        tool: &dyn Tool,
        args: &Map<String, Value>,
        person: Option<&Person>,
    ) -> Verdict {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.check(
            &call_of(tool, args),
            self.mode.unwrap_or(self.hosts_mode),
            self.is_interactive(person.is_some()),
        )
    }

    /// Whether a model is told of a tool; `can_ask` is whether somebody can be asked.
    pub(super) fn shows(&self, call: &Call<'_>, can_ask: bool) -> bool {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = self.mode.unwrap_or(self.hosts_mode);
        policy.shows(call, mode, self.is_interactive(can_ask))
    }

    /// Whether verdicts go by what MCP servers say of their tools.
    pub(super) fn heeds_annotations(&self) -> bool {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.heeds_annotations() || self.mode.unwrap_or(self.hosts_mode) == Mode::Plan
    }

    /// What is wrong with the rules.
    pub(super) fn problems(&self) -> Vec<String> {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.problems.clone()
    }

    /// Whether a person's yes can only be for the call that they are asked about.
    fn keeps_no_answers(&self) -> bool {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.keeps_no_answers()
    }

    fn is_interactive(&self, can_ask: bool) -> bool {
        self.mode.is_none() || can_ask
    }

    /// Lets a call pass, with what a person has made of its arguments, or says why not. A line of
    /// shell that no person has seen runs as it was understood.
    pub(super) fn judge(
        &self,
        tool: &dyn Tool,
        args: &mut Value,
        cx: &Context,
        person: Option<&Person>,
    ) -> Result<Judged, ToolError> {
        if self.mode.is_none() && self.lets_all_pass {
            return Ok(Judged::default());
        }
        let empty = Map::new();
        for _ in 0..MOST_CHANGES {
            let verdict = self.verdict(tool, args.as_object().unwrap_or(&empty), person);
            match (verdict.decision, self.mode) {
                (Decision::Allow, _) | (Decision::AskUser, None) => {
                    return Ok(Judged {
                        line: verdict.understood,
                    });
                }
                (Decision::Deny, _) => return Err(verdict.to_error()),
                (Decision::AskUser, Some(mode)) => {
                    let Some(person) = person else {
                        return Err(nobody_asked(&verdict));
                    };
                    match self.ask(tool, args, (&verdict, mode), cx, person)? {
                        None => return Ok(Judged::default()),
                        Some(changed) => *args = Value::Object(changed),
                    }
                }
            }
        }
        Err(refused("The call was changed too often."))
    }

    /// Asks a person. Gives other arguments where they want the call to have these.
    fn ask(
        &self,
        tool: &dyn Tool,
        args: &Value,
        (verdict, mode): (&Verdict, Mode),
        cx: &Context,
        person: &Person,
    ) -> Result<Option<Map<String, Value>>, ToolError> {
        // One question at a time.
        let mut asker = person.lock().unwrap_or_else(PoisonError::into_inner);
        let own = Args::from_value(args.clone())?;
        let invocation = crate::tool::build(tool, own.clone(), cx)?;
        let confirmation = match invocation.confirmation(cx)? {
            Confirmation::Forbidden(reason) => return Err(refused(reason)),
            // Nothing of the tool's own to show: what it does is in its description.
            Confirmation::NotNeeded if verdict.rule.is_default => return Ok(None),
            Confirmation::NotNeeded => None,
            Confirmation::Ask(details) => Some(details),
        };
        let explanation = Explanation {
            description: invocation.describe(),
            locations: invocation.locations(),
            confirmation,
            is_for_once: self.keeps_no_answers(),
        };
        let request = CallRequest {
            id: String::new(),
            name: tool.name().to_owned(),
            args: own.as_map().clone(),
        };
        let call = ToolCall::new(request, Some(tool.kind()));
        // A person takes the time that they need.
        let waiting = cx.cancel.wait_for_others();
        let reply = asker.ask(&call, &explanation);
        drop((asker, waiting));
        match reply {
            Some(Reply::Change { args, .. }) => Ok(Some(args)),
            Some(
                reply @ (Reply::Once | Reply::Always | Reply::AlwaysTool | Reply::AlwaysServer),
            ) => {
                if let Some(agreed) = reply.agreed(tool.name(), &explanation) {
                    let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
                    policy.remember(agreed, mode);
                }
                Ok(None)
            }
            Some(Reply::NotShown(why)) => Err(refused(why)),
            None => Err(nobody_asked(verdict)),
            // Not an answer where a signal has ended the question.
            Some(Reply::Stop) if cx.cancel.interruption().is_some() => {
                cx.cancel.check().map(|()| None)
            }
            Some(Reply::No | Reply::Stop) => Err(refused("The user has said no to this call.")),
        }
    }
}

/// A tool's call as rules see it.
pub(super) fn call_of<'a>(tool: &'a dyn Tool, args: &'a Map<String, Value>) -> Call<'a> {
    let server = tool.server().map(|(name, tool)| ServerTool { name, tool });
    Call {
        name: tool.name(),
        aliases: tool.aliases(),
        server,
        args,
        renamed: builtin::known(tool.name()).map_or(&[], |known| known.renamed),
        annotations: tool.annotations(),
        kind: tool.kind(),
        // No other tool of a session can have the name of one.
        is_built_in: server.is_none() && builtin::kind(tool.name()).is_some(),
    }
}

fn nobody_asked(verdict: &Verdict) -> ToolError {
    refused(format!("{} There is no one to ask.", verdict.reason))
}

fn refused(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::PolicyViolation, message)
}
