//! Tells how many bytes in a pipe or a socket its reader has not read yet.
//!
//! The bytes in a pipe are counted by `FIONREAD`, on either end. For a socket of the family
//! `AF_UNIX`, such as node gives to the programs it starts, `SIOCOUTQ` tells how much memory its
//! unread messages take; it is 0 once the last of them has been read. Neither the readers of
//! network sockets nor those on systems other than Linux can be watched: for a network socket
//! `SIOCOUTQ` counts what the other machine has not received, whether a program there has read the
//! rest or not, and the other systems don't tell the writing end.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use std::time::Duration;

/// A pipe or socket whose reader can be watched.
#[derive(Debug, Clone, Copy)]
pub struct WatchedStream<'a> {
    /// The writing end.
    pub fd: BorrowedFd<'a>,
    is_socket: bool,
    /// How many bytes a reader gets in one read, provided that they are written at once, nothing
    /// else is unread, and the reader's own buffer has room.
    pub piece_bytes: usize,
}

/// How the reader of a stream reads.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// The stream is a file, a terminal or a device. A host does not read it in pieces that it
    /// decodes one by one, so it does not matter where a piece ends.
    Whole,
    /// The reader may read parts of a write, and the system tells how much it has read.
    Watched(WatchedStream<'a>),
    /// The reader may read parts of a write, and the system does not tell how much it has read.
    Unwatched,
}

/// Maximum size of one write, in bytes. A socket takes it as one message, and it fits into a pipe
/// with room to spare.
#[cfg(target_os = "linux")]
const PIECE_BYTES: usize = 32 * 1024;

/// Tells how the reader of `fd` reads, and whether it can be watched.
#[cfg(target_os = "linux")]
pub fn reader(fd: BorrowedFd<'_>) -> Reader<'_> {
    use rustix::fs::FileType;
    use rustix::net::AddressFamily;
    use rustix::net::sockopt::{socket_domain, socket_send_buffer_size};
    let Ok(stat) = rustix::fs::fstat(fd) else {
        return Reader::Unwatched;
    };
    let (is_socket, capacity) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => (false, rustix::pipe::fcntl_getpipe_size(fd).ok()),
        // The kernel makes one message of a write that is at most a quarter of the send buffer.
        FileType::Socket if socket_domain(fd) == Ok(AddressFamily::UNIX) => {
            let bytes = socket_send_buffer_size(fd);
            (true, bytes.ok().map(|bytes| bytes / 4))
        }
        FileType::Socket => return Reader::Unwatched,
        _ => return Reader::Whole,
    };
    let stream = WatchedStream {
        fd,
        is_socket,
        piece_bytes: capacity.unwrap_or(0).min(PIECE_BYTES),
    };
    if stream.piece_bytes == 0 || stream.unread_bytes().is_none() {
        return Reader::Unwatched;
    }
    Reader::Watched(stream)
}

/// Tells how the reader of `fd` reads: on this system it can't be watched.
#[cfg(not(target_os = "linux"))]
pub fn reader(_fd: BorrowedFd<'_>) -> Reader<'_> {
    Reader::Unwatched
}

impl WatchedStream<'_> {
    /// Returns how much is unread, 0 if everything has been read, and `None` if the system does not
    /// tell. For a socket it is not a number of bytes written, but the memory that they take.
    pub fn unread_bytes(&self) -> Option<u64> {
        if self.is_socket {
            return outgoing_bytes(self.fd);
        }
        rustix::io::ioctl_fionread(self.fd).ok()
    }

    /// Waits for at most `pause`. Returns true if the reader has gone away.
    pub fn is_abandoned_after(&self, pause: Duration) -> bool {
        let mut reader = [PollFd::new(&self.fd, PollFlags::empty())];
        let limit = pause.try_into().ok();
        poll(&mut reader, limit.as_ref()).is_ok_and(|count| count > 0)
    }
}

#[expect(unsafe_code, reason = "rustix does not wrap this request of ioctl")]
fn outgoing_bytes(fd: BorrowedFd<'_>) -> Option<u64> {
    use rustix::ioctl::{Getter, Opcode, ioctl};
    // `SIOCOUTQ` has the same number as `TIOCOUTQ`, the request for terminals.
    const SIOCOUTQ: Opcode = libc::TIOCOUTQ as Opcode;
    // SAFETY: the request writes one C int.
    let bytes: core::ffi::c_int = unsafe { ioctl(fd, Getter::<SIOCOUTQ, _>::new()) }.ok()?;
    u64::try_from(bytes).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Reader, WatchedStream, reader};
    use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
    use rustix::io::{read, write};
    use std::os::unix::net::UnixStream;

    fn watched(fd: BorrowedFd<'_>) -> WatchedStream<'_> {
        match reader(fd) {
            Reader::Watched(stream) => stream,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_written_to_a_pipe_or_a_socket_is_unread_until_it_is_read() {
        let (pipe_out, pipe_in) = std::io::pipe().expect("a pipe");
        let (socket_out, socket_in) = UnixStream::pair().expect("sockets");
        let ends: [(OwnedFd, OwnedFd); 2] = [
            (pipe_out.into(), pipe_in.into()),
            (socket_out.into(), socket_in.into()),
        ];
        for (out, into) in ends {
            let stream = watched(into.as_fd());
            assert_eq!(stream.unread_bytes(), Some(0));
            let piece = vec![b'x'; stream.piece_bytes];
            assert_eq!(write(&into, &piece), Ok(piece.len()));
            assert_ne!(stream.unread_bytes(), Some(0));
            let mut buffer = vec![0; 64 * 1024];
            assert_eq!(read(&out, &mut buffer), Ok(piece.len()));
            assert_eq!(stream.unread_bytes(), Some(0));
        }
    }

    #[test]
    fn a_file_is_read_whole() {
        let file = tempfile::tempfile().expect("a file");
        assert!(matches!(reader(file.as_fd()), Reader::Whole));
    }
}
