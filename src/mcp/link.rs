//! The way to `mcp_client`, the executable that holds the connections to servers.
//!
//! It stands beside ours and is started when a server is first asked for something. When its
//! input ends, which our own end brings about however it comes, it ends all servers.

use super::wire::{Ask, Connect, Request, Said, Wanted, Why};
use crate::process::without_sigpipe;
use crate::sys::event::{PollFd, PollFlags, Timespec};
use crate::tool::Cancellation;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::env::consts::EXE_SUFFIX;
use std::io::{self, BufRead, BufReader, Write};
#[cfg(windows)]
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
#[cfg(windows)]
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// The executable's name.
const PROGRAM: &str = "mcp_client";

/// How much of an answer is read at once, in bytes: all that a pipe holds.
const CHUNK: usize = 64 * 1024;

/// How often it is looked whether a request has to be given up.
const TICK: Duration = Duration::from_millis(50);

/// How much longer than a request's limit its answer is awaited: the client keeps the time.
const SPARE: Duration = Duration::from_secs(2);

/// How long the end of all servers is waited for when nothing more is asked. They are ended
/// whether somebody waits or not.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// What sort of thing has happened.
    pub(super) why: Why,
    /// In words.
    pub(super) message: String,
}

impl Failure {
    fn new(why: Why, message: impl Into<String>) -> Self {
        Self {
            why,
            message: message.into(),
        }
    }
}

/// Who waits, by the request's number.
type Awaited = Arc<Mutex<HashMap<u64, Sender<Said>>>>;

/// The client, started when it is first needed, and again where it has ended.
#[derive(Debug, Default)]
pub(super) struct Link {
    running: Mutex<Option<Running>>,
    next_id: AtomicU64,
    changed: Arc<Mutex<BTreeSet<String>>>,
}

#[derive(Debug)]
struct Running {
    stdin: ChildStdin,
    awaited: Awaited,
    /// Closed when the client has ended.
    ended: Receiver<()>,
    /// The servers that it knows.
    introduced: BTreeSet<String>,
}

/// One request to one server.
#[derive(Debug)]
pub(super) struct Question<'a> {
    /// The server's name in the settings.
    pub(super) server: &'a str,
    /// How it is reached.
    pub(super) connect: &'a Connect,
    /// What is wanted.
    pub(super) what: Wanted,
    /// How long it may take.
    pub(super) limit: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Asks a server, and gives its answer; `progress` is told how far it is.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub(super) fn ask(
        &self,
        question: Question<'_>,
        cancel: &Cancellation,
        progress: &dyn Fn(&str),
    ) -> Result<Value, Failure> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = channel();
        let until = Instant::now().checked_add(question.limit + SPARE);
        self.send(id, question, sender)
            .map_err(|e| Failure::new(Why::Connection, e))?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Said::Done { result, .. }) => return Ok(result),
                Ok(Said::Failed { why, message, .. }) => return Err(Failure { why, message }),
                Ok(Said::Progress { text, .. }) => progress(&text),
                Ok(Said::Changed { .. }) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    lock(&self.running).take();
                    return Err(Failure::new(
                        Why::Gone,
                        format!(
                            "{PROGRAM} has ended before the server had answered; it must be of the same build \
                             as this executable ({})",
                            crate::VERSION
                        ),
                    ));
                }
            }
            if is_caller_gone(cancel) {
                cancel.cancel();
            }
            if cancel.interruption().is_some() {
                self.give_up(id);
                return Err(Failure::new(Why::Cancelled, "it was cancelled"));
            }
            if until.is_some_and(|until| Instant::now() > until) {
                self.give_up(id);
                return Err(Failure::new(Why::TimedOut, "it took too long"));
            }
        }
    }

    /// The servers whose tools have changed since this was last asked.
    pub(super) fn take_changed(&self) -> BTreeSet<String> {
        std::mem::take(&mut lock(&self.changed))
    }

    fn send(&self, id: u64, question: Question<'_>, sender: Sender<Said>) -> Result<(), String> {
        let mut slot = lock(&self.running);
        let is_gone = |running: &Running| {
            running.ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)
        };
        if slot.as_ref().is_none_or(is_gone) {
            *slot = Some(self.start()?);
        }
        let Some(running) = slot.as_mut() else {
            return Err(format!("{PROGRAM} was not started"));
        };
        lock(&running.awaited).insert(id, sender);
        let mut lines = Vec::new();
        if !running.introduced.contains(question.server) {
            running.introduced.insert(question.server.to_owned());
            push_line(
                &mut lines,
                &Ask::Server {
                    server: question.server.to_owned(),
                    connect: question.connect.clone(),
                },
            );
        }
        let request = Ask::Do(Request {
            id,
            server: question.server.to_owned(),
            limit_ms: u64::try_from(question.limit.as_millis()).unwrap_or(u64::MAX),
            what: question.what,
        });
        push_line(&mut lines, &request);
        match without_sigpipe(|| running.stdin.write_all(&lines)) {
            // It has ended: the same as if it had done so a moment later.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                lock(&running.awaited).remove(&id);
                Ok(())
            }
            sent => sent.map_err(|e| format!("{PROGRAM} can't be talked to: {e}")),
        }
    }

    fn give_up(&self, id: u64) {
        if let Some(running) = lock(&self.running).as_mut() {
            lock(&running.awaited).remove(&id);
            let mut line = Vec::new();
            push_line(&mut line, &Ask::Cancel { id });
            // A client that is gone has given it up already.
            let _ = without_sigpipe(|| running.stdin.write_all(&line));
        }
    }

    fn start(&self) -> Result<Running, String> {
        let program = program()?;
        let mut command = Command::new(&program);
        command
            .args(["--connect", crate::VERSION])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Ctrl-C is for us alone.
        #[cfg(windows)]
        CommandExt::creation_flags(&mut command, CREATE_NO_WINDOW);
        let mut child = command
            .spawn()
            .map_err(|e| format!("{} can't be started: {e}", program.display()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{PROGRAM} has no pipes"));
        };
        let awaited = Awaited::default();
        let (own, changed) = (Arc::clone(&awaited), Arc::clone(&self.changed));
        let (alive, ended) = channel();
        std::thread::spawn(move || {
            distribute(BufReader::with_capacity(CHUNK, stdout), &own, &changed);
            // Whoever still waits learns that nothing comes any more.
            lock(&own).clear();
            let _ = child.wait();
            drop(alive);
        });
        Ok(Running {
            stdin,
            awaited,
            ended,
            introduced: BTreeSet::new(),
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let running = self.running.get_mut();
        if let Some(running) = running.unwrap_or_else(PoisonError::into_inner).take() {
            drop(running.stdin);
            let _ = running.ended.recv_timeout(FAREWELL);
        }
    }
}

/// The executable beside ours.
fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|e| format!("the directory of this executable is not known: {e}"))?;
    let program = own.with_file_name(format!("{PROGRAM}{EXE_SUFFIX}"));
    if program.is_file() {
        return Ok(program);
    }
    Err(format!(
        "MCP servers are reached by {PROGRAM}, which must stand beside this executable, but {} \
         does not exist; install it there",
        program.display()
    ))
}

fn push_line(lines: &mut Vec<u8>, ask: &Ask) {
    // Maps with keys that are strings can always be written.
    if serde_json::to_writer(&mut *lines, ask).is_ok() {
        lines.push(b'\n');
    }
}

/// Hands what the client says to those who wait for it.
fn distribute(lines: impl BufRead, awaited: &Awaited, changed: &Mutex<BTreeSet<String>>) {
    for line in lines.split(b'\n') {
        let Ok(line) = line else { return };
        let Ok(said) = serde_json::from_slice::<Said>(&line) else {
            continue;
        };
        let (id, is_last) = match &said {
            Said::Done { id, .. } | Said::Failed { id, .. } => (*id, true),
            Said::Progress { id, .. } => (*id, false),
            Said::Changed { server } => {
                lock(changed).insert(server.clone());
                continue;
            }
        };
        let mut awaited = lock(awaited);
        let sender = if is_last {
            awaited.remove(&id)
        } else {
            awaited.get(&id).cloned()
        };
        drop(awaited);
        if let Some(sender) = sender {
            // Whoever has gone away does not want it.
            let _ = sender.send(said);
        }
    }
}

fn is_caller_gone(cancel: &Cancellation) -> bool {
    cancel.caller().is_some_and(|caller| {
        let mut fds = [PollFd::new(&caller, PollFlags::IN)];
        matches!(
            crate::sys::event::poll(&mut fds, Some(&Timespec::default())),
            Ok(1..)
        )
    })
}
