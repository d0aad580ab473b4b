//! Keeps copies of the files that a command changes, before it changes them.
//!
//! The kernel stops the command and its children at each system call that may change a file
//! (seccomp's user notification), and asks the command's supervisor. The supervisor has the journal
//! keep the file as it is, and lets the call go on. So programs of any kind are seen, and only run
//! slower.
//!
//! - `calls`: the system calls, and the filter that stops at them;
//! - `listener`: the kernel's notifications, and the answers to them;
//! - `paths`: the file that a system call of another process is about.
//!
//! Changes are missed if they are made by `io_uring`, by programs that are not 64-bit, or by other
//! processes that a command asks for them. If the supervisor is killed, the calls that it would
//! have been asked about fail (`ENOSYS`): nothing waits for ever.

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

/// A request to keep copies of the files that a command changes, for undo.
#[derive(Debug)]
pub struct ChangeWatch {
    filter: BpfProgram,
    /// If true, the command gives up gaining privileges (`no_new_privs`) where the kernel demands
    /// that for a filter. `sudo` then fails in the command.
    may_forbid_sudo: bool,
    changes: RefCell<Option<CommandChanges>>,
}

impl ChangeWatch {
    /// Prepares a watch. Returns `None` on a processor whose system call numbers are not known.
    ///
    /// Unless root runs the command, the kernel allows a filter only to a process that has given up
    /// gaining privileges. With `may_forbid_sudo` the command gives that up where it must, and
    /// `sudo` fails in it; otherwise its changes are not kept.
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
    /// Takes the collection of changes out of `watch`. Returns the supervisor's part of it with the
    /// socket for [`CommandWatch::new`], or `None` if another command has already taken it.
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
        let attend = move || attend(&Listener::new(listener), &changes);
        raw::start_thread_after_fork(Box::new(attend))
    }

    pub(crate) fn record(&self, is_last: bool) -> ChangeCounts {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.record(is_last)
    }

    pub(crate) fn lose(&self) -> ChangeCounts {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.miss(None);
        changes.record(true)
    }
}

impl<'a> CommandWatch<'a> {
    pub(crate) fn new(watch: &'a ChangeWatch, socket: &'a OwnedFd) -> Self {
        let socket = socket.as_fd();
        Self { watch, socket }
    }

    /// Installs the filter in the calling thread, for good, and sends the listener, or the error,
    /// to the supervisor. It runs in a forked child just before `exec`, so it makes system calls
    /// only: a lock that another thread held at the fork would never be released.
    pub(crate) fn install(self, is_sandboxed: bool) {
        // In a sandbox, the command can't gain privileges in any case.
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
    let devices = changes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .devices();
    let mut locator = Locator::new(devices);
    loop {
        match listener.next() {
            Ok(notice) => {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                keep(&notice, &mut locator, &mut changes);
                drop(changes);
                listener.go_on(&notice);
            }
            // A process has ended while its system call waited for an answer.
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
            (Some((_, Err(unknown))), _) | (_, Some((_, Err(unknown)))) => {
                changes.miss(unknown.above.as_deref());
            }
            _ => {}
        }
        return;
    }
    for (access, path) in paths {
        match path {
            Ok(Some(path)) => changes.touch(&path, access),
            // The system call will fail, or the file that it changes has no path.
            Ok(None) => {}
            Err(unknown) => changes.miss(unknown.above.as_deref()),
        }
    }
}
