//! `call_tool --batch`: calls as JSON lines in, answers as JSON lines out.
//!
//! Calls that only read run side by side and are answered in the order in which they end.
//! All others run alone: after everything before them, before everything after them. With
//! `--stream`, output of calls that still run comes between the answers.

use crate::dialect::{self, CallContext};
use crate::options::CallToolOptions;
use crate::print::print_json;
use crate::watchdog::{Watchdog, by_signal};
use crate::{call, call_options, explanation, live, open_session, person, status};
use gemini_tools::answer::{Answer, Form, to_line};
use gemini_tools::dialect::{DialectError, DialectRequest};
use gemini_tools::json::{MAX_BYTES, parse_json};
use gemini_tools::parallel::MAX_PARALLEL_CALLS;
use gemini_tools::session::{CallOptions, Session, with_time_limit};
use gemini_tools::tool::{Cancellation, Context, Places, TICK, ToolError};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};

/// Size of a read, in bytes.
const CHUNK: usize = 64 * 1024;

/// Maximum calls that wait in memory: reading goes on when some have been answered.
const MAX_WAITING: usize = 1024;

/// A line of input.
enum Request {
    /// A call of ours.
    Own(Own),
    /// Calls in the format of another API.
    Foreign(DialectRequest),
}

impl Request {
    fn names(&self) -> Vec<&str> {
        match self {
            Request::Own(own) => vec![&own.name],
            Request::Foreign(request) => request.calls.iter().map(|c| &*c.name).collect(),
        }
    }
}

/// A call in our format.
struct Own {
    id: Option<String>,
    name: String,
    args: Value,
    /// Annotations of the tool's MCP server when the caller judged the call.
    annotations: Option<Map<String, Value>>,
}

impl Own {
    /// Reads the line with this number; the error says whose call it is, where that is known, and
    /// what is wrong with it.
    fn parse(line: &[u8], number: usize) -> Result<Self, (Option<String>, String)> {
        let value = parse_json(line)
            .map_err(|e| (None, format!("it is not valid JSON: {}", e.in_line(number))))?;
        let Value::Object(mut map) = value else {
            return Err((None, "it is not an object".to_owned()));
        };
        let mut take = |key: &str| map.remove(key).unwrap_or_default();
        let id = match take("id") {
            Value::Null => None,
            Value::String(id) => Some(id),
            other => Some(other.to_string()),
        };
        let annotations = match take("annotations") {
            Value::Null => None,
            Value::Object(annotations) => Some(annotations),
            other => {
                let wrong = format!("\"annotations\" must be an object, but it is {other}");
                return Err((id, wrong));
            }
        };
        // MCP and OpenAI's API write the second.
        let ((args, Value::Null) | (Value::Null, args)) = (take("args"), take("arguments")) else {
            let wrong = "\"args\" and \"arguments\" are given, which mean the same";
            return Err((id, wrong.to_owned()));
        };
        match (take("name"), args) {
            (Value::String(name), args) => Ok(Self {
                id,
                name,
                args,
                annotations,
            }),
            (other, _) => {
                let wrong = format!("\"name\" must be a string, but it is {other}");
                Err((id, wrong))
            }
        }
    }
}

/// Finds the `id` of a call in a line that is too long to be kept, wherever in the line it stands.
#[derive(Default)]
struct IdFinder {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The key or value of the call that is being read, as far as an id may go.
    text: Vec<u8>,
    is_key_id: bool,
    id: Option<String>,
}

impl IdFinder {
    /// Maximum bytes of an id.
    const MAX_ID_BYTES: usize = 4096;

    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.is_in_string {
                self.push(*byte);
                let is_escaped = std::mem::take(&mut self.is_escaped);
                self.is_escaped = *byte == b'\\' && !is_escaped;
                self.is_in_string = *byte != b'"' || is_escaped;
                continue;
            }
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' if self.depth == 1 => {
                    self.end_value();
                    self.depth -= usize::from(*byte != b',');
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b':' if self.depth == 1 => {
                    self.is_key_id = self.text.trim_ascii() == b"\"id\"";
                    self.text.clear();
                }
                b'"' => {
                    self.is_in_string = true;
                    self.push(*byte);
                }
                _ => self.push(*byte),
            }
        }
    }

    fn push(&mut self, byte: u8) {
        if self.depth == 1 && self.text.len() < Self::MAX_ID_BYTES {
            self.text.push(byte);
        }
    }

    fn end_value(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !std::mem::take(&mut self.is_key_id) {
            return;
        }
        self.id = match serde_json::from_slice(&text) {
            Ok(Value::String(id)) => Some(id),
            Ok(Value::Number(id)) => Some(id.to_string()),
            _ => None,
        };
    }
}

/// Reads calls until the input ends and answers each. Gives the exit status: 1 where a call
/// has failed.
pub(crate) fn run(
    options: &'static CallToolOptions,
    cancel: &Cancellation,
    watchdog: Arc<Watchdog>,
) -> u8 {
    let batch = Arc::new(Batch {
        opened: CallContext {
            options,
            session: Arc::new(open_session(options)),
            person: person(options, &cancel.without_time_limit()).map(Arc::new),
        },
        cancel: cancel.clone(),
        watchdog,
        queue: Mutex::default(),
        work: Condvar::new(),
        done: Condvar::new(),
        has_failed: AtomicBool::new(false),
    });
    batch.read();
    batch.close();
    match cancel.signal() {
        Some(signal) => by_signal(signal),
        None => u8::from(batch.has_failed.load(Ordering::Relaxed)),
    }
}

struct Batch {
    opened: CallContext,
    cancel: Cancellation,
    watchdog: Arc<Watchdog>,
    queue: Mutex<Queue>,
    /// For workers: there is something to do.
    work: Condvar,
    /// For the reader: something is done.
    done: Condvar,
    has_failed: AtomicBool,
}

/// Calls that only read and wait for their turn.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    running: usize,
    /// Workers that have nothing to do.
    idle: usize,
    /// The workers that were started, but for those whose call was given up.
    workers: HashMap<ThreadId, JoinHandle<()>>,
    is_closed: bool,
    /// The call that the reader waits for. It is woken once: that costs as much as a small call.
    awaited: Awaited,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    #[default]
    Nothing,
    /// Room for more calls.
    Room,
    /// The end of all calls so far.
    Rest,
}

impl Queue {
    fn has(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Nothing => false,
            Awaited::Room => self.waiting.len() < MAX_WAITING / 2,
            Awaited::Rest => self.waiting.is_empty() && self.running == 0,
        }
    }
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes lines from standard input.
    fn read(self: &Arc<Self>) {
        let stdin = rustix::stdio::stdin();
        let mut buffer = vec![0; CHUNK];
        let mut line = Vec::new();
        let mut too_long: Option<IdFinder> = None;
        let mut number = 1;
        while self.is_wanted() {
            match rustix::io::read(stdin, &mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    for piece in buffer[..n].split_inclusive(|b| *b == b'\n') {
                        if let Some(finder) = &mut too_long {
                            finder.feed(piece);
                        } else if piece.len() > MAX_BYTES - line.len() {
                            let finder = too_long.insert(IdFinder::default());
                            finder.feed(&std::mem::take(&mut line));
                            finder.feed(piece);
                        } else {
                            line.extend_from_slice(piece);
                        }
                        if piece.ends_with(b"\n") {
                            self.take(&line, number, too_long.take());
                            number += 1;
                            line.clear();
                            line.shrink_to(CHUNK);
                        }
                    }
                    self.start();
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(e) => {
                    let reason = std::io::Error::from(e);
                    self.refuse(None, &format!("Standard input can't be read: {reason}."));
                    break;
                }
            }
        }
        if !line.is_empty() || too_long.is_some() {
            self.take(&line, number, too_long);
        }
        self.start();
        self.wait_for(Awaited::Rest);
    }

    /// Waits for input. Whether to read on.
    fn is_wanted(&self) -> bool {
        let stdin = rustix::stdio::stdin();
        let tick = Timespec::try_from(TICK).ok();
        loop {
            if self.cancel.signal().is_some() {
                return false;
            }
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            if let Ok(1..) = rustix::event::poll(&mut fds, tick.as_ref()) {
                return true;
            }
        }
    }

    /// Takes one line, and lets the call wait for a worker, and the next line for the call where
    /// that has to run alone. A line that is too long was left to the finder of its id.
    fn take(self: &Arc<Self>, line: &[u8], number: usize, too_long: Option<IdFinder>) {
        if let Some(finder) = too_long {
            let reason = format!("Line {number} is longer than {MAX_BYTES} bytes.");
            return self.refuse(finder.id.as_deref(), &reason);
        }
        let line = line.trim_ascii();
        if line.is_empty() || self.cancel.signal().is_some() {
            return;
        }
        let request = match self.opened.options.from {
            Some(dialect) => match DialectRequest::read(dialect, line) {
                Ok(request) => Request::Foreign(request),
                Err(refusal) => {
                    self.has_failed.store(true, Ordering::Relaxed);
                    return write(&to_line(&refusal.to_value()));
                }
            },
            None => match Own::parse(line, number) {
                Ok(own) => Request::Own(own),
                Err((id, e)) => {
                    let reason = format!(
                        "Line {number} is not a call: {e}. Give {{\"id\":…,\"name\":…,\"args\":{{…}}}}."
                    );
                    return self.refuse(id.as_deref(), &reason);
                }
            },
        };
        let only_reads = self.session().is_ok_and(|session| {
            let mut names = request.names().into_iter();
            names.all(|name| session.only_reads(name))
        });
        if !only_reads {
            self.start();
            self.wait_for(Awaited::Rest);
        }
        let mut queue = self.lock();
        queue.waiting.push_back(request);
        let is_full = queue.waiting.len() >= MAX_WAITING;
        drop(queue);
        if !only_reads {
            self.start();
            self.wait_for(Awaited::Rest);
        } else if is_full {
            self.start();
            self.wait_for(Awaited::Room);
        }
    }

    fn session(&self) -> Result<&Session, &ToolError> {
        self.opened.session.as_ref().as_ref()
    }

    /// Sees to it that a worker takes what waits. Once for all that has been read: waking a
    /// worker for each call would take longer than the calls.
    fn start(self: &Arc<Self>) {
        let mut queue = self.lock();
        // One that was woken for an earlier call still counts as idle.
        let (idle, waiting) = (queue.idle, queue.waiting.len());
        match (idle, waiting) {
            (0, _) | (_, 0) => {}
            (_, 1) => self.work.notify_one(),
            _ => self.work.notify_all(),
        }
        for _ in idle..waiting.min(MAX_PARALLEL_CALLS) {
            self.spawn_worker(&mut queue);
        }
        // No thread could be started: then this one does it.
        while queue.workers.is_empty()
            && let Some(request) = queue.waiting.pop_front()
        {
            queue.running += 1;
            drop(queue);
            let is_answered = self.answer(request);
            queue = self.lock();
            if is_answered {
                self.count_off(&mut queue);
            }
        }
    }

    /// Starts a worker, where there are not enough of them.
    fn spawn_worker(self: &Arc<Self>, queue: &mut Queue) {
        if queue.workers.len() >= gemini_tools::workspace::processors().min(MAX_PARALLEL_CALLS) {
            return;
        }
        let own = Arc::clone(self);
        if let Ok(worker) = std::thread::Builder::new().spawn(move || own.work()) {
            queue.workers.insert(worker.thread().id(), worker);
        }
    }

    /// Waits for the workers, which are not needed any more. A call that was given up keeps its
    /// own.
    fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        let workers = std::mem::take(&mut queue.workers);
        drop(queue);
        self.work.notify_all();
        for (_, worker) in workers {
            // It has nothing to say.
            let _ = worker.join();
        }
    }

    fn wait_for(&self, awaited: Awaited) {
        let mut queue = self.lock();
        while !queue.has(awaited) {
            queue.awaited = awaited;
            queue = self
                .done
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker's life.
    fn work(self: &Arc<Self>) {
        let mut queue = self.lock();
        loop {
            if let Some(request) = queue.waiting.pop_front() {
                queue.running += 1;
                drop(queue);
                if !self.answer(request) {
                    // Others do what there is to do.
                    return;
                }
                queue = self.lock();
                self.count_off(&mut queue);
            } else if queue.is_closed {
                return;
            } else {
                queue.idle += 1;
                queue = self
                    .work
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }

    /// A call is done.
    fn count_off(&self, queue: &mut Queue) {
        queue.running -= 1;
        if queue.has(queue.awaited) {
            queue.awaited = Awaited::Nothing;
            self.done.notify_one();
        }
    }

    /// Goes on without a worker whose call was given up.
    fn do_without(self: &Arc<Self>, worker: ThreadId) {
        let mut queue = self.lock();
        queue.workers.remove(&worker);
        self.count_off(&mut queue);
        drop(queue);
        self.start();
    }

    /// Answers a request; `false` where that was done in the place of this worker.
    fn answer(self: &Arc<Self>, request: Request) -> bool {
        match request {
            Request::Own(own) => self.answer_own(own),
            Request::Foreign(mut request) => {
                let (value, status) = self
                    .watchdog
                    .busy(|| dialect::answer(&self.opened, &mut request, &self.cancel));
                if status != 0 {
                    self.has_failed.store(true, Ordering::Relaxed);
                }
                write(&to_line(&value));
                true
            }
        }
    }

    fn answer_own(self: &Arc<Self>, request: Own) -> bool {
        let options = self.opened.options;
        let form = match options.form.unwrap_or_default() {
            // A line of text would say neither where it ends nor whose answer it is.
            Form::Text | Form::Lines | Form::Host => Form::Part,
            form => form,
        };
        let id = request.id;
        let mut cx = Context::new(with_time_limit(&self.cancel), form == Form::Result);
        let number = {
            let own = Arc::clone(self);
            let (id, name, cancel) = (id.clone(), request.name.clone(), cx.cancel.clone());
            let worker = std::thread::current().id();
            self.watchdog.begin(cx.cancel.clone(), move |error| {
                let answer = Answer {
                    name: &name,
                    id: id.as_deref(),
                    outcome: Err(error),
                };
                own.print(&answer, form, &cancel);
                own.do_without(worker);
            })
        };
        if form == Form::Result {
            cx.places = Places::Matches;
        }
        cx.call_id.clone_from(&id);
        if options.stream {
            let (id, watchdog) = (id.clone(), Arc::clone(&self.watchdog));
            cx = cx.with_live_output(move |live| {
                let mut line = live::line(live);
                line["id"] = json!(id);
                if watchdog.is_watched(number) {
                    write(&to_line(&line));
                }
            });
        }
        let outcome = match self.session() {
            Ok(session) => {
                cx.limit_chars = session.tool_env().settings.limit_chars();
                let args = match request.args {
                    Value::Null => json!({}),
                    args => args,
                };
                let options = CallOptions {
                    judged: request.annotations.as_ref(),
                    ..call_options(options, self.opened.person.as_deref())
                };
                call(session, &request.name, args, options, &cx)
            }
            Err(e) => Err(e.again()),
        };
        let mut answer = Answer {
            name: &request.name,
            id: id.as_deref(),
            outcome,
        };
        if let Ok(session) = self.session() {
            session.tool_env().limit(&mut answer);
        }
        if !self.watchdog.claim(number) {
            return false;
        }
        self.print(&answer, form, &cx.cancel);
        true
    }

    fn refuse(&self, id: Option<&str>, reason: &str) {
        if let Some(dialect) = self.opened.options.from {
            self.has_failed.store(true, Ordering::Relaxed);
            let refusal = DialectError::new(dialect, reason);
            return write(&to_line(&refusal.to_value()));
        }
        let answer = Answer {
            name: "",
            id,
            outcome: Err(ToolError::invalid(reason)),
        };
        self.print(&answer, Form::Part, &self.cancel);
    }

    /// Prints an answer. Forms that have no place for the call's id get it beside what they
    /// have, because answers come in the order in which calls end.
    fn print(&self, answer: &Answer<'_>, form: Form, cancel: &Cancellation) {
        if status(answer, cancel) != 0 {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        if let Some(text) = explanation(self.opened.options, answer) {
            // It is ours; null would become an object with its first key.
            let mut value: Value = serde_json::from_str(text).unwrap_or_default();
            if let Some(id) = answer.id {
                value["id"] = id.into();
            }
            return write(&to_line(&value));
        }
        let mut more = Map::new();
        if form != Form::Part
            && let Some(id) = answer.id
        {
            more.insert("id".to_owned(), id.into());
        }
        if self.opened.options.stream {
            more.insert("type".to_owned(), "result".into());
        }
        write(&answer.to_json_with(form, more));
    }
}

fn write(line: &[u8]) {
    print_json(line, 0);
}
