//! Keeps sessions for a week, so that the next run can resume one even if the user did not ask
//! for a session file.
//!
//! The files are in `~/.gemini/tmp/<SHA-256 of the root's path>/agent-sessions/`, next to the
//! `chats` in which Gemini CLI stores its own sessions, and readable by their owner only. Their
//! format is that of [`super::record`].

use gemini_tools_workspace::files::make_private;
use gemini_tools_workspace::overflow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const NAME: &str = "agent-sessions";

const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The saved sessions of one project.
#[derive(Debug, Clone)]
pub struct KeptSessions {
    directory: PathBuf,
}

impl KeptSessions {
    /// Refers to the sessions of the project at `root`. `home` is the user's home directory.
    pub fn new(home: &Path, root: &Path) -> Self {
        let directory = overflow::project(home, root).join(NAME);
        Self { directory }
    }

    /// Deletes sessions of all projects that are too old, creates the directory, and returns the
    /// path for a new session's file, which does not exist yet.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the directory can't be made.
    pub fn make(&self, id: &str) -> io::Result<PathBuf> {
        let tmp = self.directory.ancestors().nth(2).map(fs::read_dir);
        for project in tmp.and_then(Result::ok).into_iter().flatten().flatten() {
            let directory = project.path().join(NAME);
            for (path, changed) in sessions(&directory) {
                if changed.elapsed().is_ok_and(|age| age > KEEP) {
                    // If the file can't be deleted now, the next session tries again. A directory
                    // goes with its last file.
                    let _ = fs::remove_file(path)
                        .and_then(|()| fs::remove_dir(&directory))
                        .and_then(|()| fs::remove_dir(project.path()));
                }
            }
        }
        make_private(&self.directory)?;
        Ok(self.directory.join(format!("{id}.jsonl")))
    }

    /// Returns the session file that was modified last; `None` if there is none.
    pub fn newest(&self) -> Option<PathBuf> {
        let newest = sessions(&self.directory).max_by_key(|(_, changed)| *changed);
        newest.map(|(path, _)| path)
    }
}

fn sessions(directory: &Path) -> impl Iterator<Item = (PathBuf, SystemTime)> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        // `DirEntry::metadata` does not follow symbolic links, so a link never counts as a
        // session.
        let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let is_session = path.extension().is_some_and(|ending| ending == "jsonl");
        is_session.then_some((path, meta.modified().ok()?))
    })
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
        let path = elsewhere.make("e").expect("a directory");
        let file = File::create_new(&path).expect("new");
        file.set_modified(now - 2 * KEEP).expect("a time");
        kept.make("f").expect("a directory");
        let project = path.ancestors().nth(2).expect("one");
        assert!(!project.exists(), "of another project");
    }
}
