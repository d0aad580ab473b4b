//! The hosts that are known as MCP clients: where each keeps its user's files, and its limits for answers.
//!
//! Seen in Gemini CLI 0.61, Claude Code 2.1.331, Codex 0.169, qwen-code 0.24.4 and opencode.

use std::path::{Path, PathBuf};

/// A host, as an MCP client.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ClientHost {
    /// The beginning of the name that the host has as an MCP client.
    client: &'static str,
    /// The variable that names another directory. `None` for Gemini CLI, whose `GEMINI_CLI_HOME` takes the place of the
    /// home directory for all of these tools.
    variable: Option<&'static str>,
    /// The directory's name in the home directory.
    directory: &'static str,
    /// The name of the file of the user that the host reads into every session; empty if it is not known.
    pub memory_file: &'static str,
    /// The layout of the directories in which the host keeps long answers.
    pub saved_answers: Option<SavedAnswers>,
    /// True if it shows structured content to a model: as text with escapes, alone (Claude Code, Codex, opencode) or
    /// before the content that says the same (qwen-code).
    pub shows_structured: bool,
    /// True if it obeys hints of tools in `_meta`, named `anthropic/…`.
    pub obeys_hints: bool,
    /// The limits, by the beginning of the model's name.
    limits: &'static [(&'static str, AnswerLimit)],
}

/// The layout of the directories in which a host keeps a project's long answers, beneath its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SavedAnswers {
    /// `tmp/NAME/tool-outputs`, where `tmp/NAME/.project_root` holds the project's path.
    NamedProject,
    /// `projects/NAME/SESSION/tool-results`, where NAME is the project's path with a dash for each character that is
    /// no letter and no digit.
    Session,
    /// `tmp/HASH/tool-results`, with the SHA-256 of the project's path.
    HashedProject,
}

/// The most of an answer that a host hands to its model whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerLimit {
    /// The size.
    pub size: usize,
    /// The unit of the size.
    pub unit: SizeUnit,
}

/// A unit of the size of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Units of UTF-16, as JavaScript counts.
    Utf16,
}

impl SizeUnit {
    /// Returns the size of a character.
    pub fn of_char(self, c: char) -> usize {
        match self {
            Self::Bytes => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }

    /// Returns the size of a text.
    pub fn of_text(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

const fn bytes(size: usize) -> AnswerLimit {
    let unit = SizeUnit::Bytes;
    AnswerLimit { size, unit }
}

/// Codex lets through 12,000 bytes, and of models that it knows to take 10,000 tokens 48,000, both with up to a hundred
/// of its own.
const CODEX_LARGE: AnswerLimit = bytes(47_900);

/// Gemini CLI, in whose file a fact is kept where the host's own is not known.
pub static GEMINI_CLI: ClientHost = ClientHost {
    client: "gemini-cli-mcp-client",
    variable: None,
    directory: ".gemini",
    memory_file: "GEMINI.md",
    saved_answers: Some(SavedAnswers::NamedProject),
    shows_structured: false,
    obeys_hints: false,
    limits: &[],
};

static CLAUDE_CODE: ClientHost = ClientHost {
    client: "claude-code",
    variable: Some("CLAUDE_CONFIG_DIR"),
    directory: ".claude",
    memory_file: "CLAUDE.md",
    saved_answers: Some(SavedAnswers::Session),
    shows_structured: true,
    obeys_hints: true,
    // 25,000 tokens, of three bytes in dense text.
    limits: &[("", bytes(75_000))],
};

static CODEX: ClientHost = ClientHost {
    client: "codex",
    variable: Some("CODEX_HOME"),
    directory: ".codex",
    memory_file: "AGENTS.md",
    saved_answers: None,
    shows_structured: true,
    obeys_hints: false,
    limits: &[
        ("gpt-5.5", CODEX_LARGE),
        ("gpt-5.6", CODEX_LARGE),
        ("gpt-6", CODEX_LARGE),
        ("gpt-daybreak", CODEX_LARGE),
        ("", bytes(11_900)),
    ],
};

/// The host qwen-code.
pub static QWEN_CODE: ClientHost = ClientHost {
    client: "qwen-cli-mcp-client",
    variable: Some("QWEN_HOME"),
    directory: ".qwen",
    memory_file: "QWEN.md",
    saved_answers: Some(SavedAnswers::HashedProject),
    shows_structured: true,
    obeys_hints: false,
    limits: &[(
        "",
        AnswerLimit {
            size: 25_000,
            unit: SizeUnit::Utf16,
        },
    )],
};

static OPENCODE: ClientHost = ClientHost {
    client: "opencode",
    variable: None,
    directory: ".config/opencode",
    memory_file: "",
    saved_answers: None,
    shows_structured: true,
    obeys_hints: false,
    limits: &[],
};

/// Every host.
pub static HOSTS: [&ClientHost; 5] = [&GEMINI_CLI, &CLAUDE_CODE, &CODEX, &QWEN_CODE, &OPENCODE];

impl ClientHost {
    /// Returns the host that is an MCP client of this name.
    pub fn find(client: &str) -> Option<&'static Self> {
        HOSTS
            .into_iter()
            .find(|host| client.starts_with(host.client))
    }

    /// Returns true for Gemini CLI, whose settings may name another memory file.
    pub fn is_gemini_cli(&self) -> bool {
        self.directory == ".gemini"
    }

    /// Returns the limit of answers for a model, which may be unknown; `None` if none is known, or the host's own
    /// settings have it.
    pub fn answer_limit(&self, model: &str) -> Option<AnswerLimit> {
        let mut limits = self.limits.iter();
        let (_, limit) = limits.find(|(name, _)| model.starts_with(name))?;
        Some(*limit)
    }

    /// Returns the names of the variables that say where the directory is.
    pub fn variables(&self) -> String {
        format!("HOME or {}", self.variable.unwrap_or("GEMINI_CLI_HOME"))
    }

    /// Returns the directory of the user's files. `None` where it is not known as an absolute path.
    pub fn directory(&self, home: Option<&Path>) -> Option<PathBuf> {
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
