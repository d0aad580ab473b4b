//! Caches what the files of a tools directory declare.
//!
//! Parsing twenty manifests would add three milliseconds to each call. [`scan`] therefore stores an
//! entry per file in a catalogue in the project's temporary directory: its name, its time stamp,
//! and what it declares. An entry is valid if the file's stamp (size, times, inode) is unchanged,
//! and the file had not changed shortly before the catalogue was written. A file that had changed
//! just before could change again within the clock's resolution without a new stamp, so it is read
//! again; git treats its index in the same way.
//!
//! Without the catalogue the result is the same. If two files define the same tool, a manifest wins
//! over a script, and otherwise the file whose name sorts first.

use super::files;
use super::kept;
use super::manifest::{self, Definition};
use super::{MAX_BLOCK_BYTES, MAX_MANIFEST_BYTES, clash};
use gemini_tools_core::declarations::ToolDeclaration;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::tool::Kind;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolEntry {
    pub(super) name: String,
    pub(super) original: String,
    pub(super) display_name: String,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    pub(super) streaming: bool,
    pub(super) prompt: bool,
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

#[derive(Debug, Serialize, Deserialize)]
enum State {
    /// A file that is not a tool, such as a module that a tool imports.
    Other,
    Tool(ToolEntry),
    Pair,
    Faulty(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    stamp: String,
    state: State,
}

#[derive(Debug, Serialize, Deserialize)]
struct Catalogue {
    directory: PathBuf,
    entries: BTreeMap<PathBuf, Entry>,
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

pub(super) fn scan(
    directory: &Path,
    owner: FileOwner<'_>,
    cache: Option<&Path>,
    refresh: bool,
) -> Scan {
    let files = match files::list(directory, owner) {
        Ok(files) if files.is_empty() => return Scan::default(),
        Ok(files) => files,
        Err(text) => {
            let file = directory.to_owned();
            let faults = vec![Fault { file, text }];
            return Scan {
                faults,
                ..Scan::default()
            };
        }
    };
    let kept = cache.filter(|_| !refresh).and_then(kept::read);
    let kept = kept.filter(|(kept, _): &(Catalogue, _)| kept.directory == directory);
    let (mut kept, written) = match kept {
        Some((kept, written)) => (kept.entries, written),
        None => (BTreeMap::new(), SystemTime::UNIX_EPOCH),
    };
    let mut entries = BTreeMap::new();
    let mut is_stale = false;
    for file in files {
        let name = PathBuf::from(file.name);
        let stamp = file.stamp.to_text();
        let found = kept.remove(&name).filter(|entry| {
            entry.stamp == stamp && file.stamp.time_until_stable(written).is_none()
        });
        is_stale |= found.is_none();
        let entry = found.unwrap_or_else(|| Entry {
            stamp,
            state: compile(&directory.join(&name), owner, file.is_executable),
        });
        entries.insert(name, entry);
    }
    let catalogue = Catalogue {
        directory: directory.to_owned(),
        entries,
    };
    if let Some(cache) = cache.filter(|_| is_stale || !kept.is_empty()) {
        kept::write(cache, &catalogue);
    }
    collect(catalogue)
}

fn collect(catalogue: Catalogue) -> Scan {
    let mut scan = Scan::default();
    let is_manifest = |(name, _): &(PathBuf, Entry)| name.extension().is_some_and(|e| e == "toml");
    let (manifests, others): (Vec<_>, Vec<_>) =
        catalogue.entries.into_iter().partition(is_manifest);
    let mut names = BTreeSet::new();
    for (name, entry) in manifests.into_iter().chain(others) {
        let path = catalogue.directory.join(name);
        match entry.state {
            State::Other => {}
            State::Pair => scan.pairs.push(path),
            State::Faulty(text) => scan.faults.push(Fault { file: path, text }),
            State::Tool(tool) => {
                if names.insert(tool.name.clone()) {
                    scan.tools.push(tool);
                } else {
                    let text = clash(&tool, "another file beside it");
                    scan.faults.push(Fault { file: path, text });
                }
            }
        }
    }
    scan
}

pub(super) fn definition(
    path: &Path,
    owner: FileOwner<'_>,
    is_executable: bool,
) -> Option<manifest::Outcome> {
    let is_manifest = path.extension().is_some_and(|e| e == "toml");
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

fn compile(path: &Path, owner: FileOwner<'_>, is_executable: bool) -> State {
    match definition(path, owner, is_executable) {
        None => State::Other,
        Some(Ok((Definition::Pair(_), _))) => State::Pair,
        Some(Ok((Definition::Tool(tool), _))) => State::Tool(tool.entry),
        Some(Err(findings)) => {
            let errors = findings.iter().filter(|f| f.severity == Severity::Error);
            let texts: Vec<String> = errors.map(Diagnostic::text).collect();
            State::Faulty(texts.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalogue, kept, scan};
    use gemini_tools_workspace::file_owner::FileOwner;
    use std::fs;

    const MANIFEST: &str = "description = \"d\"\ncommand = [\"true\"]\n";

    fn names(scan: &super::Scan) -> Vec<&str> {
        scan.tools.iter().map(|t| t.name.as_str()).collect()
    }

    #[test]
    fn a_catalogue_follows_its_files_and_is_ignored_when_broken() {
        let dir = tempfile::tempdir().expect("a directory");
        let (tools, cache) = (dir.path().join("t"), dir.path().join("c/catalogue"));
        fs::create_dir(&tools).expect("made");
        fs::write(tools.join("a.toml"), MANIFEST).expect("written");
        fs::write(tools.join("README.md"), "# Tools\n").expect("written");
        fs::write(tools.join("bad.toml"), "description = 1").expect("written");
        let look = || scan(&tools, FileOwner::Users, Some(&cache), false);
        let first = look();
        assert_eq!(names(&first), ["a"]);
        assert_eq!(first.faults.len(), 1);
        let (catalogue, _): (Catalogue, _) = kept::read(&cache).expect("written");
        assert_eq!(catalogue.entries.len(), 3);
        assert_eq!(look().tools, first.tools);
        fs::write(tools.join("b.toml"), MANIFEST).expect("written");
        assert_eq!(names(&look()), ["a", "b"]);
        fs::remove_file(tools.join("a.toml")).expect("removed");
        assert_eq!(names(&look()), ["b"]);
        let whole = fs::read_to_string(&cache).expect("written");
        for broken in [
            "",
            "x",
            &whole[..whole.len() - 9],
            &whole.replace("Tool", "Q"),
        ] {
            fs::write(&cache, broken).expect("written");
            assert_eq!(names(&look()), ["b"], "{broken:?}");
        }
        let moved = dir.path().join("moved");
        fs::rename(&tools, &moved).expect("moved");
        fs::remove_file(moved.join("b.toml")).expect("removed");
        let other = scan(&moved, FileOwner::Users, Some(&cache), false);
        assert_eq!(
            names(&other),
            [""; 0],
            "the catalogue is another directory's"
        );
    }
}
