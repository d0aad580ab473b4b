//! The number of processors to share work among.

use std::sync::OnceLock;

/// Returns the processors that this process may use, within the limits of its control group. They are
/// counted once, because the standard library reads several files for that; 1 where it can't.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
