//! Whether a call may run: the policy, and a person where one is to be asked.

use crate::options::Options;
use gemini_tools::agent::approval::{Asker, Reply};
use gemini_tools::agent::call::{CallRequest, ToolCall};
use gemini_tools::agent::pair::Explanation;
use gemini_tools::agent::terminal::Terminal;
use gemini_tools::builtin;
use gemini_tools::policy::{
    Agreed, Call, Decision, Extra, Mode, Policy, ServerTool, Verdict, hosts_mode,
};
use gemini_tools::settings::Settings;
use gemini_tools::tool::{
    Args, Confirmation, ConfirmationDetails, Context, ErrorKind, Tool, ToolError,
};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Arguments that a person changes are looked at again so often.
const MOST_CHANGES: usize = 20;

pub(crate) struct Judge {
    policy: Mutex<Policy>,
    /// `None` where the host has asked already.
    mode: Option<Mode>,
    /// The mode of the host, where it says so.
    hosts_mode: Mode,
    terminal: Mutex<Option<Terminal>>,
    is_interactive: bool,
    /// There are no rules, and what is built in denies nothing: no line need be parsed.
    lets_all_pass: bool,
}

impl Judge {
    pub(crate) fn new(
        options: &Options,
        settings: &Settings,
        home: Option<&Path>,
        root: &Path,
    ) -> Self {
        let extra = Extra::with_paths(&options.policy);
        let terminal = options.approval.and_then(|_| Terminal::open());
        let policy = Policy::load(settings, home, root, &extra);
        let hosts_mode = hosts_mode();
        Self {
            lets_all_pass: policy.is_empty() && hosts_mode != Mode::Plan,
            policy: Mutex::new(policy),
            mode: options.approval,
            hosts_mode,
            is_interactive: options.approval.is_none() || terminal.is_some(),
            terminal: Mutex::new(terminal),
        }
    }

    /// What the rules say.
    pub(crate) fn verdict(&self, tool: &dyn Tool, args: &Map<String, Value>) -> Verdict {
        let aliases = tool.aliases();
        let call = Call {
            name: tool.name(),
            aliases,
            server: tool.server().map(|(name, tool)| ServerTool { name, tool }),
            args,
            renamed: builtin::known(tool.name()).map_or(&[], |known| known.renamed),
            annotations: tool.annotations(),
            kind: tool.kind(),
        };
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.check(
            &call,
            self.mode.unwrap_or(self.hosts_mode),
            self.is_interactive,
        )
    }

    /// Lets a call pass, with what a person has made of its arguments, or says why not.
    pub(crate) fn judge(
        &self,
        tool: &dyn Tool,
        args: &mut Value,
        cx: &Context,
    ) -> Result<(), ToolError> {
        if self.mode.is_none() && self.lets_all_pass {
            return Ok(());
        }
        let empty = Map::new();
        for _ in 0..MOST_CHANGES {
            let verdict = self.verdict(tool, args.as_object().unwrap_or(&empty));
            match (verdict.decision, self.mode) {
                (Decision::Allow, _) | (Decision::AskUser, None) => return Ok(()),
                (Decision::Deny, _) => return Err(verdict.to_error()),
                (Decision::AskUser, Some(mode)) => {
                    match self.ask(tool, args, &verdict, mode, cx)? {
                        None => return Ok(()),
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
        verdict: &Verdict,
        mode: Mode,
        cx: &Context,
    ) -> Result<Option<Map<String, Value>>, ToolError> {
        // One question at a time.
        let mut slot = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(terminal) = slot.as_mut() else {
            return Err(refused(format!(
                "{} Nobody is there to be asked.",
                verdict.reason
            )));
        };
        let own = Args::from_value(args.clone())?;
        let invocation = tool.build(own.clone(), cx)?;
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
        };
        let request = CallRequest {
            id: String::new(),
            name: tool.name().to_owned(),
            args: own.as_map().clone(),
        };
        let call = ToolCall::new(request, Some(tool.kind()));
        let reply = terminal.ask(&call, &explanation);
        drop(slot);
        match reply {
            Some(Reply::Change { args, .. }) => Ok(Some(args)),
            Some(
                reply @ (Reply::Once | Reply::Always | Reply::AlwaysTool | Reply::AlwaysServer),
            ) => {
                self.remember(&reply, tool.name(), &explanation, mode);
                Ok(None)
            }
            _ => Err(refused("The user has said no to this call.")),
        }
    }

    fn remember(&self, reply: &Reply, tool: &str, explanation: &Explanation, mode: Mode) {
        let agreed = match (reply, &explanation.confirmation) {
            (Reply::Once, _) => return,
            (Reply::Always, Some(ConfirmationDetails::Exec { root_commands, .. })) => {
                Agreed::Programs {
                    tool,
                    programs: root_commands,
                }
            }
            (Reply::AlwaysServer, Some(ConfirmationDetails::Mcp { server_name, .. })) => {
                Agreed::Server(server_name)
            }
            _ => Agreed::Tool(tool),
        };
        let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        policy.remember(agreed, mode);
    }
}

fn refused(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::PolicyViolation, message)
}
