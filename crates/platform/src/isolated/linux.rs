//! Linux: the signal at a parent's death, and a limit of memory.

use super::STACK_BYTES;
use rustix::process::{Pid, Resource, Rlimit, Signal};

/// How much address space an allocator may set aside without using it: glibc's takes some
/// 64 MiB at a time, and looks for them among 128.
const RESERVED_BYTES: u64 = 256 * 1024 * 1024;

/// Has this process end with its parent, and when it wants more memory than it has now and
/// `memory_bytes`.
pub(super) fn confine(_parent: Pid, memory_bytes: u64) {
    // The process that waits for the result must see its end.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let room = memory_bytes + STACK_BYTES as u64;
    let Some([all, data]) = sizes() else {
        return;
    };
    // Only what can be written counts. The allocator reserves far more of the address space for
    // each thread, and how much of it at once depends on where the kernel happens to place it.
    limit(Resource::Data, data + room);
    // Before 4.7, Linux counted almost nothing as data.
    limit(Resource::As, all + room + RESERVED_BYTES);
}

fn limit(resource: Resource, bytes: u64) {
    let own = Rlimit {
        current: Some(bytes),
        maximum: super::fork::limit_maximum(resource),
    };
    let _ = rustix::process::setrlimit(resource, own);
}

/// How much address space this process has, and how much of it can be written, in bytes.
fn sizes() -> Option<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().map(str::parse::<u64>);
    let page = rustix::param::page_size() as u64;
    let all = pages.next()?.ok()?;
    let data = pages.nth(4)?.ok()?;
    Some([all * page, data * page])
}
