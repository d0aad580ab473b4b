//! Turns long calls into tasks, by the protocol's extension SEP-2663, if the client declares it:
//! the request is answered with a task, and the client asks for the result later.
//!
//! A call that ends soon is answered with its result, whatever it does, so that no tool needs to
//! declare that it takes long. The last line that a task prints is its status message. Questions to
//! the user are asked through the task, and the call is then made again with the answers, as in
//! `rounds`.

use super::call::{self, Call, Outcome};
use super::rounds::Answers;
use super::server::Server;
use crate::lock;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, InputRequiredResult, InputResponses,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a client waits for a result before it gets a task instead, from which it fetches the
/// result later.
const PATIENCE: Duration = Duration::from_millis(700);

/// How long a task may run, and how long its result is kept after that.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

const POLL_INTERVAL_MS: u64 = 1000;

/// The most tasks that run or have a result. With so many, further calls don't become tasks, and
/// are answered when they end.
const MAX_TASKS: usize = 64;

#[derive(Default)]
pub(super) struct Tasks {
    pub(super) manager: TaskManager,
    /// When each task was created that the manager may not have removed yet.
    made: Mutex<VecDeque<Instant>>,
}

impl Tasks {
    fn has_room(&self) -> bool {
        let mut made = lock(&self.made);
        while made.front().is_some_and(|at| at.elapsed() > 2 * LIFETIME) {
            made.pop_front();
        }
        let has_room = made.len() < MAX_TASKS;
        if has_room {
            made.push_back(Instant::now());
        }
        has_room
    }
}

type Running = Pin<Box<dyn Future<Output = Result<Outcome, ErrorData>> + Send>>;

pub(super) async fn run(
    server: &Arc<Server>,
    call: Call,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let (become_task, task) = watch::channel(None);
    let attempt = Attempt {
        server: Arc::clone(server),
        call,
        context: context.clone(),
        task,
    };
    let mut running = attempt.start();
    let ended = tokio::select! {
        ended = &mut running => Some(ended),
        () = tokio::time::sleep(PATIENCE) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None if server.tasks.has_room() => {
            let lifetime = u64::try_from(LIFETIME.as_millis()).unwrap_or(u64::MAX);
            let options = TaskOptions::new()
                .with_ttl_ms(lifetime)
                .with_poll_interval_ms(POLL_INTERVAL_MS);
            let task = server.tasks.manager.spawn(options, |task| {
                become_task.send_replace(Some(task.clone()));
                Box::pin(async move {
                    let _sender = become_task;
                    attempt.finish(running, &task).await
                })
            });
            return Ok(CreateTaskResult::new(task).into());
        }
        None => running.await,
    };
    ended.map(|(response, _)| response)
}

struct Attempt {
    server: Arc<Server>,
    call: Call,
    context: RequestContext<RoleServer>,
    task: call::OwnTask,
}

impl Attempt {
    fn start(&self) -> Running {
        let (server, call) = (Arc::clone(&self.server), self.call.clone());
        let run = call::run(server, call, self.context.clone(), self.task.clone());
        Box::pin(run)
    }

    async fn finish(
        mut self,
        mut running: Running,
        task: &TaskContext,
    ) -> Result<CallToolResult, TaskExit> {
        for round in 0.. {
            let result = match running.await?.0 {
                CallToolResponse::Complete(result) => result,
                CallToolResponse::InputRequired(asked) => {
                    self.call.said = Some(answers(asked, round, task).await?);
                    running = self.start();
                    continue;
                }
                _ => break,
            };
            // A call may succeed before it notices that it is cancelled; its result then counts.
            if task.is_cancel_requested() && result.is_error == Some(true) {
                return Err(TaskExit::Cancelled);
            }
            return Ok(result);
        }
        Err(ErrorData::internal_error("The call has no result.", None).into())
    }
}

/// Asks the client through the task, and waits for all answers. Within a task the name of a
/// question can be used only once, so the number of the round is made part of it.
async fn answers(
    asked: InputRequiredResult,
    round: usize,
    task: &TaskContext,
) -> Result<Answers, TaskExit> {
    let mut waiting = JoinSet::new();
    for (name, request) in asked.input_requests.unwrap_or_default() {
        let task = task.clone();
        waiting.spawn(async move {
            let answer = task.request_input(format!("{round}-{name}"), request).await;
            answer.map(|answer| (name, answer))
        });
    }
    let mut responses = InputResponses::new();
    while let Some(answer) = waiting.join_next().await {
        let crashed = |e| TaskExit::Error(ErrorData::internal_error(format!("{e}"), None));
        let (name, answer) = answer.map_err(crashed)??;
        responses.insert(name, answer);
    }
    Ok(Answers::parse(
        Some(responses),
        asked.request_state.as_deref(),
    )?)
}
