//! Copying and comparing memory, for executables that are linked to musl on x86-64.
//!
//! musl compares byte by byte, and copies by a string instruction, which takes about as long for
//! ten bytes as for a hundred: a glob over the Linux kernel's sources takes a fifth longer so. These take 16 bytes at
//! a time, which every processor of that architecture can.
//!
//! Up to 128 bytes are loaded whole before any is stored. The loads are pairs, one from the
//! beginning and one from the end, which meet or overlap in the middle, so that no length needs a
//! loop, and an overlap of the two places does no harm. What is longer is copied in blocks of
//! 64 bytes, from the end where the destination begins within the source.
//!
//! They are in assembly language because the compiler may make a call of `memcpy` or `memcmp` of
//! anything that copies or compares: here a call of itself, without an end.

#![expect(unsafe_code, reason = "the functions are C's, over bare pointers")]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

/// Copies as C's `memmove` does, and so also as its `memcpy`; gives `to`.
///
/// # Safety
///
/// `count` bytes can be read at `from` and written at `to`.
#[unsafe(naked)]
pub unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    naked_asm!(
        "mov rax, rdi",
        "cmp rdx, 16",
        "jb 3f",
        "cmp rdx, 32",
        "ja 6f",
        // 16 to 32 bytes.
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + rdx - 16], xmm1",
        "ret",
        "3:",
        "cmp edx, 8",
        "jb 4f",
        "mov rcx, [rsi]",
        "mov r8, [rsi + rdx - 8]",
        "mov [rdi], rcx",
        "mov [rdi + rdx - 8], r8",
        "ret",
        "4:",
        "cmp edx, 4",
        "jb 5f",
        "mov ecx, [rsi]",
        "mov r8d, [rsi + rdx - 4]",
        "mov [rdi], ecx",
        "mov [rdi + rdx - 4], r8d",
        "ret",
        // 1 to 3 bytes: the first, the last, and the one in the middle.
        "5:",
        "test edx, edx",
        "je 2f",
        "movzx ecx, byte ptr [rsi]",
        "movzx r8d, byte ptr [rsi + rdx - 1]",
        "mov r9d, edx",
        "shr r9d",
        "movzx r10d, byte ptr [rsi + r9]",
        "mov [rdi], cl",
        "mov [rdi + r9], r10b",
        "mov [rdi + rdx - 1], r8b",
        "2:",
        "ret",
        "6:",
        "cmp rdx, 64",
        "ja {copy_long}",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + rdx - 32]",
        "movups xmm3, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + rdx - 32], xmm2",
        "movups [rdi + rdx - 16], xmm3",
        "ret",
        copy_long = sym copy_long,
    )
}

/// Goes on with [`copy`] for more than 64 bytes.
#[unsafe(naked)]
unsafe extern "C" fn copy_long() {
    naked_asm!(
        // The last block, which the loop forwards may overwrite.
        "movups xmm4, [rsi + rdx - 64]",
        "movups xmm5, [rsi + rdx - 48]",
        "movups xmm6, [rsi + rdx - 32]",
        "movups xmm7, [rsi + rdx - 16]",
        "cmp rdx, 128",
        "ja 8f",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + 32]",
        "movups xmm3, [rsi + 48]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + 32], xmm2",
        "movups [rdi + 48], xmm3",
        "movups [rdi + rdx - 64], xmm4",
        "movups [rdi + rdx - 48], xmm5",
        "movups [rdi + rdx - 32], xmm6",
        "movups [rdi + rdx - 16], xmm7",
        "ret",
        "8:",
        // Below the length only where the destination begins within the source.
        "mov rcx, rdi",
        "sub rcx, rsi",
        "cmp rcx, rdx",
        "jb 33f",
        "lea r8, [rdi + rdx - 64]",
        "22:",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + 32]",
        "movups xmm3, [rsi + 48]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + 32], xmm2",
        "movups [rdi + 48], xmm3",
        "add rsi, 64",
        "add rdi, 64",
        "cmp rdi, r8",
        "jb 22b",
        "movups [r8], xmm4",
        "movups [r8 + 16], xmm5",
        "movups [r8 + 32], xmm6",
        "movups [r8 + 48], xmm7",
        "ret",
        "33:",
        // The first block, which the loop backwards may overwrite.
        "movups xmm4, [rsi]",
        "movups xmm5, [rsi + 16]",
        "movups xmm6, [rsi + 32]",
        "movups xmm7, [rsi + 48]",
        "44:",
        "movups xmm0, [rsi + rdx - 64]",
        "movups xmm1, [rsi + rdx - 48]",
        "movups xmm2, [rsi + rdx - 32]",
        "movups xmm3, [rsi + rdx - 16]",
        "movups [rdi + rdx - 64], xmm0",
        "movups [rdi + rdx - 48], xmm1",
        "movups [rdi + rdx - 32], xmm2",
        "movups [rdi + rdx - 16], xmm3",
        "sub rdx, 64",
        "cmp rdx, 64",
        "ja 44b",
        "movups [rdi], xmm4",
        "movups [rdi + 16], xmm5",
        "movups [rdi + 32], xmm6",
        "movups [rdi + 48], xmm7",
        "ret",
    )
}

/// Compares as C's `memcmp` does, and so also as its `bcmp`: below zero, zero or above, as the
/// first byte that differs says.
///
/// # Safety
///
/// `count` bytes can be read at both.
#[unsafe(naked)]
pub unsafe extern "C" fn compare(left: *const c_void, right: *const c_void, count: usize) -> c_int {
    naked_asm!(
        "cmp rdx, 16",
        "jb 4f",
        // 16 bytes at a time; the last 16 may overlap those before.
        "xor ecx, ecx",
        "lea r8, [rdx - 16]",
        "2:",
        "movups xmm0, [rdi + rcx]",
        "movups xmm1, [rsi + rcx]",
        "pcmpeqb xmm0, xmm1",
        "pmovmskb eax, xmm0",
        "xor eax, 0xffff",
        "jne 3f",
        "cmp rcx, r8",
        "je 9f",
        "add rcx, 16",
        "cmp rcx, r8",
        "cmova rcx, r8",
        "jmp 2b",
        "3:",
        "bsf eax, eax",
        "add rcx, rax",
        "movzx eax, byte ptr [rdi + rcx]",
        "movzx edx, byte ptr [rsi + rcx]",
        "sub eax, edx",
        "ret",
        "4:",
        "cmp edx, 8",
        "jb 5f",
        "mov rax, [rdi]",
        "mov rcx, [rsi]",
        "cmp rax, rcx",
        "jne 8f",
        "mov rax, [rdi + rdx - 8]",
        "mov rcx, [rsi + rdx - 8]",
        "cmp rax, rcx",
        "jne 8f",
        "xor eax, eax",
        "ret",
        "5:",
        "cmp edx, 4",
        "jb 6f",
        "mov eax, [rdi]",
        "mov ecx, [rsi]",
        "cmp eax, ecx",
        "jne 8f",
        "mov eax, [rdi + rdx - 4]",
        "mov ecx, [rsi + rdx - 4]",
        "cmp eax, ecx",
        "jne 8f",
        "xor eax, eax",
        "ret",
        // The first byte in memory counts most.
        "8:",
        "bswap rax",
        "bswap rcx",
        "cmp rax, rcx",
        "sbb eax, eax",
        "or eax, 1",
        "ret",
        // 0 to 3 bytes.
        "6:",
        "xor eax, eax",
        "xor ecx, ecx",
        "7:",
        "cmp ecx, edx",
        "je 9f",
        "movzx eax, byte ptr [rdi + rcx]",
        "movzx r8d, byte ptr [rsi + rcx]",
        "inc ecx",
        "sub eax, r8d",
        "je 7b",
        "9:",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use super::{compare, copy};

    /// Bytes that repeat late enough for none to be taken for another.
    fn bytes(count: usize) -> Vec<u8> {
        (0..=250).cycle().step_by(7).take(count).collect()
    }

    #[test]
    fn every_length_is_copied_to_every_distance_with_nothing_beside_it() {
        let counts = (0..400).chain([1000, 4095, 4096, 4097, 70_000]);
        for count in counts {
            let distances = (0..70).chain([127, 128, 129, 300]);
            for distance in distances.filter(|d| count < 1000 || d % 13 == 0) {
                for (from, to) in [(0, distance), (distance, 0)] {
                    let mut expected = bytes(count + distance + 1);
                    let mut copied = expected.clone();
                    expected.copy_within(from..from + count, to);
                    let start = copied.as_mut_ptr();
                    // SAFETY: both places are within the vector.
                    let given = unsafe {
                        let to = start.add(to);
                        copy(to.cast(), start.add(from).cast(), count) == to.cast()
                    };
                    assert!(
                        given && copied == expected,
                        "{count} bytes from {from} to {to}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_byte_that_differs_decides() {
        for count in 0..150 {
            let left = bytes(count);
            let compared = |right: &[u8]| {
                // SAFETY: both have as many bytes.
                unsafe { compare(left.as_ptr().cast(), right.as_ptr().cast(), count) }
            };
            assert_eq!(compared(&left), 0, "{count}");
            for at in 0..count {
                for (byte, behind) in [(left[at] + 1, 0), (left[at].wrapping_sub(1), 255)] {
                    let mut right = left.clone();
                    right[at] = byte;
                    // What is behind it would say the opposite.
                    right[at + 1..].fill(behind);
                    let expected = i32::from(left[at]) - i32::from(byte);
                    assert_eq!(
                        compared(&right).signum(),
                        expected.signum(),
                        "byte {at} of {count}"
                    );
                }
            }
        }
    }
}
