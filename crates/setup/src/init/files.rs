//! The files that are added.

use super::Allow;
use gemini_tools_config::settings::{expanded, jsonc, variables_in};
use gemini_tools_core::tool::Kind;
use serde_json::Value;

/// The tool that shows how tools are written.
pub(super) const EXAMPLE: &str = "recent_commits.toml";

pub(super) fn example() -> &'static str {
    "\
# A tool of your own: `call_tool recent_commits limit:=3 --output text` calls it, and so does a model.
# `get_tools lint` says what is wrong with it. More of the kind: README, \"A tool of your own\".
description = \"The latest commits of the project, all or those that changed some files.\"
read_only = true
command = [\"git\", \"log\", \"--oneline\", \"--max-count={limit}\", \"--\", \"{files}\"]

[params.limit]
type = \"integer\"
minimum = 1
default = 10
description = \"How many commits.\"

[params.files]
type = \"array\"
items = \"string\"
description = \"Only commits that changed these, relative to the project's root.\"
"
}

/// Gemini CLI 0.61 without a terminal shows a model only those discovered tools that a rule
/// allows by name; patterns don't count there.
pub(super) fn policy(tools: &[(String, Kind)], allow: Allow) -> String {
    let is_allowed = |name: &str, kind: Kind| match allow {
        Allow::All => true,
        // What goes out to the network could carry out what was read.
        Allow::ReadOnly => matches!(kind, Kind::Read | Kind::Search) && name != "google_web_search",
        Allow::Nothing => false,
    };
    let mut text = String::from(
        "\
# Written by `get_tools init`; `get_tools init --undo` takes it back.
# Gemini CLI calls these tools without asking, in every project whose settings name get_tools.
[[rule]]
toolName = [
",
    );
    for (name, _) in tools.iter().filter(|(name, kind)| is_allowed(name, *kind)) {
        text.push_str(&format!("  \"discovered_tool_{name}\",\n"));
    }
    text.push_str("]\ndecision = \"allow\"\npriority = 100\n");
    text
}

/// A command for a host that splits it into words as a shell does.
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
    /// Which keys of old are there, whatever they say.
    pub(super) old_keys: Vec<&'static str>,
}

impl Named {
    pub(super) fn of(settings: &str) -> Self {
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

    /// The discovery command that counts.
    pub(super) fn discovery(&self) -> Option<&str> {
        self.discovery.as_deref().or(self.old_discovery.as_deref())
    }

    /// The call command that counts.
    pub(super) fn call(&self) -> Option<&str> {
        self.call.as_deref().or(self.old_call.as_deref())
    }

    /// All commands, each with its key and whether it is one for calls.
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

    /// All pairs that are complete: the one of now, and the one that the old keys make of it.
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

/// The first word of a command, and what follows it as it is written.
pub(super) fn parted(command: &str) -> Option<(String, &str)> {
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

/// A pointer to a pair that is to be called from now on through us.
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

/// Whether a command has variables whose values must not be written down: but for the home
/// directory they may be secrets, and the file is the project's.
fn names_values(command: &str) -> bool {
    variables_in(command).iter().any(|name| *name != "HOME")
}

/// A list of words that has a shell put the values of variables in.
fn by_shell(words: &[&str]) -> String {
    let words = ["sh", "-c"].iter().chain(words);
    let words: Vec<String> = words.map(|word| toml_string(word)).collect();
    format!("[{}]", words.join(", "))
}

/// JSON's strings are TOML's too, but for two characters.
fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
