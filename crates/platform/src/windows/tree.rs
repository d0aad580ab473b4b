//! Which processes there are below a process, and ending them.

use super::fd::{FromRaw, OwnedFd};
use super::process::{Signal, is_running, open};
use crate::identity::Identity;
use std::os::windows::io::AsRawHandle;
use std::time::{Duration, Instant};
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{GetProcessTimes, PROCESS_TERMINATE, TerminateProcess};

/// How often it is looked whether processes have ended.
const PAUSE: Duration = Duration::from_millis(4);

/// After this, processes that can't be ended are given up.
const GIVE_UP: Duration = Duration::from_secs(10);

impl Identity {
    /// The process of this id, if one is alive.
    pub fn of(pid: i32) -> Option<Self> {
        let process = open(u32::try_from(pid).ok()?, 0).ok()?;
        is_running(&process).then_some(())?;
        let start_time = start_time(&process)?;
        Some(Self { pid, start_time })
    }

    /// Ends the process, if it still is the one that is meant. Windows has no other signals.
    pub fn signal(self, signal: Signal) {
        let Ok(pid) = u32::try_from(self.pid) else {
            return;
        };
        let Ok(process) = open(pid, PROCESS_TERMINATE) else {
            return;
        };
        if signal.ends() && start_time(&process) == Some(self.start_time) {
            terminate(&process);
        }
    }
}

fn terminate(process: &OwnedFd) {
    // SAFETY: the handle is open. It may have ended in between, which is as good.
    unsafe { TerminateProcess(process.as_raw_handle(), 1) };
}

fn start_time(process: &OwnedFd) -> Option<u64> {
    let mut times = [FILETIME::default(); 4];
    let [created, exited, kernel, user] = times.each_mut().map(std::ptr::from_mut);
    // SAFETY: the handle is open, and the four structures are ours.
    let done = unsafe { GetProcessTimes(process.as_raw_handle(), created, exited, kernel, user) };
    let joined = u64::from(times[0].dwHighDateTime) << 32 | u64::from(times[0].dwLowDateTime);
    (done != 0).then_some(joined)
}

/// The moments of start count from no boot of the machine, so that there is only one.
pub fn boot_id() -> String {
    "windows".to_owned()
}

/// Every process's id and its parent's.
fn all() -> Vec<(i32, i32)> {
    // SAFETY: takes numbers.
    let taken = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    // SAFETY: the handle was just made.
    let Ok(processes) = (unsafe { OwnedFd::from_raw(taken) }) else {
        return Vec::new();
    };
    let mut entry = PROCESSENTRY32W {
        dwSize: size_of::<PROCESSENTRY32W>() as u32,
        ..PROCESSENTRY32W::default()
    };
    let mut found = Vec::new();
    // SAFETY: the structure says its size.
    let mut more = unsafe { Process32FirstW(processes.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        found.push((entry.th32ProcessID as i32, entry.th32ParentProcessID as i32));
        // SAFETY: as above.
        more = unsafe { Process32NextW(processes.as_raw_handle(), &raw mut entry) };
    }
    found
}

/// The id of the parent that a process was started by, which may have ended.
pub(super) fn parent(pid: i32) -> Option<i32> {
    let (_, parent) = all().into_iter().find(|(found, _)| *found == pid)?;
    Some(parent)
}

/// All living processes below `root`, parents before their children.
pub fn descendants(root: i32) -> Vec<Identity> {
    let all = all();
    let mut found: Vec<Identity> = Vec::new();
    let mut parents: Vec<_> = Identity::of(root).into_iter().collect();
    while let Some(parent) = parents.pop() {
        for (pid, _) in all.iter().filter(|(_, above)| *above == parent.pid) {
            // A child is younger; otherwise its parent's id was used again.
            let child = Identity::of(*pid).filter(|c| c.start_time >= parent.start_time);
            if let Some(child) = child.filter(|c| c.pid != parent.pid && !found.contains(c)) {
                found.push(child);
                parents.push(child);
            }
        }
    }
    found.sort_by_key(|i| (i.start_time, i.pid));
    found
}

/// There are no sessions of this kind.
pub fn of_session(_session: i32) -> Vec<Identity> {
    Vec::new()
}

/// The command and all living processes below it.
pub fn watched(_supervisor: i32, leader: i32) -> Vec<Identity> {
    let mut found: Vec<_> = Identity::of(leader).into_iter().collect();
    found.extend(descendants(leader));
    found
}

/// Ends `first` and everything below it. Gives back the processes that could not be ended.
pub fn end(first: &[Identity], _grace: Duration) -> Vec<Identity> {
    let mut known = first.to_vec();
    let started = Instant::now();
    loop {
        for i in 0..known.len() {
            for found in descendants(known[i].pid) {
                if known[i].is_alive() && !known.contains(&found) {
                    known.push(found);
                }
            }
        }
        known.retain(|process| process.is_alive());
        if known.is_empty() || started.elapsed() > GIVE_UP {
            return known;
        }
        for process in &known {
            process.signal(Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, descendants, end};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_tree_is_found_and_ended() {
        let mut shell = Command::new("cmd")
            .args(["/d", "/c", "ping -n 60 127.0.0.1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("cmd");
        let first = Identity::of(i32::try_from(shell.id()).expect("an id")).expect("alive");
        while descendants(first.pid).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let tree = descendants(first.pid);
        assert!(end(&[first], Duration::ZERO).is_empty());
        assert!(tree.iter().chain([&first]).all(|p| !p.is_alive()));
        shell.wait().expect("a child of ours");
    }
}
