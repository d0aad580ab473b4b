//! Today's date in words, by the user's own clock.

#![expect(
    unsafe_code,
    reason = "only the C library knows the local time without another dependency"
)]

use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Today's date, such as `Monday, September 29, 2025`.
pub(super) fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    local(now.map_or(0, |now| now.as_secs().cast_signed()))
        .map_or_else(|| "unknown".to_owned(), |tm| long_form(&tm))
}

/// A time, in seconds since 1970, taken apart as it is where the user is.
fn local(time: i64) -> Option<libc::tm> {
    // `libc::time_t`, whose name the crate deprecates for musl.
    let time = time as _;
    let mut tm = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are valid for the call, and the structure is filled in where the
    // result is not null.
    unsafe {
        #[cfg(unix)]
        let is_filled = !libc::localtime_r(&raw const time, tm.as_mut_ptr()).is_null();
        #[cfg(windows)]
        let is_filled = libc::localtime_s(tm.as_mut_ptr(), &raw const time) == 0;
        is_filled.then(|| tm.assume_init())
    }
}

fn long_form(tm: &libc::tm) -> String {
    let name = |names: &[&'static str], n: libc::c_int| {
        let index = usize::try_from(n).ok();
        index.and_then(|i| names.get(i).copied()).unwrap_or("?")
    };
    format!(
        "{}, {} {}, {}",
        name(&WEEKDAYS, tm.tm_wday),
        name(&MONTHS, tm.tm_mon),
        tm.tm_mday,
        i64::from(tm.tm_year) + 1900
    )
}

#[cfg(test)]
mod tests {
    use super::{local, long_form, today};

    #[test]
    fn a_date_is_written_in_its_long_form() {
        // In the middle of a day it is within a day of Greenwich's date everywhere.
        let tm = local(1_759_147_200).expect("a date");
        let near = ["Monday, September 29, 2025", "Tuesday, September 30, 2025"];
        assert!(near.contains(&&*long_form(&tm)));
        assert!(!today().contains(['?', '\n']));
    }
}
