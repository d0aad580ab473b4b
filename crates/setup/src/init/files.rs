//! The texts of the files that are added, and the commands that settings name.

use super::Allow;
use gemini_tools_core::tool::Kind;
use gemini_tools_settings::settings::{expanded, jsonc, variables_in};
use serde_json::Value;

/// The modes of Gemini CLI but Plan mode, where a rule without `modes` counts too.
pub(crate) const MODES_BUT_PLAN: &str = r#"["default", "autoEdit", "yolo"]"#;

/// Returns the rules that allow the tools. Gemini CLI 0.61 without a terminal shows a model only
/// those discovered tools that a rule allows by name; patterns don't count there.
pub(super) fn policy(tools: &[(String, Kind)], allow: Allow) -> String {
    let mut text = String::from(
        "\
# By `get_tools init`, until `get_tools init --undo`: no question about these tools in any project.
",
    );
    // What goes out to the network could carry out what was read.
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

/// Returns the items of a TOML array, as many on a line as fit.
fn names_in_lines<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const WIDTH: usize = 90;
    let mut text = String::new();
    let mut used = 0;
    for name in names {
        let item = format!("\"discovered_tool_{name}\",");
        if used > 0 && used + 1 + item.len() <= WIDTH {
            text.push(' ');
            used += 1 + item.len();
        } else {
            let end = if used > 0 { "\n" } else { "" };
            text.push_str(&format!("{end}  "));
            used = 2 + item.len();
        }
        text.push_str(&item);
    }
    text.push('\n');
    text
}

/// Quotes a command for a host that splits it into words as a shell does.
pub(super) fn quoted(command: &str) -> String {
    shlex::try_quote(command).map_or_else(|_| command.to_owned(), std::borrow::Cow::into_owned)
}

/// A command for the discovery of tools and one for calls.
pub(super) type Pair = (String, String);

/// The keys of the two commands, and those of old, which Gemini CLI 0.8.2 prefers.
pub(super) const DISCOVERY: [&str; 2] = ["tools", "discoveryCommand"];
pub(super) const CALL: [&str; 2] = ["tools", "callCommand"];
pub(super) const OLD_DISCOVERY: &str = "toolDiscoveryCommand";
pub(super) const OLD_CALL: &str = "toolCallCommand";

/// The commands that settings name.
#[derive(Debug, Default)]
pub(super) struct Named {
    discovery: Option<String>,
    call: Option<String>,
    old_discovery: Option<String>,
    old_call: Option<String>,
    /// The keys of old that are there, whatever they say.
    pub(super) old_keys: Vec<&'static str>,
}

impl Named {
    /// Reads the commands of a settings file; none if it is not JSON.
    pub(super) fn read(settings: &str) -> Self {
        let Ok(value) = jsonc(settings) else {
            return Self::default();
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut old_keys = vec![OLD_DISCOVERY, OLD_CALL];
        old_keys.retain(|key| value.get(key).is_some());
        Self {
            discovery: text(&value[DISCOVERY[0]][DISCOVERY[1]]),
            call: text(&value[CALL[0]][CALL[1]]),
            old_discovery: text(&value[OLD_DISCOVERY]),
            old_call: text(&value[OLD_CALL]),
            old_keys,
        }
    }

    /// Returns the discovery command that counts.
    pub(super) fn discovery(&self) -> Option<&str> {
        self.discovery.as_deref().or(self.old_discovery.as_deref())
    }

    /// Returns the call command that counts.
    pub(super) fn call(&self) -> Option<&str> {
        self.call.as_deref().or(self.old_call.as_deref())
    }

    /// Lists all commands, each with its key and true for one for calls.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, bool, &str)> {
        let all = [
            (DISCOVERY.join("."), false, &self.discovery),
            (CALL.join("."), true, &self.call),
            (OLD_DISCOVERY.to_owned(), false, &self.old_discovery),
            (OLD_CALL.to_owned(), true, &self.old_call),
        ];
        all.into_iter()
            .filter_map(|(key, is_call, text)| Some((key, is_call, text.as_deref()?)))
    }

    /// Lists the pairs that are complete: the one of now, and the one that the old keys make of it.
    pub(super) fn pairs(&self) -> Vec<Pair> {
        let both = |discovery: Option<&String>, call: Option<&String>| {
            Some((discovery?.clone(), call?.clone()))
        };
        let (now, call) = (self.discovery.as_ref(), self.call.as_ref());
        let (old, old_call) = (self.old_discovery.as_ref(), self.old_call.as_ref());
        let mut pairs: Vec<Pair> = both(now, call).into_iter().collect();
        let old = both(old.or(now), old_call.or(call));
        pairs.extend(old.filter(|old| !pairs.contains(old)));
        pairs
    }
}

/// Splits a command into its first word and what follows it as it is written.
pub(super) fn split_program(command: &str) -> Option<(String, &str)> {
    let command = command.trim_start();
    let ends = command.char_indices().filter(|(_, c)| c.is_whitespace());
    let ends = ends.map(|(at, _)| at).chain([command.len()]);
    for end in ends {
        // Inside of quotes there is no word yet.
        if let Some([word]) = shlex::split(&command[..end]).as_deref() {
            return Some((word.clone(), &command[end..]));
        }
    }
    None
}

/// Returns the file that has a pair called from now on through us.
pub(super) fn pair_file((discovery, call): &Pair) -> String {
    let discovery = if names_values(discovery) {
        by_shell(&[&format!("exec {discovery}")])
    } else {
        toml_string(&expanded(discovery))
    };
    let call = if names_values(call) {
        let path = call.replace('\\', "\\\\").replace('"', "\\\"");
        by_shell(&[
            &format!("exec \"{}\" \"$@\"", path.replace('`', "\\`")),
            "call",
        ])
    } else {
        toml_string(&quoted(&expanded(call)))
    };
    format!(
        "\
# The commands that were in settings.json before `get_tools init`.
discovery_command = {discovery}
call_command = {call}
"
    )
}

/// Returns true if a command has variables whose values must not be written down: but for the home
/// directory they may be secrets, and the file is the project's.
fn names_values(command: &str) -> bool {
    variables_in(command).iter().any(|name| *name != "HOME")
}

/// Returns a list of words that has a shell put the values of variables in.
fn by_shell(words: &[&str]) -> String {
    let words = ["sh", "-c"].iter().chain(words);
    let words: Vec<String> = words.map(|word| toml_string(word)).collect();
    format!("[{}]", words.join(", "))
}

/// Quotes a text for TOML, whose strings are JSON's but for two characters.
fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
