//! Everything that is to be said about the tools of a project and of its user.

use super::catalogue::definition;
use super::manifest::Definition;
use super::{Custom, MAX_BLOCK_BYTES, block, files, pair, position};
use gemini_tools_builtin_tools::builtin::{ToolEnv, is_reserved};
use gemini_tools_config::settings::{Settings, SettingsLines, UNTRUSTED};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::position::Position;
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_mcp::{Asks, Mcp};
use gemini_tools_platform::ffi::OsStrExt;
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::file_owner::FileOwner;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was looked at, and what was found.
#[derive(Debug, Default)]
pub struct Lint {
    /// Faults, warnings and repairs, by file.
    pub findings: Vec<Diagnostic>,
    /// How many tools can be used.
    pub tools: usize,
    /// How many files were looked at.
    pub files: usize,
    /// How many MCP servers were looked at.
    pub servers: usize,
    /// Who has which name.
    names: BTreeMap<String, String>,
}

impl Lint {
    /// One line for a person.
    pub fn summary(&self) -> String {
        let of = |severity: Severity| {
            let all = self.findings.iter().filter(|f| f.severity == severity);
            counted(all.count(), severity.name())
        };
        let servers = match self.servers {
            0 => String::new(),
            n => format!(" and {}", counted(n, "MCP server")),
        };
        format!(
            "{} in {}{servers}: {}, {}, {}",
            counted(self.tools, "tool"),
            counted(self.files, "file"),
            of(Severity::Error),
            of(Severity::Warning),
            of(Severity::Repair),
        )
    }

    /// Whether a tool is left out.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Looks at every file anew, and asks every pair.
fn lint(
    custom: &Custom,
    tool_env: impl Fn() -> Result<ToolEnv, ToolError>,
) -> Result<Lint, ToolError> {
    let (mut lint, pairs) = look(custom);
    if !pairs.is_empty() {
        let open = tool_env()?;
        for (file, discovered) in custom.discovered(&pairs, true, &|| Ok(open.clone())) {
            lint.take(&file, custom.whose(&file), discovered);
        }
    }
    Ok(lint)
}

/// Everything that is to be said about the tools that can be called in the project in `root`, an
/// absolute path: those of files, of pairs and of MCP servers. `asks` says which servers are
/// started for it; `home` is the user's home directory.
///
/// # Errors
///
/// Where the workspace can't be opened that pairs are asked in.
pub fn lint_tools(
    settings: &Settings,
    home: Option<&Path>,
    root: &Path,
    asks: Asks,
) -> Result<Lint, ToolError> {
    let custom = Custom::open(home, root, &settings.trust);
    let tool_env = || {
        let workspace = Arc::new(Workspace::open_at(root, &[], home)?);
        Ok(ToolEnv::new(workspace).with_settings(Arc::new(settings.clone())))
    };
    let mut lint = lint(&custom, tool_env)?;
    let servers = settings.notes.iter().filter(|note| {
        let is_servers = matches!(&*note.place.key, "mcpServers" | "mcp.serverCommand");
        is_servers && note.code == UNTRUSTED
    });
    let obstacle = settings.trust.obstacle(home);
    let remedy = obstacle.as_deref().unwrap_or("get_tools trust");
    let mut lines = SettingsLines::new(home, root);
    lint.findings.extend(servers.map(|note| {
        let mut finding = note.clone();
        finding.message = format!("{}: {remedy}", note.message);
        lines.place(&mut finding);
        finding
    }));
    let root = root.to_owned();
    if let Some(mcp) = Mcp::open(settings, home, &root, std::slice::from_ref(&root)) {
        let audit = mcp.audit(asks, &Cancellation::default());
        lint.servers = audit.servers;
        lint.findings.extend(audit.findings);
        for (name, server) in &audit.tools {
            lint.take_tool_of_server(name, server);
        }
    }
    Ok(lint)
}

/// What the files say, and which of them are pairs.
fn look(custom: &Custom) -> (Lint, Vec<PathBuf>) {
    let mut lint = Lint::default();
    let mut pairs: Vec<PathBuf> = Vec::new();
    let mut owners: BTreeMap<String, PathBuf> = BTreeMap::new();
    let directories = [
        (&custom.user, "the user's"),
        (&custom.project, "the project's"),
    ];
    for (directory, origin) in directories {
        let Some(directory) = directory else {
            continue;
        };
        let whose = custom.whose(directory);
        let files = files::list(directory, whose).unwrap_or_else(|message| {
            let finding = Diagnostic::error("no-file", "", "", message);
            lint.findings.push(finding.in_file(directory));
            Vec::new()
        });
        let (manifests, others): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|(name, _, _)| name.ends_with(b".toml"));
        for (name, _, is_executable) in manifests.into_iter().chain(others) {
            let path = directory.join(OsStr::from_bytes(&name));
            let Some(outcome) = definition(&path, whose, is_executable) else {
                lint.findings.extend(no_block(&path, whose));
                continue;
            };
            lint.files += 1;
            let before = lint.findings.len();
            match outcome {
                Ok((Definition::Tool(tool), findings)) => {
                    lint.findings.extend(findings);
                    let name = tool.declared.name;
                    let owner = format!("{origin} {}", path.display());
                    let other = owners.insert(name.clone(), path.clone());
                    if other.is_none_or(|other| {
                        !files::are_same((&other, custom.whose(&other)), (&path, whose))
                    }) {
                        lint.claim(&name, owner, |finding| finding.in_file(&path));
                    }
                }
                Ok((Definition::Pair(_), findings)) => {
                    lint.findings.extend(findings);
                    pairs.push(path.clone());
                }
                Err(findings) => lint.findings.extend(findings),
            }
            position::put(&path, whose, &mut lint.findings[before..]);
        }
        let odd = files::oddities(directory, whose).into_iter();
        lint.findings.extend(odd.map(|(path, what)| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let message = format!("{what}: it is not a tool. Fix or remove it.");
            Diagnostic::warning("no-file", &name, "", message).in_file(&path)
        }));
    }
    lint.findings.extend(custom.untrusted_finding());
    (lint, pairs)
}

/// The finding that a file that is not a tool looks as if it were to be one.
fn no_block(path: &Path, whose: FileOwner<'_>) -> Option<Diagnostic> {
    let text = files::beginning(path, whose, MAX_BLOCK_BYTES)?;
    let line = block::near_miss(&String::from_utf8_lossy(&text))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let message = "This line looks like the beginning of a block that makes a tool of the file, but it is \
                   not one: begin it with #, //, -- or ; and nothing before that, or put the block within \
                   /* and */.";
    let mut finding = Diagnostic::warning("no-block", &name, "", message).in_file(path);
    finding.put_at(Position::new(line, 1));
    Some(finding)
}

impl Lint {
    fn take(&mut self, file: &Path, whose: FileOwner<'_>, discovered: pair::Discovered) {
        let before = self.findings.len();
        if let Some(failure) = discovered.failure {
            let shown = format!("{}: ", gemini_tools_core::text::show_path(file));
            let message = failure.strip_prefix(&shown).unwrap_or(&failure);
            self.findings
                .push(Diagnostic::error("discovery", "", "", message).in_file(file));
        }
        self.findings.extend(discovered.findings);
        for tool in discovered.tools {
            let owner = format!("the pair of {}", file.display());
            self.claim(&tool.name, owner, |finding| finding.in_file(file));
        }
        // What a command prints has no lines of any file.
        position::put_all(
            file,
            whose,
            "discovery_command",
            &mut self.findings[before..],
        );
    }

    /// Takes a tool of an MCP server, which counts less than all that were taken before.
    pub fn take_tool_of_server(&mut self, name: &str, server: &str) {
        let owner = format!("the MCP server {server}");
        self.claim(name, owner, |finding| finding.of_server(server));
    }

    /// Takes a name, or tells who has it; `place` says where the tool comes from.
    fn claim(&mut self, name: &str, owner: String, place: impl Fn(Diagnostic) -> Diagnostic) {
        let other = if is_reserved(name) {
            Some("a built-in tool".to_owned())
        } else {
            self.names.get(name).cloned()
        };
        match other {
            None => {
                self.tools += 1;
                self.names.insert(name.to_owned(), owner);
            }
            Some(other) => self.findings.push(place(Diagnostic::error(
                "name-clash",
                name,
                "",
                format!("It is left out, because {other} has its name; rename it."),
            ))),
        }
    }
}
