//! The user's editor, on a file of its own in a private directory, which is gone afterwards.

use super::tty::Tty;
use gemini_tools_process::log::new_file;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Maximum characters of a name, whose end is kept; no file system's limit is reached.
const MAX_NAME_CHARS: usize = 60;

/// The editor where nothing names another.
pub(super) const USUAL: &str = "vi";

/// Returns the editor that the environment names.
pub(super) fn from_environment() -> OsString {
    ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|words| !words.is_empty())
        .unwrap_or_else(|| USUAL.into())
}

/// A text while it is edited.
#[derive(Debug)]
pub(super) struct Draft {
    directory: PathBuf,
    file: PathBuf,
}

impl Draft {
    /// Writes a text to a new file, whose name ends as `name` does.
    pub(super) fn new(name: &str, text: &str) -> io::Result<Self> {
        let directory = private_directory()?;
        let name: String = name
            .chars()
            .skip(name.chars().count().saturating_sub(MAX_NAME_CHARS))
            .map(|c| if c == '/' || c.is_control() { '_' } else { c })
            .collect();
        // A name of its own, too: some editors obey files such as .dir-locals.el.
        let file = directory.join(format!("proposed-{name}"));
        let draft = Self { directory, file };
        new_file(&draft.file)?.write_all(text.as_bytes())?;
        Ok(draft)
    }

    /// Starts the editor and waits for its end.
    pub(super) fn edit(&self, editor: &OsStr, tty: &Tty) -> io::Result<ExitStatus> {
        // An editor that dies leaves the terminal as it was using it.
        let _kept = tty.keep()?;
        let [input, output, errors] = tty.streams()?;
        gemini_tools_process::program::editor(editor, &self.file)
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .status()
    }

    /// Returns the text as it is now.
    pub(super) fn text(&self) -> io::Result<String> {
        std::fs::read_to_string(&self.file)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // With what the editor has left beside it. It can be left behind only where another
        // process takes away the right to remove it.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Makes a directory that only the user can look into.
fn private_directory() -> io::Result<PathBuf> {
    // Each state of the standard library's hash is random.
    let random = RandomState::new().build_hasher().finish();
    let path = std::env::temp_dir().join(format!("gemini-tools-{random:016x}"));
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}
