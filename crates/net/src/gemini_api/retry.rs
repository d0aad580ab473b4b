//! Decides whether and when a failed request is sent again.

use super::id::random;
use std::time::{Duration, SystemTime};

const ATTEMPTS: u32 = 5;

pub(super) const FIRST_WAIT: Duration = Duration::from_millis(500);

const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns how long to wait after the attempt number `failed`, or `None` to give up. The wait
/// doubles with each attempt, and is shortened at random by up to half, so that clients that failed
/// together don't retry together. If the server has asked for a longer wait (`asked`), the wait is
/// that, or `None` if it exceeds [`LONGEST_WAIT`].
pub(super) fn wait(first_wait: Duration, failed: u32, asked: Option<Duration>) -> Option<Duration> {
    if failed >= ATTEMPTS {
        return None;
    }
    let grown = first_wait.saturating_mul(1 << (failed - 1));
    let grown = grown.min(LONGEST_WAIT).mul_f64(0.5 + chance() / 2.0);
    match asked {
        Some(asked) if asked > LONGEST_WAIT => None,
        // A little longer than asked for, because clocks differ.
        Some(asked) => Some(grown.max(asked + first_wait.mul_f64(chance() / 4.0))),
        None => Some(grown),
    }
}

fn chance() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(secs) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(secs).ok();
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

pub(super) fn json_duration(text: &str) -> Option<Duration> {
    let secs = text.strip_suffix('s')?.parse::<f64>().ok()?;
    Duration::try_from_secs_f64(secs).ok()
}

#[cfg(test)]
mod tests {
    use super::{FIRST_WAIT, json_duration, retry_after, wait};
    use std::time::{Duration, SystemTime};

    #[test]
    fn waits_grow_and_end() {
        for asked in [None, Some(Duration::ZERO)] {
            for (failed, least, most) in [(1, 250, 500), (2, 500, 1000), (4, 2000, 4000)] {
                let wait = wait(FIRST_WAIT, failed, asked).expect("one more");
                let range = Duration::from_millis(least)..=Duration::from_millis(most);
                assert!(range.contains(&wait), "{failed}: {wait:?}");
            }
        }
        assert_eq!(wait(FIRST_WAIT, 5, None), None);
        let asked = |secs| wait(FIRST_WAIT, 1, Some(Duration::from_secs(secs)));
        assert_eq!(asked(61), None);
        let asked = asked(2).expect("a wait");
        assert!(asked >= Duration::from_secs(2) && asked < Duration::from_secs(3));
    }

    #[test]
    fn servers_ask_in_three_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let secs = Duration::from_secs;
        assert_eq!(retry_after(" 3 ", now), Some(secs(3)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now),
            Some(secs(10))
        );
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now),
            Some(secs(0))
        );
        assert_eq!(retry_after("soon", now), None);
        assert_eq!(retry_after("-1", now), None);
        assert_eq!(json_duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(json_duration("1e300s"), None);
    }
}
