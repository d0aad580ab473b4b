//! The memory: `GEMINI.md` files of the user and of the project, with what they import.
//!
//! The order is from the general to the specific: the user's file first, then those from the
//! project's root down to the current directory. Later text can refine earlier text. The layout is
//! Gemini CLI's. A project's file is read only from within the project, so that a link in it can't
//! make the model read another file; the user's own file may be a link, as such files often are. An
//! import, `@path`, is replaced by that file's text, or by a comment that says why the file can't
//! be read.

use crate::at_paths;
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_workspace::text::detect;
use gemini_tools_workspace::{OpenFile, Workspace, io_error, show_path};
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

const DEFAULT_NAME: &str = "GEMINI.md";

const MAX_FILE_BYTES: usize = 256 * 1024;

const MAX_TOTAL_BYTES: usize = 1024 * 1024;

const MAX_DEPTH: usize = 5;

/// The text of all memory files, for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The text for the system prompt; empty without memory files.
    pub text: String,
    /// Messages for the user about files that were left out. `text` mentions them, too.
    pub problems: Vec<String>,
}

/// Reads the memory files of the user and of the project. `names` are the file names to look for,
/// from the settings.
pub fn memory(workspace: &Workspace, names: &[String]) -> Memory {
    let mut reader = MemoryReader {
        cwd: workspace.root(),
        left_bytes: MAX_TOTAL_BYTES,
        left_out: 0,
        seen: HashSet::new(),
        blocks: Vec::new(),
        problems: Vec::new(),
    };
    let names = reader.valid_names(names);
    reader.add_users(workspace, &names);
    reader.add_projects(workspace, &names);
    reader.finish()
}

/// Device and inode number of a file. Two names of one file, such as a link and its target, share
/// them; by this a file that is reachable by two names is included only once.
type FileId = (i128, i128);

struct MemoryReader<'a> {
    cwd: &'a Path,
    left_bytes: usize,
    left_out: usize,
    seen: HashSet<FileId>,
    blocks: Vec<String>,
    problems: Vec<String>,
}

impl MemoryReader<'_> {
    fn valid_names(&mut self, wanted: &[String]) -> Vec<String> {
        let is_plain = |name: &&String| {
            !name.contains('\0') && Path::new(name).file_name() == Some(OsStr::new(name))
        };
        let (plain, odd): (Vec<_>, Vec<_>) = wanted.iter().partition(is_plain);
        self.problems.extend(odd.iter().map(|name| {
            format!("context.fileName holds {name:?}, which is not a valid file name.")
        }));
        match plain.as_slice() {
            [] => vec![DEFAULT_NAME.to_owned()],
            plain => plain.iter().copied().cloned().collect(),
        }
    }

    fn add_users(&mut self, workspace: &Workspace, names: &[String]) {
        let Some(home) = workspace.home() else {
            return;
        };
        let Ok(global) = Workspace::reading(&home.join(".gemini")) else {
            return;
        };
        for name in names {
            let path = global.root().join(name);
            let open = Workspace::for_user_file(&path)
                .and_then(|(workspace, place)| workspace.open_file(&place));
            self.add(&global, &path, open);
        }
    }

    fn add_projects(&mut self, workspace: &Workspace, names: &[String]) {
        let project = Workspace::reading(workspace.project_root())
            .or_else(|_| Workspace::reading(workspace.root()));
        let project = match project {
            Ok(project) => project,
            Err(e) => {
                let error = io_error(&e, workspace.root());
                return self.problems.push(error.message);
            }
        };
        let above = workspace.root().ancestors();
        let above = above.take_while(|dir| dir.starts_with(project.root()));
        let above: Vec<&Path> = above.collect();
        let paths = above
            .iter()
            .rev()
            .flat_map(|dir| names.iter().map(|name| dir.join(name)));
        for path in paths {
            if let Some(place) = project.place_of(&path)
                && !project.is_gemini_ignored(&place)
            {
                self.add(&project, &path, project.open_file(&place));
            }
        }
    }

    fn add(&mut self, workspace: &Workspace, path: &Path, open: Result<OpenFile, ToolError>) {
        let missing = [ErrorKind::FileNotFound, ErrorKind::PathIsNotADirectory];
        let open = match open {
            Ok(open) => open,
            Err(e) if missing.contains(&e.kind) => return,
            Err(e) => return self.refuse(path, &e.message),
        };
        let id = file_id(&open);
        if !self.seen.insert(id) {
            return;
        }
        if self.left_bytes == 0 {
            self.left_out += 1;
            return;
        }
        match self.read(&open) {
            Ok(text) => {
                let dir = path.parent().unwrap_or(Path::new("/"));
                let text = self.expand(workspace, &text, dir, &mut vec![id]);
                self.add_block(path, text.trim());
            }
            Err(reason) => self.refuse(path, &reason),
        }
    }

    fn refuse(&mut self, path: &Path, reason: &str) {
        self.add_block(path, &format!("<!-- Not read: {reason} -->"));
        let path = visible(&show_path(path)).into_owned();
        self.problems.push(format!("{path} was not read: {reason}"));
    }

    fn add_block(&mut self, path: &Path, text: &str) {
        if text.is_empty() {
            return;
        }
        let path = relative(self.cwd, path);
        let path = show_path(&path);
        let path = visible(&path);
        self.blocks.push(format!(
            "--- Context from: {path} ---\n{text}\n--- End of Context from: {path} ---"
        ));
    }

    /// Reads a file as text. A file over the limit is cut at a line's end and gets a comment that
    /// says so.
    fn read(&mut self, open: &OpenFile) -> Result<String, String> {
        let limit = self.left_bytes.min(MAX_FILE_BYTES);
        let mut bytes = Vec::new();
        (&open.file)
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| format!("it can't be read: {e}."))?;
        let is_whole = bytes.len() <= limit;
        bytes.truncate(limit);
        let Some(encoding) = detect(&bytes, is_whole) else {
            return Err("it is not text.".to_owned());
        };
        let mut text = encoding.decode(&bytes).into_owned();
        if !is_whole {
            // The last line may be cut in the middle of a character.
            let end = match text.rfind('\n') {
                Some(end) => end + 1,
                None => text.trim_end_matches('\u{fffd}').len(),
            };
            text.truncate(end);
            let size = open.size();
            text.push_str(&format!(
                "\n<!-- Cut here: of {size} bytes only the first {limit} were read. -->"
            ));
        }
        self.take(text.len());
        Ok(text)
    }

    fn take(&mut self, bytes: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }

    /// Replaces each import in `text` by the imported text, recursively. Relative paths are
    /// resolved against `dir`, the importing file's directory. `chain` lists the files being
    /// expanded, so that a cycle is detected.
    fn expand(
        &mut self,
        workspace: &Workspace,
        text: &str,
        dir: &Path,
        chain: &mut Vec<FileId>,
    ) -> String {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for at in imports(text) {
            if self.left_bytes == 0 {
                self.left_out += 1;
                continue;
            }
            let path = &text[at.start + 1..at.end];
            let replacement = match self.import(workspace, path, dir, chain) {
                Ok(text) => format!(
                    "<!-- Imported from: {path} -->\n{text}\n<!-- End of import from: {path} -->"
                ),
                // A word after `@` that is not a path, such as a person's name.
                Err(_) if !path.contains(['/', '.']) => continue,
                Err(reason) => format!("<!-- Import failed: {path} - {reason} -->"),
            };
            // The bytes of the imported text were counted when it was read. These are the bytes of
            // the comments around it.
            self.take(2 * path.len() + 60);
            out.push_str(&text[end..at.start]);
            out.push_str(&replacement);
            end = at.end;
        }
        out.push_str(&text[end..]);
        out
    }

    fn import(
        &mut self,
        workspace: &Workspace,
        path: &str,
        dir: &Path,
        chain: &mut Vec<FileId>,
    ) -> Result<String, String> {
        if chain.len() > MAX_DEPTH {
            return Err("imports are nested too deep".to_owned());
        }
        let place = workspace
            .place_of(&dir.join(path))
            .ok_or("it lies outside of the directory that files may come from")?;
        if workspace.is_gemini_ignored(&place) {
            return Err(".geminiignore closes it".to_owned());
        }
        let open = workspace.open_file(&place).map_err(|e| e.message)?;
        let id = file_id(&open);
        if chain.contains(&id) {
            return Err("it would import itself".to_owned());
        }
        let text = self.read(&open)?;
        chain.push(id);
        let dir = place.path().parent().unwrap_or(Path::new("/"));
        let text = self.expand(workspace, &text, dir, chain);
        chain.pop();
        Ok(text)
    }

    fn finish(mut self) -> Memory {
        if self.left_out > 0 {
            let left_out = self.left_out;
            let note = format!("The memory is too long: {left_out} of its files were left out");
            self.blocks.push(format!("<!-- {note} -->"));
            self.problems.push(note + ".");
        }
        Memory {
            text: self.blocks.join("\n\n"),
            problems: self.problems,
        }
    }
}

fn file_id(open: &OpenFile) -> FileId {
    // The types of these fields differ between systems.
    (open.stat.st_dev.into(), open.stat.st_ino.into())
}

/// Finds the imports in a text, as ranges that include the `@`. They are written as in a prompt;
/// those inside code spans and code blocks are not imports.
fn imports(text: &str) -> Vec<Range<usize>> {
    let mut code = code_ranges(text).into_iter().peekable();
    let mut words: Vec<_> = at_paths::find(text)
        .into_iter()
        .map(|at| at.range)
        .collect();
    words.retain(|word| {
        while code.next_if(|region| region.end <= word.start).is_some() {}
        let is_code = code.peek().is_some_and(|region| region.start <= word.start);
        let path = &text[word.start + 1..word.end];
        let begins_as_path = |c: char| c == '.' || c == '/' || c == '_' || c.is_alphanumeric();
        !is_code && path.starts_with(begins_as_path) && !path.contains('\0')
    });
    words
}

fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new(text).into_offset_iter();
    let code = events
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))));
    code.map(|(_, range)| range).collect()
}

fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.ancestors().find(|dir| to.starts_with(dir));
    let shared = shared.unwrap_or(Path::new("/"));
    let up = from.strip_prefix(shared).unwrap_or(from).components();
    let mut path: PathBuf = up.map(|_| "..").collect();
    path.push(to.strip_prefix(shared).unwrap_or(to));
    path
}

#[cfg(test)]
mod tests;
