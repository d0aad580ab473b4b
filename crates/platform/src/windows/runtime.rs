//! Pipes and signals for tokio. Pipes of this kind can't be waited for, so that each has a thread.
//! It ends when the pipe does, or at its next turn when our side has been dropped.

use super::fd::OwnedFd;
use std::fs::File;
use std::io::{self, Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::signal::windows::{ctrl_break, ctrl_c};

/// How much waits to be taken by the other side, and is read at once, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// The number of `SIGINT` in the C library.
const INTERRUPT: i32 = 2;

/// The end of a pipe that is read. A reading that is given up loses nothing.
pub type Reader = DuplexStream;

/// The end of a pipe that is written to.
pub type Writer = DuplexStream;

/// The end of a pipe that is read, for this runtime.
///
/// # Errors
///
/// Where no thread can be started.
pub fn reader(pipe: OwnedFd) -> io::Result<Reader> {
    let (ours, mut theirs) = duplex(CHUNK_BYTES);
    let (mut pipe, runtime) = (File::from(pipe), Handle::current());
    thread(move || {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            let taken = runtime.block_on(theirs.write_all(&buffer[..count]));
            if taken.is_err() {
                return;
            }
        }
    })?;
    Ok(ours)
}

/// The end of a pipe that is written to, for this runtime.
///
/// # Errors
///
/// Where no thread can be started.
pub fn writer(pipe: OwnedFd) -> io::Result<Writer> {
    let (ours, mut theirs) = duplex(CHUNK_BYTES);
    let (mut pipe, runtime) = (File::from(pipe), Handle::current());
    thread(move || {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = runtime.block_on(theirs.read(&mut buffer)) {
            if pipe.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    })?;
    Ok(ours)
}

fn thread(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().spawn(run).map(drop)
}

/// Waits for Ctrl-C or Ctrl-Break, and gives the number of `SIGINT`. Whatever else ends the process
/// does so at once, and its job objects end what it has started.
pub async fn end_signal() -> i32 {
    if let (Ok(mut interrupt), Ok(mut stop)) = (ctrl_c(), ctrl_break()) {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = stop.recv() => {}
        }
        return INTERRUPT;
    }
    std::future::pending().await
}
