//! All keys that are read from settings files, and what a project's file may do to each.

use super::UNTRUSTED;
use super::reader::{Key, Reader, Rule};
use super::undo::UndoCommands;
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_workspace::seen::UnseenChanges;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Declares the keys, each with its [`Rule`]. Since values are only read by a [`Key`], no key can
/// be read without a decision about what a project's file may set.
macro_rules! keys {
    ($($name:ident = $key:literal $(since $old:literal)?, $rule:expr;)*) => {
        $(pub(super) const $name: Key = Key { name: $key, old: keys!(@old $($old)?), rule: $rule };)*

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
    NO_SYNTAX = "tools.disableSyntax", Rule::Switch;
    UNSEEN = "tools.unseenChanges", Rule::Own;
    UNDO = "tools.undo.enabled", Rule::Own;
    UNDO_AGE = "tools.undo.maxAgeDays", Rule::Own;
    UNDO_SIZE = "tools.undo.maxMegabytes", Rule::Own;
    UNDO_EXCLUDE = "tools.undo.exclude", Rule::Own;
    UNDO_COMMANDS = "tools.undo.commands", Rule::Own;
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
    MCP_SEARCH = "mcp.searchAbove", Rule::Own;
}

/// The keys whose values are command lines, which may contain secrets.
pub(super) const COMMANDS: [&str; 3] = [DISCOVERY.name, CALL.name, MCP_SERVER_COMMAND.name];

/// Keys that restrict calls although their [`Rule`] does not show it: they name policy files, or
/// files of which the journal must not keep content.
const RESTRICTING: [&str; 3] = [POLICIES.name, ADMIN_POLICIES.name, UNDO_EXCLUDE.name];

pub(super) fn restricting() -> impl Iterator<Item = &'static str> + Clone {
    use Rule::{Leaves, Stricter, Switch, TakesAway};
    let restricts = |key: &&Key| {
        matches!(key.rule, TakesAway | Leaves | Switch | Stricter)
            || RESTRICTING.contains(&key.name)
    };
    ALL.iter().filter(restricts).map(|key| key.name)
}

/// Returns true for a key whose value restricts calls, and for an entry of its list, such as
/// `KEY[0]`.
pub(super) fn restricts(key: &str) -> bool {
    let name = key.split('[').next();
    restricting().any(|restricting| Some(restricting) == name)
}

pub(super) fn may_restrict(top: &str) -> bool {
    let is_of = |key: &str| key.split('.').next() == Some(top) || old_name(key) == Some(top);
    top == MCP_SERVERS.name || restricting().any(is_of)
}

pub(super) fn old_name(key: &str) -> Option<&'static str> {
    match ALL.iter().find(|known| known.name == key) {
        Some(known) => known.old,
        None => (key == "security.folderTrust").then_some("folderTrust"),
    }
}

impl Reader<'_> {
    pub(super) fn read_all(&mut self, home: Option<&Path>) {
        self.find_misplaced();
        self.find_misspelt();
        self.read_lists();
        self.read_commands();
        self.read_limits();
        self.read_context(home);
        self.read_sandbox(home);
        self.read_undo();
        self.read_policy(home);
        self.read_mcp();
    }

    fn read_lists(&mut self) {
        if let Some(core) = self.names(CORE) {
            if self.into.core.is_none() || self.counts_for_scope() {
                self.into.core = Some(core);
                self.replaces(CORE);
            } else {
                let what = "left out, your own list counts: the project is not trusted";
                self.leave_out(UNTRUSTED, CORE.name, what);
            }
        }
        self.extend(EXCLUDE, Self::names, |into| &mut into.exclude);
        self.set_for_scope(ALLOWED, Self::list, |into| &mut into.allowed);
    }

    fn read_commands(&mut self) {
        let call = self.text(CALL).map(str::to_owned);
        if call.is_some() {
            self.replaces(CALL);
        }
        if let Some(discovery) = self.text(DISCOVERY) {
            *self.into.commands.of_scope(self.scope) = Some((discovery.to_owned(), call));
            self.replaces(DISCOVERY);
        }
    }

    fn read_limits(&mut self) {
        let now = self.into.truncate_threshold;
        self.set(
            THRESHOLD,
            |own, key| own.limit(key, now, whole),
            |into| &mut into.truncate_threshold,
        );
        let now = self.into.shell_idle_secs;
        let secs = |value: &Value| value.as_u64().map(saturated);
        if let Some(secs) = self.limit(IDLE, now.map(saturated), secs) {
            self.into.shell_idle_secs = u64::try_from(secs).ok();
            self.replaces(IDLE);
        }
        let now = self.into.max_turns.map(i64::from);
        if let Some(turns) = self.limit(TURNS, now, whole) {
            // As in Gemini CLI, a negative number means no limit.
            self.into.max_turns = u32::try_from(turns).ok();
            self.replaces(TURNS);
        }
        self.switch_on(NO_CORRECTION, |into| &mut into.disable_llm_correction);
        self.switch_on(NO_SYNTAX, |into| &mut into.disable_syntax);
        self.set(MODEL, Self::owned_text, |into| &mut into.model);
    }

    fn read_context(&mut self, home: Option<&Path>) {
        let directories = |own: &mut Self, key| Some(in_home(own.list(key)?, home));
        self.extend(DIRECTORIES, directories, |into| {
            &mut into.include_directories
        });
        let Some(value) = self.value(FILE_NAME) else {
            return;
        };
        if !value.is_string() && !value.is_array() {
            self.wrong(FILE_NAME.name, "a string or a list of strings", value);
            return;
        }
        let is_project = self.is_project();
        let may_be_named = |name: &str| !is_project || is_markdown_name(name);
        let all = all_names(value);
        match all.first() {
            Some(name) if may_be_named(name) => {
                let all = all.into_iter().filter(|name| may_be_named(name));
                self.into.context_file_names = all.map(str::to_owned).collect();
                self.replaces(FILE_NAME);
            }
            Some(_) => {
                let what = "left out, a project can name markdown files of no directory only";
                self.leave_out("settings-value", FILE_NAME.name, what);
            }
            None => {}
        }
    }

    fn read_sandbox(&mut self, home: Option<&Path>) {
        let mode = |own: &mut Self, key: Key| {
            let value = own.value(key)?;
            let mode = value.as_str().and_then(SandboxMode::from_name);
            if mode.is_none() {
                let names = SandboxMode::NAMES.join(", ");
                let what = format!("it is {value}; it must be one of {names}");
                own.fault(key.name, what);
            }
            mode
        };
        self.set_for_scope(SANDBOX, mode, |into| &mut into.sandbox.modes);
        let host = |own: &mut Self, key| own.value(key).cloned();
        self.set_for_scope(HOST_SANDBOX, host, |into| &mut into.sandbox.containers);
        self.set(SANDBOX_NETWORK, Self::flag, |into| {
            &mut into.sandbox.network
        });
        let paths = |own: &mut Self, key| Some(in_home(own.list(key)?, home));
        self.set(SANDBOX_PATHS, paths, |into| &mut into.sandbox.allowed_paths);
        self.set(FETCH_HOSTS, Self::list, |into| &mut into.fetch_hosts);
    }

    fn read_undo(&mut self) {
        self.set(UNDO, Self::flag, |into| &mut into.undo.enabled);
        let unseen = |own: &mut Self, key| {
            own.typed(key, "refuse, warn or off", |value| {
                UnseenChanges::from_name(value.as_str()?)
            })
        };
        self.set(UNSEEN, unseen, |into| &mut into.unseen_changes);
        self.set(UNDO_AGE, Self::count, |into| &mut into.undo.max_age_days);
        self.set(UNDO_SIZE, Self::count, |into| &mut into.undo.max_megabytes);
        self.extend(UNDO_EXCLUDE, Self::names, |into| &mut into.undo.exclude);
        let commands = |own: &mut Self, key| {
            own.typed(key, "off, on or all", |value| {
                UndoCommands::from_name(value.as_str()?)
            })
        };
        self.set(UNDO_COMMANDS, commands, |into| &mut into.undo.commands);
    }

    fn read_policy(&mut self, home: Option<&Path>) {
        self.extend(CONFIRMATION_REQUIRED, Self::names, |into| {
            &mut into.confirmation_required
        });
        self.switch_on(NO_YOLO, |into| &mut into.disable_yolo);
        self.switch_on(NO_ALWAYS, |into| &mut into.disable_always_allow);
        let paths = |own: &mut Self, key| {
            let paths = in_home(own.names(key)?, home).into_iter();
            // A project's file means files of that project, wherever a call is started.
            let root = own.path.ancestors().nth(2).filter(|_| own.is_project());
            Some(match root {
                Some(root) => paths.map(|path| root.join(path)).collect(),
                None => paths.collect(),
            })
        };
        self.extend(POLICIES, paths, |into| &mut into.policy_paths);
        self.extend(ADMIN_POLICIES, paths, |into| &mut into.admin_policy_paths);
    }
}

fn whole(value: &Value) -> Option<i64> {
    let float = || value.as_f64().filter(|n| n.fract() == 0.0);
    value.as_i64().or_else(|| float().map(|n| n as i64))
}

fn saturated(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn in_home(paths: Vec<String>, home: Option<&Path>) -> Vec<PathBuf> {
    let in_home = |path: String| match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    };
    paths.into_iter().map(in_home).collect()
}

fn all_names(value: &Value) -> Vec<&str> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        other => std::slice::from_ref(other),
    };
    let names = names.iter().filter_map(Value::as_str).map(str::trim);
    names.filter(|name| !name.is_empty()).collect()
}

fn is_markdown_name(name: &str) -> bool {
    let has_ending = Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    has_ending && !name.contains(['/', '\0'])
}
