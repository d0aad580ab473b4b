//! A process as the host starts it: three pipes, no shell, no time limit but ours.

use crate::process::ending::Ending;
use crate::process::piped::Program;
use crate::process::without_sigpipe;
use crate::sys::fd::OwnedFd;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// More of either stream is not kept, in bytes.
const MAX_OUTPUT: u64 = 16 * 1024 * 1024;

const TICK: Duration = Duration::from_millis(10);

/// How long those have to end that are left.
const GRACE: Duration = Duration::from_millis(500);

/// What was seen of it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// `None` where it did not end.
    pub(super) ending: Option<Ending>,
    /// From its start to its end.
    pub(super) took: Duration,
    /// Whether somebody that it started held its pipes after its end.
    pub(super) was_held: bool,
    /// Whether it ended, or closed its input, before it had read all of that.
    pub(super) left_input: bool,
}

/// How long is waited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the program.
    pub(super) limit: Duration,
    /// For its pipes, after its end.
    pub(super) linger: Duration,
}

/// What a program can read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// This, to its end.
    Bytes(&'a [u8]),
    /// Nothing, and no end of it either.
    KeptOpen,
}

/// Starts a program and watches it until its pipes are closed, as the host does. Then all that
/// it started is ended.
///
/// # Errors
///
/// Where it can't be started.
pub(super) fn run(
    program: &Path,
    args: &[String],
    root: &Path,
    input: Input<'_>,
    patience: Patience,
) -> io::Result<Seen> {
    let environment: BTreeMap<_, _> = std::env::vars_os().collect();
    let mut piped = Program {
        name: program.as_os_str(),
        arguments: args,
        environment: &environment,
        directory: root,
    }
    .start()?;
    let began = Instant::now();
    let (sender, closed) = channel::<()>();
    let written = match input {
        Input::Bytes(bytes) => piped.input.take().map(|pipe| feed(pipe, bytes.to_vec())),
        // It stays with `piped`, until that is ended.
        Input::KeptOpen => None,
    };
    let out = piped.output.take().map(|pipe| drain(pipe, sender.clone()));
    let err = piped.errors.take().map(|pipe| drain(pipe, sender));
    let mut seen = Seen::default();
    let mut ended = None;
    loop {
        let is_closed = closed.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
        piped.is_gone();
        if ended.is_none() && piped.ending().is_some() {
            ended = Some(Instant::now());
            seen.ending = piped.ending();
            seen.took = began.elapsed();
        }
        match ended {
            Some(_) if is_closed => break,
            Some(ended) if ended.elapsed() > patience.linger => {
                seen.was_held = true;
                break;
            }
            None if began.elapsed() > patience.limit => {
                seen.took = began.elapsed();
                break;
            }
            None if is_closed => std::thread::sleep(TICK),
            _ => {}
        }
    }
    piped.end(GRACE);
    piped.wait(GRACE * 4);
    let got = |stream: Option<Receiver<Vec<u8>>>| {
        stream
            .and_then(|bytes| bytes.recv_timeout(GRACE * 4).ok())
            .unwrap_or_default()
    };
    seen.left_input = written.is_some_and(|w| w.recv_timeout(GRACE * 4) == Ok(false));
    seen.stdout = got(out);
    seen.stderr = got(err);
    Ok(seen)
}

/// Writes on a thread; says whether all of it was taken.
fn feed(pipe: OwnedFd, input: Vec<u8>) -> Receiver<bool> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let written = without_sigpipe(|| File::from(pipe).write_all(&input));
        let is_taken = !matches!(written, Err(e) if e.kind() == ErrorKind::BrokenPipe);
        // Nobody waits any more for a program that neither reads nor ends.
        let _ = sender.send(is_taken);
    });
    receiver
}

/// Reads a stream to its end on a thread, which `open` is dropped at.
fn drain(pipe: OwnedFd, open: Sender<()>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut stream = File::from(pipe);
        let mut bytes = Vec::new();
        // A stream that fails has ended.
        let _ = (&stream).take(MAX_OUTPUT).read_to_end(&mut bytes);
        let _ = io::copy(&mut stream, &mut io::sink());
        drop(open);
        // Nobody waits any more where the pipe was held for too long.
        let _ = sender.send(bytes);
    });
    receiver
}
