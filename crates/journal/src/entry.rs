//! One change, as the journal writes it down.

use gemini_tools_platform::ffi::{OsStrExt, OsStringExt};
use gemini_tools_platform::fs::Stat;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Which file held a content, and since when: the same again only for the same content, but for a
/// file that is written twice within one tick of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Numbers", into = "Numbers")]
pub struct Stamp {
    dev: u64,
    ino: u64,
    /// In bytes.
    pub size: u64,
    secs: i64,
    nanos: i64,
}

/// A stamp as it is written: a short list.
type Numbers = (u64, u64, u64, i64, i64);

impl From<Numbers> for Stamp {
    fn from((dev, ino, size, secs, nanos): Numbers) -> Self {
        Self {
            dev,
            ino,
            size,
            secs,
            nanos,
        }
    }
}

impl From<Stamp> for Numbers {
    fn from(stamp: Stamp) -> Self {
        (stamp.dev, stamp.ino, stamp.size, stamp.secs, stamp.nanos)
    }
}

impl Stamp {
    /// The stamp of what the system says of a file.
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            secs: stat.st_mtime as i64,
            nanos: stat.st_mtime_nsec as i64,
        }
    }
}

/// A file before or after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState<'a> {
    /// Which file held it.
    pub stamp: Stamp,
    /// Twelve bits of its mode; zero where the system has none.
    pub mode: u32,
    /// The SHA-256 of the content in hexadecimal digits, where it is not known by a patch.
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "borrowed"
    )]
    pub sha256: Option<Cow<'a, str>>,
}

/// The new content, seen from the old: its beginning, other bytes, its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch<'a> {
    /// Bytes of the beginning.
    pub head: usize,
    /// Bytes of the end.
    pub tail: usize,
    /// What is between them; `None` where it is in a file of its own.
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "borrowed"
    )]
    pub text: Option<Cow<'a, str>>,
}

/// What became of the old content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept<'a> {
    /// The file itself was moved into the journal.
    Moved,
    /// The file itself was moved into this directory, of its own file system.
    #[serde(borrow)]
    Beside(Cow<'a, str>),
    /// There is a copy in the journal.
    Copied,
    /// The content is lost, for this reason, or there was no file, with an empty one.
    Lost(Cow<'a, str>),
}

/// One change of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry<'a> {
    /// The entry's id, unique in the journal.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The program that had the change made.
    #[serde(borrow)]
    pub by: Cow<'a, str>,
    /// The session that the call belongs to.
    #[serde(borrow)]
    pub session: Cow<'a, str>,
    /// The tool, or `undo`.
    #[serde(borrow)]
    pub tool: Cow<'a, str>,
    /// The call's id; of an undo that of its first change.
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "borrowed"
    )]
    pub call: Option<Cow<'a, str>>,
    /// The absolute path, without links; lossy where `raw` has it.
    #[serde(borrow)]
    pub(crate) path: Cow<'a, str>,
    /// The bytes of a path that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) raw: Option<Vec<u8>>,
    /// True for a memory file of the user, outside of the project.
    #[serde(default, skip_serializing_if = "is_false")]
    pub memory: bool,
    /// What was there; `None` where there was no file.
    #[serde(borrow)]
    pub before: Option<FileState<'a>>,
    /// What is there since; `None` where the file was removed.
    #[serde(borrow)]
    pub after: Option<FileState<'a>>,
    /// What became of the old content.
    #[serde(borrow)]
    pub kept: Kept<'a>,
    /// How the new content comes from the old, where both are small.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patch<'a>>,
    /// How many directories above the file the change has made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub made: usize,
    /// The changes that this one has taken back.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<Cow<'a, str>>,
    /// The earlier file that the new content is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<Stamp>,
    /// The part of the journal that the entry is in; set by who reads it.
    #[serde(skip)]
    pub hour: u64,
}

/// Reads a text that may be missing. Serde copies such a text, although it borrows one that must be
/// there.
fn borrowed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    Ok(Option::<Text<'de>>::deserialize(from)?.map(|text| text.0))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// A path for an entry.
pub(crate) struct WrittenPath<'a> {
    path: Cow<'a, str>,
    raw: Option<Vec<u8>>,
}

impl<'a> WrittenPath<'a> {
    pub(crate) fn of(path: &'a Path) -> Self {
        let text = path.to_string_lossy();
        let raw = path.to_str().is_none();
        let raw = raw.then(|| path.as_os_str().as_bytes().to_vec());
        Self { path: text, raw }
    }
}

impl<'a> Entry<'a> {
    /// Begins an entry, with nothing said of what was there and what is there.
    pub(crate) fn new(id: &'a str, at: u64, path: WrittenPath<'a>) -> Self {
        Self {
            id: id.into(),
            at,
            by: "".into(),
            session: "".into(),
            tool: "".into(),
            call: None,
            path: path.path,
            raw: path.raw,
            memory: false,
            before: None,
            after: None,
            kept: Kept::Lost("".into()),
            patch: None,
            made: 0,
            undoes: Vec::new(),
            same_as: None,
            hour: 0,
        }
    }

    /// The file's path.
    pub fn path(&self) -> Cow<'_, Path> {
        match &self.raw {
            Some(raw) => Cow::Owned(PathBuf::from(OsString::from_vec(raw.clone()))),
            None => Cow::Borrowed(Path::new(&*self.path)),
        }
    }

    /// The file's path as text, lossy where it is not UTF-8.
    pub fn shown_path(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.path)
    }

    /// What was done to the file, as a past participle.
    pub fn change(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}
