//! Custom tools, which a project or its user adds as files.
//!
//! A file is a manifest (`NAME.toml`), a script with the same keys in a block of comments, or a
//! manifest that names a pair of commands, as Gemini CLI's settings do: one prints the declarations
//! of several tools (`discovery_command`), and the other runs calls of them (`call_command`). The
//! files are in `~/.gemini/tools` and in the project's `.gemini/tools`, which counts only if the
//! project is trusted. If two tools have the same name, the built-in one wins, then the user's,
//! then the project's, then those of pairs in the order of their files; the other is left out and
//! reported.
//!
//! A call of a built-in tool reads none of these files. What the files declare is cached
//! (`catalogue`). [`own_program`] recognises commands that are executables of this installation.
//!
//! [`Lint`] checks these files and printed lists of declarations, and [`dialect`] converts
//! declarations, calls and results to the formats of other hosts and APIs.
//!
//! `gemini-tools-settings` decides about trust, and `gemini-tools-process` runs programs.
//!
//! # Example
//!
//! ```
//! use gemini_tools_settings::settings::Settings;
//! use gemini_tools_settings::trust::{ProjectTrust, Trust, TrustedBy};
//! use gemini_tools_custom_tools::lint_tools;
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::create_dir_all(root.join(".gemini/tools"))?;
//! let manifest = r#"
//! description = "Counts the lines of a file."
//! command = ["wc", "-l", "{file}"]
//!
//! [params.file]
//! type = "string"
//! description = "The file."
//! "#;
//! std::fs::write(root.join(".gemini/tools/count_lines.toml"), manifest)?;
//!
//! let mut settings = Settings::default();
//! settings.trust = ProjectTrust::known(Trust::Trusted(TrustedBy::Caller));
//! let lint = lint_tools(&settings, None, &root)?;
//! assert_eq!((lint.files, lint.tools), (1, 1), "{:?}", lint.findings);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod call;
mod catalogue;
pub mod dialect;
mod env;
mod files;
mod kept;
mod keys;
mod lint;
mod manifest;
mod output;
pub mod own_program;
mod pair;
mod parameters;
mod position;
mod printed_list;
pub mod program_output;
mod program_text;
mod report;
mod run;
mod words;

pub use lint::{Lint, lint_tools};

use call::CustomTool;
use catalogue::{Scan, ToolEntry};
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::parallel;
use gemini_tools_core::registry::{Source, bare_name};
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::{ErrorKind, Kind, Tool, ToolError};
use gemini_tools_settings::settings::UNTRUSTED;
use gemini_tools_settings::trust::ProjectTrust;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::overflow;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parses the text of a tool's file; `None` if it defines no tool.
#[cfg(fuzzing)]
pub fn read_file(
    file: &Path,
    text: &str,
) -> Option<Result<(), Vec<gemini_tools_core::diagnostic::Diagnostic>>> {
    let outcome = manifest::read("t", file, text, true)?;
    Some(outcome.map(drop))
}

const MAX_BLOCK_BYTES: u64 = 32 * 1024;

const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The directories of custom tools that a project uses.
#[derive(Debug, Clone)]
pub struct Custom {
    user: Option<PathBuf>,
    project: Option<PathBuf>,
    /// The project's directory if it is not trusted, and what the user can do about it.
    left_out: Option<(PathBuf, String)>,
    home: Option<PathBuf>,
    root: PathBuf,
}

/// Declarations of tools, and notes about omitted ones.
#[derive(Debug, Default)]
pub struct Declarations {
    /// The declarations as compact JSON, sorted by name.
    pub list: Vec<String>,
    /// The names of all tools, including those that were filtered out: a tool of lower precedence
    /// must not take them.
    pub names: Vec<String>,
    /// Why tools were omitted, for the user.
    pub notes: Vec<String>,
}

impl Custom {
    /// Finds the tools directories for the project in `root`, an absolute path. `home` is the
    /// user's home directory. `trust` is only determined if the project has such a directory.
    pub fn open(home: Option<&Path>, root: &Path, trust: &ProjectTrust) -> Self {
        let users = home.map(|home| home.join(".gemini/tools"));
        let projects = root.join(".gemini/tools");
        let user = users.filter(|dir| dir.is_dir());
        let is_same = home == Some(root);
        let found = (!is_same && projects.is_dir()).then_some(projects);
        let (project, left_out) = match found {
            Some(dir) if trust.is_trusted() => (Some(dir), None),
            found => (None, found.map(|dir| (dir, remedy(trust, home)))),
        };
        Self {
            user,
            project,
            left_out,
            home: home.map(Path::to_owned),
            root: root.to_owned(),
        }
    }

    fn owner_of(&self, path: &Path) -> FileOwner<'_> {
        FileOwner::by_location(path, self.home.as_deref(), &self.root)
    }

    fn caches(&self) -> Option<PathBuf> {
        Some(overflow::project(self.home.as_deref()?, &self.root))
    }

    fn from_env(tool_env: &ToolEnv) -> Self {
        let workspace = &tool_env.workspace;
        let trust = &tool_env.settings.trust;
        Self::open(workspace.home(), workspace.root(), trust)
    }

    /// Returns a note if the project's tools are omitted, with what the user can do about it.
    pub fn untrusted(&self) -> Option<String> {
        let finding = self.untrusted_finding()?;
        Some(format!("{} {}", finding.message, finding.help))
    }

    fn untrusted_finding(&self) -> Option<Diagnostic> {
        let (dir, remedy) = self.left_out.as_ref()?;
        let message = format!(
            "The tools in {} are left out, because this project is not trusted.",
            show_path(dir)
        );
        let finding = Diagnostic::warning(UNTRUSTED, "", "", message).in_file(dir);
        Some(finding.advise("", remedy.clone()))
    }

    fn scan(&self, refresh: bool) -> [Scan; 2] {
        let cached = |name: &str| self.caches().map(|dir| dir.join(name));
        [
            (&self.user, "tools-of-user"),
            (&self.project, "tools-of-project"),
        ]
        .map(|(dir, name)| {
            dir.as_ref().map_or_else(Scan::default, |dir| {
                catalogue::scan(dir, self.owner_of(dir), cached(name).as_deref(), refresh)
            })
        })
    }

    fn singles(&self, refresh: bool, notes: &mut Vec<String>) -> (Vec<ToolEntry>, Vec<PathBuf>) {
        let (mut owners, mut pairs) = (Owners::default(), Vec::new());
        for scan in self.scan(refresh) {
            notes.extend(scan.faults.into_iter().map(|fault| fault.text));
            pairs.extend(scan.pairs);
            for tool in scan.tools {
                owners.claim(tool, "one in the user's ~/.gemini/tools", notes);
            }
        }
        (owners.tools, pairs)
    }

    fn of_pairs(
        &self,
        files: &[PathBuf],
        taken: &[ToolEntry],
        refresh: bool,
        tool_env: &dyn Fn() -> Result<ToolEnv, ToolError>,
        notes: &mut Vec<String>,
    ) -> Vec<ToolEntry> {
        let mut owners = Owners::default();
        let taken = taken.iter().map(|tool| tool.name.clone());
        let owner = "a tool with a file of its own";
        owners.names = taken.map(|name| (name, owner)).collect();
        for (file, discovered) in self.discovered(files, refresh, tool_env) {
            notes.extend(pair::errors(&file, &discovered));
            for tool in discovered.tools {
                owners.claim(tool, "a tool of another pair", notes);
            }
        }
        owners.tools
    }

    /// Returns, for each of `files`, the declarations that its discovery command prints: from the
    /// cache, or by running the command. Several commands run at once. A file is skipped if one of
    /// its commands has started this process, directly or not, because it could start itself again
    /// for ever.
    fn discovered(
        &self,
        files: &[PathBuf],
        refresh: bool,
        tool_env: &dyn Fn() -> Result<ToolEnv, ToolError>,
    ) -> Vec<(PathBuf, pair::Discovery)> {
        let cache_of = |file: &Path| Some(pair::cache_of(file, &self.caches()?));
        let kept = |file: &Path| pair::read_kept(&cache_of(file)?).filter(|_| !refresh);
        let files = files.iter().filter(|file| !run::is_above(file));
        let mut pairs: Vec<_> = files.map(|file| (file.clone(), kept(file))).collect();
        let unknown: Vec<_> = pairs
            .iter_mut()
            .filter(|(_, kept)| kept.is_none())
            .collect();
        if !unknown.is_empty()
            && let Ok(tool_env) = tool_env()
        {
            parallel::each(unknown, |(file, discovery)| {
                *discovery = Some(pair::discover(file, cache_of(file).as_deref(), &tool_env));
            });
        }
        let pairs = pairs.into_iter();
        pairs
            .map(|(file, discovery)| (file, discovery.unwrap_or_default()))
            .collect()
    }

    /// Returns the declarations of all tools for which `keep` is true, as compact JSON;
    /// `with_kinds` adds each tool's kind. `refresh` ignores all caches.
    pub fn declarations(
        &self,
        mut keep: impl FnMut(&str, Kind) -> bool,
        with_kinds: bool,
        refresh: bool,
        tool_env: impl Fn() -> Result<ToolEnv, ToolError>,
    ) -> Declarations {
        let mut notes = Vec::new();
        let (mut tools, pairs) = self.singles(refresh, &mut notes);
        if !pairs.is_empty() {
            tools.extend(self.of_pairs(&pairs, &tools, refresh, &tool_env, &mut notes));
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        notes.extend(self.untrusted());
        let (mut list, mut names) = (Vec::new(), Vec::with_capacity(tools.len()));
        for tool in tools {
            if keep(&tool.name, tool.kind) {
                list.push(match tool.json.strip_suffix('}') {
                    Some(open) if with_kinds => format!(r#"{open},"kind":{}}}"#, json!(tool.kind)),
                    _ => tool.json,
                });
            }
            names.push(tool.name);
        }
        Declarations { list, names, notes }
    }

    /// Returns the name and the kind of each tool, as far as they are known without running a
    /// command.
    pub fn kinds(&self) -> Vec<(String, Kind)> {
        let mut kinds = Vec::new();
        let note = |name: &str, kind| {
            kinds.push((name.to_owned(), kind));
            false
        };
        let nowhere = || {
            let message = "No command is run to tell kinds.";
            Err(ToolError::failed(message))
        };
        self.declarations(note, false, false, nowhere);
        kinds
    }
}

#[derive(Default)]
struct Owners {
    tools: Vec<ToolEntry>,
    /// For each name, which kind of tool has it, for a note about another tool of the same name.
    names: BTreeMap<String, &'static str>,
}

impl Owners {
    fn claim(&mut self, tool: ToolEntry, owner: &'static str, notes: &mut Vec<String>) {
        if builtin::find(&tool.name).is_some() {
            notes.push(clash(&tool, "a built-in tool"));
        } else if let Some(other) = self.names.get(&tool.name) {
            notes.push(clash(&tool, other));
        } else {
            self.names.insert(tool.name.clone(), owner);
            self.tools.push(tool);
        }
    }
}

/// Returns the sources that a registry asks, in this order, for a tool that it does not have: first
/// the tools with files of their own, then those that a discovery command declares, because it may
/// have to be run.
pub fn sources(tool_env: &ToolEnv) -> [Source; 2] {
    [false, true].map(|is_of_pairs| {
        let tool_env = tool_env.clone();
        Source::new(move || {
            let custom = Custom::from_env(&tool_env);
            let (mut listed, files) = custom.singles(false, &mut Vec::new());
            if is_of_pairs {
                let own = || Ok(tool_env.clone());
                listed = custom.of_pairs(&files, &listed, false, &own, &mut Vec::new());
            }
            let tool =
                |listed| Arc::new(CustomTool::new(listed, tool_env.clone())) as Arc<dyn Tool>;
            listed.into_iter().map(tool).collect()
        })
    })
}

/// Returns the error for a missing tool, with the reason if there is one: the project is not
/// trusted, or the file of this name has an error. Other errors are returned unchanged.
pub fn explain_missing(tool_env: &ToolEnv, name: &str, error: ToolError) -> ToolError {
    if error.kind != ErrorKind::ToolNotRegistered {
        return error;
    }
    let custom = Custom::from_env(tool_env);
    let is_named = |path: &Path| path.file_stem().is_some_and(|stem| stem == bare_name(name));
    if let Some((dir, remedy)) = &custom.left_out {
        let files = custom.owner_of(dir).names(dir).unwrap_or_default();
        let mut paths = files.into_iter().map(|name| dir.join(name));
        let Some(path) = paths.find(|path| is_named(path)) else {
            let hint = error.hint.as_deref().unwrap_or_default();
            let hint = format!("{hint} {}", custom.untrusted().unwrap_or_default());
            return error.with_hint(hint.trim());
        };
        return ToolError::denied(format!(
            "The tool {name} is the project's own ({}), and the project is not trusted.",
            show_path(&path)
        ))
        .with_hint(
            match tool_env.settings.trust.obstacle(tool_env.workspace.home()) {
                None => "A person can look at it and let it run with: get_tools trust",
                Some(_) => remedy,
            },
        );
    }
    let mut faults = custom.scan(false).into_iter().flat_map(|scan| scan.faults);
    match faults.find(|fault| is_named(&fault.file)) {
        Some(fault) => ToolError::failed(format!("The tool {name} can't be used. {}", fault.text)),
        None => error,
    }
}

fn owner_of<'a>(file: &Path, tool_env: &'a ToolEnv) -> FileOwner<'a> {
    let workspace = &tool_env.workspace;
    FileOwner::by_location(file, workspace.home(), workspace.root())
}

fn clash(tool: &ToolEntry, owner: &str) -> String {
    format!(
        "{}: {}: It is left out, because {owner} has its name; rename it.",
        show_path(&tool.file),
        tool.name
    )
}

fn remedy(trust: &ProjectTrust, home: Option<&Path>) -> String {
    let obstacle = trust.obstacle(home);
    obstacle.map_or_else(
        || "Look at them, then trust it: get_tools trust".to_owned(),
        |obstacle| format!("{obstacle}."),
    )
}
