//! Removing what is too old, and the oldest where there is too much.
//!
//! What belongs to an hour goes with its directory. Writers never wait for that: they only ever
//! add to the present hour, from which single old files go when it has too much by itself; their
//! lines stay, and say that they can't be taken back any more. Directories beside other file
//! systems are found by the lines of the log.

use super::Limits;
use super::entry::{Entry, Kept};
use super::keeper::now;
use super::place;
use gemini_tools_platform::fd::OwnedFd;
use gemini_tools_platform::fs::{self, AtFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a directory of the journal takes of the disk for each file, at least, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Removes what is over the limits.
pub fn prune(home: &Path, limits: Limits) {
    let own = place::journal(home);
    let mut places = vec![own.clone()];
    places.extend(beside(&own));
    let opened: Vec<OwnedFd> = places
        .iter()
        .filter_map(|path| place::open(path).ok().flatten())
        .collect();
    let oldest = now().saturating_sub(limits.max_age_millis) / place::HOUR_MILLIS;
    let present = now() / place::HOUR_MILLIS;
    let mut by_hour: BTreeMap<u64, Vec<&OwnedFd>> = BTreeMap::new();
    for dir in &opened {
        for hour in place::hours(dir).unwrap_or_default() {
            if hour < oldest {
                remove_hour(dir, hour);
            } else {
                by_hour.entry(hour).or_default().push(dir);
            }
        }
    }
    let mut sum = 0;
    for (hour, dirs) in by_hour.iter().rev() {
        let files: Vec<KeptFile<'_>> = dirs.iter().flat_map(|dir| files(dir, *hour)).collect();
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        if sum + bytes <= limits.max_bytes {
            sum += bytes;
        } else if *hour >= present {
            sum += thin_out(files, limits.max_bytes);
        } else {
            sum = u64::MAX / 2;
            for dir in dirs {
                remove_hour(dir, *hour);
            }
        }
    }
}

/// The directories on other file systems that lines of the log name.
fn beside(own: &Path) -> BTreeSet<PathBuf> {
    let mut places = BTreeSet::new();
    super::History::each_line(own, |_, entry: &Entry<'_>| {
        if let Kept::Beside(path) = &entry.kept
            && !places.contains(Path::new(&**path))
        {
            places.insert(PathBuf::from(&**path));
        }
    });
    places
}

/// A file of the journal.
struct KeptFile<'a> {
    dir: &'a OwnedFd,
    name: String,
    bytes: u64,
    /// When it came here.
    since: (i128, i128),
    is_log: bool,
}

fn names(dir: &OwnedFd) -> Vec<String> {
    let entries = fs::Dir::read_from(dir).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| entry.file_name().to_str().ok().map(str::to_owned);
    entries
        .filter_map(name)
        .filter(|name| name != "." && name != "..")
        .collect()
}

fn files(dir: &OwnedFd, hour: u64) -> Vec<KeptFile<'_>> {
    let Ok(Some(opened)) = place::open_hour(dir, hour) else {
        return Vec::new();
    };
    let file = |name: String| {
        let stat = fs::statat(&opened, &*name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Some(KeptFile {
            dir,
            bytes: size.next_multiple_of(BLOCK_BYTES),
            since: (i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
            is_log: name == place::LOG,
            name: format!("{hour}/{name}"),
        })
    };
    names(&opened).into_iter().filter_map(file).collect()
}

/// Removes the oldest files of an hour until the others fit; gives what is left.
fn thin_out(mut files: Vec<KeptFile<'_>>, max_bytes: u64) -> u64 {
    files.sort_by_key(|file| file.since);
    let mut sum: u64 = files.iter().map(|file| file.bytes).sum();
    for file in files.iter().filter(|file| !file.is_log) {
        if sum <= max_bytes {
            break;
        }
        if fs::unlinkat(file.dir, &*file.name, AtFlags::empty()).is_ok() {
            sum -= file.bytes;
        }
    }
    sum
}

/// Removes an hour, the log last: as long as it is there, so are the places of old files.
fn remove_hour(dir: &OwnedFd, hour: u64) {
    if let Ok(Some(opened)) = place::open_hour(dir, hour) {
        let mut names = names(&opened);
        names.sort_by_key(|name| name == place::LOG);
        for name in names {
            let _ = fs::unlinkat(&opened, &*name, AtFlags::empty());
        }
    }
    let _ = fs::unlinkat(dir, &*hour.to_string(), AtFlags::REMOVEDIR);
}
