//! Kinds of tools, by their effect on the world.

use serde::{Deserialize, Serialize};

/// The category of a tool, as in Gemini CLI's `Kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Deletes things.
    Delete,
    /// Moves or renames things.
    Move,
    /// Looks for things.
    Search,
    /// Runs commands.
    Execute,
    /// Reasons, plans or remembers.
    Think,
    /// Hands work to another agent.
    Agent,
    /// Gets data from the network.
    Fetch,
    /// Talks to the user.
    Communicate,
    /// Works on a plan.
    Plan,
    /// Changes the mode of the session.
    SwitchMode,
    /// None of the others.
    Other,
}

impl Kind {
    /// Returns true for kinds that change nothing, so that their calls may run at the same time. A
    /// person may still be asked about them, as about `Fetch`.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Kind::Read | Kind::Search | Kind::Fetch)
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn names_are_those_of_the_contract() {
        let names = serde_json::json!([
            "read",
            "edit",
            "delete",
            "move",
            "search",
            "execute",
            "think",
            "agent",
            "fetch",
            "communicate",
            "plan",
            "switch_mode",
            "other",
        ]);
        let kinds: Vec<Kind> = serde_json::from_value(names.clone()).expect("kinds");
        assert_eq!(serde_json::to_value(kinds).expect("names"), names);
    }
}
