//! Keeping answers that are too long for a model, for later calls to read.
//!
//! Where they are is the workspace's business, which names the directory of a project's. Here they are
//! written, and the oldest removed when there are too many.

use crate::jobs::{Job, Jobs};
use crate::log;
use crate::tree::Identity;
use gemini_tools_workspace::files::make_private;
use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Kept answers older than this are removed when a new one is kept.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum size of what is kept of all projects, in bytes, with the file that is begun.
const MAX_KEPT_BYTES: u64 = 1024 * 1024 * 1024;

/// Writes the text that `tool` has answered into a new file of `directory` and returns its path;
/// `None` if it can't be written.
pub fn keep(directory: &Path, tool: &str, text: &str) -> Option<PathBuf> {
    let path = new_file(directory, tool)?;
    let mut file = log::new_file(&path).ok()?;
    if file.write_all(text.as_bytes()).is_err() {
        // Half an answer would be taken for a whole one.
        let _ = std::fs::remove_file(&path);
        return None;
    }
    Some(path)
}

/// Returns a name for a new file in `directory` that keeps an answer of `tool`; `None` if the
/// directory can't be made.
pub fn new_file(directory: &Path, tool: &str) -> Option<PathBuf> {
    make_private(directory).ok()?;
    make_room(directory);
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    Some(directory.join(format!(
        "{tool}-{}-{:09}-{}.txt",
        now.as_secs(),
        now.subsec_nanos(),
        std::process::id()
    )))
}

/// Removes the oldest of what all projects have kept if there is too much for one file more.
/// `directory` is that of one project, below the project's own in the one of all.
pub fn make_room(directory: &Path) {
    if let Some(projects) = directory.ancestors().nth(2) {
        remove_oldest(projects);
    }
}

struct StoredAnswer {
    changed: SystemTime,
    /// The size, in bytes.
    bytes: u64,
    files: Vec<PathBuf>,
    /// True if a process that lives made it.
    is_in_use: bool,
}

/// Removes what is old, and then the oldest until there is room for one more, in the directories
/// of all projects; what a process that lives has kept stays.
fn remove_oldest(tmp: &Path) {
    let mut all = Vec::new();
    for project in entries(tmp) {
        let outputs = entries(&project.join("tool-outputs"));
        all.extend(outputs.filter_map(|path| StoredAnswer::answer(&path)));
        let background = project.join("background-processes");
        let jobs = Jobs::new(background.clone()).list();
        all.extend(jobs.iter().filter_map(StoredAnswer::log));
        all.extend(entries(&background).filter_map(StoredAnswer::log_without_job));
    }
    all.sort_by_key(|kept| kept.changed);
    let mut sum: u64 = all.iter().map(|kept| kept.bytes).sum();
    let room = MAX_KEPT_BYTES - log::MAX_BYTES;
    let now = SystemTime::now();
    for kept in all.iter().filter(|kept| !kept.is_in_use) {
        let is_old = now.duration_since(kept.changed).is_ok_and(|age| age > KEEP);
        if !is_old && sum <= room {
            break;
        }
        for file in &kept.files {
            // Another call may have removed it already.
            let _ = std::fs::remove_file(file);
        }
        sum -= kept.bytes;
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

impl StoredAnswer {
    /// Returns what is kept in these files, of which the last holds the text; `None` if it is
    /// gone.
    fn new(files: Vec<PathBuf>, is_in_use: bool) -> Option<Self> {
        let metadata = files.last()?.symlink_metadata().ok();
        let metadata = metadata.filter(Metadata::is_file)?;
        Some(Self {
            changed: metadata.modified().ok()?,
            // A log may be longer by its last line.
            bytes: metadata.len().min(log::MAX_BYTES),
            files,
            is_in_use,
        })
    }

    /// Parses the name of a kept answer; returns `None` for files of others.
    fn answer(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".txt")?;
        let mut numbers = name.rsplitn(4, '-').map(str::parse::<i32>);
        let (pid, nanos, secs) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let (Ok(pid), Ok(_), Ok(_)) = (pid, nanos, secs) else {
            return None;
        };
        Self::new(vec![path.to_owned()], Identity::find(pid).is_some())
    }

    /// Returns a log whose job is forgotten; `None` for other files.
    fn log_without_job(path: PathBuf) -> Option<Self> {
        let is_log = path.extension().is_some_and(|e| e == "log");
        if !is_log || path.with_extension("json").exists() {
            return None;
        }
        Self::new(vec![path], false)
    }

    fn log(job: &Job) -> Option<Self> {
        let files = vec![job.log.with_extension("json"), job.log.clone()];
        Self::new(files, job.is_running())
    }
}
