//! The Landlock ruleset of a sandboxed command.

use super::unavailable;
use gemini_tools_core::text::{show_path, visible};
use gemini_tools_core::tool::ToolError;
use gemini_tools_workspace::links::{ResolvedPath, resolve};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Devices that programs expect to be writable and that store nothing.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// The oldest version of Landlock that covers truncating and moving files (Linux 6.2).
const NEEDED: ABI = ABI::V3;

pub(super) fn create(writable: &[PathBuf]) -> Result<OwnedFd, ToolError> {
    let mut ruleset = handle_all().map_err(|e| lacking(&e))?;
    for device in DEVICES {
        if let Some(found) = open_device(Path::new(device)) {
            ruleset = allow(ruleset, found, FileType::CharacterDevice).map_err(|e| lacking(&e))?;
        }
    }

    let mut found = Vec::new();
    for path in writable {
        match resolve(path) {
            Ok(resolved) => found.push((path, resolved)),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(e) => return Err(cannot_open(path, e)),
        }
    }
    for (path, resolved) in &found {
        check_links(path, resolved, found.iter().map(|(_, other)| &*other.real))?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(
            CWD,
            &resolved.real,
            flags,
            Mode::empty(),
            // A link that was put into the path after the check must not be followed.
            ResolveFlags::NO_SYMLINKS,
        );
        let opened = opened.map_err(|e| cannot_open(path, e))?;
        let stat = rustix::fs::fstat(&opened).map_err(|e| cannot_open(path, e))?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        ruleset = allow(ruleset, opened, file_type).map_err(|e| lacking(&e))?;
    }
    let created: Option<OwnedFd> = ruleset.into();
    created.ok_or_else(|| no_landlock("Landlock is not active"))
}

fn handle_all() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .handle_access(AccessFs::ResolveUnix)?
        .scope(Scope::from_all(ABI::V6))?
        .create()
}

/// Returns true if this kernel's Landlock covers Unix sockets: named ones from Linux 7.1 on,
/// abstract ones from 6.12 on.
pub(super) fn confines_unix_sockets() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::ResolveUnix)
        .and_then(|ruleset| ruleset.scope(Scope::AbstractUnixSocket))
        .is_ok()
}

/// Adds a rule that allows the changes that make sense for this type of file. Making device nodes
/// is never allowed: root could make one in a writable directory and write to the disk through it.
fn allow(
    ruleset: RulesetCreated,
    opened: OwnedFd,
    file_type: FileType,
) -> Result<RulesetCreated, RulesetError> {
    let allowed: BitFlags<AccessFs> = match file_type {
        FileType::Directory => {
            (AccessFs::from_write(NEEDED) | AccessFs::IoctlDev)
                & !(AccessFs::MakeChar | AccessFs::MakeBlock)
        }
        // The user has named this very socket. Sockets in a writable directory can't be connected
        // to, since a program that listens there may act for any process.
        FileType::Socket => AccessFs::ResolveUnix | AccessFs::WriteFile,
        _ => AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
    };
    ruleset.add_rule(PathBeneath::new(opened, allowed))
}

fn open_device(path: &Path) -> Option<OwnedFd> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice).then_some(opened)
}

/// Refuses a path that leads out of a writable directory through a link in it. A command could
/// point that link elsewhere, and so give the next command more rights.
fn check_links<'a>(
    path: &Path,
    resolved: &ResolvedPath,
    writable: impl IntoIterator<Item = &'a Path>,
) -> Result<(), ToolError> {
    if !writable.into_iter().any(|dir| resolved.leaves(dir)) {
        return Ok(());
    }
    let why = "it leads through a symbolic link that commands in the sandbox could change";
    let hint = format!(
        "If it is meant, name where it leads instead: {}.",
        show_path(&resolved.real)
    );
    Err(not_writable(path, why).with_hint(hint))
}

fn not_writable(path: &Path, why: &str) -> ToolError {
    let path = show_path(path);
    let path = visible(&path);
    ToolError::denied(format!("The sandbox can't make {path} writable: {why}."))
}

fn cannot_open(path: &Path, error: Errno) -> ToolError {
    if error == Errno::INVAL {
        let error = not_writable(path, "it is not absolute");
        return error.with_hint("Write it as an absolute path.");
    }
    not_writable(path, &error.to_string())
        .with_hint("Take it out of tools.sandboxAllowedPaths, or make it accessible.")
}

fn lacking(error: &RulesetError) -> ToolError {
    no_landlock(&error.to_string())
}

fn no_landlock(why: &str) -> ToolError {
    unavailable(
        &format!("The kernel can't confine commands ({why})"),
        "The sandbox needs Linux 6.2 or later with Landlock switched on (CONFIG_SECURITY_LANDLOCK, \
         and landlock in the kernel's lsm= list); a container must not forbid it.",
    )
}
