//! Background processes, which later calls can find and end.
//!
//! A later call may be a process of its own, so what is known of a background job is in two files
//! of the project's temporary directory: a record (JSON lines: first what was started, then how
//! each process ended) and the log of its output. Each process id goes with the time at which the
//! process started, so that neither a stale record nor a reused id is taken for a living job.

use super::ending::ProcessEnd;
use super::log::{self, Log};
use crate::tree;
use crate::tree::Identity;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MAX_RECORD_BYTES: u64 = 1024 * 1024;

/// What is recorded when a job begins: its processes and its command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// The processes that were left in the background, the first of which names the job.
    pub processes: Vec<Identity>,
    /// The session of all these processes, unless they have left it.
    pub session: i32,
    /// The supervisor that watches over the job; `None` if it was not found when the job began.
    pub supervisor: Option<Identity>,
    /// The boot of the machine ([`tree::boot_id`]) in which the process ids are valid.
    pub boot_id: String,
    /// The command line.
    pub command: String,
    /// The directory in which the command runs.
    pub directory: String,
    /// The conversation with a model in which the command was started, by the name that the
    /// workspace's record of seen files gives it.
    #[serde(default)]
    pub conversation: String,
    /// When the job began, in seconds since 1970.
    pub started_at: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndingLine {
    pid: i32,
    exit_code: Option<i32>,
    signal: Option<i32>,
    ended_at: u64,
}

/// Converts a time to seconds since 1970.
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn process_ids(record: &mut impl Read) -> Vec<i32> {
    let mut text = String::new();
    // If the record can't be read, no ends of processes are recorded.
    let _ = record.take(MAX_RECORD_BYTES).read_to_string(&mut text);
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str::<JobRecord>(first)
        .map(|r| r.processes.iter().map(|p| p.pid).collect())
        .unwrap_or_default()
}

pub(crate) struct JobFiles {
    log: Log,
    record: File,
    processes: Vec<i32>,
}

impl JobFiles {
    pub(crate) fn open(record: &Path, log: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut record = File::from(rustix::fs::open(record, flags, Mode::empty())?);
        Ok(Self {
            log: Log::reopen(log)?,
            processes: process_ids(&mut record),
            record,
        })
    }

    /// Appends output to the log. An error is ignored: losing output is better than stopping a
    /// command that may run for days.
    pub(crate) fn append_output(&mut self, bytes: &[u8]) {
        let _ = self.log.append(bytes);
    }

    pub(crate) fn record_end(&mut self, process: i32, status: ExitStatus) {
        if self.processes.contains(&process) {
            let line = EndingLine {
                pid: process,
                exit_code: status.code(),
                signal: status.signal(),
                ended_at: seconds(SystemTime::now()),
            };
            // The line has only numbers, so converting it to JSON can't fail.
            let line = serde_json::to_string(&line).unwrap_or_default() + "\n";
            // A full disk must not keep the supervisor from watching over the job.
            let _ = self.record.write_all(line.as_bytes());
        }
    }
}

/// The jobs of one project.
#[derive(Debug, Clone)]
pub struct Jobs {
    dir: PathBuf,
}

/// A job as it is now.
#[derive(Debug, Clone)]
pub struct Job {
    /// What was recorded when the job began.
    pub record: JobRecord,
    /// The job's log.
    pub log: PathBuf,
    /// The living processes, the oldest first.
    pub living: Vec<Identity>,
    endings: Vec<EndingLine>,
    /// True if the supervisor is alive. After it was killed, ends of processes are not recorded.
    is_watched: bool,
}

/// The files of a new job.
#[derive(Debug)]
pub struct Files {
    /// The record, in JSON lines.
    pub record: PathBuf,
    /// The raw output.
    pub log: PathBuf,
}

impl Jobs {
    /// Returns the jobs whose files are in this directory, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Makes the files of a new job. `write_log` makes the log with the output so far.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error; both files are removed then.
    pub fn create(
        &self,
        record: &JobRecord,
        write_log: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Files> {
        let first = record.processes.first().ok_or(io::ErrorKind::NotFound)?;
        let name = format!("{}-{}", first.pid, first.start_time);
        let files = Files {
            record: self.dir.join(format!("{name}.json")),
            log: self.dir.join(format!("{name}.log")),
        };
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let written = log::new_file(&files.record)
            .and_then(|mut file| file.write_all(&line))
            .and_then(|()| write_log(&files.log));
        if let Err(e) = written {
            for path in [&files.record, &files.log] {
                // The file may not exist: it was not made yet, or another call has removed it.
                let _ = std::fs::remove_file(path);
            }
            return Err(e);
        }
        Ok(files)
    }

    /// Returns all jobs that have a record, the latest first.
    pub fn list(&self) -> Vec<Job> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let boot_id = tree::boot_id();
        let mut jobs: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .filter_map(|path| Job::read(&path, &boot_id))
            .collect();
        jobs.sort_by_key(|job| {
            let first = job.record.processes.first();
            std::cmp::Reverse((job.record.started_at, first.map(|p| p.start_time)))
        });
        jobs
    }

    /// Returns the job that a process belongs to. If several jobs have this process id, returns one
    /// that still runs, or else the latest.
    pub fn find(&self, pid: i32) -> Option<Job> {
        let jobs = self.list();
        let is_living = |job: &&Job| job.living.iter().any(|p| p.pid == pid);
        let began = |job: &&Job| job.record.processes.iter().any(|p| p.pid == pid);
        jobs.iter()
            .find(is_living)
            .or_else(|| jobs.iter().find(began))
            .cloned()
    }
}

impl Files {
    /// Removes the record, so that no call finds the job any more. Its output stays.
    pub fn forget_job(&self) {
        // Another call may have removed it already.
        let _ = std::fs::remove_file(&self.record);
    }
}

impl Job {
    fn read(path: &Path, boot_id: &str) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        let mut text = String::new();
        (&file)
            .take(MAX_RECORD_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        let record: JobRecord = serde_json::from_str(text.lines().next()?).ok()?;
        let same_boot = record.boot_id == boot_id;
        let supervisor = record.supervisor.filter(|w| same_boot && w.is_alive());
        let living = match supervisor {
            Some(supervisor) => tree::watched(supervisor.pid, record.session),
            None if same_boot => unwatched(&record),
            None => Vec::new(),
        };
        // Read after the check for the supervisor: if that has ended, its record is complete.
        file.take(MAX_RECORD_BYTES).read_to_string(&mut text).ok()?;
        let endings = text.lines().skip(1);
        let endings = endings.filter_map(|line| serde_json::from_str(line).ok());
        Some(Self {
            record,
            log: path.with_extension("log"),
            living,
            endings: endings.collect(),
            is_watched: supervisor.is_some(),
        })
    }

    /// Returns the process id that names the job.
    pub fn pid(&self) -> i32 {
        self.record.processes.first().map_or(0, |p| p.pid)
    }

    /// Returns true if any process of the job or its supervisor is alive. The end of the last
    /// process is recorded only when the supervisor has ended too.
    pub fn is_running(&self) -> bool {
        self.is_watched || !self.living.is_empty()
    }

    /// Returns how a process of the job ended; `None` if that is not recorded.
    pub fn ending_of(&self, pid: i32) -> Option<ProcessEnd> {
        let line = self.endings.iter().find(|line| line.pid == pid)?;
        Some(match (line.exit_code, line.signal) {
            (_, Some(signal)) => ProcessEnd::Signal(signal),
            (code, None) => ProcessEnd::Code(code.unwrap_or(0)),
        })
    }

    /// Returns true if the process is alive, or, if its id stands for the whole job, if the job
    /// still runs.
    pub fn is_alive(&self, pid: i32) -> bool {
        if self.is_whole(pid) {
            self.is_running()
        } else {
            self.living.iter().any(|p| p.pid == pid)
        }
    }

    /// Returns true if a process id stands for the whole job: it is that of the job's shell, which
    /// leads the session, or that of the only process of the job.
    fn is_whole(&self, pid: i32) -> bool {
        pid == self.record.session || (pid == self.pid() && self.record.processes.len() == 1)
    }

    /// Ends the whole job if `pid` stands for it, otherwise the process `pid` with its descendants:
    /// with SIGTERM, and with SIGKILL after `grace`, or after [`GRACE`](super::ending::GRACE) if a
    /// supervisor ends the job. Returns the processes that could not be ended.
    pub fn stop(&self, pid: i32, grace: Duration) -> Vec<Identity> {
        if !self.is_whole(pid) {
            let chosen = self.living.iter().filter(|p| p.pid == pid);
            return tree::end(&chosen.copied().collect::<Vec<_>>(), grace);
        }
        match self.record.supervisor.filter(|_| self.is_watched) {
            Some(supervisor) => {
                // The supervisor ends all processes below it, even those being started.
                supervisor.signal(Signal::TERM);
                let until = std::time::Instant::now() + grace + Duration::from_secs(12);
                while supervisor.is_alive() && std::time::Instant::now() < until {
                    // Another process may have stopped the supervisor.
                    supervisor.signal(Signal::CONT);
                    std::thread::sleep(Duration::from_millis(4));
                }
                let mut left = self.living.clone();
                left.retain(|p| p.is_alive());
                tree::end(&left, grace)
            }
            None => tree::end(&self.living, grace),
        }
    }
}

/// Returns the living processes of a job whose supervisor was killed, found by their session.
fn unwatched(record: &JobRecord) -> Vec<Identity> {
    let began = record.processes.iter().map(|p| p.start_time).min();
    let mut living: Vec<_> = tree::of_session(record.session)
        .into_iter()
        // A process that is older than all of the job belongs to another session with the same id.
        .filter(|p| began.is_some_and(|b| p.start_time >= b))
        .collect();
    let is_ours = record.processes.iter().any(|p| p.is_alive())
        || living.first().is_some_and(|p| p.pid != record.session);
    if !is_ours {
        living.clear();
    }
    for process in &record.processes {
        if process.is_alive() && !living.contains(process) {
            living.push(*process);
        }
    }
    living
}
