//! `get_tools lint`: what is wrong with the tools of the user, of the project and of MCP servers,
//! or with declarations in files, and what was repaired.

use crate::print::{print, warn};
use gemini_tools::answer::to_line;
use gemini_tools::ci::{CheckReport, github, junit, sarif};
use gemini_tools::custom::{Lint, lint_tools};
use gemini_tools::diagnostic::Diagnostic;
use gemini_tools::dialect::Dialect;
use gemini_tools::lint::lint;
use gemini_tools::mcp::Asks;
use gemini_tools::settings::{Settings, home};
use gemini_tools::text::{show_path, visible};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of a list of declarations, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What is asked for.
pub(crate) struct LintTask {
    /// Files of declarations; none for the tools that can be called here.
    pub(crate) files: Vec<PathBuf>,
    /// Whose they are, where that is said.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) output: Output,
    /// Which MCP servers to ask.
    pub(crate) asks: Asks,
}

/// How it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Text,
    Json,
    Sarif,
    Junit,
    Github,
    /// The declarations themselves.
    Repaired,
}

/// Prints what was found. Exits with 1 where a tool is left out or refused.
pub(crate) fn run(task: &LintTask) -> u8 {
    let mut repaired = Vec::new();
    let looked = if task.files.is_empty() {
        of_tools(task.asks).map_err(|message| (message, 1))
    } else {
        of_files(task, &mut repaired).map_err(|message| (message, 2))
    };
    let lint = match looked {
        Ok(lint) => lint,
        Err((message, status)) => {
            warn(&format!("get_tools: {}", visible(&message)));
            return status;
        }
    };
    let text = match task.output {
        Output::Text => as_text(&lint) + &lint.summary() + "\n",
        Output::Json => {
            let lines = lint
                .findings
                .iter()
                .filter_map(|f| serde_json::to_string(f).ok());
            lines.map(|line| line + "\n").collect()
        }
        Output::Sarif => String::from_utf8(to_line(&sarif(&report(&lint)))).unwrap_or_default(),
        Output::Junit => junit(&report(&lint)),
        Output::Github => github(&report(&lint)),
        Output::Repaired => {
            let findings = as_text(&lint);
            if !findings.is_empty() {
                warn(findings.trim_end());
            }
            format!("[{}]\n", repaired.join(","))
        }
    };
    match print(text.as_bytes()) {
        0 => u8::from(lint.has_errors()),
        status => status,
    }
}

fn of_tools(asks: Asks) -> Result<Lint, String> {
    let root = std::env::current_dir().unwrap_or_default();
    let home = home();
    let settings = Settings::load(home.as_deref(), &root);
    lint_tools(&settings, home.as_deref(), &root, asks).map_err(|e| e.to_string())
}

fn of_files(task: &LintTask, repaired: &mut Vec<String>) -> Result<Lint, String> {
    let mut all = Lint::default();
    for path in &task.files {
        let text = read(path)?;
        let linted = lint(&text, task.dialect);
        all.files += 1;
        all.tools += linted.tools;
        repaired.extend(linted.repaired);
        let in_file = |finding: Diagnostic| {
            if path.as_os_str() == "-" {
                finding
            } else {
                finding.in_file(path)
            }
        };
        all.findings
            .extend(linted.findings.into_iter().map(in_file));
    }
    Ok(all)
}

fn read(path: &Path) -> Result<String, String> {
    let (name, mut reader): (_, Box<dyn Read>) = if path.as_os_str() == "-" {
        ("standard input".to_owned(), Box::new(std::io::stdin()))
    } else {
        let name = show_path(path).into_owned();
        let file = std::fs::File::open(path).map_err(|e| format!("{name}: {e}"))?;
        (name, Box::new(file))
    };
    let mut bytes = Vec::new();
    let limited = &mut reader.by_ref().take(MAX_FILE_BYTES + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|e| format!("{name}: {e}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("{name}: it is larger than {MAX_FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name}: it is not text in UTF-8"))
}

fn as_text(lint: &Lint) -> String {
    let lines = lint.findings.iter();
    let lines = lines.map(|finding| format!("{}\n", visible(&finding.to_string())));
    lines.collect()
}

fn report(lint: &Lint) -> CheckReport {
    let issue = |finding: &Diagnostic| {
        let mut issue = finding.clone();
        issue.message = visible(&finding.what()).into_owned();
        (issue.place.tool, issue.place.key) = (String::new(), String::new());
        issue
    };
    CheckReport {
        suite: "get_tools lint".to_owned(),
        issues: lint.findings.iter().map(issue).collect(),
        ..CheckReport::default()
    }
}
