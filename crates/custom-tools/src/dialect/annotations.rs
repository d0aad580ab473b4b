//! Hints of the Model Context Protocol about the effect of a tool's calls.

use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::tool::{Kind, Tool};
use serde::Serialize;

/// `ToolAnnotations` of a tool: hints, which a client believes or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a hint for each"
)]
pub struct Hints {
    /// Calls leave the world as it was, and send nothing to it: clients make such calls unasked.
    #[serde(rename = "readOnlyHint")]
    pub is_read_only: bool,
    /// Calls may destroy something.
    #[serde(rename = "destructiveHint")]
    pub is_destructive: bool,
    /// A repeated call changes nothing further.
    #[serde(rename = "idempotentHint")]
    pub is_idempotent: bool,
    /// Calls reach beyond this machine, or may.
    #[serde(rename = "openWorldHint")]
    pub is_open_world: bool,
}

impl Hints {
    /// Returns the hints of a tool that is only known by name and kind, as a declaration is.
    pub fn of_declared(name: &str, kind: Kind) -> Self {
        let reads = kind.is_read_only();
        let unknown = (reads, !reads || kind == Kind::Fetch);
        let (is_idempotent, is_open_world) = builtin::find_exactly(name).map_or(unknown, |tool| {
            (tool.info.is_idempotent, tool.info.is_open_world)
        });
        Self::new(kind, reads, is_idempotent, is_open_world)
    }

    /// Returns the hints of a tool.
    pub fn of(tool: &dyn Tool) -> Self {
        let info = tool.info();
        Self::new(
            info.kind,
            info.is_read_only,
            info.is_idempotent,
            info.is_open_world,
        )
    }

    fn new(kind: Kind, reads: bool, is_idempotent: bool, is_open_world: bool) -> Self {
        Self {
            // What a call says to the world has left the machine, whatever it leaves as it was.
            is_read_only: reads && !is_open_world,
            is_destructive: !reads && may_destroy(kind),
            is_idempotent,
            is_open_world,
        }
    }

    /// Returns the hints of a tool of another server.
    pub fn of_server(is_read_only: bool) -> Self {
        Self {
            is_read_only,
            is_destructive: !is_read_only,
            is_idempotent: is_read_only,
            is_open_world: true,
        }
    }
}

/// Returns true unless calls of a kind only add to the world.
fn may_destroy(kind: Kind) -> bool {
    !matches!(kind, Kind::Think | Kind::Plan | Kind::Communicate)
}

#[cfg(test)]
mod tests {
    use super::Hints;
    use gemini_tools_core::tool::Kind;

    #[test]
    fn hints_follow_from_the_kind_and_from_what_is_known_of_built_in_tools() {
        let hints = |name, kind| {
            let hints = Hints::of_declared(name, kind);
            (
                hints.is_read_only,
                hints.is_destructive,
                hints.is_idempotent,
                hints.is_open_world,
            )
        };
        assert_eq!(hints("read_file", Kind::Read), (true, false, true, false));
        assert_eq!(hints("write_file", Kind::Edit), (false, true, true, false));
        assert_eq!(
            hints("save_memory", Kind::Think),
            (false, false, true, false)
        );
        assert_eq!(hints("theirs", Kind::Other), (false, true, false, true));
        assert_eq!(hints("theirs", Kind::Read), (true, false, true, false));
        for (name, kind) in [
            ("web_fetch", Kind::Fetch),
            ("google_web_search", Kind::Search),
            ("theirs", Kind::Fetch),
        ] {
            assert_eq!(hints(name, kind), (false, false, true, true), "{name}");
        }
    }
}
