//! What the files of a directory of tools declare, kept from one process to the next.
//!
//! # How it works
//!
//! Reading two hundred manifests takes longer than everything else that `get_tools` does. So
//! [`scan`] keeps what they come to in a catalogue in the project's temporary directory: a text
//! file with a head (version and directory), a line for each file, sorted by name, and a last line
//! `end`. A line has the file's name, its stamp, and what it is: a tool with its declaration, a
//! pair, a faulty file with its message, or something else that lies there.
//!
//! [`scan`] goes through the directory's files and the catalogue's lines side by side. A line is
//! taken if the stamp (size, times, inode) is the same, and the file was at rest when the catalogue
//! was written. A file that had changed just before could change again without a new time, so it is
//! read again, as git does it for its index. All other files are compiled. If anything was
//! different, the catalogue is written anew, whole or not at all.
//!
//! The catalogue is never more than a shortcut: one that is broken, cut, of another version or of
//! another directory counts as none, and the directory without it gives the same tools. The order
//! of files is fixed, so that of two files for one tool the manifest counts, and then the first by
//! name.
//!
//! Left to others: which files are looked at (`files`), what a file means (`manifest`), and whether
//! the project may run tools at all (`trust`).

use super::files::{self, escaped, unescaped, unescaped_text};
use super::manifest::{self, Definition, Manifest};
use super::{MAX_BLOCK_BYTES, MAX_MANIFEST_BYTES};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::tool::Kind;
use gemini_tools_platform::ffi::{OsStrExt, OsStringExt};
use gemini_tools_workspace::atomic_file;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::stamp::Stamp;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The first line; another version's catalogue is none.
const HEAD: &str = concat!("gemini-tools catalogue 3 ", env!("CARGO_PKG_VERSION"));

/// A tool as it is listed, without its file being read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// What its own command knows it by.
    pub(super) original: String,
    pub(super) display_name: String,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    pub(super) streaming: bool,
    pub(super) file: PathBuf,
    /// What arguments are checked against where the declaration does not say all of it, as
    /// compact JSON.
    pub(super) whole: Option<String>,
    /// The declaration, as compact JSON.
    pub(super) json: String,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq)]
enum State {
    /// Something that lies beside the tools.
    Other,
    Tool(Listed),
    Pair,
    /// A file that would be a tool, but for this.
    Faulty(String),
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: Vec<u8>,
    stamp: Stamp,
    state: State,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) tools: Vec<Listed>,
    pub(super) pairs: Vec<PathBuf>,
    pub(super) faults: Vec<Fault>,
}

/// What is wrong with a file that would be a tool.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) file: PathBuf,
    pub(super) text: String,
}

/// Lists the tools of a directory; `cache` is the file of its catalogue.
pub(super) fn scan(
    directory: &Path,
    whose: FileOwner<'_>,
    cache: Option<&Path>,
    refresh: bool,
) -> Scan {
    let files = match files::list(directory, whose) {
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
    let (kept, written) = cache
        .filter(|_| !refresh)
        .and_then(|cache| Some((read(cache, directory)?, Stamp::of_path(cache)?.modified())))
        .unwrap_or((Vec::new(), SystemTime::UNIX_EPOCH));
    let mut kept = kept.into_iter().peekable();
    let mut entries = Vec::with_capacity(files.len());
    let mut is_stale = false;
    for (name, stamp, is_executable) in files {
        while kept.next_if(|entry| entry.name < name).is_some() {
            is_stale = true;
        }
        let found = kept
            .next_if(|entry| entry.name == name)
            .filter(|entry| entry.stamp == stamp && stamp.time_until_stable(written).is_none());
        entries.push(found.unwrap_or_else(|| {
            is_stale = true;
            let path = directory.join(OsStr::from_bytes(&name));
            Entry {
                state: compile(&path, whose, is_executable),
                name,
                stamp,
            }
        }));
    }
    if (is_stale || kept.next().is_some())
        && let Some(cache) = cache
    {
        atomic_file::write_cache(cache, to_text(directory, &entries).as_bytes());
    }
    collect(directory, entries)
}

/// The tools of the files. Of two files for one name the manifest counts, then the first.
fn collect(directory: &Path, entries: Vec<Entry>) -> Scan {
    let mut scan = Scan::default();
    let is_manifest = |entry: &Entry| entry.name.ends_with(b".toml");
    let (manifests, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_manifest);
    let mut names = std::collections::BTreeSet::new();
    for entry in manifests.into_iter().chain(others) {
        let path = directory.join(OsStr::from_bytes(&entry.name));
        match entry.state {
            State::Other => {}
            State::Pair => scan.pairs.push(path),
            State::Faulty(text) => scan.faults.push(Fault { file: path, text }),
            State::Tool(tool) => {
                if names.insert(tool.name.clone()) {
                    scan.tools.push(tool);
                } else {
                    let text = super::clash(&tool, "another file beside it");
                    scan.faults.push(Fault { file: path, text });
                }
            }
        }
    }
    scan
}

/// What a file of a directory of tools defines, with its findings; `None` where it is none.
pub(super) fn definition(
    path: &Path,
    whose: FileOwner<'_>,
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
    let Some(mut bytes) = files::beginning(path, whose, limit + 1) else {
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
        // A binary, or a script whose text is cut within a character.
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    };
    manifest::read(&name, path, &text, is_executable)
}

fn compile(path: &Path, whose: FileOwner<'_>, is_executable: bool) -> State {
    match definition(path, whose, is_executable) {
        None => State::Other,
        Some(Ok((Definition::Pair(_), _))) => State::Pair,
        Some(Ok((Definition::Tool(tool), _))) => State::Tool(listed(path, &tool)),
        Some(Err(findings)) => {
            let errors = findings.iter().filter(|f| f.severity == Severity::Error);
            let texts: Vec<String> = errors.map(Diagnostic::text).collect();
            State::Faulty(texts.join("\n"))
        }
    }
}

fn listed(path: &Path, tool: &Manifest) -> Listed {
    Listed {
        name: tool.declared.name.clone(),
        original: tool.declared.original.clone(),
        display_name: tool.display_name.clone(),
        kind: tool.kind,
        read_only: tool.read_only,
        streaming: tool.streaming,
        file: path.to_owned(),
        whole: tool.declared.whole.as_ref().map(Value::to_string),
        json: tool.declared.to_json(),
    }
}

impl Listed {
    pub(super) fn to_line(&self) -> String {
        let flag = |is: bool, letter: &'static str| if is { letter } else { "-" };
        format!(
            "{}\t{}\t{}\t{}\t{}{}\t{}\t{}",
            escaped(self.name.as_bytes()),
            escaped(self.original.as_bytes()),
            escaped(self.display_name.as_bytes()),
            Kind::ALL
                .iter()
                .position(|k| *k == self.kind)
                .unwrap_or_default(),
            flag(self.read_only, "r"),
            flag(self.streaming, "s"),
            self.whole.as_deref().unwrap_or_default(),
            self.json,
        )
    }

    pub(super) fn from_line(line: &str, file: PathBuf) -> Option<Self> {
        let mut fields = line.splitn(7, '\t');
        let mut next = || fields.next();
        let (name, original, display) = (next()?, next()?, next()?);
        let kind = Kind::ALL.get(next()?.parse::<usize>().ok()?)?;
        let flags = next()?;
        let (whole, json) = (next()?, next()?);
        Some(Self {
            name: unescaped_text(name)?,
            original: unescaped_text(original)?,
            display_name: unescaped_text(display)?,
            kind: *kind,
            read_only: flags.starts_with('r'),
            streaming: flags.ends_with('s'),
            file,
            whole: (!whole.is_empty()).then(|| whole.to_owned()),
            json: json.starts_with('{').then(|| json.to_owned())?,
        })
    }
}

fn to_text(directory: &Path, entries: &[Entry]) -> String {
    let mut text = format!("{HEAD}\n{}\n", escaped(directory.as_os_str().as_bytes()));
    for entry in entries {
        let state = match &entry.state {
            State::Other => "-".to_owned(),
            State::Pair => "P".to_owned(),
            State::Faulty(fault) => format!("F\t{}", escaped(fault.as_bytes())),
            State::Tool(tool) => format!("T\t{}", tool.to_line()),
        };
        text.push_str(&format!(
            "{}\t{}\t{state}\n",
            escaped(&entry.name),
            entry.stamp.to_text()
        ));
    }
    text.push_str("end\n");
    text
}

fn read(cache: &Path, directory: &Path) -> Option<Vec<Entry>> {
    let text = String::from_utf8(files::beginning(
        cache,
        FileOwner::Users,
        super::MAX_CACHE_BYTES,
    )?)
    .ok()?;
    let mut lines = text.strip_suffix("end\n")?.lines();
    if lines.next()? != HEAD || lines.next()? != escaped(directory.as_os_str().as_bytes()) {
        return None;
    }
    lines
        .map(|line| {
            let mut fields = line.splitn(3, '\t');
            let name = unescaped(fields.next()?)?;
            let stamp = Stamp::from_text(fields.next()?)?;
            let state = fields.next()?;
            let state = match state.split_once('\t') {
                None if state == "-" => State::Other,
                None if state == "P" => State::Pair,
                Some(("F", fault)) => State::Faulty(unescaped_text(fault)?),
                Some(("T", line)) => {
                    let file = directory.join(std::ffi::OsString::from_vec(name.clone()));
                    State::Tool(Listed::from_line(line, file)?)
                }
                _ => return None,
            };
            Some(Entry { name, stamp, state })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{read, scan};
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
        assert_eq!(read(&cache, &tools).expect("written").len(), 3);
        assert_eq!(look().tools, first.tools);
        fs::write(tools.join("b.toml"), MANIFEST).expect("written");
        assert_eq!(names(&look()), ["a", "b"]);
        fs::remove_file(tools.join("a.toml")).expect("removed");
        assert_eq!(names(&look()), ["b"]);
        let whole = fs::read_to_string(&cache).expect("written");
        for broken in ["", "x", &whole[..whole.len() - 9], &whole.replace('T', "Q")] {
            fs::write(&cache, broken).expect("written");
            assert_eq!(names(&look()), ["b"], "{broken:?}");
        }
        assert!(read(&cache, dir.path()).is_none(), "another directory's");
    }
}
