//! Trust in a project: the permission for its files to run programs and to move credentials.
//!
//! A cloned repository is not the user's word. Its tools, servers and commands count only
//! where the user has said so: by the environment, by Gemini CLI's `trustedFolders.json`, or by
//! our own record, which counts for what was looked at and no longer once that has changed.
//! What is left out of an untrusted project is decided by those who would use it.

mod fingerprint;
mod folders;
mod obstacle;
mod record;

pub use fingerprint::{Fingerprint, WATCHED};
pub use record::{TrustRecord, TrustRecordError, list, remove, save};

pub use folders::path as folders_path;

use folders::{Folders, Rule};
use gemini_tools_workspace::file_owner::{FileOwner, is_home};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The permission of a project's files to run programs and to move credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The project may.
    Trusted(TrustedBy),
    /// The project may not.
    Untrusted(Distrust),
}

/// The source of a project's trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedBy {
    /// `GEMINI_CLI_TRUST_WORKSPACE`.
    Environment,
    /// The caller, by an option of its command line.
    Caller,
    /// A rule for this directory in Gemini CLI's `trustedFolders.json`.
    Folder(PathBuf),
    /// `get_tools trust`; nothing has changed since.
    Record,
    /// The project is the user's home directory: its `.gemini` is the user's own.
    Home,
}

/// The reason why a project is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// No source says that the project is trusted.
    Unknown,
    /// This variable of the environment says that it is not.
    Environment(&'static str),
    /// A rule for this directory in Gemini CLI's `trustedFolders.json` says that it is not.
    Folder(PathBuf),
    /// The source of trust can't be read, for this reason.
    Unreadable(String),
    /// These files are not what they were when `get_tools trust` looked at them.
    Changed(Vec<String>),
}

impl Trust {
    /// Judges the project in `root`; `home` is the user's home directory.
    ///
    /// Costs two small files that mostly don't exist, and where there is a record a look into each
    /// file that it holds.
    pub fn judge(home: Option<&Path>, root: &Path) -> Self {
        let environment = trust_by_environment();
        if let Some(Self::Untrusted(why)) = environment {
            return Self::Untrusted(why);
        }
        // The kernel's own answer, without the links of the way here.
        let root = match std::fs::canonicalize(root) {
            Ok(root) => root,
            Err(e) => {
                let reason = format!("{}: {e}", root.display());
                return Self::Untrusted(Distrust::Unreadable(reason));
            }
        };
        let is_home = is_home(home, &root);
        let rule = match Folders::load(home).map(|folders| folders.rule_for(&root)) {
            _ if is_home => None,
            Err(reason) => return Self::Untrusted(Distrust::Unreadable(reason)),
            Ok(Some(Rule::Untrusted(rule))) => return Self::Untrusted(Distrust::Folder(rule)),
            Ok(rule) => rule,
        };
        match (environment, rule) {
            (Some(said), _) => return said,
            _ if is_home => return Self::Trusted(TrustedBy::Home),
            (None, Some(Rule::Trusted(rule))) => return Self::Trusted(TrustedBy::Folder(rule)),
            _ => {}
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

    /// Returns true if the project is trusted.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }
}

/// Reads `GEMINI_RESTRICTED_MODE` and `GEMINI_CLI_TRUST_WORKSPACE`, as in Gemini CLI 0.61, but that a
/// `1` is as good as `true` for the latter.
fn trust_by_environment() -> Option<Trust> {
    let restricted = "GEMINI_RESTRICTED_MODE";
    let trust = "GEMINI_CLI_TRUST_WORKSPACE";
    if std::env::var_os(restricted).is_some_and(|v| v == "true") {
        return Some(Trust::Untrusted(Distrust::Environment(restricted)));
    }
    let said = std::env::var_os(trust)?;
    if said == "true" || said == "1" {
        return Some(Trust::Trusted(TrustedBy::Environment));
    }
    (said == "false").then_some(Trust::Untrusted(Distrust::Environment(trust)))
}

/// Returns true if Gemini CLI trusts `root`, an absolute path, by the environment and the user's
/// own files alone. Our own record is nothing to it, and neither is that a directory is the user's
/// home.
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

/// Returns true if a file with a list of trusted folders, as Gemini CLI and its forks have one,
/// trusts `root`.
pub fn is_listed(file: &Path, root: &Path) -> bool {
    Folders::read(file).is_ok_and(|folders| folders.trust(root))
}

fn is_folder_trust_off(home: &Path) -> bool {
    let text = FileOwner::Users.read(&home.join(".gemini/settings.json"));
    let value = text
        .ok()
        .flatten()
        .map(|text| crate::settings::jsonc(&text));
    value.is_some_and(|value| {
        value.is_ok_and(|value| value["security"]["folderTrust"]["enabled"] == false)
    })
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
            Self::Environment(name) => write!(f, "{name} says so"),
            Self::Folder(rule) => write!(f, "trustedFolders.json says so of {}", rule.display()),
            Self::Unreadable(reason) => f.write_str(reason),
            Self::Changed(files) => {
                let shown: Vec<_> = files.iter().take(3).map(String::as_str).collect();
                write!(f, "changed since get_tools trust: {}", shown.join(", "))?;
                match files.len() - shown.len() {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
        }
    }
}

/// The trust of one project, found out when it is asked for the first time: a project that
/// brings nothing costs nothing. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub struct ProjectTrust {
    home: Option<PathBuf>,
    root: PathBuf,
    known: Arc<OnceLock<Trust>>,
}

impl ProjectTrust {
    /// Takes the project in `root`; `home` is the user's home directory.
    pub fn new(home: Option<&Path>, root: &Path) -> Self {
        Self {
            home: home.map(Path::to_owned),
            root: root.to_owned(),
            known: Arc::default(),
        }
    }

    /// Judges the project anew where it is trusted for what its files held: calls may have changed
    /// them since.
    pub fn again(&self) -> Trust {
        match &**self {
            Trust::Trusted(TrustedBy::Record) => Trust::judge(self.home.as_deref(), &self.root),
            known => known.clone(),
        }
    }

    /// Returns a trust that is known already.
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
mod tests {
    use super::{Distrust, Fingerprint, ProjectTrust, Trust, TrustRecord, TrustedBy, remove, save};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    struct Place {
        _dir: tempfile::TempDir,
        home: PathBuf,
        root: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let base = dir.path().canonicalize().expect("its name");
            let (home, root) = (base.join("home"), base.join("work/project"));
            fs::create_dir_all(home.join(".gemini")).expect("made");
            fs::create_dir_all(root.join(".gemini/tools")).expect("made");
            Self {
                _dir: dir,
                home,
                root,
            }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.root.join(name), text).expect("written");
        }

        fn folders(&self, text: &str) {
            fs::write(self.home.join(".gemini/trustedFolders.json"), text).expect("written");
        }

        fn trust(&self) -> Trust {
            Trust::judge(Some(&self.home), &self.root)
        }

        fn record(&self) {
            let seen = Fingerprint::look(&self.root).expect("seen");
            save(&self.home, &self.root, seen).expect("saved");
            assert_eq!(self.trust(), Trust::Trusted(TrustedBy::Record));
        }
    }

    fn changed(files: &[&str]) -> Trust {
        let files = files.iter().map(|f| (*f).to_owned()).collect();
        Trust::Untrusted(Distrust::Changed(files))
    }

    #[test]
    fn nobody_is_trusted_unasked_but_the_home_directory() {
        let place = Place::new();
        assert_eq!(place.trust(), Trust::Untrusted(Distrust::Unknown));
        assert_eq!(
            Trust::judge(None, &place.root),
            Trust::Untrusted(Distrust::Unknown)
        );
        let own = Trust::judge(Some(&place.home), &place.home);
        assert_eq!(own, Trust::Trusted(TrustedBy::Home));
        assert!(!Trust::judge(None, &place.root.join("missing")).is_trusted());
    }

    #[test]
    fn a_record_counts_until_something_changes() {
        let place = Place::new();
        place.write(".gemini/settings.json", "{}");
        place.write(".gemini/tools/a", "one");
        place.record();
        place.write(".gemini/tools/a", "two");
        assert_eq!(place.trust(), changed(&[".gemini/tools/a"]));
        place.write(".gemini/tools/a", "one");
        assert!(place.trust().is_trusted(), "the same content again");
        place.write(".gemini/tools/b", "");
        assert_eq!(place.trust(), changed(&[".gemini/tools/b"]));
        fs::remove_file(place.root.join(".gemini/tools/b")).expect("removed");
        assert!(place.trust().is_trusted());
        let tool = place.root.join(".gemini/tools/a");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
        assert_eq!(place.trust(), changed(&[".gemini/tools/a"]));
        place.record();
        fs::remove_file(place.root.join(".gemini/settings.json")).expect("removed");
        assert_eq!(place.trust(), changed(&[".gemini/settings.json"]));
        place.record();
        fs::create_dir(place.root.join(".gemini/policies")).expect("made");
        assert_eq!(place.trust(), changed(&[".gemini/policies"]));
        assert!(remove(&place.home, &place.root).expect("removed"));
        assert_eq!(place.trust(), Trust::Untrusted(Distrust::Unknown));
        assert!(!remove(&place.home, &place.root).expect("nothing there"));
    }

    #[test]
    fn a_link_counts_with_its_target_and_its_content() {
        let place = Place::new();
        for name in ["one", "two"] {
            place.write(name, "the same");
        }
        let link = place.root.join(".gemini/tools/tool");
        symlink("../../one", &link).expect("a link");
        place.record();
        fs::remove_file(&link).expect("removed");
        symlink("../../two", &link).expect("a link");
        assert_eq!(place.trust(), changed(&[".gemini/tools/tool"]));
        place.record();
        place.write("two", "another");
        assert_eq!(place.trust(), changed(&[".gemini/tools/tool"]));
        fs::remove_dir_all(place.root.join(".gemini")).expect("removed");
        symlink("elsewhere", place.root.join(".gemini")).expect("a link");
        assert!(!place.trust().is_trusted());
    }

    #[test]
    fn a_record_is_for_one_directory_and_for_the_owners_eyes() {
        let place = Place::new();
        place.record();
        let other = place.root.with_file_name("other");
        fs::create_dir(&other).expect("made");
        assert!(!Trust::judge(Some(&place.home), &other).is_trusted());
        let dir = place.home.join(".gemini/trusted_tools");
        let mode = |path: &PathBuf| fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&dir) & 0o777, 0o700);
        let records: Vec<_> = fs::read_dir(&dir).expect("a directory").flatten().collect();
        assert_eq!(records.len(), 1);
        let file = records[0].path();
        assert_eq!(mode(&file) & 0o777, 0o600);
        // A user who can write there could trust anything.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).expect("a mode");
        assert!(!place.trust().is_trusted());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
        fs::write(&file, "{").expect("written");
        let why = place.trust().to_string();
        assert!(why.contains("trusted_tools"), "{why}");
    }

    #[test]
    fn a_copied_record_does_not_count_elsewhere() {
        let place = Place::new();
        place.record();
        let other = place.root.with_file_name("other");
        fs::create_dir_all(other.join(".gemini/tools")).expect("made");
        let dir = place.home.join(".gemini/trusted_tools");
        let own = TrustRecord::path(&place.home, &place.root);
        assert!(own.starts_with(&dir));
        fs::copy(own, TrustRecord::path(&place.home, &other)).expect("copied");
        assert!(!Trust::judge(Some(&place.home), &other).is_trusted());
    }

    #[test]
    fn the_nearest_rule_of_gemini_cli_wins_and_a_refusal_beats_our_record() {
        let place = Place::new();
        place.record();
        let (root, work) = (place.root.clone(), place.root.parent().expect("one"));
        let rules = |rules: &[(&str, &str)]| {
            let map: serde_json::Map<_, _> = rules
                .iter()
                .map(|(path, level)| ((*path).to_owned(), (*level).into()))
                .collect();
            place.folders(&format!("// a comment\n{}", serde_json::Value::from(map)));
            place.trust()
        };
        let (r, w) = (root.to_str().expect("text"), work.to_str().expect("text"));
        let sibling = format!("{w}/sibling");
        let said = |trust: Trust| trust.is_trusted();
        assert!(said(rules(&[(r, "TRUST_FOLDER"), (w, "DO_NOT_TRUST")])));
        assert!(!said(rules(&[(r, "DO_NOT_TRUST"), (w, "TRUST_FOLDER")])));
        assert!(!said(rules(&[("/", "DO_NOT_TRUST")])));
        remove(&place.home, &root).expect("removed");
        assert!(said(rules(&[("/", "TRUST_FOLDER")])));
        assert!(said(rules(&[(&sibling, "TRUST_PARENT")])));
        assert!(!said(rules(&[(&sibling, "TRUST_FOLDER")])));
        assert!(!said(rules(&[(&format!("{r}/below"), "TRUST_FOLDER")])));
        assert!(!said(rules(&[("project", "TRUST_FOLDER")])));
    }

    #[test]
    fn a_broken_list_of_folders_trusts_nothing() {
        let place = Place::new();
        place.record();
        let root = place.root.to_str().expect("text").to_owned();
        for text in [
            "{".to_owned(),
            "[]".to_owned(),
            format!("{{{root:?}: \"TRUST\"}}"),
            format!("{{{root:?}: true}}"),
        ] {
            place.folders(&text);
            let why = place.trust().to_string();
            assert!(why.contains("trustedFolders.json"), "{text}: {why}");
            assert!(!place.trust().is_trusted(), "{text}");
        }
    }

    #[test]
    fn the_trust_of_a_project_is_found_out_once() {
        let place = Place::new();
        let lazy = ProjectTrust::new(Some(&place.home), &place.root);
        assert!(!lazy.is_trusted());
        place.record();
        assert!(!lazy.is_trusted());
        let lazy = ProjectTrust::new(Some(&place.home), &place.root);
        assert!(lazy.is_trusted());
        place.write(".gemini/tools/a", "new");
        assert!(lazy.is_trusted());
        assert_eq!(lazy.again(), changed(&[".gemini/tools/a"]));
        assert!(ProjectTrust::known(Trust::Trusted(TrustedBy::Caller)).is_trusted());
    }

    #[test]
    fn what_is_no_regular_file_can_be_seen_and_does_not_hang() {
        let place = Place::new();
        let fifo = place.root.join(".gemini/tools/pipe");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo").success());
        symlink("loop", place.root.join(".gemini/tools/loop")).expect("a link");
        symlink("..", place.root.join(".gemini/tools/up")).expect("a link");
        let refused = Fingerprint::look(&place.root).expect_err("a loop of directories");
        assert!(refused.to_string().contains("up"), "{refused}");
        fs::remove_file(place.root.join(".gemini/tools/up")).expect("removed");
        place.record();
        fs::remove_file(&fifo).expect("removed");
        place.write(".gemini/tools/pipe", "now a file");
        assert_eq!(place.trust(), changed(&[".gemini/tools/pipe"]));
    }
}
