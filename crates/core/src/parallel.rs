//! Decides which calls of a message run at the same time: consecutive calls that only read. All
//! others run alone, in their order.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// The most calls that are made at the same time.
pub const MAX_PARALLEL_CALLS: usize = 8;

/// Splits the calls of a message into groups, in their order. Calls of a group may run at the same
/// time, but only after the previous group has ended.
pub fn groups<T>(calls: &[T], only_reads: impl Fn(&T) -> bool) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (at, call) in calls.iter().enumerate() {
        let reads = only_reads(call);
        match groups.last_mut() {
            Some(group) if is_open && reads => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
        is_open = reads;
    }
    groups
}

/// Runs `act` on each item of a group, at most [`MAX_PARALLEL_CALLS`] at the same time: on this
/// thread and on further ones, or fewer where no more can be started.
pub fn each<T: Send>(group: Vec<T>, act: impl Fn(T) + Sync) {
    let workers = group.len().min(MAX_PARALLEL_CALLS);
    let queue = Mutex::new(group.into_iter());
    let work = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(one) = next() {
            act(one);
        }
    };
    std::thread::scope(|scope| {
        let start = |_: &_| Builder::new().spawn_scoped(scope, work).is_ok();
        let _ = (1..workers).take_while(start).count();
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::{each, groups};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_may_change_something_stands_alone() {
        let of = |text: &str| groups(text.as_bytes(), |call| *call == b'r');
        assert!(of("").is_empty());
        assert_eq!(of("rrw"), [0..2, 2..3]);
        assert_eq!(of("rrwwr"), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(of("wrr"), [0..1, 1..3]);
    }

    #[test]
    fn each_is_done_once() {
        for count in [0, 1, 2, 100] {
            let sum = AtomicUsize::new(0);
            each((1..=count).collect(), |n| {
                sum.fetch_add(n, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), count * (count + 1) / 2);
        }
    }
}
