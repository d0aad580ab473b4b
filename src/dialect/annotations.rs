//! What the Model Context Protocol lets a server say about what a tool does to the world.

use crate::builtin;
use crate::tool::Kind;
use serde_json::{Value, json};

/// Built-in tools that change nothing more when the same call is made again.
const IDEMPOTENT: [&str; 3] = ["save_memory", "stop_background_process", "write_file"];

/// Built-in tools that reach what is not this machine's.
const OPEN_WORLD: [&str; 3] = ["google_web_search", "run_shell_command", "web_fetch"];

/// `ToolAnnotations` of a tool: hints, which a client believes or not. What is not known is left
/// out, and a client then takes the worse for granted.
pub fn annotations(name: &str, kind: Kind) -> Value {
    let is_ours = builtin::kind(name).is_some();
    let mut hints = json!({ "readOnlyHint": kind.is_read_only() });
    if !kind.is_read_only() && (is_ours || kind.is_mutator()) {
        hints["destructiveHint"] = kind.is_mutator().into();
    }
    if is_ours && !kind.is_read_only() {
        hints["idempotentHint"] = IDEMPOTENT.contains(&name).into();
    }
    if is_ours {
        hints["openWorldHint"] = OPEN_WORLD.contains(&name).into();
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::{IDEMPOTENT, OPEN_WORLD, annotations};
    use crate::builtin;
    use crate::tool::Kind;

    #[test]
    fn hints_follow_from_the_kind_and_name_tools_that_exist() {
        for name in IDEMPOTENT.iter().chain(&OPEN_WORLD) {
            assert!(builtin::kind(name).is_some(), "{name}");
        }
        assert_eq!(annotations("read_file", Kind::Read)["readOnlyHint"], true);
        let hints = annotations("write_file", Kind::Edit);
        assert_eq!(hints["destructiveHint"], true);
        assert_eq!(hints["idempotentHint"], true);
        let hints = annotations("theirs", Kind::Other);
        assert_eq!(hints.as_object().map(serde_json::Map::len), Some(1));
    }
}
