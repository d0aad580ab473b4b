//! The declarations of a server, kept so that the next discovery starts nothing.
//!
//! One file a server and configuration, in the user's cache directory. It holds the
//! declarations as they are printed; reading it needs no JSON. Lines of fields with tabs between
//! them: first how the files of the command looked, then a line or two a tool, then what was found
//! wrong or put right.

use super::declare::Declared;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::hex;
use gemini_tools_process::network::wire::Connect;
use gemini_tools_process::piped::Program;
use gemini_tools_workspace::atomic_file::write_cache;
use gemini_tools_workspace::files::version;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The first words of a file; other forms than this and the one before are not read.
const FORM: &str = "gemini-tools-mcp 3";

/// The form before, without annotations and whole schemas. It only tells what was accepted: its hashes cover the
/// annotations too.
const OLD_FORM: &str = "gemini-tools-mcp 2";

/// Maximum size of a cache, in bytes: a larger file is not one of ours.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A server's declarations and resources, known without asking it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Known {
    /// The server's tools, sorted by name.
    pub(super) tools: Vec<Declared>,
    /// True if the server has resources.
    pub(super) has_resources: bool,
    /// Findings about the declarations.
    findings: Vec<CachedFinding>,
    /// State of the files that the command names; `None` if the file has the older form.
    files: Option<String>,
}

/// A finding as it is kept. It is only taken apart when it is asked for.
#[derive(Debug, Clone, PartialEq)]
struct CachedFinding {
    is_error: bool,
    json: String,
}

impl Known {
    /// Makes an entry of an answer that has just come.
    pub(super) fn new(
        connect: &Connect,
        tools: Vec<Declared>,
        has_resources: bool,
        findings: &[Diagnostic],
    ) -> Self {
        let kept = |finding: &Diagnostic| CachedFinding {
            is_error: finding.severity == Severity::Error,
            json: json!(finding).to_string(),
        };
        Self {
            tools,
            has_resources,
            findings: findings.iter().map(kept).collect(),
            files: Some(files(connect)),
        }
    }

    /// Returns the findings about the declarations.
    pub(super) fn findings(&self) -> impl Iterator<Item = Diagnostic> {
        Self::taken_apart(self.findings.iter())
    }

    /// Returns the reasons why tools are left out.
    pub(super) fn errors(&self) -> impl Iterator<Item = Diagnostic> {
        Self::taken_apart(self.findings.iter().filter(|kept| kept.is_error))
    }

    fn taken_apart<'a>(
        kept: impl Iterator<Item = &'a CachedFinding>,
    ) -> impl Iterator<Item = Diagnostic> {
        kept.filter_map(|kept| serde_json::from_str(&kept.json).ok())
    }

    /// Returns true if everything is known, and the files of the command are as they were.
    pub(super) fn is_current(&self, connect: &Connect) -> bool {
        self.files.as_deref() == Some(&files(connect))
    }

    fn to_text(&self) -> String {
        let mut text = format!(
            "{FORM}\t{}\t{}\n",
            u8::from(self.has_resources),
            self.files.as_deref().unwrap_or_default()
        );
        for tool in &self.tools {
            text.push_str(&format!(
                "t\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n{}\n",
                if tool.as_task { "t" } else { "-" },
                tool.hash,
                tool.name,
                json!(tool.original),
                json!(tool.held),
                json!(tool.annotations),
                tool.whole,
                tool.text
            ));
        }
        for CachedFinding { is_error, json } in &self.findings {
            let kind = if *is_error { "e" } else { "f" };
            text.push_str(&format!("{kind}\t{json}\n"));
        }
        text
    }

    fn from_text(text: &str) -> Option<Self> {
        // A file that was cut has no last line.
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let (form, head) = lines.next()?.split_once('\t')?;
        let (resources, files) = head.split_once('\t')?;
        let mut known = Self {
            has_resources: resources == "1",
            files: match form {
                FORM => Some(files.to_owned()),
                OLD_FORM => None,
                _ => return None,
            },
            ..Self::default()
        };
        while let Some(line) = lines.next() {
            let (kind, rest) = line.split_once('\t')?;
            if kind != "t" {
                known.findings.push(CachedFinding {
                    is_error: kind == "e",
                    json: rest.to_owned(),
                });
                continue;
            }
            let mut fields = rest.splitn(7, '\t');
            let mut next = || fields.next();
            known.tools.push(Declared {
                as_task: next()?.contains('t'),
                hash: next()?.to_owned(),
                name: next()?.to_owned(),
                original: serde_json::from_str(next()?).ok()?,
                held: match next()? {
                    "null" => None,
                    reason => serde_json::from_str(reason).ok()?,
                },
                annotations: match next() {
                    None | Some("null") => None,
                    Some(annotations) => serde_json::from_str(annotations).ok()?,
                },
                whole: next().unwrap_or_default().to_owned(),
                text: lines.next()?.to_owned(),
            });
        }
        Some(known)
    }
}

/// Returns the state of the files that a command names: its program, and the script that this runs.
/// A new version of a server declares other tools.
fn files(connect: &Connect) -> String {
    let Some(command) = &connect.command else {
        return String::new();
    };
    let mut environment = BTreeMap::<OsString, OsString>::new();
    let own = connect.env.get("PATH").map(OsString::from);
    if let Some(path) = own.or_else(|| std::env::var_os("PATH")) {
        environment.insert("PATH".into(), path);
    }
    let program = Program {
        name: OsStr::new(command),
        arguments: &connect.args,
        environment: &environment,
        directory: &connect.cwd,
    };
    let scripts = connect.args.iter().filter(|arg| is_script(arg));
    let looks = program
        .find()
        .into_iter()
        .chain(scripts.map(|arg| connect.cwd.join(arg)))
        .map(|path| match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => version(&meta),
            _ => "-".to_owned(),
        });
    looks.collect::<Vec<_>>().join(" ")
}

/// Returns true if an argument is the program of an interpreter. Other files may be what a server
/// works on: a database changes with every call.
fn is_script(argument: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        "cjs", "jar", "js", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts",
    ];
    let ending = Path::new(argument).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Returns the path of a server's file.
pub(super) fn path(home: Option<&Path>, server: &str, connect: &Connect) -> Option<PathBuf> {
    let own = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    let base = own.or_else(|| Some(home?.join(".cache")))?;
    let connect = Connect {
        roots: Vec::new(),
        ..connect.clone()
    };
    let config = serde_json::to_string(&(server, &connect)).ok()?;
    let name = hex(&Sha256::digest(config)[..16]);
    Some(base.join("gemini-tools/mcp").join(name))
}

/// Reads a file; returns `None` if it is missing or can't be used.
pub(super) fn read(path: &Path) -> Option<Known> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    Known::from_text(&std::fs::read_to_string(path).ok()?)
}

/// Writes a file. Where it can't be, the next discovery asks again.
pub(super) fn write(path: &Path, known: &Known) {
    write_cache(path, known.to_text().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{Known, read, write};
    use crate::declare::declare;
    use gemini_tools_core::diagnostic::Severity;
    use gemini_tools_process::network::wire::Connect;
    use serde_json::json;

    #[test]
    fn a_file_gives_back_what_was_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("server.py");
        std::fs::write(&program, "x").expect("written");
        let connect = Connect {
            command: Some("sh".to_owned()),
            args: vec![program.display().to_string()],
            ..Connect::default()
        };
        let tools = [
            json!({"name": "a\tb", "description": "one\ntwo", "annotations": {"readOnlyHint": true}}),
            json!({"name": "b", "inputSchema": {"type": "object", "not": {"required": ["\t"]}}}),
            json!({"name": "c", "description": "\u{200b}"}),
            json!({"name": "d", "inputSchema": 1}),
        ];
        let (tools, findings) = declare("s", &tools);
        let known = Known::new(&connect, tools, true, &findings);
        let path = dir.path().join("below/it");
        write(&path, &known);
        assert_eq!(read(&path).as_ref(), Some(&known));
        assert!(known.is_current(&connect));
        assert!(known.findings().eq(findings));
        assert!(
            known
                .errors()
                .all(|e| e.severity == Severity::Error && e.place.tool == "d")
        );
        std::fs::write(&program, "xy").expect("written");
        assert!(!known.is_current(&connect));
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, &text[..text.len() - 1]).expect("written");
        assert_eq!(read(&path), None, "cut short");
        assert_eq!(
            std::fs::read_dir(dir.path().join("below"))
                .expect("it")
                .count(),
            1
        );
    }
}
