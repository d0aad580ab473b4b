//! The allocator of executables that are linked to musl.
//!
//! musl's own has one lock for all threads and is slow besides: a search that finds 34,792 lines
//! takes a fifth longer with it. `mimalloc` is fast, but takes 0.8 ms to start, three times the
//! whole of a small call. So small blocks come from `dlmalloc`, which starts with nothing, and
//! which is what glibc's descends from. What is freed between other blocks stays in the process with
//! it, so large blocks are mapped one by one, as glibc's are. They grow without being copied, and are
//! gone when they are freed.
//!
//! `dlmalloc` has one lock, too, and what it keeps in order travels between processors with it: two
//! threads that allocate take three times as long as one. So each thread keeps some of the small
//! blocks that it has freed, in a list for each size, and takes them from there again.

#![expect(unsafe_code, reason = "memory is bare pointers to an allocator")]

use dlmalloc::GlobalDlmalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

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
const MIN_PAGE_BYTES: usize = 4096;

/// A thread keeps blocks of as many sizes, each 16 bytes larger than the one before: `dlmalloc`'s
/// blocks have 8 bytes before a multiple of 16.
const SIZES: usize = 32;

/// A thread keeps as many blocks of each size.
const MAX_KEPT: u8 = 16;

/// What a thread has freed.
struct FreeLists {
    /// The last block of each size, which holds where the one before is.
    blocks: [*mut u8; SIZES],
    counts: [u8; SIZES],
    /// Whether the thread's end is told, so that all are given back.
    is_registered: bool,
    is_over: bool,
}

thread_local! {
    static FREE_LISTS: UnsafeCell<FreeLists> = const {
        UnsafeCell::new(FreeLists {
            blocks: [ptr::null_mut(); SIZES],
            counts: [0; SIZES],
            is_registered: false,
            is_over: false,
        })
    };
}

/// One more than the key by which threads are told that they end; 0 where it was not made yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// All of `dlmalloc`'s blocks are aligned to as many bytes.
const ALIGNMENT: usize = 2 * size_of::<usize>();

/// Which of the sizes a block has.
fn kept_size(layout: Layout) -> Option<usize> {
    let size = (layout.size() + 7) / 16;
    (size < SIZES && layout.align() <= ALIGNMENT).then_some(size)
}

/// The bytes of a block of one of the sizes.
fn bytes_of(size: usize) -> usize {
    size * 16 + 8
}

impl FreeLists {
    /// Takes a block that is kept.
    fn take(&mut self, size: usize) -> Option<*mut u8> {
        let block = self.blocks[size];
        if block.is_null() {
            return None;
        }
        // SAFETY: a block that is kept holds where the one before is.
        self.blocks[size] = unsafe { block.cast::<*mut u8>().read_unaligned() };
        self.counts[size] -= 1;
        Some(block)
    }

    /// Keeps a block, where there is room for it.
    fn keep(&mut self, size: usize, block: *mut u8) -> bool {
        if self.counts[size] >= MAX_KEPT || self.is_over {
            return false;
        }
        if !self.is_registered {
            if !register() {
                return false;
            }
            self.is_registered = true;
        }
        // SAFETY: the block was freed, and has at least the bytes of a pointer.
        unsafe { block.cast::<*mut u8>().write_unaligned(self.blocks[size]) };
        self.blocks[size] = block;
        self.counts[size] += 1;
        true
    }
}

/// Has [`give_back`] called when this thread ends.
fn register() -> bool {
    let mut key = KEY.load(Ordering::Acquire);
    if key == 0 {
        let mut made: libc::pthread_key_t = 0;
        // SAFETY: the pointer is valid for the call, which allocates nothing.
        if unsafe { libc::pthread_key_create(&raw mut made, Some(give_back)) } != 0 {
            return false;
        }
        // Another thread may have made one meanwhile. That costs a key.
        key = match KEY.compare_exchange(0, made + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made + 1,
            Err(other) => other,
        };
    }
    // SAFETY: the key was made. What is set is never read, but must not be null.
    unsafe { libc::pthread_setspecific(key - 1, ptr::dangling()) == 0 }
}

extern "C" fn give_back(_set: *mut libc::c_void) {
    FREE_LISTS.with(|kept| {
        // SAFETY: no other reference to it exists while this thread is here.
        let kept = unsafe { &mut *kept.get() };
        kept.is_over = true;
        for size in 0..SIZES {
            while let Some(block) = kept.take(size) {
                // SAFETY: it came from there, with this layout.
                unsafe {
                    let layout = Layout::from_size_align_unchecked(bytes_of(size), ALIGNMENT);
                    GlobalDlmalloc.dealloc(block, layout);
                }
            }
        }
    });
}

/// Takes a block that this thread keeps.
fn take(size: usize) -> Option<*mut u8> {
    // SAFETY: no other reference to it exists while this thread is here.
    FREE_LISTS.with(|kept| unsafe { &mut *kept.get() }.take(size))
}

/// The layout with which a block of one of the sizes comes from `dlmalloc`.
fn layout_of(size: usize, layout: Layout) -> Layout {
    // SAFETY: some hundred bytes, with an alignment that is valid.
    unsafe { Layout::from_size_align_unchecked(bytes_of(size), layout.align()) }
}

fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES && layout.align() <= MIN_PAGE_BYTES
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
        let Some(size) = kept_size(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { GlobalDlmalloc.alloc(layout) };
        };
        // SAFETY: the size is not 0.
        take(size).unwrap_or_else(|| unsafe { GlobalDlmalloc.alloc(layout_of(size, layout)) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        if let Some(size) = kept_size(layout) {
            // SAFETY: as the caller promises; a block has all the bytes of its size.
            return unsafe {
                let block = self.alloc(layout);
                if !block.is_null() {
                    block.write_bytes(0, bytes_of(size));
                }
                block
            };
        }
        // SAFETY: as the caller promises.
        unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(size) = kept_size(layout)
            // SAFETY: no other reference to it exists while this thread is here.
            && FREE_LISTS.with(|kept| unsafe { &mut *kept.get() }.keep(size, block))
        {
            return;
        }
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
            let new_size = kept_size(new);
            if new_size.is_some() && new_size == kept_size(layout) {
                return block;
            }
            // What becomes one of the sizes has all of its bytes.
            let new = new_size.map_or(new, |size| layout_of(size, new));
            let size = new.size();
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

#[cfg(test)]
mod tests {
    use super::{Allocator, LARGE_BYTES};
    use std::alloc::{GlobalAlloc, Layout};
    use std::slice;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a valid layout")
    }

    /// A block of the allocator, all of whose bytes have one value.
    struct Block {
        start: *mut u8,
        layout: Layout,
        value: u8,
    }

    // SAFETY: nothing else leads to its bytes.
    unsafe impl Send for Block {}

    impl Block {
        fn new(size: usize, align: usize, value: u8) -> Self {
            let layout = layout(size, align);
            // SAFETY: the size is not 0.
            let start = unsafe { Allocator.alloc_zeroed(layout) };
            let mut block = Self {
                start,
                layout,
                value: 0,
            };
            block.check();
            block.fill(value);
            block
        }

        fn bytes(&mut self) -> &mut [u8] {
            assert!(!self.start.is_null() && self.start.addr().is_multiple_of(self.layout.align()));
            // SAFETY: the block is its own, and was zeroed or filled.
            unsafe { slice::from_raw_parts_mut(self.start, self.layout.size()) }
        }

        fn fill(&mut self, value: u8) {
            self.value = value;
            self.bytes().fill(value);
        }

        fn check(&mut self) {
            let (value, layout) = (self.value, self.layout);
            assert!(self.bytes().iter().all(|&byte| byte == value), "{layout:?}");
        }

        fn resize(&mut self, size: usize) {
            let kept = size.min(self.layout.size());
            // SAFETY: the block came from there, with this layout.
            self.start = unsafe { Allocator.realloc(self.start, self.layout, size) };
            self.layout = layout(kept, self.layout.align());
            self.check();
            self.layout = layout(size, self.layout.align());
            self.fill(self.value);
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            self.check();
            // SAFETY: the block came from there, with this layout.
            unsafe { Allocator.dealloc(self.start, self.layout) };
        }
    }

    /// Makes, resizes and frees blocks, gives some to another thread, and frees some of its.
    fn use_blocks(mut random: u64, others: &Sender<Block>, given: &Receiver<Block>) {
        let mut below = |count: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(random >> 40).expect("24 bits") % count
        };
        let mut blocks: Vec<Block> = Vec::new();
        for step in 0..20_000_u32 {
            let size = 1 + match below(1000) {
                0 => below(2 * LARGE_BYTES),
                1..50 => below(20_000),
                _ => below(600),
            };
            match below(8) {
                0..3 => blocks.push(Block::new(size, 1 << below(8), step.to_le_bytes()[0])),
                3 if !blocks.is_empty() => blocks[0].resize(size),
                4 if !blocks.is_empty() => {
                    // The other thread may have ended.
                    drop(others.send(blocks.swap_remove(below(blocks.len()))));
                }
                5 => blocks.extend(given.try_recv()),
                _ if !blocks.is_empty() => drop(blocks.swap_remove(below(blocks.len()))),
                _ => {}
            }
        }
    }

    #[test]
    fn no_block_shares_its_bytes_whichever_thread_frees_it() {
        for round in 0..4 {
            let (to_left, left) = channel();
            let (to_right, right) = channel();
            let first = thread::spawn(move || use_blocks(2 * round, &to_right, &left));
            let second = thread::spawn(move || use_blocks(2 * round + 1, &to_left, &right));
            first.join().expect("the first thread ends");
            second.join().expect("the second thread ends");
        }
    }
}
