//! Reads the journal.

use super::entry::{JournalEntry, OldContent};
use super::{Journal, SCRIPT_RUNNERS, place};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const GONE: &str = "it is not in the journal any more";

/// All entries of a journal, in the order in which the changes were made.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The entries, oldest first.
    pub entries: Vec<JournalEntry>,
    by_id: HashMap<String, usize>,
    /// Maps the index of each entry that is undone to the index of the entry that has undone it.
    undone_by: HashMap<usize, usize>,
    /// How many bytes of the log of each hour have been read.
    read: HashMap<u64, u64>,
}

/// The conditions that an entry must meet to be chosen.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Ids of entries, undos or commands; empty for all.
    pub ids: Vec<String>,
    /// Files, or directories with everything below them; empty for all.
    pub paths: Vec<PathBuf>,
    /// The session that made the change; `None` for any.
    pub session: Option<String>,
    /// The earliest time of a change, in milliseconds since 1970; `None` for any.
    pub since: Option<u64>,
    /// Directories that the files must lie below; empty for all. The user's memory files are chosen
    /// wherever they lie.
    pub roots: Vec<PathBuf>,
    /// True to leave out undos, changes that have been undone, and those that changed nothing.
    pub standing: bool,
}

impl Journal {
    /// Returns the changes of files since a time in milliseconds since 1970, and whether the
    /// session of this journal has made them. Those of shells and programs that have named no
    /// session are left out: a command of this session may have started them.
    pub(crate) fn since(&self, time: u64) -> Vec<(JournalEntry, bool)> {
        let (Some(home), own) = (&self.home, &self.caller().session) else {
            return Vec::new();
        };
        let mut history = History::default();
        let _ = history.read_on(home, time / place::HOUR_MILLIS);
        let later = history.entries.into_iter().filter(|entry| entry.at >= time);
        let later = later.map(|entry| (entry.session == *own, entry));
        let may_be_started = |entry: &JournalEntry| {
            let number = entry.session.strip_prefix(&*entry.by);
            let is_program = SCRIPT_RUNNERS.contains(&&*entry.by) || entry.by == "call_tool";
            is_program && number.is_some_and(|number| number.starts_with('-'))
        };
        later
            .filter(|(is_own, entry)| *is_own || !may_be_started(entry))
            .map(|(is_own, entry)| (entry, is_own))
            .collect()
    }
}

impl History {
    /// Reads the journal of a home directory. The history is empty if there is no journal.
    ///
    /// # Errors
    ///
    /// Returns an error of the operating system's kind. It names the directory that can't be read,
    /// or that others may use, and says what to do.
    pub fn load(home: &Path) -> io::Result<Self> {
        let mut history = Self::default();
        history.read_on(home, 0)?;
        Ok(history)
    }

    /// Reads what was written to the journal since it was read, in the logs from an hour on.
    pub(super) fn read_on(&mut self, home: &Path, first_hour: u64) -> io::Result<()> {
        let journal = place::journal(home);
        let fail = |path: &Path, e: Errno| {
            io::Error::new(io::Error::from(e).kind(), place::complaint(path, e))
        };
        let Some(dir) = place::open(&journal).map_err(|e| fail(&journal, e))? else {
            return Ok(());
        };
        let hours = place::hours(&dir)?;
        for hour in hours.into_iter().filter(|hour| *hour >= first_hour) {
            // Another call may be removing the directory of the hour.
            let path = journal.join(hour.to_string());
            let opened = place::open_hour(&dir, hour).map_err(|e| fail(&path, e))?;
            let Some(hour_dir) = opened else {
                continue;
            };
            let mut file = match place::open_file(&hour_dir, place::LOG) {
                Err(Errno::NOENT) => continue,
                file => file.map_err(|e| fail(&path.join(place::LOG), e))?,
            };
            let (mut log, read) = (Vec::new(), self.read.entry(hour).or_default());
            file.seek(SeekFrom::Start(*read))?;
            *read += file.read_to_end(&mut log)? as u64;
            let kept: HashSet<String> = place::names(&hour_dir)?.into_iter().collect();
            // A line that was cut because the disk was full does not parse, and is skipped.
            let lines = log.split(|byte| *byte == b'\n');
            for mut entry in
                lines.filter_map(|line| serde_json::from_slice::<JournalEntry>(line).ok())
            {
                entry.hour = hour;
                if !matches!(entry.old_content, OldContent::Lost(_)) && !kept.contains(&entry.id) {
                    entry.old_content = OldContent::Lost(GONE.to_owned());
                }
                self.by_id.insert(entry.id.clone(), self.entries.len());
                self.entries.push(entry);
            }
        }
        self.undone_by = self.find_undone();
        Ok(())
    }

    fn find_undone(&self) -> HashMap<usize, usize> {
        let mut undone_by = HashMap::new();
        // For each path, the oldest entry that an undo has undone, and that undo.
        let mut reached: HashMap<&str, (usize, usize)> = HashMap::new();
        // The newest entries come first, because an undo that was itself undone does not count.
        for (i, entry) in self.entries.iter().enumerate().rev() {
            if undone_by.contains_key(&i) {
                continue;
            }
            // An older change of this path has been undone, so the path is as before that, and this
            // newer change does not stand any more, though no undo lists it: it was put back by
            // hand, or had changed nothing.
            if let Some((oldest, by)) = reached.get(&*entry.path)
                && (*oldest < i && entry.tool != super::UNDO)
            {
                undone_by.insert(i, *by);
                continue;
            }
            let undone = entry.undoes.iter().filter_map(|id| self.by_id.get(id));
            // The clock may have been put back since: then what is undone comes later.
            for other in undone.copied().filter(|other| *other != i) {
                undone_by.insert(other, i);
                let (oldest, by) = reached.entry(&entry.path).or_insert((other, i));
                if other < *oldest {
                    (*oldest, *by) = (other, i);
                }
            }
        }
        undone_by
    }

    /// Returns the entry with an id.
    pub fn entry(&self, id: &str) -> Option<&JournalEntry> {
        self.by_id.get(id).map(|index| &self.entries[*index])
    }

    /// Returns the undo of an entry, if that undo has not been undone itself.
    pub fn undone_by(&self, index: usize) -> Option<&JournalEntry> {
        self.undone_by.get(&index).map(|by| &self.entries[*by])
    }

    /// Returns the chosen entries in steps that are undone one by one, each with its newest entry
    /// first. What one command has changed is one step. Unless the filter is for standing changes,
    /// all entries are one step.
    pub fn steps(&self, filter: &Filter) -> Vec<Vec<usize>> {
        let chosen = self.chosen(filter);
        if filter.standing || chosen.is_empty() {
            return self.by_command(&chosen, false);
        }
        vec![chosen]
    }

    /// Returns entries in groups, in the order of the newest of each: what one command has changed,
    /// and other changes alone or, with `joins`, with those that follow them.
    fn by_command(&self, chosen: &[usize], joins: bool) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last = HashMap::new();
        for index in chosen {
            let (command, next) = (self.entries[*index].command.as_ref(), groups.len());
            let is_one = |at: &usize| command.is_some() || joins && at + 1 == next;
            let at = last.get(&command).copied().filter(is_one).unwrap_or(next);
            last.insert(command, at);
            if at == next {
                groups.push(Vec::new());
            }
            groups[at].push(*index);
        }
        groups
    }

    /// Returns the entries that one undo takes back in parts, the newest part first. Each command is
    /// a part: which file a path was between two of them is known only from the later one, and that
    /// file may live on under another name. An undo goes without saying along with what it undid.
    pub(super) fn parts(&self, chosen: &[usize]) -> Vec<Vec<usize>> {
        if (chosen.iter()).all(|index| self.entries[*index].command.is_none()) {
            return vec![chosen.to_vec()];
        }
        let ids: HashSet<&String> = chosen.iter().map(|i| &self.entries[*i].id).collect();
        // An undo may also change a path that no entry names, as another name of a file.
        let mut undone: HashMap<&String, Vec<&String>> = HashMap::new();
        for entry in &self.entries {
            let key = entry.command.as_ref().unwrap_or(&entry.id);
            undone.entry(key).or_default().extend(&entry.undoes);
        }
        let stays = |index: &usize| {
            let entry = &self.entries[*index];
            let undoes = &undone[entry.command.as_ref().unwrap_or(&entry.id)];
            undoes.is_empty() || !undoes.iter().all(|id| ids.contains(id))
        };
        let chosen: Vec<usize> = chosen.iter().copied().filter(stays).collect();
        self.by_command(&chosen, true)
    }

    /// Returns the indices of the entries that a filter chooses, newest first.
    pub fn chosen(&self, filter: &Filter) -> Vec<usize> {
        let is_chosen = |index: &usize| {
            let entry = &self.entries[*index];
            let path = entry.path();
            let is_below_any = |dirs: &[PathBuf]| dirs.iter().any(|dir| path.starts_with(dir));
            let is_of_undo =
                |id: &String| entry.tool == super::UNDO && entry.call.as_ref() == Some(id);
            let is_named = |id: &String| {
                entry.id == *id || is_of_undo(id) || entry.command.as_ref() == Some(id)
            };
            let is_gone = entry.tool == super::UNDO
                || self.undone_by.contains_key(index)
                || entry.changes_nothing();
            let session = filter.session.as_ref();
            (filter.ids.is_empty() || filter.ids.iter().any(is_named))
                && (filter.paths.is_empty() || is_below_any(&filter.paths))
                && session.is_none_or(|session| *session == entry.session)
                && filter.since.is_none_or(|since| entry.at >= since)
                && (filter.roots.is_empty() || entry.memory || is_below_any(&filter.roots))
                && !(filter.standing && is_gone)
        };
        (0..self.entries.len()).rev().filter(is_chosen).collect()
    }
}
