//! Finds all descendants of a process, and ends them.
//!
//! It asks the kernel, since `ps` and `pkill` may be missing.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub use system::boot_id;
pub(crate) use system::{LOOK_FOR_ORPHANS, orphans};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(4);

/// How long to try to kill processes before they count as impossible to end. Processes of another
/// user, and those that hang in the kernel, can't be killed.
const GIVE_UP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
struct Stat {
    identity: Identity,
    parent: i32,
    session: i32,
    is_zombie: bool,
}

/// A process, with what tells it from a later process of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The process id.
    pub pid: i32,
    /// When the process started: on Linux in clock ticks since the machine started, on macOS in
    /// microseconds since 1970.
    pub start_time: u64,
}

impl Identity {
    /// Returns true if the process is still alive.
    pub fn is_alive(self) -> bool {
        Self::find(self.pid) == Some(self)
    }

    /// Returns the process of this id, if one is alive.
    pub fn find(pid: i32) -> Option<Self> {
        system::stat(pid)
            .filter(|s| !s.is_zombie)
            .map(|s| s.identity)
    }

    /// Sends a signal if the process is alive. On Linux, no later process with the same id gets it.
    #[doc(hidden)]
    pub fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            system::signal(self, pid, signal);
        }
    }
}

/// Returns all living descendants of `root`, parents before their children.
pub fn descendants(root: i32) -> Vec<Identity> {
    below(root, &system::all())
}

/// Returns the living processes of a session, the oldest first. There are none for session 0, which
/// is that of the kernel's own processes and of those that a container can't see.
pub fn of_session(session: i32) -> Vec<Identity> {
    if session <= 0 {
        return Vec::new();
    }
    let mut found: Vec<_> = system::all()
        .into_iter()
        .filter(|s| s.session == session && !s.is_zombie)
        .map(|s| s.identity)
        .collect();
    found.sort_by_key(|i| i.start_time);
    found
}

fn below(root: i32, all: &[Stat]) -> Vec<Identity> {
    let mut found = Vec::new();
    // The parent of the system's first process is 0, so every process is below 0.
    if root <= 0 {
        return found;
    }
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|s| s.parent == parent) {
            parents.push(stat.identity.pid);
            if !stat.is_zombie {
                found.push(stat.identity);
            }
        }
    }
    found.sort_by_key(|i| (i.start_time, i.pid));
    found
}

/// Ends the processes in `first` and all their descendants: with SIGTERM, and with SIGKILL after
/// `grace`. Returns the processes that could not be ended. It is meant for processes that are not
/// children of the caller, and does not reap them. The first process of the system and the caller
/// itself are never ended.
pub fn end(first: &[Identity], grace: Duration) -> Vec<Identity> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut known = Vec::new();
    let mut living = || {
        let all = system::all();
        for root in endable(first, me) {
            if !known.contains(root) {
                known.push(*root);
            }
        }
        // Known processes are kept: one whose parent has ended is no longer below `first`.
        for i in 0..known.len() {
            for found in below(known[i].pid, &all) {
                if known[i].is_alive() && !known.contains(&found) {
                    known.push(found);
                }
            }
        }
        let mut living = known.clone();
        living.retain(|i| all.iter().any(|s| s.identity == *i && !s.is_zombie));
        living
    };
    for process in living() {
        process.signal(Signal::TERM);
        process.signal(Signal::CONT);
    }
    let started = Instant::now();
    while started.elapsed() < grace && !living().is_empty() {
        std::thread::sleep(PAUSE);
    }
    while started.elapsed() < grace + GIVE_UP {
        let now = living();
        if now.is_empty() {
            return now;
        }
        freeze_and_kill(now, &mut living);
        std::thread::sleep(PAUSE);
    }
    living()
}

fn endable(first: &[Identity], me: i32) -> impl Iterator<Item = &Identity> {
    first.iter().filter(move |i| i.pid > 1 && i.pid != me)
}

/// Returns all living processes that a supervisor watches over: its descendants and the orphans of
/// the command's session.
pub fn watched(supervisor: i32, session: i32) -> Vec<Identity> {
    let mut found = descendants(supervisor);
    for orphan in orphans(session) {
        if !found.contains(&orphan) {
            found.push(orphan);
        }
    }
    found
}

/// Ends all children of the calling process and the orphans of `session`: with SIGTERM, and with
/// SIGKILL after `grace`. On Linux the caller must be a child subreaper, so that every descendant
/// becomes its child. `reaped` is called for each child that has ended. Returns the processes that
/// could not be ended.
pub(super) fn end_children(
    session: i32,
    grace: Duration,
    mut reaped: impl FnMut(Pid, WaitStatus),
) -> Vec<Identity> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut is_over = || reap(&mut reaped) && orphans(session).is_empty();
    if is_over() {
        return Vec::new();
    }
    for process in watched(me, session) {
        process.signal(Signal::TERM);
        process.signal(Signal::CONT);
    }
    let started = Instant::now();
    while started.elapsed() < grace {
        if is_over() {
            return Vec::new();
        }
        std::thread::sleep(PAUSE);
    }
    while started.elapsed() < grace + GIVE_UP {
        freeze_and_kill(watched(me, session), || watched(me, session));
        // Killed processes can soon be reaped. Those left after this loop are looked for again.
        for _ in 0..8 {
            if is_over() {
                return Vec::new();
            }
            std::thread::sleep(PAUSE / 4);
        }
    }
    watched(me, session)
}

/// Stops processes until no new ones appear, then kills all of them. Otherwise one could fork while
/// the others are being killed.
fn freeze_and_kill(first: Vec<Identity>, mut find: impl FnMut() -> Vec<Identity>) {
    let mut frozen: Vec<Identity> = Vec::new();
    let mut found = first;
    for _ in 0..64 {
        let new: Vec<_> = found
            .iter()
            .filter(|p| !frozen.contains(p))
            .copied()
            .collect();
        if new.is_empty() {
            break;
        }
        for process in &new {
            process.signal(Signal::STOP);
        }
        frozen.extend(new);
        found = find();
    }
    for process in frozen {
        process.signal(Signal::KILL);
    }
}

pub(super) fn reap(mut reaped: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG)) {
            Ok(Some((pid, status))) => reaped(pid, status),
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, boot_id, descendants, end, endable, of_session};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn no_process_is_found_below_an_id_that_is_not_a_process() {
        for id in [0, -1] {
            assert_eq!(descendants(id), []);
            assert_eq!(of_session(id), []);
        }
    }

    #[test]
    fn neither_the_first_process_nor_the_caller_is_ended() {
        // This tests only which processes are chosen: if `end` were called and chose wrongly, it
        // would end other programs.
        let process = |pid| Identity { pid, start_time: 1 };
        let first = [-1, 0, 1, 7, 8].map(process);
        let chosen: Vec<_> = endable(&first, 7).map(|i| i.pid).collect();
        assert_eq!(chosen, [8]);
    }

    #[test]
    fn a_tree_is_found_and_ended_with_those_that_ignore_signals() {
        let mut shell = Command::new("bash")
            .args([
                "-c",
                "trap '' TERM; (trap '' TERM; exec sleep 60) & sleep 60 & wait; wait",
            ])
            .stdin(Stdio::null())
            .spawn()
            .expect("bash");
        let pid = i32::try_from(shell.id()).expect("a process id");
        let first = Identity::find(pid).expect("alive");
        while descendants(pid).len() < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let tree = descendants(pid);
        // The shell is a zombie until this test reaps it: a zombie does not count as alive.
        assert!(end(&[first], Duration::from_millis(50)).is_empty());
        assert!(tree.iter().chain([&first]).all(|p| !p.is_alive()));
        shell.wait().expect("a child of ours");
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let me = Identity::find(i32::try_from(std::process::id()).expect("an id")).expect("alive");
        assert!(me.is_alive());
        let other = Identity {
            start_time: me.start_time + 1,
            ..me
        };
        assert!(!other.is_alive());
        assert!(!boot_id().is_empty());
        assert!(of_session(i32::MAX).is_empty());
    }
}
