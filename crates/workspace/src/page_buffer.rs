//! A buffer for reading files.

use std::ops::{Deref, DerefMut};

const PAGE_BYTES: usize = 4096;

/// A buffer of fixed size that begins at a page. The system copies into it up to a third faster
/// than into the middle of a page, where allocators put large blocks.
#[derive(Debug)]
pub struct PageBuffer {
    memory: Vec<u8>,
    start: usize,
    size: usize,
}

impl PageBuffer {
    /// Returns a buffer of `size` bytes.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let memory = vec![0; size + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Self {
            memory,
            start,
            size,
        }
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.size]
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.size]
    }
}
