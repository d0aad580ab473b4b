//! macOS: a thread that watches over its own process. The kernel neither ends a process with its
//! parent nor enforces a limit of memory, so that between two looks more may be taken.

use crate::calls;
use rustix::process::Pid;
use std::time::Duration;

/// How often the thread looks.
const LOOK: Duration = Duration::from_millis(5);

/// Has this process end with its parent, and soon after it has used more memory than now and
/// `memory_bytes`.
pub(super) fn confine(parent: Pid, memory_bytes: u64) {
    let most = calls::peak_memory_bytes().saturating_add(memory_bytes);
    let watching = std::thread::Builder::new().spawn(move || {
        loop {
            if rustix::process::getppid() != Some(parent) || calls::peak_memory_bytes() > most {
                calls::exit(1);
            }
            std::thread::sleep(LOOK);
        }
    });
    if watching.is_err() {
        // Nothing is done without limits.
        calls::exit(1);
    }
}
