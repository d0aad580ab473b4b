//! Unix: what rests on modes, owners and descriptors.

pub mod files;
pub mod holes;
pub mod program;
pub mod start;
