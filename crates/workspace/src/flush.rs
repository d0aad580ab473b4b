//! Flushing files to the disk behind the answers.
//!
//! A flush takes as long as the disk likes, often longer than all the rest of an edit. A process
//! that ends with its answer waits for it. A server need not: what it has written is in its place
//! for every program and survives the server's death, so a thread flushes it while the client
//! goes on. Only a loss of power in these milliseconds shows the difference.

use gemini_tools_core::text::visible;
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most files that wait, each with a descriptor; who writes more than the disk can take waits
/// for the disk.
const WAITING: usize = 16;

/// How long the last flushes are waited for. Nothing is lost by an end before: what the system has
/// been given it writes anyway.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A file in its place, whose content may still be in memory only.
struct Written {
    file: File,
    path: PathBuf,
}

/// Flushes files one after the other, on a thread that is there from the first one on. Dropping it
/// waits for a second until all are flushed.
pub struct FlushBehind {
    shared: Arc<Shared>,
}

struct Shared {
    log: fn(&str),
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Written>,
    /// Whether there is a thread.
    runs: bool,
    /// Whether the thread has a file in hand.
    is_busy: bool,
    /// Whether no more files will come.
    is_over: bool,
}

impl std::fmt::Debug for FlushBehind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlushBehind").finish_non_exhaustive()
    }
}

impl FlushBehind {
    /// `tell` is given, for a person, which file a disk could not take.
    pub fn new(log: fn(&str)) -> Self {
        Self {
            shared: Arc::new(Shared {
                log,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// Has the file flushed soon; where too many wait already, it is flushed on return.
    pub(super) fn push(&self, file: File, path: &Path) {
        let written = Written {
            file,
            path: path.to_owned(),
        };
        if let Some(rejected) = self.shared.queue(written) {
            rejected.flush(self.shared.log);
        }
    }
}

impl Drop for FlushBehind {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_over = true;
        self.shared.changed.notify_all();
        let is_working = |state: &mut State| state.is_busy || !state.waiting.is_empty();
        // What is not done by then is the system's.
        let _ = self
            .shared
            .changed
            .wait_timeout_while(state, SHUTDOWN_TIMEOUT, is_working);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a file wait for the thread, or gives it back.
    fn queue(self: &Arc<Self>, written: Written) -> Option<Written> {
        let mut state = self.state();
        if !state.runs {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new();
            if thread.spawn(move || shared.flush_all()).is_err() {
                return Some(written);
            }
            state.runs = true;
        }
        // The one that it has replaced has no owner any more, and still takes space.
        let same = state.waiting.iter_mut().find(|w| w.path == written.path);
        if let Some(replaced) = same {
            *replaced = written;
        } else if state.waiting.len() < WAITING {
            state.waiting.push_back(written);
        } else {
            return Some(written);
        }
        self.changed.notify_all();
        None
    }

    fn flush_all(&self) {
        let mut state = self.state();
        loop {
            if let Some(written) = state.waiting.pop_front() {
                state.is_busy = true;
                drop(state);
                written.flush(self.log);
                state = self.state();
                state.is_busy = false;
                self.changed.notify_all();
            } else if state.is_over {
                return;
            } else {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Written {
    fn flush(&self, log: fn(&str)) {
        // The next edit may have taken its place already.
        let is_replaced =
            gemini_tools_platform::fs::fstat(&self.file).is_ok_and(|stat| stat.st_nlink == 0);
        if !is_replaced && let Err(e) = self.file.sync_data() {
            let path = super::show_path(&self.path);
            let failure = format!("{path} was written, but flushing it to disk failed: {e}");
            log(&visible(&failure));
        }
    }
}

/// Has the disk begin to write a file whose name is not there yet, so that most often all is
/// written when a file system records the name.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix does not wrap this system call")]
pub(super) fn begin(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: takes plain numbers. Where it fails, the flush begins it.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Has the disk begin to write a file, where there is a way to ask for that.
#[cfg(not(target_os = "linux"))]
pub(super) fn begin(_: &File) {}

/// Whether the file may be flushed behind the answer: where space is set aside for what is written
/// at once, only the disk's own failure can show so late. (Over a network it may be a full disk.)
#[cfg(target_os = "linux")]
pub(super) fn may_wait(file: &File) -> bool {
    /// As in `linux/magic.h`: ext2 to ext4, XFS, Btrfs, F2FS, overlayfs, tmpfs.
    const HERE: [u32; 6] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0xF2F5_2010,
        0x794C_7630,
        0x0102_1994,
    ];
    gemini_tools_platform::fs::fstatfs(file).is_ok_and(|stat| HERE.contains(&(stat.f_type as u32)))
}

/// Whether the file may be flushed behind the answer: not where we can't try it.
#[cfg(not(target_os = "linux"))]
pub(super) fn may_wait(_: &File) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::{FlushBehind, WAITING};
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::Mutex;

    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[test]
    fn each_path_is_flushed_before_the_end_and_failures_are_told() {
        let behind = FlushBehind::new(|text| TOLD.lock().expect("no panic").push(text.to_owned()));
        let paths: Vec<_> = (0..4 * WAITING).map(|n| format!("some/file{n}")).collect();
        for path in paths.iter().flat_map(|path| [path, path]) {
            // Nothing keeps a pipe on a disk.
            let (_, end) = std::io::pipe().expect("a pipe");
            behind.push(File::from(OwnedFd::from(end)), Path::new(path));
        }
        drop(behind);
        let told = TOLD.lock().expect("no panic");
        for path in paths {
            let words = format!("{path} was written, but flushing it to disk failed: ");
            assert!(told.iter().any(|text| text.starts_with(&words)), "{told:?}");
        }
    }
}
