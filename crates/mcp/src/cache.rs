//! Caches what each server declares, so that a discovery need not start it: one JSON file per
//! server and its settings, in the user's cache directory.

use super::declare::DeclaredTool;
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::hex;
use gemini_tools_process::network::wire::Connect;
use gemini_tools_process::piped::Program;
use gemini_tools_workspace::atomic_file::write_cache;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::stamp::Stamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FORM: u32 = 5;

const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The age from which on a file is removed if the directory of its server is gone. The others stay:
/// changes of pinned tools are found by them.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Declarations {
    form: u32,
    pub(super) tools: Vec<DeclaredTool>,
    pub(super) has_resources: bool,
    pub(super) findings: Vec<Diagnostic>,
    files: String,
    cwd: PathBuf,
}

impl Declarations {
    pub(super) fn new(
        connect: &Connect,
        tools: Vec<DeclaredTool>,
        has_resources: bool,
        findings: Vec<Diagnostic>,
    ) -> Self {
        Self {
            form: FORM,
            tools,
            has_resources,
            findings,
            files: files(connect),
            cwd: connect.cwd.clone(),
        }
    }

    pub(super) fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Error)
    }

    pub(super) fn is_current(&self, connect: &Connect) -> bool {
        self.files == files(connect)
    }
}

/// Returns, as text, the time stamps of the server's program and of the scripts among its
/// arguments. If they differ from those in the cache, the server may have been updated and may
/// declare other tools, so the cache does not count.
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
        .map(|path| {
            let stamp = Stamp::from_path(&path).filter(|_| path.is_file());
            stamp.map_or_else(|| "-".to_owned(), Stamp::to_text)
        });
    looks.collect::<Vec<_>>().join(" ")
}

/// Returns true if an argument is a script for an interpreter. Other files are not stamped: they
/// may be data, such as a database, which changes with every call.
fn is_script(argument: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        "cjs", "jar", "js", "lua", "mjs", "php", "pl", "py", "rb", "sh", "ts",
    ];
    let ending = Path::new(argument).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

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

pub(super) fn read(path: &Path) -> Option<Declarations> {
    let text = FileOwner::Users.beginning(path, MAX_BYTES).ok()??;
    let declarations = serde_json::from_slice::<Declarations>(&text).ok()?;
    (declarations.form == FORM).then_some(declarations)
}

pub(super) fn write(path: &Path, declarations: &Declarations) {
    if let Ok(text) = serde_json::to_vec(declarations) {
        write_cache(path, &text);
    }
    let all = path.parent().and_then(|all| std::fs::read_dir(all).ok());
    for entry in all.into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|stat| stat.modified());
        let is_old = changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MAX_AGE));
        let is_gone = |known: Declarations| known.cwd.try_exists().is_ok_and(|there| !there);
        if is_old && read(&entry.path()).is_none_or(is_gone) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Declarations, read, write};
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
        let known = Declarations::new(&connect, tools, true, findings);
        let path = dir.path().join("below/it");
        write(&path, &known);
        assert_eq!(read(&path).as_ref(), Some(&known));
        assert!(known.is_current(&connect));
        assert!(
            known
                .errors()
                .all(|e| e.severity == Severity::Error && ["c", "d"].contains(&&*e.place.tool))
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
