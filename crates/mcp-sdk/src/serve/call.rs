//! A call: on a thread of its own, with progress, questions and cancellation on the way.

use super::ask::{self, ClientAsker, Question};
use super::rounds::{Answers, OpenQuestion};
use super::server::{Project, Server};
use super::{content, long_answer};
use crate::lock;
use gemini_tools_core::client_host::{AnswerLimit, ClientHost, SizeUnit};
use gemini_tools_core::tail_call::TailCalls;
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_core::tool::{Cancellation, Context, ErrorKind, OutputUpdate, ToolError};
use gemini_tools_session::{CallOptions, Clock, Reader, SharedPrompt, with_time_limit};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc};

/// Maximum bytes kept of output that a client has not taken yet: its end.
const MAX_PENDING_BYTES: usize = 8 * 1024;

/// Characters of what a command's answer says beside the output.
const LABELS_CHARS: usize = 1000;

/// Characters by which Gemini CLI marks an answer before it cuts it to the length in the settings, which are ours as well.
const TAG_CHARS: usize = 100;

pub(super) struct Call {
    pub(super) name: String,
    pub(super) args: Value,
    /// The workspace's roots.
    pub(super) roots: Arc<Vec<PathBuf>>,
    /// The client's host, where it is known.
    pub(super) host: Option<&'static ClientHost>,
    /// The limit of answers that the client hands to its model whole.
    pub(super) answer_limit: Option<AnswerLimit>,
    /// The way to ask the client's user if rules want it.
    pub(super) asking: AskMode,
    /// True if no other client works in the same project.
    pub(super) is_alone: bool,
    /// Fingerprint of the tool list that was last sent to this client.
    pub(super) told: Option<u64>,
    /// The weakest sandbox that commands may have.
    pub(super) least_sandbox: Option<SandboxMode>,
}

impl Call {
    /// Returns the limit of answers that the client hands to its model whole. Gemini CLI's is that of the settings.
    fn client_limit(&self, of_settings: Option<usize>) -> Option<AnswerLimit> {
        let is_gemini_cli = self.host.is_some_and(ClientHost::is_gemini_cli);
        let shared = of_settings.filter(|_| is_gemini_cli);
        let shared =
            shared.map(|chars| AnswerLimit::new(chars.saturating_sub(TAG_CHARS), SizeUnit::Utf16));
        self.answer_limit.or(shared)
    }
}

/// The way to ask a client's user.
pub(super) enum AskMode {
    Never,
    /// The client answers while the call waits.
    Meanwhile,
    /// The client has been asked by results, and has said this.
    ByResults(Answers),
}

impl AskMode {
    fn person(
        &self,
        asked: mpsc::Sender<Question>,
        open: &OpenQuestion,
        is_alone: bool,
    ) -> Option<SharedPrompt> {
        match self {
            Self::Never => None,
            Self::Meanwhile => {
                let prompt = ClientAsker { asked, is_alone };
                Some(SharedPrompt::new(Box::new(prompt)))
            }
            Self::ByResults(said) => Some(SharedPrompt::new(Box::new(said.asker(open, is_alone)))),
        }
    }
}

/// The response to a call, and the project where the client may have to be told of other tools.
type Outcome = (CallToolResponse, Option<Arc<Project>>);

pub(super) async fn run(
    server: &Arc<Server>,
    call: Call,
    context: &RequestContext<RoleServer>,
) -> Outcome {
    let structured = server.options.structured_content;
    let (asked, questions) = mpsc::channel(1);
    let own = Arc::clone(server);
    let work = move |cx| make(&own, &call, cx, asked);
    let cancel = with_time_limit(&Cancellation::default());
    let done = attend(&server.clock, cancel, Some(questions), context, work).await;
    done.flatten()
        .unwrap_or_else(|e| (content::refused(&e, structured).into(), None))
}

/// Runs a call on a thread of its own, with progress, questions and cancellation on the way.
///
/// # Errors
///
/// Returns the reason if the call has crashed or was given up.
pub(super) async fn attend<T: Send + 'static>(
    clock: &Arc<Clock>,
    cancel: Cancellation,
    questions: Option<mpsc::Receiver<Question>>,
    context: &RequestContext<RoleServer>,
    work: impl FnOnce(Context) -> T + Send + 'static,
) -> Result<T, ToolError> {
    // Where the client waits for the result no more, the call ends.
    let (say, given_up) = mpsc::channel(1);
    let guard = clock.watch(&cancel, move |error| {
        // Nobody waits for a call that has ended meanwhile.
        let _ = say.try_send(error);
    });
    let _ending = CancelOnDrop(cancel.clone());
    let token = context.meta.get_progress_token();
    let live = Arc::new(Live::default());
    let mut cx = Context::new(cancel.clone(), false);
    if token.is_some() {
        let live = Arc::clone(&live);
        cx = cx.with_live_output(move |output| live.add(output));
    }
    let work = tokio::task::spawn_blocking(move || {
        let done = work(cx);
        drop(guard);
        done
    });
    let mut running = RunningCall {
        context,
        cancel,
        token,
        live,
        // Without a sender there is none.
        questions: questions.unwrap_or_else(|| mpsc::channel(1).1),
        told: 0.0,
    };
    let done = running.until(work, given_up).await;
    running.report().await;
    let crashed = |e| {
        ToolError::new(
            ErrorKind::UnhandledException,
            format!("The call has crashed (internal error): {e}."),
        )
    };
    // The thread of a call that is given up is left behind.
    done.and_then(|done| done.map_err(crashed))
}

fn make(
    server: &Server,
    call: &Call,
    mut cx: Context,
    asked: mpsc::Sender<Question>,
) -> Result<Outcome, ToolError> {
    let project = server.project(&call.roots, call.host)?;
    let open = OpenQuestion::default();
    let person = call.asking.person(asked, &open, call.is_alone);
    let session = &project.session;
    let of_settings = session.tool_env().settings.limit_chars();
    let client_limit = call.client_limit(of_settings);
    let of_client = client_limit.map(|limit| limit.size);
    let of_client = of_client.filter(|size| of_settings.is_none_or(|chars| *size < chars));
    cx.view.least_sandbox = call.least_sandbox;
    let options = CallOptions {
        person: person.as_ref(),
        reader: match of_client {
            Some(size) => Reader::Host(Some(size.saturating_sub(LABELS_CHARS))),
            None => Reader::Model,
        },
        tail_calls: match &call.asking {
            AskMode::ByResults(_) => TailCalls::MakeUnasked,
            _ => TailCalls::Make,
        },
        tell: Some(server.options.log),
        ..CallOptions::default()
    };
    let answer = session.run(&call.name, call.args.clone(), options, &mut cx);
    if let AskMode::ByResults(said) = &call.asking
        && let Some(question) = said.question(&open)
    {
        return Ok((question.into(), None));
    }
    let is_foreign = !session.is_registered(&call.name);
    let mut result = content::result(&answer, is_foreign, server.options.structured_content);
    if let Some(limit) = client_limit {
        let keep = |text: &str| session.tool_env().keep(&call.name, text);
        long_answer::limit(&mut result, limit, &keep);
    }
    let is_outdated = call.told.is_some_and(|told| !project.is_known_as(told));
    Ok((result.into(), is_outdated.then_some(project)))
}

struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A call whose client is notified while it runs.
struct RunningCall<'a> {
    context: &'a RequestContext<RoleServer>,
    cancel: Cancellation,
    token: Option<ProgressToken>,
    live: Arc<Live>,
    questions: mpsc::Receiver<Question>,
    /// The progress that the client knows of.
    told: f64,
}

impl RunningCall<'_> {
    async fn until<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut given_up: mpsc::Receiver<ToolError>,
    ) -> Result<T, ToolError> {
        let mut work = std::pin::pin!(work);
        let mut is_cancelled = false;
        loop {
            let live = Arc::clone(&self.live);
            tokio::select! {
                done = &mut work => return Ok(done),
                Some(error) = given_up.recv() => return Err(error),
                () = self.context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    self.cancel.cancel();
                }
                () = live.changed.notified() => self.report().await,
                Some(question) = self.questions.recv() => self.ask(question).await,
            }
        }
    }

    /// Tells the client what the call has put out since it was last told.
    async fn report(&mut self) {
        let (Some(token), Some((text, count))) = (&self.token, self.live.take()) else {
            return;
        };
        // It has to grow, whatever comes.
        self.told = (self.told + 1.0).max(count as f64);
        let progress = ProgressNotificationParam::new(token.clone(), self.told).with_message(text);
        // A client that is gone is seen elsewhere.
        let _ = self.context.peer.notify_progress(progress).await;
    }

    async fn ask(&self, Question { text, answer }: Question) {
        let reply = tokio::select! {
            reply = ask::ask(&self.context.peer, text) => reply,
            () = self.context.ct.cancelled() => None,
        };
        // A call that has ended meanwhile needs none.
        let _ = answer.send(reply);
    }
}

/// Output of a call on its way to a client. What comes faster than it is taken is put
/// together, so that the call does not wait.
#[derive(Default)]
struct Live {
    output: Mutex<Output>,
    changed: Notify,
}

#[derive(Default)]
struct Output {
    pending: String,
    /// Number of characters so far.
    count: usize,
}

impl Live {
    fn add(&self, output: OutputUpdate) {
        let text = match output {
            OutputUpdate::Text(text) => text,
            OutputUpdate::ModelCall(_) => return,
        };
        let mut output = lock(&self.output);
        output.count += text.chars().count();
        output.pending.push_str(&text);
        let surplus = output.pending.len().saturating_sub(MAX_PENDING_BYTES);
        let pending = &output.pending;
        let start = (surplus..=pending.len()).find(|at| pending.is_char_boundary(*at));
        output.pending.drain(..start.unwrap_or_default());
        drop(output);
        self.changed.notify_one();
    }

    fn take(&self) -> Option<(String, usize)> {
        let mut output = lock(&self.output);
        let text = std::mem::take(&mut output.pending);
        (!text.is_empty()).then_some((text, output.count))
    }
}

#[cfg(test)]
mod tests {
    use super::{Live, MAX_PENDING_BYTES};
    use gemini_tools_core::tool::OutputUpdate;

    #[test]
    fn of_output_that_nobody_takes_the_end_is_kept() {
        let live = Live::default();
        assert_eq!(live.take(), None);
        for n in 0..MAX_PENDING_BYTES {
            live.add(OutputUpdate::Text(format!("é{n}\n")));
        }
        let (text, count) = live.take().expect("output");
        assert!(text.len() <= MAX_PENDING_BYTES);
        assert!(
            text.ends_with(&format!("é{}\n", MAX_PENDING_BYTES - 1)),
            "{text}"
        );
        assert!(count > MAX_PENDING_BYTES);
        assert_eq!(live.take(), None);
    }
}
