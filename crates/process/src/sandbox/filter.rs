//! The system calls that a sandboxed command may not make, as seccomp programs.
//!
//! Calls that are not listed are allowed. Landlock decides which files and processes a call may
//! reach, and calls that need a capability which the sandbox takes away are not listed again. Each
//! seccomp program returns one error number, chosen so that commands can do without the call.

use super::{SandboxMode, unavailable};
use gemini_tools_core::tool::ToolError;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// The refused calls, by number. A call with an empty list of rules is always refused, a call with
/// rules only if one of them matches.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The first call number that was unassigned when this list was made. Newer calls are refused,
/// because it is not known whether they are harmless, and programs cope with kernels that lack
/// them. This also covers the x32 calls of `x86_64`, whose numbers are higher.
const FIRST_UNKNOWN_CALL: u32 = 470;

// Call numbers that are the same on every architecture. The libc crate does not have all of them.
pub(crate) const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

const SOCKET_TYPE_MASK: u64 = 0xf;

/// Flags of `clone` that create namespaces. A process in a new user namespace has all capabilities
/// there, which opens parts of the kernel that otherwise only root can reach.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Requests of `ioctl` that put input into a terminal as if its user had typed it.
const TERMINAL_IOCTLS: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// Requests of `ioctl` that change a file or directory although it is open for reading only:
/// attributes, fs-verity, storage on ext4, and subvolumes and snapshots of btrfs. Only the lower 16
/// bits of a request, its type and number, are compared.
const FILE_IOCTLS: [u64; 16] = [
    0x6602, // FS_IOC_SETFLAGS
    0x7602, // FS_IOC_SETVERSION
    0x6604, // EXT4_IOC_SETVERSION_OLD
    0x6609, // EXT4_IOC_MIGRATE
    0x660c, // EXT4_IOC_ALLOC_DA_BLKS
    0x5820, // FS_IOC_FSSETXATTR
    0x6685, // FS_IOC_ENABLE_VERITY
    0x6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x9401, // BTRFS_IOC_SNAP_CREATE
    0x940e, // BTRFS_IOC_SUBVOL_CREATE
    0x940f, // BTRFS_IOC_SNAP_DESTROY
    0x9417, // BTRFS_IOC_SNAP_CREATE_V2
    0x9418, // BTRFS_IOC_SUBVOL_CREATE_V2
    0x941a, // BTRFS_IOC_SUBVOL_SETFLAGS
    0x9425, // BTRFS_IOC_SET_RECEIVED_SUBVOL
    0x943f, // BTRFS_IOC_SNAP_DESTROY_V2
];

/// Commands of `fcntl` that affect other programs although the file is open for reading only: a
/// lease holds up whoever wants to write, and a hint changes how a file is stored.
const FILE_CONTROLS: [u64; 3] = [
    1024, // F_SETLEASE
    1036, // F_SET_RW_HINT
    1038, // F_SET_FILE_RW_HINT
];

/// Scheduling calls with a process id. In these it is the first argument, and 0 means the caller
/// and is allowed. In `PRIORITIES` it is the second, and the first argument that is listed with
/// each call means all processes of a user.
const SCHEDULING: [i64; 4] = [
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

const PRIORITIES: [(i64, u64); 2] = [
    (libc::SYS_setpriority, 2 /* PRIO_USER */),
    (libc::SYS_ioprio_set, 3 /* IOPRIO_WHO_USER */),
];

/// Compiles the seccomp programs of a mode; all of them must be installed. `unix_confined` says
/// that Landlock keeps the command from connecting to Unix sockets outside.
///
/// # Errors
///
/// Returns `policy_violation` if seccompiler does not know the processor.
pub(super) fn compile(
    mode: SandboxMode,
    network: bool,
    unix_confined: bool,
) -> Result<Vec<BpfProgram>, ToolError> {
    let failed = |e: seccompiler::BackendError| {
        unavailable(
            &format!("The sandbox's system call filter can't be made on this processor ({e})"),
            "It is known for x86_64, aarch64 and riscv64.",
        )
    };
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let mut groups = vec![
        (unknown(), libc::ENOSYS),
        (privileged().map_err(failed)?, libc::EPERM),
        (attributes(mode).map_err(failed)?, libc::EOPNOTSUPP),
        (
            sockets(network, unix_confined).map_err(failed)?,
            libc::EACCES,
        ),
    ];
    if mode == SandboxMode::ReadOnly {
        groups.push((metadata(), libc::EROFS));
    }
    let mut programs = vec![newer_calls()];
    for (rules, errno) in groups {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
        let program = filter.and_then(BpfProgram::try_from).map_err(failed)?;
        programs.push(program);
    }
    Ok(programs)
}

fn newer_calls() -> BpfProgram {
    let instruction = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    // The architecture needs no check: the other seccomp programs kill a process that makes calls
    // of another architecture.
    vec![
        // The call number is the first word of the data that a filter sees.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            0,
            1,
            FIRST_UNKNOWN_CALL,
        ),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

fn unknown() -> Rules {
    always(&[
        // The flags of `clone3` are in memory, where no filter can look. Programs fall back to
        // `clone`.
        libc::SYS_clone3,
        // io_uring is a second way to make most system calls, which filters don't see.
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        // Shared memory and message queues have no paths that Landlock could check, and processes
        // outside may use them.
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
    ])
}

/// Returns rules for calls that no build or test needs, and that have been used to break out of
/// sandboxes or that affect other processes.
fn privileged() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = always(&[
        libc::SYS_unshare,
        libc::SYS_setns,
        // Opens a file by a handle and not by a path, so Landlock can't check it.
        libc::SYS_open_by_handle_at,
        libc::SYS_pidfd_getfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_fanotify_init,
        // Keyrings are shared with the user's other processes.
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
    ]);
    let namespaces = NAMESPACE_FLAGS.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        (0, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, any_of(namespaces)?);
    let typing = TERMINAL_IOCTLS.map(|request| (1, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, any_of(typing)?);
    // Refuses `prlimit64` that sets (third argument not null) another process's limits (first not
    // 0).
    rules.insert(
        libc::SYS_prlimit64,
        vec![SeccompRule::new(vec![
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?,
            SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?,
        ])?],
    );
    // Refuses to change how other processes are scheduled, which Landlock does not check.
    for call in SCHEDULING {
        rules.insert(call, any_of([(0, SeccompCmpOp::Ne, 0)])?);
    }
    for (call, user) in PRIORITIES {
        let others = (1, SeccompCmpOp::Ne, 0);
        rules.insert(call, any_of([others, (0, SeccompCmpOp::Eq, user)])?);
    }
    Ok(rules)
}

fn attributes(mode: SandboxMode) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = always(&[
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        SYS_SETXATTRAT,
        SYS_REMOVEXATTRAT,
        SYS_FILE_SETATTR,
    ]);
    let ioctls = FILE_IOCTLS.map(|request| (1, SeccompCmpOp::MaskedEq(0xffff), request));
    rules.insert(libc::SYS_ioctl, any_of(ioctls)?);
    let controls = FILE_CONTROLS.map(|command| (1, SeccompCmpOp::Eq, command));
    rules.insert(libc::SYS_fcntl, any_of(controls)?);
    if mode == SandboxMode::ReadOnly {
        // In a sandbox where nothing can be written, a lock would only block other programs.
        rules.insert(libc::SYS_flock, Vec::new());
    }
    Ok(rules)
}

/// Returns rules for calls that change modes, owners and times, which Landlock does not check.
/// Commands need them wherever they may write files, so only a read-only sandbox refuses them.
fn metadata() -> Rules {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_mut, reason = "newer architectures start without the old calls")
    )]
    let mut rules = always(&[
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        SYS_FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.append(&mut always(&[
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ]));
    rules
}

/// Returns rules for sockets. A command may ask the kernel for the network interfaces, as node's
/// `os.networkInterfaces` and the C library do, but not use netlink for anything else. Without
/// `network` it may otherwise only use connected pairs, which have no address to send to. With it,
/// IP sockets are allowed too, and Unix sockets only if Landlock restricts them (`unix_confined`).
fn sockets(network: bool, unix_confined: bool) -> Result<Rules, seccompiler::BackendError> {
    let (unix, netlink) = (domain(libc::AF_UNIX), domain(libc::AF_NETLINK));
    let (inet, inet6) = (domain(libc::AF_INET), domain(libc::AF_INET6));
    let none_of = |known: &[u64]| {
        let conditions: Vec<_> = known
            .iter()
            .map(|&known| (0, SeccompCmpOp::Ne, known))
            .collect();
        rule(&conditions)
    };
    let route = u64::from(libc::NETLINK_ROUTE.unsigned_abs());
    let other_netlink = rule(&[(0, SeccompCmpOp::Eq, netlink), (2, SeccompCmpOp::Ne, route)])?;
    if network && unix_confined {
        let others = none_of(&[unix, netlink, inet, inet6])?;
        return Ok(Rules::from([(
            libc::SYS_socket,
            vec![others, other_netlink],
        )]));
    }
    let connectionless = (0..=SOCKET_TYPE_MASK)
        .filter(|&sort| {
            sort != u64::from(libc::SOCK_STREAM.unsigned_abs())
                && sort != u64::from(libc::SOCK_SEQPACKET.unsigned_abs())
        })
        .map(|sort| {
            rule(&[
                (0, SeccompCmpOp::Eq, unix),
                (1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), sort),
            ])
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut pairs = connectionless.clone();
    pairs.push(none_of(&[unix])?);
    let mut rules = Rules::from([(libc::SYS_socketpair, pairs)]);
    if network {
        let others = none_of(&[netlink, inet, inet6])?;
        rules.insert(libc::SYS_socket, vec![others, other_netlink]);
        return Ok(rules);
    }
    let mut single = connectionless;
    single.extend([none_of(&[unix, netlink])?, other_netlink]);
    rules.insert(libc::SYS_socket, single);
    rules.append(&mut always(&[libc::SYS_connect, libc::SYS_listen]));
    Ok(rules)
}

fn domain(family: i32) -> u64 {
    u64::from(family.unsigned_abs())
}

fn always(calls: &[i64]) -> Rules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

pub(crate) fn any_of(
    conditions: impl IntoIterator<Item = (u8, SeccompCmpOp, u64)>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let conditions = conditions.into_iter();
    conditions.map(|condition| rule(&[condition])).collect()
}

/// Returns a rule that matches if all its conditions on the arguments of these indices do. The
/// kernel reads only the lower 32 bits of the arguments compared here, and so must the filter.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions
        .iter()
        .map(|(index, op, value)| {
            SeccompCondition::new(*index, SeccompCmpArgLen::Dword, op.clone(), *value)
        })
        .collect::<Result<_, _>>()?;
    SeccompRule::new(conditions)
}
