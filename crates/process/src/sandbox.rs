//! The kernel's sandbox for the commands that a tool starts.
//!
//! A program that runs commands for a model, a plug-in or a stranger often wants ordinary ones to
//! work but no more than that: a build may read the whole system and write to the project, but must
//! not change any other file of the user's or talk to the network. On Linux the kernel can hold a
//! process to that without root and without a container, and this module tells the kernel to do so.
//!
//! This module owns what a sandboxed command may do, and the system calls that tell the kernel so.
//! The caller decides when a sandbox is wanted, and starts the commands.
//!
//! # Example
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use gemini_tools_core::tool::SandboxMode;
//! use gemini_tools_process::sandbox::{Sandbox, SandboxPolicy};
//! use std::process::Command;
//!
//! let project = tempfile::tempdir()?;
//! let outside = tempfile::tempdir()?;
//! let policy = SandboxPolicy {
//!     mode: SandboxMode::WorkspaceWrite,
//!     writable: vec![project.path().canonicalize()?],
//!     network: false,
//! };
//! let sandbox = match Sandbox::prepare(&policy) {
//!     Ok(sandbox) => sandbox.expect("a sandbox unless the mode is off"),
//!     // The kernel is too old, or a container forbids it: run nothing then.
//!     Err(_) => return Ok(()),
//! };
//!
//! let mut command = Command::new("sh");
//! command.args(["-c", "echo built >result; echo gone >\"$0\"/file 2>errors"]);
//! command.arg(outside.path()).current_dir(project.path());
//! sandbox.confine(&mut command);
//! assert!(!command.status()?.success());
//! assert_eq!(std::fs::read_to_string(project.path().join("result"))?, "built\n");
//! assert!(!outside.path().join("file").exists());
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
//!
//! # Guarantees
//!
//! Everything may be read and executed. These refuse what goes beyond that:
//!
//! - Landlock (in `ruleset`): changes to files outside the writable paths, and where the kernel is
//!   new enough, ioctls of devices, signals to processes outside, abstract and named Unix sockets;
//! - seccomp (in `filter`): the network, and ways around Landlock;
//! - the loss of capabilities, which matters to root alone;
//! - `no_new_privs`: set-user-ID programs gain nothing.
//!
//! These limits are inherited by children and can't be taken off again. Descriptors that the caller
//! has open, except for the standard streams, are closed when the program starts. There is no
//! weaker fallback: if the kernel can't enforce the policy, nothing is run. A writable path through
//! a link that a command in the sandbox could change is an error too.
//!
//! # Limits
//!
//! - In [`SandboxMode::WorkspaceWrite`] a command can change the mode, owner and times of files
//!   outside the writable paths, where its user may: Landlock doesn't cover that, and commands need
//!   the same system calls for files in the writable paths.
//! - A file that also has a name (a hard link) in a writable directory can be changed through it,
//!   although its other names are elsewhere. A command can't make such a link.
//! - A lock (`flock`) can be taken on any file that can be read, except in
//!   [`SandboxMode::ReadOnly`].
//! - Reading is not restricted at all.
//! - Time, memory and the number of processes are not limited.
//! - Only Linux has such a sandbox, from 6.2 on. Elsewhere every mode but [`SandboxMode::Off`] is
//!   an error.

#[cfg(target_os = "linux")]
pub(crate) mod filter;
#[cfg(target_os = "linux")]
mod ruleset;

#[cfg(target_os = "linux")]
use crate::raw;
use gemini_tools_core::tool::{SandboxMode, ToolError};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The rights of a command in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxPolicy {
    /// Whether files may be changed: none, those of `writable`, or all.
    pub mode: SandboxMode,
    /// The absolute paths that may be changed in [`SandboxMode::WorkspaceWrite`]: directories with
    /// all that lies beneath, single files and devices. Unix sockets among them may be connected
    /// to, but only with `network` and from Linux 7.1 on.
    pub writable: Vec<PathBuf>,
    /// True if IP sockets may be used. Unix sockets of other programs stay out of reach: a program
    /// that listens there (a container engine, a terminal multiplexer) would act for the command.
    pub network: bool,
}

/// A prepared sandbox, into which any number of children can be put.
#[derive(Debug)]
pub struct Sandbox {
    #[cfg(target_os = "linux")]
    ruleset: OwnedFd,
    #[cfg(target_os = "linux")]
    filters: Vec<seccompiler::BpfProgram>,
}

impl Sandbox {
    /// Prepares a sandbox, so that putting a forked child into it takes system calls only. Returns
    /// `None` if the mode is [`SandboxMode::Off`]. A path of [`SandboxPolicy::writable`] that does
    /// not exist is left out, so that nothing can be written there even if it is created later.
    ///
    /// # Errors
    ///
    /// Returns `policy_violation` if the kernel or the processor can't enforce the policy, or if a
    /// writable path can't be opened, is not absolute, or can be redirected by a command in the
    /// sandbox. The caller must then run nothing.
    #[cfg(target_os = "linux")]
    pub fn prepare(policy: &SandboxPolicy) -> Result<Option<Self>, ToolError> {
        if policy.mode == SandboxMode::Off {
            return Ok(None);
        }
        let writable: &[PathBuf] = match policy.mode {
            SandboxMode::WorkspaceWrite => &policy.writable,
            SandboxMode::Off | SandboxMode::ReadOnly => &[],
        };
        let ruleset = ruleset::create(writable)?;
        let filters = filter::compile(
            policy.mode,
            policy.network,
            ruleset::confines_unix_sockets(),
        )?;
        Ok(Some(Self { ruleset, filters }))
    }

    /// Returns an error for every mode but [`SandboxMode::Off`]: this system has no sandbox.
    ///
    /// # Errors
    ///
    /// Returns `policy_violation`.
    #[cfg(not(target_os = "linux"))]
    pub fn prepare(policy: &SandboxPolicy) -> Result<Option<Self>, ToolError> {
        match policy.mode {
            SandboxMode::Off => Ok(None),
            SandboxMode::WorkspaceWrite | SandboxMode::ReadOnly => Err(unavailable(
                "A sandbox for commands needs Linux",
                "Run it on Linux or in a container.",
            )),
        }
    }

    /// Puts `command` into this sandbox when it is spawned. If that fails, spawning fails and
    /// nothing has been run; [`Sandbox::not_applied`] makes the error that reports this.
    pub fn confine(self, command: &mut Command) {
        let apply = move || self.apply().map_err(Into::into);
        #[expect(unsafe_code, reason = "the standard library offers no other way")]
        // SAFETY: `apply` makes system calls only: it allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(apply);
        }
    }

    /// Puts the calling thread into the sandbox, for good. It is meant for a forked child just
    /// before it executes a program, so it makes system calls only. Descriptors from 3 on are
    /// closed when the program is executed, because a descriptor that was opened outside the
    /// sandbox keeps its rights.
    ///
    /// # Errors
    ///
    /// Returns the kernel's error; the child must then execute nothing.
    #[cfg(target_os = "linux")]
    #[doc(hidden)]
    pub fn apply(&self) -> Result<(), Errno> {
        use rustix::thread::{CapabilitySet, CapabilitySets};
        /// The capabilities that builds and archivers need when root runs them, without those for
        /// mounting, devices, kernel modules, the clock, configuring the network and the immutable
        /// flag.
        const KEPT: CapabilitySet = CapabilitySet::CHOWN
            .union(CapabilitySet::DAC_OVERRIDE)
            .union(CapabilitySet::FOWNER)
            .union(CapabilitySet::FSETID)
            .union(CapabilitySet::KILL)
            .union(CapabilitySet::SETGID)
            .union(CapabilitySet::SETUID)
            .union(CapabilitySet::NET_BIND_SERVICE);

        // With no_new_privs, executing a program as root gives no capability back.
        rustix::thread::set_no_new_privs(true)?;
        let held = rustix::thread::capabilities(None)?;
        rustix::thread::set_capabilities(
            None,
            CapabilitySets {
                effective: held.effective & KEPT,
                permitted: held.permitted & KEPT,
                inheritable: CapabilitySet::empty(),
            },
        )?;
        raw::try_close_range(3, libc::c_int::MAX, libc::CLOSE_RANGE_CLOEXEC)?;
        restrict_files(&self.ruleset)?;
        let mut filters = self.filters.iter();
        filters.try_for_each(|filter| raw::install_filter(filter, 0).map(drop))
    }

    /// Is never called, since [`Sandbox::prepare`] makes no sandbox on this system.
    ///
    /// # Errors
    ///
    /// Returns `ENOSYS`.
    #[cfg(not(target_os = "linux"))]
    #[doc(hidden)]
    pub fn apply(&self) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Returns the error for a child that was not started because [`Sandbox::apply`] failed.
    pub fn not_applied(error: &std::io::Error) -> ToolError {
        unavailable(
            &format!("The kernel refused to put the command into its sandbox ({error})"),
            "Nothing was run. Inside another sandbox or a container, Landlock and seccomp must \
             be allowed there.",
        )
    }
}

#[cfg(target_os = "linux")]
fn restrict_files(ruleset: &OwnedFd) -> Result<(), Errno> {
    let flags: libc::c_uint = 0;
    #[expect(
        unsafe_code,
        reason = "the landlock crate's wrapper is not for forked children"
    )]
    // SAFETY: the descriptor is open, and the call takes integers only.
    let status =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), flags) };
    if status == 0 {
        Ok(())
    } else {
        Err(raw::last())
    }
}

/// Returns the error for a sandbox that was asked for but is not available. `why` is a sentence
/// without its full stop, `remedy` is whole sentences.
fn unavailable(why: &str, remedy: &str) -> ToolError {
    let error = ToolError::denied(format!("{why}."));
    error.with_hint(format!(
        "{remedy} Without a sandbox, commands run only if the user asks for that \
         (GEMINI_TOOLS_SANDBOX=off)."
    ))
}
