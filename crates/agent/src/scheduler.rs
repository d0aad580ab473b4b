//! Runs the calls of one turn. First, all calls are validated. Then they are divided into groups:
//! consecutive calls that only read form one group, and each other call is a group of its own. The
//! groups are taken in order. The calls of a group are approved one after the other, and then run
//! concurrently.

use super::call::{
    CallOutcome, CallRefusal, CallRequest, CallState, ToolCall, ToolCallDecision, changes,
};
use super::event::SessionEvent;
use super::pair::{DiscoveredTool, Pair};
use gemini_tools_core::message::NO_OBJECT;
use gemini_tools_core::parallel;
use gemini_tools_core::tail_call;
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{
    Cancellation, ConfirmationDetails, DiffStat, ErrorKind, Interruption, Kind, ModelCall,
};
use gemini_tools_policy::approval::terminal::TerminalPrompt;
use gemini_tools_policy::approval::{
    ApprovalPrompt as _, ApprovalQuestion, ApprovalReply, ArgumentChange, Explanation, Gate,
    GateError, GatedCall,
};
use gemini_tools_policy::{Decision, PolicyCall};
use std::sync::{Mutex, PoisonError};

const SHOWN_CHARS: usize = 100;

const NOT_BEGUN: &str = "The call was cancelled before it began.";

pub(super) type Notify<'a> = dyn FnMut(&SessionEvent<'_>) + Send + 'a;

pub(super) struct Scheduler<'a> {
    pub(super) runner: Runner<'a>,
    pub(super) gate: &'a Gate,
    pub(super) asker: &'a mut Option<TerminalPrompt>,
    /// Set if calls of built-in tools get a description even if the user is not asked about them,
    /// because progress output or a report shows it. Each such description costs a request to
    /// `call_tool`.
    pub(super) describes: bool,
}

#[derive(Debug)]
pub(super) struct FinishedCalls {
    pub(super) calls: Vec<ToolCall>,
    pub(super) is_stopped: bool,
}

impl Scheduler<'_> {
    pub(super) fn run(&mut self, requests: Vec<CallRequest>) -> FinishedCalls {
        let pair = self.runner.pair;
        let mut calls: Vec<ToolCall> = requests
            .into_iter()
            .enumerate()
            .map(|(place, request)| new_call(pair, place, request))
            .collect();
        // Validate all calls before any of them runs.
        for call in &mut calls {
            self.runner.notify(&SessionEvent::Call(call));
            if let Err(outcome) = self.runner.validate(call) {
                self.runner.advance(call, CallState::Done(*outcome));
            }
        }
        let mut is_stopped = false;
        let only_reads = |call: &ToolCall| call.kind.is_none_or(Kind::is_read_only);
        for group in parallel::groups(&calls, only_reads) {
            let now = &mut calls[group];
            for call in now.iter_mut().filter(|call| call.outcome().is_none()) {
                is_stopped |= self.approve(call, is_stopped);
            }
            self.runner.execute(now);
            for call in now {
                is_stopped |= self.make_tail_calls(call, is_stopped);
            }
        }
        FinishedCalls { calls, is_stopped }
    }

    /// Runs the further call that the result of `first` asks for, and those that the results of
    /// further calls ask for. Each is validated, approved, shown and counted under its own name, as
    /// if the model had made it; otherwise a tool could start another one past the policy. The last
    /// result becomes that of `first`. Returns true if a person has chosen to stop the session.
    fn make_tail_calls(&mut self, first: &mut ToolCall, mut is_stopped: bool) -> bool {
        let runner = self.runner;
        let mut asking = first.request.name.clone();
        let mut made = 0;
        while let Some(wanted) = first.tail_call.take() {
            let request = CallRequest {
                id: format!("{}-tail-{}", first.request.id, made + 1),
                name: wanted.name,
                args: wanted.args,
            };
            let mut call = ToolCall {
                takes_place_of: Some(first.request.clone()),
                ..new_call(runner.pair, first.place, request)
            };
            runner.notify(&SessionEvent::Call(&call));
            let refused = runner.refuse_tail_call(&asking, made, &call);
            if let Err(outcome) = refused.and_then(|()| runner.validate(&mut call)) {
                runner.advance(&mut call, CallState::Done(*outcome));
            } else {
                is_stopped |= self.approve(&mut call, is_stopped);
                runner.execute(std::slice::from_mut(&mut call));
            }
            made += 1;
            if let Some(outcome) = call.answer() {
                first.state = CallState::Done(outcome);
            }
            first.tail_call = call.tail_call;
            asking = call.request.name;
        }
        is_stopped
    }

    /// Decides whether a call may run, by policy and by asking the user. Returns true if a person
    /// has chosen to stop the session.
    fn approve(&mut self, call: &mut ToolCall, is_stopped: bool) -> bool {
        let runner = self.runner;
        if is_stopped {
            runner.refuse(call, ErrorKind::Cancelled, NOT_BEGUN);
            return is_stopped;
        }
        let Some(tool) = self.runner.pair.get(&call.request.name) else {
            return false;
        };
        let mut at_gate = GatedToolCall {
            call: &mut *call,
            tool,
            runner,
            asker: &mut *self.asker,
            proposed: DiffStat::default(),
        };
        let refusal = match self.gate.pass(&mut at_gate) {
            Ok(passed) => {
                let decision = if passed.is_by_person {
                    ToolCallDecision::Accept
                } else {
                    ToolCallDecision::AutoAccept
                };
                call.decision.get_or_insert(decision);
                self.describe(tool, call);
                runner.advance(call, CallState::Scheduled);
                return false;
            }
            Err(refusal) => refusal,
        };
        call.refusal = self.by_rules(tool, call, &refusal);
        let stops = matches!(refusal, GateError::No { stops: true });
        let is_cancelled = matches!(refusal, GateError::No { .. } | GateError::Cancelled);
        if !matches!(
            refusal,
            GateError::Cancelled | GateError::ChangedTooOften | GateError::Failed(_)
        ) {
            call.decision = Some(ToolCallDecision::Reject);
        }
        match refusal.message() {
            Ok(why) if is_cancelled => runner.refuse(call, ErrorKind::Cancelled, &why),
            Ok(why) => runner.refuse(call, ErrorKind::PolicyViolation, &why),
            Err(outcome) => runner.advance(call, CallState::Done(*outcome)),
        }
        stops
    }

    /// If [`Self::describes`] is set, adds a description to a call of a built-in tool that has none
    /// because no user was asked about it. A failure is ignored: the call is then shown by its
    /// arguments.
    fn describe(&self, tool: &DiscoveredTool, call: &mut ToolCall) {
        if self.describes && tool.is_built_in && call.description.is_none() {
            let runner = self.runner;
            let explained = runner.pair.explain(tool, &call.request, runner.cancel);
            call.description = explained.ok().map(|explained| explained.description);
        }
    }

    /// Returns why the policy refused a call, or `None` if something other than the policy did.
    /// Without a terminal, the policy also denies calls about which it would otherwise ask the
    /// user; the reason is then `NoUser`.
    fn by_rules<E>(
        &self,
        tool: &DiscoveredTool,
        call: &ToolCall,
        refusal: &GateError<E>,
    ) -> Option<CallRefusal> {
        match refusal {
            GateError::NoAnswer(_) => Some(CallRefusal::NoUser),
            GateError::Denied(_) => {
                let with_user = self.gate.verdict(&tool.to_call(&call.request.args), true);
                let lacks_user = self.asker.is_none() && with_user.decision != Decision::Deny;
                Some(if lacks_user {
                    CallRefusal::NoUser
                } else {
                    CallRefusal::Rule
                })
            }
            _ => None,
        }
    }
}

fn new_call(pair: &Pair, place: usize, mut request: CallRequest) -> ToolCall {
    let tool = pair.get(&request.name);
    if let Some(tool) = tool {
        tool.schema.convert(&mut request.args);
    }
    let mcp = tool.and_then(|tool| tool.mcp.as_ref());
    ToolCall {
        place,
        kind: tool.map(|tool| tool.kind),
        server: mcp.map(|mcp| mcp.server.clone()),
        argument_order: tool.map(DiscoveredTool::needed).unwrap_or_default(),
        changes_files: tool.is_some_and(DiscoveredTool::changes_files),
        request,
        ..ToolCall::default()
    }
}

struct GatedToolCall<'c, 'a> {
    call: &'c mut ToolCall,
    tool: &'a DiscoveredTool,
    runner: Runner<'a>,
    asker: &'c mut Option<TerminalPrompt>,
    /// How many lines the diff that the user was shown last adds and removes. If the user then
    /// edits the proposed change, these lines count as the model's part of it.
    proposed: DiffStat,
}

impl GatedCall for GatedToolCall<'_, '_> {
    type Error = Box<CallOutcome>;

    fn call(&self) -> PolicyCall<'_> {
        self.tool.to_call(&self.call.request.args)
    }

    fn can_ask(&self) -> bool {
        self.asker.is_some()
    }

    fn cancel(&self) -> &Cancellation {
        self.runner.cancel
    }

    fn validate(&self) -> Result<(), Box<CallOutcome>> {
        let Runner { pair, cancel, .. } = self.runner;
        // The arguments of another program's tool were checked against its schema; nothing more is
        // known about them.
        if !self.tool.is_own {
            return Ok(());
        }
        match pair.explain(self.tool, &self.call.request, cancel) {
            Err(outcome) if outcome.kind() == Some(ErrorKind::InvalidToolParams) => Err(outcome),
            _ => Ok(()),
        }
    }

    fn explain(&mut self) -> Result<Explanation, Box<CallOutcome>> {
        let Runner { pair, cancel, .. } = self.runner;
        let explanation = pair.explain(self.tool, &self.call.request, cancel)?;
        self.call.description = Some(explanation.description.clone());
        Ok(explanation)
    }

    fn ask(&mut self, explanation: &Explanation) -> Option<ApprovalReply> {
        let asker = self.asker.as_mut()?;
        self.proposed = proposed_lines(explanation);
        asker.ask(&ApprovalQuestion {
            name: &self.call.request.name,
            args: &self.call.request.args,
            explanation,
            cancel: self.runner.cancel,
        })
    }

    fn change(&mut self, changed: ArgumentChange) -> Result<(), Box<CallOutcome>> {
        let call = &mut *self.call;
        let shares = call.shares.get_or_insert(self.proposed);
        shares.user_added_lines += changed.added;
        shares.user_removed_lines += changed.removed;
        let mut args = changed.args;
        self.tool.schema.convert(&mut args);
        let proposed = std::mem::replace(&mut call.request.args, args);
        call.proposed.get_or_insert(proposed);
        call.decision = Some(ToolCallDecision::Modify);
        self.runner.advance(call, CallState::Validating);
        self.runner.validate(call)
    }
}

fn proposed_lines(explanation: &Explanation) -> DiffStat {
    let mut stat = DiffStat::default();
    if let Some(ConfirmationDetails::Edit { file_diff, .. }) = &explanation.confirmation {
        // The first two lines of a unified diff name the file; they also begin with `-` and `+`.
        for line in file_diff.lines().skip(2) {
            stat.ai_added_lines += u64::from(line.starts_with('+'));
            stat.ai_removed_lines += u64::from(line.starts_with('-'));
        }
    }
    stat
}

#[derive(Clone, Copy)]
pub(super) struct Runner<'a> {
    pub(super) pair: &'a Pair,
    pub(super) notify: &'a Mutex<&'a mut Notify<'a>>,
    pub(super) cancel: &'a Cancellation,
    /// Set if the policy relies on annotations of MCP tools, so that a call must fail if they have
    /// changed.
    pub(super) by_annotations: bool,
}

impl Runner<'_> {
    fn validate(&self, call: &mut ToolCall) -> Result<(), Box<CallOutcome>> {
        let request = &call.request;
        let fail = |kind, message: String| Box::new(CallOutcome::failure(request, kind, message));
        let Some(tool) = self.pair.get(&request.name) else {
            if let Some(reason) = self.pair.denied.get(&request.name) {
                call.refusal = Some(CallRefusal::Rule);
                return Err(fail(ErrorKind::PolicyViolation, reason.clone()));
            }
            let (name, hint) = (&request.name, self.pair.hint(&request.name));
            let what = format!("There is no tool {name}. {hint}");
            return Err(fail(ErrorKind::ToolNotRegistered, what));
        };
        if let Some(given) = request.args.get(NO_OBJECT) {
            let given = excerpt(&given.to_string(), SHOWN_CHARS).into_owned();
            let what = format!("The arguments of a call are an object, and not {given}.");
            return Err(fail(ErrorKind::InvalidToolParams, what));
        }
        let arguments = serde_json::Value::Object(request.args.clone());
        // Our own tools check their arguments themselves, since they accept more than their schema
        // declares.
        match tool.schema.validate(&arguments) {
            Ok(()) => Ok(()),
            Err(_) if tool.is_own => Ok(()),
            Err(e) => Err(fail(ErrorKind::InvalidToolParams, e.to_string())),
        }
    }

    /// Refuses a call that the result of the tool `asking` asks for if too many such calls came
    /// before it, or if it may change something although `asking` is declared read-only.
    fn refuse_tail_call(
        &self,
        asking: &str,
        made: usize,
        call: &ToolCall,
    ) -> Result<(), Box<CallOutcome>> {
        let wanted = &call.request.name;
        let only_reads = |name: &str| {
            let tool = self.pair.get(name);
            // A missing tool is reported as such later.
            tool.is_none_or(|tool| tool.kind.is_read_only())
        };
        tail_call::refuse_more(made, wanted)
            .and_then(|()| {
                tail_call::refuse_change((asking, only_reads(asking)), (wanted, only_reads(wanted)))
            })
            .map_err(|e| Box::new(CallOutcome::failure(&call.request, e.kind, e.to_string())))
    }

    fn execute(&self, calls: &mut [ToolCall]) {
        let waiting = calls.iter_mut();
        let waiting = waiting.filter(|call| matches!(call.state, CallState::Scheduled));
        parallel::each(waiting.collect(), |call| self.execute_one(call));
    }

    fn execute_one(&self, call: &mut ToolCall) {
        if self.cancel.interruption().is_some() {
            return self.refuse(call, ErrorKind::Cancelled, NOT_BEGUN);
        }
        let Some(tool) = self.pair.get(&call.request.name) else {
            return;
        };
        self.advance(call, CallState::Executing);
        let count = |call: ModelCall| self.notify(&SessionEvent::ModelCall(&call));
        let by = self.by_annotations;
        let (mut outcome, tail_call) = self.pair.run(tool, by, &call.request, self.cancel, &count);
        call.tail_call = tail_call;
        // The tool attributes all lines to the model; the user's share is only known here.
        if let (Some(stat), Some(shares)) = (&mut outcome.diff_stat, call.shares) {
            *stat = shares;
        }
        self.advance(call, CallState::Done(outcome));
    }

    fn refuse(&self, call: &mut ToolCall, kind: ErrorKind, why: &str) {
        let outcome = match self.cancel.interruption() {
            // A call that the time limit has ended looks like one that the user has cancelled. Its
            // outcome must name the time limit instead.
            Some(why @ Interruption::TimedOut(_)) if kind == ErrorKind::Cancelled => {
                CallOutcome::interrupted(&call.request, why)
            }
            _ => CallOutcome::failure(&call.request, kind, why),
        };
        self.advance(call, CallState::Done(outcome));
    }

    fn advance(&self, call: &mut ToolCall, mut next: CallState) {
        // A call that the user has changed and then refused gets no note: it has not run with any
        // arguments.
        if let CallState::Done(outcome) = &mut next
            && call.decision == Some(ToolCallDecision::Modify)
            && let Some(proposed) = &call.proposed
            && let Some(note) = changes(proposed, &call.request.args)
        {
            outcome.add_note(&note);
        }
        call.move_to(next);
        self.notify(&SessionEvent::Call(call));
    }

    fn notify(&self, event: &SessionEvent<'_>) {
        let mut notify = self.notify.lock().unwrap_or_else(PoisonError::into_inner);
        notify(event);
    }
}
