//! Formats points in time and durations.

use chrono::{DateTime, SecondsFormat, Utc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) type Clock = fn() -> SystemTime;

/// Formats a time as JavaScript's `toISOString` does, such as `2026-01-31T08:09:10.123Z`. Times
/// before 1970 are shown as the start of 1970.
pub(super) fn iso(time: SystemTime) -> String {
    DateTime::<Utc>::from(time.max(UNIX_EPOCH)).to_rfc3339_opts(SecondsFormat::Millis, true)
}

pub(super) fn span(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{secs}.{}s", duration.subsec_millis() / 100),
        60..3600 => format!("{}m {:02}s", secs / 60, secs % 60),
        _ => format!("{}h {:02}m", secs / 3600, secs / 60 % 60),
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{iso, span};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_769_846_950_123, "2026-01-31T08:09:10.123Z"),
        ];
        for (millis, expected) in cases {
            assert_eq!(iso(UNIX_EPOCH + Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn a_time_before_1970_is_shown_as_its_beginning() {
        let time = UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(iso(time), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_span_has_the_units_of_its_size() {
        let cases = [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (59_999, "59.9s"),
            (60_000, "1m 00s"),
            (3_599_999, "59m 59s"),
            (3_720_000, "1h 02m"),
        ];
        for (millis, expected) in cases {
            assert_eq!(span(Duration::from_millis(millis)), expected);
        }
    }
}
