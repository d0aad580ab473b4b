//! The content of the files that `init` writes, and the discovery and call command in Gemini CLI's
//! settings.

use super::set::Set;
use super::{Allow, works};
use gemini_tools_core::text::{show_path, wrapped};
use gemini_tools_core::tool::Kind;
use gemini_tools_custom_tools::own_program::is_this_installation;
use gemini_tools_settings::settings::{expanded, jsonc};
use std::path::Path;

/// All modes of Gemini CLI except Plan mode. A rule without `modes` would apply in Plan mode as
/// well.
const MODES_BUT_PLAN: &str = r#"["default", "autoEdit", "yolo"]"#;

/// Returns rules that allow the tools. They are named one by one: without a terminal, Gemini CLI
/// 0.61 shows a model only those discovered tools that a rule allows by name, not by a pattern.
pub(super) fn policy(tools: &[(String, Kind)], allow: Allow) -> String {
    let mut text = String::from(
        "\
# By `get_tools init`, until `get_tools init --undo`: no question about these tools in any project.
",
    );
    // A tool that uses the network could send out what others have read.
    let is_local =
        |name: &str, kind| matches!(kind, Kind::Read | Kind::Search) && name != "google_web_search";
    let is_allowed = |name: &str, kind| allow == Allow::All || is_local(name, kind);
    let tools = tools.iter().filter(|(name, kind)| is_allowed(name, *kind));
    let (reading, others): (Vec<_>, Vec<_>) = tools.partition(|(_, kind)| kind.is_read_only());
    for (tools, modes) in [(reading, None), (others, Some(MODES_BUT_PLAN))] {
        if tools.is_empty() {
            continue;
        }
        let names = tools.iter().map(|(name, _)| name.as_str());
        text.push_str(&format!(
            "[[rule]]\ntoolName = [\n{}",
            names_in_lines(names)
        ));
        text.push_str("]\ndecision = \"allow\"\npriority = 100\n");
        if let Some(modes) = modes {
            text.push_str(&format!("modes = {modes}\n"));
        }
    }
    text
}

fn names_in_lines<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const WIDTH: usize = 90;
    const INDENT: &str = "  ";
    let items: Vec<String> = names
        .map(|name| format!("\"discovered_tool_{name}\","))
        .collect();
    let lines = wrapped(&items.join(" "), WIDTH - INDENT.len());
    let lines = lines.replace('\n', &format!("\n{INDENT}"));
    format!("{INDENT}{lines}\n")
}

/// Returns the values that name our discovery and call commands in Gemini CLI's settings, and
/// sentences about the commands of others that they replace.
pub(super) fn command_sets(
    directory: Option<&Path>,
    root: &Path,
    settings: &str,
) -> (Vec<Set>, Vec<String>) {
    let settings = jsonc(settings).unwrap_or_default();
    let (mut sets, mut others) = (Vec::new(), Vec::new());
    // The last key was used before Gemini CLI 0.3. Version 0.8.2 still prefers it.
    for (name, key, old_key) in [
        ("get_tools", "discoveryCommand", "toolDiscoveryCommand"),
        ("call_tool", "callCommand", "toolCallCommand"),
    ] {
        let is_call = name == "call_tool";
        let usual = settings["tools"][key].as_str();
        let old = settings[old_key].as_str();
        let own = match directory {
            Some(directory) => show_path(&directory.join(name)).into_owned(),
            None => name.to_owned(),
        };
        // Gemini CLI takes the whole call command for a path.
        let own = if is_call { own } else { quoted(&own) };
        let command = match usual.or(old) {
            Some(line) => {
                let (program, rest) = program(line, is_call);
                match is_this_installation(&program, root) {
                    true if works(&program, root, is_this_installation) => line.to_owned(),
                    true => own + rest,
                    false => own,
                }
            }
            None => own,
        };
        sets.push(Set::new(&["tools", key], Some(command.into())));
        if !settings[old_key].is_null() {
            sets.push(Set::new(&[old_key], None));
        }
        for (key, line) in [(format!("tools.{key}"), usual), (old_key.to_owned(), old)] {
            let is_foreign = |line: &&str| {
                !line.trim().is_empty() && !is_this_installation(&program(line, is_call).0, root)
            };
            others.extend(
                line.filter(is_foreign)
                    .map(|line| format!("{key} was {line:?}.")),
            );
        }
    }
    (sets, others)
}

fn quoted(command: &str) -> String {
    shlex::try_quote(command).map_or_else(|_| command.to_owned(), std::borrow::Cow::into_owned)
}

fn program(line: &str, is_call: bool) -> (String, &str) {
    if is_call {
        return (expanded(line), "");
    }
    let line = line.trim_start();
    let ends = line.char_indices().filter(|(_, c)| c.is_whitespace());
    let ends = ends.map(|(at, _)| at).chain([line.len()]);
    for end in ends {
        // If `end` is within quotes, the text up to it can't be split.
        if let Some([word]) = shlex::split(&line[..end]).as_deref() {
            return (expanded(word), &line[end..]);
        }
    }
    (String::new(), "")
}
