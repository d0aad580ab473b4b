//! Trust in a project: whether its files may run programs and use credentials.
//!
//! A cloned repository may come from anybody. Its tools, servers and commands count only if the
//! user has said so: by an environment variable, by Gemini CLI's `trustedFolders.json`, or by the
//! record that `get_tools trust` writes, which is valid only while the reviewed files are
//! unchanged. This module only determines trust; the code that uses a project's files leaves out
//! what needs it.

mod fingerprint;
mod folders;
mod obstacle;
mod record;
mod watch;

pub use fingerprint::{Fingerprint, WATCHED};
pub use record::{TrustRecord, TrustRecordError, list, remove, save};
pub use watch::TrustWatch;

pub use folders::path as folders_path;

use crate::settings::jsonc;
use folders::Folders;
use gemini_tools_workspace::file_owner::{FileOwner, is_home};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Whether a project's files may run programs and use credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The files may do so.
    Trusted(TrustedBy),
    /// The files may not do so.
    Untrusted(Distrust),
}

/// Why a project is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedBy {
    /// The environment variable `GEMINI_CLI_TRUST_WORKSPACE` says so.
    Environment,
    /// The caller said so, by a command-line option.
    Caller,
    /// A rule for this directory in Gemini CLI's `trustedFolders.json`.
    Folder(PathBuf),
    /// `get_tools trust` has recorded the project, and no recorded file has changed since.
    Record,
    /// The project is the user's home directory: its `.gemini` is the user's own.
    Home,
}

/// Why a project is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// Nothing says whether the project is trusted.
    Unknown,
    /// This environment variable says that the project is not trusted.
    Environment(&'static str),
    /// A rule for this directory in Gemini CLI's `trustedFolders.json` says that the project is not
    /// trusted.
    Folder(PathBuf),
    /// A file on which trust depends can't be read, for this reason.
    Unreadable(String),
    /// These files have changed since `get_tools trust` recorded them.
    Changed(Vec<String>),
    /// The folder was trusted as a whole, but a tool has changed these files and the user has not
    /// reviewed them since.
    ChangedByTool(Vec<String>),
}

impl Trust {
    /// Determines the trust in the project in `root`. `home` is the user's home directory.
    ///
    /// This reads two small files that usually do not exist and, if there is a record, every file
    /// that it covers.
    pub fn judge(home: Option<&Path>, root: &Path) -> Self {
        let environment = trust_by_environment();
        if let Some(Self::Untrusted(why)) = environment {
            return Self::Untrusted(why);
        }
        // The real path: trust must not depend on the link by which the project was reached.
        let root = match std::fs::canonicalize(root) {
            Ok(root) => root,
            Err(e) => {
                let reason = format!("{}: {e}", root.display());
                return Self::Untrusted(Distrust::Unreadable(reason));
            }
        };
        let is_home = is_home(home, &root);
        let rule = match Folders::load(home).map(|folders| folders.trust_of(&root)) {
            _ if is_home => None,
            Err(reason) => return Self::Untrusted(Distrust::Unreadable(reason)),
            Ok(Some(untrusted @ Self::Untrusted(_))) => return untrusted,
            Ok(rule) => rule,
        };
        let by_home = is_home.then_some(Self::Trusted(TrustedBy::Home));
        if let Some(trust) = environment.or(by_home).or(rule) {
            return trust.unless_changed_by_tool(home, &root);
        }
        match home.map(|home| TrustRecord::load(home, &root)) {
            None | Some(Ok(None)) => Self::Untrusted(Distrust::Unknown),
            Some(Err(e)) => Self::Untrusted(Distrust::Unreadable(e.to_string())),
            Some(Ok(Some(record))) => {
                let changes = record.seen.changes(&root);
                if changes.is_empty() {
                    Self::Trusted(TrustedBy::Record)
                } else {
                    Self::Untrusted(Distrust::Changed(changes))
                }
            }
        }
    }

    /// Revokes trust if a tool has changed any of the files that need trust. This concerns trust
    /// that was given to the folder as a whole, whatever its files contain. `root` must be
    /// canonical.
    fn unless_changed_by_tool(self, home: Option<&Path>, root: &Path) -> Self {
        let Some(home) = home.filter(|_| self.covers_changes()) else {
            return self;
        };
        match watch::changes_by_tools(home, root) {
            Ok(changes) if changes.is_empty() => self,
            Ok(changes) => Self::Untrusted(Distrust::ChangedByTool(changes)),
            Err(e) => Self::Untrusted(Distrust::Unreadable(e.to_string())),
        }
    }

    fn covers_changes(&self) -> bool {
        use TrustedBy::{Caller, Environment, Folder};
        matches!(self, Self::Trusted(Caller | Environment | Folder(_)))
    }

    /// Returns true if the project is trusted.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }
}

const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// Reads `GEMINI_RESTRICTED_MODE` and `GEMINI_CLI_TRUST_WORKSPACE`. Gemini CLI 0.61 knows the values
/// `true` and `false` only. Here any other that is not empty counts as distrust, too, since it may
/// be meant so; only `0` takes a restriction back, as `false` does.
fn trust_by_environment() -> Option<Trust> {
    let restricted = "GEMINI_RESTRICTED_MODE";
    let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if said(restricted).is_some_and(|value| value != "false" && value != "0") {
        return Some(Trust::Untrusted(Distrust::Environment(restricted)));
    }
    Some(match said(TRUST)? {
        value if value == "true" => Trust::Trusted(TrustedBy::Environment),
        _ => Trust::Untrusted(Distrust::Environment(TRUST)),
    })
}

/// Returns true if Gemini CLI trusts `root`, an absolute path, because of the environment or the
/// user's files. Gemini CLI does not read the records of `get_tools trust`, and does not treat the
/// home directory specially.
pub fn gemini_cli_trusts(home: &Path, root: &Path) -> bool {
    let says = |name: &str, what: &str| std::env::var_os(name).is_some_and(|v| v == what);
    let trust = "GEMINI_CLI_TRUST_WORKSPACE";
    if says("GEMINI_RESTRICTED_MODE", "true") || says(trust, "false") {
        return false;
    }
    if says(trust, "true") || is_folder_trust_off(home) {
        return true;
    }
    Folders::load(Some(home)).is_ok_and(|folders| folders.trust(root))
}

fn is_folder_trust_off(home: &Path) -> bool {
    let text = FileOwner::Users.read(&home.join(".gemini/settings.json"));
    let value = text.ok().flatten().and_then(|text| jsonc(&text).ok());
    value.is_some_and(|value| value["security"]["folderTrust"]["enabled"] == false)
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trusted(by) => write!(f, "trusted: {by}"),
            Self::Untrusted(Distrust::Unknown) => f.write_str("not trusted yet"),
            Self::Untrusted(why) => write!(f, "not trusted: {why}"),
        }
    }
}

impl fmt::Display for TrustedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("GEMINI_CLI_TRUST_WORKSPACE says so"),
            Self::Caller => f.write_str("--trust says so"),
            Self::Folder(rule) => write!(f, "trustedFolders.json says so of {}", rule.display()),
            Self::Record => f.write_str("get_tools trust has recorded it, nothing has changed"),
            Self::Home => f.write_str("it is your home directory"),
        }
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("nothing says that it is"),
            Self::Environment(name) => {
                let value = std::env::var_os(name).unwrap_or_default();
                let not = match *name {
                    TRUST => ", not \"true\"",
                    _ => "",
                };
                write!(f, "{name} is {:?}{not}", value.display())
            }
            Self::Folder(rule) => write!(f, "trustedFolders.json says so of {}", rule.display()),
            Self::Unreadable(reason) => f.write_str(reason),
            Self::Changed(files) => write_changes(f, "since get_tools trust", files),
            Self::ChangedByTool(files) => write_changes(f, "by a tool", files),
        }
    }
}

fn write_changes(f: &mut fmt::Formatter<'_>, how: &str, files: &[String]) -> fmt::Result {
    let shown: Vec<_> = files.iter().take(3).map(String::as_str).collect();
    write!(f, "changed {how}: {}", shown.join(", "))?;
    match files.len() - shown.len() {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// The trust in one project, determined when it is first needed, so that a project without files
/// that need trust costs nothing. Clones share the result.
#[derive(Debug, Clone, Default)]
pub struct ProjectTrust {
    home: Option<PathBuf>,
    root: PathBuf,
    known: Arc<OnceLock<Trust>>,
}

impl ProjectTrust {
    /// Refers to the project in `root`. `home` is the user's home directory.
    pub fn new(home: Option<&Path>, root: &Path) -> Self {
        Self {
            home: home.map(Path::to_owned),
            root: root.to_owned(),
            known: Arc::default(),
        }
    }

    /// Refers to the project in `root`, which the caller trusts.
    pub fn by_caller(home: Option<&Path>, root: &Path) -> Self {
        let own = Self::new(home, root);
        own.known.get_or_init(|| own.of_caller());
        own
    }

    fn of_caller(&self) -> Trust {
        let root = std::fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        Trust::Trusted(TrustedBy::Caller).unless_changed_by_tool(self.home.as_deref(), &root)
    }

    /// Determines the trust again if the project was trusted, since calls may have changed its
    /// files.
    pub fn again(&self) -> Trust {
        match &**self {
            Trust::Trusted(TrustedBy::Caller) => self.of_caller(),
            Trust::Trusted(_) => Trust::judge(self.home.as_deref(), &self.root),
            known @ Trust::Untrusted(_) => known.clone(),
        }
    }

    /// Wraps a trust that is already known.
    pub fn known(trust: Trust) -> Self {
        Self {
            known: Arc::new(OnceLock::from(trust)),
            ..Self::default()
        }
    }
}

impl Deref for ProjectTrust {
    type Target = Trust;

    fn deref(&self) -> &Trust {
        self.known
            .get_or_init(|| Trust::judge(self.home.as_deref(), &self.root))
    }
}

#[cfg(test)]
mod tests;
