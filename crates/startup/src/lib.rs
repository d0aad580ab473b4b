//! Starting an executable without the standard library's own preparations.
//!
//! Those read the process's memory map and install handlers for a stack overflow, which takes
//! a sixth of the time of a small call. What of them matters is done here: nothing that is
//! opened later may get the number of a closed standard stream, or an answer would be written
//! into a file; and how children end must not be forgotten because a host does not want to know it
//! of its own. `SIGPIPE` keeps its default action, so a reader that goes away ends the
//! process quietly, as is usual for Unix tools.
//!
//! The standard library learns its arguments from glibc without that preparation, and from musl
//! only by it, so [`words`] reads them from what `main` was given.
//!
//! What an executable does once it runs is up to its main. [`main!`] makes one of a function, and
//! [`memory!`] gives it what musl has not.
//!
//! # Example
//!
//! A file of its own, `src/bin/NAME/main.rs`:
//!
//! ```no_run
//! #![cfg_attr(target_os = "linux", no_main)]
//!
//! fn run() -> u8 {
//!     let words = gemini_tools_startup::words();
//!     u8::from(words.len() != 1)
//! }
//!
//! gemini_tools_startup::main!(run, "0.1.0");
//! ```

#[cfg(any(target_env = "musl", all(test, target_os = "linux")))]
pub mod allocator;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod memory;

use gemini_tools_core::version;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::ffi::{CStr, c_char, c_int};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStringExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The exit status of a failure that no code foresaw (`EX_SOFTWARE` of `sysexits.h`).
const UNFORESEEN: u8 = 70;

/// Defines `main` for a function that gives the exit status, in the build of this version.
#[macro_export]
macro_rules! main {
    ($run:path, $version:expr) => {
        $crate::memory!();

        #[cfg(target_os = "linux")]
        #[expect(
            unsafe_code,
            reason = "the C library looks for a function of this name, and gives it valid arguments"
        )]
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: std::ffi::c_int,
            words: *const *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            // SAFETY: they are as the C library gives them.
            unsafe { $crate::keep_words(count, words) };
            std::ffi::c_int::from($crate::run($run, $version))
        }

        #[cfg(not(target_os = "linux"))]
        fn main() -> std::process::ExitCode {
            $crate::run($run, $version).into()
        }
    };
}

/// What `main` was given, where it is our own.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words of the command line, the program's name first.
#[must_use]
pub fn words() -> Vec<OsString> {
    let kept = WORDS.get().cloned();
    kept.unwrap_or_else(|| std::env::args_os().collect())
}

/// What is wrong with a command line, as the program itself says it: the parser's message without
/// its own beginning.
///
/// ```
/// let text = "error: unexpected argument '--x' found\n";
/// let message = gemini_tools_startup::usage_message("get_tools", text);
/// assert_eq!(message, "get_tools: unexpected argument '--x' found");
/// ```
#[must_use]
pub fn usage_message(program: &str, text: &str) -> String {
    let reason = text.strip_prefix("error: ").unwrap_or(text);
    format!("{program}: {}", reason.trim_end())
}

/// Keeps what `main` was given for [`words`].
///
/// # Safety
///
/// `words` must point to `count` strings that end with a zero byte.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the strings come as C has them")]
pub unsafe fn keep_words(count: c_int, words: *const *const c_char) {
    let count = usize::try_from(count).unwrap_or(0);
    let word = |i| {
        // SAFETY: the caller promises as many strings.
        let word = unsafe { CStr::from_ptr(*words.add(i)) };
        OsString::from_vec(word.to_bytes().to_vec())
    };
    let _ = WORDS.set((0..count).map(word).collect());
}

/// Gives an executable that is linked to musl what glibc has and musl has not: an allocator that is
/// fast with several threads, and fast ways to copy and compare memory.
#[macro_export]
macro_rules! memory {
    () => {
        #[cfg(target_env = "musl")]
        #[global_allocator]
        static ALLOCATOR: $crate::allocator::Allocator = $crate::allocator::Allocator;

        // The C library calls what is here before `main`.
        #[cfg(target_env = "musl")]
        #[expect(
            unsafe_code,
            reason = "the place of functions that are called at the start"
        )]
        #[used]
        #[unsafe(link_section = ".init_array")]
        static AT_THE_START: extern "C" fn() = $crate::allocator::allow_forks;

        #[cfg(all(target_env = "musl", target_arch = "x86_64"))]
        #[expect(unsafe_code, reason = "they take the places of the C library's")]
        mod memory {
            use std::ffi::{c_int, c_void};
            use $crate::memory::{compare, copy};

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memcpy(
                to: *mut c_void,
                from: *const c_void,
                count: usize,
            ) -> *mut c_void {
                // SAFETY: as the caller of C's function promises.
                unsafe { copy(to, from, count) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memmove(
                to: *mut c_void,
                from: *const c_void,
                count: usize,
            ) -> *mut c_void {
                // SAFETY: as the caller of C's function promises.
                unsafe { copy(to, from, count) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memcmp(
                left: *const c_void,
                right: *const c_void,
                count: usize,
            ) -> c_int {
                // SAFETY: as the caller of C's function promises.
                unsafe { compare(left, right, count) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn bcmp(
                left: *const c_void,
                right: *const c_void,
                count: usize,
            ) -> c_int {
                // SAFETY: as the caller of C's function promises.
                unsafe { compare(left, right, count) }
            }
        }
    };
}

/// Runs `main` and gives the exit status.
pub fn run(main: fn() -> u8, version: &'static str) -> u8 {
    if !gemini_tools_platform::own::prepare() {
        return UNFORESEEN;
    }
    version::set(version);
    catch_unwind(AssertUnwindSafe(main)).unwrap_or(UNFORESEEN)
}
