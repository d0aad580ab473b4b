//! The access of a file that is replaced, given to the one that takes its place: its owner, its
//! group, its mode and its extended attributes.

pub use crate::system::access::copy;

use crate::io::Errno;

/// Why a file can't have the same access as another.
#[derive(Debug)]
pub enum NotKept {
    /// What the system says.
    System(Errno),
    /// The file would belong to another user or group.
    Owner {
        /// The user and the group of the old file.
        before: (u32, u32),
        /// The user and the group that the new file would have.
        now: (u32, u32),
    },
    /// The system gives it another mode than this, in octal digits.
    Mode(String),
    /// Which attributes there are can't be told.
    Attributes(Errno),
    /// The attribute of this name can't be kept.
    Attribute(Vec<u8>, Errno),
}
