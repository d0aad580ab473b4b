//! A case as it is written in `tests/conformance/cases`, and the workspace that it asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::marker::PhantomData;
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::tree::{Node, Tree};
use crate::harness::{Workspace, make_fifo, set_age, set_mode, write};

/// Each file of a fixture is this much older than the one before, so that an order by time is never a tie.
const STEP_SECS: u64 = 60;

/// Shorter lines of files outside are too likely to be in an answer for another reason.
const SECRET_CHARS: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Value,
    pub(super) stdin: Option<String>,
    #[serde(default)]
    files: Files,
    #[serde(default)]
    outside: Files,
    #[serde(default)]
    sibling: Files,
    #[serde(default)]
    home: Files,
    git: Option<Value>,
    pub(super) allow: Option<Value>,
    #[serde(rename = "maxSeconds")]
    pub(super) max_seconds: Option<f64>,
    #[serde(default = "yes")]
    pub(super) order: bool,
    /// What the expectation was made from.
    #[serde(rename = "expect")]
    _expect: Option<Value>,
    /// Whether the real tool never answers.
    #[serde(rename = "hangs")]
    _hangs: Option<bool>,
}

fn yes() -> bool {
    true
}

type Files = InOrder<FileSpec>;

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum FileSpec {
    Text(String),
    Made(Box<MadeFile>),
}

/// A file by its parts; which of them are there says what it is.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the form of the imported cases"
)]
struct MadeFile {
    text: String,
    lines: Option<usize>,
    fmt: Option<String>,
    #[serde(rename = "noFinalNewline")]
    no_final_newline: bool,
    repeat: Option<String>,
    times: usize,
    prefix: String,
    suffix: String,
    b64: Option<String>,
    hex: Option<String>,
    eol: Option<String>,
    enc: Option<String>,
    bom: bool,
    size: Option<u64>,
    symlink: Option<String>,
    fifo: bool,
    dir: bool,
    mode: Option<String>,
    age: Option<u64>,
    count: Option<usize>,
    pad: usize,
}

/// A JSON object that keeps the order in which it was written, which decides how old a fixture's files are.
struct InOrder<T>(Vec<(String, T)>);

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Vec<(String, T)>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData)).map(Self)
    }
}

/// Makes the workspace of a case.
pub(super) fn build(case: &Case) -> Workspace {
    let mut workspace = Workspace::new();
    let git = match &case.git {
        None => "init",
        Some(Value::String(kind)) => kind,
        Some(_) => "",
    };
    if !git.is_empty() {
        workspace = workspace.git();
    }
    place("out", &case.outside, &workspace);
    place("ws-sibling", &case.sibling, &workspace);
    place("home", &case.home, &workspace);
    place("ws", &case.files, &workspace);
    if git == "commit" {
        workspace.git_command(&["add", "-A"]);
        workspace.git_command(&["commit", "-q", "-m", "fixture"]);
    }
    workspace
}

fn place(label: &str, files: &Files, workspace: &Workspace) {
    let dir = workspace.root().join(label);
    let mut ages = Vec::new();
    for ((name, spec), nth) in many(files).into_iter().zip(1..) {
        let path = dir.join(&name);
        if name.ends_with('/') || spec.dir {
            fs::create_dir_all(&path).expect("a directory of the fixture");
            continue;
        }
        if let Some(target) = &spec.symlink {
            fs::create_dir_all(path.parent().expect("a parent")).expect("the directories above");
            symlink(expand_text(target, workspace), &path).expect("a link of the fixture");
            continue;
        }
        if spec.fifo {
            make_fifo(&path);
            continue;
        }
        write(&path, &spec.bytes());
        if let Some(size) = spec.size {
            let file = fs::File::options().write(true).open(&path);
            file.and_then(|f| f.set_len(size)).expect("a file's length");
        }
        if let Some(mode) = &spec.mode {
            set_mode(&path, u32::from_str_radix(mode, 8).expect("an octal mode"));
        }
        ages.push((path, spec.age.unwrap_or(nth * STEP_SECS)));
    }
    for (path, age) in ages {
        set_age(&path, age);
    }
}

/// The files one by one: an entry with `count` stands for that many.
fn many(files: &Files) -> Vec<(String, MadeFile)> {
    let mut all = Vec::new();
    for (name, spec) in &files.0 {
        let spec = match spec {
            FileSpec::Text(text) => MadeFile {
                text: text.clone(),
                ..MadeFile::default()
            },
            FileSpec::Made(spec) => (**spec).clone(),
        };
        let Some(count) = spec.count else {
            all.push((name.clone(), spec));
            continue;
        };
        for i in 0..count {
            let number = format!("{i:0width$}", width = spec.pad);
            let made = MadeFile {
                text: spec.text.replace("{i}", &i.to_string()),
                ..MadeFile::default()
            };
            all.push((name.replace("{i}", &number), made));
        }
    }
    all
}

impl MadeFile {
    fn bytes(&self) -> Vec<u8> {
        if let Some(b64) = &self.b64 {
            return STANDARD.decode(b64).expect("base64");
        }
        if let Some(hex) = &self.hex {
            let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
            let byte = |pair: &[char]| {
                u8::from_str_radix(&String::from_iter(pair), 16).expect("hexadecimal")
            };
            return digits.chunks(2).map(byte).collect();
        }
        let mut text = self.text.clone();
        if let Some(lines) = self.lines {
            let fmt = self.fmt.as_deref().unwrap_or("line {n}");
            let line = |n: usize| fmt.replace("{n}", &n.to_string()) + "\n";
            text = (1..=lines).map(line).collect();
            if self.no_final_newline {
                text.pop();
            }
        }
        if let Some(repeat) = &self.repeat {
            text = format!(
                "{}{}{}",
                self.prefix,
                repeat.repeat(self.times),
                self.suffix
            );
        }
        if self.eol.as_deref() == Some("crlf") {
            text = text.replace('\n', "\r\n");
        }
        encode(&text, self.enc.as_deref().unwrap_or("utf8"), self.bom)
    }
}

fn encode(text: &str, encoding: &str, bom: bool) -> Vec<u8> {
    let marked = if bom {
        format!("\u{feff}{text}")
    } else {
        text.to_owned()
    };
    let units = marked.encode_utf16();
    let scalars = marked.chars().map(u32::from);
    match encoding {
        "utf8" => marked.into_bytes(),
        "latin1" => text
            .chars()
            .map(|c| u8::try_from(c).expect("a Latin-1 character"))
            .collect(),
        "utf16le" => units.flat_map(u16::to_le_bytes).collect(),
        "utf16be" => units.flat_map(u16::to_be_bytes).collect(),
        "utf32le" => scalars.flat_map(u32::to_le_bytes).collect(),
        "utf32be" => scalars.flat_map(u32::to_be_bytes).collect(),
        other => panic!("unknown encoding {other}"),
    }
}

/// The directories that placeholders stand for; `$SIB` before `$WS`, whose path is the beginning of the other's.
fn places(workspace: &Workspace) -> [(&'static str, String); 5] {
    let path = |name: &str| {
        let path = workspace.root().join(name);
        path.to_string_lossy().trim_end_matches('/').to_owned()
    };
    [
        ("$SIB", path("ws-sibling")),
        ("$WS", path("ws")),
        ("$OUT", path("out")),
        ("$CASE_HOME", path("home")),
        ("$ROOT", path("")),
    ]
}

/// Placeholders to real paths, in every string of a JSON value.
pub(super) fn expand(value: &Value, workspace: &Workspace) -> Value {
    match value {
        Value::String(text) => expand_text(text, workspace).into(),
        Value::Array(items) => items.iter().map(|v| expand(v, workspace)).collect(),
        Value::Object(object) => match object.get("$repeat").and_then(Value::as_array) {
            Some(repeat) => {
                let text = repeat[0].as_str().expect("a text to repeat");
                let times = repeat[1].as_u64().expect("how often");
                text.repeat(usize::try_from(times).expect("a small number"))
                    .into()
            }
            None => object
                .iter()
                .map(|(k, v)| (k.clone(), expand(v, workspace)))
                .collect(),
        },
        other => other.clone(),
    }
}

fn expand_text(text: &str, workspace: &Workspace) -> String {
    let mut expanded = text.to_owned();
    for (placeholder, path) in &places(workspace)[..3] {
        let mut done = String::new();
        let mut rest = expanded.as_str();
        while let Some((before, after)) = rest.split_once(placeholder) {
            let longer_name = after.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
            done += before;
            done += if longer_name { placeholder } else { path };
            rest = after;
        }
        expanded = done + rest;
    }
    expanded
}

/// Real paths to placeholders, in every string of a JSON value.
pub(super) fn collapse(value: &Value, workspace: &Workspace) -> Value {
    let places = places(workspace);
    let text = |text: &str| {
        let replace =
            |text: String, (placeholder, path): &(&str, String)| text.replace(path, placeholder);
        places.iter().fold(text.to_owned(), replace)
    };
    match value {
        Value::String(s) => text(s).into(),
        Value::Array(items) => items.iter().map(|v| collapse(v, workspace)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(k, v)| (text(k), collapse(v, workspace)))
            .collect(),
        other => other.clone(),
    }
}

/// A file that is not as it was before the call.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) change: Option<String>,
    pub(super) sha256: Option<String>,
    pub(super) target: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) text: Option<String>,
}

/// What changed between two trees, in the terms of the expectations.
pub(super) fn changes(before: &Tree, after: &Tree) -> Vec<FileChange> {
    let is_empty = |path: &str| {
        let below = format!("{path}/");
        !after.nodes.keys().any(|p| p.starts_with(&below))
    };
    let differences = before.changes(after).into_iter();
    differences
        .filter(|c| !c.path.starts_with("ws/.git/"))
        .filter_map(|c| {
            let kind = match (&c.before, &c.after) {
                (Some(Node::Directory { .. }), Some(Node::Directory { .. }) | None) => return None,
                (_, None) => "deleted",
                (None, Some(Node::Directory { .. })) if !is_empty(&c.path) => return None,
                (None, Some(Node::Directory { .. })) if c.path.starts_with("home/.gemini") => {
                    return None;
                }
                (None, Some(_)) => "created",
                (Some(b), Some(a)) if std::mem::discriminant(b) == std::mem::discriminant(a) => {
                    "modified"
                }
                (Some(_), Some(_)) => "replaced",
            };
            Some(describe(&c.path, kind, c.after.as_ref()))
        })
        .collect()
}

fn describe(path: &str, kind: &str, node: Option<&Node>) -> FileChange {
    let (label, rest) = path.split_once('/').unwrap_or((path, ""));
    let placeholder = match label {
        "ws" => "$WS",
        "ws-sibling" => "$SIB",
        "out" => "$OUT",
        "home" => "$CASE_HOME",
        other => other,
    };
    let mut change = FileChange {
        path: format!("{placeholder}/{rest}"),
        change: Some(kind.to_owned()),
        sha256: None,
        target: None,
        mode: None,
        text: None,
    };
    match node {
        Some(Node::Link { target }) => change.target = Some(target.to_string_lossy().into_owned()),
        Some(Node::File { mode, content }) => {
            change.sha256 = Some(sha256(content));
            change.text = Some(String::from_utf8_lossy(content).into_owned());
            change.mode = (kind == "modified").then(|| format!("{:o}", mode & 0o777));
        }
        Some(Node::Directory { .. }) => change.path.push('/'),
        _ => {}
    }
    change
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    let hex = |byte: &u8| format!("{byte:02x}");
    Sha256::digest(bytes).iter().map(hex).collect()
}

/// All names that a result may mention, relative to the workspace, and those of them that are directories.
pub(super) fn universe(workspace: &Workspace) -> (Vec<String>, BTreeSet<String>) {
    let mut kinds = BTreeMap::new();
    names_below(&workspace.dir(), "", &mut kinds);
    let directories = kinds.iter().filter(|(_, is_dir)| **is_dir);
    let directories = directories.map(|(name, _)| name.clone()).collect();
    (kinds.into_keys().collect(), directories)
}

fn names_below(dir: &Path, prefix: &str, kinds: &mut BTreeMap<String, bool>) {
    for entry in fs::read_dir(dir).expect("a directory of the workspace") {
        let entry = entry.expect("its entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_link = entry.file_type().expect("its type").is_symlink();
        let is_dir = entry.path().is_dir();
        if is_dir && !is_link && name != ".git" {
            names_below(&entry.path(), &format!("{name}/"), kinds);
        }
        kinds.insert(name, is_dir);
    }
}

/// Lines of files outside the workspace: none of them may ever show in an answer.
pub(super) fn secrets(case: &Case) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for (_, spec) in many(&case.outside).into_iter().chain(many(&case.sibling)) {
        let text = String::from_utf8_lossy(&spec.bytes()).into_owned();
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|l| l.chars().count() >= SECRET_CHARS);
        secrets.extend(lines.map(str::to_owned));
    }
    secrets
}
