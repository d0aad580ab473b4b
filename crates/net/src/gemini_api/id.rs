//! Identifiers of sessions and prompts.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// Returns a random UUID of version 4. It must not serve as a secret: it is derived from the keys
/// of the standard library's hasher, which the kernel supplies, and not from a cryptographic
/// generator.
pub fn unique_id() -> String {
    let number = || RandomState::new().hash_one(SystemTime::now());
    let (a, b) = (number(), number());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}
