//! The names under which a model knows the tools of MCP servers.
//!
//! A tool is named `server__tool`, with `_` for characters that the API does not allow. The API
//! allows 63 characters, and Gemini CLI 0.61 puts a prefix of 16 before a discovered tool's name,
//! which leaves 47; the middle of a longer name is replaced.

use gemini_tools_core::names::{api_name, is_mapped, may_be_mapped, with_underscores};

pub(super) const MAX_CHARS: usize = 47;

const GAP: &str = "___";

const HEAD: usize = 20;

const BETWEEN: &str = "__";

/// The prefix of the names that Gemini CLI 0.61 gives to tools of the MCP servers it has started.
const THEIR_PREFIX: &str = "mcp_";

/// Shortens a name to [`MAX_CHARS`]. The name must be ASCII, since it is cut at byte positions.
fn cut(name: String) -> String {
    if name.len() <= MAX_CHARS {
        return name;
    }
    let tail = MAX_CHARS - HEAD - GAP.len();
    format!("{}{GAP}{}", &name[..HEAD], &name[name.len() - tail..])
}

pub(super) fn qualified(server: &str, tool: &str) -> String {
    cut(api_name(&format!("{server}{BETWEEN}{tool}")))
}

pub(super) fn may_be_of(name: &str, server: &str) -> bool {
    let own = qualified(server, "");
    if may_be_mapped(name) && name.starts_with(&own.replace('.', "_")) {
        return true;
    }
    let theirs = their_prefix(server);
    let shared = own.len().min(HEAD);
    name.starts_with(&own)
        || name.starts_with(&theirs)
        || name.len() == MAX_CHARS && name.get(..shared) == own.get(..shared)
}

/// Returns true if `written` refers to this tool: by the name that [`qualified`] returns, by Gemini
/// CLI 0.61's name for it, or by the former as the naming rules of another model API change it.
pub(super) fn means(written: &str, server: &str, tool: &str) -> bool {
    let own = qualified(server, tool);
    written == own || written == gemini_cli_name(server, tool) || is_mapped(&own, written)
}

fn their_prefix(server: &str) -> String {
    let server = with_underscores(server, true);
    if server.starts_with(THEIR_PREFIX) {
        format!("{server}_")
    } else {
        format!("{THEIR_PREFIX}{server}_")
    }
}

pub(super) fn gemini_cli_name(server: &str, tool: &str) -> String {
    let name = format!("{}{}", their_prefix(server), with_underscores(tool, true));
    if name.len() <= 63 {
        return name;
    }
    format!("{}...{}", &name[..30], &name[name.len() - 30..])
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, may_be_of, means, qualified};

    #[test]
    fn names_are_what_the_api_takes() {
        for (server, tool, name) in [
            ("git", "log", "git__log"),
            ("my server", "café/list", "my_server__caf__list"),
            ("1st", "x", "_1st__x"),
            (
                "a-long-name-of-a-server",
                "and-a-long-name-of-its-tool",
                "a-long-name-of-a-ser___-a-long-name-of-its-tool",
            ),
        ] {
            assert_eq!(qualified(server, tool), name);
            assert!(name.len() <= MAX_CHARS && may_be_of(name, server), "{name}");
            assert!(gemini_tools_core::registry::is_valid_name(name), "{name}");
            assert!(means(name, server, tool));
        }
        assert!(!may_be_of("other__log", "git"));
    }

    #[test]
    fn the_names_that_gemini_cli_gives_are_understood() {
        assert!(means("mcp_git_log", "git", "log") && may_be_of("mcp_git_log", "git"));
        assert!(means("mcp_own_log", "mcp_own", "log"));
        assert!(!means("mcp_git_log", "git", "status"));
    }
}
