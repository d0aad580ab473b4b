//! Programs that configurations start: servers, hooks, discovery commands, tasks and a user's own
//! tools.
//!
//! The formats differ by host, but all name programs under a few keys. Each word in the value of
//! such a key guards the file with that path. Only the last components of the path are compared,
//! because a variable may stand before them.

use gemini_tools_settings::settings::jsonc;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

const CONFIGURATIONS: &str = "\
    .agents/mcp_config.json .amp/settings.json .claude.json .claude/settings.json .claude/settings.local.json \
    .cline/data/settings/cline_mcp_settings.json .codeium/windsurf/mcp_config.json .codex/config.toml .codex/hooks.json \
    .copilot/mcp-config.json .crush.json .cursor/hooks.json .cursor/mcp.json .gemini/config/mcp_config.json \
    .gemini/settings.json .junie/mcp/mcp.json .kilo/kilo.jsonc .kiro/settings/mcp.json .mcp.json .qwen/settings.json \
    .roo/mcp.json .vscode/mcp.json .vscode/tasks.json .zed/settings.json crush.json kilo.json kilo.jsonc opencode.json \
    opencode.jsonc";

const TOOLS: &str = ".gemini/tools";

const KEYS: &str = "\
    apikeyhelper args callcommand call_command command discoverycommand discovery_command hooks notify \
    servercommand statusline toolcallcommand tooldiscoverycommand";

const MAX_BYTES: u64 = 1024 * 1024;

const ENTRY_POINTS: [&str; 3] = ["index", "__main__", "main"];

pub(super) fn programs(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let projects = FileOwner::Projects { root, home };
    let bases = [
        Some((root, projects)),
        home.map(|home| (home, FileOwner::Users)),
    ];
    let mut words = Vec::new();
    for (base, owner) in bases.into_iter().flatten() {
        for file in configurations(base) {
            add_words(&file, owner, &mut words);
        }
    }
    let ends = words.iter().map(|word| end(word));
    ends.filter(|end| !end.as_os_str().is_empty()).collect()
}

pub(super) fn starts(programs: &[PathBuf], real: &Path, root: &Path) -> bool {
    // Markdown is text for a model: a configuration may name such a file, but does not start it.
    let is_text = real.extension() == Some(OsStr::new("md"));
    let is_entry_point = ENTRY_POINTS
        .iter()
        .any(|entry| real.file_stem() == Some(OsStr::new(entry)));
    let directory = real
        .parent()
        .filter(|directory| is_entry_point && *directory != root);
    !is_text
        && programs.iter().any(|end| {
            real.ends_with(end) || directory.is_some_and(|directory| directory.ends_with(end))
        })
}

fn configurations(base: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = CONFIGURATIONS
        .split(' ')
        .map(|file| base.join(file))
        .collect();
    let tools = std::fs::read_dir(base.join(TOOLS))
        .into_iter()
        .flatten()
        .flatten();
    let tools = tools.map(|entry| entry.path());
    files.extend(tools.filter(|file| file.extension() == Some(OsStr::new("toml"))));
    files
}

fn add_words(file: &Path, owner: FileOwner<'_>, words: &mut Vec<String>) {
    let Ok(Some(bytes)) = owner.beginning(file, MAX_BYTES) else {
        return;
    };
    let text = String::from_utf8_lossy(&bytes);
    let value = match file.extension().and_then(OsStr::to_str) {
        Some("toml") => toml::from_str(&text).ok(),
        _ => jsonc(&text).ok(),
    };
    collect(&value.unwrap_or_default(), false, words);
}

fn collect(value: &Value, is_started: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if is_started => found.extend(words(text).map(str::to_owned)),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, is_started, found)),
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.to_ascii_lowercase();
                collect(
                    value,
                    is_started || KEYS.split(' ').any(|one| one == key),
                    found,
                );
            }
        }
        _ => {}
    }
}

pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=,:!".contains(c));
    parts.filter(|part| !part.is_empty())
}

pub(super) fn end(word: &str) -> PathBuf {
    let is_name = |part: &Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with(['$', '~', '%', '{']),
        _ => false,
    };
    Path::new(word).components().filter(is_name).collect()
}
