//! Runs another program to its end, as a host would.
//!
//! The program gets its input, and its output is read until both pipes are closed. If it takes too
//! long, it is ended with all its children, and pipes that are still open are abandoned. On macOS a
//! child that has left the program's session is neither found nor waited for.

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
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Maximum size of what is kept of each stream, in bytes.
pub const MAX_STREAM_BYTES: usize = 16 * 1024 * 1024;

type Take<'a> = &'a mut dyn FnMut(&[u8]);

const FED: Duration = Duration::from_secs(2);

/// The standard input of a program.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// These bytes, then the end of the input.
    Bytes(&'a [u8]),
    /// Nothing, but the pipe stays open.
    KeptOpen,
}

/// Options for running a program.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions<'a> {
    /// What the program gets as its standard input.
    pub input: Input<'a>,
    /// The time after which the program is ended with all its children.
    pub limit: Duration,
    /// How long the program's children may hold its pipes open after its own end.
    pub hold: Duration,
    /// True if children that outlive the program are left running.
    pub leaves: bool,
}

/// What a program printed, and how it ended.
#[derive(Debug)]
pub struct ProgramRun {
    /// The output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// True if one of the streams was longer than [`MAX_STREAM_BYTES`]. The program was then ended.
    pub is_cut: bool,
    /// How the program ended by itself, or why it was ended.
    pub ending: Result<ProcessEnd, StopReason>,
    /// The time from the program's start until it ended or was ended.
    pub took: Duration,
    /// True if a child held its pipes open for longer than [`RunOptions::hold`].
    pub was_held: bool,
    /// True if the program ended, or closed its input, without reading all of it. With
    /// [`RunOptions::leaves`] this is always false, since a child may hold the input.
    pub left_input: bool,
    bytes: u64,
}

impl Program<'_> {
    /// Runs the program to its end.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if it can't be started.
    pub fn run(&self, options: RunOptions<'_>, cancel: &Cancellation) -> io::Result<ProgramRun> {
        self.run_with(options, cancel, None)
    }

    /// Runs the program to its end. The output is not kept, but `take` gets it piece by piece.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the program can't be started.
    pub fn run_into(
        &self,
        options: RunOptions<'_>,
        cancel: &Cancellation,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<ProgramRun> {
        self.run_with(options, cancel, Some(take))
    }

    fn run_with(
        &self,
        options: RunOptions<'_>,
        cancel: &Cancellation,
        take: Option<Take<'_>>,
    ) -> io::Result<ProgramRun> {
        let began = Instant::now();
        let (watched, pipe) = start::start_piped(self)?;
        let (fed, kept) = match options.input {
            Input::Bytes(bytes) => (Some(feed(pipe, bytes.to_vec())?), None),
            Input::KeptOpen => (None, Some(pipe)),
        };
        let run = ProgramRun {
            stdout: Vec::new(),
            stderr: Vec::new(),
            is_cut: false,
            ending: Err(StopReason::OutOfTime),
            took: Duration::ZERO,
            was_held: false,
            left_input: false,
            bytes: 0,
        };
        let mut sink = Sink { run, take };
        let limits = CommandLimits {
            wall: options.limit,
            idle: None,
            background_after: None,
            hold: Some(options.hold),
        };
        match supervise(&watched, &mut sink, limits, cancel, &|_| {}) {
            CommandOutcome::Done {
                ending,
                has_survivors,
                is_held,
                took,
            } => {
                sink.run.ending = Ok(ending);
                sink.run.was_held = is_held;
                sink.run.took = took;
                if has_survivors && options.leaves {
                    // If this fails because the supervisor is gone, nothing ends the children
                    // either. If the supervisor does not answer, it ends them as soon as it can.
                    let _ = watched.detach_unrecorded();
                } else if has_survivors {
                    end_rest(&watched, &mut sink);
                }
            }
            CommandOutcome::Ended { why, .. } => {
                sink.run.ending = Err(why);
                sink.run.took = began.elapsed();
            }
            // This outcome does not occur, since there is no limit `background_after`.
            CommandOutcome::Background => {}
        }
        drop((watched, kept));
        let mut run = sink.run;
        if !options.leaves {
            run.left_input = fed.is_some_and(|fed| fed.recv_timeout(FED) == Ok(false));
        }
        Ok(run)
    }
}

struct Sink<'a> {
    run: ProgramRun,
    take: Option<Take<'a>>,
}

impl OutputSink for Sink<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.run.bytes += bytes.len() as u64;
        match &mut self.take {
            Some(take) => take(bytes),
            None => self.run.is_cut |= !keep(&mut self.run.stdout, bytes),
        }
    }

    fn push_error(&mut self, bytes: &[u8]) {
        self.run.bytes += bytes.len() as u64;
        self.run.is_cut |= !keep(&mut self.run.stderr, bytes);
    }

    fn bytes(&self) -> u64 {
        self.run.bytes
    }

    fn is_full(&self) -> bool {
        self.run.is_cut
    }
}

fn keep(stream: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = MAX_STREAM_BYTES.saturating_sub(stream.len());
    stream.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() <= room
}

/// Writes the input on a thread of its own, which blocks for as long as some process holds the pipe
/// open without reading. The receiver gets true if all input was read.
fn feed(pipe: OwnedFd, input: Vec<u8>) -> io::Result<Receiver<bool>> {
    let (sender, receiver) = channel();
    Builder::new().spawn(move || {
        let written = without_sigpipe(|| File::from(pipe).write_all(&input));
        let is_taken = !matches!(written, Err(e) if e.kind() == ErrorKind::BrokenPipe);
        // If the program took too long, the receiver is gone.
        let _ = sender.send(is_taken);
    })?;
    Ok(receiver)
}
