//! Serves skills: directories of instructions for models, which clients read as resources, by the
//! protocol's extension SEP-2640.
//!
//! One skill explains our own tools. Those of the project are served only if it is trusted, because
//! models do what a skill says. The files are read for each request, so that what is declared about
//! them is current.

use super::server::Project;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gemini_tools_builtin_tools::SKILL;
use gemini_tools_core::tool::ToolError;
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath};
use rmcp::ErrorData;
use rmcp::model::{
    Resource, ResourceContents, SKILL_MD, Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use serde_json::json;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use url::Url;

const DIRECTORIES: [&str; 2] = [".agents/skills", ".gemini/skills"];

/// The MCP extension for skills permits so many files of a skill, and so many bytes. Here the bytes
/// are counted for all skills of a project together.
const MAX_FILES: usize = 512;

const MAX_BYTES: usize = 16 * 1024 * 1024;

const MARKDOWN: &str = "text/markdown";

pub(super) struct ServedSkill {
    pub(super) skill: Skill,
    files: Vec<SkillFile>,
}

struct SkillFile {
    uri: String,
    bytes: Vec<u8>,
}

impl ServedSkill {
    fn new(files: Vec<SkillFile>) -> Result<Self, String> {
        let main = files
            .iter()
            .find(|file| file.uri.ends_with("/SKILL.md"))
            .ok_or("it has no SKILL.md")?;
        let text = std::str::from_utf8(&main.bytes).map_err(|e| e.to_string())?;
        let resources = files
            .iter()
            .map(|file| SkillResource::from_bytes(&file.uri, &file.bytes));
        let resources = SkillResources::Files(resources.collect());
        let skill = Skill::new(&main.uri, frontmatter(text)?, resources);
        skill.validate().map_err(|e| e.to_string())?;
        Ok(Self { skill, files })
    }

    pub(super) fn resource(&self) -> Resource {
        let Skill {
            uri, frontmatter, ..
        } = &self.skill;
        Resource::new(uri, &frontmatter.name)
            .with_description(&frontmatter.description)
            .with_mime_type(MARKDOWN)
    }
}

fn frontmatter(text: &str) -> Result<SkillFrontmatter, String> {
    let text = text.replace("\r\n", "\n");
    let head = text
        .strip_prefix("---\n")
        .and_then(|rest| Some(rest.split_once("\n---")?.0));
    let head = head.ok_or("its SKILL.md has no frontmatter between lines of ---")?;
    serde_saphyr::from_str(head).map_err(|e| format!("its frontmatter can't be used: {e}"))
}

pub(super) fn all(project: &Project) -> (Vec<ServedSkill>, Vec<String>) {
    let own = vec![SkillFile {
        uri: "skill://gemini-tools/SKILL.md".to_owned(),
        bytes: SKILL.as_bytes().to_vec(),
    }];
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    found.extend(ServedSkill::new(own));
    let tool_env = project.session.tool_env();
    if !tool_env.settings.trust.is_trusted() {
        return (found, faults);
    }
    let mut room = MAX_BYTES;
    for (name, place) in places(&tool_env.workspace) {
        let uri = format!("skill://project/{name}/{SKILL_MD}");
        if found.iter().any(|other| other.skill.uri == uri) {
            continue;
        }
        let files = read(&tool_env.workspace, &name, place, &mut room);
        match files.and_then(ServedSkill::new) {
            Ok(skill)
                if skill
                    .files
                    .iter()
                    .any(|file| file.bytes == SKILL.as_bytes()) => {}
            Ok(skill) => found.push(skill),
            Err(fault) => faults.push(format!("the project's skill {name} is not served: {fault}")),
        }
    }
    (found, faults)
}

fn places(workspace: &Workspace) -> Vec<(String, WorkspacePath)> {
    let mut places = Vec::new();
    for directory in DIRECTORIES {
        let Ok(directory) = workspace.locate(directory) else {
            continue;
        };
        let entries = workspace.list_dir(&directory, Respect::ALL);
        for entry in entries.unwrap_or_default() {
            if entry.is_dir && entry.ignored.is_none() {
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                places.push((
                    name,
                    directory.join(Path::new(OsStr::from_bytes(&entry.name))),
                ));
            }
        }
    }
    places.sort_by(|a, b| a.0.cmp(&b.0));
    places
}

fn read(
    workspace: &Workspace,
    name: &str,
    place: WorkspacePath,
    room: &mut usize,
) -> Result<Vec<SkillFile>, String> {
    let said = |e: ToolError| e.message;
    let (mut files, mut open) = (Vec::new(), vec![(Vec::new(), place)]);
    while let Some((path, directory)) = open.pop() {
        for entry in workspace.list_dir(&directory, Respect::ALL).map_err(said)? {
            if entry.ignored.is_some() || entry.is_link && entry.is_dir {
                continue;
            }
            let place = directory.join(Path::new(OsStr::from_bytes(&entry.name)));
            let mut path: Vec<String> = path.clone();
            path.push(String::from_utf8_lossy(&entry.name).into_owned());
            if entry.is_dir {
                open.push((path, place));
                continue;
            }
            if files.len() >= MAX_FILES {
                return Err(format!("it has more than {MAX_FILES} files"));
            }
            let mut bytes = Vec::new();
            let file = workspace.open_file(&place).map_err(said)?.file;
            file.take(*room as u64 + 1)
                .read_to_end(&mut bytes)
                .map_err(|e| e.to_string())?;
            *room = room
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("the skills have more than {MAX_BYTES} bytes"))?;
            files.push(SkillFile {
                uri: uri(name, &path)?,
                bytes,
            });
        }
    }
    Ok(files)
}

fn uri(name: &str, path: &[String]) -> Result<String, String> {
    let mut uri = Url::parse("skill://project/").map_err(|e| e.to_string())?;
    if let Ok(mut segments) = uri.path_segments_mut() {
        segments.pop_if_empty().push(name).extend(path);
    }
    Ok(uri.into())
}

pub(super) fn content(skills: Vec<ServedSkill>, uri: &str) -> Option<ResourceContents> {
    let mut files = skills.into_iter().flat_map(|skill| skill.files);
    let file = files.find(|file| file.uri == uri)?;
    let is_markdown = Path::new(uri).extension().is_some_and(|end| end == "md");
    let mime = if is_markdown { MARKDOWN } else { "text/plain" };
    Some(match String::from_utf8(file.bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(mime),
        Err(e) => ResourceContents::blob(STANDARD.encode(e.as_bytes()), uri)
            .with_mime_type("application/octet-stream"),
    })
}

/// Returns the error for a URI without a resource. Before protocol version 2026-07-28 it had
/// another code.
pub(super) fn not_found(uri: &str, is_newest: bool) -> ErrorData {
    let message = format!("There is no resource {uri:?} here.");
    let data = Some(json!({ "uri": uri }));
    if is_newest {
        ErrorData::invalid_params(message, data)
    } else {
        ErrorData::resource_not_found(message, data)
    }
}
