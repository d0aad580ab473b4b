//! Flushing files to the disk behind the answers.
//!
//! A flush takes as long as the disk likes, often longer than all the rest of an edit. A process
//! that ends with its answer waits for it. A server need not: what it has written is in its place
//! for every program and survives the server's death, so a thread flushes it while the client
//! goes on. Only a loss of power in these milliseconds shows the difference.

use crate::shown::visible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// The most files that wait; who writes more than the disk can take waits for the disk.
const WAITING: usize = 64;

/// A file in its place, whose content may still be in memory only.
struct Written {
    file: File,
    path: PathBuf,
}

/// Flushes files one after the other, on a thread that is there from the first one on. Dropping it
/// waits until all are flushed.
pub struct FlushBehind {
    tell: fn(&str),
    flusher: Mutex<Option<Flusher>>,
}

struct Flusher {
    queue: SyncSender<Written>,
    thread: JoinHandle<()>,
}

impl std::fmt::Debug for FlushBehind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlushBehind").finish_non_exhaustive()
    }
}

impl FlushBehind {
    /// `tell` is given, for a person, which file a disk could not take.
    pub fn new(tell: fn(&str)) -> Self {
        Self {
            tell,
            flusher: Mutex::default(),
        }
    }

    /// Has the file flushed soon; where too many wait already, it is flushed on return.
    pub(super) fn push(&self, file: File, path: &Path) {
        let path = path.to_owned();
        let written = Written { file, path };
        let rejected = match self.queue() {
            Some(queue) => match queue.try_send(written) {
                Ok(()) => return,
                Err(TrySendError::Full(written) | TrySendError::Disconnected(written)) => written,
            },
            None => written,
        };
        flush(&rejected, self.tell);
    }

    /// Where files wait; `None` where no thread can be started.
    fn queue(&self) -> Option<SyncSender<Written>> {
        let mut flusher = self.flusher.lock().unwrap_or_else(PoisonError::into_inner);
        if flusher.is_none() {
            *flusher = Flusher::start(self.tell).ok();
        }
        flusher.as_ref().map(|flusher| flusher.queue.clone())
    }
}

impl Drop for FlushBehind {
    fn drop(&mut self) {
        let flusher = self.flusher.get_mut();
        let flusher = flusher.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Flusher { queue, thread }) = flusher {
            // The end of the queue is the thread's.
            drop(queue);
            let _ = thread.join();
        }
    }
}

impl Flusher {
    fn start(tell: fn(&str)) -> io::Result<Self> {
        let (queue, waiting) = mpsc::sync_channel(WAITING);
        let work = move || flush_all(&waiting, tell);
        let thread = std::thread::Builder::new().spawn(work)?;
        Ok(Self { queue, thread })
    }
}

fn flush_all(waiting: &Receiver<Written>, tell: fn(&str)) {
    for written in waiting {
        flush(&written, tell);
    }
}

fn flush(written: &Written, tell: fn(&str)) {
    let Written { file, path } = written;
    // The next edit has taken its place already.
    let is_replaced = crate::sys::fs::fstat(file).is_ok_and(|stat| stat.st_nlink == 0);
    if !is_replaced && let Err(e) = file.sync_data() {
        let path = super::show_path(path);
        let failure = format!("{path} was written, but the disk failed to keep it: {e}");
        tell(&visible(&failure));
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
    crate::sys::fs::fstatfs(file).is_ok_and(|stat| HERE.contains(&(stat.f_type as u32)))
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    static TOLD: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn all_are_flushed_when_it_is_dropped_and_failures_are_told() {
        let behind = FlushBehind::new(|text| {
            assert!(text.starts_with("some/file was written"), "{text}");
            TOLD.fetch_add(1, Ordering::Relaxed);
        });
        let files = 4 * WAITING;
        for _ in 0..files {
            // Nothing keeps a pipe on a disk.
            let (_, end) = std::io::pipe().expect("a pipe");
            behind.push(File::from(OwnedFd::from(end)), Path::new("some/file"));
        }
        drop(behind);
        assert_eq!(TOLD.load(Ordering::Relaxed), files);
    }
}
