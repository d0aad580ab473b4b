//! Two examples for each tool, and its errors: what `call_tool NAME --help` and the tool's page
//! have besides the declaration. `tests/docs/tool_help.rs` runs the examples, and each error is
//! provoked by a case of `tests/errors/cases.jsonl`.

use gemini_tools_core::tool::ErrorKind;

/// What is said of a tool.
pub(super) struct Words {
    /// Lines of shell.
    pub(super) examples: &'static [&'static str],
    /// When the tool gives which error, in markdown.
    pub(super) errors: &'static [(ErrorKind, &'static str)],
}

/// What is said of the built-in tool of this name.
pub(super) fn words(name: &str) -> Words {
    use ErrorKind::{
        AttemptToCreateExistingFile, EditExpectedOccurrenceMismatch, EditNoChange,
        EditNoOccurrenceFound, FileNotFound, FileTooLarge, InvalidToolParams, PathIsNotADirectory,
        PathNotInWorkspace, PermissionDenied, PolicyViolation, ReadContentFailure,
        SearchPathNotADirectory, SearchPathNotFound, TargetIsDirectory, Timeout,
        WebFetchNoUrlInPrompt, WebSearchFailed,
    };
    match name {
        "glob" => Words {
            examples: &[
                "call_tool glob '**/*.rs'",
                "call_tool glob '*.md' path=docs",
            ],
            errors: &[
                (SearchPathNotFound, "`path` does not exist"),
                (SearchPathNotADirectory, "`path` is a file"),
                (
                    PathNotInWorkspace,
                    "`path` is outside, or the pattern leads out of it with `..`",
                ),
            ],
        },
        "google_web_search" => Words {
            examples: &[
                "call_tool google_web_search 'release notes of Rust'",
                "echo '{\"query\":\"release notes of Rust\"}' | call_tool google_web_search",
            ],
            errors: &[
                (WebSearchFailed, "there is no credential, or the API fails"),
                (InvalidToolParams, "`query` is blank"),
            ],
        },
        "list_background_processes" => Words {
            examples: &[
                "call_tool list_background_processes",
                "call_tool list_background_processes --output text",
            ],
            errors: &[],
        },
        "list_directory" => Words {
            examples: &[
                "call_tool list_directory src",
                "call_tool list_directory . ignore:='[\"*.lock\"]'",
            ],
            errors: &[
                (FileNotFound, "there is no such directory"),
                (PathIsNotADirectory, "`path` is a file"),
                (PathNotInWorkspace, "`path` is outside"),
            ],
        },
        "read_background_output" => Words {
            examples: &[
                "call_tool read_background_output 4711 lines=20",
                "call_tool read_background_output 4711 pattern='listening on' wait=30",
            ],
            errors: &[(
                InvalidToolParams,
                "`pid` is not a background process of this project",
            )],
        },
        "read_file" => Words {
            examples: &[
                "call_tool read_file README.md limit=20",
                "call_tool read_file src/main.rs start_line=2 end_line=3",
            ],
            errors: &[
                (FileNotFound, "there is no such file"),
                (
                    PathNotInWorkspace,
                    "the path, or a link on it, leads outside",
                ),
                (TargetIsDirectory, "it is a directory"),
                (
                    PermissionDenied,
                    "`.geminiignore` excludes it, or the system denies access",
                ),
                (
                    FileTooLarge,
                    "it is not text, and larger than the limit for media",
                ),
                (
                    ReadContentFailure,
                    "it is a device, FIFO or socket, or reading fails",
                ),
                (InvalidToolParams, "`offset` is beyond the end"),
            ],
        },
        "read_many_files" => Words {
            examples: &[
                "call_tool read_many_files README.md 'src/**/*.rs'",
                "call_tool read_many_files docs exclude:='[\"**/*.svg\"]'",
            ],
            errors: &[(
                InvalidToolParams,
                "`paths` is empty, or has an empty string in it",
            )],
        },
        "replace" => Words {
            examples: &[
                "call_tool replace file_path=README.md old_string=one new_string=two --explain",
                "call_tool replace file_path=README.md old_string=one new_string=two expected_replacements=1",
            ],
            errors: &[
                (
                    FileNotFound,
                    "there is no such file, and `old_string` is not empty",
                ),
                (EditNoOccurrenceFound, "`old_string` is not in the file"),
                (
                    EditExpectedOccurrenceMismatch,
                    "`old_string` occurs more or less often than expected",
                ),
                (EditNoChange, "`old_string` and `new_string` are the same"),
                (
                    AttemptToCreateExistingFile,
                    "`old_string` is empty, and the file exists",
                ),
                (TargetIsDirectory, "it is a directory"),
                (
                    PathNotInWorkspace,
                    "the path, or a link on it, leads outside",
                ),
                (
                    InvalidToolParams,
                    "`new_string` has a placeholder in place of code, such as `// ... existing code ...`, that the file does not have",
                ),
            ],
        },
        "run_shell_command" => Words {
            examples: &[
                "call_tool run_shell_command 'make test' timeout=600 --propagate-status",
                "call_tool run_shell_command 'sleep 60' is_background=true",
            ],
            errors: &[
                (
                    Timeout,
                    "the time limit is reached; every process that the command started is ended",
                ),
                (FileNotFound, "`directory` does not exist"),
                (PathIsNotADirectory, "`directory` is a file"),
                (PathNotInWorkspace, "`directory` is outside"),
                (
                    InvalidToolParams,
                    "`command` is blank, `timeout` out of range, or `directory` the name of several roots",
                ),
            ],
        },
        "save_memory" => Words {
            examples: &[
                "call_tool save_memory 'The tests need a database.'",
                "echo '{\"fact\":\"The tests need a database.\"}' | call_tool save_memory",
            ],
            errors: &[(InvalidToolParams, "`fact` is blank or too long")],
        },
        "search_file_content" => Words {
            examples: &[
                "call_tool search_file_content 'TODO|FIXME' include='*.rs' context=1",
                "call_tool search_file_content 'main(' fixed_strings=true names_only=true",
            ],
            errors: &[
                (
                    InvalidToolParams,
                    "`pattern` is not a valid regular expression; the message shows where",
                ),
                (SearchPathNotFound, "`path` does not exist"),
                (PathNotInWorkspace, "`path` is outside"),
                (
                    PermissionDenied,
                    "`path` is a file that `.geminiignore` excludes",
                ),
            ],
        },
        "smart_edit" => Words {
            examples: &[
                "call_tool smart_edit file_path=README.md old_string=one new_string=two instruction='Count on.' --explain",
                "call_tool smart_edit file_path=README.md old_string=one new_string=two instruction='Count on.'",
            ],
            errors: &[
                (
                    FileNotFound,
                    "there is no such file, and `old_string` is not empty",
                ),
                (
                    EditNoOccurrenceFound,
                    "no tier of edit matching finds `old_string`",
                ),
                (
                    EditExpectedOccurrenceMismatch,
                    "`old_string` matches several places",
                ),
                (EditNoChange, "`old_string` and `new_string` are the same"),
                (
                    AttemptToCreateExistingFile,
                    "`old_string` is empty, and the file exists",
                ),
                (
                    PathNotInWorkspace,
                    "the path, or a link on it, leads outside",
                ),
                (
                    InvalidToolParams,
                    "`new_string` has a placeholder in place of code, such as `// ... existing code ...`, that the file does not have",
                ),
            ],
        },
        "stop_background_process" => Words {
            examples: &[
                "call_tool stop_background_process 4711",
                "echo '{\"pid\":4711}' | call_tool stop_background_process",
            ],
            errors: &[(
                InvalidToolParams,
                "`pid` is not a background process of this project",
            )],
        },
        "web_fetch" => Words {
            examples: &[
                "call_tool web_fetch https://www.rust-lang.org/",
                "call_tool web_fetch prompt='Summarise https://www.rust-lang.org/'",
            ],
            errors: &[
                (WebFetchNoUrlInPrompt, "`prompt` has no URL"),
                (
                    PolicyViolation,
                    "a URL leads to an address that is not public, and the user has not allowed its host",
                ),
                (InvalidToolParams, "`prompt` has too many URLs"),
            ],
        },
        "write_file" => Words {
            examples: &[
                "call_tool write_file file_path=notes.md content='A note.'",
                "jq -n --rawfile content README.md '{file_path: \"copy.md\", $content}' | call_tool write_file",
            ],
            errors: &[
                (TargetIsDirectory, "it is a directory"),
                (PathIsNotADirectory, "a part of the path is a file"),
                (
                    PathNotInWorkspace,
                    "the path, or a link on it, leads outside",
                ),
                (ReadContentFailure, "it is a device, FIFO or socket"),
                (
                    InvalidToolParams,
                    "`content` has a placeholder in place of code, such as `// ... existing code ...`, that the file does not have",
                ),
            ],
        },
        _ => Words {
            examples: &[],
            errors: &[],
        },
    }
}
