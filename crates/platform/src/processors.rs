//! How many processors there are to share work among.

use std::sync::OnceLock;

/// The processors that this process may use, which are counted once. On Linux only the scheduler
/// is asked: the standard library's answer also reads several control-group files.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        #[cfg(target_os = "linux")]
        {
            rustix::thread::sched_getaffinity(None)
                .map_or(1, |set| set.count() as usize)
                .max(1)
        }
        #[cfg(not(target_os = "linux"))]
        {
            std::thread::available_parallelism().map_or(1, usize::from)
        }
    })
}
