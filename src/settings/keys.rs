//! What each key means, and whose word counts for it.

use super::mcp;
use super::reader::{Key, Reader};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(super) const CORE: Key = Key::since("tools.core", "coreTools");
pub(super) const EXCLUDE: Key = Key::since("tools.exclude", "excludeTools");
pub(super) const ALLOWED: Key = Key::since("tools.allowed", "allowedTools");
pub(super) const CONFIRMATION_REQUIRED: Key = Key::new("tools.confirmationRequired");
pub(super) const DISCOVERY: Key = Key::since("tools.discoveryCommand", "toolDiscoveryCommand");
pub(super) const CALL: Key = Key::since("tools.callCommand", "toolCallCommand");
pub(super) const THRESHOLD: Key = Key::since(
    "tools.truncateToolOutputThreshold",
    "truncateToolOutputThreshold",
);
pub(super) const IDLE: Key = Key::new("tools.shell.inactivityTimeout");
pub(super) const SANDBOX: Key = Key::since("tools.sandbox", "sandbox");
pub(super) const SANDBOX_NETWORK: Key = Key::new("tools.sandboxNetworkAccess");
pub(super) const SANDBOX_PATHS: Key = Key::new("tools.sandboxAllowedPaths");
pub(super) const FETCH_HOSTS: Key = Key::new("tools.webFetch.allowedHosts");
pub(super) const NO_CORRECTION: Key = Key::new("tools.disableLLMCorrection");
pub(super) const DIRECTORIES: Key = Key::since("context.includeDirectories", "includeDirectories");
pub(super) const FILE_NAME: Key = Key::since("context.fileName", "contextFileName");
pub(super) const MODEL: Key = Key::new("model.name");
pub(super) const TURNS: Key = Key::since("model.maxSessionTurns", "maxSessionTurns");
pub(super) const POLICIES: Key = Key::new("policyPaths");
pub(super) const ADMIN_POLICIES: Key = Key::new("adminPolicyPaths");
pub(super) const NO_YOLO: Key = Key::new("security.disableYoloMode");
pub(super) const NO_ALWAYS: Key = Key::new("security.disableAlwaysAllow");

/// What Gemini CLI takes from a project's file where it is trusted, and what nothing here
/// takes from there at all: they move credentials and what was said, or run programs.
const NEVER_FROM_PROJECTS: [&str; 7] = [
    "security.auth",
    "security.folderTrust",
    "telemetry",
    "advanced",
    "hooks",
    "admin",
    "baseUrl",
];

/// The name of a key in the older, flat generation of settings.
pub(super) fn old_name(key: &str) -> Option<&'static str> {
    const RENAMED: [Key; 15] = [
        CORE,
        EXCLUDE,
        ALLOWED,
        DISCOVERY,
        CALL,
        THRESHOLD,
        SANDBOX,
        DIRECTORIES,
        FILE_NAME,
        Key::since(MODEL.0, "model"),
        TURNS,
        mcp::ALLOWED,
        mcp::EXCLUDED,
        mcp::SERVER_COMMAND,
        Key::since("security.folderTrust", "folderTrust"),
    ];
    let found = RENAMED.iter().find(|renamed| renamed.0 == key)?;
    found.1
}

impl Reader<'_> {
    /// Takes everything from the file.
    pub(super) fn read_all(&mut self, home: Option<&Path>) {
        self.read_lists();
        self.read_commands();
        self.read_limits();
        self.read_context(home);
        self.read_sandbox(home);
        self.read_policy(home);
        self.read_mcp();
    }

    /// Notes what nothing takes from a project's file.
    pub(super) fn note_what_never_counts(&mut self) {
        for name in NEVER_FROM_PROJECTS {
            if self.is_project() && self.get(Key::new(name)).is_some() {
                self.leave_out(name, "left out, it is never taken from a project", false);
            }
        }
    }

    fn read_lists(&mut self) {
        if let Some(core) = self.restrictions(CORE) {
            if self.is_project() && self.into.core.is_some() && !self.into.trust.is_trusted() {
                let what = "left out, your own list counts: the project is not trusted";
                self.leave_out(CORE.0, what, true);
            } else {
                self.into.core = Some(core);
                self.replaces(CORE);
            }
        }
        if let Some(exclude) = self.restrictions(EXCLUDE) {
            self.into.exclude.extend(exclude);
            self.adds(EXCLUDE);
        }
        if self.get(ALLOWED).is_some()
            && self.is_believed(ALLOWED)
            && let Some(allowed) = self.list(ALLOWED)
        {
            *self.into.allowed.of(self.scope) = allowed;
            self.adds(ALLOWED);
        }
    }

    fn read_commands(&mut self) {
        if self.get(DISCOVERY).is_none() && self.get(CALL).is_none() {
            return;
        }
        // One without the other could join a project's command with a user's.
        let (discovery, call) = (self.is_believed(DISCOVERY), self.is_believed(CALL));
        if !discovery || !call {
            return;
        }
        let call = self.text(CALL).map(str::to_owned);
        if call.is_some() {
            self.replaces(CALL);
        }
        if let Some(discovery) = self.text(DISCOVERY) {
            *self.into.commands.of(self.scope) = Some((discovery.to_owned(), call));
            self.replaces(DISCOVERY);
        }
    }

    fn read_limits(&mut self) {
        if let Some(n) = self.number(THRESHOLD, whole) {
            self.into.truncate_threshold = Some(n);
            self.replaces(THRESHOLD);
        }
        if let Some(secs) = self.number(IDLE, Value::as_u64) {
            self.into.shell_idle_secs = Some(secs);
            self.replaces(IDLE);
        }
        if self.flag(NO_CORRECTION) == Some(true) {
            self.into.disable_llm_correction = true;
            self.adds(NO_CORRECTION);
        }
        // Before 0.3 the model's name was the whole of it.
        let key = match self.file.get("model") {
            Some(Value::String(_)) => Key::since(MODEL.0, "model"),
            _ => MODEL,
        };
        if let Some(name) = self.text(key) {
            self.into.model = Some(name.to_owned());
            self.replaces(MODEL);
        }
        if let Some(turns) = self.number(TURNS, whole) {
            // As in Gemini CLI, less than nothing is no limit.
            self.into.max_turns = u32::try_from(turns).ok();
            self.replaces(TURNS);
        }
    }

    fn read_context(&mut self, home: Option<&Path>) {
        if self.get(DIRECTORIES).is_some()
            && self.is_own(DIRECTORIES)
            && let Some(dirs) = self.list(DIRECTORIES)
        {
            let dirs = dirs.into_iter().map(|dir| in_home(dir, home));
            self.into.include_directories.extend(dirs);
            self.adds(DIRECTORIES);
        }
        let Some(value) = self.get(FILE_NAME) else {
            return;
        };
        if !value.is_string() && !value.is_array() {
            self.wrong(FILE_NAME.0, "a string or a list of strings", value);
            return;
        }
        let is_project = self.is_project();
        let may_be_named = |name: &str| !is_project || is_markdown_name(name);
        match first_name(value).filter(|name| may_be_named(name)) {
            Some(name) => {
                self.into.context_file_name = Some(name.to_owned());
                let all = all_names(value).into_iter();
                self.into.context_file_names = all
                    .filter(|name| may_be_named(name))
                    .map(str::to_owned)
                    .collect();
                self.replaces(FILE_NAME);
            }
            None if is_project && first_name(value).is_some() => {
                let what = "left out, a project can name markdown files of no directory only";
                self.leave_out(FILE_NAME.0, what, false);
            }
            None => {}
        }
    }

    fn read_sandbox(&mut self, home: Option<&Path>) {
        if let Some(sandbox) = self.get(SANDBOX).cloned() {
            if self.is_project() {
                self.into.sandbox.projects = Some(sandbox);
            } else {
                self.into.sandbox.users = Some(sandbox);
            }
            self.adds(SANDBOX);
        }
        if self.get(SANDBOX_NETWORK).is_some()
            && self.is_own(SANDBOX_NETWORK)
            && let Some(network) = self.flag(SANDBOX_NETWORK)
        {
            self.into.sandbox.network = network;
            self.replaces(SANDBOX_NETWORK);
        }
        if self.get(SANDBOX_PATHS).is_some()
            && self.is_own(SANDBOX_PATHS)
            && let Some(paths) = self.list(SANDBOX_PATHS)
        {
            let paths = paths.into_iter().map(|path| in_home(path, home));
            self.into.sandbox.allowed_paths = paths.collect();
            self.replaces(SANDBOX_PATHS);
        }
        if self.get(FETCH_HOSTS).is_some()
            && self.is_own(FETCH_HOSTS)
            && let Some(hosts) = self.list(FETCH_HOSTS)
        {
            self.into.fetch_hosts = hosts;
            self.replaces(FETCH_HOSTS);
        }
    }

    /// Anybody can ask for more agreement; only the user's own files for less.
    fn read_policy(&mut self, home: Option<&Path>) {
        if let Some(names) = self.restrictions(CONFIRMATION_REQUIRED) {
            self.into.confirmation_required.extend(names);
            self.adds(CONFIRMATION_REQUIRED);
        }
        if self.flag(NO_YOLO) == Some(true) {
            self.into.disable_yolo = true;
            self.adds(NO_YOLO);
        }
        if self.flag(NO_ALWAYS) == Some(true) {
            self.into.disable_always_allow = true;
            self.adds(NO_ALWAYS);
        }
        if self.get(POLICIES).is_some() && self.is_believed(POLICIES) {
            let paths = self.paths(POLICIES, home);
            self.into.policy_paths.extend(paths);
        }
        if self.get(ADMIN_POLICIES).is_some() && self.is_own(ADMIN_POLICIES) {
            let paths = self.paths(ADMIN_POLICIES, home);
            self.into.admin_policy_paths.extend(paths);
        }
    }

    /// The paths of a list to which each file adds.
    fn paths(&mut self, key: Key, home: Option<&Path>) -> Vec<PathBuf> {
        let Some(paths) = self.restrictions(key) else {
            return Vec::new();
        };
        self.adds(key);
        paths.into_iter().map(|path| in_home(path, home)).collect()
    }
}

/// A whole number, also one that is written with a point.
fn whole(value: &Value) -> Option<i64> {
    let float = || value.as_f64().filter(|n| n.fract() == 0.0);
    value.as_i64().or_else(|| float().map(|n| n as i64))
}

fn in_home(path: String, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// The name in a string or at the front of a list. A blank string says nothing.
fn first_name(value: &Value) -> Option<&str> {
    match value {
        Value::Array(names) => names.first()?.as_str().map(str::trim),
        other => other
            .as_str()
            .map(str::trim)
            .filter(|name| !name.is_empty()),
    }
}

/// The names in a string or a list that are not blank.
fn all_names(value: &Value) -> Vec<&str> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        other => std::slice::from_ref(other),
    };
    let names = names.iter().filter_map(Value::as_str).map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether a name has no directory and the ending of markdown.
fn is_markdown_name(name: &str) -> bool {
    let has_ending = Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    has_ending && !name.contains(['/', '\0'])
}
