//! What the files of a directory of tools are, kept between calls.
//!
//! A file in the user's cache directory holds for each tool's file what `stat` said of it and
//! its declaration, so that files that have not changed are not read again. As in git's index,
//! only what was at rest when it was read is kept: a file that changed in the same instant could
//! change once more without a trace. What the catalogue says is only ever printed; what is run
//! is read from the tool's own file.

use super::{declaration_of, load, tool_name};
use crate::tool::Kind;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What another version has written is read anew.
const VERSION: &str = concat!("2 ", env!("CARGO_PKG_VERSION"));

/// More files of a directory are not looked at.
const MAX_FILES: usize = 5000;

/// A larger catalogue is taken for broken, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A file is at rest when it has been unchanged for so long. The kernel's clock for files goes
/// in ticks of up to 10 ms; some file systems keep whole seconds or two.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_millis(2100);

/// A file in a directory of tools.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Without directories.
    pub(super) file: PathBuf,
    /// The tool's.
    pub(super) name: String,
    pub(super) is_manifest: bool,
    pub(super) state: State,
}

/// What a file is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum State {
    Tool {
        kind: Kind,
        /// As it is printed: nothing in it has to be understood.
        declaration: Box<RawValue>,
    },
    Faulty(Vec<String>),
    /// No tool.
    Other,
}

impl Entry {
    fn new(file: PathBuf, state: State) -> Self {
        let (name, is_manifest) = tool_name(&file).unwrap_or_default();
        Self {
            file,
            name,
            is_manifest,
            state,
        }
    }
}

/// Size, mode, time of modification, time of change, inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp(i64, u32, i64, u64, i64, u64, u64);

impl Stamp {
    #[expect(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the types differ between systems"
    )]
    fn of(stat: &Stat) -> Self {
        Self(
            stat.st_size as i64,
            u32::from(stat.st_mode),
            stat.st_mtime as i64,
            stat.st_mtime_nsec as u64,
            stat.st_ctime as i64,
            stat.st_ctime_nsec as u64,
            u64::from(stat.st_ino),
        )
    }

    /// Whether the file had been unchanged for long enough at that time.
    fn is_at_rest(&self, now: SystemTime) -> bool {
        let secs = u64::try_from(self.4).unwrap_or_default();
        let changed = UNIX_EPOCH + Duration::new(secs, self.5 as u32);
        let tick = if self.5 == 0 { COARSE_TICK } else { TICK };
        now.duration_since(changed).is_ok_and(|age| age >= tick)
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    /// The directory, as bytes: another with the same hash is none of ours.
    directory: Vec<u8>,
    files: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    file: String,
    stamp: Stamp,
    state: State,
}

/// The files of a directory in the order of their names; none where there is no directory.
pub(super) fn entries(dir: &Path, home: Option<&Path>) -> io::Result<Vec<Entry>> {
    let catalogue = place(dir, home);
    let mut kept = catalogue
        .as_deref()
        .and_then(|path| read(path, dir))
        .unwrap_or_default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(dir, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(Vec::new()),
        fd => fd?,
    };
    let mut names: Vec<OsString> = Vec::new();
    for entry in rustix::fs::Dir::read_from(&fd)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if tool_name(Path::new(&name)).is_some() && names.len() < MAX_FILES {
            names.push(name);
        }
    }
    names.sort();
    let mut is_changed = false;
    let mut rows = Vec::with_capacity(names.len());
    let mut list = Vec::with_capacity(names.len());
    for name in names {
        let Ok(stat) = rustix::fs::statat(&fd, &name, AtFlags::empty()) else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            continue;
        }
        let stamp = Stamp::of(&stat);
        let file = PathBuf::from(&name);
        let row = name
            .to_str()
            .and_then(|name| {
                kept.binary_search_by(|row| row.file.as_str().cmp(name))
                    .ok()
            })
            .filter(|at| kept[*at].stamp == stamp);
        let state = if let Some(at) = row {
            std::mem::replace(&mut kept[at].state, State::Other)
        } else {
            let now = SystemTime::now();
            let state = look(&dir.join(&file));
            is_changed |= stamp.is_at_rest(now) && name.to_str().is_some();
            if !stamp.is_at_rest(now) {
                list.push(Entry::new(file, state));
                continue;
            }
            state
        };
        if let Ok(name) = name.into_string() {
            rows.push(Row {
                file: name,
                stamp,
                state: state.clone(),
            });
        }
        list.push(Entry::new(file, state));
    }
    is_changed |= rows.len() != kept.len();
    if let Some(path) = catalogue.filter(|_| is_changed) {
        // Where it can't be kept, the files are read again the next time.
        let _ = write(&path, dir, rows);
    }
    Ok(list)
}

fn look(path: &Path) -> State {
    match load(path) {
        Ok(None) => State::Other,
        Err(faults) => State::Faulty(faults),
        Ok(Some(manifest)) => {
            let name = tool_name(path).map_or_else(String::new, |(name, _)| name);
            match RawValue::from_string(declaration_of(&name, &manifest)) {
                Ok(declaration) => State::Tool {
                    kind: manifest.kind,
                    declaration,
                },
                Err(e) => State::Faulty(vec![format!("it can't be declared: {e}.")]),
            }
        }
    }
}

/// Where the catalogue of a directory is.
fn place(dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let own = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    let base = own.or_else(|| Some(home?.join(".cache")))?;
    let dir = std::path::absolute(dir).ok()?;
    let hash = Sha256::digest(dir.as_os_str().as_bytes());
    let name = hash
        .iter()
        .take(16)
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    Some(base.join("gemini-tools/tools").join(name))
}

/// What was kept of a directory; `None` where there is nothing that can be used.
fn read(path: &Path, dir: &Path) -> Option<Vec<Row>> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    let kept: Kept = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let dir = std::path::absolute(dir).ok()?;
    let is_ours = kept.version == VERSION
        && kept.directory == dir.as_os_str().as_bytes()
        && kept.files.is_sorted_by(|a, b| a.file < b.file);
    is_ours.then_some(kept.files)
}

fn write(path: &Path, dir: &Path, files: Vec<Row>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let kept = Kept {
        version: VERSION.to_owned(),
        directory: std::path::absolute(dir)?.into_os_string().into_vec(),
        files,
    };
    let own = folder.join(format!(
        ".{}.{}",
        std::process::id(),
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos())
    ));
    let text = serde_json::to_vec(&kept)?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&own)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| std::fs::rename(&own, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&own);
    }
    written
}
