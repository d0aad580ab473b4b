//! Sessions that are kept without being asked for, so that the next run can go on with one.
//!
//! They are where Gemini CLI keeps a project's temporary files, in a directory of our own beside
//! its `chats`: `~/.gemini/tmp/<SHA-256 of the root's path>/agent-sessions/`, for their owner's
//! eyes only. Each is a file as [`super::record`] writes it, and stays for a week.

use gemini_tools_workspace::files::make_private;
use gemini_tools_workspace::overflow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The time that a session is kept after its last line.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sessions of one directory.
#[derive(Debug, Clone)]
pub struct KeptSessions {
    directory: PathBuf,
}

impl KeptSessions {
    /// Names the sessions of the project at `root`, below a home directory.
    pub fn new(home: &Path, root: &Path) -> Self {
        let directory = overflow::project(home, root).join("agent-sessions");
        Self { directory }
    }

    /// Makes room for a session with this id, and removes those that are too old. Gives the path
    /// of its file, which is not there yet.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the directory can't be made.
    pub fn make(&self, id: &str) -> io::Result<PathBuf> {
        make_private(&self.directory)?;
        for (path, changed) in self.all() {
            if changed.elapsed().is_ok_and(|age| age > KEEP) {
                // What can't be removed now is tried the next time.
                let _ = fs::remove_file(path);
            }
        }
        Ok(self.directory.join(format!("{id}.jsonl")))
    }

    /// Returns the file of the session that was written to last.
    pub fn newest(&self) -> Option<PathBuf> {
        let newest = self.all().into_iter().max_by_key(|(_, changed)| *changed);
        newest.map(|(path, _)| path)
    }

    fn all(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let files = entries.filter_map(|entry| {
            let path = entry.path();
            // Links are not followed.
            let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let is_session = path.extension().is_some_and(|ending| ending == "jsonl");
            is_session.then_some((path, meta.modified().ok()?))
        });
        files.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEEP, KeptSessions};
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_newest_is_the_one_that_was_written_to_last_and_old_ones_go() {
        let home = tempfile::tempdir().expect("a directory");
        let kept = KeptSessions::new(home.path(), home.path());
        assert_eq!(kept.newest(), None);
        let paths = ["a", "b", "c"].map(|id| kept.make(id).expect("a directory"));
        let now = SystemTime::now();
        let ages = [
            KEEP + Duration::from_secs(60),
            Duration::ZERO,
            Duration::from_secs(60),
        ];
        for (path, age) in paths.iter().zip(ages) {
            let file = File::create_new(path).expect("new");
            file.set_modified(now - age).expect("a time");
        }
        let other = paths[0].with_file_name("other.txt");
        let file = File::create_new(&other).expect("new");
        file.set_modified(now - 2 * KEEP).expect("a time");
        assert_eq!(kept.newest().as_ref(), Some(&paths[1]));
        kept.make("d").expect("a directory");
        assert_eq!(paths.map(|path| path.exists()), [false, true, true]);
        assert!(other.exists());
        let elsewhere = KeptSessions::new(home.path(), other.parent().expect("one"));
        assert_eq!(elsewhere.newest(), None);
    }
}
