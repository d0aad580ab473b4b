//! The keys of the settings, and the files that may set each.

use super::UNTRUSTED;
use super::reader::{Key, Reader, Rule};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Defines every key that is read, each with the rule for what a project's file may say of it: a
/// key can't be read without one.
macro_rules! keys {
    ($($name:ident = $key:literal $(since $old:literal)?, $rule:expr;)*) => {
        $(pub(super) const $name: Key = Key::new($key, keys!(@old $($old)?), $rule);)*

        /// Every key.
        pub(super) const ALL: &[Key] = &[$($name),*];
    };
    (@old) => { None };
    (@old $old:literal) => { Some($old) };
}

keys! {
    CORE = "tools.core" since "coreTools", Rule::Leaves;
    EXCLUDE = "tools.exclude" since "excludeTools", Rule::TakesAway;
    ALLOWED = "tools.allowed" since "allowedTools", Rule::Trusted;
    CONFIRMATION_REQUIRED = "tools.confirmationRequired", Rule::TakesAway;
    DISCOVERY = "tools.discoveryCommand" since "toolDiscoveryCommand", Rule::Trusted;
    CALL = "tools.callCommand" since "toolCallCommand", Rule::Trusted;
    THRESHOLD = "tools.truncateToolOutputThreshold" since "truncateToolOutputThreshold",
        Rule::Limit { is_none: |n| n <= 0, otherwise: super::DEFAULT_LIMIT_CHARS as u64 };
    IDLE = "tools.shell.inactivityTimeout",
        Rule::Limit { is_none: |n| n <= 0, otherwise: u64::MAX };
    SANDBOX = "tools.commandSandbox", Rule::Stricter;
    HOST_SANDBOX = "tools.sandbox" since "sandbox", Rule::Stricter;
    SANDBOX_NETWORK = "tools.sandboxNetworkAccess", Rule::Own;
    SANDBOX_PATHS = "tools.sandboxAllowedPaths", Rule::Own;
    FETCH_HOSTS = "tools.webFetch.allowedHosts", Rule::Own;
    NO_CORRECTION = "tools.disableLLMCorrection", Rule::Switch;
    UNDO = "tools.undo.enabled", Rule::Own;
    UNDO_AGE = "tools.undo.maxAgeDays", Rule::Own;
    UNDO_SIZE = "tools.undo.maxMegabytes", Rule::Own;
    UNDO_EXCLUDE = "tools.undo.exclude", Rule::Own;
    DIRECTORIES = "context.includeDirectories" since "includeDirectories", Rule::Own;
    FILE_NAME = "context.fileName" since "contextFileName", Rule::PlainNames;
    MODEL = "model.name" since "model", Rule::Trusted;
    TURNS = "model.maxSessionTurns" since "maxSessionTurns",
        Rule::Limit { is_none: |n| n < 0, otherwise: u64::MAX };
    POLICIES = "policyPaths", Rule::Trusted;
    ADMIN_POLICIES = "adminPolicyPaths", Rule::Own;
    NO_YOLO = "security.disableYoloMode", Rule::Switch;
    NO_ALWAYS = "security.disableAlwaysAllow", Rule::Switch;
    MCP_SERVERS = "mcpServers", Rule::Trusted;
    MCP_SERVER_COMMAND = "mcp.serverCommand" since "mcpServerCommand", Rule::Trusted;
    MCP_ALLOWED = "mcp.allowed" since "allowMCPServers", Rule::Leaves;
    MCP_EXCLUDED = "mcp.excluded" since "excludeMCPServers", Rule::TakesAway;
    MCP_PIN = "mcp.pin", Rule::Switch;
}

/// Keys that Gemini CLI takes from a trusted project's file, and that are never taken from there
/// here: they move credentials and conversations, or run programs.
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
    match ALL.iter().find(|known| known.name == key) {
        Some(known) => known.old,
        None => (key == "security.folderTrust").then_some("folderTrust"),
    }
}

impl Reader<'_> {
    /// Takes everything from the file.
    pub(super) fn read_all(&mut self, home: Option<&Path>) {
        self.read_lists();
        self.read_commands();
        self.read_limits();
        self.read_context(home);
        self.read_sandbox(home);
        self.read_undo();
        self.read_policy(home);
        self.read_mcp();
    }

    /// Notes what nothing takes from a project's file.
    pub(super) fn note_what_never_counts(&mut self) {
        for name in NEVER_FROM_PROJECTS {
            if self.is_project() && self.says(name) {
                self.leave_out(
                    "settings-scope",
                    name,
                    "left out, it is never taken from a project",
                );
            }
        }
    }

    fn read_lists(&mut self) {
        if let Some(core) = self.restrictions(CORE) {
            if self.into.core.is_none() || self.counts_for_scope() {
                self.into.core = Some(core);
                self.replaces(CORE);
            } else {
                let what = "left out, your own list counts: the project is not trusted";
                self.leave_out(UNTRUSTED, CORE.name, what);
            }
        }
        if let Some(exclude) = self.restrictions(EXCLUDE) {
            self.into.exclude.extend(exclude);
            self.adds(EXCLUDE);
        }
        if let Some(allowed) = self.list(ALLOWED) {
            *self.into.allowed.of(self.scope) = allowed;
            self.adds(ALLOWED);
        }
    }

    fn read_commands(&mut self) {
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
        let now = self.into.truncate_threshold;
        if let Some(n) = self.limit(THRESHOLD, now, whole) {
            self.into.truncate_threshold = Some(n);
            self.replaces(THRESHOLD);
        }
        let now = self.into.shell_idle_secs;
        let secs = |value: &Value| value.as_u64().map(saturated);
        if let Some(secs) = self.limit(IDLE, now.map(saturated), secs) {
            self.into.shell_idle_secs = u64::try_from(secs).ok();
            self.replaces(IDLE);
        }
        let now = self.into.max_turns.map(i64::from);
        if let Some(turns) = self.limit(TURNS, now, whole) {
            // As in Gemini CLI, less than nothing is not a limit.
            self.into.max_turns = u32::try_from(turns).ok();
            self.replaces(TURNS);
        }
        if self.flag(NO_CORRECTION) == Some(true) {
            self.into.disable_llm_correction = true;
            self.adds(NO_CORRECTION);
        }
        if let Some(name) = self.text(MODEL) {
            self.into.model = Some(name.to_owned());
            self.replaces(MODEL);
        }
    }

    fn read_context(&mut self, home: Option<&Path>) {
        if let Some(dirs) = self.list(DIRECTORIES) {
            let dirs = dirs.into_iter().map(|dir| in_home(dir, home));
            self.into.include_directories.extend(dirs);
            self.adds(DIRECTORIES);
        }
        let Some(value) = self.value(FILE_NAME) else {
            return;
        };
        if !value.is_string() && !value.is_array() {
            self.wrong(FILE_NAME.name, "a string or a list of strings", value);
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
                self.leave_out("settings-value", FILE_NAME.name, what);
            }
            None => {}
        }
    }

    fn read_sandbox(&mut self, home: Option<&Path>) {
        if let Some(sandbox) = self.value(SANDBOX).cloned() {
            if self.is_project() {
                self.into.sandbox.projects = Some(sandbox);
            } else {
                self.into.sandbox.users = Some(sandbox);
            }
            self.adds(SANDBOX);
        }
        if let Some(sandbox) = self.value(HOST_SANDBOX).cloned() {
            if self.is_project() {
                self.into.sandbox.hosts_projects = Some(sandbox);
            } else {
                self.into.sandbox.hosts_users = Some(sandbox);
            }
            self.adds(HOST_SANDBOX);
        }
        if let Some(network) = self.flag(SANDBOX_NETWORK) {
            self.into.sandbox.network = network;
            self.replaces(SANDBOX_NETWORK);
        }
        if let Some(paths) = self.list(SANDBOX_PATHS) {
            let paths = paths.into_iter().map(|path| in_home(path, home));
            self.into.sandbox.allowed_paths = paths.collect();
            self.replaces(SANDBOX_PATHS);
        }
        if let Some(hosts) = self.list(FETCH_HOSTS) {
            self.into.fetch_hosts = hosts;
            self.replaces(FETCH_HOSTS);
        }
    }

    fn read_undo(&mut self) {
        if let Some(enabled) = self.flag(UNDO) {
            self.into.undo.enabled = enabled;
            self.replaces(UNDO);
        }
        if let Some(days) = self.count(UNDO_AGE) {
            self.into.undo.max_age_days = days;
            self.replaces(UNDO_AGE);
        }
        if let Some(megabytes) = self.count(UNDO_SIZE) {
            self.into.undo.max_megabytes = megabytes;
            self.replaces(UNDO_SIZE);
        }
        if let Some(exclude) = self.restrictions(UNDO_EXCLUDE) {
            self.into.undo.exclude.extend(exclude);
            self.adds(UNDO_EXCLUDE);
        }
    }

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
        let paths = self.paths(POLICIES, home);
        self.into.policy_paths.extend(paths);
        let paths = self.paths(ADMIN_POLICIES, home);
        self.into.admin_policy_paths.extend(paths);
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

fn saturated(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
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

/// Returns true if a name has no directory and the ending of markdown.
fn is_markdown_name(name: &str) -> bool {
    let has_ending = Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    has_ending && !name.contains(['/', '\0'])
}
