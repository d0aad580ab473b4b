//! Limits of this process, so that a hostile page or source file ends it and nothing else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Once;

/// Memory for all tasks of the web that run at once, besides what the process has when the first
/// one begins, in bytes. The stack of the thread that takes a page apart counts as a whole.
const MAX_BYTES: u64 = 384 * 1024 * 1024;

/// Limits the memory of this process when it is called for the first time.
pub(crate) fn limit_once() {
    static LIMITED: Once = Once::new();
    LIMITED.call_once(limit);
}

/// Keeps this process from opening files and connections besides those that it has.
pub(crate) fn open_nothing_more() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Lowering a limit is refused to nobody.
    let _ = setrlimit(Resource::Nofile, none);
}

/// Limits memory that can be written: allocators reserve far more of the address space. Does
/// nothing where the kernel does not tell how much there is, as on macOS.
fn limit() {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = sizes.and_then(|text| text.split_whitespace().nth(5)?.parse::<u64>().ok());
    let Some(pages) = pages else { return };
    let bytes = pages * rustix::param::page_size() as u64 + MAX_BYTES;
    let maximum = getrlimit(Resource::Data).maximum;
    let current = Some(maximum.map_or(bytes, |most| most.min(bytes)));
    // Where this fails there is a lower limit already.
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum });
}
