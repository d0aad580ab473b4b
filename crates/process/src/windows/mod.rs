//! Windows: a job object holds a command and all that it starts. Nothing in it outlives its last
//! handle, which is the call's, so that even a call that is killed leaves nothing behind.
//!
//! What is weaker here: no process is asked to end politely first, and nothing can stay in the
//! background, because there is no process that would keep its output.

#![expect(
    unsafe_code,
    reason = "the system's functions take pointers; no maintained crate offers these safely"
)]

mod job;
pub(super) mod start;
pub mod supervisor;
pub mod tree;

use super::identity::Identity;
use gemini_tools_platform::fd::OwnedFd;

/// The parent process, which can be waited for.
pub(super) fn parent() -> Option<OwnedFd> {
    let own = Identity::of(i32::try_from(std::process::id()).ok()?)?;
    let parent = tree::parent(own.pid)?;
    // A process that began after us has only taken over the id.
    let is_older = Identity::of(parent).is_some_and(|p| p.start_time <= own.start_time);
    let opened = gemini_tools_platform::process::open(u32::try_from(parent).ok()?, 0).ok();
    opened.filter(|_| is_older)
}
