//! Receives the kernel's notifications of a command's system calls, and answers them.

#![expect(unsafe_code, reason = "no crate wraps seccomp's user notification")]

use crate::raw::{install_filter, last};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use seccompiler::sock_filter;
use std::mem::{MaybeUninit, zeroed};

/// Flag that makes the kernel wake the waiting process on the same processor at once (Linux 6.6).
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// The smallest page size, in bytes. If any byte of a page can be read, all of the page can.
const PAGE_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct Notice {
    id: u64,
    pub(super) thread: u32,
    pub(super) call: i64,
    pub(super) arguments: [u64; 6],
}

pub(super) struct Listener(OwnedFd);

/// Makes the kernel ask for permission before the calling thread makes a call of the filter.
/// Returns the descriptor on which it asks. Makes a single system call, so a forked child may call
/// it.
///
/// # Errors
///
/// Returns `ACCES` if the thread may still gain privileges, `INVAL` from a kernel before 5.19, and
/// `BUSY` if the thread has a filter with a listener already.
pub(super) fn install(filter: &[sock_filter]) -> Result<OwnedFd, Errno> {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
        // Only a fatal signal then ends the wait for an answer. Otherwise every signal would
        // interrupt the call, which would start again and be asked about once more.
        | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let fd = install_filter(filter, flags)?;
    // SAFETY: the descriptor is new.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn send(socket: BorrowedFd<'_>, listener: &Result<OwnedFd, Errno>) {
    let error = listener.as_ref().err().map_or(0, |e| e.raw_os_error());
    let bytes = error.to_ne_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = listener.as_ref().ok().map(|fd| [fd.as_fd()]);
    if let Some(fds) = &fds {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let _ = sendmsg(
        socket,
        &[IoSlice::new(&bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    );
}

pub(super) fn receive(socket: &OwnedFd) -> Result<OwnedFd, Errno> {
    let mut bytes = [0_u8; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        flags,
    )?;
    let listener = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    listener.ok_or_else(|| match i32::from_ne_bytes(bytes) {
        0 => Errno::BADF,
        error => Errno::from_raw_os_error(error),
    })
}

impl Listener {
    pub(super) fn new(fd: OwnedFd) -> Self {
        // SAFETY: takes an integer. An older kernel refuses the flag, and answers more slowly.
        unsafe {
            libc::ioctl(
                fd.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                SYNC_WAKE_UP,
            )
        };
        Self(fd)
    }

    /// Waits until the kernel asks about a system call.
    ///
    /// # Errors
    ///
    /// Returns `NOENT` if the calling process has ended, or, from Linux 6.11 on, if no process with
    /// the filter is left.
    pub(super) fn next(&self) -> Result<Notice, Errno> {
        // SAFETY: all-zero bytes are a valid value of the struct, and the kernel demands them. It
        // writes to this struct only.
        let (status, notice) = unsafe {
            let mut notice: libc::seccomp_notif = zeroed();
            let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
            let status = libc::ioctl(self.0.as_raw_fd(), request, &raw mut notice);
            (status, notice)
        };
        if status != 0 {
            return Err(last());
        }
        Ok(Notice {
            id: notice.id,
            thread: notice.pid,
            call: i64::from(notice.data.nr),
            arguments: notice.data.args,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
        let _ = poll(&mut ready, Some(&Timespec::default()));
        ready[0].revents().contains(PollFlags::HUP)
    }

    pub(super) fn go_on(&self, notice: &Notice) {
        let answer = libc::seccomp_notif_resp {
            id: notice.id,
            val: 0,
            error: 0,
            flags: u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1),
        };
        // SAFETY: the kernel only reads the struct. If the process is gone, the call fails.
        unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw const answer,
            )
        };
    }
}

impl Notice {
    /// Returns an argument as a descriptor. The kernel reads only its lower 32 bits; the rest may
    /// hold anything.
    pub(super) fn descriptor(&self, index: usize) -> i32 {
        let lower = self.arguments[index] & u64::from(u32::MAX);
        u32::try_from(lower).unwrap_or(u32::MAX).cast_signed()
    }

    /// Returns an argument that is a path, or the address of a socket, whose path then comes behind
    /// the address family and need not end with a null byte.
    pub(super) fn path(&self, index: usize) -> Result<Vec<u8>, Errno> {
        let address = self.arguments[index];
        if self.call != libc::SYS_bind {
            return self.string(address);
        }
        let mut text = self.string(address.wrapping_add(2))?;
        text.truncate(usize::try_from(self.descriptor(2).saturating_sub(2)).unwrap_or(0));
        Ok(text)
    }

    fn string(&self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut text = vec![0_u8; PAGE_BYTES];
        let start = usize::try_from(address).map_err(|_| Errno::FAULT)?;
        // The page after the one in which the string begins may not be mapped, hence two ranges.
        let first = PAGE_BYTES - start % PAGE_BYTES;
        let remote = [
            (start, first),
            (start.wrapping_add(first), PAGE_BYTES - first),
        ];
        let remote = remote.map(|(at, iov_len)| libc::iovec {
            iov_base: std::ptr::without_provenance_mut(at),
            iov_len,
        });
        let local = libc::iovec {
            iov_base: text.as_mut_ptr().cast(),
            iov_len: text.len(),
        };
        let thread = i32::try_from(self.thread).map_err(|_| Errno::SRCH)?;
        // SAFETY: the kernel writes to `text` only, no more than its length.
        let read =
            unsafe { libc::process_vm_readv(thread, &raw const local, 1, remote.as_ptr(), 2, 0) };
        let read = usize::try_from(read).map_err(|_| last())?;
        let end = text[..read].iter().position(|byte| *byte == 0);
        text.truncate(end.ok_or(Errno::NAMETOOLONG)?);
        Ok(text)
    }
}
