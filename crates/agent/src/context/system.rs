//! The system prompt: ours, or the file that `GEMINI_SYSTEM_MD` names.

use super::{line_of, platform};
use crate::clock;
use gemini_tools_workspace::text::detect;
use gemini_tools_workspace::{OpenFile, Workspace};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Our rules. What changes from run to run is said after them.
const RULES: &str = include_str!("system.md");

/// The file of the project, below the first root.
const PROJECTS: &str = ".gemini/system.md";

/// Maximum size of a system prompt, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the system prompt with the memory at its end.
///
/// `GEMINI_SYSTEM_MD` puts a file in the place of our prompt: `1` or `true`
/// `.gemini/system.md` below the first root, any other value the file of that name; nothing,
/// `0` and `false` leave ours.
///
/// # Errors
///
/// Returns a message if a file that is asked for can't be read.
pub fn system_prompt(workspace: &Workspace, memory: &str) -> Result<String, String> {
    let value = std::env::var_os("GEMINI_SYSTEM_MD").unwrap_or_default();
    build(workspace, &value, memory)
}

fn build(workspace: &Workspace, value: &OsStr, memory: &str) -> Result<String, String> {
    let text = value.to_string_lossy();
    let mut prompt = match text.trim().to_lowercase().as_str() {
        "" | "0" | "false" => {
            let rules = RULES.trim_end();
            format!("{rules}\n\n{}", this_run(workspace))
        }
        "1" | "true" => {
            let place = workspace.root_place().join(Path::new(PROJECTS));
            let open = workspace.open_file(&place).map_err(|e| e.message);
            read(&workspace.root().join(PROJECTS), open)?
        }
        _ => {
            let path = user_path(value, workspace);
            let open = Workspace::for_user_file(&path)
                .and_then(|(user, place)| user.open_file(&place))
                .map_err(|e| e.message);
            read(&path, open)?
        }
    };
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

/// Returns the path that a value names; `~` is the home directory.
fn user_path(value: &OsStr, workspace: &Workspace) -> PathBuf {
    let path = Path::new(value.to_str().map_or(value, |text| OsStr::new(text.trim())));
    match (path.strip_prefix("~"), workspace.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workspace.root().join(path),
    }
}

/// Reads a system prompt.
fn read(path: &Path, open: Result<OpenFile, String>) -> Result<String, String> {
    let unusable = |why: String| {
        let path = path.display();
        format!("GEMINI_SYSTEM_MD asks for the system prompt {path}, which can't be used: {why}")
    };
    let open = open.map_err(unusable)?;
    let mut bytes = Vec::new();
    (&open.file)
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| unusable(format!("{e}.")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unusable(format!("it has more than {MAX_BYTES} bytes.")));
    }
    match detect(&bytes, true) {
        Some(encoding) => Ok(encoding.decode(&bytes).into_owned()),
        None => Err(unusable("it is not text.".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Place;
    use super::{RULES, build};
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;

    fn prompt(place: &Place, value: &str, memory: &str) -> Result<String, String> {
        build(&place.workspace("", &[]), OsStr::new(value), memory)
    }

    #[test]
    fn ours_names_the_root_and_ends_with_the_memory() {
        let place = Place::new();
        for off in ["", "0", " FALSE "] {
            let text = prompt(&place, off, "\n Be brief. \n").expect("ours");
            assert!(text.starts_with(RULES.trim_end()), "{text}");
            let root = format!("root directory: {}\n\n---\n\n", place.root.display());
            assert!(text.ends_with(&(root + "Be brief.")), "{text}");
        }
        let text = prompt(&place, "", " \n").expect("ours");
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
            assert_eq!(prompt(&place, read, "").as_deref(), Ok(expected), "{read}");
        }
        let absolute = place.home.join("own.md");
        let text = prompt(&place, absolute.to_str().expect("text"), "M");
        assert_eq!(text.as_deref(), Ok("Own.\n\n\n---\n\nM"));
    }

    #[test]
    fn a_file_that_is_missing_or_no_prompt_is_an_error() {
        let place = Place::new();
        let error = prompt(&place, "1", "").expect_err("missing");
        assert!(
            error.contains("project/.gemini/system.md, which can't be used"),
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
            ("~/none.md", "none.md"),
            ("~/binary.md", "not text"),
            ("~/large.md", "more than 1048576 bytes"),
            ("~/fifo", "named pipe"),
            ("~/project", "directory"),
            ("1", "leads out of the workspace"),
        ] {
            let error = prompt(&place, read, "").expect_err("no prompt");
            assert!(error.contains(why), "{read}: {error}");
        }
    }
}
