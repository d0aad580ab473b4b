//! Stores answers that are too long for a model, so that later calls can read the rest.
//!
//! The workspace chooses the directory. This module writes the files, and removes the oldest when
//! there are too many.

use crate::jobs::{Job, Jobs};
use crate::log;
use crate::tree::Identity;
use gemini_tools_workspace::files::make_private;
use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum total size in bytes of the files of all projects, including room for the file that is
/// about to be written.
const MAX_KEPT_BYTES: u64 = 1024 * 1024 * 1024;

/// Writes the text that `tool` has answered into a new file of `directory` and returns its path;
/// `None` if it can't be written.
pub fn keep(directory: &Path, tool: &str, text: &str) -> Option<PathBuf> {
    let path = new_file(directory, tool)?;
    let mut file = log::new_file(&path).ok()?;
    if file.write_all(text.as_bytes()).is_err() {
        // A part of the answer would be taken for the whole of it.
        let _ = std::fs::remove_file(&path);
        return None;
    }
    Some(path)
}

/// Returns the path of a new file in `directory` for an answer of `tool`, after making room and the
/// directory; `None` if that can't be made.
pub fn new_file(directory: &Path, tool: &str) -> Option<PathBuf> {
    make_room(directory);
    make_private(directory).ok()?;
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

/// Removes the oldest files of all projects until there is room for one more. `directory` holds the
/// answers of one project, and those of the other projects are found from two levels above it.
pub fn make_room(directory: &Path) {
    if let Some(projects) = directory.ancestors().nth(2) {
        remove_oldest(projects);
    }
}

struct StoredAnswer {
    changed: SystemTime,
    bytes: u64,
    files: Vec<PathBuf>,
    /// True if the process that wrote the answer is alive, or the job of the log still runs.
    is_in_use: bool,
}

/// Removes files that are older than [`KEEP`], then the oldest ones until there is room for one
/// more. Files in use stay, and those of other programs.
fn remove_oldest(tmp: &Path) {
    let mut all = Vec::new();
    for project in entries(tmp) {
        let outputs = entries(&project.join("tool-outputs"));
        all.extend(outputs.filter_map(|path| StoredAnswer::answer(&path)));
        all.extend(entries(&project).filter_map(StoredAnswer::declarations));
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
            // A directory goes with its last file.
            let above = file.ancestors().skip(1).take_while(|above| *above != tmp);
            above.for_each(|above| drop(std::fs::remove_dir(above)));
        }
        sum -= kept.bytes;
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

impl StoredAnswer {
    fn new(files: Vec<PathBuf>, is_in_use: bool) -> Option<Self> {
        let metadata = files.last()?.symlink_metadata().ok();
        let metadata = metadata.filter(Metadata::is_file)?;
        Some(Self {
            changed: metadata.modified().ok()?,
            // The last line of a full log, a note that it is full, does not count.
            bytes: metadata.len().min(log::MAX_BYTES),
            files,
            is_in_use,
        })
    }

    fn answer(path: &Path) -> Option<Self> {
        // `TOOL-SECONDS-NANOSECONDS-PID.txt`; files of other names belong to other programs.
        let name = path.file_name()?.to_str()?.strip_suffix(".txt")?;
        let mut numbers = name
            .rsplitn(4, '-')
            .map_while(|word| word.parse::<u64>().ok());
        let (pid, _, _) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let pid = i32::try_from(pid).ok()?;
        Self::new(vec![path.to_owned()], Identity::find(pid).is_some())
    }

    /// Returns the file if it says what the project's own tools declare, which can be computed again.
    fn declarations(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let is_ours = name.starts_with("tools-of-") || name.starts_with("tool-pair-");
        Self::new(vec![path], false).filter(|_| is_ours)
    }

    fn log_without_job(path: PathBuf) -> Option<Self> {
        let is_log = path.extension().is_some_and(|e| e == "log");
        // If the record exists, the log is counted with its job. Otherwise the job was forgotten.
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

#[cfg(test)]
mod tests {
    use super::StoredAnswer;

    #[test]
    fn an_answer_is_known_by_its_name_at_any_time() {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, is_ours) in [
            ("read_file-1764396484-000000001-1.txt", true),
            ("my-tool-4102444800-999999999-2147483647.txt", true),
            ("read_file-4102444800-000000001.txt", false),
            ("read_file-1764396484-000000001-x.txt", false),
            ("notes.txt", false),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, "x").expect("written");
            assert_eq!(StoredAnswer::answer(&path).is_some(), is_ours, "{name}");
        }
    }
}
