//! The times, size and inode of a file, to tell later without reading it whether it has changed.
//!
//! As in git's index, this works only for a file that was stable when its stamp was taken. A file
//! that had just changed could change once more within the same tick of the clock and keep its
//! stamp.

use rustix::fs::{AtFlags, CWD, Stat};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a file must be unchanged to count as stable. File times advance in ticks of the
/// kernel's clock, of up to 10 ms.
const TICK: Duration = Duration::from_millis(50);

const COARSE_TICK: Duration = Duration::from_millis(2100);

/// A file's size in bytes, its mtime and ctime (each in seconds since 1970 and nanoseconds) and its
/// inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(i64, i64, u64, i64, u64, u64);

impl Stamp {
    /// Returns the stamp in the result of `stat`.
    #[expect(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the types differ between systems"
    )]
    #[doc(hidden)]
    pub fn from_stat(stat: &Stat) -> Self {
        Self(
            stat.st_size as i64,
            stat.st_mtime as i64,
            stat.st_mtime_nsec as u64,
            stat.st_ctime as i64,
            stat.st_ctime_nsec as u64,
            u64::from(stat.st_ino),
        )
    }

    /// Returns the stamp of the file that a path leads to; `None` if there is no file.
    pub fn from_path(path: &Path) -> Option<Self> {
        let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
        Some(Self::from_stat(&stat))
    }

    /// Returns the mtime: the time of the last change of the content.
    pub fn modified(&self) -> SystemTime {
        time(self.1, self.2)
    }

    /// Returns how long after `time` the file would have to stay unchanged to count as stable;
    /// `None` if it was stable at `time`.
    pub fn time_until_stable(&self, time: SystemTime) -> Option<Duration> {
        let changed = self::time(self.3, self.4);
        // Within one tick, the file system may give two changes the same time. On a file system
        // that stores only whole seconds, a tick is longer.
        let tick = if self.4 == 0 { COARSE_TICK } else { TICK };
        let rest = (changed + tick).duration_since(time).ok()?;
        (!rest.is_zero()).then_some(rest)
    }

    /// Returns the stamp as text without blanks.
    pub fn to_text(self) -> String {
        let Self(size, modified, modified_nanos, changed, changed_nanos, inode) = self;
        format!("{size},{modified},{modified_nanos},{changed},{changed_nanos},{inode}")
    }
}

fn time(secs: i64, nanos: u64) -> SystemTime {
    let secs = u64::try_from(secs).unwrap_or_default();
    let nanos = u32::try_from(nanos).unwrap_or_default();
    UNIX_EPOCH + Duration::new(secs, nanos)
}

#[cfg(test)]
mod tests {
    use super::{COARSE_TICK, Stamp};
    use std::time::Duration;

    #[test]
    fn a_file_changes_with_its_content_and_rests_after_a_while() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        assert_eq!(Stamp::from_path(&path), None);
        std::fs::write(&path, "x").expect("written");
        let stamp = Stamp::from_path(&path).expect("it is there");
        assert!(stamp.time_until_stable(stamp.modified()).is_some());
        let later = stamp.modified() + COARSE_TICK + Duration::from_millis(1);
        assert_eq!(stamp.time_until_stable(later), None);
        std::fs::write(&path, "xy").expect("written");
        assert_ne!(Stamp::from_path(&path), Some(stamp));
    }
}
