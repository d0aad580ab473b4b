//! Linux: the signal at a parent's death, and a limit of the address space.

use super::STACK_BYTES;
use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Has this process end with its parent, and when it wants more memory than it has now and
/// `memory_bytes`.
pub(super) fn confine(_parent: Pid, memory_bytes: u64) {
    // Whoever waits for the result must see its end.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if let Some(size) = address_space() {
        let own = Rlimit {
            current: Some(size + memory_bytes + STACK_BYTES as u64),
            maximum: super::fork::limit_maximum(Resource::As),
        };
        let _ = rustix::process::setrlimit(Resource::As, own);
    }
}

/// How much address space this process has, in bytes.
fn address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').next()?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
