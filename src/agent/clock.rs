//! Points in time and spans of it, as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the time comes from; tests put a still one in its place.
pub(super) type Clock = fn() -> SystemTime;

/// A time in UTC with milliseconds, as JavaScript writes it: `2026-01-31T08:09:10.123Z`. Times
/// before 1970 are shown as its beginning.
pub(super) fn iso(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Year, month and day of a count of days since 1970-01-01, in the Gregorian calendar. Years
/// begin with March here, so that the leap day is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// A span for people: `12ms`, `1.2s`, `2m 05s`, `1h 02m`.
pub(super) fn span(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{secs}.{}s", duration.subsec_millis() / 100),
        60..3600 => format!("{}m {:02}s", secs / 60, secs % 60),
        _ => format!("{}h {:02}m", secs / 3600, secs / 60 % 60),
    }
}

/// Milliseconds, as all of the formats have durations.
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
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_769_846_950_123, "2026-01-31T08:09:10.123Z"),
        ];
        for (millis, expected) in cases {
            assert_eq!(iso(UNIX_EPOCH + Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn times_agree_with_those_of_http() {
        for day in (0..40_000).step_by(13) {
            let time = UNIX_EPOCH + Duration::from_secs(day * 86_400 + 3_661);
            let http = httpdate::fmt_http_date(time);
            let ours = iso(time);
            assert_eq!(&http[12..16], &ours[..4], "{http}");
            assert_eq!(&http[5..7], &ours[8..10], "{http}");
            assert_eq!(&http[17..25], &ours[11..19], "{http}");
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
