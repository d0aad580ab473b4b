//! `call_tool --from`: calls in the formats of other APIs, and answers in the same format.

use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::print_json;
use crate::call_tool::{call_options, open_session, person, status};
use gemini_tools::answer::{Answer, to_line};
use gemini_tools::dialect::{Dialect, DialectCall, DialectError, DialectRequest};
use gemini_tools::parallel;
use gemini_tools::session::{CallOptions, Clock, Session, SharedPrompt, with_time_limit};
use gemini_tools::tool::{Cancellation, Context, ToolError, ToolResult};
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers the calls in `input` and returns the exit status: 2 if it contains no call; that of the
/// interruption if reading it was interrupted; otherwise that of the call, or 1 if one of several
/// calls has failed.
pub(crate) fn run(
    options: &'static CallToolOptions,
    dialect: Dialect,
    input: Result<Vec<u8>, ToolError>,
    cancel: &Cancellation,
    clock: &Arc<Clock>,
) -> u8 {
    let input = match input {
        Ok(input) => input,
        Err(error) => {
            let mut value = DialectError::new(dialect, error.to_string()).to_value();
            if cancel.interruption().is_some() {
                value["error"]["type"] = json!("api_error");
            }
            let answer = Answer {
                name: &options.name,
                id: None,
                outcome: Err(error),
            };
            return print_json(&to_line(&value), status(&answer, cancel));
        }
    };
    let mut request = match DialectRequest::read(dialect, &input) {
        Ok(request) => request,
        Err(refusal) => return print_json(&to_line(&refusal.to_value()), 2),
    };
    if !options.name.is_empty() {
        for call in request.calls.iter_mut().filter(|c| !c.is_of(&options.name)) {
            call.args = Err(ToolError::invalid(format!(
                "The call is for {:?}, but the command line names {:?}.",
                call.name, options.name
            ))
            .with_hint("Leave the name out: --from takes it from the call."));
        }
    }
    let opened = CallContext::open(options, cancel, Arc::clone(clock));
    let (value, status) = answer(&opened, &mut request, cancel);
    print_json(&to_line(&value), status)
}

#[derive(Clone)]
pub(crate) struct CallContext {
    pub(crate) options: &'static CallToolOptions,
    session: Arc<Result<Session, ToolError>>,
    pub(crate) person: Option<Arc<SharedPrompt>>,
    pub(crate) clock: Arc<Clock>,
}

impl CallContext {
    pub(crate) fn open(
        options: &'static CallToolOptions,
        cancel: &Cancellation,
        clock: Arc<Clock>,
    ) -> Self {
        Self {
            options,
            session: Arc::new(open_session(options)),
            person: person(options, &cancel.without_time_limit()).map(Arc::new),
            clock,
        }
    }

    pub(crate) fn session(&self) -> Result<&Session, &ToolError> {
        self.session.as_ref().as_ref()
    }

    pub(crate) fn run<'a>(
        &self,
        name: &'a str,
        args: Value,
        options: CallOptions<'a>,
        cx: &mut Context,
    ) -> Answer<'a> {
        match self.session() {
            Ok(session) => session.run(name, args, options, cx),
            Err(e) => Answer {
                name,
                id: options.id,
                outcome: Err(e.again()),
            },
        }
    }
}

/// Makes the calls; those that only read run concurrently. Returns the answer to all of them, and
/// the exit status.
pub(crate) fn answer(
    opened: &CallContext,
    request: &mut DialectRequest,
    cancel: &Cancellation,
) -> (Value, u8) {
    let only_reads = |call: &DialectCall| {
        let session = opened.session();
        session.is_ok_and(|session| session.only_reads(&call.name))
    };
    let mut outcomes: Vec<Option<Outcome>> = Vec::new();
    outcomes.resize_with(request.calls.len(), || None);
    for group in parallel::groups(&request.calls, only_reads) {
        let calls = request.calls[group.clone()].iter_mut();
        let group = calls.zip(&mut outcomes[group]).collect();
        parallel::each(
            group,
            |(call, outcome): (&mut DialectCall, &mut Option<Outcome>)| {
                let args = std::mem::replace(&mut call.args, Ok(json!({})));
                *outcome = Some(one(opened.clone(), call.name.clone(), args, cancel));
            },
        );
    }
    let mut answers = Vec::new();
    let mut statuses = Vec::new();
    for (call, (outcome, cancel)) in request.calls.iter().zip(outcomes.into_iter().flatten()) {
        let answer = Answer {
            name: &call.name,
            id: None,
            outcome,
        };
        statuses.push(status(&answer, &cancel));
        answers.push(answer);
    }
    let status = match statuses.as_slice() {
        [one] => *one,
        all => u8::from(all.iter().any(|status| *status != 0)),
    };
    (request.answer(&answers), status)
}

type Outcome = (Result<ToolResult, ToolError>, Cancellation);

fn one(
    opened: CallContext,
    name: String,
    args: Result<Value, ToolError>,
    cancel: &Cancellation,
) -> Outcome {
    let mut cx = Context::new(with_time_limit(cancel), false);
    let cancel = cx.cancel.clone();
    let clock = Arc::clone(&opened.clock);
    let outcome = clock.attend(&cancel, move || {
        let how = call_options(opened.options, opened.person.as_deref());
        opened.run(&name, args?, how, &mut cx).outcome
    });
    (outcome, cancel)
}
