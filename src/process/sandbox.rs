//! A sandbox for commands, by the kernel of Linux.
//!
//! Landlock lets a command and all that it starts write below a few directories only; a
//! filter of system calls (seccomp) closes what Landlock does not reach: the network in all
//! its forms, and calls by which a command of the superuser could leave. Reading is not
//! restricted. What the kernel can't enforce is an error: a command never runs in less than
//! what was asked for.
//!
//! Everything is prepared in the caller; the child only makes three system calls.

use crate::tool::{ErrorKind, ToolError};
use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The oldest Landlock that will do: the first that watches over `truncate` (Linux 6.2).
const NEEDED: ABI = ABI::V3;

/// The newest that is made use of where it is there.
const WANTED: ABI = ABI::V9;

/// What every program may write to: nothing is kept there. No terminals: the user sits at some
/// of them.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// How much a command may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Everything that the user may.
    #[default]
    Off,
    /// Write in the workspace, the temporary directory and declared paths.
    WorkspaceWrite,
    /// Write nothing.
    ReadOnly,
}

impl Mode {
    /// The names by which a mode is chosen.
    pub const NAMES: [&'static str; 3] = ["off", "read-only", "workspace-write"];

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "off" => Mode::Off,
            "read-only" => Mode::ReadOnly,
            "workspace-write" => Mode::WorkspaceWrite,
            _ => return None,
        })
    }
}

/// What a command is to be kept within.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// How much it may do.
    pub mode: Mode,
    /// Directories and files that may be written in [`Mode::WorkspaceWrite`]. One that does
    /// not exist is left out: nothing can be written there.
    pub writable: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

/// A sandbox that is ready to be entered.
#[derive(Debug)]
pub struct Sandbox {
    ruleset: OwnedFd,
    filter: BpfProgram,
}

impl Sandbox {
    /// Makes a policy ready; `None` where it restricts nothing.
    ///
    /// # Errors
    ///
    /// `policy_violation` where the kernel can't enforce all of it.
    pub fn prepare(policy: &Policy) -> Result<Option<Self>, ToolError> {
        if policy.mode == Mode::Off {
            return Ok(None);
        }
        let ruleset = ruleset(policy).map_err(|e| {
            let reason = e.to_string();
            unavailable("Landlock of Linux 6.2 or later", &reason)
        })?;
        let ruleset = Option::<OwnedFd>::from(ruleset)
            .ok_or_else(|| unavailable("Landlock of Linux 6.2 or later", "it is switched off"))?;
        let filter = filter(policy.network)
            .map_err(|e| unavailable("a filter of system calls", &e.to_string()))?;
        Ok(Some(Self { ruleset, filter }))
    }

    /// Enters the sandbox for good. For a child that has just been forked: makes three system
    /// calls and nothing else.
    ///
    /// # Errors
    ///
    /// What the system says; the child must not go on then.
    #[expect(
        unsafe_code,
        reason = "what the crates offer for this allocates, which a forked child must not"
    )]
    pub fn apply(&self) -> Result<(), Errno> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.filter.len()).map_err(|_| Errno::INVAL)?,
            filter: self.filter.as_ptr().cast_mut().cast(),
        };
        // SAFETY: numbers, and a program that lives as long as the call and has the layout
        // that the kernel wants.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(
                    libc::SYS_landlock_restrict_self,
                    self.ruleset.as_raw_fd(),
                    0,
                ) == 0
                && libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    0,
                    &raw const program,
                ) == 0
        };
        if done {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        Err(Errno::from_io_error(&error).unwrap_or(Errno::PERM))
    }
}

fn unavailable(what: &str, reason: &str) -> ToolError {
    ToolError::new(
        ErrorKind::PolicyViolation,
        format!("The sandbox needs {what}, which is not to be had here: {reason}."),
    )
    .with_hint("The command was not run. Without a sandbox it runs if tools.sandbox is \"off\".")
}

/// What counts as writing. Special files are never made: a device that the superuser makes
/// leads to any disk.
fn write_access() -> BitFlags<AccessFs> {
    AccessFs::from_write(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

fn ruleset(policy: &Policy) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(WANTED))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    let writable = match policy.mode {
        Mode::WorkspaceWrite => policy.writable.as_slice(),
        Mode::Off | Mode::ReadOnly => &[],
    };
    for path in DEVICES.iter().map(Path::new) {
        ruleset = allow(ruleset, path)?;
    }
    for path in writable {
        ruleset = allow(ruleset, path)?;
    }
    Ok(ruleset)
}

fn allow(ruleset: RulesetCreated, path: &Path) -> Result<RulesetCreated, RulesetError> {
    let Ok(file) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    let access = if path.is_dir() {
        write_access()
    } else {
        write_access() & AccessFs::from_file(WANTED)
    };
    ruleset.add_rule(PathBeneath::new(file, access))
}

/// The filter of system calls.
fn filter(network: bool) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let always = |numbers: &[i64], rules: &mut BTreeMap<i64, Vec<SeccompRule>>| {
        rules.extend(numbers.iter().map(|n| (*n, Vec::new())));
    };
    always(&SUPERUSERS, &mut rules);
    // Typing for the user, in a shell outside.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| {
        let is_it = condition(1, SeccompCmpOp::Eq, u64::from(request as u32))?;
        rule(is_it)
    });
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    if !network {
        // A ring makes calls that no filter sees.
        let closed = [
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ];
        always(&closed, &mut rules);
        let unix = libc::AF_UNIX as u64;
        let kind = |kind: i32| {
            // The bits above are flags.
            condition(1, SeccompCmpOp::MaskedEq(0xf), kind as u64)
        };
        let no_datagrams = || -> Result<Vec<SeccompRule>, seccompiler::Error> {
            // To such a socket any address can be given with each message, where no filter
            // sees it. A raw one is the same to the kernel.
            Ok(vec![
                rule(condition(0, SeccompCmpOp::Ne, unix)?)?,
                rule(kind(libc::SOCK_DGRAM)?)?,
                rule(kind(libc::SOCK_RAW)?)?,
            ])
        };
        rules.insert(libc::SYS_socket, no_datagrams()?);
        rules.insert(libc::SYS_socketpair, no_datagrams()?);
        let has_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        rules.insert(libc::SYS_sendto, vec![rule(has_address)?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?;
    Ok(without_other_abi(program))
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::Error> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(condition)
}

fn rule(condition: SeccompCondition) -> Result<SeccompRule, seccompiler::Error> {
    Ok(SeccompRule::new(vec![condition])?)
}

/// Calls that are for the superuser alone, by which the machine could be changed past all
/// files; and those that hand work to the kernel or to processes outside.
const SUPERUSERS: [i64; 22] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
];

/// Refuses the second set of system call numbers of `x86_64` (x32), whose calls would pass
/// under other numbers.
#[cfg(target_arch = "x86_64")]
fn without_other_abi(program: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_OF_X32: u32 = 0x4000_0000;
    const FAIL: u32 = 0x0005_0000;
    let statement = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    // The number is the first word of what a filter sees.
    let mut all = vec![
        statement(LOAD_WORD, 0, 0, 0),
        statement(JUMP_IF_AT_LEAST, 0, 1, FIRST_OF_X32),
        statement(RETURN, 0, 0, FAIL | libc::ENOSYS as u32),
    ];
    all.extend(program);
    all
}

#[cfg(not(target_arch = "x86_64"))]
fn without_other_abi(program: BpfProgram) -> BpfProgram {
    program
}
