//! Runs a call on a thread of its own, and meanwhile forwards progress, questions and cancellation.

use super::ask::{self, ClientAsker, Question};
use super::rounds::{Answers, OpenQuestion, RecordedAnswers};
use super::server::{Project, Server};
use super::{content, log, long_answer};
use crate::{lock, on_thread};
use gemini_tools_core::client_host::{AnswerLimit, ClientHost, SizeUnit};
use gemini_tools_core::tail_call::TailCalls;
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_core::tool::{Cancellation, Context, OutputUpdate, TICK, ToolError};
use gemini_tools_policy::approval::ApprovalPrompt;
use gemini_tools_session::{CallOptions, Clock, Reader, SharedPrompt, with_time_limit};
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ContentBlock, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::TaskContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc, watch};

const MAX_PENDING_BYTES: usize = 8 * 1024;

/// Room, in characters, for what an answer has besides the output: a shell command's result has
/// labels, and Gemini CLI adds tags of up to `TAG_CHARS` characters before it applies its limit,
/// which is also in our settings.
const LABELS_CHARS: usize = 1000;

const TAG_CHARS: usize = 100;

const MAX_STATUS_CHARS: usize = 200;

#[derive(Clone)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) roots: Arc<Vec<PathBuf>>,
    pub(super) host: Option<&'static ClientHost>,
    pub(super) answer_limit: Option<AnswerLimit>,
    pub(super) may_ask: bool,
    /// The client's answers so far, if the protocol version lets a server ask only by results;
    /// `None` if the client can be sent requests while the call waits.
    pub(super) said: Option<Answers>,
    pub(super) client: ClientCapabilities,
    pub(super) is_alone: bool,
    pub(super) told: Option<u64>,
    pub(super) logs: bool,
    pub(super) least_sandbox: Option<SandboxMode>,
}

impl Call {
    /// Returns the longest answer that the client passes to its model uncut; `None` if no limit is
    /// known. `of_settings` is the limit in the settings, in characters. It counts for Gemini CLI,
    /// which reads the same settings.
    fn client_limit(&self, of_settings: Option<usize>) -> Option<AnswerLimit> {
        let is_gemini_cli = self.host.is_some_and(ClientHost::is_gemini_cli);
        let shared = of_settings.filter(|_| is_gemini_cli);
        let shared =
            shared.map(|chars| AnswerLimit::new(chars.saturating_sub(TAG_CHARS), SizeUnit::Utf16));
        self.answer_limit.or(shared)
    }

    /// Lets the call's tool ask the client for input, and returns the prompt by which the client's
    /// user approves the call; `None` if the user may not be asked.
    fn connect(
        &self,
        asked: mpsc::Sender<Question>,
        open: &OpenQuestion,
        cx: &mut Context,
    ) -> Option<SharedPrompt> {
        let (client, is_alone) = (self.client.clone(), self.is_alone);
        let prompt: Box<dyn ApprovalPrompt + Send> = if let Some(said) = self.said.clone() {
            let recorded = RecordedAnswers {
                said,
                open: open.clone(),
                client,
                is_alone,
            };
            cx.input = Some(Arc::new(recorded.clone()));
            Box::new(recorded)
        } else {
            let client = ClientAsker {
                asked,
                client,
                is_alone,
            };
            cx.input = Some(Arc::new(client.clone()));
            Box::new(client)
        };
        self.may_ask.then(|| SharedPrompt::new(prompt))
    }
}

pub(super) type OwnTask = watch::Receiver<Option<TaskContext>>;

/// The response to a call. The project is returned as well if its tools may now differ from those
/// that the client knows.
pub(super) type Outcome = (CallToolResponse, Option<Arc<Project>>);

pub(super) async fn run(
    server: Arc<Server>,
    call: Call,
    context: RequestContext<RoleServer>,
    task: OwnTask,
) -> Result<Outcome, ErrorData> {
    let structured = server.options.structured_content;
    let (asked, questions) = mpsc::channel(1);
    let own = Arc::clone(&server);
    let logger = call.logs.then(|| call.name.clone());
    let work = move |cx| make(&own, &call, cx, asked);
    let cancel = with_time_limit(&Cancellation::default());
    let with_client = Talk {
        questions,
        task,
        logger,
    };
    let done = attend(&server.clock, cancel, Some(with_client), &context, work).await;
    done.flatten()
        .unwrap_or_else(|e| Ok((content::refused(&e, structured).into(), None)))
}

pub(super) struct Talk {
    questions: mpsc::Receiver<Question>,
    task: OwnTask,
    logger: Option<String>,
}

/// Runs `work` on a thread of its own, and handles progress, questions and cancellation until it is
/// done.
///
/// # Errors
///
/// Returns an error if there can be no thread, or if it has panicked, or was abandoned after its
/// time limit.
pub(super) async fn attend<T: Send + 'static>(
    clock: &Arc<Clock>,
    cancel: Cancellation,
    talk: Option<Talk>,
    context: &RequestContext<RoleServer>,
    work: impl FnOnce(Context) -> T + Send + 'static,
) -> Result<T, ToolError> {
    // When this future is dropped, because the client has disconnected, the call is cancelled.
    let (say, given_up) = mpsc::channel(1);
    let guard = clock.watch(&cancel, move |error| {
        // Sending fails if the call has ended meanwhile.
        let _ = say.try_send(error);
    });
    let _ending = CancelOnDrop(cancel.clone());
    let token = context.meta.get_progress_token();
    let live = Arc::new(Live::default());
    let mut cx = Context::new(cancel.clone(), false);
    // Without senders, the call has no questions and never becomes a task.
    let talk = talk.unwrap_or_else(|| Talk {
        questions: mpsc::channel(1).1,
        task: watch::channel(None).1,
        logger: None,
    });
    if token.is_some() || talk.logger.is_some() || talk.task.has_changed().is_ok() {
        let live = Arc::clone(&live);
        cx = cx.with_live_output(move |output| live.add(output));
    }
    let work = on_thread(move || {
        let done = work(cx);
        drop(guard);
        done
    });
    let mut running = RunningCall {
        context,
        cancel,
        token,
        live,
        talk,
        told: 0.0,
    };
    let done = running.until(work, given_up).await;
    running.report().await;
    // The thread of an abandoned call keeps running, since it can't be stopped.
    done.flatten()
}

fn make(
    server: &Server,
    call: &Call,
    mut cx: Context,
    asked: mpsc::Sender<Question>,
) -> Result<Result<Outcome, ErrorData>, ToolError> {
    let project = server.project(&call.roots, call.host)?;
    let open = OpenQuestion::default();
    let person = call.connect(asked, &open, &mut cx);
    let session = &project.session;
    let of_settings = session.tool_env().settings.limit_chars();
    let client_limit = call.client_limit(of_settings);
    cx.view.host_limit = client_limit;
    let of_client = client_limit.map(|limit| limit.size);
    let of_client = of_client.filter(|size| of_settings.is_none_or(|chars| *size < chars));
    cx.view.least_sandbox = call.least_sandbox;
    let mut options = CallOptions::default();
    options.person = person.as_ref();
    options.reader = match of_client {
        Some(size) => Reader::Host(Some(size.saturating_sub(LABELS_CHARS))),
        None => Reader::Model,
    };
    options.tail_calls = match &call.said {
        Some(_) if call.may_ask => TailCalls::MakeUnasked,
        _ => TailCalls::Make,
    };
    options.tell = Some(server.options.log);
    let notes = RefCell::default();
    options.notes = Some(&notes);
    let answer = session.run(&call.name, call.args.clone(), options, &mut cx);
    let asked = lock(&open).take();
    if let Some(asked) = asked {
        return Ok(asked.map(|question| (question.into(), None)));
    }
    let is_foreign = !session.is_registered(&call.name);
    let mut result = content::result(&answer, is_foreign, server.options.structured_content);
    if let Some(limit) = client_limit {
        let keep = |text: &str| session.tool_env().keep(&call.name, text);
        long_answer::limit(&mut result, limit, &keep);
    }
    let notes = notes.take().into_iter().map(ContentBlock::text);
    result.content.extend(notes);
    let is_outdated = call.told.is_some_and(|told| !project.is_known_as(told));
    Ok(Ok((result.into(), is_outdated.then_some(project))))
}

struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct RunningCall<'a> {
    context: &'a RequestContext<RoleServer>,
    cancel: Cancellation,
    token: Option<ProgressToken>,
    live: Arc<Live>,
    talk: Talk,
    /// The last reported progress value, which must grow with each notification.
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
        let mut task = self.talk.task.clone();
        loop {
            let live = Arc::clone(&self.live);
            tokio::select! {
                done = &mut work => return Ok(done),
                Some(error) = given_up.recv() => return Err(error),
                () = cancelled(&mut task, self.context), if !is_cancelled => {
                    is_cancelled = true;
                    self.cancel.cancel();
                }
                () = live.changed.notified() => self.report().await,
                Some(question) = self.talk.questions.recv() => self.ask(question).await,
            }
        }
    }

    async fn report(&mut self) {
        let Some((text, count)) = self.live.take() else {
            return;
        };
        if let Some(task) = &*self.talk.task.borrow() {
            if let Some(line) = text.lines().rfind(|line| !line.trim().is_empty()) {
                let line: String = line.chars().take(MAX_STATUS_CHARS).collect();
                task.set_status_message(line);
            }
            return;
        }
        if let Some(logger) = &self.talk.logger {
            log::send(&self.context.peer, logger, &text).await;
        }
        let Some(token) = &self.token else {
            return;
        };
        // The protocol requires that progress increases.
        self.told = (self.told + 1.0).max(count as f64);
        let progress = ProgressNotificationParam::new(token.clone(), self.told).with_message(text);
        // An error means that the client has disconnected. The call's future is then dropped
        // anyway.
        let _ = self.context.peer.notify_progress(progress).await;
    }

    async fn ask(&self, Question { request, answer }: Question) {
        let reply = tokio::select! {
            reply = ask::ask(&self.context.peer, request) => reply,
            () = self.context.ct.cancelled() => None,
            () = interrupted(&self.cancel) => None,
        };
        // Sending fails if the call has ended meanwhile.
        let _ = answer.send(reply);
    }
}

/// Waits until the call must end, whatever the reason: the client has gone, say, and answers no
/// question any more.
async fn interrupted(cancel: &Cancellation) {
    while cancel.interruption().is_none() {
        tokio::time::sleep(TICK).await;
    }
}

/// Waits until the client cancels the call: by cancelling the request or, once the call has become
/// a task, by cancelling the task, since the request was answered then.
async fn cancelled(task: &mut OwnTask, context: &RequestContext<RoleServer>) {
    let task = tokio::select! {
        biased;
        Ok(task) = task.wait_for(Option::is_some) => task.clone(),
        () = context.ct.cancelled() => None,
    };
    if let Some(task) = task {
        task.cancelled().await;
    }
}

/// Output on its way to the client. If the client is slow, output is merged and the oldest dropped,
/// so that the call never waits for the client.
#[derive(Default)]
struct Live {
    output: Mutex<Output>,
    changed: Notify,
}

#[derive(Default)]
struct Output {
    pending: String,
    count: usize,
}

impl Live {
    fn add(&self, output: OutputUpdate) {
        let OutputUpdate::Text(text) = output else {
            return;
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
