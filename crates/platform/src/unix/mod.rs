//! Unix: what rests on modes, owners and descriptors.

pub(crate) mod access;
pub mod files;
pub mod own;
pub mod program;
#[cfg(feature = "runtime")]
pub mod runtime;
pub(crate) mod sockets;
pub(crate) mod start;
pub(crate) mod supervisor;
pub mod tree;
pub mod tty;
