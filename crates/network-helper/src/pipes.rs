//! Pipes as the runtime's streams. A reading that is given up loses nothing.

pub(super) use system::{Reader, Writer, reader, writer};

#[cfg(unix)]
mod system {
    use gemini_tools_platform::fd::OwnedFd;
    use std::io;
    use tokio::net::unix::pipe;

    /// The end of a pipe that is read.
    pub(crate) type Reader = pipe::Receiver;

    /// The end of a pipe that is written to.
    pub(crate) type Writer = pipe::Sender;

    pub(crate) fn reader(pipe: OwnedFd) -> io::Result<Reader> {
        Reader::from_owned_fd(pipe)
    }

    pub(crate) fn writer(pipe: OwnedFd) -> io::Result<Writer> {
        Writer::from_owned_fd(pipe)
    }
}

/// Windows: pipes of this kind can't be waited for, so that each has a thread. It ends when
/// the pipe does, or at its next turn when our side has been dropped.
#[cfg(windows)]
mod system {
    use gemini_tools_platform::fd::OwnedFd;
    use std::fs::File;
    use std::io::{self, Read, Write};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::runtime::Handle;

    /// How much waits to be taken by the other side, and is read at once, in bytes.
    const CHUNK_BYTES: usize = 64 * 1024;

    /// The end of a pipe that is read.
    pub(crate) type Reader = DuplexStream;

    /// The end of a pipe that is written to.
    pub(crate) type Writer = DuplexStream;

    pub(crate) fn reader(pipe: OwnedFd) -> io::Result<Reader> {
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

    pub(crate) fn writer(pipe: OwnedFd) -> io::Result<Writer> {
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
}
