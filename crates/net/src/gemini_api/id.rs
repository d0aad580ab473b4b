//! Random numbers, and identifiers of sessions and prompts.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// Returns a random number, taken from the keys of the standard library's hasher, which the kernel
/// supplies. That saves a dependency; it is no cryptographic generator.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}

/// Returns a random UUID of version 4. It must not serve as a secret: the generator is not a
/// cryptographic one.
pub fn unique_id() -> String {
    let (a, b) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}
