//! Identifiers of sessions and of prompts.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// Returns a UUID of version 4 that is unlikely to come again. Not a secret: the standard library's
/// hash keys, which the kernel has given by chance, are stretched to make it.
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
