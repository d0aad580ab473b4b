//! Files, opened relative to open directories.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the functions take what those of rustix take"
)]

use super::fd::{AsFd, BorrowedFd, FromRaw, OwnedFd, raw};
use super::ffi::OsStrExt as _;
use super::io::{Errno, Result};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString, c_void};
use std::ops::BitOr;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{
    HANDLE, NTSTATUS, OBJ_CASE_INSENSITIVE, STATUS_STOPPED_ON_SYMLINK, UNICODE_STRING,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, OWNER_SECURITY_INFORMATION,
    SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem as win;
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, OVERLAPPED};

/// The current directory, for paths that are relative to it or absolute.
pub const CWD: Current = Current;

/// See [`CWD`].
#[derive(Debug, Clone, Copy)]
pub struct Current;

/// What paths are relative to.
pub trait Base {
    /// The directory; `None` for the current one.
    fn directory(&self) -> Option<BorrowedFd<'_>>;
}

impl Base for Current {
    fn directory(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl<T: AsFd> Base for T {
    fn directory(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}

/// What can be given as a path.
pub trait Arg {
    /// As the system takes it.
    fn as_name(&self) -> Cow<'_, OsStr>;
}

macro_rules! arg {
    ($($kind:ty),*) => {$(
        impl Arg for $kind {
            fn as_name(&self) -> Cow<'_, OsStr> {
                let name: &OsStr = self.as_ref();
                Cow::Borrowed(name)
            }
        }
    )*};
}
arg!(
    &str, String, &String, &OsStr, OsString, &OsString, &Path, PathBuf, &PathBuf
);

impl Arg for &CStr {
    fn as_name(&self) -> Cow<'_, OsStr> {
        Cow::Borrowed(OsStr::from_bytes(self.to_bytes()))
    }
}

impl Arg for &[u8] {
    fn as_name(&self) -> Cow<'_, OsStr> {
        Cow::Borrowed(OsStr::from_bytes(self))
    }
}

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($flag:ident = $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(u32);

        #[expect(missing_docs, reason = "the names are POSIX's")]
        impl $name {
            $(pub const $flag: Self = Self($value);)*

            pub const fn empty() -> Self {
                Self(0)
            }

            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

flags!(
    /// How a file is opened. What Windows has no need of changes nothing.
    OFlags {
        RDONLY = 0,
        WRONLY = 1,
        RDWR = 2,
        CREATE = 4,
        EXCL = 8,
        TRUNC = 16,
        APPEND = 32,
        DIRECTORY = 64,
        NOFOLLOW = 128,
        PATH = 256,
        CLOEXEC = 0,
        NONBLOCK = 0,
        NOCTTY = 0,
    }
);
flags!(
    /// How a name is looked at.
    AtFlags {
        SYMLINK_NOFOLLOW = 1,
        REMOVEDIR = 2,
        EACCESS = 0,
    }
);
flags!(
    /// Who may do what, which a list says on Windows that new files inherit.
    Mode {
        RUSR = 0o400,
        WUSR = 0o200,
    }
);
flags!(
    /// What is asked whether it may be done.
    Access {
        WRITE_OK = 2,
    }
);

impl Mode {
    /// The mode of these bits.
    pub const fn from_raw_mode(bits: u32) -> Self {
        Self(bits)
    }
}

impl From<u32> for Mode {
    fn from(bits: u32) -> Self {
        Self(bits)
    }
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A file with content.
    RegularFile,
    /// A directory.
    Directory,
    /// A symbolic link or a junction.
    Symlink,
    /// A pipe.
    Fifo,
    /// A console or another device.
    CharacterDevice,
    /// None on Windows.
    BlockDevice,
    /// None on Windows.
    Socket,
    /// Something else.
    Unknown,
}

const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;

impl FileType {
    /// The kind that a mode says.
    pub fn from_raw_mode(mode: u32) -> Self {
        match mode & KIND {
            REGULAR => Self::RegularFile,
            DIRECTORY => Self::Directory,
            LINK => Self::Symlink,
            FIFO => Self::Fifo,
            CHARACTER => Self::CharacterDevice,
            _ => Self::Unknown,
        }
    }
}

/// What is known of a file, under POSIX's names. Times count from 1970.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are POSIX's")]
pub struct Stat {
    pub st_mode: u32,
    pub st_size: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: u64,
    pub st_ctime: i64,
    pub st_ctime_nsec: u64,
    pub st_ino: u64,
    pub st_dev: u64,
    pub st_nlink: u64,
}

/// What is shared with others that have the file open: everything, as on other systems.
const SHARE: u32 = win::FILE_SHARE_READ | win::FILE_SHARE_WRITE | win::FILE_SHARE_DELETE;

/// Whether a file stands for another name, as links and junctions do. Other files with a tag are
/// what they seem to be, only that their content is somewhere else.
fn is_link(attributes: u32, tag: u32) -> bool {
    /// `IsReparseTagNameSurrogate`.
    const STANDS_FOR_A_NAME: u32 = 0x2000_0000;
    attributes & win::FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag & STANDS_FOR_A_NAME != 0
}

/// Opens a file.
///
/// # Errors
///
/// What the system says.
pub fn open(path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    openat(CWD, path, flags, mode)
}

/// Opens a file relative to a directory.
///
/// # Errors
///
/// What the system says; `LOOP` for a link where [`OFlags::NOFOLLOW`] is given.
pub fn openat(base: impl Base, path: impl Arg, flags: OFlags, _mode: Mode) -> Result<OwnedFd> {
    let directory = flags.contains(OFlags::DIRECTORY);
    let mut opening = Opening {
        access: access(flags),
        disposition: match (flags.contains(OFlags::CREATE), flags.contains(OFlags::EXCL)) {
            (true, true) => nt::FILE_CREATE,
            (true, false) if flags.contains(OFlags::TRUNC) => nt::FILE_OVERWRITE_IF,
            (true, false) => nt::FILE_OPEN_IF,
            (false, _) if flags.contains(OFlags::TRUNC) => nt::FILE_OVERWRITE,
            (false, _) => nt::FILE_OPEN,
        },
        options: if directory {
            nt::FILE_DIRECTORY_FILE
        } else {
            0
        },
        follows: !flags.contains(OFlags::NOFOLLOW),
    };
    let fd = opening.open(&base, &path.as_name())?;
    if opening.follows {
        return Ok(fd);
    }
    let (attributes, tag) = attributes(fd.as_fd())?;
    if is_link(attributes, tag) {
        return Err(Errno::LOOP);
    }
    if attributes & win::FILE_ATTRIBUTE_REPARSE_POINT == 0 {
        return Ok(fd);
    }
    // What was opened is the tag. The content is opened without looking away from the file.
    opening.follows = true;
    opening.disposition = nt::FILE_OPEN;
    let content = opening.open(&base, &path.as_name())?;
    let (seen, now) = (fstat(&fd)?, fstat(&content)?);
    if (seen.st_dev, seen.st_ino) == (now.st_dev, now.st_ino) {
        Ok(content)
    } else {
        Err(Errno::LOOP)
    }
}

fn access(flags: OFlags) -> u32 {
    let common = win::FILE_READ_ATTRIBUTES | win::SYNCHRONIZE;
    if flags.contains(OFlags::PATH) {
        let directory = if flags.contains(OFlags::DIRECTORY) {
            win::FILE_LIST_DIRECTORY | win::FILE_TRAVERSE
        } else {
            0
        };
        return common | directory;
    }
    let append = win::FILE_APPEND_DATA | win::FILE_WRITE_ATTRIBUTES;
    let write = if flags.contains(OFlags::APPEND) {
        append
    } else {
        win::FILE_GENERIC_WRITE | win::DELETE | win::WRITE_DAC
    };
    common
        | match (flags.contains(OFlags::WRONLY), flags.contains(OFlags::RDWR)) {
            (true, _) => write | win::READ_CONTROL,
            (_, true) => write | win::FILE_GENERIC_READ,
            _ => win::FILE_GENERIC_READ,
        }
}

/// How something is opened.
struct Opening {
    access: u32,
    disposition: u32,
    options: u32,
    follows: bool,
}

impl Opening {
    /// For looking at an entry, not at what it leads to.
    fn looking(access: u32) -> Self {
        Self {
            access: access | win::FILE_READ_ATTRIBUTES | win::SYNCHRONIZE,
            disposition: nt::FILE_OPEN,
            options: 0,
            follows: false,
        }
    }

    fn open(&self, base: &impl Base, path: &OsStr) -> Result<OwnedFd> {
        let has_prefix = Path::new(path).has_root() || Path::new(path).is_absolute();
        let (root, name) = match base.directory() {
            Some(directory) if !has_prefix => (raw(directory), relative(path)?),
            _ => (std::ptr::null_mut(), native(Path::new(path))?),
        };
        let mut options = self.options | nt::FILE_SYNCHRONOUS_IO_NONALERT;
        // Directories are opened by it, and links themselves by the other.
        options |= nt::FILE_OPEN_FOR_BACKUP_INTENT;
        if !self.follows {
            options |= nt::FILE_OPEN_REPARSE_POINT;
        }
        self.create(root, name, options)
    }

    fn create(&self, root: HANDLE, mut name: Vec<u16>, options: u32) -> Result<OwnedFd> {
        let bytes = u16::try_from(name.len() * 2).map_err(|_| Errno::NAMETOOLONG)?;
        let name = UNICODE_STRING {
            Length: bytes,
            MaximumLength: bytes,
            Buffer: name.as_mut_ptr(),
        };
        let object = OBJECT_ATTRIBUTES {
            Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
            RootDirectory: root,
            ObjectName: &raw const name,
            Attributes: OBJ_CASE_INSENSITIVE,
            SecurityDescriptor: std::ptr::null(),
            SecurityQualityOfService: std::ptr::null(),
        };
        let mut handle: HANDLE = std::ptr::null_mut();
        let mut status = IO_STATUS_BLOCK::default();
        // SAFETY: all pointers are to what outlives the call.
        let outcome = unsafe {
            nt::NtCreateFile(
                &raw mut handle,
                self.access,
                &raw const object,
                &raw mut status,
                std::ptr::null(),
                win::FILE_ATTRIBUTE_NORMAL,
                SHARE,
                self.disposition,
                options,
                std::ptr::null(),
                0,
            )
        };
        checked(outcome)?;
        // SAFETY: the handle was just opened.
        unsafe { OwnedFd::from_raw(handle) }
    }
}

fn checked(status: NTSTATUS) -> Result<()> {
    match status {
        0.. => Ok(()),
        STATUS_STOPPED_ON_SYMLINK => Err(Errno::LOOP),
        _ => Err(Errno::of_status(status)),
    }
}

/// A path relative to a directory, with the separators of the system. The empty name is the
/// directory itself. What the native functions would take for another stream is refused.
fn relative(path: &OsStr) -> Result<Vec<u16>> {
    let mut name = Vec::new();
    for part in path.as_encoded_bytes().split(|b| matches!(b, b'/' | b'\\')) {
        match part {
            b"" | b"." => continue,
            // The native functions know of no parent.
            b".." => return Err(Errno::INVAL),
            _ if part.contains(&b':') => return Err(Errno::NOENT),
            _ => {}
        }
        if !name.is_empty() {
            name.push(u16::from(b'\\'));
        }
        name.extend(OsStr::from_bytes(part).encode_wide());
    }
    Ok(name)
}

/// A path as the native functions take it.
fn native(path: &Path) -> Result<Vec<u16>> {
    let full =
        std::path::absolute(path).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::INVAL))?;
    let wide: Vec<u16> = full.as_os_str().encode_wide().collect();
    let text = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    if wide.contains(&0) {
        return Err(Errno::INVAL);
    }
    let (prefix, rest) = if let Some(rest) = wide.strip_prefix(&*text(r"\\?\")) {
        (r"\??\", rest)
    } else if let Some(rest) = wide.strip_prefix(&*text(r"\\.\")) {
        (r"\??\", rest)
    } else if let Some(rest) = wide.strip_prefix(&*text(r"\\")) {
        (r"\??\UNC\", rest)
    } else {
        (r"\??\", &wide[..])
    };
    Ok([&text(prefix), rest].concat())
}

/// The attributes of an open file, and the tag that says what kind of link it is.
fn attributes(fd: BorrowedFd<'_>) -> Result<(u32, u32)> {
    let mut info = win::FILE_ATTRIBUTE_TAG_INFO::default();
    information(fd, win::FileAttributeTagInfo, &mut info)?;
    Ok((info.FileAttributes, info.ReparseTag))
}

fn information<T>(fd: BorrowedFd<'_>, class: i32, info: &mut T) -> Result<()> {
    let size = size_of::<T>() as u32;
    // SAFETY: the caller names the class of the structure, which has that size.
    let done = unsafe {
        win::GetFileInformationByHandleEx(
            raw(fd),
            class,
            std::ptr::from_mut(info).cast::<c_void>(),
            size,
        )
    };
    if done == 0 {
        Err(Errno::last())
    } else {
        Ok(())
    }
}

/// Seconds since 1970 and nanoseconds of a time of Windows, which counts from 1601 in steps of
/// 100 nanoseconds.
fn time(ticks: i64) -> (i64, u64) {
    const SECOND: i64 = 10_000_000;
    const TO_1970: i64 = 11_644_473_600;
    let seconds = ticks.div_euclid(SECOND) - TO_1970;
    (seconds, ticks.rem_euclid(SECOND).unsigned_abs() * 100)
}

/// What is known of an open file.
///
/// # Errors
///
/// What the system says.
pub fn fstat(fd: impl AsFd) -> Result<Stat> {
    let fd = fd.as_fd();
    // SAFETY: the handle is open.
    let kind = match unsafe { win::GetFileType(raw(fd)) } {
        win::FILE_TYPE_DISK => None,
        win::FILE_TYPE_PIPE => Some(FIFO),
        _ => Some(CHARACTER),
    };
    let mut stat = Stat {
        st_mode: kind.unwrap_or(REGULAR),
        st_size: 0,
        st_mtime: 0,
        st_mtime_nsec: 0,
        st_ctime: 0,
        st_ctime_nsec: 0,
        st_ino: 0,
        st_dev: 0,
        st_nlink: 1,
    };
    if kind.is_some() {
        return Ok(stat);
    }
    let mut info = win::BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open and the structure is ours.
    if unsafe { win::GetFileInformationByHandle(raw(fd), &raw mut info) } == 0 {
        return Err(Errno::last());
    }
    let (attributes, tag) = attributes(fd)?;
    let mut basic = win::FILE_BASIC_INFO::default();
    information(fd, win::FileBasicInfo, &mut basic)?;
    let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    stat.st_mode = match attributes {
        _ if is_link(attributes, tag) => LINK | 0o777,
        a if a & win::FILE_ATTRIBUTE_DIRECTORY != 0 => DIRECTORY | 0o755,
        a if a & win::FILE_ATTRIBUTE_READONLY != 0 => REGULAR | 0o444,
        _ => REGULAR | 0o644,
    };
    stat.st_size = joined(info.nFileSizeHigh, info.nFileSizeLow) as i64;
    (stat.st_mtime, stat.st_mtime_nsec) = time(basic.LastWriteTime);
    (stat.st_ctime, stat.st_ctime_nsec) = time(basic.ChangeTime);
    stat.st_ino = joined(info.nFileIndexHigh, info.nFileIndexLow);
    stat.st_dev = u64::from(info.dwVolumeSerialNumber);
    stat.st_nlink = u64::from(info.nNumberOfLinks);
    Ok(stat)
}

/// What is known of an entry, or of what it leads to.
///
/// # Errors
///
/// What the system says.
pub fn statat(base: impl Base, path: impl Arg, flags: AtFlags) -> Result<Stat> {
    let mut opening = Opening::looking(0);
    opening.follows = !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
    fstat(opening.open(&base, &path.as_name())?)
}

/// Whether something may be done with an entry.
///
/// # Errors
///
/// `ACCESS` where it may not, or what the system says.
pub fn accessat(base: impl Base, path: impl Arg, _access: Access, _flags: AtFlags) -> Result<()> {
    let opening = Opening::looking(win::FILE_WRITE_DATA);
    opening.open(&base, &path.as_name()).map(drop)
}

/// Makes a directory.
///
/// # Errors
///
/// What the system says.
pub fn mkdirat(base: impl Base, path: impl Arg, _mode: Mode) -> Result<()> {
    let opening = Opening {
        access: win::FILE_LIST_DIRECTORY | win::SYNCHRONIZE,
        disposition: nt::FILE_CREATE,
        options: nt::FILE_DIRECTORY_FILE,
        follows: false,
    };
    opening.open(&base, &path.as_name()).map(drop)
}

/// Removes an entry.
///
/// # Errors
///
/// What the system says.
pub fn unlinkat(base: impl Base, path: impl Arg, flags: AtFlags) -> Result<()> {
    let mut opening = Opening::looking(win::DELETE);
    opening.options = if flags.contains(AtFlags::REMOVEDIR) {
        nt::FILE_DIRECTORY_FILE
    } else {
        nt::FILE_NON_DIRECTORY_FILE
    };
    let fd = opening.open(&base, &path.as_name())?;
    let wanted = win::FILE_DISPOSITION_INFO { DeleteFile: true };
    let size = size_of::<win::FILE_DISPOSITION_INFO>() as u32;
    let wanted = (&raw const wanted).cast::<c_void>();
    // SAFETY: the structure is that of the class, and is only read.
    let done = unsafe {
        win::SetFileInformationByHandle(raw(fd.as_fd()), win::FileDispositionInfo, wanted, size)
    };
    if done == 0 {
        Err(Errno::last())
    } else {
        Ok(())
    }
}

/// Gives an entry of a directory another name in it, in one step. Where `replaces`, the entry of
/// that name is replaced, also one that others have open, where the file system can do that.
///
/// # Errors
///
/// `EXIST` where there is an entry of that name that is not to be replaced, or what the system
/// says: `ACCESS` where the file system can't replace what is open.
pub fn rename_in(
    from_directory: BorrowedFd<'_>,
    from: impl Arg,
    directory: BorrowedFd<'_>,
    to: impl Arg,
    replaces: bool,
) -> Result<()> {
    let opening = Opening::looking(win::DELETE);
    let fd = opening.open(&from_directory, &from.as_name())?;
    let name = relative(&to.as_name())?;
    let mut flags = nt::FILE_RENAME_POSIX_SEMANTICS;
    if replaces {
        flags |= nt::FILE_RENAME_REPLACE_IF_EXISTS;
    }
    let newer = rename_as(
        fd.as_fd(),
        directory,
        &name,
        nt::FileRenameInformationEx,
        flags,
    );
    match newer {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Errno::EXIST),
        // Before Windows 10, and on file systems other than NTFS.
        Err(_) => rename_as(
            fd.as_fd(),
            directory,
            &name,
            nt::FileRenameInformation,
            u32::from(replaces),
        ),
    }
}

fn rename_as(
    fd: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    name: &[u16],
    class: i32,
    flags: u32,
) -> Result<()> {
    const NAME_AT: usize = std::mem::offset_of!(nt::FILE_RENAME_INFORMATION, FileName);
    let size = (NAME_AT + name.len() * 2).max(size_of::<nt::FILE_RENAME_INFORMATION>());
    // Words, so that the structure lies where it must.
    let mut buffer = vec![0_u64; size.div_ceil(8)];
    let info = buffer.as_mut_ptr().cast::<nt::FILE_RENAME_INFORMATION>();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the buffer has room for the structure and the name.
    let outcome = unsafe {
        (&raw mut (*info).Anonymous).cast::<u32>().write(flags);
        (*info).RootDirectory = raw(directory);
        (*info).FileNameLength = (name.len() * 2) as u32;
        let at = (&raw mut (*info).FileName).cast::<u16>();
        std::ptr::copy_nonoverlapping(name.as_ptr(), at, name.len());
        nt::NtSetInformationFile(
            raw(fd),
            &raw mut status,
            info.cast::<c_void>(),
            size as u32,
            class,
        )
    };
    checked(outcome)
}

/// Where a link leads.
///
/// # Errors
///
/// `INVAL` where it is none, or what the system says.
pub fn readlinkat(base: impl Base, path: impl Arg, _buffer: Vec<u8>) -> Result<CString> {
    let opening = Opening::looking(0);
    let fd = opening.open(&base, &path.as_name())?;
    let (attributes, tag) = attributes(fd.as_fd())?;
    if !is_link(attributes, tag) {
        return Err(Errno::INVAL);
    }
    let target = std::fs::read_link(final_path(fd.as_fd())?);
    let target = target.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::INVAL))?;
    let target = super::paths::usual_form(target);
    CString::new(target.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)
}

/// The path of what is open.
///
/// # Errors
///
/// What the system says.
pub fn getpath(fd: impl AsFd) -> Result<CString> {
    let path = super::paths::usual_form(final_path(fd.as_fd())?);
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)
}

fn final_path(fd: BorrowedFd<'_>) -> Result<PathBuf> {
    let mut buffer = vec![0_u16; 1024];
    loop {
        let room = buffer.len() as u32;
        // SAFETY: the buffer has this many characters.
        let length =
            unsafe { win::GetFinalPathNameByHandleW(raw(fd), buffer.as_mut_ptr(), room, 0) };
        match length as usize {
            0 => return Err(Errno::last()),
            length if length < buffer.len() => {
                return Ok(OsString::from_wide(&buffer[..length]).into());
            }
            length => buffer.resize(length + 1, 0),
        }
    }
}

/// How a lock is taken.
#[derive(Debug, Clone, Copy)]
pub enum FlockOperation {
    /// By one alone, without waiting.
    NonBlockingLockExclusive,
}

/// Locks an open file against processes that ask in the same way. Other reads and writes are not
/// kept off: the lock is on a byte far behind the end of every file.
///
/// # Errors
///
/// `AGAIN` where it is locked, or what the system says.
pub fn flock(fd: impl AsFd, _operation: FlockOperation) -> Result<()> {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = 0x4000_0000;
    let flags = win::LOCKFILE_EXCLUSIVE_LOCK | win::LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open for synchronous use, so that the call is over when it returns.
    let done = unsafe { win::LockFileEx(raw(fd.as_fd()), flags, 0, 1, 0, &raw mut place) };
    match done {
        0 => match Errno::last() {
            Errno::INTR | Errno::AGAIN => Err(Errno::AGAIN),
            other if other.raw_os_error() == ERROR_IO_PENDING => Err(Errno::AGAIN),
            other => Err(other),
        },
        _ => Ok(()),
    }
}

const ERROR_IO_PENDING: i32 = windows_sys::Win32::Foundation::ERROR_IO_PENDING as i32;

/// Gives a file the list of another that says who may do what.
///
/// # Errors
///
/// What the system says.
pub fn copy_access(from: impl AsFd, to: impl AsFd) -> Result<()> {
    let what = DACL_SECURITY_INFORMATION;
    let mut buffer = security(from.as_fd(), what)?;
    // SAFETY: the system has written a descriptor into the buffer, which is only read.
    let done = unsafe {
        SetKernelObjectSecurity(raw(to.as_fd()), what, buffer.as_mut_ptr().cast::<c_void>())
    };
    if done == 0 {
        Err(Errno::last())
    } else {
        Ok(())
    }
}

/// Whether a path's owner is the user, the system or its administrators. Says nothing about who
/// else may write there.
pub fn has_trusted_owner(path: &Path) -> bool {
    let owner = || -> Result<Vec<u64>> {
        let opening = Opening::looking(win::READ_CONTROL);
        let fd = opening.open(&CWD, path.as_os_str())?;
        security(fd.as_fd(), OWNER_SECURITY_INFORMATION)
    };
    owner().is_ok_and(|descriptor| super::owner::is_trusted(&descriptor))
}

/// A part of what the system keeps of who may do what.
fn security(fd: BorrowedFd<'_>, what: u32) -> Result<Vec<u64>> {
    let mut buffer = vec![0_u64; 64];
    loop {
        let mut needed = 0;
        let room = (buffer.len() * 8) as u32;
        let at = buffer.as_mut_ptr().cast::<c_void>();
        // SAFETY: the buffer has this many bytes.
        let done = unsafe { GetKernelObjectSecurity(raw(fd), what, at, room, &raw mut needed) };
        if done != 0 {
            return Ok(buffer);
        }
        if needed <= room {
            return Err(Errno::last());
        }
        buffer.resize((needed as usize).div_ceil(8), 0);
    }
}

/// The entries of a directory.
#[derive(Debug)]
pub struct Dir {
    entries: std::vec::IntoIter<Result<DirEntry>>,
}

/// An entry of a directory.
#[derive(Debug)]
pub struct DirEntry {
    name: CString,
    file_type: FileType,
}

impl DirEntry {
    /// The entry's name in UTF-8.
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// What it is.
    pub fn file_type(&self) -> FileType {
        self.file_type
    }
}

impl Dir {
    /// Reads a directory.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn new(directory: OwnedFd) -> Result<Self> {
        Self::read_from(&directory)
    }

    /// Reads a directory.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn read_from(directory: &OwnedFd) -> Result<Self> {
        let mut entries = Vec::new();
        // The last entry may be shorter than the structure as which it is read.
        let mut buffer = vec![0_u64; 8 * 1024 + 2];
        let mut class = win::FileFullDirectoryRestartInfo;
        loop {
            let room = ((buffer.len() - 2) * 8) as u32;
            let at = buffer.as_mut_ptr().cast::<c_void>();
            // SAFETY: the buffer has this many bytes.
            let done = unsafe {
                win::GetFileInformationByHandleEx(raw(directory.as_fd()), class, at, room)
            };
            if done == 0 {
                match Errno::last().raw_os_error() as u32 {
                    windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES => break,
                    code => return Err(Errno::of(code)),
                }
            }
            class = win::FileFullDirectoryInfo;
            collect(&buffer, &mut entries);
        }
        Ok(Self {
            entries: entries.into_iter(),
        })
    }
}

/// Takes the entries that the system has written.
fn collect(buffer: &[u64], entries: &mut Vec<Result<DirEntry>>) {
    const NAME_AT: usize = std::mem::offset_of!(win::FILE_FULL_DIR_INFO, FileName);
    let mut at = 0;
    loop {
        let start = buffer.as_ptr().cast::<u8>();
        // SAFETY: the system has written entries one after the other, each with its length and
        // the distance to the next, all within the buffer.
        let (info, name) = unsafe {
            let entry = start.add(at);
            let info = (&raw const *entry).cast::<c_void>();
            let info = info.cast::<win::FILE_FULL_DIR_INFO>().read_unaligned();
            let length = info.FileNameLength as usize;
            (info, std::slice::from_raw_parts(entry.add(NAME_AT), length))
        };
        let units = name
            .chunks_exact(2)
            .map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
        let name = String::from_utf16_lossy(&units.collect::<Vec<u16>>());
        // Of a link the extended attributes' size is its tag.
        let file_type = match info.FileAttributes {
            a if is_link(a, info.EaSize) => FileType::Symlink,
            a if a & win::FILE_ATTRIBUTE_DIRECTORY != 0 => FileType::Directory,
            _ => FileType::RegularFile,
        };
        if let Ok(name) = CString::new(name) {
            entries.push(Ok(DirEntry { name, file_type }));
        }
        if info.NextEntryOffset == 0 {
            return;
        }
        at += info.NextEntryOffset as usize;
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}
