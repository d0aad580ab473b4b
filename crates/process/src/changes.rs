//! Keeping what a command changes, before it changes it.
//!
//! The kernel stops a command, and all that it starts, at each system call that may change a file
//! (seccomp's user notification), and asks the command's supervisor. That has the journal keep what
//! is there, and lets the call go on unchanged. So programs of any kind are seen, and nothing about
//! them is different but the time.
//!
//! - `calls`: the system calls, and the filter that stops at them;
//! - `listener`: what the kernel says and is answered;
//! - `paths`: the files that a call of another process means.
//!
//! Not seen are changes by `io_uring`, by programs that are not 64-bit, and by other processes that a
//! command asks for them. If the supervisor is killed, the calls that it would have been asked about
//! fail (`ENOSYS`): nothing waits for ever.

mod calls;
mod listener;
mod paths;

use crate::raw;
use gemini_tools_workspace::journal::{Access, ChangeCounts, CommandChanges};
use listener::{Listener, Notice};
use paths::Locator;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use seccompiler::BpfProgram;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

const RENAME_EXCHANGE: u64 = 2;

/// A request to keep what a command changes, so that it can be undone.
#[derive(Debug)]
pub struct ChangeWatch {
    filter: BpfProgram,
    /// Allows giving up new privileges (`no_new_privs`) where the kernel demands that for a filter.
    /// `sudo` then fails in the command.
    may_forbid_sudo: bool,
    changes: RefCell<Option<CommandChanges>>,
}

impl ChangeWatch {
    /// Prepares a watch. Returns `None` on a processor whose system calls are not known.
    ///
    /// Without root's rights, the kernel allows a filter only to a process that has given up
    /// gaining privileges. With `may_forbid_sudo` the command gives that up where it must, and
    /// `sudo` fails in it.
    pub fn new(changes: CommandChanges, may_forbid_sudo: bool) -> Option<Self> {
        Some(Self {
            filter: calls::filter()?,
            may_forbid_sudo,
            changes: RefCell::new(Some(changes)),
        })
    }
}

#[derive(Debug)]
pub(crate) struct SupervisorWatch {
    socket: Option<OwnedFd>,
    changes: Arc<Mutex<CommandChanges>>,
}

#[derive(Clone, Copy)]
pub(crate) struct CommandWatch<'a> {
    watch: &'a ChangeWatch,
    socket: rustix::fd::BorrowedFd<'a>,
}

impl SupervisorWatch {
    /// Prepares the watch of one command. Returns it with the socket for [`CommandWatch::new`], or
    /// `None` if another command has taken the watch.
    pub(crate) fn new(watch: &ChangeWatch) -> Result<Option<(Self, OwnedFd)>, Errno> {
        let Some(changes) = watch.changes.take() else {
            return Ok(None);
        };
        let (socket, theirs) = raw::socket_pair()?;
        let changes = Arc::new(Mutex::new(changes));
        let socket = Some(socket);
        Ok(Some((Self { socket, changes }, theirs)))
    }

    pub(crate) fn receive(&mut self) -> Result<OwnedFd, Errno> {
        listener::receive(&self.socket.take().ok_or(Errno::BADF)?)
    }

    pub(crate) fn begin(&self, listener: OwnedFd) -> Result<(), Errno> {
        let changes = Arc::clone(&self.changes);
        let watch = move || attend(&Listener::new(listener), &changes);
        let thread = std::thread::Builder::new().spawn(watch);
        thread
            .map(drop)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::AGAIN))
    }

    pub(crate) fn record(&self) -> ChangeCounts {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.record()
    }
}

impl<'a> CommandWatch<'a> {
    pub(crate) fn new(watch: &'a ChangeWatch, socket: &'a OwnedFd) -> Self {
        let socket = socket.as_fd();
        Self { watch, socket }
    }

    /// Installs the filter in the calling thread, for good, and sends the listener, or the error,
    /// to the supervisor. It runs in a forked child just before `exec`, so it only makes system
    /// calls: a lock that another thread held at the fork would never be released.
    pub(crate) fn install(self, is_sandboxed: bool) {
        // In a sandbox, the command can't gain privileges anyway.
        if is_sandboxed {
            let _ = rustix::thread::set_no_new_privs(true);
        }
        let mut listener = listener::install(&self.watch.filter);
        if matches!(listener, Err(Errno::ACCESS)) && self.watch.may_forbid_sudo {
            let _ = rustix::thread::set_no_new_privs(true);
            listener = listener::install(&self.watch.filter);
        }
        listener::send(self.socket, &listener);
    }
}

fn attend(listener: &Listener, changes: &Mutex<CommandChanges>) {
    let mut locator = Locator::default();
    loop {
        match listener.next() {
            Ok(notice) => {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                keep(&notice, &mut locator, &mut changes);
                drop(changes);
                listener.go_on(&notice);
            }
            // A process has ended while its call waited for an answer.
            Err(Errno::INTR | Errno::NOENT) if !listener.is_over() => {}
            Err(_) => return,
        }
    }
}

fn keep(notice: &Notice, locator: &mut Locator, changes: &mut CommandChanges) {
    let Some(call) = calls::find(notice.call) else {
        return;
    };
    let mut paths = call.targets.iter().map(|target| {
        let path = locator.locate(notice, *target);
        (target.access, path)
    });
    if call.is_rename {
        let flags = call.rename_flags.map_or(0, |index| notice.arguments[index]);
        let (from, to) = (paths.next(), paths.next());
        match (from, to) {
            (Some((_, Ok(Some(from)))), Some((_, Ok(Some(to))))) => {
                changes.rename(&from, &to, flags & RENAME_EXCHANGE != 0);
            }
            (Some((_, Err(_))), _) | (_, Some((_, Err(_)))) => changes.miss(),
            _ => {}
        }
        return;
    }
    for (access, path) in paths {
        match path {
            Ok(Some(path)) => changes.touch(&path, access),
            // The call will fail, or the file that it changes has no path.
            Ok(None) => {}
            Err(_) => changes.miss(),
        }
    }
}
