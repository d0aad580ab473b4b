//! The hosts whose memory files are known: the file of the user that a host reads into every session.

use std::path::{Path, PathBuf};

/// A host, and its user's memory file.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct MemoryHost {
    /// The beginning of the name that the host has as an MCP client.
    client: &'static str,
    /// The variable that names another directory. `None` for Gemini CLI, whose `GEMINI_CLI_HOME` takes the place of the
    /// home directory for all of these tools.
    variable: Option<&'static str>,
    /// The directory's name in the home directory.
    directory: &'static str,
    /// The file's name.
    pub(super) file: &'static str,
}

/// Every host whose file is known (seen in Gemini CLI 0.61, Claude Code 2.1, Codex 0.169 and qwen-code 0.24).
static HOSTS: [MemoryHost; 4] = [
    MemoryHost {
        client: "gemini-cli-mcp-client",
        variable: None,
        directory: ".gemini",
        file: "GEMINI.md",
    },
    MemoryHost {
        client: "claude-code",
        variable: Some("CLAUDE_CONFIG_DIR"),
        directory: ".claude",
        file: "CLAUDE.md",
    },
    MemoryHost {
        client: "codex",
        variable: Some("CODEX_HOME"),
        directory: ".codex",
        file: "AGENTS.md",
    },
    MemoryHost {
        client: "qwen-cli-mcp-client",
        variable: Some("QWEN_HOME"),
        directory: ".qwen",
        file: "QWEN.md",
    },
];

impl MemoryHost {
    /// Returns the host that is an MCP client of this name.
    pub fn of_client(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| name.starts_with(host.client))
    }

    /// Returns Gemini CLI, in whose file a fact is kept where the host's own is not known.
    pub fn gemini_cli() -> &'static Self {
        &HOSTS[0]
    }

    #[cfg(feature = "full")]
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        HOSTS.iter()
    }

    /// Returns true for Gemini CLI, whose settings may name another file.
    pub(super) fn is_gemini_cli(&self) -> bool {
        self.variable.is_none()
    }

    /// Returns the names of the variables that say where the directory is.
    pub(super) fn variables(&self) -> String {
        format!("HOME or {}", self.variable.unwrap_or("GEMINI_CLI_HOME"))
    }

    /// Returns the directory of the file. `None` where it is not known as an absolute path.
    pub(super) fn directory(&self, home: Option<&Path>) -> Option<PathBuf> {
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let directory = match self.variable {
            None => home?.join(self.directory),
            Some(variable) => match value(variable) {
                Some(directory) => directory.into(),
                None => Path::new(&value("HOME")?).join(self.directory),
            },
        };
        directory.is_absolute().then_some(directory)
    }
}
