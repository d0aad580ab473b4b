//! Reading the journal.

use super::entry::Entry;
use super::place;
use gemini_tools_core::scan::count_newlines;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// Larger logs are read by several threads, in bytes.
const SHARED_BYTES: usize = 512 * 1024;

/// The text of the whole log: entries borrow from it.
#[derive(Debug, Default)]
pub struct Log(Vec<(u64, String)>);

/// All entries, in the order in which the changes were made.
#[derive(Debug, Default)]
pub struct History<'a> {
    /// Oldest first.
    pub entries: Vec<Entry<'a>>,
    /// By the place of an entry: the place of the one that has taken it back.
    undone_by: BTreeMap<usize, usize>,
}

/// Which entries are meant; all conditions hold together.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// By their ids, or those of an undo: empty for all.
    pub ids: Vec<String>,
    /// Only entries of this session.
    pub session: Option<String>,
    /// Not before this moment, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Only entries of this file, or of those below this directory.
    pub path: Option<PathBuf>,
    /// Only entries of files below these directories, and of the memory file; empty for all.
    pub roots: Vec<PathBuf>,
    /// Only the last change that is neither an undo nor undone.
    pub is_last: bool,
}

impl History<'_> {
    /// Reads the journal of a home directory; empty where there is none.
    ///
    /// # Errors
    ///
    /// What the system says; `PermissionDenied` where the directory is not the user's alone.
    pub fn load(home: &Path) -> io::Result<Log> {
        Log::read(&place::journal(home))
    }

    /// Gives each entry of a journal to `f`, with its hour.
    pub(crate) fn each_line(journal: &Path, mut f: impl FnMut(u64, &Entry<'_>)) {
        for (hour, text) in Log::read(journal).unwrap_or_default().0 {
            for entry in entries(text.as_str()) {
                f(hour, &entry);
            }
        }
    }
}

/// How many entries a text has at most: so much room is made at once, for memory that is only
/// passed through on the way to more costs as much as reading.
fn count(text: &str) -> usize {
    // Each begins with an end of a line, so that one that a full disk has cut ends before.
    count_newlines(text.as_bytes()) as usize / 2 + 1
}

/// The entries of one log. A line that a full disk has cut is left out.
fn entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_str(line).ok())
}

/// Adds them to a list, by as many threads as there are processors where the log is large.
fn add_entries<'a>(all: &mut Vec<Entry<'a>>, text: &'a str) {
    let most = gemini_tools_platform::processors();
    let pieces = pieces(text, most.min(text.len() / SHARED_BYTES + 1));
    let Some((first, others)) = pieces.split_first() else {
        return;
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for &piece in others {
            let read = move || {
                let mut read = Vec::with_capacity(count(piece));
                read.extend(entries(piece));
                read
            };
            threads.push((piece, std::thread::Builder::new().spawn_scoped(scope, read)));
        }
        all.extend(entries(first));
        for (piece, thread) in threads {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(read)) => all.extend(read),
                // Where there is no thread to be had, this one does it.
                _ => all.extend(entries(piece)),
            }
        }
    });
}

/// The text in so many pieces, or fewer, each of whole lines.
fn pieces(text: &str, count: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for left in (1..=count.max(1)).rev() {
        let bytes = rest.as_bytes();
        let end = if left == 1 {
            None
        } else {
            let from = bytes.len() / left;
            bytes[from..]
                .iter()
                .position(|b| *b == b'\n')
                .map(|at| from + at + 1)
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

impl Log {
    fn read(journal: &Path) -> io::Result<Self> {
        let Some(dir) = place::open(journal)? else {
            return Ok(Self::default());
        };
        let mut logs = Vec::new();
        for hour in place::hours(&dir)? {
            let mut text = String::new();
            // It may be removed at this moment.
            let Some(hour_dir) = place::open_hour(&dir, hour)? else {
                continue;
            };
            let Ok(mut file) = place::open_file(&hour_dir, place::LOG) else {
                continue;
            };
            if file.read_to_string(&mut text).is_err() {
                let mut bytes = Vec::new();
                file.rewind()?;
                file.read_to_end(&mut bytes)?;
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
            logs.push((hour, text));
        }
        Ok(Self(logs))
    }

    /// The entries.
    pub fn history(&self) -> History<'_> {
        let mut all = Vec::with_capacity(self.0.iter().map(|(_, text)| count(text)).sum());
        for (hour, text) in &self.0 {
            let before = all.len();
            add_entries(&mut all, text);
            for entry in &mut all[before..] {
                entry.hour = *hour;
            }
        }
        let undone_by = undone(&all);
        History {
            entries: all,
            undone_by,
        }
    }
}

/// Which entries are undone: from the newest on, because an undo that is undone itself counts no more.
fn undone(entries: &[Entry<'_>]) -> BTreeMap<usize, usize> {
    let mut undone = BTreeMap::new();
    if entries.iter().all(|entry| entry.undoes.is_empty()) {
        return undone;
    }
    let places: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(i, entry)| (&*entry.id, i))
        .collect();
    for (i, entry) in entries.iter().enumerate().rev() {
        if undone.contains_key(&i) {
            continue;
        }
        for id in &entry.undoes {
            if let Some(&other) = places.get(&**id).filter(|other| **other < i) {
                undone.insert(other, i);
            }
        }
    }
    undone
}

/// Whether an absolute path without links is this directory or file, or below it. By bytes: to
/// take ten thousand paths apart takes longer than to read them.
fn is_below(path: &Path, above: &Path) -> bool {
    let above = above.as_os_str().as_encoded_bytes();
    let above = above.strip_suffix(b"/").unwrap_or(above);
    let rest = path.as_os_str().as_encoded_bytes().strip_prefix(above);
    rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
}

impl History<'_> {
    /// The entry that has taken back the one at a place, where that still counts.
    pub fn undone_by(&self, index: usize) -> Option<&Entry<'_>> {
        self.undone_by.get(&index).map(|by| &self.entries[*by])
    }

    /// The places of the entries that are meant, newest first.
    pub fn chosen(&self, filter: &Filter) -> Vec<usize> {
        let ids: HashSet<&str> = filter.ids.iter().map(String::as_str).collect();
        let is_meant = |index: &usize| {
            let entry = &self.entries[*index];
            let of_undo = || {
                entry.tool == super::UNDO
                    && entry.call.as_deref().is_some_and(|call| ids.contains(call))
            };
            let path = entry.path();
            let lies_in =
                |roots: &[PathBuf]| entry.memory || roots.iter().any(|root| is_below(&path, root));
            (ids.is_empty() || ids.contains(&*entry.id) || of_undo())
                && filter
                    .session
                    .as_ref()
                    .is_none_or(|session| *session == *entry.session)
                && filter.since.is_none_or(|since| entry.at >= since)
                && filter
                    .path
                    .as_ref()
                    .is_none_or(|wanted| is_below(&path, wanted))
                && (filter.roots.is_empty() || lies_in(&filter.roots))
                && !(filter.is_last
                    && (entry.tool == super::UNDO || self.undone_by.contains_key(index)))
        };
        let found = (0..self.entries.len()).rev().filter(is_meant);
        if filter.is_last {
            found.take(1).collect()
        } else {
            found.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{count, entries, is_below, pieces};
    use std::path::Path;

    #[test]
    fn what_is_below_a_path_is_not_what_begins_like_it() {
        for (path, above, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b/c", "/a/b", true),
            ("/a/bc", "/a/b", false),
            ("/a", "/a/b", false),
            ("/a/b", "/a/b/", true),
            ("/a", "/", true),
        ] {
            let is = is_below(Path::new(path), Path::new(above));
            assert_eq!(is, expected, "{path} {above}");
        }
    }

    #[test]
    fn there_is_room_for_all_entries_of_a_text_in_pieces_too() {
        let line = |id: usize| {
            let state = r#"{"stamp":[1,2,3,4,5],"mode":420}"#;
            format!(
                "\n{{\"id\":\"{id}\",\"at\":1,\"by\":\"b\",\"session\":\"s\",\"tool\":\"t\",\"call\":\"c\",\
                 \"path\":\"/p\",\"before\":null,\"after\":{state},\"kept\":{{\"lost\":\"\"}}}}\n"
            )
        };
        for lines in [0, 1, 2, 7] {
            let text: String = (0..lines).map(line).collect();
            for many in 1..4 {
                let pieces = pieces(&text, many);
                let read: Vec<_> = pieces.iter().flat_map(|piece| entries(piece)).collect();
                assert_eq!(read.len(), lines);
                for piece in pieces {
                    assert!(entries(piece).count() <= count(piece));
                }
            }
        }
    }
}
