//! The number of processors over which work is spread.

use std::sync::OnceLock;

/// Returns the number of processors that this process may use within the limits of its control
/// group, or 1 if that is unknown. It is counted once, because the standard library reads several
/// files for it.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
