//! `get_tools lint`: checks the tools of the user, the project and MCP servers, or the files that
//! are named: tools, printed declarations, and rule files of `call_tool --check`.

use crate::get_tools::command::{LintFormat, LintOptions};
use crate::get_tools::print::print;
use crate::start::Failure;
use anyhow::{Context, anyhow};
use gemini_tools::answer::to_line;
use gemini_tools::checks::rules::{MAX_RULE_FILE_BYTES, RuleFile};
use gemini_tools::ci::{CheckReport, github, junit, sarif};
use gemini_tools::custom::{Lint, lint_tools};
use gemini_tools::diagnostic::{Diagnostic, Origin};
use gemini_tools::mcp::{ServersToAsk, lint_servers};
use gemini_tools::output::terminal_json;
use gemini_tools::process::{read_named, read_stdin};
use gemini_tools::session::{PolicyOptions, Project, with_time_limit};
use gemini_tools::settings::home;
use gemini_tools::text::{show_path, visible};
use gemini_tools::tool::Cancellation;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

const MAX_BEGINNING_BYTES: u64 = 512;

pub(crate) fn run(options: &LintOptions) -> anyhow::Result<u8> {
    let root = std::env::current_dir().unwrap_or_default();
    let asks = match (options.refresh, options.mcp) {
        (true, _) => ServersToAsk::All,
        (false, true) => ServersToAsk::Unknown,
        (false, false) => ServersToAsk::None,
    };
    let mut lint = if options.files.is_empty() {
        check_tools(&root, asks)?
    } else {
        let unreadable = |e| Failure(2, visible(&format!("{e:#}")).into_owned());
        check_paths(&options.files, &root).map_err(unreadable)?
    };
    for finding in &mut lint.findings {
        if let Some(Origin::File(path)) = &mut finding.place.origin
            && let Ok(inside) = path.strip_prefix(&root)
        {
            *path = inside.to_owned();
        }
    }
    let format = if options.json {
        LintFormat::Json
    } else {
        options.format
    };
    let text = match format {
        LintFormat::Text => as_text(&lint) + &lint.summary() + "\n",
        LintFormat::Json => {
            let lines = lint
                .findings
                .iter()
                .filter_map(|f| serde_json::to_string(f).ok());
            lines.map(|line| line + "\n").collect()
        }
        LintFormat::Sarif => {
            let json = to_line(&sarif(&report(&lint, &root)));
            String::from_utf8_lossy(&terminal_json(&json)).into_owned()
        }
        LintFormat::Junit => junit(&report(&lint, &root)),
        LintFormat::Github => github(&report(&lint, &root)),
    };
    print(text.as_bytes())?;
    Ok(u8::from(lint.has_errors()))
}

fn check_tools(root: &Path, asks: ServersToAsk) -> anyhow::Result<Lint> {
    let project = Project::open(root);
    let of_rules = project.policy(&PolicyOptions::default()).problems;
    let Project { home, settings, .. } = project;
    let lint = lint_tools(&settings, home.as_deref(), root);
    let mut lint = lint.map_err(|e| anyhow!("{e}"))?;
    lint.findings.extend(of_rules);
    let found = lint_servers(&settings, home.as_deref(), root, asks);
    lint.take_servers(found.servers, found.findings, &found.tools);
    Ok(lint)
}

fn check_paths(paths: &[PathBuf], root: &Path) -> anyhow::Result<Lint> {
    let (home, mut all) = (home(), Lint::default());
    for path in paths {
        if path.is_dir() {
            for file in files_in(path, "toml")? {
                let text = read_at_most(&file, MAX_RULE_FILE_BYTES);
                if text.is_ok_and(|text| take_rules(&mut all, &file, &text)) {
                    all.not_tools.insert(root.join(file));
                }
            }
            all.take_path(path, home.as_deref(), root);
            for file in files_in(path, "json")? {
                let text = read(&file)?;
                // Other JSON, such as a package.json, may lie beside lists of declarations.
                if text.trim_start().starts_with('[') {
                    all.take_list(&text, Some(&file));
                }
            }
        } else if is_tool_file(path)? {
            let is_toml = path.extension().is_some_and(|e| e == "toml");
            if !(is_toml && take_rules(&mut all, path, &read_at_most(path, MAX_RULE_FILE_BYTES)?)) {
                all.take_path(path, home.as_deref(), root);
            }
        } else {
            let text = read(path)?;
            if !take_rules(&mut all, path, &text) {
                let file = Some(path.as_path()).filter(|path| path.as_os_str() != "-");
                all.take_list(&text, file);
            }
        }
    }
    Ok(all)
}

/// Checks the text of a rule file of `call_tool --check`. Returns false for any other text.
fn take_rules(all: &mut Lint, path: &Path, text: &str) -> bool {
    let is_one = RuleFile::is_one(text);
    if is_one {
        all.files += 1;
        match RuleFile::read(path, text) {
            Ok(read) => all.rules += read.rules.len(),
            Err(faults) => all.findings.extend(faults),
        }
    }
    is_one
}

fn files_in(directory: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory);
    let entries = entries.with_context(|| show_path(directory).into_owned())?;
    let paths = entries.flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| path.extension().is_some_and(|e| e == extension) && path.is_file();
    let mut files: Vec<PathBuf> = paths.filter(fits).collect();
    files.sort();
    Ok(files)
}

fn is_tool_file(path: &Path) -> anyhow::Result<bool> {
    let extension = path.extension().and_then(OsStr::to_str);
    match extension {
        Some("toml") => return Ok(true),
        Some("json") => return Ok(false),
        // What comes from a pipe can be read only once, and no tool does.
        _ if path.exists() && !path.is_file() || path.as_os_str() == "-" => return Ok(false),
        _ => {}
    }
    let name = || show_path(path).into_owned();
    let mut beginning = Vec::new();
    let file = std::fs::File::open(path).with_context(name)?;
    let read = file.take(MAX_BEGINNING_BYTES).read_to_end(&mut beginning);
    read.with_context(name)?;
    let beginning = beginning.trim_ascii_start();
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    Ok(!beginning.starts_with(b"[") && !beginning.starts_with(b"{"))
}

fn read(path: &Path) -> anyhow::Result<String> {
    read_at_most(path, MAX_FILE_BYTES)
}

fn read_at_most(path: &Path, limit: usize) -> anyhow::Result<String> {
    let cancel = with_time_limit(&Cancellation::default());
    let (name, bytes) = if path.as_os_str() == "-" {
        ("standard input".into(), read_stdin(limit, &cancel))
    } else {
        (show_path(path), read_named(path, limit, &cancel))
    };
    let bytes = bytes.map_err(|e| match cancel.check() {
        Err(interrupted) => anyhow!("{name}: {interrupted}"),
        Ok(()) => anyhow!("{name}: {e}"),
    })?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{name}: it is not text in UTF-8"))
}

fn as_text(lint: &Lint) -> String {
    let lines = lint.findings.iter();
    let lines = lines.map(|finding| format!("{}\n", visible(&finding.to_string())));
    lines.collect()
}

fn report(lint: &Lint, root: &Path) -> CheckReport {
    let issue = |finding: &Diagnostic| {
        let mut issue = finding.clone();
        issue.message = visible(&finding.what()).into_owned();
        (issue.place.tool, issue.place.key) = (String::new(), String::new());
        issue
    };
    let mut report = CheckReport {
        suite: "get_tools lint".to_owned(),
        issues: lint.findings.iter().map(issue).collect(),
        ..CheckReport::default()
    };
    report.use_repository_paths(root);
    report
}
