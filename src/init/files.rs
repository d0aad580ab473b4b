//! The files that are added.

use super::Allow;
use crate::settings::jsonc;
use crate::tool::Kind;
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

/// The two commands that settings name, where they name both.
pub(super) fn commands_in(settings: &str) -> Option<(String, String)> {
    let value = jsonc(settings.trim_start_matches('\u{feff}')).ok()?;
    let said = |key: &str| value["tools"][key].as_str().map(str::to_owned);
    Some((said("discoveryCommand")?, said("callCommand")?))
}

/// A pointer to a pair that is to be called from now on through us; `None` for our own.
pub(super) fn earlier_pair((discovery, call): (String, String)) -> Option<String> {
    let program = shlex::split(&discovery)?.into_iter().next()?;
    if program == "get_tools" || program.ends_with("/get_tools") {
        return None;
    }
    Some(format!(
        "\
# The commands that stood in settings.json before `get_tools init`.
discovery_command = {}
call_command = {}
",
        toml_string(&discovery),
        toml_string(&quoted(&call)),
    ))
}

/// JSON's strings are TOML's too, but for two characters.
fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
