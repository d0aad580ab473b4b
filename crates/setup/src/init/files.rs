//! The content of the files that `init` writes, and the discovery and call command in Gemini CLI's
//! settings.

use super::Allow;
use super::set::Set;
use gemini_tools_core::text::wrapped;
use gemini_tools_core::tool::Kind;
use gemini_tools_settings::settings::jsonc;
use serde_json::Value;

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

pub(super) fn quoted(command: &str) -> String {
    shlex::try_quote(command).map_or_else(|_| command.to_owned(), std::borrow::Cow::into_owned)
}

/// The keys of the discovery and the call command; the second value is true for the call command.
/// The last two keys were used before Gemini CLI 0.3, but version 0.8.2 still prefers them.
const KEYS: [(&[&str], bool); 4] = [
    (&["tools", "discoveryCommand"], false),
    (&["tools", "callCommand"], true),
    (&["toolDiscoveryCommand"], false),
    (&["toolCallCommand"], true),
];

pub(super) struct SettingsCommands(Value);

impl SettingsCommands {
    pub(super) fn read(settings: &str) -> Self {
        Self(jsonc(settings).unwrap_or_default())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (String, bool, &str)> {
        KEYS.into_iter().filter_map(|(key, is_call)| {
            let value = key.iter().fold(&self.0, |value, name| &value[*name]);
            Some((key.join("."), is_call, value.as_str()?))
        })
    }

    pub(super) fn in_force(&self) -> [Option<&str>; 2] {
        let first = |calls| self.all().find(|(_, is_call, _)| *is_call == calls);
        [false, true].map(|calls| first(calls).map(|(_, _, text)| text))
    }

    /// Returns the changes that set the discovery and the call command. Keys with the old names are
    /// removed, since Gemini CLI would prefer them.
    pub(super) fn sets(&self, discovery: String, call: String) -> Vec<Set> {
        let mut sets = vec![
            Set::new(KEYS[0].0, Some(discovery.into())),
            Set::new(KEYS[1].0, Some(call.into())),
        ];
        let old = KEYS[2..]
            .iter()
            .filter(|(key, _)| !self.0[key[0]].is_null());
        sets.extend(old.map(|(key, _)| Set::new(key, None)));
        sets
    }
}

/// Splits a command into its first word, unquoted, and the rest as written.
pub(super) fn split_program(command: &str) -> Option<(String, &str)> {
    let command = command.trim_start();
    let ends = command.char_indices().filter(|(_, c)| c.is_whitespace());
    let ends = ends.map(|(at, _)| at).chain([command.len()]);
    for end in ends {
        // If `end` is within quotes, the text up to it can't be split.
        if let Some([word]) = shlex::split(&command[..end]).as_deref() {
            return Some((word.clone(), &command[end..]));
        }
    }
    None
}
