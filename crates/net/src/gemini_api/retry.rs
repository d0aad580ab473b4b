//! The number and the times of retries.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

/// When a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Number of attempts in all.
    pub attempts: u32,
    /// The first wait; each further one is twice as long, and each is shortened by chance by
    /// up to a half, so that many clients don't come back at the same moment.
    pub first_wait: Duration,
    /// The longest wait. A server that asks for a longer one gets no further request.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns the wait after the `failed`th attempt (from 1), or `None` to give up. `asked` is
    /// what the server wants.
    pub(super) fn wait(&self, failed: u32, asked: Option<Duration>) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        match asked {
            Some(asked) if asked > self.longest_wait => None,
            // A moment later than asked: clocks differ.
            Some(asked) => Some(asked + self.first_wait.mul_f64(chance() / 4.0)),
            None => {
                let grown = self.first_wait.saturating_mul(1 << (failed - 1).min(16));
                Some(grown.min(self.longest_wait).mul_f64(0.5 + chance() / 2.0))
            }
        }
    }
}

/// Returns a random number from 0 to 1. The standard library's hasher is seeded by chance.
fn chance() -> f64 {
    let bits = RandomState::new().hash_one(SystemTime::now());
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Parses `Retry-After`: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(secs) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(secs).ok();
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// Parses a duration as the API writes it in JSON: `1.5s`.
pub(super) fn json_duration(text: &str) -> Option<Duration> {
    let secs = text.strip_suffix('s')?.parse::<f64>().ok()?;
    Duration::try_from_secs_f64(secs).ok()
}

#[cfg(test)]
mod tests {
    use super::{RetryPolicy, json_duration, retry_after};
    use std::time::{Duration, SystemTime};

    #[test]
    fn waits_grow_and_end() {
        let policy = RetryPolicy::default();
        for (failed, least, most) in [(1, 250, 500), (2, 500, 1000), (4, 2000, 4000)] {
            let wait = policy.wait(failed, None).expect("one more");
            let range = Duration::from_millis(least)..=Duration::from_millis(most);
            assert!(range.contains(&wait), "{failed}: {wait:?}");
        }
        assert_eq!(policy.wait(5, None), None);
        assert_eq!(policy.wait(1, Some(Duration::from_secs(61))), None);
        let asked = policy
            .wait(1, Some(Duration::from_secs(2)))
            .expect("a wait");
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
