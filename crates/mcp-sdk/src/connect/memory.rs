//! Limits the resources of this process, so that a hostile web page or source file can crash this
//! helper and nothing else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Once;

/// The memory, in bytes, that all web tasks and parsers together may use in addition to what the
/// process has when the first one begins. The reserved stack of a parser's thread counts in full.
const MAX_BYTES: u64 = 384 * 1024 * 1024;

pub(crate) fn limit_once() {
    static LIMITED: Once = Once::new();
    LIMITED.call_once(limit);
}

pub(crate) fn open_nothing_more() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Every process may lower its limits, so this can't fail.
    let _ = setrlimit(Resource::Nofile, none);
}

/// Limits writable memory rather than address space, of which allocators reserve far more than they
/// use. Has no effect where there is no `/proc`, as on macOS.
fn limit() {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = sizes.and_then(|text| text.split_whitespace().nth(5)?.parse::<u64>().ok());
    let Some(pages) = pages else { return };
    let bytes = pages * rustix::param::page_size() as u64 + MAX_BYTES;
    let Rlimit { current, maximum } = getrlimit(Resource::Data);
    // If the user has set a lower limit, that one is kept.
    let current = Some(current.map_or(bytes, |before| before.min(bytes)));
    // This can't fail, because the new soft limit is not above the old one.
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum });
}
