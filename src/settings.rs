//! Gemini CLI's `settings.json`, as far as tools obey it.
//!
//! The user's file (`~/.gemini/settings.json`) is read first, then the project's
//! (`.gemini/settings.json` in the current directory). Comments are allowed. What would widen
//! the reach of tools counts in the user's file only: a project, or a model that edits the
//! project's file, must not give itself more.

use crate::process::sandbox::Mode;
use crate::tool::{ErrorKind, ToolError};
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The answer's limit where the settings say nothing, in characters.
const DEFAULT_LIMIT_CHARS: usize = 40_000;

/// More of a settings file is not read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What the settings say about tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Only these tools, where given (`tools.core`, before 0.3 `coreTools`). The project's
    /// list takes the place of the user's, as in Gemini CLI.
    pub core: Option<Vec<String>>,
    /// Not these (`tools.exclude`, `excludeTools`); both files' lists count.
    pub exclude: Vec<String>,
    /// `tools.truncateToolOutputThreshold`.
    pub truncate_threshold: Option<i64>,
    /// `context.includeDirectories` (`includeDirectories`) of the user's file.
    pub include_directories: Vec<PathBuf>,
    /// After how many seconds without output a command is ended
    /// (`tools.shell.inactivityTimeout`); zero is never.
    pub shell_idle_secs: Option<u64>,
    /// The first name in `context.fileName` (`contextFileName`), as it stands in the user's
    /// file. A project's takes its place, as in Gemini CLI, where it names a markdown file of
    /// no directory; by any other name, `settings.json` for example, a project would have
    /// memories written over the user's files.
    pub context_file_name: Option<String>,
    /// All names there, for reading; of a project's those only that the same rule lets it
    /// name. Empty where neither file says anything.
    pub context_file_names: Vec<String>,
    /// What commands may do.
    pub sandbox: SandboxSettings,
    /// `tools.webFetch.allowedHosts` of the user's file: hosts that `web_fetch` may reach although
    /// they are not public.
    pub fetch_hosts: Vec<String>,
    /// `tools.disableLLMCorrection`, where either file switches corrections by a model off.
    pub disable_llm_correction: bool,
    /// `tools.discoveryCommand` and `tools.callCommand` (before 0.3 `toolDiscoveryCommand` and
    /// `toolCallCommand`).
    pub commands: PerFile<Option<(String, Option<String>)>>,
    /// `tools.allowed` (`allowedTools`): calls that need no agreement.
    pub allowed: PerFile<Vec<String>>,
    /// `model.name`, before 0.3 `model`; the project's takes the place of the user's.
    pub model: Option<String>,
    /// `model.maxSessionTurns` (`maxSessionTurns`), where it is a limit.
    pub max_turns: Option<u32>,
    /// What is for the policy alone.
    pub policy: crate::policy::PolicySettings,
    /// Files that could not be understood, with the reason.
    pub problems: Vec<String>,
}

/// What each file says, where a project's word must not count unasked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerFile<T> {
    /// The user's.
    pub users: T,
    /// The project's.
    pub projects: T,
}

impl<T> PerFile<T> {
    fn of(&mut self, is_users: bool) -> &mut T {
        if is_users {
            &mut self.users
        } else {
            &mut self.projects
        }
    }
}

impl Settings {
    /// Reads both files; `home` is the user's home directory.
    pub fn load(home: Option<&Path>, root: &Path) -> Self {
        let mut settings = Self::default();
        let user = home.map(|home| home.join(".gemini/settings.json"));
        let project = root.join(".gemini/settings.json");
        if let Some(user) = user.filter(|user| *user != project) {
            settings.add(&user, true, home);
        }
        settings.add(&project, false, home);
        settings
    }

    fn add(&mut self, path: &Path, is_users: bool, home: Option<&Path>) {
        let Some(text) = read(path) else {
            return;
        };
        let value: Value =
            match jsonc_parser::parse_to_serde_value(&text, &jsonc_parser::ParseOptions::default())
            {
                Ok(value) => value,
                Err(e) => {
                    self.problems.push(format!("{}: {e}", path.display()));
                    return;
                }
            };
        let strings = |value: Option<&Value>| -> Option<Vec<String>> {
            let list = value?.as_array()?;
            Some(
                list.iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            )
        };
        let expand = |dir: String| match (dir.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(dir),
        };
        self.policy.add(&value, is_users, home);
        let tools = value.get("tools");
        let tool = |new: &str, old: &str| tools.and_then(|t| t.get(new)).or_else(|| value.get(old));
        if let Some(core) = strings(tool("core", "coreTools")) {
            self.core = Some(core);
        }
        self.exclude
            .extend(strings(tool("exclude", "excludeTools")).unwrap_or_default());
        if let Some(n) = tool("truncateToolOutputThreshold", "truncateToolOutputThreshold")
            .and_then(Value::as_i64)
        {
            self.truncate_threshold = Some(n);
        }
        let command = |new: &str, old: &str| tool(new, old).and_then(Value::as_str);
        if let Some(discovery) = command("discoveryCommand", "toolDiscoveryCommand") {
            let call = command("callCommand", "toolCallCommand").map(str::to_owned);
            *self.commands.of(is_users) = Some((discovery.to_owned(), call));
        }
        if let Some(allowed) = strings(tool("allowed", "allowedTools")) {
            *self.allowed.of(is_users) = allowed;
        }
        let model = value.get("model");
        let name = model.and_then(|m| m.get("name")).or(model);
        if let Some(name) = name.and_then(Value::as_str) {
            self.model = Some(name.to_owned());
        }
        let turns = model.and_then(|m| m.get("maxSessionTurns"));
        if let Some(turns) = turns.or_else(|| value.get("maxSessionTurns")) {
            self.max_turns = turns.as_u64().and_then(|n| u32::try_from(n).ok());
        }
        let shell = tools.and_then(|t| t.get("shell"));
        if let Some(secs) = shell
            .and_then(|s| s.get("inactivityTimeout"))
            .and_then(Value::as_u64)
        {
            self.shell_idle_secs = Some(secs);
        }
        let context = |new: &str, old: &str| {
            let context = value.get("context");
            context.and_then(|c| c.get(new)).or_else(|| value.get(old))
        };
        let may_be_named = |name: &str| is_users || is_markdown_name(name);
        let names = context("fileName", "contextFileName");
        if let Some(name) = names.and_then(first_name).filter(|name| may_be_named(name)) {
            self.context_file_name = Some(name.to_owned());
            let all = names.map(all_names).unwrap_or_default().into_iter();
            self.context_file_names = all
                .filter(|name| may_be_named(name))
                .map(str::to_owned)
                .collect();
        }
        let sandbox = tools
            .and_then(|t| t.get("sandbox"))
            .or_else(|| value.get("sandbox"));
        if is_users {
            self.sandbox.users = sandbox.cloned();
            let tool = |key| tools.and_then(|t| t.get(key));
            self.sandbox.network = tool("sandboxNetworkAccess") == Some(&Value::Bool(true));
            let paths = strings(tool("sandboxAllowedPaths")).unwrap_or_default();
            self.sandbox.allowed_paths = paths.into_iter().map(&expand).collect();
        } else {
            self.sandbox.projects = sandbox.cloned();
        }
        let correction = tools.and_then(|t| t.get("disableLLMCorrection"));
        self.disable_llm_correction |= correction == Some(&Value::Bool(true));
        if is_users {
            let fetch = tools.and_then(|t| t.get("webFetch"));
            let hosts = strings(fetch.and_then(|f| f.get("allowedHosts")));
            self.fetch_hosts = hosts.unwrap_or_default();
            let listed = context("includeDirectories", "includeDirectories");
            let dirs = strings(listed).unwrap_or_default();
            self.include_directories
                .extend(dirs.into_iter().map(expand));
        }
    }

    /// The most characters of an answer; `None` where the settings switch the limit off.
    pub fn limit_chars(&self) -> Option<usize> {
        match self.truncate_threshold {
            None => Some(DEFAULT_LIMIT_CHARS),
            Some(n) if n <= 0 => None,
            Some(n) => usize::try_from(n).ok(),
        }
    }

    /// Whether the settings let a tool be used. `names` are all names it goes by: Gemini
    /// CLI's settings may hold the tool's name, the name of its class, or the name of a
    /// discovered tool. Entries such as `run_shell_command(git)` restrict a tool's calls:
    /// in `core` they let the tool be, in `exclude` they don't take it away.
    pub fn allows(&self, names: &[&str]) -> bool {
        let is = |entry: &String| {
            let entry = entry.strip_prefix("discovered_tool_").unwrap_or(entry);
            names.contains(&entry)
        };
        let is_some_call = |entry: &String| {
            entry
                .split_once('(')
                .is_some_and(|(name, _)| names.contains(&name.trim()))
        };
        !self.exclude.iter().any(is)
            && self
                .core
                .as_ref()
                .is_none_or(|core| core.iter().any(|entry| is(entry) || is_some_call(entry)))
    }
}

/// What commands may do, as the settings have it.
///
/// `tools.sandbox` may stand in both files; of two modes the stricter one counts, so that a
/// project, or a model that edits its file, can't give itself more. What else widens the
/// sandbox counts in the user's file only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    users: Option<Value>,
    projects: Option<Value>,
    /// `tools.sandboxAllowedPaths`: what may be written besides the roots and the temporary
    /// directory; relative paths count from the first root.
    pub allowed_paths: Vec<PathBuf>,
    /// `tools.sandboxNetworkAccess`.
    pub network: bool,
}

impl SandboxSettings {
    /// The mode that an agent sets which `otherwise` would take another than the files' own:
    /// `None` where the user's file has one, or, with `trusts_project`, the project's. Else a
    /// project's can only make it stricter.
    pub fn default_for_agents(&self, otherwise: &str, trusts_project: bool) -> Option<String> {
        if self.users.is_some() || trusts_project && self.projects.is_some() {
            return None;
        }
        let projects = self
            .projects
            .as_ref()
            .and_then(|value| mode_of(value, false).ok());
        let own = Mode::from_name(otherwise);
        match projects {
            // The files are left to say it.
            Some(mode) if Some(mode) > own => None,
            _ => Some(otherwise.to_owned()),
        }
    }

    /// The mode that counts. `chosen` is the value of `GEMINI_TOOLS_SANDBOX`, by which a
    /// caller overrides the files; `is_contained` is whether Gemini CLI already runs in a
    /// container of its own (it sets `SANDBOX` there).
    ///
    /// # Errors
    ///
    /// `policy_violation` for a value that is not understood: the command must not run then.
    pub fn mode(&self, chosen: Option<&str>, is_contained: bool) -> Result<Mode, ToolError> {
        if let Some(name) = chosen.filter(|name| !name.is_empty()) {
            return Mode::from_name(name)
                .ok_or_else(|| not_understood(&format!("GEMINI_TOOLS_SANDBOX is {name:?}"), ""));
        }
        let mode = |value: &Option<Value>| match value {
            None => Ok(Mode::Off),
            Some(value) => mode_of(value, is_contained),
        };
        Ok(mode(&self.users)?.max(mode(&self.projects)?))
    }
}

fn not_understood(what: &str, why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::PolicyViolation,
        format!("{what}{why}. The command was not run."),
    )
    .with_hint(format!("Use one of {}.", Mode::NAMES.join(", ")))
}

/// `tools.sandbox` is ours by its names, and Gemini CLI's own by all others.
fn mode_of(value: &Value, is_contained: bool) -> Result<Mode, ToolError> {
    match value {
        Value::Bool(false) | Value::Null => Ok(Mode::Off),
        // Gemini CLI's own container is around us already.
        Value::Bool(true) if is_contained => Ok(Mode::Off),
        Value::Bool(true) => Ok(Mode::WorkspaceWrite),
        Value::String(name) => match Mode::from_name(name) {
            Some(mode) => Ok(mode),
            None if is_contained => Ok(Mode::Off),
            None => Err(not_understood(
                &format!("tools.sandbox is {name:?}"),
                ", a sandbox of Gemini CLI's own that this process does not run in",
            )),
        },
        Value::Object(map) => {
            if map.get("enabled") == Some(&Value::Bool(false)) {
                return Ok(Mode::Off);
            }
            mode_of(
                map.get("command").unwrap_or(&Value::Bool(true)),
                is_contained,
            )
        }
        other => Err(not_understood(&format!("tools.sandbox is {other}"), "")),
    }
}

/// What the settings let a tool do of what it could: entries such as
/// `run_shell_command(git status)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Only these, where given.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Settings {
    /// What `tools.core` and `tools.exclude` say about the calls of the tool with these names.
    /// A plain entry in `core` beside others with parentheses lets all calls be, as in Gemini
    /// CLI.
    pub fn restrictions(&self, names: &[&str]) -> Restrictions {
        let inner = |entry: &String| -> Option<String> {
            let entry = entry.strip_prefix("discovered_tool_").unwrap_or(entry);
            let (name, rest) = entry.split_once('(')?;
            let inner = rest.trim_end().strip_suffix(')')?;
            names
                .contains(&name.trim())
                .then(|| inner.trim().to_owned())
        };
        let is_plain = |entry: &String| {
            names.contains(&entry.strip_prefix("discovered_tool_").unwrap_or(entry))
        };
        let allow = self
            .core
            .as_ref()
            .filter(|core| !core.iter().any(is_plain))
            .map(|core| core.iter().filter_map(inner).collect());
        Restrictions {
            allow,
            deny: self.exclude.iter().filter_map(inner).collect(),
        }
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

/// The directory that holds the user's `.gemini`: `GEMINI_CLI_HOME`, which Gemini CLI puts in
/// the place of the home directory (seen in 0.61), else `HOME`. `None` where that is not set or
/// not absolute: it would lie somewhere in the project.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("GEMINI_CLI_HOME")
        .filter(|home| !home.is_empty())
        .or_else(|| std::env::var_os("HOME"))
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

/// The text of a settings file. A project may bring anything under that name: what is no
/// regular file is not waited for, and of a large one only the beginning is read, which then
/// does not parse.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::process::sandbox::Mode;
    use std::path::Path;

    fn load(user: &str, project: &str) -> Settings {
        let dir = tempfile::tempdir().expect("a directory");
        let (home, root) = (dir.path().join("home"), dir.path().join("root"));
        for (at, text) in [(&home, user), (&root, project)] {
            std::fs::create_dir_all(at.join(".gemini")).expect("made");
            std::fs::write(at.join(".gemini/settings.json"), text).expect("written");
        }
        Settings::load(Some(&home), &root)
    }

    #[test]
    fn both_files_and_both_spellings_count() {
        let s = load(
            r#"{ "excludeTools": ["glob"], // why
                 "context": {"includeDirectories": ["~/lib"]} }"#,
            r#"{ "tools": {"exclude": ["ReadFileTool"], "core": ["read_file","glob","run_shell_command(ls)"],
                 "truncateToolOutputThreshold": 7}, "context": {"includeDirectories": ["/etc"]} }"#,
        );
        assert!(!s.allows(&["glob"]) && !s.allows(&["read_file", "ReadFileTool"]));
        assert!(s.allows(&["run_shell_command"]) && !s.allows(&["replace"]));
        assert_eq!(s.limit_chars(), Some(7));
        assert_eq!(
            s.include_directories.len(),
            1,
            "a project can't widen the workspace"
        );
        assert!(s.include_directories[0].ends_with("home/lib"));
    }

    #[test]
    fn entries_with_parentheses_restrict_the_calls_of_a_tool() {
        let s = load(
            r#"{"excludeTools": ["run_shell_command( rm -rf )", "ShellTool(sudo)", "glob(x)"]}"#,
            r#"{"tools": {"core": ["read_file", "ShellTool(git status)", "run_shell_command(ls)"]}}"#,
        );
        let shell = s.restrictions(&["run_shell_command", "ShellTool"]);
        assert_eq!(shell.allow, Some(vec!["git status".into(), "ls".into()]));
        assert_eq!(shell.deny, ["rm -rf", "sudo"]);
        let all = load(
            "{}",
            r#"{"coreTools": ["ShellTool(ls)", "discovered_tool_run_shell_command"]}"#,
        );
        assert_eq!(
            all.restrictions(&["run_shell_command", "ShellTool"]).allow,
            None
        );
    }

    #[test]
    fn a_project_names_the_context_file_only_if_it_is_markdown_of_no_directory() {
        let user = r#"{"context": {"fileName": "a/b.txt"}, "contextFileName": "old"}"#;
        for (project, name) in [
            (r#"{"contextFileName": ["X.MD", "y.md"]}"#, "X.MD"),
            (r#"{"context": {"fileName": "a/x.md"}}"#, "a/b.txt"),
            (r#"{"context": {"fileName": "settings.json"}}"#, "a/b.txt"),
            (r#"{"context": {"fileName": ["", "x.md"]}}"#, "a/b.txt"),
        ] {
            let settings = load(user, project);
            assert_eq!(settings.context_file_name.as_deref(), Some(name));
        }
        assert_eq!(load("{}", "{}").context_file_name, None);
    }

    #[test]
    fn all_names_of_context_files_are_kept_but_those_that_a_project_must_not_name() {
        let users = r#"{"context": {"fileName": ["A.md", " ", "b/c.txt", 1]}}"#;
        let mixed = r#"{"contextFileName": ["x.md", "oauth_creds.json", "../y.md", "z.MD"]}"#;
        for (user, project, names) in [
            (users, "{}", vec!["A.md", "b/c.txt"]),
            (users, mixed, vec!["x.md", "z.MD"]),
            (
                users,
                r#"{"contextFileName": ["x.json", "y.md"]}"#,
                vec!["A.md", "b/c.txt"],
            ),
            ("{}", r#"{"contextFileName": "one.md"}"#, vec!["one.md"]),
            ("{}", "{}", vec![]),
        ] {
            assert_eq!(load(user, project).context_file_names, names, "{project}");
        }
    }

    #[test]
    fn a_project_can_make_the_sandbox_stricter_but_not_weaker() {
        let mode = |user: &str, project: &str| load(user, project).sandbox.mode(None, false).ok();
        let of = |mode: &str| format!(r#"{{"tools": {{"sandbox": {mode}}}}}"#);
        let (write, read) = (of("\"workspace-write\""), of("\"read-only\""));
        for (user, project, expected) in [
            ("{}", "{}", Some(Mode::Off)),
            ("{}", &*write, Some(Mode::WorkspaceWrite)),
            (&*write, &*read, Some(Mode::ReadOnly)),
            (&*read, &*of("\"off\""), Some(Mode::ReadOnly)),
            (&*of("true"), &*of("false"), Some(Mode::WorkspaceWrite)),
            (&*of("\"docker\""), "{}", None),
            ("{}", &*of("3"), None),
            (
                &*of(r#"{"enabled": false, "command": "x"}"#),
                "{}",
                Some(Mode::Off),
            ),
            (
                &*of(r#"{"enabled": true}"#),
                "{}",
                Some(Mode::WorkspaceWrite),
            ),
        ] {
            assert_eq!(mode(user, project), expected, "{user} {project}");
        }
        let docker = load(&of("\"docker\""), "{}").sandbox;
        assert_eq!(docker.mode(None, true).ok(), Some(Mode::Off));
        assert_eq!(
            docker.mode(Some("read-only"), true).ok(),
            Some(Mode::ReadOnly)
        );
        assert!(docker.mode(Some("of"), true).is_err());
        let wide =
            r#"{"tools": {"sandboxNetworkAccess": true, "sandboxAllowedPaths": ["~/x", "y"]}}"#;
        assert_eq!(load("{}", wide).sandbox.allowed_paths.len(), 0);
        assert!(!load("{}", wide).sandbox.network);
        let users = load(wide, "{}").sandbox;
        assert!(users.network && users.allowed_paths[0].ends_with("home/x"));
    }

    #[test]
    fn only_the_user_opens_hosts_and_either_file_switches_corrections_off() {
        let hosts =
            r#"{"tools": {"webFetch": {"allowedHosts": ["a"]}, "disableLLMCorrection": true}}"#;
        let s = load(hosts, "{}");
        assert!(s.fetch_hosts == ["a"] && s.disable_llm_correction);
        let s = load(r#"{"tools": {"disableLLMCorrection": false}}"#, hosts);
        assert!(s.fetch_hosts.is_empty() && s.disable_llm_correction);
    }

    #[test]
    fn a_broken_file_is_a_problem_not_a_failure() {
        let s = load("{", "[]");
        assert_eq!(s.problems.len(), 1);
        assert!(s.allows(&["glob"]));
        assert_eq!(
            Settings::load(None, Path::new("/nonexistent")),
            Settings::default()
        );
    }
}
