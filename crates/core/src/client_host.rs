//! The hosts that are known as MCP clients: the directory in which each keeps its user's files, and
//! the longest answer that it accepts.
//!
//! Seen in Gemini CLI 0.61, Claude Code 2.1.332, Codex 0.171, qwen-code 0.24.4, opencode 1.18.33,
//! Kilo Code 7.7.9, Copilot CLI 1.0.102, goose 1.52 and Cline CLI 3.0.65.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A host that is known as an MCP client.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ClientHost {
    client: &'static str,
    /// The environment variable that replaces `directory`. `None` for Gemini CLI: its variable
    /// `GEMINI_CLI_HOME` replaces the home directory, for our executables as well.
    variable: Option<&'static str>,
    /// The host's directory for files of the user: a name in the home directory, or an absolute
    /// path.
    directory: &'static str,
    /// The name of the user's file that the host reads into every session; empty if unknown.
    pub memory_file: &'static str,
    /// Where the host stores long answers; `None` if no such place is known.
    pub saved_answers: Option<SavedAnswers>,
    /// True if the host obeys a tool's hints in `_meta` that are named `anthropic/…`.
    pub obeys_hints: bool,
    limits: &'static [(&'static str, AnswerLimit)],
}

/// Where a host stores long answers, beneath its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SavedAnswers {
    /// `tmp/NAME/tool-outputs`, where `tmp/NAME/.project_root` holds the project's path.
    NamedProject,
    /// `projects/NAME/SESSION/tool-results`. NAME is the project's path with a dash for every
    /// character that is neither a letter nor a digit.
    Session,
    /// `tmp/HASH/tool-results`, with the SHA-256 of the project's path.
    HashedProject,
    /// A directory for all projects, or even for temporary files of all programs. The host's files
    /// have the mark in their names.
    Shared {
        /// The path beneath the host's directory; empty for that directory itself.
        beneath: &'static str,
        /// The text that the names of the host's files contain.
        mark: &'static str,
    },
}

/// The longest answer that a host passes to its model without shortening it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AnswerLimit {
    /// The maximum size of an answer.
    pub size: usize,
    /// The unit in which `size` is measured.
    pub unit: SizeUnit,
    /// Maximum number of lines, if they are limited too.
    pub lines: Option<usize>,
}

impl AnswerLimit {
    /// Creates a limit of the size only.
    pub const fn new(size: usize, unit: SizeUnit) -> Self {
        let lines = None;
        Self { size, unit, lines }
    }
}

/// The unit in which a host measures the size of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// Characters.
    #[default]
    Chars,
    /// Bytes of UTF-8.
    Bytes,
    /// UTF-16 code units, as JavaScript counts.
    Utf16,
    /// UTF-16 code units of the text as a JSON string, with escapes but without the quotes.
    JsonUtf16,
}

impl SizeUnit {
    /// Returns the size of a character.
    pub fn of_char(self, c: char) -> usize {
        match self {
            Self::Chars => 1,
            Self::Bytes => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::JsonUtf16 => match c {
                '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
                '\0'..' ' => "\\u0000".len(),
                _ => c.len_utf16(),
            },
        }
    }

    /// Returns the size of a text.
    pub fn of_text(self, text: &str) -> usize {
        match self {
            Self::Chars => text.chars().count(),
            Self::Bytes => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::JsonUtf16 => text.chars().map(|c| self.of_char(c)).sum(),
        }
    }
}

const fn bytes(size: usize) -> AnswerLimit {
    AnswerLimit::new(size, SizeUnit::Bytes)
}

/// Codex's limit for the models of which it accepts answers of 10,000 tokens: 48,000 bytes instead
/// of 12,000. Codex adds up to a hundred bytes of its own, which count too, so both limits are set
/// 100 bytes lower here.
const CODEX_LARGE: AnswerLimit = bytes(47_900);

const fn host(
    client: &'static str,
    variable: Option<&'static str>,
    directory: &'static str,
) -> ClientHost {
    ClientHost {
        client,
        variable,
        directory,
        memory_file: "",
        saved_answers: None,
        obeys_hints: false,
        limits: &[],
    }
}

/// Gemini CLI. Its memory file is also used for hosts whose own memory file is unknown.
pub static GEMINI_CLI: ClientHost = ClientHost {
    memory_file: "GEMINI.md",
    saved_answers: Some(SavedAnswers::NamedProject),
    ..host("gemini-cli-mcp-client", None, ".gemini")
};

static CLAUDE_CODE: ClientHost = ClientHost {
    memory_file: "CLAUDE.md",
    saved_answers: Some(SavedAnswers::Session),
    obeys_hints: true,
    // Claude Code accepts 25,000 tokens. In dense text a token has three bytes.
    limits: &[("", bytes(75_000))],
    ..host("claude-code", Some("CLAUDE_CONFIG_DIR"), ".claude")
};

static CODEX: ClientHost = ClientHost {
    memory_file: "AGENTS.md",
    limits: &[
        ("gpt-5.5", CODEX_LARGE),
        ("gpt-5.6", CODEX_LARGE),
        ("gpt-6", CODEX_LARGE),
        ("gpt-daybreak", CODEX_LARGE),
        ("", bytes(11_900)),
    ],
    ..host("codex", Some("CODEX_HOME"), ".codex")
};

/// The host qwen-code.
pub static QWEN_CODE: ClientHost = ClientHost {
    memory_file: "QWEN.md",
    saved_answers: Some(SavedAnswers::HashedProject),
    limits: &[("", AnswerLimit::new(25_000, SizeUnit::Utf16))],
    ..host("qwen-cli-mcp-client", Some("QWEN_HOME"), ".qwen")
};

const OPENCODE: ClientHost = ClientHost {
    saved_answers: Some(SavedAnswers::Shared {
        beneath: "opencode/tool-output",
        mark: "tool_",
    }),
    // By default opencode shortens an answer of more than 50 KiB or 2,000 lines.
    limits: &[(
        "",
        AnswerLimit {
            lines: Some(2000),
            ..bytes(51_100)
        },
    )],
    ..host("opencode", Some("XDG_DATA_HOME"), ".local/share")
};

/// Kilo Code, a fork of opencode that shortens answers in the same way.
static KILO: ClientHost = ClientHost {
    client: "kilo",
    saved_answers: Some(SavedAnswers::Shared {
        beneath: "kilo/tool-output",
        mark: "tool_",
    }),
    ..OPENCODE
};

static COPILOT_CLI: ClientHost = ClientHost {
    saved_answers: Some(SavedAnswers::Shared {
        beneath: "",
        mark: "-copilot-tool-output-",
    }),
    // The limit is 20 KiB. Copilot CLI prefixes an error with the server's name, which counts too.
    limits: &[("", bytes(20_400))],
    ..host("copilot-cli", Some("TMPDIR"), "/tmp")
};

static GOOSE: ClientHost = ClientHost {
    saved_answers: Some(SavedAnswers::Shared {
        beneath: "",
        mark: "goose_mcp_response_",
    }),
    limits: &[("", AnswerLimit::new(200_000, SizeUnit::Utf16))],
    ..host("goose", Some("TMPDIR"), "/tmp")
};

static CLINE: ClientHost = ClientHost {
    // Cline keeps 8,000 code units of the whole result as JSON, to which the text belongs, and cuts
    // out the middle.
    limits: &[("", AnswerLimit::new(7900, SizeUnit::JsonUtf16))],
    ..host("@cline/core", Some("CLINE_DIR"), ".cline")
};

/// All known hosts.
pub static HOSTS: [&ClientHost; 9] = [
    &GEMINI_CLI,
    &CLAUDE_CODE,
    &CODEX,
    &QWEN_CODE,
    &OPENCODE,
    &KILO,
    &COPILOT_CLI,
    &GOOSE,
    &CLINE,
];

impl ClientHost {
    /// Returns the host whose MCP client name is a prefix of `client`, or `None` if there is none.
    pub fn find(client: &str) -> Option<&'static Self> {
        HOSTS
            .into_iter()
            .find(|host| client.starts_with(host.client))
    }

    /// Returns true for Gemini CLI, whose settings may name another memory file.
    pub fn is_gemini_cli(&self) -> bool {
        self.directory == ".gemini"
    }

    /// Returns the longest answer that the host passes to `model` unshortened; an empty `model` is
    /// an unknown one. Returns `None` if no limit is known, or if the host's settings decide it.
    pub fn answer_limit(&self, model: &str) -> Option<AnswerLimit> {
        let mut limits = self.limits.iter();
        let (_, limit) = limits.find(|(name, _)| model.starts_with(name))?;
        Some(*limit)
    }

    /// Returns the names of the environment variables that determine the directory, for messages.
    pub fn variables(&self) -> String {
        format!("HOME or {}", self.variable.unwrap_or("GEMINI_CLI_HOME"))
    }

    /// Returns the directory of the user's files, or `None` if it is not known as an absolute path.
    /// `home` is the directory in which Gemini CLI has its `.gemini`; other hosts don't use it.
    pub fn directory(&self, home: Option<&Path>) -> Option<PathBuf> {
        self.directory_with(home, |name| std::env::var_os(name))
    }

    fn directory_with(
        &self,
        home: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        let value = |name| variable(name).filter(|value| !value.is_empty());
        let directory = match self.variable {
            None => home?.join(self.directory),
            Some(variable) => match value(variable) {
                Some(directory) => directory.into(),
                None => Path::new(&value("HOME").unwrap_or_default()).join(self.directory),
            },
        };
        directory.is_absolute().then_some(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::{CODEX, GOOSE, SizeUnit};
    use std::path::Path;

    #[test]
    fn a_directory_that_is_absolute_needs_no_home() {
        let directory = |host: &super::ClientHost| host.directory_with(None, |_| None);
        assert_eq!(directory(&GOOSE).as_deref(), Some(Path::new("/tmp")));
        assert_eq!(directory(&CODEX), None);
    }

    #[test]
    fn the_size_in_json_is_that_of_the_string() {
        for c in ('\0'..'\u{300}').chain(['\u{2028}', '日', '🙂']) {
            let text = format!("{c}a{c}");
            let json = serde_json::Value::from(&*text).to_string();
            let expected = json.encode_utf16().count() - 2;
            assert_eq!(SizeUnit::JsonUtf16.of_text(&text), expected, "{c:?}");
        }
    }
}
