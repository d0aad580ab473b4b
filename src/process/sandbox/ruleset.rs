//! What a sandboxed command may change, as a Landlock ruleset.

use super::{unavailable, unusable};
use crate::tool::ToolError;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// What programs expect to be able to write to, and where nothing stays.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Links followed before a path counts as endless, as the kernel has it.
const MAX_LINKS: usize = 40;

/// The oldest version that covers truncating and moving; Linux 6.2.
const NEEDED: ABI = ABI::V3;

/// A ruleset that lets `writable` be changed and nothing else, and those of `writable` that
/// do not exist.
///
/// # Errors
///
/// `policy_violation` where the kernel has no Landlock or too old a one, or a path can't be
/// used.
pub(super) fn create(writable: &[PathBuf]) -> Result<(OwnedFd, Vec<PathBuf>), ToolError> {
    let mut ruleset = handle_all().map_err(|e| lacking(&e))?;
    for device in DEVICES {
        if let Some(found) = open_device(Path::new(device)) {
            ruleset = allow(ruleset, found, FileType::CharacterDevice).map_err(|e| lacking(&e))?;
        }
    }

    let mut missing = Vec::new();
    let mut found = Vec::new();
    for path in writable {
        match resolve(path) {
            Ok(resolved) => found.push((path, resolved)),
            Err(Errno::NOENT | Errno::NOTDIR) => missing.push(path.clone()),
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
            // A link that has come in between must not lead elsewhere.
            ResolveFlags::NO_SYMLINKS,
        );
        let opened = opened.map_err(|e| cannot_open(path, e))?;
        let stat = rustix::fs::fstat(&opened).map_err(|e| cannot_open(path, e))?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        ruleset = allow(ruleset, opened, file_type).map_err(|e| lacking(&e))?;
    }
    let created: Option<OwnedFd> = ruleset.into();
    match created {
        Some(created) => Ok((created, missing)),
        None => Err(no_landlock("Landlock is not active")),
    }
}

/// A ruleset that refuses all changes. What has been added to Landlock since [`NEEDED`] is
/// refused where the kernel can.
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

/// Whether this kernel's Landlock keeps named Unix sockets from being reached (Linux 7.1).
/// Rulesets cover abstract ones from Linux 6.12 on.
pub(super) fn confines_unix_sockets() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::ResolveUnix)
        .and_then(|ruleset| ruleset.scope(Scope::AbstractUnixSocket))
        .is_ok()
}

/// Adds the changes that make sense for a file of that type. Never device nodes: one that
/// root makes in a writable directory would be a way to the disk beneath.
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
        // Named by the user, one by one. Sockets that lie in a writable directory are not
        // meant: what listens there may act for everybody who connects.
        FileType::Socket => AccessFs::ResolveUnix | AccessFs::WriteFile,
        _ => AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
    };
    ruleset.add_rule(PathBeneath::new(opened, allowed))
}

/// A device, if it is there and is one.
fn open_device(path: &Path) -> Option<OwnedFd> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice).then_some(opened)
}

/// Where a path leads.
struct Resolved {
    /// The path without links.
    real: PathBuf,
    /// The directories in which a link was followed, without links.
    links: Vec<PathBuf>,
}

/// Follows a path step by step.
fn resolve(path: &Path) -> Result<Resolved, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    let steps = |path: &Path| -> Vec<OsString> {
        path.components()
            .map(|step| step.as_os_str().to_owned())
            .collect()
    };
    let mut ahead: VecDeque<OsString> = steps(path).into();
    let mut resolved = Resolved {
        real: PathBuf::from("/"),
        links: Vec::new(),
    };
    while let Some(step) = ahead.pop_front() {
        match Path::new(&step).components().next() {
            Some(Component::Normal(name)) => {
                let next = resolved.real.join(name);
                match rustix::fs::readlink(&next, Vec::new()) {
                    Ok(target) => {
                        if resolved.links.len() == MAX_LINKS {
                            return Err(Errno::LOOP);
                        }
                        resolved.links.push(resolved.real.clone());
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        for step in steps(&target).into_iter().rev() {
                            ahead.push_front(step);
                        }
                    }
                    // No link.
                    Err(Errno::INVAL) => resolved.real = next,
                    Err(e) => return Err(e),
                }
            }
            Some(Component::ParentDir) => {
                resolved.real.pop();
            }
            Some(Component::RootDir) => resolved.real = PathBuf::from("/"),
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    Ok(resolved)
}

/// Refuses a path through a link that a command in the sandbox could point elsewhere, for the
/// next command to have more rights.
fn check_links<'a>(
    path: &Path,
    resolved: &Resolved,
    writable: impl Iterator<Item = &'a Path>,
) -> Result<(), ToolError> {
    for dir in writable {
        let inside = |path: &Path| path.starts_with(dir);
        if resolved.links.iter().any(|link| inside(link)) && !inside(&resolved.real) {
            return Err(unusable(
                path,
                "it leads through a symbolic link that commands in the sandbox could change",
                &format!(
                    "Name where it leads instead: {}.",
                    crate::shown::show_path(&resolved.real)
                ),
            ));
        }
    }
    Ok(())
}

fn cannot_open(path: &Path, error: Errno) -> ToolError {
    match error {
        Errno::INVAL => unusable(path, "it is not absolute", "Write it as an absolute path."),
        _ => unusable(
            path,
            &error.to_string(),
            "Take it out of tools.sandboxAllowedPaths, or make it accessible.",
        ),
    }
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
