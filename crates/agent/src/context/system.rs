//! The system prompt: ours, or the file that `GEMINI_SYSTEM_MD` names.

use super::{line_of, platform};
use crate::clock;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools_workspace::text::{ContentKind, detect};
use gemini_tools_workspace::{Workspace, WorkspacePath};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Our rules. What changes from run to run is said after them.
const RULES: &str = include_str!("system.md");

/// The file of the project, below the first root.
const PROJECTS: &str = ".gemini/system.md";

/// Maximum size of a system prompt, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The reason why there is no system prompt.
#[derive(Debug, Error)]
pub enum ContextError {
    /// The file does not exist.
    #[error("GEMINI_SYSTEM_MD asks for the system prompt {}, which does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file can't be used.
    #[error("GEMINI_SYSTEM_MD asks for the system prompt {}, which can't be used: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The prompt can't be written out.
    #[error("GEMINI_WRITE_SYSTEM_MD asks to write the system prompt to {}, which failed: {why}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// The system prompt with the memory at its end.
///
/// `GEMINI_SYSTEM_MD` puts a file in the place of our prompt: `1` or `true`
/// `.gemini/system.md` below the first root, any other value the file of that name; nothing,
/// `0` and `false` leave ours. `GEMINI_WRITE_SYSTEM_MD` has the prompt written to such a file,
/// without what holds for this run only.
///
/// # Errors
///
/// Returns an error if a file that is asked for can't be read or written.
pub fn system_prompt(workspace: &Workspace, memory: &str) -> Result<String, ContextError> {
    let value = |name| std::env::var_os(name).unwrap_or_default();
    let (read, write) = (value("GEMINI_SYSTEM_MD"), value("GEMINI_WRITE_SYSTEM_MD"));
    build(workspace, &read, &write, memory)
}

fn build(
    workspace: &Workspace,
    read: &OsStr,
    write: &OsStr,
    memory: &str,
) -> Result<String, ContextError> {
    let choice = Choice::parse(read, workspace);
    let mut prompt = match &choice {
        Choice::Off => RULES.trim_end().to_owned(),
        chosen => chosen.read(workspace)?,
    };
    Choice::parse(write, workspace).write(workspace, &prompt)?;
    if matches!(choice, Choice::Off) {
        prompt.push_str("\n\n");
        prompt.push_str(&this_run(workspace));
    }
    let memory = memory.trim();
    if !memory.is_empty() {
        prompt.push_str("\n\n---\n\n");
        prompt.push_str(memory);
    }
    Ok(prompt)
}

/// Returns the facts of this run.
fn this_run(workspace: &Workspace) -> String {
    format!(
        "# This run\n\n- Date: {}\n- Operating system: {}\n- Project's root directory: {}",
        clock::today(),
        platform(),
        line_of(workspace.root())
    )
}

/// The value of one of the two variables.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Off,
    Project,
    File(PathBuf),
}

impl Choice {
    fn parse(value: &OsStr, workspace: &Workspace) -> Self {
        let text = value.to_string_lossy();
        match text.trim().to_lowercase().as_str() {
            "" | "0" | "false" => return Choice::Off,
            "1" | "true" => return Choice::Project,
            _ => {}
        }
        let path = match value.to_str() {
            Some(text) => OsString::from(text.trim()),
            None => value.to_owned(),
        };
        let path = Path::new(&path);
        match (path.strip_prefix("~"), workspace.home()) {
            (Ok(rest), Some(home)) => Choice::File(home.join(rest)),
            _ => Choice::File(workspace.root().join(path)),
        }
    }

    /// Does something with the file: the project's beneath its root, the user's wherever it
    /// lies.
    fn open<T>(
        &self,
        workspace: &Workspace,
        act: impl FnOnce(&Workspace, &WorkspacePath) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        match self {
            Choice::File(path) => {
                let (user, place) = Workspace::for_user_file(path)?;
                act(&user, &place)
            }
            _ => act(workspace, &workspace.root_place().join(Path::new(PROJECTS))),
        }
    }

    fn path(&self, workspace: &Workspace) -> PathBuf {
        match self {
            Choice::File(path) => path.clone(),
            _ => workspace.root().join(PROJECTS),
        }
    }

    fn read(&self, workspace: &Workspace) -> Result<String, ContextError> {
        let path = self.path(workspace);
        let unusable = |why: String| ContextError::Unusable {
            path: path.clone(),
            why,
        };
        let open = self.open(workspace, Workspace::open_file);
        let open = open.map_err(|e| match e.kind {
            ErrorKind::FileNotFound => ContextError::Missing { path: path.clone() },
            _ => unusable(e.message),
        })?;
        let mut bytes = Vec::new();
        (&open.file)
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| unusable(e.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(unusable(format!("it has more than {MAX_BYTES} bytes")));
        }
        match detect(&bytes, true) {
            ContentKind::Text(encoding) => Ok(encoding.decode(&bytes).into_owned()),
            ContentKind::Binary => Err(unusable("it is not text".to_owned())),
        }
    }

    fn write(&self, workspace: &Workspace, prompt: &str) -> Result<(), ContextError> {
        if *self == Choice::Off {
            return Ok(());
        }
        let written = self.open(workspace, |opened, place| {
            let target = opened.target(place, &Cancellation::default())?;
            target.commit(place, |file| file.write_all(prompt.as_bytes()))
        });
        written.map(drop).map_err(|e| ContextError::NotWritten {
            path: self.path(workspace),
            why: e.message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Place;
    use super::{ContextError, RULES, build};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn prompt(place: &Place, read: &str, write: &str, memory: &str) -> Result<String, String> {
        let workspace = place.workspace("", &[]);
        let (read, write) = (OsStr::new(read), OsStr::new(write));
        build(&workspace, read, write, memory).map_err(|e| e.to_string())
    }

    #[test]
    fn ours_names_the_root_and_ends_with_the_memory() {
        let place = Place::new();
        for off in ["", "0", " FALSE "] {
            let text = prompt(&place, off, off, "\n Be brief. \n").expect("ours");
            assert!(text.starts_with(RULES.trim_end()), "{text}");
            let root = format!("root directory: {}\n\n---\n\n", place.root.display());
            assert!(text.ends_with(&(root + "Be brief.")), "{text}");
        }
        let text = prompt(&place, "", "", " \n").expect("ours");
        assert!(!text.contains("---"), "{text}");
        assert!(!place.root.join(".gemini").exists());
    }

    #[test]
    fn a_file_takes_the_place_of_ours() {
        let place = Place::new();
        place.write("project/.gemini/system.md", "Project's.\n");
        place.write("own.md", "Own.\n");
        for (read, expected) in [
            ("1", "Project's.\n"),
            ("True", "Project's.\n"),
            (" ~/own.md ", "Own.\n"),
            ("../own.md", "Own.\n"),
        ] {
            assert_eq!(
                prompt(&place, read, "", "").as_deref(),
                Ok(expected),
                "{read}"
            );
        }
        let absolute = place.home.join("own.md");
        let text = prompt(&place, absolute.to_str().expect("text"), "", "M");
        assert_eq!(text.as_deref(), Ok("Own.\n\n\n---\n\nM"));
    }

    #[test]
    fn a_file_that_is_missing_or_no_prompt_is_an_error() {
        let place = Place::new();
        let error = prompt(&place, "1", "", "").expect_err("missing");
        assert!(
            error.contains("project/.gemini/system.md, which does not exist"),
            "{error}"
        );
        place.write("binary.md", b"\0\x01\0");
        place.write("large.md", "x".repeat(1024 * 1024 + 1));
        place.write("outside.md", "x");
        let gemini = place.root.join(".gemini");
        std::fs::create_dir(&gemini).expect("made");
        symlink("../../outside.md", gemini.join("system.md")).expect("made");
        let made = std::process::Command::new("mkfifo")
            .arg(place.home.join("fifo"))
            .status();
        assert!(made.expect("mkfifo").success());
        for (read, why) in [
            ("~/none.md", "does not exist"),
            ("~/binary.md", "not text"),
            ("~/large.md", "more than 1048576 bytes"),
            ("~/fifo", "named pipe"),
            ("~/project", "directory"),
            ("1", "leads out of the workspace"),
        ] {
            let error = prompt(&place, read, "", "").expect_err("no prompt");
            assert!(error.contains(why), "{read}: {error}");
        }
    }

    #[test]
    fn the_prompt_is_written_out_and_can_be_used_from_there() {
        let place = Place::new();
        let ours = prompt(&place, "", "1", "M").expect("written");
        let written = std::fs::read_to_string(place.root.join(".gemini/system.md"));
        let written = written.expect("there");
        assert!(ours.starts_with(&written) && !ours.ends_with(&written));
        assert_eq!(prompt(&place, "1", "", ""), Ok(written.clone()));
        prompt(&place, "", "~/new/dir/s.md", "M").expect("written");
        let copy = std::fs::read_to_string(place.home.join("new/dir/s.md"));
        assert_eq!(copy.expect("there"), written);
    }

    #[test]
    fn a_prompt_that_can_not_be_written_is_an_error() {
        let place = Place::new();
        symlink("..", place.root.join(".gemini")).expect("made");
        let error = prompt(&place, "", "1", "").expect_err("leads out");
        assert!(error.starts_with("GEMINI_WRITE_SYSTEM_MD asks"), "{error}");
        assert!(!place.home.join("system.md").exists());
        let odd = OsStr::from_bytes(b"no/such\xff/\0");
        let workspace = place.workspace("", &[]);
        let error = build(&workspace, OsStr::new(""), odd, "").expect_err("a NUL");
        assert!(matches!(error, ContextError::NotWritten { .. }));
    }
}
