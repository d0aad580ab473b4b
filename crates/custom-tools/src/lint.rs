//! Checks the custom tools of a project and its user.

use super::catalogue::definition;
use super::files::ListedFile;
use super::manifest::Definition;
use super::{Custom, MAX_BLOCK_BYTES, MAX_MANIFEST_BYTES, files, pair, position};
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::{counted, show_path};
use gemini_tools_core::tool::ToolError;
use gemini_tools_settings::settings::{Settings, SettingsLines, UNTRUSTED};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::file_owner::FileOwner;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Findings about tools, and counts of what was checked.
#[derive(Debug, Default)]
pub struct Lint {
    /// Errors, warnings and repairs, in the order in which the files were checked.
    pub findings: Vec<Diagnostic>,
    /// The number of usable tools.
    pub tools: usize,
    /// The number of files that were checked.
    pub files: usize,
    /// The number of MCP servers that were checked.
    pub servers: usize,
    /// The number of rules in the rule files (of `call_tool --check`) that were checked.
    pub rules: usize,
    /// Files that are no tools, such as rule files, and are left out where tools are looked for.
    pub not_tools: BTreeSet<PathBuf>,
    names: BTreeMap<String, String>,
}

impl Lint {
    /// Returns a one-line summary.
    pub fn summary(&self) -> String {
        let of = |severity: Severity| {
            let all = self.findings.iter().filter(|f| f.severity == severity);
            counted(all.count(), severity.name())
        };
        let and = |count: usize, noun: &str| match count {
            0 => String::new(),
            n => format!(" and {}", counted(n, noun)),
        };
        let (rules, servers) = (and(self.rules, "rule"), and(self.servers, "MCP server"));
        format!(
            "{}{rules} in {}{servers}: {}, {}, {}",
            counted(self.tools, "tool"),
            counted(self.files, "file"),
            of(Severity::Error),
            of(Severity::Warning),
            of(Severity::Repair),
        )
    }

    /// Returns true if there are errors. An error usually means that a tool is left out.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Checks all custom tools of the user and of the project in `root`, an absolute path. Discovery
/// commands are run for this. Also reports the faults of the settings. `home` is the user's home
/// directory.
///
/// # Errors
///
/// Returns an error if the workspace in which discovery commands run can't be opened.
pub fn lint_tools(
    settings: &Settings,
    home: Option<&Path>,
    root: &Path,
) -> Result<Lint, ToolError> {
    let custom = Custom::open(home, root, &settings.trust);
    let (mut lint, pairs) = look(&custom);
    if !pairs.is_empty() {
        let workspace = Arc::new(Workspace::open_at(root, &[], home)?);
        let tool_env = ToolEnv::new(workspace).with_settings(Arc::new(settings.clone()));
        for (file, discovered) in custom.discovered(&pairs, true, &|| Ok(tool_env.clone())) {
            lint.take(&file, custom.owner_of(&file), discovered);
        }
    }
    let obstacle = settings.trust.obstacle(home);
    let remedy = obstacle.as_deref().unwrap_or("get_tools trust");
    let mut lines = SettingsLines::new(home, root);
    let of_settings = settings.problems.iter().chain(&settings.notes);
    lint.findings.extend(of_settings.map(|fault| {
        let mut finding = fault.clone();
        if fault.code == UNTRUSTED {
            finding.message = format!("{}: {remedy}", fault.message);
        }
        lines.place(&mut finding);
        finding
    }));
    Ok(lint)
}

fn look(custom: &Custom) -> (Lint, Vec<PathBuf>) {
    let mut lint = Lint::default();
    // An untrusted project's files are checked as well, since nothing of them is run.
    let left_out = custom.left_out.as_ref().map(|(directory, _)| directory);
    let mut pairs = Vec::new();
    for (directory, origin) in [
        (custom.user.as_ref(), "the user's"),
        (custom.project.as_ref().or(left_out), "the project's"),
    ] {
        if let Some(directory) = directory {
            let found = lint.look_into(directory, origin, &|path| custom.owner_of(path));
            if Some(directory) != left_out {
                pairs.extend(found);
            }
        }
    }
    lint.findings.extend(custom.untrusted_finding());
    (lint, pairs)
}

fn no_block(path: &Path, owner: FileOwner<'_>, is_program: bool) -> Option<Diagnostic> {
    let text = owner.beginning(path, MAX_BLOCK_BYTES).ok()??;
    let text = String::from_utf8_lossy(&text);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_script = is_program || text.starts_with("#!");
    let message = "This file has no `/// tool` block; it is ignored. A block begins with #, //, -- \
                   or ; and nothing before that.";
    is_script.then(|| Diagnostic::warning("no-block", &name, "", message).in_file(path))
}

/// Finds entries named like a manifest that are not among the `listed` files, such as broken links.
fn unlisted(directory: &Path, owner: FileOwner<'_>, listed: &[OsString]) -> Vec<Diagnostic> {
    let mut names = owner.names(directory).unwrap_or_default();
    names.retain(|name| {
        let bytes = name.as_bytes();
        bytes.ends_with(b".toml") && !bytes.starts_with(b".") && !listed.contains(name)
    });
    names.sort();
    let finding = |name: OsString| {
        let path = directory.join(name);
        let tool = path.file_stem().unwrap_or_default().to_string_lossy();
        let message = "This is a broken link, a link out of the project, or not a regular file, so \
                       it is not a tool. Fix or remove it.";
        Diagnostic::warning("no-file", &tool, "", message).in_file(&path)
    };
    names.into_iter().map(finding).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileRole {
    Tool,
    Pair,
    Other,
}

impl Lint {
    /// Checks a tool's file, or all tools in a directory. Nothing is run. The path is relative to
    /// `root`, the project's directory; `home` is the user's home directory.
    pub fn take_path(&mut self, path: &Path, home: Option<&Path>, root: &Path) {
        let path = root.join(path);
        let owner_of = |path: &Path| FileOwner::by_location(path, home, root);
        if path.is_dir() {
            self.look_into(&path, "the directory's", &owner_of);
        } else {
            let owner = owner_of(&path);
            let is_executable = files::is_executable(&path, owner);
            if self.look_at(&path, "the file", &owner_of, is_executable) == FileRole::Other {
                // A file that the user names is meant to be a tool.
                self.findings.extend(no_block(&path, owner, true));
            }
        }
    }

    fn look_into<'a>(
        &mut self,
        directory: &Path,
        origin: &str,
        owner_of: &dyn Fn(&Path) -> FileOwner<'a>,
    ) -> Vec<PathBuf> {
        let owner = owner_of(directory);
        let mut files = files::list(directory, owner).unwrap_or_else(|message| {
            let finding = Diagnostic::error("no-file", "", "", message);
            self.findings.push(finding.in_file(directory));
            Vec::new()
        });
        let listed: Vec<OsString> = files.iter().map(|file| file.name.clone()).collect();
        files.retain(|file| !self.not_tools.contains(&directory.join(&file.name)));
        let (manifests, others): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|file| file.name.as_bytes().ends_with(b".toml"));
        let text = |file: &ListedFile| {
            let path = directory.join(&file.name);
            let text = owner.beginning(&path, MAX_MANIFEST_BYTES).ok()??;
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        let texts: Vec<String> = manifests.iter().filter_map(text).collect();
        let is_used = |name: &OsStr| {
            let name = name.to_string_lossy();
            texts.iter().any(|text| text.contains(&*name))
        };
        let mut pairs = Vec::new();
        for file in manifests.into_iter().chain(others) {
            let path = directory.join(&file.name);
            match self.look_at(&path, origin, owner_of, file.is_executable) {
                FileRole::Pair => pairs.push(path),
                FileRole::Other if !is_used(&file.name) => {
                    let finding = no_block(&path, owner, file.is_executable);
                    self.findings.extend(finding);
                }
                FileRole::Tool | FileRole::Other => {}
            }
        }
        self.findings.extend(unlisted(directory, owner, &listed));
        pairs
    }

    fn look_at<'a>(
        &mut self,
        path: &Path,
        origin: &str,
        owner_of: &dyn Fn(&Path) -> FileOwner<'a>,
        is_executable: bool,
    ) -> FileRole {
        let owner = owner_of(path);
        let Some(outcome) = definition(path, owner, is_executable) else {
            return FileRole::Other;
        };
        self.files += 1;
        let before = self.findings.len();
        let mut role = FileRole::Tool;
        match outcome {
            Ok((definition, findings)) => {
                self.findings.extend(findings);
                match definition {
                    Definition::Tool(tool) => {
                        let owner = format!("{origin} {}", show_path(path));
                        self.claim(&tool.declared.name, owner, |finding| finding.in_file(path));
                    }
                    Definition::Pair(_) => role = FileRole::Pair,
                }
            }
            Err(findings) => self.findings.extend(findings),
        }
        position::put(path, owner, None, &mut self.findings[before..]);
        role
    }

    fn take(&mut self, file: &Path, owner: FileOwner<'_>, discovered: pair::Discovery) {
        let before = self.findings.len();
        if let Some(failure) = discovered.failure {
            self.findings
                .push(Diagnostic::error("discovery", "", "", failure).in_file(file));
        }
        self.findings.extend(discovered.findings);
        for tool in discovered.tools {
            let owner = format!("the pair of {}", file.display());
            self.claim(&tool.name, owner, |finding| finding.in_file(file));
        }
        // Findings about the discovery command's output have no position, so they get that of the
        // command's key.
        let findings = &mut self.findings[before..];
        position::put(file, owner, Some("discovery_command"), findings);
    }

    /// Adds findings about MCP servers, and the servers' tools, each with its server's name. These
    /// tools have lower precedence than all added before.
    pub fn take_servers(
        &mut self,
        servers: usize,
        findings: Vec<Diagnostic>,
        tools: &[(String, String)],
    ) {
        self.servers += servers;
        self.findings.extend(findings);
        for (name, server) in tools {
            let owner = format!("the MCP server {server}");
            self.claim(name, owner, |finding| finding.about_server(server));
        }
    }

    fn claim(&mut self, name: &str, owner: String, place: impl Fn(Diagnostic) -> Diagnostic) {
        let other = if builtin::find(name).is_some() {
            Some("a built-in tool".to_owned())
        } else {
            self.names.get(name).cloned()
        };
        match other {
            None => {
                self.tools += 1;
                self.names.insert(name.to_owned(), owner);
            }
            Some(other) => {
                let message = format!("It is left out, because {other} has its name; rename it.");
                let finding = Diagnostic::error("name-clash", name, "", message);
                self.findings.push(place(finding));
            }
        }
    }
}
