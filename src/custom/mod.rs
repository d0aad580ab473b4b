//! Tools that a user or a project adds, each one file.
//!
//! They stand in `~/.gemini/tools` (the user's) and `.gemini/tools` (the project's, which count
//! only where it is trusted): a manifest `NAME.toml` (`manifest`), or a script that describes
//! itself in a comment (`block`). Where two have one name, a built-in tool comes first, then
//! the user's, then the project's, and in one directory a manifest before a script; the others
//! are left out, which is noted.
//!
//! Nothing here is looked at for the call of a built-in tool, and nothing is run to find out
//! what tools there are. Declarations come from a `catalogue`, so that no manifest is parsed
//! that has not changed.

mod block;
mod catalogue;
mod manifest;
mod outcome;
mod tool;
mod words;

use crate::builtin::{Surroundings, is_reserved};
use crate::registry::{ToolRegistry, bare_name, is_valid_name};
use crate::settings::Settings;
use crate::shown::show_path;
use crate::tool::{ErrorKind, Kind, Tool, ToolError};
use catalogue::{Entry, State};
use manifest::Manifest;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool::CustomTool;

/// Below a home or a project directory.
const DIRECTORY: &str = ".gemini/tools";

/// The longest name that still fits when the host has put its prefix before it.
pub(crate) const MAX_NAME: usize = 47;

/// The tools that a user and a project add, as `get_tools` prints them.
#[derive(Debug, Default)]
pub struct Listing {
    /// Sorted by name.
    pub tools: Vec<Listed>,
    /// What was left out and why, one sentence each.
    pub notes: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Unique, and no built-in tool's.
    pub name: String,
    /// What it does to the world.
    pub kind: Kind,
    /// Compact JSON.
    pub declaration: String,
    /// The file that it is.
    pub path: PathBuf,
}

impl Listing {
    /// The declarations of the tools that `keep` wants by name, each as compact JSON; `with_kinds`
    /// adds each tool's kind, which the API does not take.
    pub fn printed(
        self,
        mut keep: impl FnMut(&str, &[&str]) -> bool,
        with_kinds: bool,
    ) -> impl Iterator<Item = String> {
        let tools = self.tools.into_iter();
        tools
            .filter(move |tool| keep(&tool.name, &[]))
            .map(move |tool| {
                let mut text = tool.declaration;
                if with_kinds {
                    text.pop();
                    text.push_str(&format!(r#","kind":{}}}"#, serde_json::json!(tool.kind)));
                }
                text
            })
    }
}

/// Whose tools they are, in the order in which they count.
#[derive(Debug, Clone)]
struct Folder {
    path: PathBuf,
}

/// The directories that count; the project's only where it is trusted. A second value is the
/// project's where it does not count.
fn folders(
    settings: &Settings,
    home: Option<&Path>,
    root: &Path,
) -> (Vec<Folder>, Option<PathBuf>) {
    let users = home.map(|home| home.join(DIRECTORY));
    let projects = root.join(DIRECTORY);
    let id = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        let meta = path.metadata().ok()?;
        meta.is_dir().then(|| (meta.dev(), meta.ino()))
    };
    let users_id = users.as_deref().and_then(id);
    let projects_id = id(&projects);
    let mut list = Vec::new();
    if let (Some(path), Some(_)) = (users, users_id) {
        list.push(Folder { path });
    }
    let mut left_out = None;
    if projects_id.is_some() && projects_id != users_id {
        if settings.trust.is_trusted() {
            list.push(Folder { path: projects });
        } else {
            left_out = Some(projects);
        }
    }
    (list, left_out)
}

/// What the user's and the project's directories hold.
pub fn declarations(settings: &Settings, home: Option<&Path>, root: &Path) -> Listing {
    let (folders, left_out) = folders(settings, home, root);
    let mut listing = Listing::default();
    let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut tools = BTreeMap::new();
    for folder in folders {
        let entries = match catalogue::entries(&folder.path, home) {
            Ok(entries) => entries,
            Err(e) => {
                let path = show_path(&folder.path);
                listing.notes.push(format!("{path} can't be read: {e}."));
                continue;
            }
        };
        for entry in in_order(entries) {
            let path = folder.path.join(&entry.file);
            let shown = show_path(&path).into_owned();
            let name = entry.name.clone();
            if is_reserved(&name) {
                listing.notes.push(format!(
                    "{shown} is left out: {name} is a built-in tool. Give the file another name."
                ));
                continue;
            }
            if let Some(first) = taken.get(&name) {
                listing.notes.push(format!(
                    "{shown} is left out: {name} is in {} already. Give the file another name.",
                    show_path(first)
                ));
                continue;
            }
            taken.insert(name.clone(), path.clone());
            match entry.state {
                State::Tool { kind, declaration } => {
                    tools.insert(
                        name.clone(),
                        Listed {
                            name,
                            kind,
                            declaration: String::from(Box::<str>::from(declaration)),
                            path,
                        },
                    );
                }
                State::Faulty(faults) => {
                    let faults = faults.into_iter().map(|fault| format!("{shown}: {fault}"));
                    listing.notes.extend(faults);
                }
                State::Other => {}
            }
        }
    }
    if let Some(path) = left_out {
        listing.notes.push(format!(
            "{} is left out: the project is not trusted. See get_tools trust.",
            show_path(&path)
        ));
    }
    listing.tools = tools.into_values().collect();
    listing
}

/// Entries that hold a name, manifests first.
fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.retain(|entry| !matches!(entry.state, State::Other));
    entries.sort_by(|a, b| (!a.is_manifest, &a.file).cmp(&(!b.is_manifest, &b.file)));
    entries
}

/// The registry in which `name` can be looked up: the built-in tools' own where one of them has
/// that name, else with the tool that the user or the project has added. Where nobody has, all
/// that were added are there, so that the nearest names can be told.
///
/// # Errors
///
/// Why the tool with that name can't be used.
pub fn registry<'a>(
    builtin: &'a ToolRegistry,
    name: &str,
    surroundings: &Surroundings,
) -> Result<Cow<'a, ToolRegistry>, ToolError> {
    if builtin.get(name).is_some() {
        return Ok(Cow::Borrowed(builtin));
    }
    let (folders, left_out) = folders(
        &surroundings.settings,
        surroundings.workspace.home(),
        surroundings.workspace.root(),
    );
    let names = [
        Some(name),
        Some(bare_name(name)).filter(|bare| *bare != name),
    ];
    for name in names.into_iter().flatten().filter(|n| is_valid_name(n)) {
        for folder in &folders {
            let Some(tool) = find(folder, name, surroundings)? else {
                continue;
            };
            let mut registry = builtin.clone();
            if tool.may_call_others() {
                register_all(&mut registry, surroundings);
            }
            registry.replace(tool)?;
            return Ok(Cow::Owned(registry));
        }
        if let Some(path) = left_out.as_deref().and_then(|dir| file_named(dir, name)) {
            return Err(ToolError::new(
                ErrorKind::PolicyViolation,
                format!(
                    "The tool {name} is the project's own ({}), and the project is not trusted.",
                    show_path(&path)
                ),
            )
            .with_hint("A person can look at it and let it run with: get_tools trust"));
        }
    }
    if folders.is_empty() {
        return Ok(Cow::Borrowed(builtin));
    }
    let mut registry = builtin.clone();
    register_all(&mut registry, surroundings);
    Ok(Cow::Owned(registry))
}

/// A file of that name, whatever comes after the dot. Nothing of it is read.
fn file_named(dir: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.file_stem().is_some_and(|stem| stem == name))
}

fn register_all(registry: &mut ToolRegistry, surroundings: &Surroundings) {
    let home = surroundings.workspace.home();
    let root = surroundings.workspace.root();
    for listed in declarations(&surroundings.settings, home, root).tools {
        if let Ok(Some(manifest)) = load(&listed.path) {
            let tool = CustomTool::new(listed.name, listed.path, manifest, surroundings);
            // A name that is taken meanwhile stays with whoever has it.
            let _ = registry.register(tool);
        }
    }
}

/// The tool of that name in a directory.
fn find(
    folder: &Folder,
    name: &str,
    surroundings: &Surroundings,
) -> Result<Option<CustomTool>, ToolError> {
    let unusable = |path: &Path, faults: &[String]| {
        ToolError::new(
            ErrorKind::ExecutionFailed,
            format!(
                "The tool {name} can't be used: {}: {}",
                show_path(path),
                faults.join(" ")
            ),
        )
    };
    let mut path = folder.path.join(format!("{name}.toml"));
    let mut loaded = load(&path);
    if matches!(loaded, Ok(None)) {
        let home = surroundings.workspace.home();
        let entries = catalogue::entries(&folder.path, home).unwrap_or_default();
        let mut entries = in_order(entries).into_iter();
        let Some(entry) = entries.find(|entry| entry.name == name) else {
            return Ok(None);
        };
        path = folder.path.join(&entry.file);
        loaded = load(&path);
    }
    match loaded {
        Ok(None) => Ok(None),
        Ok(Some(manifest)) => Ok(Some(CustomTool::new(
            name.to_owned(),
            path,
            manifest,
            surroundings,
        ))),
        Err(faults) => Err(unusable(&path, &faults)),
    }
}

/// What a file says; `None` where it is no tool, or not there.
fn load(path: &Path) -> Result<Option<Manifest>, Vec<String>> {
    let Some((name, is_manifest)) = tool_name(path) else {
        return Ok(None);
    };
    let cant_read = |e: std::io::Error| vec![format!("it can't be read: {e}.")];
    let parsed = if is_manifest {
        match crate::settings::read_regular(path).map_err(cant_read)? {
            None => return Ok(None),
            Some(text) => manifest::parse(&text, None)?,
        }
    } else {
        match block::read(path).map_err(cant_read)? {
            None => return Ok(None),
            Some(found) => {
                let text = found.map_err(|fault| vec![fault])?;
                manifest::parse(&text, Some(path))?
            }
        }
    };
    check_name(&name)?;
    Ok(Some(parsed))
}

fn check_name(name: &str) -> Result<(), Vec<String>> {
    if is_valid_name(name) && name.len() <= MAX_NAME {
        return Ok(());
    }
    Err(vec![format!(
        "the file's name makes the tool's name {name:?}, which is none: use up to {MAX_NAME} of \
         A-Z a-z 0-9 _ . - and begin with a letter or _."
    )])
}

/// What a file in a directory of tools makes the tool's name, and whether it is a manifest;
/// `None` for files that editors and people leave there.
fn tool_name(path: &Path) -> Option<(String, bool)> {
    let file = show_path(Path::new(path.file_name()?)).into_owned();
    let (stem, extension) = match file.rsplit_once('.') {
        Some((stem, extension)) => (stem, extension),
        None => (file.as_str(), ""),
    };
    let is_left_over = file.starts_with(['.', '#'])
        || file.ends_with('~')
        || matches!(
            extension,
            "md" | "txt" | "bak" | "orig" | "swp" | "tmp" | "json" | "lock"
        );
    (!is_left_over && !stem.is_empty()).then(|| (stem.to_owned(), extension == "toml"))
}

/// Compact JSON of what a model is told.
fn declaration_of(name: &str, manifest: &Manifest) -> String {
    format!(
        r#"{{"name":{},"description":{},"parametersJsonSchema":{}}}"#,
        serde_json::Value::from(name),
        serde_json::Value::from(manifest.description.as_str()),
        manifest.parameters
    )
}

/// Whether a tool with this name changes nothing; a name that nobody has is no matter.
pub fn is_read_only(builtin: &ToolRegistry, name: &str, surroundings: &Surroundings) -> bool {
    match registry(builtin, name, surroundings) {
        Ok(registry) => registry.get(name).is_none_or(Tool::is_read_only),
        Err(_) => true,
    }
}

type Shared = Arc<Manifest>;
