//! Parts of a file that take no room.

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// Where a hole may end that is to end here: anywhere.
#[cfg(target_os = "linux")]
pub fn end(at: u64) -> u64 {
    at
}

/// Where a hole may end that is to end here: where a block of the file system does.
#[cfg(target_os = "macos")]
pub fn end(at: u64) -> u64 {
    at - at % (1024 * 1024)
}

/// Gives a part of the file back to the file system.
///
/// # Errors
///
/// What the system says.
#[cfg(target_os = "linux")]
pub fn punch(file: &File, from: u64, length: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, from, length)?)
}

/// Gives a part of the file back to the file system.
///
/// # Errors
///
/// What the system says.
#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "rustix does not wrap this command of fcntl")]
pub fn punch(file: &File, from: u64, length: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let hole = libc::fpunchhole_t {
        fp_flags: 0,
        reserved: 0,
        fp_offset: from.try_into().map_err(too_large)?,
        fp_length: length.try_into().map_err(too_large)?,
    };
    // SAFETY: the descriptor is open, and the kernel only reads the structure.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PUNCHHOLE, &raw const hole) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Where the next bytes are that were written, from `at` on.
///
/// # Errors
///
/// What the system says.
pub fn next_data(file: &File, at: u64) -> Result<u64, Errno> {
    rustix::fs::seek(file, SeekFrom::Data(at))
}
