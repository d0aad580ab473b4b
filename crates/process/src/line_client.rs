//! A client of a helper program that answers requests in lines of JSON: `call_tool --batch` for
//! `run_agent`, and `serve_tools --connect` for whatever needs the network.
//!
//! The first request starts the program, and so does a later one if the program has ended since.
//! Each request has an id of its own. One thread writes requests to the program's standard input,
//! so that a program that does not read holds nobody up. Another reads its standard output and
//! hands each line to the request that it answers, until the last line for that request. When the
//! output ends, the channels of all waiting requests are closed, so that none waits for ever.
//! Closing the input asks the program to end.

use crate::own::without_sigpipe;
use crate::tree;
use crate::tree::Identity;
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

const CHUNK_BYTES: usize = 64 * 1024;

/// How often a caller that waits for an answer should check whether to give the request up. A
/// request that is not written after this time counts as sent.
pub const TICK: Duration = Duration::from_millis(50);

/// A line that the program prints.
pub trait LineReply: DeserializeOwned + Debug + Send + 'static {
    /// The collection of lines that answer no request.
    type Notes: Default + Debug + Send;

    /// Returns the id of the request that the line answers, and whether it is the last line for
    /// that request; `None` for a line that answers no request.
    fn answers(&self) -> Option<(u64, bool)>;

    /// Returns true for an answer that should name its request but does not. It may belong to any
    /// request, so all that wait end, and the next one starts a new process.
    fn is_nameless(&self) -> bool {
        false
    }

    /// Collects a line that answers no request.
    fn note(self, notes: &mut Self::Notes);
}

type WaitingRequests<R> = Arc<Mutex<Option<HashMap<u64, Sender<R>>>>>;

/// A client that starts its program when it is first needed.
#[derive(Debug)]
pub struct LineClient<R: LineReply> {
    running: Mutex<Option<RunningProgram<R>>>,
    next_id: AtomicU64,
    notes: Arc<Mutex<R::Notes>>,
}

/// A running program, and the requests that wait for it.
#[derive(Debug)]
pub struct RunningProgram<R> {
    program: String,
    identity: Option<Identity>,
    input: Sender<Lines>,
    waiting: WaitingRequests<R>,
    /// A channel that the thread which reads the output closes when the process has ended.
    ended: Receiver<()>,
}

type Lines = (Vec<u8>, Sender<io::Error>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: LineReply> Default for LineClient<R> {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            next_id: AtomicU64::default(),
            notes: Arc::default(),
        }
    }
}

impl<R: LineReply> LineClient<R> {
    /// Sends a request. `lines` makes its lines from the request's id, and `command` the command
    /// that starts the program. Returns the id and a receiver of the answers, which is closed after
    /// the last one, or when the process ends.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, with the program that can't be started or written to.
    pub fn send(
        &self,
        command: impl Fn() -> io::Result<Command>,
        lines: impl Fn(u64) -> Vec<u8>,
    ) -> io::Result<(u64, Receiver<R>)> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut slot = lock(&self.running);
        // A process whose output has ended answers no more requests.
        let mut former = slot
            .take()
            .filter(|running| lock(&running.waiting).is_some());
        loop {
            let is_new = former.is_none();
            let running = match former.take() {
                Some(running) => running,
                None => self.start(command()?)?,
            };
            let (sender, receiver) = channel();
            if let Some(waiting) = lock(&running.waiting).as_mut() {
                waiting.insert(id, sender);
            }
            match running.write(lines(id)).recv_timeout(TICK) {
                // The process has ended before it read the whole request, so a new process gets it.
                // If that one ends at once too, the request has no answer.
                Ok(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                    running.forget(id);
                    if !is_new {
                        continue;
                    }
                }
                Ok(e) => {
                    let program = &running.program;
                    let what = format!("{program} can't be written to: {e}");
                    return Err(io::Error::new(e.kind(), what));
                }
                Err(_) => *slot = Some(running),
            }
            return Ok((id, receiver));
        }
    }

    /// Gives up on a request. `lines` tell the program so.
    pub fn cancel(&self, id: u64, lines: &[u8]) {
        if let Some(running) = lock(&self.running).as_ref() {
            running.forget(id);
            // A process that has ended has given up the request already.
            drop(running.write(lines.to_owned()));
        }
    }

    /// Returns what [`LineReply::note`] has collected since the last call of this method.
    pub fn take_notes(&self) -> R::Notes {
        std::mem::take(&mut lock(&self.notes))
    }

    /// Takes the running process out of the client, if there is one. The next request starts
    /// another.
    pub fn take(&self) -> Option<RunningProgram<R>> {
        lock(&self.running).take()
    }

    fn start(&self, mut command: Command) -> io::Result<RunningProgram<R>> {
        let program = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| {
            let what = format!("{program} can't be started: {e}");
            io::Error::new(e.kind(), what)
        })?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // The process is looked up before the thread below can reap it, because another process can
        // get its id then.
        let identity = Identity::find(i32::try_from(child.id()).unwrap_or_default());
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let (alive, ended) = channel();
        let (shared, notes) = (Arc::clone(&waiting), Arc::clone(&self.notes));
        Builder::new().spawn(move || {
            read_lines(stdout, &shared, &notes);
            // There will be no more answers, so all waiting requests end.
            lock(&shared).take();
            let _ = child.wait();
            drop(alive);
        })?;
        Ok(RunningProgram {
            program,
            identity,
            input: writer(stdin)?,
            waiting,
            ended,
        })
    }
}

impl<R> RunningProgram<R> {
    /// Queues lines for the program's standard input. The receiver gets the error if they can't be
    /// written, and is closed in any case.
    fn write(&self, lines: Vec<u8>) -> Receiver<io::Error> {
        let (failed, failure) = channel();
        // This can't fail: the thread that takes the lines ends only after `self.input` is dropped.
        let _ = self.input.send((lines, failed));
        failure
    }

    fn forget(&self, id: u64) {
        if let Some(waiting) = lock(&self.waiting).as_mut() {
            waiting.remove(&id);
        }
    }

    /// Closes the program's input and waits at most `limit` for its end. Returns the process if it
    /// still runs then.
    pub fn close(self, limit: Duration) -> Option<Identity> {
        drop(self.input);
        self.identity.filter(|_| goes_on(&self.ended, limit))
    }

    /// Ends the program with SIGTERM; if it runs on after `grace`, kills it and all its
    /// descendants.
    pub fn terminate(self, grace: Duration) {
        let Some(identity) = self.identity else {
            return;
        };
        identity.signal(Signal::TERM);
        if goes_on(&self.ended, grace) {
            let mut all = vec![identity];
            all.extend(tree::descendants(identity.pid));
            tree::end(&all, Duration::ZERO);
        }
    }
}

fn writer(mut stdin: ChildStdin) -> io::Result<Sender<Lines>> {
    let (sender, queue) = channel::<Lines>();
    Builder::new().spawn(move || {
        for (lines, failed) in queue {
            if let Err(e) = without_sigpipe(|| stdin.write_all(&lines)) {
                // Whoever sent the lines may not wait for this any more.
                let _ = failed.send(e);
            }
        }
    })?;
    Ok(sender)
}

fn goes_on(ended: &Receiver<()>, limit: Duration) -> bool {
    ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout)
}

fn read_lines<R: LineReply>(
    stdout: ChildStdout,
    waiting: &WaitingRequests<R>,
    notes: &Mutex<R::Notes>,
) {
    let lines = BufReader::with_capacity(CHUNK_BYTES, stdout).split(b'\n');
    for line in lines.map_while(Result::ok) {
        let reply = serde_json::from_slice::<R>(&line);
        // The line is freed before the answer is used, since both may be large.
        drop(line);
        let Ok(reply) = reply else { continue };
        // Which request the answer belongs to is unknown. Returning closes all channels.
        if reply.is_nameless() {
            return;
        }
        let Some((id, is_last)) = reply.answers() else {
            reply.note(&mut lock(notes));
            continue;
        };
        if let Some(waiting) = lock(waiting).as_mut() {
            if let Some(sender) = waiting.get(&id) {
                // A request that was given up has no receiver any more.
                let _ = sender.send(reply);
            }
            if is_last {
                waiting.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineClient, LineReply};
    use serde::Deserialize;
    use std::process::Command;

    #[derive(Debug, Deserialize)]
    struct Answer {
        id: Option<u64>,
    }

    impl LineReply for Answer {
        type Notes = ();

        fn answers(&self) -> Option<(u64, bool)> {
            Some((self.id?, true))
        }

        fn is_nameless(&self) -> bool {
            self.id.is_none()
        }

        fn note(self, (): &mut ()) {}
    }

    #[test]
    fn a_program_that_does_not_read_holds_up_neither_requests_nor_their_end() {
        let client = LineClient::<Answer>::default();
        let program = || {
            let mut sleeper = Command::new("sleep");
            sleeper.arg("600");
            Ok(sleeper)
        };
        let more_than_a_pipe_holds = vec![b'x'; 4 * 1024 * 1024];
        for _ in 0..2 {
            let sent = client.send(program, |_| more_than_a_pipe_holds.clone());
            let (id, answer) = sent.expect("sent");
            client.cancel(id, &more_than_a_pipe_holds);
            assert!(answer.recv().is_err(), "given up");
        }
        let running = client.take().expect("still the same");
        running.terminate(std::time::Duration::ZERO);
    }

    #[test]
    fn an_answer_that_names_no_request_ends_all_that_wait() {
        let client = LineClient::<Answer>::default();
        let program = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while read -r line; do echo \"$line\"; done"]);
            Ok(shell)
        };
        let ask = |line: &'static str| client.send(program, |_| line.into()).expect("sent").1;
        let (first, second) = (ask("\n"), ask("{}\n"));
        assert!(first.recv().is_err() && second.recv().is_err());
        // The next request goes to a new process.
        assert_eq!(ask("{\"id\": 2}\n").recv().expect("answered").id, Some(2));
        let _ = client
            .take()
            .map(|running| running.terminate(std::time::Duration::ZERO));
    }
}
