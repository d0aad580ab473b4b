//! `call_tool --from`: calls as other APIs write them, and answers in the same shape.

use crate::options::Options;
use crate::print::print;
use crate::session::Session;
use crate::{status, with_time_limit};
use gemini_tools::answer::{Answer, to_line};
use gemini_tools::dialect::{Dialect, Refusal, Request};
use gemini_tools::tool::{Cancellation, Context, ToolError};
use serde_json::{Value, json};

/// Answers what came on standard input. Gives the exit status: that of the call, or 1 where one
/// of several has failed.
pub(crate) fn run(
    options: &Options,
    dialect: Dialect,
    input: Result<Vec<u8>, ToolError>,
    cancel: &Cancellation,
) -> u8 {
    let request = input
        .map_err(|e| Refusal::new(dialect, e.to_string()))
        .and_then(|input| Request::read(dialect, &input));
    let mut request = match request {
        Ok(Some(request)) => request,
        Ok(None) => return 0,
        Err(refusal) => return print(&to_line(&refusal.to_value()), 2),
    };
    if !options.name.is_empty() {
        for call in request.calls.iter_mut().filter(|c| !c.is_of(&options.name)) {
            call.args = Err(ToolError::invalid(format!(
                "The call is one of {:?}, but the command line says {:?}.",
                call.name, options.name
            ))
            .with_hint("Leave the name out: --from takes it from the call."));
        }
    }
    let session = Session::open(options);
    let (value, status) = answer(options, &session, &mut request, cancel);
    print(&to_line(&value), status)
}

/// Makes the calls one after the other; gives the answer to all, and the exit status.
pub(crate) fn answer(
    options: &Options,
    session: &Result<Session, ToolError>,
    request: &mut Request,
    cancel: &Cancellation,
) -> (Value, u8) {
    let mut outcomes = Vec::new();
    for call in &mut request.calls {
        let args = std::mem::replace(&mut call.args, Ok(json!({})));
        outcomes.push(one(options, session, &call.name, args, cancel));
    }
    let mut answers = Vec::new();
    let mut statuses = Vec::new();
    for (call, (outcome, cancel)) in request.calls.iter().zip(outcomes) {
        let mut answer = Answer {
            name: &call.name,
            id: None,
            outcome,
        };
        statuses.push(status(&answer, &cancel));
        if let Ok(session) = session {
            answer.limit(
                session.surroundings.settings.limit_chars(),
                Some(&session.surroundings.workspace),
            );
        }
        answers.push(answer);
    }
    let status = match statuses.as_slice() {
        [one] => *one,
        all => u8::from(all.iter().any(|status| *status != 0)),
    };
    (request.answer(&answers), status)
}

fn one(
    options: &Options,
    session: &Result<Session, ToolError>,
    name: &str,
    args: Result<Value, ToolError>,
    cancel: &Cancellation,
) -> (
    Result<gemini_tools::tool::ToolResult, ToolError>,
    Cancellation,
) {
    let mut cx = Context::new(with_time_limit(cancel), false);
    let outcome = args.and_then(|args| {
        let session = session.as_ref().map_err(ToolError::again)?;
        cx.limit_chars = session.surroundings.settings.limit_chars();
        session.call(options, name, args, &cx)
    });
    (outcome, cx.cancel)
}
