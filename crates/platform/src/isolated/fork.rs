//! Unix: a forked process with limits.

#[cfg(target_os = "linux")]
use super::linux::confine;
#[cfg(target_os = "macos")]
use super::macos::confine;

use super::{GoOn, IsolationError, ResourceLimits, STACK_BYTES, TICK};
use crate::calls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Does `work` in a process of its own.
pub(super) fn run<E>(
    bounds: ResourceLimits,
    go_on: &GoOn<'_, E>,
    work: impl FnOnce() -> Vec<u8> + Send,
) -> Result<Vec<u8>, IsolationError<E>> {
    let (reader, writer) = calls::pipe().map_err(not_started)?;
    let parent = rustix::process::getpid();
    let pid = calls::fork(|| {
        if !settle(parent, bounds.memory_bytes) {
            return 1;
        }
        child(work, writer)
    });
    let pid = Pid::from_raw(pid.map_err(not_started)?).ok_or(IsolationError::Died)?;
    let outcome = collect(reader, bounds, go_on);
    if outcome.is_err() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    let status =
        rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(pid), WaitOptions::empty()));
    let has_succeeded = matches!(status, Ok(Some((_, status))) if status.exit_status() == Some(0));
    match outcome {
        Ok(_) if !has_succeeded => Err(IsolationError::Died),
        other => other,
    }
}

pub(super) fn not_started<E>(_: rustix::io::Errno) -> IsolationError<E> {
    IsolationError::NotStarted
}

pub(super) fn limit_maximum(resource: Resource) -> Option<u64> {
    rustix::process::getrlimit(resource).maximum
}

/// Sets a child's limits. Whether it can begin.
pub(super) fn settle(parent: Pid, memory_bytes: u64) -> bool {
    confine(parent, memory_bytes);
    if rustix::process::getppid() != Some(parent) {
        return false;
    }
    let none = Rlimit {
        current: Some(0),
        maximum: limit_maximum(Resource::Core),
    };
    let _ = rustix::process::setrlimit(Resource::Core, none);
    // The standard library says on standard error that memory has run out, and a host takes one
    // byte there for a failure of the call.
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let null = rustix::fs::open("/dev/null", flags, Mode::empty());
    null.is_ok_and(|null| rustix::stdio::dup2_stderr(null).is_ok())
}

/// The child's part: the exit status.
fn child(work: impl FnOnce() -> Vec<u8> + Send, writer: OwnedFd) -> i32 {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || catch_unwind(AssertUnwindSafe(work)));
        let Ok(Ok(Ok(result))) = thread.map(std::thread::ScopedJoinHandle::join) else {
            return 1;
        };
        match File::from(writer).write_all(&result) {
            Ok(()) => 0,
            Err(_) => 1,
        }
    })
}

fn collect<E>(
    reader: OwnedFd,
    bounds: ResourceLimits,
    go_on: &GoOn<'_, E>,
) -> Result<Vec<u8>, IsolationError<E>> {
    let until = Instant::now() + bounds.time;
    let mut file = File::from(reader);
    let mut result = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        go_on().map_err(IsolationError::Interrupted)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(IsolationError::TooSlow);
        }
        let tick = Timespec::try_from(left.min(TICK)).ok();
        let mut fds = [PollFd::new(&file, PollFlags::IN)];
        match poll(&mut fds, tick.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(not_started(e)),
        }
        match file.read(&mut piece) {
            Ok(0) => return Ok(result),
            Ok(n) => result.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(IsolationError::NotStarted),
        }
        if result.len() as u64 > bounds.result_bytes {
            return Err(IsolationError::Died);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IsolationError, ResourceLimits, run};
    use std::convert::Infallible;
    use std::time::Duration;

    const BOUNDS: ResourceLimits = ResourceLimits {
        memory_bytes: 64 * 1024 * 1024,
        time: Duration::from_secs(20),
        result_bytes: 1024 * 1024,
    };

    fn deeper(n: u64) -> u64 {
        let array = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { array[7] + deeper(n - 1) }
    }

    #[test]
    fn work_gives_its_result_or_dies_alone() {
        let go_on = || Ok::<(), Infallible>(());
        let result = run(BOUNDS, &go_on, || b"done".to_vec()).expect("a result");
        assert_eq!(result, b"done");
        let died =
            |work: fn() -> Vec<u8>| matches!(run(BOUNDS, &go_on, work), Err(IsolationError::Died));
        assert!(died(|| vec![1; 512 * 1024 * 1024]), "memory has a limit");
        assert!(
            died(|| vec![deeper(u64::MAX) as u8]),
            "the stack has a limit"
        );
        assert!(died(|| vec![0; 2 * 1024 * 1024]), "the result has a limit");
    }

    #[test]
    fn work_ends_with_its_time_and_with_the_call() {
        let forever = || loop {
            std::thread::sleep(Duration::from_millis(5));
        };
        let short = ResourceLimits {
            time: Duration::from_millis(100),
            ..BOUNDS
        };
        let slow = run(short, &|| Ok::<(), Infallible>(()), forever);
        assert!(matches!(slow, Err(IsolationError::TooSlow)));
        let ended = run(BOUNDS, &|| Err("given up"), forever);
        assert!(matches!(
            ended,
            Err(IsolationError::Interrupted("given up"))
        ));
    }
}
