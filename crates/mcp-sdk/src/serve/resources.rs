//! Files of the workspace as the protocol's resources: `file:` addresses beneath the roots.

use super::roots::path_of;
use super::server::Project;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::{Context, ErrorKind, ToolError};
use gemini_tools_workspace::media::mime_type;
use gemini_tools_workspace::text::{ContentKind, SAMPLE_BYTES, detect};
use gemini_tools_workspace::{OpenFile, Respect, Workspace, WorkspacePath, io_error};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use url::Url;

/// Number of files on a page.
const PAGE_FILES: usize = 500;

/// Number of files that are listed at all: a tool finds the others.
const MAX_FILES: usize = 10_000;

/// A larger file is not given whole, in bytes.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The type where nothing says what a file is.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The one template.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new("file:///{path}", "workspace_file")
        .with_title("File of the workspace")
        .with_description(
            "A file below the workspace's roots, by its absolute path without the first slash. \
             Text is decoded, everything else comes as a blob; up to 32 MiB.",
        );
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// The end of a page.
#[derive(Debug, Serialize, Deserialize)]
struct Cursor {
    /// Number of files on earlier pages.
    count: usize,
    /// The place of the root among all.
    root: usize,
    /// The components of the last file's path below it, in base64: they need not be UTF-8.
    path: Vec<String>,
}

impl Cursor {
    fn parse(text: &str) -> Option<(Self, Vec<Vec<u8>>)> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let cursor: Self = serde_json::from_slice(&bytes).ok()?;
        let decode = |name: &String| URL_SAFE_NO_PAD.decode(name).ok();
        let path = cursor.path.iter().map(decode).collect::<Option<_>>()?;
        Some((cursor, path))
    }

    fn text(count: usize, root: usize, last: &Path) -> String {
        let names = last.components().map(|name| name.as_os_str().as_bytes());
        let cursor = Self {
            count,
            root,
            path: names.map(|name| URL_SAFE_NO_PAD.encode(name)).collect(),
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).unwrap_or_default())
    }
}

/// The error that a cursor is none that was given out.
pub(super) fn no_page(cursor: &str) -> ErrorData {
    ErrorData::invalid_params(format!("There is no page {cursor:?} of the list."), None)
}

/// A page of the files that no ignore file leaves out, in the order of their paths.
pub(super) fn list(
    project: &Project,
    cursor: Option<&str>,
    cx: &Context,
) -> Result<ListResourcesResult, ErrorData> {
    let workspace = &project.session.tool_env().workspace;
    let (count, first, after) = match cursor {
        None => (0, 0, None),
        Some(text) => {
            let (cursor, path) = Cursor::parse(text).ok_or_else(|| no_page(text))?;
            (cursor.count, cursor.root, Some(path))
        }
    };
    let most = PAGE_FILES.min(MAX_FILES.saturating_sub(count));
    let mut page = Page {
        workspace,
        cx,
        // One more tells whether there is another page.
        most: most + 1,
        files: Vec::new(),
    };
    for (at, place) in workspace.root_places().into_iter().enumerate().skip(first) {
        let after = after.as_deref().filter(|_| at == first);
        page.add(at, &place, after).map_err(|e| as_error(&e, ""))?;
    }
    let has_more = page.files.len() > most && count + most < MAX_FILES;
    page.files.truncate(most);
    let next = page
        .files
        .last()
        .filter(|_| has_more)
        .map(|(root, place)| Cursor::text(count + most, *root, place.rel()));
    let files = page.files.iter();
    let mut result = ListResourcesResult::with_all_items(
        files
            .filter_map(|(_, place)| resource(workspace, place))
            .collect(),
    );
    result.next_cursor = next;
    Ok(result)
}

fn resource(workspace: &Workspace, place: &WorkspacePath) -> Option<Resource> {
    let uri = Url::from_file_path(place.path()).ok()?;
    Some(Resource::new(
        uri,
        show_path(workspace.display(place.path())),
    ))
}

struct Page<'a> {
    workspace: &'a Workspace,
    cx: &'a Context,
    most: usize,
    /// Each with the place of its root among all.
    files: Vec<(usize, WorkspacePath)>,
}

impl Page<'_> {
    /// Adds the files below a directory, only those that come `after` a path below it.
    fn add(
        &mut self,
        root: usize,
        directory: &WorkspacePath,
        after: Option<&[Vec<u8>]>,
    ) -> Result<(), ToolError> {
        self.cx.cancel.check()?;
        let respect = Respect {
            git: true,
            gemini: true,
        };
        // One that can't be read has nothing to list.
        let mut entries = self
            .workspace
            .list_dir(directory, respect)
            .unwrap_or_default();
        entries.retain(|entry| entry.ignored.is_none());
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let (reached, below) = match after.and_then(<[_]>::split_first) {
            Some((name, below)) => (Some(name.as_slice()), below),
            None => (None, &[][..]),
        };
        for entry in entries {
            if self.files.len() >= self.most {
                break;
            }
            let is_on_the_way = reached == Some(&*entry.name);
            if !is_on_the_way && reached.is_some_and(|reached| *entry.name < *reached) {
                continue;
            }
            let place = directory.join(Path::new(OsStr::from_bytes(&entry.name)));
            match (entry.is_dir, entry.is_link) {
                (true, true) => {}
                (true, false) => self.add(root, &place, is_on_the_way.then_some(below))?,
                (false, _) if is_on_the_way => {}
                (false, _) => self.files.push((root, place)),
            }
        }
        Ok(())
    }
}

/// A file's content, by the rules for `read_file`.
pub(super) fn read(
    project: &Project,
    uri: &str,
    cx: &Context,
) -> Result<ReadResourceResult, ErrorData> {
    let path = path_of(uri).map_err(|reason| {
        let data = json!({ "uri": uri, "errorType": ErrorKind::InvalidToolParams });
        ErrorData::invalid_params(
            format!("{uri:?} is not a file's address: {reason}."),
            Some(data),
        )
    })?;
    let contents = contents(project, &path, uri, cx).map_err(|e| as_error(&e, uri))?;
    Ok(ReadResourceResult::new(vec![contents]))
}

fn contents(
    project: &Project,
    path: &Path,
    uri: &str,
    cx: &Context,
) -> Result<ResourceContents, ToolError> {
    let path = show_path(path);
    let session = &project.session;
    // Beneath the roots only: the tool reads what is kept of long answers besides.
    let workspace = &session.tool_env().workspace;
    let place = workspace.locate(&path)?;
    session.check("read_file", json!({ "absolute_path": path }), cx)?;
    let open = workspace.open_file(&place)?;
    let bytes = whole(&open, &place)?;
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let content = detect(sample, sample.len() == bytes.len());
    let mime = mime_type(sample, place.path(), content != ContentKind::Binary);
    Ok(match (content, mime) {
        (ContentKind::Text(encoding), None) => {
            ResourceContents::text(encoding.decode(&bytes), uri).with_mime_type("text/plain")
        }
        (_, mime) => ResourceContents::blob(STANDARD.encode(&bytes), uri)
            .with_mime_type(mime.unwrap_or(UNKNOWN_TYPE)),
    })
}

fn whole(open: &OpenFile, place: &WorkspacePath) -> Result<Vec<u8>, ToolError> {
    let too_large = |size: u64| {
        ToolError::new(
            ErrorKind::FileTooLarge,
            format!(
                "{} has {size} bytes; at most {MAX_FILE_BYTES} are given whole.",
                show_path(place.path())
            ),
        )
        .with_hint("Read it in parts with the tool read_file.")
    };
    if open.size() > MAX_FILE_BYTES {
        return Err(too_large(open.size()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(open.size()).unwrap_or(0));
    // It may be growing.
    let mut file = (&open.file).take(MAX_FILE_BYTES + 1);
    file.read_to_end(&mut bytes)
        .map_err(|e| io_error(&e, place.path()))?;
    match bytes.len() as u64 {
        size if size > MAX_FILE_BYTES => Err(too_large(size)),
        _ => Ok(bytes),
    }
}

/// An error of ours as one of the protocol.
fn as_error(error: &ToolError, uri: &str) -> ErrorData {
    let data = json!({ "uri": uri, "errorType": error.kind });
    let message = error.to_string();
    match error.kind {
        ErrorKind::FileNotFound | ErrorKind::PathNotInWorkspace => {
            ErrorData::resource_not_found(message, Some(data))
        }
        ErrorKind::InvalidToolParams | ErrorKind::TargetIsDirectory => {
            ErrorData::invalid_params(message, Some(data))
        }
        _ => ErrorData::internal_error(message, Some(data)),
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;
    use std::path::Path;

    #[test]
    fn a_cursor_gives_back_where_the_page_ended() {
        let text = Cursor::text(500, 1, Path::new("a/b c.rs"));
        let (cursor, path) = Cursor::parse(&text).expect("a cursor");
        assert_eq!((cursor.count, cursor.root), (500, 1));
        assert_eq!(path, [b"a".to_vec(), b"b c.rs".to_vec()]);
        for wrong in ["", "x", "e30"] {
            assert!(Cursor::parse(wrong).is_none(), "{wrong}");
        }
    }
}
