//! Runs a line of shell, or a program with arguments: its environment, its limits, and the end of
//! all that it started.

use super::ending::{GRACE, ProcessEnd};
use crate::ReadBuffer;
use crate::changes::ChangeWatch;
use crate::read_buffer::is_readable;
use crate::sandbox::Sandbox;
use crate::supervisor::{SupervisedProgram, SupervisorEvent};
use crate::tree::{self, Identity};
use gemini_tools_core::tool::{Cancellation, TimeLimit};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait, after the command itself has ended, for its short-lived children to end too.
const LINGER: Duration = Duration::from_millis(100);

const TICK: Duration = Duration::from_millis(200);

const LIVE: Duration = Duration::from_secs(1);

const CHUNK_BYTES: usize = 256 * 1024;

/// Maximum number of bytes read after the end of the command. It is more than a pipe holds, and it
/// is limited because a surviving process may go on writing for ever.
const MAX_DRAINED_BYTES: u64 = 4 * 1024 * 1024;

/// How long to wait for the supervisor to end all processes. It is more than [`GRACE`] and the time
/// after which the supervisor gives up killing a process.
const ENDING: Duration = Duration::from_secs(15);

/// The variable with the token of `serve_tools`. Commands don't get it: it lets its owner make
/// calls.
pub const SERVE_TOKEN: &str = "GEMINI_TOOLS_SERVE_TOKEN";

/// Variables for programs that run without a person: no program may start a pager, prompt for input
/// or open an editor. An empty value switches a feature off.
const NON_INTERACTIVE_ENV: [(&str, &str); 19] = [
    ("GEMINI_CLI", "1"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("AWS_PAGER", ""),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("COMPOSER_NO_INTERACTION", "1"),
    ("TF_INPUT", "0"),
];

/// A line of shell to be run.
#[derive(Debug)]
pub struct ShellCommand<'a> {
    /// The line, passed unchanged to `bash -c`.
    pub line: &'a str,
    /// The working directory as an open descriptor, so that it can't be swapped for another one.
    pub directory: BorrowedFd<'a>,
    /// The path of the working directory, for the variable `PWD`.
    pub path: &'a Path,
    /// The sandbox; `None` to run without one.
    pub sandbox: Option<&'a Sandbox>,
    /// The watch that keeps a copy of each file before the command changes it; `None` to keep none.
    pub changes: Option<&'a ChangeWatch>,
}

/// Time limits of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandLimits {
    /// The total time that the command may take.
    pub wall: Duration,
    /// The time that the command may go without any output; `None` for no limit.
    pub idle: Option<Duration>,
    /// The time after which the command is left running in the background; `None` for never.
    pub background_after: Option<Duration>,
    /// How long to wait, after the command itself has ended, for processes that hold its output
    /// open: with [`Duration::MAX`] as long as `wall` allows. `None` waits only a moment (0.1 s)
    /// for all its children to end.
    pub hold: Option<Duration>,
}

/// How [`supervise`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// The command has ended by itself.
    Done {
        /// How the command itself ended.
        ending: ProcessEnd,
        /// True if processes that the command has started still run.
        has_survivors: bool,
        /// True if some process still held the command's output open when [`CommandLimits::hold`]
        /// was over.
        is_held: bool,
        /// The time from the command's start to its own end.
        took: Duration,
    },
    /// The command was ended with everything that it started.
    Ended {
        /// Why it was ended.
        why: StopReason,
        /// The number of processes that could not be ended.
        left: usize,
    },
    /// The command still runs after [`CommandLimits::background_after`].
    Background,
}

impl CommandOutcome {
    /// Returns how the command ended by itself; `None` if it was ended or still runs.
    pub fn ending(self) -> Option<ProcessEnd> {
        match self {
            Self::Done { ending, .. } => Some(ending),
            Self::Ended { .. } | Self::Background => None,
        }
    }
}

/// The reason why a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The command has reached its own limit, [`CommandLimits::wall`].
    OutOfTime,
    /// The time limit of the call that the command belongs to was reached before the command's own.
    CallOutOfTime(TimeLimit),
    /// The command has printed nothing for as long as [`CommandLimits::idle`].
    Idle,
    /// The call was cancelled: by a signal, by its caller, or because its caller is gone.
    Cancelled,
    /// The supervisor has ended, perhaps because the command has killed it.
    Unwatched,
}

/// A program to be run without a shell.
#[derive(Debug)]
pub struct ProgramCommand<'a> {
    /// The program, as in a shell: a name to be looked up in `PATH`, or a path; a relative path
    /// starts in `directory`.
    pub program: &'a OsStr,
    /// The program's arguments.
    pub arguments: &'a [OsString],
    /// The beginning of the names of those variables of this process that the program does not get.
    pub not_inherited: &'a str,
    /// Variables that are set in addition to those that every command gets.
    pub environment: &'a [(OsString, OsString)],
    /// What the program reads as its standard input.
    pub input: &'a [u8],
    /// The working directory as an open descriptor, so that it can't be swapped for another one.
    pub directory: BorrowedFd<'a>,
    /// The path of the working directory, for the variable `PWD`.
    pub path: &'a Path,
    /// The sandbox; `None` to run without one.
    pub sandbox: Option<&'a Sandbox>,
    /// The watch that keeps a copy of each file before the program changes it; `None` to keep none.
    pub changes: Option<&'a ChangeWatch>,
}

pub(super) fn variables(path: &Path) -> Variables {
    let mut variables: Variables = std::env::vars_os().collect();
    variables.remove(OsStr::new(SERVE_TOKEN));
    for (name, value) in NON_INTERACTIVE_ENV {
        variables.insert(name.into(), value.into());
    }
    variables
        .entry("TERM".into())
        .or_insert_with(|| "dumb".into());
    variables.insert("PWD".into(), path.into());
    variables
}

type Variables = BTreeMap<OsString, OsString>;

pub use crate::program::{find_program, is_program};

/// Receives a command's output.
pub trait OutputSink {
    /// Takes the next piece of output.
    fn push(&mut self, bytes: &[u8]);

    /// Takes the next piece of standard error, if that has a pipe of its own.
    fn push_error(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    /// Returns the total number of bytes received, from both streams.
    fn bytes(&self) -> u64;

    /// Returns true if the output has become too long to be of use. The command is then ended, as
    /// if it were cancelled.
    fn is_full(&self) -> bool {
        false
    }

    /// Returns the output since the previous call, for a user who watches; `None` if there is none.
    fn take_live(&mut self) -> Option<String> {
        None
    }
}

/// Reads a command's output until the command exits, is cancelled or exceeds a limit.
pub fn supervise(
    supervised: &SupervisedProgram,
    capture: &mut dyn OutputSink,
    limits: CommandLimits,
    cancel: &Cancellation,
    show: &dyn Fn(String),
) -> CommandOutcome {
    let _waiting = cancel.wait_for_others();
    Supervision::new(supervised, capture, show).run(limits, cancel)
}

pub(super) fn end_rest(supervised: &SupervisedProgram, capture: &mut dyn OutputSink) {
    Supervision::new(supervised, capture, &|_| {}).end_all(StopReason::Cancelled);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Errors,
}

struct Supervision<'a> {
    watched: &'a SupervisedProgram,
    capture: &'a mut dyn OutputSink,
    buffer: ReadBuffer,
    open: Vec<(Stream, &'a OwnedFd)>,
    last_output: Instant,
    last_shown: Instant,
    show: &'a dyn Fn(String),
}

#[derive(Clone, Copy)]
struct PendingEnd {
    ending: ProcessEnd,
    took: Duration,
    /// When to stop waiting for the command's pipes to close; `None` to wait until its time limit.
    until: Option<Instant>,
}

fn pause_until(moments: [Option<Instant>; 5]) -> Duration {
    let next = moments.into_iter().flatten().min();
    let left = next.map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
    left.min(TICK)
}

fn is_past(at: Option<Instant>) -> bool {
    at.is_some_and(|at| Instant::now() >= at)
}

impl<'a> Supervision<'a> {
    fn new(
        watched: &'a SupervisedProgram,
        capture: &'a mut dyn OutputSink,
        show: &'a dyn Fn(String),
    ) -> Supervision<'a> {
        let errors = watched.errors.as_ref().map(|fd| (Stream::Errors, fd));
        let output = [(Stream::Output, &watched.output)];
        Self {
            watched,
            capture,
            buffer: ReadBuffer::new(CHUNK_BYTES),
            open: output.into_iter().chain(errors).collect(),
            last_output: Instant::now(),
            last_shown: Instant::now(),
            show,
        }
    }

    fn run(&mut self, limits: CommandLimits, cancel: &Cancellation) -> CommandOutcome {
        let started = Instant::now();
        let mut pending_end: Option<PendingEnd> = None;
        loop {
            if cancel.signal().is_some() || self.capture.is_full() {
                return self.end_all(StopReason::Cancelled);
            }
            let after = |from: Instant, time: Option<Duration>| from.checked_add(time?);
            let background = after(started, limits.background_after);
            let idle = after(self.last_output, limits.idle);
            // If the command itself has ended and the wait for its pipes has a limit (`until`),
            // that limit replaces the command's time limit.
            let held = pending_end.and_then(|end| end.until);
            let wall = after(started, Some(limits.wall)).filter(|_| held.is_none());
            let of_call = cancel.chosen_limit();
            let chosen = of_call.map(|limit| limit.at());
            if is_past(background) {
                return CommandOutcome::Background;
            }
            if let Some(PendingEnd { ending, took, .. }) = pending_end {
                let is_held = !self.open.is_empty();
                if !is_held || is_past(held) {
                    return self.done(ending, took, true);
                }
            }
            if is_past(wall) || is_past(chosen) {
                let counted = of_call.filter(|limit| wall.is_none_or(|wall| limit.at() < wall));
                return self.end_all(match counted {
                    Some(limit) => StopReason::CallOutOfTime(limit),
                    None => StopReason::OutOfTime,
                });
            }
            if is_past(idle) && !self.has_unread() {
                return self.end_all(StopReason::Idle);
            }
            let pause = pause_until([background, idle, held, wall, chosen]);
            self.step(pause, Some(cancel));
            match (self.watched.next_event(), limits.hold) {
                (None, _) => {}
                (Some(SupervisorEvent::Lost), _) => return self.end_unwatched(),
                (Some(SupervisorEvent::AllGone { .. }), _) => {
                    if let Some(PendingEnd { ending, took, .. }) = pending_end {
                        return self.done(ending, took, false);
                    }
                }
                (Some(SupervisorEvent::Ended { status, all_gone }), Some(wait)) if !all_gone => {
                    pending_end = Some(PendingEnd {
                        ending: status.into(),
                        took: started.elapsed(),
                        until: Instant::now().checked_add(wait),
                    });
                }
                (Some(SupervisorEvent::Ended { status, all_gone }), _) => {
                    let took = started.elapsed();
                    let has_survivors = !all_gone && !self.linger();
                    return self.done(status.into(), took, has_survivors);
                }
            }
            self.show_live();
        }
    }

    fn done(&mut self, ending: ProcessEnd, took: Duration, has_survivors: bool) -> CommandOutcome {
        self.drain();
        CommandOutcome::Done {
            ending,
            has_survivors,
            is_held: !self.open.is_empty(),
            took,
        }
    }

    fn step(&mut self, pause: Duration, cancel: Option<&Cancellation>) {
        let control = self.watched.control();
        let caller = cancel.and_then(Cancellation::caller);
        let mut fds = vec![PollFd::new(&control, PollFlags::IN)];
        let open = self.open.iter();
        fds.extend(open.map(|(_, fd)| PollFd::new(*fd, PollFlags::IN)));
        fds.extend(caller.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let pause = Timespec::try_from(pause).unwrap_or_default();
        // If a signal interrupts the wait, the caller's next round handles the signal.
        if rustix::event::poll(&mut fds, Some(&pause)).is_err() {
            return;
        }
        let mut ready = fds.iter().skip(1).map(|fd| !fd.revents().is_empty());
        let mut readable = self.open.clone();
        readable.retain(|_| ready.next() == Some(true));
        if let Some(cancel) = cancel
            && ready.next() == Some(true)
        {
            cancel.cancel();
        }
        for (stream, fd) in readable {
            self.read(stream, fd);
        }
    }

    fn read(&mut self, stream: Stream, fd: &OwnedFd) {
        match self.buffer.read(fd) {
            Err(Errno::AGAIN) => {}
            Ok([]) | Err(_) => self.open.retain(|(open, _)| *open != stream),
            Ok(piece) => {
                match stream {
                    Stream::Output => self.capture.push(piece),
                    Stream::Errors => self.capture.push_error(piece),
                }
                self.last_output = Instant::now();
            }
        }
    }

    fn has_unread(&self) -> bool {
        let mut open = self.open.iter();
        open.any(|(_, fd)| is_readable(fd, Duration::ZERO))
    }

    fn drain(&mut self) {
        let until = self.capture.bytes() + MAX_DRAINED_BYTES;
        let is_ready = |fd: &OwnedFd| is_readable(fd, Duration::ZERO);
        while self.capture.bytes() < until
            && let Some((stream, fd)) = self.open.iter().find(|(_, fd)| is_ready(fd)).copied()
        {
            self.read(stream, fd);
        }
    }

    fn linger(&mut self) -> bool {
        let until = Instant::now() + LINGER;
        loop {
            let now = Instant::now();
            if now >= until {
                return false;
            }
            self.step(until - now, None);
            match self.watched.next_event() {
                Some(SupervisorEvent::AllGone { .. } | SupervisorEvent::Lost) => return true,
                Some(SupervisorEvent::Ended { .. }) | None => {}
            }
        }
    }

    fn end_all(&mut self, why: StopReason) -> CommandOutcome {
        self.watched.end_all(GRACE);
        let until = Instant::now() + ENDING;
        while Instant::now() < until && !self.watched.is_being_stopped() {
            // A process that is being ended may still print, and would block if nobody read its
            // output.
            self.step(TICK, None);
            match self.watched.next_event() {
                Some(SupervisorEvent::AllGone { left }) => {
                    self.drain();
                    return CommandOutcome::Ended { why, left };
                }
                Some(SupervisorEvent::Lost) => return self.end_unwatched(),
                Some(SupervisorEvent::Ended { .. }) | None => {}
            }
        }
        // Another process keeps stopping the supervisor, so this process ends the command itself.
        let watched = tree::watched(self.watched.supervisor, self.watched.leader);
        self.end_without_supervisor(why, &watched)
    }

    fn end_unwatched(&mut self) -> CommandOutcome {
        let session = tree::of_session(self.watched.leader);
        let outcome = self.end_without_supervisor(StopReason::Unwatched, &session);
        self.watched.lose_changes();
        outcome
    }

    fn end_without_supervisor(&mut self, why: StopReason, all: &[Identity]) -> CommandOutcome {
        let left = tree::end(all, GRACE).len();
        self.drain();
        CommandOutcome::Ended { why, left }
    }

    fn show_live(&mut self) {
        if self.last_shown.elapsed() >= LIVE
            && let Some(text) = self.capture.take_live()
        {
            self.last_shown = Instant::now();
            (self.show)(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandLimits, CommandOutcome, OutputSink, ShellCommand, supervise};
    use gemini_tools_core::tool::Cancellation;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::time::Duration;

    struct SlowSink(u64);

    impl OutputSink for SlowSink {
        fn push(&mut self, bytes: &[u8]) {
            if self.0 == 0 {
                std::thread::sleep(Duration::from_secs(3));
            }
            self.0 += bytes.len() as u64;
        }

        fn bytes(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn output_that_waits_to_be_read_is_no_silence() {
        let root = File::open("/").expect("the root");
        let command = ShellCommand {
            line: "echo 1; sleep 0.2; echo 2; sleep 3.5; echo 3",
            directory: root.as_fd(),
            path: Path::new("/"),
            sandbox: None,
            changes: None,
        };
        let supervised = command.start().expect("bash");
        let limits = CommandLimits {
            wall: Duration::from_secs(60),
            idle: Some(Duration::from_secs(2)),
            background_after: None,
            hold: None,
        };
        let (mut sink, cancel) = (SlowSink(0), Cancellation::default());
        let outcome = supervise(&supervised, &mut sink, limits, &cancel, &|_| {});
        assert!(
            matches!(outcome, CommandOutcome::Done { .. }),
            "{outcome:?}"
        );
        assert_eq!(sink.bytes(), 6);
    }
}
