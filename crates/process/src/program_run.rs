//! A program of others that is run to its end, as a host runs it: it is fed, what it prints is
//! taken in until its pipes are closed, and where that takes too long it is ended with all that
//! it started. After that, pipes that are still open are not waited for. On macOS what leaves
//! the program's session is not known, nor waited for.

use super::command::{CommandLimits, CommandOutcome, OutputSink, StopReason, end_rest, supervise};
use super::ending::ProcessEnd;
use super::piped::Program;
use super::start;
use crate::own::without_sigpipe;
use gemini_tools_core::tool::Cancellation;
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Maximum kept of either stream, in bytes.
pub const MAX_STREAM_BYTES: usize = 16 * 1024 * 1024;

/// The time in which the thread that feeds a program notices that it has ended.
const FED: Duration = Duration::from_secs(2);

/// The standard input of a program.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// This, to its end.
    Bytes(&'a [u8]),
    /// No input, and no end of it either.
    KeptOpen,
}

/// The conditions under which a program is run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions<'a> {
    /// The standard input.
    pub input: Input<'a>,
    /// The time that it may take.
    pub limit: Duration,
    /// The time for which something may hold its pipes after its end.
    pub hold: Duration,
    /// True if what it leaves behind lives on where it has ended by itself.
    pub leaves: bool,
}

/// The record of a program that was run.
#[derive(Debug)]
pub struct ProgramRun {
    /// The output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// True if it printed more than [`MAX_STREAM_BYTES`] to one of them.
    pub is_cut: bool,
    /// The end, or the reason why it was ended.
    pub ending: Result<ProcessEnd, StopReason>,
    /// From its start to its own end.
    pub took: Duration,
    /// True if something that it started held its pipes after its end for too long.
    pub was_held: bool,
    /// True if it ended, or closed its input, before it had read all of that; not known where
    /// what it leaves behind lives on, and may hold its input.
    pub left_input: bool,
    /// The bytes of both streams that have come.
    bytes: u64,
}

impl Program<'_> {
    /// Runs the program to its end.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if it can't be started.
    pub fn run(&self, options: RunOptions<'_>, cancel: &Cancellation) -> io::Result<ProgramRun> {
        let began = Instant::now();
        let (watched, pipe) = start::start_piped(self)?;
        let (fed, kept) = match options.input {
            Input::Bytes(bytes) => (Some(feed(pipe, bytes.to_vec())), None),
            Input::KeptOpen => (None, Some(pipe)),
        };
        let mut run = ProgramRun {
            stdout: Vec::new(),
            stderr: Vec::new(),
            is_cut: false,
            ending: Err(StopReason::OutOfTime),
            took: Duration::ZERO,
            was_held: false,
            left_input: false,
            bytes: 0,
        };
        let limits = CommandLimits {
            wall: options.limit,
            idle: None,
            background_after: None,
            hold: Some(options.hold),
        };
        match supervise(&watched, &mut run, limits, cancel, &|_| {}) {
            CommandOutcome::Done {
                ending,
                has_survivors,
                is_held,
                took,
            } => {
                run.ending = Ok(ending);
                run.was_held = is_held;
                run.took = took;
                if has_survivors && options.leaves {
                    // A supervisor that is gone ends nothing either.
                    let _ = watched.detach_unrecorded();
                } else if has_survivors {
                    end_rest(&watched, &mut run);
                }
            }
            CommandOutcome::Ended { why, .. } => {
                run.ending = Err(why);
                run.took = began.elapsed();
            }
            // Only calls that may go on without their caller end so.
            CommandOutcome::Background => {}
        }
        drop((watched, kept));
        if !options.leaves {
            run.left_input = fed.is_some_and(|fed| fed.recv_timeout(FED) == Ok(false));
        }
        Ok(run)
    }
}

impl OutputSink for ProgramRun {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.is_cut |= !keep(&mut self.stdout, bytes);
    }

    fn push_error(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.is_cut |= !keep(&mut self.stderr, bytes);
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Keeps what there is room for. Returns true if that is all.
fn keep(stream: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = MAX_STREAM_BYTES.saturating_sub(stream.len());
    stream.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() <= room
}

/// Writes on a thread, which lives as long as something holds the pipe and reads nothing; says
/// whether all of it was taken.
fn feed(pipe: OwnedFd, input: Vec<u8>) -> Receiver<bool> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let written = without_sigpipe(|| File::from(pipe).write_all(&input));
        let is_taken = !matches!(written, Err(e) if e.kind() == ErrorKind::BrokenPipe);
        // Where it took too long, nothing waits for it any more.
        let _ = sender.send(is_taken);
    });
    receiver
}
