//! Runs the user's editor on a file in a private directory that is removed afterwards.

use gemini_tools_process::log::new_file;
use gemini_tools_process::tty::Tty;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use tempfile::TempDir;

const MAX_NAME_CHARS: usize = 60;

pub(super) const USUAL: &str = "vi";

pub(super) fn from_environment() -> OsString {
    ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|words| !words.is_empty())
        .unwrap_or_else(|| USUAL.into())
}

#[derive(Debug)]
pub(super) struct Draft {
    file: PathBuf,
    // When this is dropped, the directory is removed with all that the editor has left there.
    _directory: TempDir,
}

impl Draft {
    pub(super) fn new(name: &str, text: &str) -> io::Result<Self> {
        // No other user can read the file or put one into the directory.
        let directory = tempfile::Builder::new()
            .prefix("gemini-tools-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let name: String = name
            .chars()
            .skip(name.chars().count().saturating_sub(MAX_NAME_CHARS))
            .map(|c| if c == '/' || c.is_control() { '_' } else { c })
            .collect();
        // The prefix keeps editors from obeying the file as a configuration, such as
        // `.dir-locals.el`.
        let file = directory.path().join(format!("proposed-{name}"));
        new_file(&file)?.write_all(text.as_bytes())?;
        Ok(Self {
            file,
            _directory: directory,
        })
    }

    pub(super) fn edit(&self, editor: &OsStr, tty: &Tty) -> io::Result<ExitStatus> {
        // Dropping this restores the terminal's modes. An editor that is killed would leave them
        // changed.
        let _kept = tty.keep()?;
        let [input, output, errors] = tty.streams()?;
        gemini_tools_process::program::editor(editor, &self.file)
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .status()
    }

    pub(super) fn text(&self) -> io::Result<String> {
        std::fs::read_to_string(&self.file)
    }
}
