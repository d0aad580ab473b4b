//! The supervisor: a process that watches over a command and every process that the command starts.
//!
//! # How it works
//!
//! Each command gets a supervisor, which is forked from the caller and starts the command in a
//! session of its own. On Linux the supervisor is the reaper of all processes below it
//! (`PR_SET_CHILD_SUBREAPER`): a process that forks twice or leaves its session becomes a child of
//! the supervisor and does not escape. macOS has no subreapers: there an orphan is found by its
//! session, and a process that leaves the session escapes.
//!
//! Caller and supervisor talk over a pair of sockets that preserves message boundaries. The first
//! byte of a message is its kind, and numbers are `i32` in the byte order of the machine:
//!
//! - `CHOSEN`, command to caller: `P`, process id, 0. This process is about to become the command.
//!   The process itself says so before `exec`, so that the caller knows its id even if the command
//!   kills the supervisor at once.
//! - `STARTED`, supervisor to caller: `S`, process id, error. The command runs (error 0), or could
//!   not be started. It comes after `CHOSEN` where the supervisor is suspended until the command
//!   begins (`vfork`), but not under QEMU's user emulation.
//! - `ENDED`, supervisor to caller: `X`, status, flag. The command has ended with this status of
//!   `waitpid`; the flag is 1 if nothing that it started is left.
//! - `ALL_GONE`, supervisor to caller: `G`, count, 0. All processes have ended, except for this
//!   count of processes that could not be ended; the supervisor exits.
//! - `CHANGES`, supervisor to caller: `C`, count, lost. This count of further paths was changed; of
//!   these, `lost` can't be undone.
//! - `UNWATCHED`, supervisor to caller: `U`, error, 0. Because of this error, the changes of the
//!   command are not kept for undo.
//! - `END_ALL`, caller to supervisor: `K`, milliseconds, 0. End everything; processes have this
//!   time between SIGTERM and SIGKILL.
//! - `DETACH`, caller to supervisor: `D`, path of the record, NUL, path of the log. Stay when the
//!   caller leaves, append the output to the log, and how processes end to the record; with an
//!   empty path of the record keep neither.
//! - `DETACHED`, supervisor to caller: `A`, error, 0. The answer to `DETACH`: error 0 is success.
//! - End of file, either direction: the other side is gone.
//!
//! A supervisor whose caller is gone ends the command, unless it was detached. A detached
//! supervisor goes on until the last process has ended: it reads their output, so that no
//! background process dies of a closed pipe. A signal to the supervisor ends the command too. For
//! the end of file to be seen, each side must close its copy of the other's socket: a copy that is
//! left open hides the other's death. Before `DETACH` only the caller reads the output. A command
//! may stop its supervisor by `SIGSTOP`; the caller looks for that when it waits, and sends
//! `SIGCONT`.
//!
//! Other modules do the rest: system calls between fork and exec (`raw`), finding and ending
//! processes (`tree`), and the files of a detached command ([`JobFiles`]).

use super::{GRACE, Start, SupervisorEvent};
use crate::changes::{CommandWatch, SupervisorWatch};
use crate::jobs::JobFiles;
use crate::raw::{self, PreparedProgram};
use crate::read_buffer::is_readable;
use crate::tree;
use gemini_tools_workspace::journal::ChangeCounts;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const MESSAGE_BYTES: usize = 9;

const MAX_MESSAGE_BYTES: usize = 16 * 1024;

const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How many times a stopped supervisor is continued (`SIGCONT`) before the caller ends the command
/// without it.
const MAX_STOPS: u32 = 10;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

const CHUNK_BYTES: usize = 256 * 1024;

mod message {
    pub(super) const CHOSEN: u8 = b'P';
    pub(super) const STARTED: u8 = b'S';
    pub(super) const ENDED: u8 = b'X';
    pub(super) const ALL_GONE: u8 = b'G';
    pub(super) const CHANGES: u8 = b'C';
    pub(super) const UNWATCHED: u8 = b'U';
    pub(super) const END_ALL: u8 = b'K';
    pub(super) const DETACH: u8 = b'D';
    pub(super) const DETACHED: u8 = b'A';
}

/// Supervisors that were still running when their handle was dropped. Each later start, and each
/// drop of such a handle, reaps those that have ended, so that a long-lived caller collects no
/// zombies.
static UNREAPED: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn reap_later(supervisor: Option<Pid>) {
    let mut left = UNREAPED.lock().unwrap_or_else(PoisonError::into_inner);
    left.extend(supervisor);
    left.retain(|pid| {
        matches!(
            rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG),
            Ok(None)
        )
    });
}

impl Drop for SupervisedProgram {
    fn drop(&mut self) {
        // A stopped supervisor must run again to notice that its caller is gone.
        self.wake();
        if self.is_reaped.get() {
            return;
        }
        let supervisor = Pid::from_raw(self.supervisor);
        if self.is_over.get() {
            // The supervisor is about to exit. Without this wait, it might stay a zombie of a host
            // that does not wait for its children.
            let _ = retry_on_intr(|| rustix::process::waitpid(supervisor, WaitOptions::empty()));
            return;
        }
        reap_later(supervisor);
    }
}

/// The caller's handle of a running command. Dropping it ends the command with all that it started,
/// unless it was detached.
#[derive(Debug)]
pub struct SupervisedProgram {
    control: OwnedFd,
    /// The output of the command and its children.
    pub output: OwnedFd,
    /// The standard error of the command and its children, if it has a pipe of its own.
    pub errors: Option<OwnedFd>,
    /// The supervisor's process id. All processes below it belong to the command.
    pub supervisor: i32,
    /// The process id of the command; also that of its session and process group.
    pub leader: i32,
    is_over: Cell<bool>,
    pending_event: Cell<Option<SupervisorEvent>>,
    stopped: Cell<u32>,
    is_reaped: Cell<bool>,
    changes: Cell<ChangeCounts>,
    unwatched: Cell<Option<Errno>>,
    /// This process's copy of the collection of changes. The supervisor collects in its own copy,
    /// so this one is empty. It serves to record that the changes are not known if the supervisor
    /// is killed.
    watch: Option<SupervisorWatch>,
}

impl SupervisedProgram {
    pub(crate) fn start(start: &Start<'_>) -> io::Result<Self> {
        reap_later(None);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, Mode::empty())?;
        let (output, writer) = raw::pipe()?;
        // With a larger pipe, the writer and the reader take turns less often.
        raw::widen(&writer, CHUNK_BYTES);
        let (errors, error_writer) = start.apart.then(raw::pipe).transpose()?.unzip();
        let (control, theirs) = raw::socket_pair()?;
        let (watch, watch_socket) = match start.changes {
            Some(changes) => SupervisorWatch::new(changes)?.unzip(),
            None => (None, None),
        };
        let watched = start.changes.zip(watch_socket.as_ref());
        let mut program = PreparedProgram::new(
            start,
            &writer,
            error_writer.as_ref().unwrap_or(&writer),
            &theirs,
            watched.map(|(changes, socket)| CommandWatch::new(changes, socket)),
        )?;
        let mut supervisor = Supervisor {
            control: Some(theirs),
            output: Some(output),
            leader: None,
            status: None,
            is_detached: false,
            files: None,
            watch,
        };
        let pid = raw::fork(|| supervisor.run(&mut program, null.as_fd()))?;
        // A copy of the supervisor's end of the socket would hide the supervisor's death.
        let Supervisor {
            output,
            control: theirs,
            watch,
            ..
        } = supervisor;
        drop(theirs);
        let mut watched = Self {
            control,
            output: output.ok_or(Errno::IO)?,
            errors,
            supervisor: pid,
            leader: 0,
            is_over: Cell::new(false),
            pending_event: Cell::new(None),
            stopped: Cell::new(0),
            is_reaped: Cell::new(false),
            changes: Cell::default(),
            unwatched: Cell::new(None),
            watch,
        };
        drop((program, writer, error_writer));
        watched.wait_for_start()?;
        Ok(watched)
    }

    fn wait_for_start(&mut self) -> Result<(), Errno> {
        loop {
            match self.wait_for_message() {
                Ok((message::CHOSEN, [pid, _])) => self.leader = pid,
                Ok((message::STARTED, [pid, 0])) if pid > 0 => {
                    self.leader = pid;
                    return Ok(());
                }
                Ok((message::STARTED, [_, error])) if error != 0 => {
                    return Err(Errno::from_raw_os_error(error));
                }
                // The command may kill its supervisor at once, or stop it again and again. `CHOSEN`
                // has told the command's process id, so the command can still be ended.
                Err(_) if self.leader > 0 => return Ok(()),
                Ok(_) | Err(_) => return Err(Errno::CHILD),
            }
        }
    }

    /// Returns the descriptor that is readable when [`SupervisedProgram::next_event`] has an event.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Lets the command go on without its caller. The supervisor stays, and discards the output.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    #[doc(hidden)]
    pub fn detach_unrecorded(&self) -> Result<(), Errno> {
        self.detach(Path::new(""), Path::new(""))
    }

    /// Returns the next event; `None` if there is none now. Does not wait.
    pub fn next_event(&self) -> Option<SupervisorEvent> {
        if let Some(event) = self.pending_event.take() {
            return Some(event);
        }
        match self.receive_message(RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => {
                self.wake();
                None
            }
            // These may come late: `STARTED` after the wait for it was given up, `CHOSEN` after
            // `STARTED`.
            Ok((message::STARTED | message::CHOSEN, _)) => None,
            Ok((kind, numbers)) => Some(self.event(kind, numbers).unwrap_or(SupervisorEvent::Lost)),
            Err(_) => Some(SupervisorEvent::Lost),
        }
    }

    fn event(&self, kind: u8, numbers: [i32; 2]) -> Option<SupervisorEvent> {
        let event = match (kind, numbers) {
            (message::ENDED, [status, gone]) => SupervisorEvent::Ended {
                status: ExitStatus::from_raw(status),
                all_gone: gone == 1,
            },
            (message::ALL_GONE, [left, _]) => SupervisorEvent::AllGone {
                left: usize::try_from(left).unwrap_or(0),
            },
            _ => return None,
        };
        if let SupervisorEvent::Ended { all_gone: true, .. } | SupervisorEvent::AllGone { .. } =
            event
        {
            self.is_over.set(true);
        }
        Some(event)
    }

    fn keep(&self, event: SupervisorEvent) {
        let kept = match (self.pending_event.take(), event) {
            (Some(SupervisorEvent::Ended { status, .. }), SupervisorEvent::AllGone { .. }) => {
                SupervisorEvent::Ended {
                    status,
                    all_gone: true,
                }
            }
            (Some(first), _) => first,
            (None, event) => event,
        };
        self.pending_event.set(Some(kept));
    }

    /// Returns how the command ended, if it ended during [`SupervisedProgram::detach`].
    pub fn ended_meanwhile(&self) -> Option<ExitStatus> {
        match self.pending_event.get() {
            Some(SupervisorEvent::Ended { status, .. }) => Some(status),
            _ => None,
        }
    }

    fn wake(&self) {
        let Some(supervisor) = Pid::from_raw(self.supervisor).filter(|_| !self.is_reaped.get())
        else {
            return;
        };
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        match rustix::process::waitpid(Some(supervisor), options) {
            Ok(Some((_, status))) if status.stopped() => {
                self.stopped.set(self.stopped.get().saturating_add(1));
                let _ = rustix::process::kill_process(supervisor, Signal::CONT);
            }
            Ok(None) => {}
            // The supervisor was reaped, so its process id may belong to another process by now.
            Ok(Some(_)) | Err(_) => self.is_reaped.set(true),
        }
    }

    /// Returns true if another process keeps stopping the supervisor, so that it can't answer.
    pub fn is_being_stopped(&self) -> bool {
        self.stopped.get() > MAX_STOPS
    }

    fn wait_for_message(&self) -> Result<(u8, [i32; 2]), Errno> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let pause = Timespec::try_from(STOP_CHECK_INTERVAL).unwrap_or_default();
        while Instant::now() < until {
            let mut ready = [PollFd::new(&self.control, PollFlags::IN)];
            match rustix::event::poll(&mut ready, Some(&pause)) {
                Ok(0) => self.wake(),
                // A signal must not end the wait.
                Err(Errno::INTR) => {}
                Ok(_) => return self.receive_message(RecvFlags::empty()),
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::TIMEDOUT)
    }

    fn receive_message(&self, flags: RecvFlags) -> Result<(u8, [i32; 2]), Errno> {
        let mut buffer = [0_u8; MESSAGE_BYTES];
        loop {
            match raw::receive(&self.control, &mut buffer, flags) {
                Ok(MESSAGE_BYTES) => {
                    let numbers = [number(&buffer[1..]), number(&buffer[5..])];
                    if !self.note_changes(buffer[0], numbers) {
                        return Ok((buffer[0], numbers));
                    }
                }
                Ok(_) => return Err(Errno::PIPE),
                // A signal must not end the wait.
                Err(Errno::INTR) if flags.is_empty() => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn note_changes(&self, kind: u8, numbers: [i32; 2]) -> bool {
        match kind {
            message::CHANGES => {
                let [changed, lost] = numbers.map(|n| u32::try_from(n).unwrap_or(0));
                let before = self.changes.get();
                self.changes.set(ChangeCounts {
                    changed: before.changed.saturating_add(changed),
                    lost: before.lost.saturating_add(lost),
                });
            }
            message::UNWATCHED => self
                .unwatched
                .set(Some(Errno::from_raw_os_error(numbers[0]))),
            _ => return false,
        }
        true
    }

    /// Returns how many paths the command has changed, as far as that is recorded.
    ///
    /// # Errors
    ///
    /// Returns the error because of which no changes are recorded.
    #[doc(hidden)]
    pub fn changes(&self) -> Result<ChangeCounts, Errno> {
        self.unwatched.get().map_or(Ok(self.changes.get()), Err)
    }

    /// Records that the supervisor was killed, so that nobody knows what the command has changed.
    pub(crate) fn lose_changes(&self) {
        if let Some(watch) = self.watch.as_ref().filter(|_| self.changes().is_ok()) {
            self.changes.set(watch.lose());
        }
    }

    /// Asks the supervisor to end the command with all that it started: with SIGTERM, and with
    /// SIGKILL after `grace`. [`SupervisorEvent::AllGone`] follows.
    pub fn end_all(&self, grace: Duration) {
        let millis = i32::try_from(grace.as_millis()).unwrap_or(i32::MAX);
        // If the supervisor is gone, the next event is `Lost`.
        let _ = send(self.control.as_fd(), message::END_ALL, [millis, 0]);
    }

    /// Lets the command go on without its caller: from now on the supervisor appends the output to
    /// `log`, and how processes ended to `record`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or `TIMEDOUT` if the supervisor does not answer; it
    /// then ends the command as soon as it can.
    #[doc(hidden)]
    pub fn detach(&self, record: &Path, log: &Path) -> Result<(), Errno> {
        let mut text = vec![message::DETACH];
        text.extend(record.as_os_str().as_bytes());
        text.push(0);
        text.extend(log.as_os_str().as_bytes());
        raw::send(&self.control, &text)?;
        loop {
            match self.wait_for_message() {
                Ok((message::DETACHED, [0, _])) => return Ok(()),
                Ok((message::DETACHED, [error, _])) => return Err(Errno::from_raw_os_error(error)),
                Err(errno) => {
                    // The supervisor may read `DETACH` later, and would then stay although the
                    // caller keeps no record of the command.
                    self.end_all(GRACE);
                    return Err(errno);
                }
                Ok((kind, numbers)) => {
                    if let Some(event) = self.event(kind, numbers) {
                        self.keep(event);
                    }
                }
            }
        }
    }
}

fn send(socket: BorrowedFd<'_>, kind: u8, numbers: [i32; 2]) -> Result<(), Errno> {
    raw::send(socket, &encode(kind, numbers))
}

fn number(bytes: &[u8]) -> i32 {
    bytes.first_chunk().map_or(0, |b| i32::from_ne_bytes(*b))
}

fn encode(kind: u8, numbers: [i32; 2]) -> [u8; MESSAGE_BYTES] {
    let mut buffer = [kind; MESSAGE_BYTES];
    buffer[1..5].copy_from_slice(&numbers[0].to_ne_bytes());
    buffer[5..].copy_from_slice(&numbers[1].to_ne_bytes());
    buffer
}

/// Returns the message that the command's process sends before `exec`. It tells the caller the
/// process id even if the command's first act is to kill the supervisor.
pub(crate) fn chosen(pid: i32) -> [u8; MESSAGE_BYTES] {
    encode(message::CHOSEN, [pid, 0])
}

struct Supervisor {
    control: Option<OwnedFd>,
    output: Option<OwnedFd>,
    leader: Option<Pid>,
    status: Option<ExitStatus>,
    /// True once the caller has sent `DETACH`. The supervisor then goes on without the caller, and
    /// reads the command's output itself.
    is_detached: bool,
    files: Option<JobFiles>,
    watch: Option<SupervisorWatch>,
}

impl Supervisor {
    fn run(&mut self, program: &mut PreparedProgram<'_>, null: BorrowedFd<'_>) -> i32 {
        // `setsid` fails only for the leader of a process group, which a forked process is not.
        let _ = rustix::process::setsid();
        #[cfg(target_os = "linux")]
        {
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            let _ = rustix::thread::set_name(c"gemini-tools");
        }
        let _ = dup2_stdin(null);
        let _ = dup2_stdout(null);
        let _ = dup2_stderr(null);
        let wanted = [
            libc::SIGCHLD,
            libc::SIGTERM,
            libc::SIGINT,
            libc::SIGHUP,
            libc::SIGQUIT,
        ];
        let signals = match raw::signals_as_descriptor(&wanted) {
            Ok(signals) => signals,
            Err(errno) => return self.refuse(errno),
        };
        let started = program.start();
        let listener = self.watch.as_mut().map(SupervisorWatch::receive);
        let listening = listener
            .as_ref()
            .and_then(|listener| listener.as_ref().ok());
        // The supervisor must not keep the caller's end of the socket, which would hide the
        // caller's death, or the writing end of the pipe, because the output would never end.
        let keep = [
            self.control.as_ref(),
            self.output.as_ref(),
            Some(&signals),
            listening,
        ];
        let mut keep: Vec<_> = keep.into_iter().flatten().map(AsRawFd::as_raw_fd).collect();
        keep.sort_unstable();
        raw::close_others(&keep);
        match started {
            Ok(pid) => self.leader = Pid::from_raw(pid),
            Err(errno) => return self.refuse(errno),
        }
        // The supervisor may run for long and must not keep a directory in use.
        let _ = rustix::process::chdir("/");
        self.report(message::STARTED, [self.session(), 0]);
        if let Some(listener) = listener {
            self.watch_changes(listener);
        }
        loop {
            if let Some(status) = self.wait(&signals) {
                return status;
            }
        }
    }

    fn watch_changes(&mut self, listener: Result<OwnedFd, Errno>) {
        let watch = self.watch.as_ref();
        let begun = listener.and_then(|listener| watch.map_or(Ok(()), |w| w.begin(listener)));
        // The command runs on, and `UNWATCHED` tells the caller that its changes can't be undone.
        if let Err(errno) = begun {
            self.watch = None;
            self.report(message::UNWATCHED, [errno.raw_os_error(), 0]);
        }
    }

    fn record_changes(&self, is_last: bool) {
        if let Some(watch) = &self.watch {
            let ChangeCounts { changed, lost } = watch.record(is_last);
            let counts = [changed, lost].map(|n| i32::try_from(n).unwrap_or(i32::MAX));
            self.report(message::CHANGES, counts);
        }
    }

    fn session(&self) -> i32 {
        self.leader.map_or(0, Pid::as_raw_pid)
    }

    fn refuse(&self, errno: Errno) -> i32 {
        self.report(message::STARTED, [0, errno.raw_os_error()]);
        1
    }

    fn report(&self, kind: u8, numbers: [i32; 2]) {
        if let Some(control) = &self.control {
            // If the caller is gone, that is noticed when the socket is read.
            let _ = send(control.as_fd(), kind, numbers);
        }
    }

    fn wait(&mut self, signals: &OwnedFd) -> Option<i32> {
        let output = self.output.as_ref().filter(|_| self.is_detached);
        let fds = [Some(signals), self.control.as_ref(), output];
        let fds = fds.into_iter().flatten();
        let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // If a signal or the time limit ends the wait, that does no harm: all sources are checked
        // below.
        let _ = rustix::event::poll(&mut fds, tree::LOOK_FOR_ORPHANS.as_ref());
        if self.drain(1) {
            self.output = None;
        }
        while let Some(signal) = raw::next_signal(signals) {
            if signal != libc::SIGCHLD {
                return Some(self.end_all(GRACE));
            }
        }
        self.reap().or_else(|| self.listen())
    }

    fn reap(&mut self) -> Option<i32> {
        let before = self.status;
        let all_gone = tree::reap(|pid, status| self.note(pid, status))
            && tree::orphans(self.session()).is_empty();
        match (before, self.status) {
            (None, Some(status)) => {
                self.record_changes(all_gone);
                self.report(message::ENDED, [status.into_raw(), i32::from(all_gone)]);
            }
            _ if all_gone => {
                self.record_changes(true);
                self.report(message::ALL_GONE, [0, 0]);
            }
            _ => {}
        }
        all_gone.then(|| self.leave())
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        let status = ExitStatus::from_raw(status.as_raw());
        if Some(pid) == self.leader {
            self.status = Some(status);
        }
        self.record(pid, status);
    }

    fn record(&mut self, pid: Pid, status: ExitStatus) {
        if let Some(files) = &mut self.files {
            files.record_end(pid.as_raw_pid(), status);
        }
    }

    fn leave(&mut self) -> i32 {
        self.drain(usize::MAX);
        0
    }

    fn end_all(&mut self, grace: Duration) -> i32 {
        let session = self.session();
        let left = tree::end_children(session, grace, |pid, status| self.note(pid, status));
        self.record_changes(true);
        let left = i32::try_from(left.len()).unwrap_or(i32::MAX);
        self.report(message::ALL_GONE, [left, 0]);
        self.leave()
    }

    fn drain(&mut self, pieces: usize) -> bool {
        let Some(output) = self.output.as_ref().filter(|_| self.is_detached) else {
            return false;
        };
        let mut buffer = vec![0; CHUNK_BYTES];
        for _ in 0..pieces {
            if !is_readable(output, Duration::ZERO) {
                return false;
            }
            match rustix::io::read(output, &mut buffer) {
                Ok(0) => return true,
                // Output that can't be stored is lost, but the process that prints it goes on.
                Ok(n) => {
                    if let Some(files) = &mut self.files {
                        files.append_output(&buffer[..n]);
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return true,
            }
        }
        false
    }

    fn listen(&mut self) -> Option<i32> {
        let control = self.control.as_ref()?;
        let mut buffer = vec![0; MAX_MESSAGE_BYTES];
        let length = match raw::receive(control, &mut buffer, RecvFlags::DONTWAIT) {
            Ok(n) => n,
            Err(Errno::INTR | Errno::AGAIN) => return None,
            Err(_) => 0,
        };
        match buffer[..length].split_first() {
            // An empty message means that the caller is gone.
            None if self.is_detached => {
                self.control = None;
                None
            }
            None => Some(self.end_all(GRACE)),
            Some((&message::END_ALL, numbers)) => {
                let millis = u64::try_from(number(numbers)).unwrap_or(0);
                Some(self.end_all(Duration::from_millis(millis)))
            }
            Some((&message::DETACH, paths)) => {
                let mut paths = paths.split(|b| *b == 0).map(OsStr::from_bytes);
                let mut next = || Path::new(paths.next().unwrap_or_default());
                let answer = match self.stay(next(), next()) {
                    Ok(()) => 0,
                    Err(e) => Errno::from_io_error(&e).unwrap_or(Errno::IO).raw_os_error(),
                };
                self.report(message::DETACHED, [answer, 0]);
                None
            }
            Some(_) => None,
        }
    }

    fn stay(&mut self, record: &Path, log: &Path) -> io::Result<()> {
        if !record.as_os_str().is_empty() {
            self.files = Some(JobFiles::open(record, log)?);
        }
        self.is_detached = true;
        // The command may have ended before `DETACH` came, so its end is recorded now.
        if let (Some(leader), Some(status)) = (self.leader, self.status) {
            self.record(leader, status);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{SupervisedProgram, message, send};
    use crate::raw;
    use crate::supervisor::SupervisorEvent;
    use rustix::fd::{AsFd, OwnedFd};
    use rustix::io::Errno;
    use rustix::net::RecvFlags;
    use std::cell::Cell;

    fn unstarted() -> (SupervisedProgram, OwnedFd) {
        let (control, theirs) = raw::socket_pair().expect("sockets");
        let (output, _) = raw::pipe().expect("a pipe");
        let watched = SupervisedProgram {
            control,
            output,
            errors: None,
            supervisor: 0,
            leader: 0,
            is_over: Cell::new(true),
            pending_event: Cell::new(None),
            stopped: Cell::new(0),
            is_reaped: Cell::new(true),
            changes: Cell::default(),
            unwatched: Cell::new(None),
            watch: None,
        };
        (watched, theirs)
    }

    fn say(theirs: &OwnedFd, kind: u8, numbers: [i32; 2]) {
        send(theirs.as_fd(), kind, numbers).expect("said");
    }

    #[test]
    fn a_command_that_speaks_after_its_supervisor_is_known_and_not_lost() {
        let (mut watched, theirs) = unstarted();
        say(&theirs, message::STARTED, [7, 0]);
        say(&theirs, message::CHOSEN, [7, 0]);
        say(&theirs, message::ENDED, [3, 1]);
        watched.wait_for_start().expect("started");
        assert_eq!(watched.leader, 7);
        assert!(watched.next_event().is_none());
        let ended = watched.next_event();
        assert!(
            matches!(ended, Some(SupervisorEvent::Ended { .. })),
            "{ended:?}"
        );
    }

    #[test]
    fn a_command_whose_supervisor_does_not_say_that_it_stays_is_ended() {
        let (watched, theirs) = unstarted();
        rustix::net::shutdown(&theirs, rustix::net::Shutdown::Write).expect("shut down");
        assert!(watched.detach_unrecorded().is_err());
        let mut kinds = Vec::new();
        let mut buffer = [0; 64];
        while let Ok(1..) = raw::receive(&theirs, &mut buffer, RecvFlags::DONTWAIT) {
            kinds.push(buffer[0]);
        }
        assert_eq!(kinds, [message::DETACH, message::END_ALL]);
    }

    #[test]
    fn a_start_without_a_process_is_an_error() {
        let (mut watched, theirs) = unstarted();
        say(&theirs, message::STARTED, [0, 0]);
        assert_eq!(watched.wait_for_start(), Err(Errno::CHILD));
        let (mut watched, theirs) = unstarted();
        say(&theirs, message::STARTED, [0, Errno::NOENT.raw_os_error()]);
        assert_eq!(watched.wait_for_start(), Err(Errno::NOENT));
    }
}
