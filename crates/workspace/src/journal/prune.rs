//! Removes old changes from the journal, and the oldest ones if the journal is too large.
//!
//! This runs at the first write of an hour, and at each write that keeps a large file. An hour is
//! removed as a whole. Other writers don't wait for that, since they only add to the present hour.
//! If the present hour alone is too large, single old files are removed from it; the lines of these
//! changes stay, but the changes can't be undone any more.

use super::keeper::now;
use super::place;
use super::{Journal, Limits};
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags};

const BLOCK_BYTES: u64 = 4096;

impl Journal {
    /// Removes changes that are too old, and the oldest ones while the journal is too large.
    pub fn prune(&self) {
        let Some(Ok(Some(dir))) = self
            .home
            .as_deref()
            .map(|home| place::open(&place::journal(home)))
        else {
            return;
        };
        let Limits {
            max_age_millis,
            max_bytes,
        } = self.limits;
        let oldest = now().saturating_sub(max_age_millis) / place::HOUR_MILLIS;
        let present = now() / place::HOUR_MILLIS;
        let mut sum = 0;
        let mut is_full = false;
        for hour in place::hours(&dir).unwrap_or_default().into_iter().rev() {
            let files = files(&dir, hour);
            let bytes: u64 = files.iter().map(|file| file.bytes).sum();
            let fits = sum + bytes <= max_bytes;
            if hour < oldest || is_full || !fits && hour < present {
                is_full |= !fits;
                remove_hour(&dir, hour);
            } else if fits {
                sum += bytes;
            } else {
                sum += thin_out(&dir, files, max_bytes);
            }
        }
    }
}

struct KeptFile {
    name: String,
    bytes: u64,
    since: (i128, i128),
    is_log: bool,
}

fn files(dir: &OwnedFd, hour: u64) -> Vec<KeptFile> {
    let Ok(Some(opened)) = place::open_hour(dir, hour) else {
        return Vec::new();
    };
    let file = |name: String| {
        let stat = fs::statat(&opened, &*name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Some(KeptFile {
            bytes: size.next_multiple_of(BLOCK_BYTES),
            since: (i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            is_log: name == place::LOG,
            name: format!("{hour}/{name}"),
        })
    };
    let names = place::names(&opened).unwrap_or_default();
    names.into_iter().filter_map(file).collect()
}

/// Removes files of one hour, except its log, the oldest first, until the rest fits into
/// `max_bytes` or only the log is left. Returns the size of the rest, in bytes.
fn thin_out(dir: &OwnedFd, mut files: Vec<KeptFile>, max_bytes: u64) -> u64 {
    files.sort_by_key(|file| file.since);
    let mut sum: u64 = files.iter().map(|file| file.bytes).sum();
    for file in files.iter().filter(|file| !file.is_log) {
        if sum <= max_bytes {
            break;
        }
        if fs::unlinkat(dir, &*file.name, AtFlags::empty()).is_ok() {
            sum -= file.bytes;
        }
    }
    sum
}

fn remove_hour(dir: &OwnedFd, hour: u64) {
    if let Ok(Some(opened)) = place::open_hour(dir, hour) {
        // The log is removed last, so that each file that still exists has a line.
        let mut names = place::names(&opened).unwrap_or_default();
        names.sort_by_key(|name| name == place::LOG);
        for name in names {
            let _ = fs::unlinkat(&opened, &*name, AtFlags::empty());
        }
    }
    let _ = fs::unlinkat(dir, &*hour.to_string(), AtFlags::REMOVEDIR);
}
