//! Where rules come from: files of the system, the user, the project and extensions, and the
//! command line.

use super::settings::{file_of, rules};
use super::{Decision, Mode, Policy, PolicyFile, Tier, Verdict, file};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_environment::variables::{self, MAY_RESTRICT};
use gemini_tools_settings::settings::{Settings, UNTRUSTED, system_directory};
use gemini_tools_settings::trust::{ProjectTrust, Trust, TrustedBy};
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::files::is_of_the_system;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What the command line says about approval.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PolicyOptions {
    /// The mode in which calls are asked about; `None` if the host asks.
    pub approval: Option<Mode>,
    /// `--policy`: files and directories in the place of `~/.gemini/policies`.
    pub policy: Vec<PathBuf>,
    /// `--allowed-tools`: entries such as `glob` or `run_shell_command(git)`, which need no
    /// approval.
    pub allowed: Vec<String>,
}

impl PolicyOptions {
    /// Returns the policy files and directories of the command line, or else those in
    /// `GEMINI_TOOLS_POLICY`. The second name of that variable is `GEMINI_CLI_TOOLS_POLICY`. If
    /// both are set and differ, the paths of both count and the second value is true: rules in
    /// their files may only restrict.
    pub fn paths(&self) -> (Vec<PathBuf>, bool) {
        let mut paths = self.policy.clone();
        let mut only_restricts = false;
        if paths.is_empty() {
            let named = variables::values("GEMINI_TOOLS_POLICY");
            let mut named = named.iter().map(|found| variables::paths(&found.value));
            paths = named.next().unwrap_or_default();
            for more in named.filter(|more| *more != paths).collect::<Vec<_>>() {
                paths.extend(more);
                only_restricts = true;
            }
        }
        (paths, only_restricts)
    }
}

/// Returns the mode that the host reports in `GEMINI_TOOLS_APPROVAL_MODE`. If this variable and
/// `GEMINI_CLI_TOOLS_APPROVAL_MODE`, its second name, have different values, the mode that asks
/// more wins. An unknown mode is a fault of the settings, with which no call may run.
pub fn mode_from_env() -> Mode {
    let modes = variables::values("GEMINI_TOOLS_APPROVAL_MODE");
    let modes = modes
        .iter()
        .filter_map(|found| Mode::from_name(found.text().trim()));
    let place = |mode: &Mode| Mode::ASKING_MOST_FIRST.iter().position(|one| one == mode);
    modes.min_by_key(place).unwrap_or_default()
}

impl Policy {
    /// Finds and reads all rules. The settings say whether the project is trusted. If there are no
    /// policy files, this costs only a few failed lookups.
    pub fn load(
        settings: &Settings,
        home: Option<&Path>,
        root: &Path,
        options: &PolicyOptions,
    ) -> Self {
        let mut policy = Self::without_files(settings, settings.trust.clone(), root);
        // They are reported with the settings.
        if let Some(fault) = settings.problems.first() {
            policy.refuse(Tier::User, fault);
        }
        policy.refuse_relative(settings);
        let has_system = policy.add_system(&system_directory().join("policies"));
        if !has_system {
            for path in &settings.admin_policy_paths {
                policy.add_path(path, Tier::Admin, true, true);
            }
        }
        let (paths, only_restricts) = options.paths();
        let chosen = if paths.is_empty() {
            &settings.policy_paths
        } else {
            &paths
        };
        policy.rule_paths.clone_from(chosen);
        policy
            .rule_paths
            .extend_from_slice(&settings.admin_policy_paths);
        let users = home.map(|home| home.join(".gemini"));
        if chosen.is_empty() {
            if let Some(users) = &users {
                policy.add_path(&users.join("policies"), Tier::User, false, true);
            }
        } else {
            for path in chosen {
                policy.add_path(path, Tier::User, true, !only_restricts);
            }
        }
        if users.as_deref() != Some(&*root.join(".gemini")) {
            policy.add_projects(home, root);
        }
        if let Some(users) = &users {
            policy.add_extensions(&users.join("extensions"));
        }
        policy.rules.extend(rules(settings, &options.allowed));
        policy.sort();
        policy
    }

    fn without_files(settings: &Settings, trust: ProjectTrust, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            trust,
            forbids_yolo: settings.disable_yolo,
            keeps_no_answers: settings.disable_always_allow,
            ..Self::default()
        }
    }

    /// Makes a policy from texts, each with its tier and file name, for tests of rules.
    #[must_use]
    pub fn from_texts(texts: &[(Tier, PathBuf, String)], settings: &Settings, root: &Path) -> Self {
        let trust = ProjectTrust::known(Trust::Trusted(TrustedBy::Caller));
        let mut policy = Self::without_files(settings, trust, root);
        for (tier, path, text) in texts {
            policy.add_text(path, *tier, text, *tier != Tier::Extension);
        }
        policy.rules.extend(rules(settings, &[]));
        policy.sort();
        policy
    }

    /// Adds the rules of the system's directory, and returns true if it has any. If users other
    /// than root can write there, its rules that allow something are ignored.
    fn add_system(&mut self, directory: &Path) -> bool {
        let files = match files_in(directory, FileOwner::Users) {
            Ok(files) => files,
            Err(e) if is_missing(directory, &e) => return false,
            Err(e) => {
                self.unreadable(directory, Tier::Admin, &e.to_string());
                return true;
            }
        };
        let is_secure = is_of_the_system(directory);
        self.add_files(&files, FileOwner::Users, Tier::Admin, is_secure);
        if !is_secure && !files.is_empty() {
            let what = "Users other than root can write there: rules there that allow don't count.";
            let problem = Diagnostic::warning("policy-writable", "", "", what).in_file(directory);
            let advised = problem.advise(
                "The rules are not in effect as they are written.",
                "Let only root write to the directory, or take the rules out.",
            );
            self.problems.push(advised);
        }
        !files.is_empty()
    }

    fn add_projects(&mut self, home: Option<&Path>, root: &Path) {
        let owner = FileOwner::Projects { root, home };
        let directory = root.join(".gemini/policies");
        let files = match files_in(&directory, owner) {
            Err(e) if is_missing(&directory, &e) => return,
            Ok(files) if files.is_empty() => return,
            files => files,
        };
        if !self.trust.is_trusted() {
            let what = "It is left out: the project is not trusted.";
            let problem = Diagnostic::warning(UNTRUSTED, "", "", what);
            self.problems.push(problem.in_file(&directory));
            return;
        }
        match files {
            Ok(files) => self.add_files(&files, owner, Tier::Workspace, true),
            Err(e) => self.unreadable(&directory, Tier::Workspace, &e.to_string()),
        }
    }

    fn add_extensions(&mut self, directory: &Path) {
        let mut names = match FileOwner::Users.names(directory).map_err(Error::from) {
            Ok(names) => names,
            Err(e) if is_missing(directory, &e) => return,
            Err(e) => return self.unreadable(directory, Tier::Extension, &e.to_string()),
        };
        names.sort();
        for name in names {
            let policies = directory.join(name).join("policies");
            self.add_path(&policies, Tier::Extension, false, false);
        }
    }

    fn add_path(&mut self, path: &Path, tier: Tier, must_exist: bool, may_allow: bool) {
        match files_in(path, FileOwner::Users) {
            Ok(files) => self.add_files(&files, FileOwner::Users, tier, may_allow),
            Err(e) if !must_exist && is_missing(path, &e) => {}
            // Only a path that the user has chosen may be that of a file.
            Err(e) if e.kind() == ErrorKind::NotADirectory && must_exist => {
                self.add_files(&[path.to_owned()], FileOwner::Users, tier, may_allow);
            }
            Err(e) => self.unreadable(path, tier, &e.to_string()),
        }
    }

    fn add_files(&mut self, files: &[PathBuf], owner: FileOwner<'_>, tier: Tier, may_allow: bool) {
        for path in files {
            match read(path, owner) {
                Ok(text) => self.add_text(path, tier, &text, may_allow),
                Err(e) => self.unreadable(path, tier, &e.to_string()),
            }
        }
    }

    fn add_text(&mut self, path: &Path, tier: Tier, text: &str, may_allow: bool) {
        let mut read = match file::read(path, tier, text) {
            Ok(read) => read,
            Err(why) => return self.unreadable(path, tier, &why),
        };
        read.rules
            .retain(|rule| may_allow || rule.decision != Decision::Allow);
        for rule in &mut read.rules {
            rule.source.only_restricts |= !may_allow && rule.decision == Decision::AskUser;
        }
        self.files.push(PolicyFile {
            path: path.to_owned(),
            tier,
            rules: 0,
        });
        self.rules.extend(read.rules);
        self.problems.extend(read.problems);
    }

    fn unreadable(&mut self, file: &Path, tier: Tier, why: &str) {
        let why_not = why.trim_end_matches('.');
        let what = format!("It can't be read: {why_not}.");
        let problem = Diagnostic::error("policy-unreadable", "", "", what).in_file(file);
        let advised = problem.advise(MAY_RESTRICT, "Correct it at that place, or remove it.");
        self.refuse(tier, &advised);
        self.problems.push(advised);
    }

    fn refuse(&mut self, tier: Tier, fault: &Diagnostic) {
        let text = fault.text();
        self.unreadable.get_or_insert_with(|| Verdict {
            decision: Decision::Deny,
            rule: "built in: no call runs where what may restrict it can't be read".to_owned(),
            file: fault.place.file().map(Path::to_owned),
            tier,
            priority: 999,
            reason: format!(
                "No call may run: {}. {}",
                text.trim_end_matches('.'),
                fault.help
            ),
            ..Verdict::default()
        });
    }

    /// Denies every call if the user's settings name files of rules by relative paths. In each
    /// project these would be other files: the project's, which must not count as the user's.
    fn refuse_relative(&mut self, settings: &Settings) {
        for (key, paths) in [
            ("policyPaths", &settings.policy_paths),
            ("adminPolicyPaths", &settings.admin_policy_paths),
        ] {
            for path in paths.iter().filter(|path| !path.is_absolute()) {
                let what = format!("{:?} is not an absolute path.", path.display());
                let fault = Diagnostic::error("policy-relative", "", key, what);
                let fault = fault.in_file(&file_of(settings, key));
                let help = "Write the path with / or ~/ at its start.";
                let fault = fault.advise(MAY_RESTRICT, help);
                self.refuse(Tier::User, &fault);
                self.problems.push(fault);
            }
        }
    }
}

/// Returns true if the failure to read a directory means that there is no such directory, as it
/// does if a file is in place of a directory above it. A link that leads nowhere, or a file in
/// place of the directory itself, is a fault.
fn is_missing(directory: &Path, failure: &Error) -> bool {
    matches!(
        failure.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory
    ) && !directory.exists()
        && !variables::is_dangling(directory)
}

fn files_in(directory: &Path, owner: FileOwner<'_>) -> std::io::Result<Vec<PathBuf>> {
    let names = owner.names(directory)?.into_iter();
    let mut files: Vec<PathBuf> = names.map(|name| directory.join(name)).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    Ok(files)
}

fn read(path: &Path, owner: FileOwner<'_>) -> std::io::Result<String> {
    let opened = owner.open_regular(path)?;
    let opened = opened.ok_or_else(|| Error::from(ErrorKind::NotFound))?;
    let mut text = String::new();
    let count = opened.file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if count as u64 > MAX_BYTES {
        return Err(Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use crate::Policy;
    use std::os::unix::fs::symlink;

    #[test]
    fn rules_of_the_system_that_cannot_be_listed_stop_every_call_and_missing_ones_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "").expect("written");
        std::fs::create_dir(path("empty")).expect("made");
        symlink("/none/at/all", path("dangling")).expect("a link");
        symlink("loop", path("loop")).expect("a link");
        symlink("empty", path("link")).expect("a link");
        for (name, stops) in [
            ("file", true),
            ("dangling", true),
            ("dangling/policies", true),
            ("loop", true),
            ("loop/policies", true),
            ("empty", false),
            ("link", false),
            ("link/policies", false),
            ("missing/policies", false),
            ("file/policies", false),
        ] {
            let mut policy = Policy::default();
            policy.add_system(&path(name));
            assert_eq!(policy.obstacle().is_some(), stops, "{name}");
        }
    }
}
