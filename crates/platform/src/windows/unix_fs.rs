//! Modes of new files, which Windows has none of: what a user makes in their own directory
//! inherits its list of who may do what.

use std::fs::{DirBuilder, OpenOptions};

/// Modes of new files.
pub trait OpenOptionsExt {
    /// Changes nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _mode: u32) -> &mut Self {
        self
    }
}

/// Modes of new directories.
pub trait DirBuilderExt {
    /// Changes nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _mode: u32) -> &mut Self {
        self
    }
}
