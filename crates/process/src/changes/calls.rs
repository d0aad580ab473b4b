//! The system calls that change files, and the filter that stops at them.

use super::Access;
use crate::sandbox::filter::{SYS_FCHMODAT2, any_of};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpOp, SeccompFilter, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

pub(super) struct Call {
    number: i64,
    /// Index of the argument with the flags of `open`, by which the filter tells whether the call
    /// may write. `None` if the filter reports every such call.
    open_flags: Option<u8>,
    pub(super) is_rename: bool,
    pub(super) rename_flags: Option<usize>,
    pub(super) targets: &'static [CallPath],
}

/// How a system call names a file. `directory` is the index of the argument with the descriptor of
/// the directory from which a relative path starts, or `None` for the working directory. `path` is
/// the index of the argument with the address of the path; if it is `None`, the descriptor is that
/// of the file itself.
#[derive(Clone, Copy)]
pub(super) struct CallPath {
    pub(super) directory: Option<usize>,
    pub(super) path: Option<usize>,
    pub(super) access: Access,
}

const fn target(directory: Option<usize>, path: usize, access: Access) -> CallPath {
    CallPath {
        directory,
        path: Some(path),
        access,
    }
}

const fn call(number: i64, targets: &'static [CallPath]) -> Call {
    Call {
        number,
        open_flags: None,
        is_rename: false,
        rename_flags: None,
        targets,
    }
}

const fn rename(number: i64, rename_flags: Option<usize>, targets: &'static [CallPath]) -> Call {
    Call {
        is_rename: true,
        rename_flags,
        ..call(number, targets)
    }
}

const OPEN_FILE: CallPath = CallPath {
    directory: Some(0),
    path: None,
    access: Access::Mode,
};

const CONTENT: Access = Access::Content;
const NAME: Access = Access::Name;

const CALLS: &[Call] = &[
    Call {
        open_flags: Some(2),
        ..call(libc::SYS_openat, &[target(Some(0), 1, CONTENT)])
    },
    // The flags of `openat2` are in memory, where no filter can look: every such call may write.
    call(libc::SYS_openat2, &[target(Some(0), 1, CONTENT)]),
    call(libc::SYS_truncate, &[target(None, 0, CONTENT)]),
    call(libc::SYS_unlinkat, &[target(Some(0), 1, NAME)]),
    call(libc::SYS_mkdirat, &[target(Some(0), 1, NAME)]),
    call(libc::SYS_mknodat, &[target(Some(0), 1, NAME)]),
    // The address of a Unix socket is a path. What is read of another one names no file.
    call(libc::SYS_bind, &[target(None, 1, NAME)]),
    call(libc::SYS_symlinkat, &[target(Some(1), 2, NAME)]),
    // The file may later be written to under its new name, so its content is kept now.
    call(
        libc::SYS_linkat,
        &[target(Some(0), 1, CONTENT), target(Some(2), 3, NAME)],
    ),
    rename(
        libc::SYS_renameat2,
        Some(4),
        &[target(Some(0), 1, NAME), target(Some(2), 3, NAME)],
    ),
    call(libc::SYS_fchmodat, &[target(Some(0), 1, Access::Mode)]),
    call(SYS_FCHMODAT2, &[target(Some(0), 1, Access::Mode)]),
    call(libc::SYS_fchmod, &[OPEN_FILE]),
    // An access list changes the mode.
    call(libc::SYS_setxattr, &[target(None, 0, Access::Mode)]),
    call(libc::SYS_lsetxattr, &[target(None, 0, Access::Mode)]),
    call(libc::SYS_fsetxattr, &[OPEN_FILE]),
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    rename(
        libc::SYS_renameat,
        None,
        &[target(Some(0), 1, NAME), target(Some(2), 3, NAME)],
    ),
    #[cfg(target_arch = "x86_64")]
    Call {
        open_flags: Some(1),
        ..call(libc::SYS_open, &[target(None, 0, CONTENT)])
    },
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, &[target(None, 0, CONTENT)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, &[target(None, 0, NAME)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, &[target(None, 0, NAME)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, &[target(None, 0, NAME)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mknod, &[target(None, 0, NAME)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, &[target(None, 1, NAME)]),
    #[cfg(target_arch = "x86_64")]
    call(
        libc::SYS_link,
        &[target(None, 0, CONTENT), target(None, 1, NAME)],
    ),
    #[cfg(target_arch = "x86_64")]
    rename(
        libc::SYS_rename,
        None,
        &[target(None, 0, NAME), target(None, 1, NAME)],
    ),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, &[target(None, 0, Access::Mode)]),
];

pub(super) fn find(number: i64) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

/// Compiles the filter that makes the kernel ask before a call of [`CALLS`]. Returns `None` for a
/// processor that seccompiler does not support.
pub(super) fn filter() -> Option<BpfProgram> {
    // Stands for the action "notify", which seccompiler does not have, and is replaced below.
    const ASK: SeccompAction = SeccompAction::Trace(1);
    const FLAGS: [(i32, i32); 4] = [
        (libc::O_ACCMODE, libc::O_WRONLY),
        (libc::O_ACCMODE, libc::O_RDWR),
        (libc::O_CREAT, libc::O_CREAT),
        (libc::O_TRUNC, libc::O_TRUNC),
    ];
    let bits = |flags: i32| u64::from(flags.unsigned_abs());
    let mut rules = BTreeMap::new();
    for call in CALLS {
        let flags = call.open_flags.iter();
        let conditions = flags.flat_map(|index| {
            FLAGS.map(|(mask, value)| (*index, SeccompCmpOp::MaskedEq(bits(mask)), bits(value)))
        });
        rules.insert(call.number, any_of(conditions).ok()?);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, ASK, arch).ok()?;
    let mut program = BpfProgram::try_from(filter).ok()?;
    let asks = u32::from(ASK);
    for instruction in &mut program {
        *instruction = sock_filter {
            k: match instruction.k {
                k if k == asks => libc::SECCOMP_RET_USER_NOTIF,
                // Programs of another architecture are not watched.
                libc::SECCOMP_RET_KILL_PROCESS => libc::SECCOMP_RET_ALLOW,
                k => k,
            },
            ..*instruction
        };
    }
    Some(program)
}
