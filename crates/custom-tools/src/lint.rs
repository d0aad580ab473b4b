//! Findings about the tools of a project and of its user.

use super::catalogue::definition;
use super::manifest::{Action, Definition};
use super::{Custom, MAX_BLOCK_BYTES, MAX_MANIFEST_BYTES, block, files, pair, position};
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::position::Position;
use gemini_tools_core::text::{counted, show_path};
use gemini_tools_core::tool::ToolError;
use gemini_tools_process::command::find_program;
use gemini_tools_settings::settings::{Settings, SettingsLines, UNTRUSTED};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::file_owner::FileOwner;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The findings about tools, and the number of what was looked at.
#[derive(Debug, Default)]
pub struct Lint {
    /// Faults, warnings and repairs, by file.
    pub findings: Vec<Diagnostic>,
    /// The number of tools that can be used.
    pub tools: usize,
    /// The number of files that were looked at.
    pub files: usize,
    /// The number of MCP servers that were looked at.
    pub servers: usize,
    /// The owner of each name.
    names: BTreeMap<String, String>,
    /// The file of each tool that has one.
    files_of_names: BTreeMap<String, PathBuf>,
}

impl Lint {
    /// Returns one line for a person.
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

    /// Returns true if a tool is left out.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Checks the tools of files and of pairs that can be called in the project in `root`, an absolute
/// path, and reports MCP servers that are left out. `home` is the user's home directory.
///
/// # Errors
///
/// Returns an error if the workspace can't be opened that pairs are asked in.
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
            lint.take(&file, custom.whose(&file), discovered);
        }
    }
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
    Ok(lint)
}

/// Checks the files, and returns those of pairs that may be asked.
fn look(custom: &Custom) -> (Lint, Vec<PathBuf>) {
    let mut lint = Lint::default();
    // A project's files are read whether it is trusted or not: nothing of them runs.
    let left_out = custom.left_out.as_ref().map(|(directory, _)| directory);
    let mut pairs = Vec::new();
    for (directory, origin) in [
        (custom.user.as_ref(), "the user's"),
        (custom.project.as_ref().or(left_out), "the project's"),
    ] {
        if let Some(directory) = directory {
            let found = lint.look_into(directory, origin, &|path| custom.whose(path));
            if Some(directory) != left_out {
                pairs.extend(found);
            }
        }
    }
    lint.findings.extend(custom.untrusted_finding());
    (lint, pairs)
}

/// Returns the finding that a script, or a file that looks as if it were to be a tool, is none.
fn no_block(path: &Path, whose: FileOwner<'_>, is_executable: bool) -> Option<Diagnostic> {
    let text = files::beginning(path, whose, MAX_BLOCK_BYTES)?;
    let text = String::from_utf8_lossy(&text);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let Some(line) = block::near_miss(&text) else {
        let is_script = is_executable || text.starts_with("#!");
        return is_script.then(|| not_a_tool(path));
    };
    let message = "This line looks like the beginning of a block that makes a tool of the file, but it is \
                   not one: begin it with #, //, -- or ; and nothing before that, or put the block within \
                   /* and */.";
    let mut finding = Diagnostic::warning("no-block", &name, "", message).in_file(path);
    finding.put_at(Position::new(line, 1));
    Some(finding)
}

/// The part of a file in a directory of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileRole {
    /// A tool, or a faulty file.
    Tool,
    /// A pointer to a pair of commands.
    Pair,
    /// A file that lies beside the tools.
    Other,
}

/// Returns the finding that a file has no block.
fn not_a_tool(path: &Path) -> Diagnostic {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let message = "This file has no `/// tool` block; it is ignored.";
    Diagnostic::warning("no-block", &name, "", message).in_file(path)
}

/// Returns a warning for each program that a tool's file names and that is not installed.
fn missing_programs(definition: &Definition, path: &Path, whose: FileOwner<'_>) -> Vec<Diagnostic> {
    let tool = path.file_stem().unwrap_or_default().to_string_lossy();
    let programs = match definition {
        Definition::Tool(tool) => match &tool.action {
            Action::Command(template) => vec![("command", template.program())],
            Action::Script(..) => vec![("script", Some("bash".to_owned()))],
            Action::File(_) => {
                let text = files::beginning(path, whose, MAX_BLOCK_BYTES).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                vec![(
                    "",
                    block::interpreter(&text).and_then(|line| started(&line)),
                )]
            }
        },
        Definition::Pair(pair) => vec![
            ("discovery_command", pair.discovery.first().cloned()),
            ("call_command", pair.call.first().cloned()),
        ],
    };
    let programs = programs.into_iter();
    let programs = programs.filter_map(|(key, program)| Some((key, program?)));
    let missing = programs.filter(|(_, program)| is_missing(program));
    let finding = |(key, program): (&str, String)| {
        let message = format!(
            "The program {program:?} was not found here; a call fails without it. Install it, or \
             correct its name."
        );
        Diagnostic::warning("missing-program", &tool, key, message).in_file(path)
    };
    missing.map(finding).collect()
}

/// Returns the program that a script's first line starts, also by `env`.
fn started(line: &[String]) -> Option<String> {
    let (program, argument) = (line.first()?, line.get(1));
    if Path::new(program).file_name() != Some(OsStr::new("env")) {
        return Some(program.clone());
    }
    let words = argument?.split_ascii_whitespace();
    let mut words = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    words.next().map(str::to_owned)
}

/// Returns true if a program's bare name or absolute path leads to none.
fn is_missing(program: &str) -> bool {
    let is_bare = !program.contains(['/', '{']);
    is_bare && find_program(OsStr::new(program)).is_none()
        || Path::new(program).is_absolute() && !Path::new(program).exists()
}

impl Lint {
    /// Looks at a file that is a tool, or at the tools that lie in a directory. Nothing is run.
    /// The path is relative to `root`, the project's directory; `home` is the user's.
    pub fn take_path(&mut self, path: &Path, home: Option<&Path>, root: &Path) {
        let path = root.join(path);
        let whose = |path: &Path| FileOwner::by_location(path, home, root);
        if path.is_dir() {
            self.look_into(&path, "the directory's", &whose);
        } else {
            let owner = whose(&path);
            let is_executable = files::is_executable(&path, owner);
            if self.look_at(&path, "the file", &whose, is_executable) == FileRole::Other {
                let finding = no_block(&path, owner, is_executable);
                self.findings
                    .push(finding.unwrap_or_else(|| not_a_tool(&path)));
            }
        }
    }

    /// Looks at the files of a directory. Returns those that point to pairs.
    fn look_into<'a>(
        &mut self,
        directory: &Path,
        origin: &str,
        whose: &dyn Fn(&Path) -> FileOwner<'a>,
    ) -> Vec<PathBuf> {
        let owner = whose(directory);
        let files = files::list(directory, owner).unwrap_or_else(|message| {
            let finding = Diagnostic::error("no-file", "", "", message);
            self.findings.push(finding.in_file(directory));
            Vec::new()
        });
        let (manifests, others): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|(name, _, _)| name.ends_with(b".toml"));
        let path_of = |name: &[u8]| directory.join(OsStr::from_bytes(name));
        let text = |path: &Path| files::beginning(path, owner, MAX_MANIFEST_BYTES);
        let texts = manifests
            .iter()
            .filter_map(|(name, _, _)| text(&path_of(name)));
        let texts: Vec<String> = texts
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .collect();
        let is_used = |name: &[u8]| {
            let name = String::from_utf8_lossy(name);
            texts.iter().any(|text| text.contains(&*name))
        };
        let mut pairs = Vec::new();
        for (name, _, is_executable) in manifests.into_iter().chain(others) {
            let path = path_of(&name);
            match self.look_at(&path, origin, whose, is_executable) {
                FileRole::Pair => pairs.push(path),
                FileRole::Other if !is_used(&name) => {
                    self.findings.extend(no_block(&path, owner, is_executable));
                }
                FileRole::Tool | FileRole::Other => {}
            }
        }
        let odd = files::oddities(directory, owner).into_iter();
        self.findings.extend(odd.map(|(path, what)| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let message = format!("{what}: it is not a tool. Fix or remove it.");
            Diagnostic::warning("no-file", &name, "", message).in_file(&path)
        }));
        pairs
    }

    /// Looks at a file.
    fn look_at<'a>(
        &mut self,
        path: &Path,
        origin: &str,
        whose: &dyn Fn(&Path) -> FileOwner<'a>,
        is_executable: bool,
    ) -> FileRole {
        let owner = whose(path);
        let Some(outcome) = definition(path, owner, is_executable) else {
            return FileRole::Other;
        };
        self.files += 1;
        let before = self.findings.len();
        let mut role = FileRole::Tool;
        match outcome {
            Ok((definition, findings)) => {
                self.findings.extend(findings);
                self.findings
                    .extend(missing_programs(&definition, path, owner));
                match definition {
                    Definition::Tool(tool) => {
                        self.claim_file(tool.declared.name, path, origin, whose);
                    }
                    Definition::Pair(_) => role = FileRole::Pair,
                }
            }
            Err(findings) => self.findings.extend(findings),
        }
        position::put(path, owner, &mut self.findings[before..]);
        role
    }

    /// Takes the name of a file's tool, unless the file that has it says the same.
    fn claim_file<'a>(
        &mut self,
        name: String,
        path: &Path,
        origin: &str,
        whose: &dyn Fn(&Path) -> FileOwner<'a>,
    ) {
        let other = self.files_of_names.get(&name);
        let is_same =
            other.is_some_and(|other| files::are_same((other, whose(other)), (path, whose(path))));
        if !is_same {
            let owner = format!("{origin} {}", show_path(path));
            self.claim(&name, owner, |finding| finding.in_file(path));
        }
        self.files_of_names.insert(name, path.to_owned());
    }

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
            Some(other) => self.findings.push(place(Diagnostic::error(
                "name-clash",
                name,
                "",
                format!("It is left out, because {other} has its name; rename it."),
            ))),
        }
    }
}
