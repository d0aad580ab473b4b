//! Reads what the files of a tools directory declare.
//!
//! If two files define the same tool, a manifest wins over a script, and otherwise the file whose
//! name sorts first.

use super::files;
use super::manifest::{self, Definition};
use super::{MAX_BLOCK_BYTES, MAX_MANIFEST_BYTES, clash};
use gemini_tools_core::declarations::ToolDeclaration;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::tool::Kind;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is known about a tool without reading its file again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolEntry {
    pub(super) name: String,
    pub(super) original: String,
    pub(super) display_name: String,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    pub(super) streaming: bool,
    #[serde(default)]
    pub(super) prompt: bool,
    #[serde(default)]
    pub(super) resource: Option<String>,
    pub(super) file: PathBuf,
    /// The full schema as compact JSON, if the declared one had to be simplified.
    pub(super) whole: Option<String>,
    pub(super) json: String,
}

impl ToolEntry {
    pub(super) fn new(
        declared: &ToolDeclaration,
        file: &Path,
        kind: Kind,
        read_only: bool,
    ) -> Self {
        Self {
            name: declared.name.clone(),
            original: declared.original.clone(),
            display_name: declared.name.clone(),
            kind,
            read_only,
            streaming: false,
            prompt: false,
            resource: None,
            file: file.to_owned(),
            whole: declared.whole.as_ref().map(Value::to_string),
            json: declared.to_json(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) tools: Vec<ToolEntry>,
    pub(super) pairs: Vec<PathBuf>,
    pub(super) faults: Vec<Fault>,
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) file: PathBuf,
    pub(super) text: String,
}

pub(super) fn scan(directory: &Path, owner: FileOwner<'_>) -> Scan {
    let mut scan = Scan::default();
    let files = files::list(directory, owner).unwrap_or_else(|text| {
        let file = directory.to_owned();
        scan.faults.push(Fault { file, text });
        Vec::new()
    });
    let (manifests, others): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|file| is_manifest(Path::new(&file.name)));
    let mut names = BTreeSet::new();
    for file in manifests.into_iter().chain(others) {
        let path = directory.join(file.name);
        let text = match definition(&path, owner, file.is_executable) {
            // A file that is not a tool, such as a module that a tool imports.
            None => continue,
            Some(Ok((Definition::Pair(_), _))) => {
                scan.pairs.push(path);
                continue;
            }
            Some(Ok((Definition::Tool(tool), _))) => {
                let tool = ToolEntry {
                    display_name: tool.display_name,
                    streaming: tool.streaming,
                    prompt: tool.prompt,
                    resource: tool.resource,
                    ..ToolEntry::new(&tool.declared, &path, tool.kind, tool.read_only)
                };
                if names.insert(tool.name.clone()) {
                    scan.tools.push(tool);
                    continue;
                }
                clash(&tool, "another file beside it")
            }
            Some(Err(findings)) => {
                let errors = findings.iter().filter(|f| f.severity == Severity::Error);
                let texts: Vec<String> = errors.map(Diagnostic::text).collect();
                texts.join("\n")
            }
        };
        scan.faults.push(Fault { file: path, text });
    }
    scan
}

fn is_manifest(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "toml")
}

/// Reads the definition in a file, and warnings about it. Returns `None` if the file does not
/// define a tool.
pub(super) fn definition(
    path: &Path,
    owner: FileOwner<'_>,
    is_executable: bool,
) -> Option<manifest::Outcome> {
    let is_manifest = is_manifest(path);
    let name = path.file_stem()?.to_string_lossy();
    let limit = if is_manifest {
        MAX_MANIFEST_BYTES
    } else {
        MAX_BLOCK_BYTES
    };
    let refusal = |message: String| {
        let finding = Diagnostic::error("manifest", &name, "", message);
        Some(Err(vec![finding.in_file(path)]))
    };
    let Ok(Some(mut bytes)) = owner.beginning(path, limit + 1) else {
        return refusal("It can't be read; check its permissions.".to_owned());
    };
    if bytes.len() as u64 > limit {
        if is_manifest {
            return refusal(format!(
                "It is larger than {limit} bytes; put the program into a file of its own."
            ));
        }
        bytes.truncate(limit as usize);
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) if is_manifest => return refusal("It is not text in UTF-8.".to_owned()),
        // A binary file, or a script that was cut within a character.
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    };
    manifest::read(&name, path, &text, is_executable)
}
