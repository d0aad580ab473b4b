//! Names and paths as bytes: as UTF-8, which file names of other systems are.

use std::ffi::{OsStr, OsString};

/// A name that no file has: it holds a character that none can hold.
const NONE: &str = "\u{fffd}?";

/// Names as bytes.
pub trait OsStrExt {
    /// UTF-8, where the name is Unicode.
    fn as_bytes(&self) -> &[u8];

    /// The name of these bytes. Where they are not UTF-8, no file has the name.
    fn from_bytes(bytes: &[u8]) -> &Self;
}

impl OsStrExt for OsStr {
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> &Self {
        OsStr::new(std::str::from_utf8(bytes).unwrap_or(NONE))
    }
}

/// Owned names from bytes.
pub trait OsStringExt {
    /// As [`OsStrExt::from_bytes`].
    fn from_vec(bytes: Vec<u8>) -> Self;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> Self {
        OsStr::from_bytes(&bytes).to_owned()
    }
}
