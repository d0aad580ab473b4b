//! `call_tool --batch`: calls as JSON lines in, answers as JSON lines out.
//!
//! Calls that only read run side by side and are answered in the order in which they end.
//! All others run alone: after everything before them, before everything after them. With
//! `--stream`, output of calls that still run comes between the answers.

use crate::call_tool::dialect::{self, CallContext};
use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::print_or_end;
use crate::call_tool::{call_options, explanation, live, status};
use crate::start::signal_status;
use gemini_tools::answer::{Answer, Form, to_line};
use gemini_tools::dialect::{DialectError, DialectRequest};
use gemini_tools::json::{self, MAX_BYTES};
use gemini_tools::parallel::MAX_PARALLEL_CALLS;
use gemini_tools::process::{ReadBuffer, wait_for_stdin};
use gemini_tools::session::{Clock, with_time_limit};
use gemini_tools::tail_call::TailCalls;
use gemini_tools::tool::{Cancellation, Context, ResultPlaces, ToolError};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

const CHUNK: usize = 64 * 1024;

/// When so many calls wait to be started, reading from standard input stops until half of them have
/// been started.
const MAX_WAITING: usize = 1024;

enum Request {
    Own(BatchCall),
    Foreign(DialectRequest),
}

impl Request {
    fn names(&self) -> Vec<&str> {
        match self {
            Request::Own(call) => vec![&call.name],
            Request::Foreign(request) => request.calls.iter().map(|c| &*c.name).collect(),
        }
    }
}

struct BatchCall {
    id: Option<String>,
    name: String,
    args: Value,
    /// The annotations that the tool's MCP server had declared when the caller judged the call;
    /// `None` if the caller did not rely on any.
    annotations: Option<Map<String, Value>>,
    tail_calls: TailCalls,
}

impl BatchCall {
    /// Parses a line; `number` is its line number. The error is the call's id, if it could be read,
    /// and the fault in the line.
    fn parse(line: &[u8], number: usize) -> Result<Self, (Option<String>, String)> {
        let value = json::read(line)
            .map_err(|e| (None, format!("it is not valid JSON: {}", e.in_line(number))))?;
        let Value::Object(mut map) = value else {
            return Err((None, "it is not an object".to_owned()));
        };
        let mut take = |key: &str| map.remove(key).unwrap_or_default();
        let id = match take("id") {
            Value::Null => None,
            Value::String(id) => Some(id),
            Value::Number(number) => Some(written_id(line).unwrap_or_else(|| number.to_string())),
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
        let tail_calls = match take("returnTailCall") {
            Value::Null | Value::Bool(false) => TailCalls::Make,
            Value::Bool(true) => TailCalls::Return,
            other => {
                let wrong = format!("\"returnTailCall\" must be true or false, but it is {other}");
                return Err((id, wrong));
            }
        };
        // MCP and OpenAI's API name this field `arguments`, so both names are accepted.
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
                tail_calls,
            }),
            (other, _) => {
                let wrong = format!("\"name\" must be a string, but it is {other}");
                Err((id, wrong))
            }
        }
    }
}

/// Returns the number that a call has as its id exactly as it is written in the line. The caller
/// compares ids as text: `1e3` is the same number as `1000.0`, but another id.
fn written_id(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let call: Id<'_> = serde_json::from_slice(line).ok()?;
    Some(call.id.get().to_owned())
}

/// Reads calls until the input ends, and answers each of them. Returns the exit status: that of a
/// signal if one has ended the batch, otherwise 1 if a call has failed.
pub(crate) fn run(
    options: &'static CallToolOptions,
    cancel: &Cancellation,
    clock: Arc<Clock>,
) -> u8 {
    let batch = Arc::new(Batch {
        opened: CallContext::open(options, cancel, clock),
        cancel: cancel.clone(),
        queue: Mutex::default(),
        has_work: Condvar::new(),
        may_read_on: Condvar::new(),
        has_failed: AtomicBool::new(false),
    });
    batch.read();
    match cancel.signal() {
        Some(signal) => signal_status(signal),
        None => u8::from(batch.has_failed.load(Ordering::Relaxed)),
    }
}

struct Batch {
    opened: CallContext,
    cancel: Cancellation,
    queue: Mutex<Queue>,
    has_work: Condvar,
    may_read_on: Condvar,
    has_failed: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    running: usize,
    workers: usize,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(self: &Arc<Self>) {
        let mut buffer = ReadBuffer::new(CHUNK);
        let mut line = Vec::new();
        let mut is_too_long = false;
        let mut number = 1;
        while wait_for_stdin(|| self.cancel.signal().is_some()) {
            match buffer.read(rustix::stdio::stdin()) {
                Ok([]) => break,
                Ok(pieces) => {
                    for piece in pieces.split_inclusive(|b| *b == b'\n') {
                        is_too_long |= piece.len() > MAX_BYTES - line.len();
                        if is_too_long {
                            line = Vec::new();
                        } else {
                            line.extend_from_slice(piece);
                        }
                        if piece.ends_with(b"\n") {
                            self.take(&line, number, std::mem::take(&mut is_too_long));
                            number += 1;
                            line.clear();
                            line.shrink_to(CHUNK);
                        }
                    }
                }
                Err(Errno::AGAIN) => {}
                Err(e) => {
                    let reason = std::io::Error::from(e);
                    self.refuse(None, &format!("Standard input can't be read: {reason}."));
                    break;
                }
            }
        }
        self.take(&line, number, is_too_long);
        self.wait_until(Queue::is_empty);
    }

    /// Starts the calls of a line. If one of them may change something, they run alone: they start
    /// after all earlier calls have ended, and the next line is read only after they have ended.
    fn take(self: &Arc<Self>, line: &[u8], number: usize, is_too_long: bool) {
        if is_too_long {
            let reason = format!("Line {number} is longer than {MAX_BYTES} bytes.");
            return self.refuse(None, &reason);
        }
        let line = match number {
            1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        };
        let line = line.trim_ascii();
        if line.is_empty() || self.cancel.signal().is_some() {
            return;
        }
        let Some(request) = self.parse(line, number) else {
            return;
        };
        let only_reads = self.opened.session().is_ok_and(|session| {
            let mut names = request.names().into_iter();
            names.all(|name| session.only_reads(name))
        });
        if !only_reads {
            self.wait_until(Queue::is_empty);
        }
        let mut queue = self.lock();
        queue.waiting.push_back(request);
        let is_full = queue.waiting.len() >= MAX_WAITING;
        self.start(queue);
        if !only_reads {
            self.wait_until(Queue::is_empty);
        } else if is_full {
            self.wait_until(|queue| queue.waiting.len() <= MAX_WAITING / 2);
        }
    }

    fn parse(&self, line: &[u8], number: usize) -> Option<Request> {
        match self.opened.options.from {
            Some(dialect) => match DialectRequest::read(dialect, line) {
                Ok(request) => Some(Request::Foreign(request)),
                Err(refusal) => {
                    self.print_refusal(&refusal);
                    None
                }
            },
            None => match BatchCall::parse(line, number) {
                Ok(call) => Some(Request::Own(call)),
                Err((id, e)) => {
                    let reason = format!(
                        "Line {number} is not a call: {e}. Give {{\"id\":…,\"name\":…,\"args\":{{…}}}}."
                    );
                    self.refuse(id.as_deref(), &reason);
                    None
                }
            },
        }
    }

    fn start<'a>(self: &'a Arc<Self>, mut queue: MutexGuard<'a, Queue>) {
        let wanted = queue.running + queue.waiting.len();
        let most = gemini_tools::workspace::processors().min(MAX_PARALLEL_CALLS);
        if queue.workers < wanted.min(most) {
            let own = Arc::clone(self);
            let worker = std::thread::Builder::new().spawn(move || own.work());
            queue.workers += usize::from(worker.is_ok());
        }
        // If no worker thread could be started, this thread makes the calls.
        while queue.workers == 0
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
        drop(queue);
        self.has_work.notify_one();
    }

    fn wait_until(&self, is_so: impl Fn(&Queue) -> bool) {
        let mut queue = self.lock();
        while !is_so(&queue) {
            let waited = self.may_read_on.wait(queue);
            queue = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes waiting calls, as the main function of a worker thread. Returns only after a call that
    /// has exceeded its time limit; otherwise the thread ends with the process.
    fn work(self: &Arc<Self>) {
        let mut queue = self.lock();
        loop {
            let Some(request) = queue.waiting.pop_front() else {
                let waited = self.has_work.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            queue.running += 1;
            if queue.waiting.len() == MAX_WAITING / 2 {
                self.may_read_on.notify_one();
            }
            drop(queue);
            if !self.answer(request) {
                // The call's time limit has passed, so the clock has answered it. It has also
                // started another worker, if one is needed in place of this one.
                return;
            }
            queue = self.lock();
            self.count_off(&mut queue);
        }
    }

    /// Counts a call as answered. Wakes the thread that reads standard input only after the last
    /// call, because waking it costs as much as a small call.
    fn count_off(&self, queue: &mut Queue) {
        queue.running -= 1;
        if queue.is_empty() {
            self.may_read_on.notify_one();
        }
    }

    fn do_without_worker(self: &Arc<Self>) {
        let mut queue = self.lock();
        queue.workers = queue.workers.saturating_sub(1);
        self.count_off(&mut queue);
        self.start(queue);
    }

    /// Answers a request. Returns false if the clock, which watches the time limits, has answered
    /// it already.
    fn answer(self: &Arc<Self>, request: Request) -> bool {
        match request {
            Request::Own(call) => self.answer_own(call),
            Request::Foreign(mut request) => {
                let answer = || dialect::answer(&self.opened, &mut request, &self.cancel);
                let (value, status) = self.opened.clock.busy(answer);
                if status != 0 {
                    self.has_failed.store(true, Ordering::Relaxed);
                }
                print_or_end(&to_line(&value));
                true
            }
        }
    }

    fn answer_own(self: &Arc<Self>, request: BatchCall) -> bool {
        let form = match self.opened.options.form.unwrap_or_default() {
            // The forms for people and hosts show neither where an answer ends nor which call it
            // belongs to, so answers have the form `part` instead.
            Form::Text | Form::Lines | Form::Host => Form::Part,
            form => form,
        };
        let mut cx = Context::new(with_time_limit(&self.cancel), form == Form::Result);
        let number = self.watch(&request, form, &cx.cancel);
        if form == Form::Result {
            cx.view.places = ResultPlaces::Matches;
        }
        if self.opened.options.stream {
            let (id, clock) = (request.id.clone(), Arc::clone(&self.opened.clock));
            cx = cx.with_live_output(move |live| {
                let Some(mut line) = live::line(live) else {
                    return;
                };
                line["id"] = json!(id);
                if clock.is_watched(number) {
                    print_or_end(&to_line(&line));
                }
            });
        }
        let args = match request.args {
            Value::Null => json!({}),
            args => args,
        };
        let mut options = call_options(self.opened.options, self.opened.person.as_deref());
        options.judged = request.annotations.as_ref();
        options.id = request.id.as_deref();
        options.tail_calls = request.tail_calls;
        let answer = self.opened.run(&request.name, args, options, &mut cx);
        if !self.opened.clock.claim(number) {
            return false;
        }
        self.print(&answer, form, &cx.cancel);
        true
    }

    /// Makes the clock, which watches the time limits, answer the call if it does not end in time.
    /// Returns the number that the clock gives to the call.
    fn watch(self: &Arc<Self>, request: &BatchCall, form: Form, cancel: &Cancellation) -> u64 {
        let own = Arc::clone(self);
        let (id, name) = (request.id.clone(), request.name.clone());
        let of_call = cancel.clone();
        self.opened.clock.begin(cancel, move |error| {
            let answer = Answer {
                name: &name,
                id: id.as_deref(),
                outcome: Err(error),
            };
            own.print(&answer, form, &of_call);
            own.do_without_worker();
        })
    }

    fn print_refusal(&self, refusal: &DialectError) {
        self.has_failed.store(true, Ordering::Relaxed);
        print_or_end(&to_line(&refusal.to_value()));
    }

    fn refuse(&self, id: Option<&str>, reason: &str) {
        if let Some(dialect) = self.opened.options.from {
            return self.print_refusal(&DialectError::new(dialect, reason));
        }
        let answer = Answer {
            name: "",
            id,
            outcome: Err(ToolError::invalid(reason)),
        };
        self.print(&answer, Form::Part, &self.cancel);
    }

    /// Prints an answer. If its form has no field for the call's id, one is added, because answers
    /// come in the order in which calls end.
    fn print(&self, answer: &Answer<'_>, form: Form, cancel: &Cancellation) {
        if status(answer, cancel) != 0 {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        if let Some(text) = explanation(self.opened.options, answer) {
            // We have written this JSON ourselves, so it can be parsed.
            let mut value: Value = serde_json::from_str(text).unwrap_or_default();
            if let Some(id) = answer.id {
                value["id"] = id.into();
            }
            return print_or_end(&to_line(&value));
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
        print_or_end(&answer.to_json_with(form, more));
    }
}
