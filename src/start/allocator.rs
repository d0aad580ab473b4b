//! The allocator of executables that are linked to musl.
//!
//! musl's own has one lock for all threads and is slow besides: a search that finds 34,792 lines
//! takes a fifth longer with it. `mimalloc` is fast, but takes 0.8 ms to start, three times the
//! whole of a small call. So small blocks come from `dlmalloc`, which starts with nothing, and
//! which is what glibc's descends from. What is freed between other blocks stays in the process with
//! it, so large blocks are mapped one by one, as glibc's are. They grow without being copied, and are
//! gone when they are freed.

#![expect(unsafe_code, reason = "memory is bare pointers to an allocator")]

use dlmalloc::GlobalDlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

/// What executables allocate with.
#[derive(Debug)]
pub struct Allocator;

/// Has processes that are forked go on allocating, whatever other threads were doing, as glibc has.
pub extern "C" fn allow_forks() {
    // SAFETY: it is called before any allocation.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}

/// Blocks of as many bytes and more are mapped.
const LARGE_BYTES: usize = 1 << 20;

/// Mappings begin where a page does.
const LEAST_PAGE_BYTES: usize = 4096;

fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES && layout.align() <= LEAST_PAGE_BYTES
}

/// Maps as many bytes of zero; null where the system has no more.
fn map(count: usize) -> *mut u8 {
    const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
    const KIND: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the system chooses a place where nothing is.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), count, ACCESS, KIND, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    mapped.cast()
}

// SAFETY: a block is mapped, or is one of `dlmalloc`'s, by its layout alone, which is the same when
// it is freed; where the layout of a block becomes that of the other kind, it is copied.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        // SAFETY: as the caller promises.
        unsafe { GlobalDlmalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        // SAFETY: as the caller promises.
        unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is the caller's, and is of the kind that its layout says.
        unsafe {
            if is_mapped(layout) {
                libc::munmap(block.cast(), layout.size());
            } else {
                GlobalDlmalloc.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that is valid with this alignment. The block is the
        // caller's, and is of the kind that its layout says.
        unsafe {
            let new = Layout::from_size_align_unchecked(size, layout.align());
            match (is_mapped(layout), is_mapped(new)) {
                (false, false) => GlobalDlmalloc.realloc(block, layout, size),
                (true, true) => {
                    let block = block.cast();
                    let moved = libc::mremap(block, layout.size(), size, libc::MREMAP_MAYMOVE);
                    if moved == libc::MAP_FAILED {
                        return ptr::null_mut();
                    }
                    moved.cast()
                }
                _ => {
                    let moved = self.alloc(new);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(block, moved, size.min(layout.size()));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}
