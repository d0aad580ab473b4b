//! `call_tool --check`, and searches that are used as checks: applies rules to files and prints one
//! report.

use crate::call_tool::ci::{FOUND, UNCHECKED, document};
use crate::call_tool::input::{arguments, read_bytes, unread};
use crate::call_tool::options::{CallToolOptions, CiFormat};
use crate::call_tool::print::{Medium, print};
use crate::call_tool::{call_options, input, open_session, person, shows_colours, status};
use gemini_tools::answer::Answer;
use gemini_tools::builtin;
use gemini_tools::checks::baseline::Baseline;
use gemini_tools::checks::rules::{Demand, LineRule, Rule, RuleFile};
use gemini_tools::checks::run::{Outcome, Selection, run as run_rules};
use gemini_tools::checks::{changed, report};
use gemini_tools::ci::CheckReport;
use gemini_tools::diagnostic::{Diagnostic, Origin, Severity};
use gemini_tools::json::MAX_BYTES;
use gemini_tools::process::read_named;
use gemini_tools::session::Session;
use gemini_tools::text::{counted, line_name, show_path, unread_sentence};
use gemini_tools::tool::{Cancellation, Context, ToolError, ToolResult, convert};
use gemini_tools::workspace::pattern::split_list;
use gemini_tools::workspace::{WorkspacePath, atomic_file};
use rustix::fs::Access;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The tool that the policy must allow before files are checked, because a check reads files as
/// that tool does.
const SEARCH: &str = "search_file_content";

/// The arguments of a search that may also be used as a check.
const SEARCH_KEYS: [&str; 7] = [
    "case_sensitive",
    "exclude_pattern",
    "fixed_strings",
    "include",
    "no_ignore",
    "path",
    "pattern",
];

enum Failure {
    Faults(Vec<Diagnostic>),
    Error(ToolError),
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

struct Check {
    session: Session,
    rules: RuleFile,
    selection: Selection,
    baselines: Vec<PathBuf>,
    suite: &'static str,
}

/// Returns a directory without links. Of a file named without one that is the current directory.
fn real_directory(path: &Path) -> Option<PathBuf> {
    let is_here = path.as_os_str().is_empty();
    std::fs::canonicalize(if is_here { Path::new(".") } else { path }).ok()
}

pub(crate) fn run(options: &CallToolOptions, cancel: &Cancellation) -> u8 {
    let done = Check::open(options, cancel).and_then(|mut check| check.make(options, cancel));
    done.unwrap_or_else(|failure| print_failure(options, failure, cancel))
}

impl Check {
    fn open(options: &CallToolOptions, cancel: &Cancellation) -> Result<Self, Failure> {
        let session = open_session(options)?;
        let mut check = Self {
            session,
            rules: RuleFile::default(),
            selection: Selection::default(),
            baselines: options.baseline.iter().cloned().collect(),
            suite: "call_tool --check",
        };
        if options.check.is_empty() {
            check.read_search(options, cancel)?;
        } else {
            check.judge(options, json!({ "pattern": "." }), cancel)?;
            check.read_rules(options, cancel)?;
        }
        check.select(options, cancel)?;
        Ok(check)
    }

    fn judge(
        &self,
        options: &CallToolOptions,
        args: Value,
        cancel: &Cancellation,
    ) -> Result<(), ToolError> {
        let person = person(options, cancel);
        let mut how = call_options(options, person.as_ref());
        how.is_strict = true;
        how.is_explained = true;
        let mut cx = Context::new(cancel.clone(), false);
        let explained = self.session.run(SEARCH, args, how, &mut cx).outcome?;
        match explained.error {
            Some(refused) => Err(ToolError::denied(refused.message)),
            None => Ok(()),
        }
    }

    fn read_rules(
        &mut self,
        options: &CallToolOptions,
        cancel: &Cancellation,
    ) -> Result<(), Failure> {
        let mut faults = Vec::new();
        for file in &options.check {
            match RuleFile::load(file, cancel) {
                Ok(mut read) => {
                    let root = self.session.tool_env().workspace.root();
                    let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                    let name = whole.strip_prefix(root).unwrap_or(&whole);
                    for rule in &mut read.rules {
                        rule.place.origin = Some(Origin::File(name.to_owned()));
                    }
                    let beside = file.parent().unwrap_or(Path::new(""));
                    let named = read.baseline.as_ref().map(|path| beside.join(path));
                    if let Some(far) = named.iter().find(|named| !self.is_near(named, beside)) {
                        let what = format!(
                            "{}: The baseline {} is neither beside the rules nor in the project.",
                            show_path(file),
                            show_path(far)
                        );
                        let hint = "--baseline FILE takes any file.";
                        return Err(ToolError::invalid(what).with_hint(hint).into());
                    }
                    self.baselines.extend(named);
                    self.rules.add(read).map_err(ToolError::invalid)?;
                }
                Err(mut found) => faults.append(&mut found),
            }
            cancel.check()?;
        }
        if !faults.is_empty() {
            return Err(Failure::Faults(faults));
        }
        let real = self
            .baselines
            .iter()
            .map(|file| std::fs::canonicalize(file).ok());
        if options.baseline.is_none() && real.collect::<BTreeSet<_>>().len() > 1 {
            let what = "The rule files name different baselines, but a check has one.";
            let hint = "--baseline FILE says which. Or check the rule files one by one.";
            return Err(ToolError::invalid(what).with_hint(hint).into());
        }
        Ok(())
    }

    /// Returns true if a baseline that a rule file names is below the file's directory or in the
    /// project, also after links: an update writes it, whoever wrote the rules.
    fn is_near(&self, named: &Path, beside: &Path) -> bool {
        let real = match std::fs::canonicalize(named) {
            Ok(real) => Some(real),
            Err(_) if named.is_symlink() => None,
            Err(_) => named.parent().and_then(real_directory),
        };
        let root = self.session.tool_env().workspace.root();
        let mut near = [beside, root].into_iter().filter_map(real_directory);
        real.is_some_and(|real| near.any(|directory| real.starts_with(directory)))
    }

    fn read_search(
        &mut self,
        options: &CallToolOptions,
        cancel: &Cancellation,
    ) -> Result<(), Failure> {
        let known = builtin::find(&options.name).is_some_and(|known| known.name == SEARCH);
        if !known {
            let what = format!("Only a search can be a check, not {:?}.", options.name);
            return Err(ToolError::invalid(what)
                .with_hint(format!("Use it with {SEARCH}."))
                .into());
        }
        let input = input(options, cancel)?;
        let cx = Context::new(cancel.clone(), false);
        let args = arguments(options, &self.session, &input, &cx)?;
        let args = self.session.with_tool(SEARCH, &cx, |tool| {
            let mut args = args;
            convert(tool, &mut args);
            args
        })?;
        let keys = args.as_object().into_iter().flat_map(|args| args.keys());
        if let Some(other) = keys
            .into_iter()
            .find(|key| !SEARCH_KEYS.contains(&key.as_str()))
        {
            let what = format!("{other:?} says nothing for a search that is a check.");
            let known = SEARCH_KEYS.join(", ");
            return Err(ToolError::invalid(what)
                .with_hint(format!("It takes {known}."))
                .into());
        }
        self.judge(options, args.clone(), cancel)?;
        self.suite = SEARCH;
        self.rules.rules.push(rule_of_search(options, &args)?);
        self.selection.no_ignore = args["no_ignore"].as_bool().unwrap_or_default();
        self.selection.path = args["path"].as_str().map(str::to_owned);
        Ok(())
    }

    fn select(
        &mut self,
        options: &CallToolOptions,
        cancel: &Cancellation,
    ) -> Result<(), ToolError> {
        let workspace = &self.session.tool_env().workspace;
        let own = options.check.iter().chain(&self.baselines);
        let own = own.filter_map(|file| workspace.place_of(&std::path::absolute(file).ok()?));
        let name = |place: WorkspacePath| {
            let shown = workspace.display(place.path());
            shown.as_os_str().as_bytes().to_vec()
        };
        self.selection.except = own.map(name).collect();
        let selection = &mut self.selection;
        if let Some(file) = &options.files_from {
            let word = format!("--files-from {}", show_path(file));
            let list = read_bytes(&word, file, cancel)?;
            let names: Vec<_> = changed::split_names(&list).collect();
            if names.is_empty() {
                return Err(ToolError::invalid(
                    "The list of files is empty, so nothing was checked.",
                )
                .with_hint("--changed BASE asks git, and passes where nothing has changed."));
            }
            selection.files = Some(names);
        }
        if let Some(base) = &options.changed {
            selection.files = Some(changed::files(workspace.root(), base, cancel)?);
        }
        if let Some(base) = &options.changed_lines {
            let lines = changed::lines(workspace, base, cancel)?;
            selection.files = Some(lines.files());
            selection.lines = Some(lines);
        }
        if selection.files.is_some() && selection.path.is_some() {
            return Err(ToolError::invalid(
                "\"path\" says what is searched, and so does the list of files.",
            )
            .with_hint("Leave out path, or use include."));
        }
        Ok(())
    }

    fn make(&mut self, options: &CallToolOptions, cancel: &Cancellation) -> Result<u8, Failure> {
        let (known, text) = self.known(options, cancel)?.unzip();
        let selection = std::mem::take(&mut self.selection);
        let is_whole = selection.files.is_none();
        let workspace = &self.session.tool_env().workspace;
        let rules = &self.rules.rules;
        let mut outcome = run_rules(rules, workspace, &selection, known, cancel)?;
        outcome.remarks.extend(self.includes_of_nothing());
        if is_whole && outcome.unreadable == 0 {
            self.check_seen(&outcome)?;
        }
        if options.files_from.is_some() {
            check_list(&outcome)?;
        }
        if options.update_baseline {
            return Ok(self.update(text, outcome)?);
        }
        let mut found = report::report(self.suite, rules, &outcome);
        // If a search is used as a check, any finding is a breach, whatever its level.
        found.fails = match options.fail_level.or(self.rules.fail_level) {
            _ if options.check.is_empty() => Severity::Repair,
            level => level.unwrap_or_default(),
        };
        let fails = found.fails;
        if options.report == Some(CiFormat::Sarif) {
            report::add_fingerprints(&mut found, workspace);
        }
        if !self.print(options, found, &outcome) {
            return Ok(UNCHECKED);
        }
        let mut counts = rules.iter().zip(&outcome.counts);
        Ok(
            match counts.any(|(rule, count)| *count > rule.max && rule.level <= fails) {
                true => FOUND,
                // The files that could not be read may have findings.
                false if outcome.unreadable > 0 => UNCHECKED,
                false => 0,
            },
        )
    }

    /// Says which patterns name a directory, and so none of its files, or begin with one that is not
    /// there: beside others that match, such a pattern would make the project look clean.
    fn includes_of_nothing(&self) -> Vec<String> {
        let root = self.session.tool_env().workspace.root();
        let mut said = Vec::new();
        for rule in &self.rules.rules {
            let id = &rule.id;
            for name in rule.included().map(|pattern| pattern.trim_matches('/')) {
                let plain = name.find(['*', '?', '[', '{', '(']).unwrap_or(name.len());
                let directory = name[..plain].rfind('/').map_or("", |end| &name[..end]);
                if plain == name.len() && root.join(name).is_dir() {
                    said.push(format!(
                        "Rule {id}: {name:?} is a directory: {name}/** are its files."
                    ));
                } else if !root.join(directory).is_dir() {
                    said.push(format!("Rule {id}: there is no directory {directory:?}."));
                }
            }
        }
        said
    }

    /// Refuses a check if one of its rules applies to no file: otherwise a typo in a pattern would
    /// make the project look clean.
    fn check_seen(&self, outcome: &Outcome) -> Result<(), ToolError> {
        let rules = self.rules.rules.iter().zip(&outcome.seen);
        let mut unseen = rules.filter(|(rule, seen)| {
            **seen == 0 && !matches!(rule.demand, Demand::File | Demand::NoFile)
        });
        let Some((rule, _)) = unseen.next() else {
            return Ok(());
        };
        let about = match rule.include.as_slice() {
            [] => "There is no file".to_owned(),
            include => format!("No file matches the include {:?}", include.join(",")),
        };
        let what = format!("Rule {}: {about}, so nothing was looked at.", rule.id);
        Err(ToolError::invalid(what)
            .with_hint(
                "Check its spelling: patterns count from the project's root. Lines of rule files and the \
                 baseline are not checked.",
            ))
    }

    /// Reads the baseline. Returns it with its text, or `None` if none is named, or if the file is
    /// not there yet and will be created.
    fn known(
        &self,
        options: &CallToolOptions,
        cancel: &Cancellation,
    ) -> Result<Option<(Baseline, String)>, ToolError> {
        let Some(file) = self.baselines.first() else {
            if options.update_baseline {
                return Err(
                    ToolError::invalid("There is no baseline to write.").with_hint(
                        "Name one: --baseline FILE, or baseline = \"FILE\" in the rule file.",
                    ),
                );
            }
            return Ok(None);
        };
        let name = show_path(file);
        let bytes = match read_named(file, MAX_BYTES, cancel) {
            Ok(bytes) => bytes,
            Err(e) if options.update_baseline && e.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(e) => {
                let error = unread(cancel, &format!("The baseline {name} can't be read: {e}."));
                return Err(match e.kind() {
                    ErrorKind::NotFound if !options.check.is_empty() => {
                        error.with_hint("--update-baseline writes it.")
                    }
                    _ => error,
                });
            }
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let known = Baseline::read(&text).map_err(|line| {
            ToolError::invalid(format!("Line {line} of the baseline {name} is no finding."))
                .with_hint("It needs a rule, a file and a text with tabs between them.")
        })?;
        Ok(Some((known, text)))
    }

    fn update(&self, text: Option<String>, outcome: Outcome) -> Result<u8, ToolError> {
        let file = self
            .baselines
            .first()
            .map_or(Path::new(""), PathBuf::as_path);
        // What is not found in a file that could not be read is not gone.
        if outcome.unreadable > 0 {
            let unread = unread_sentence(outcome.unreadable, &outcome.unreadable_places);
            return Err(ToolError::failed(format!(
                "The baseline {} is left as it is. {unread}",
                show_path(file)
            )));
        }
        let rules = &self.rules.rules;
        let (is_new, gone) = (text.is_none(), outcome.gone.unwrap_or_default());
        let text = match text {
            Some(text) => gone.taken_out_of(&text),
            None => Baseline::of(rules, &outcome.findings).text(),
        };
        if is_new && outcome.is_cut || text.len() > MAX_BYTES {
            return Err(
                ToolError::invalid("There are too many findings for a baseline.")
                    .with_hint("Give the rules an include, or a max."),
            );
        }
        let name = show_path(file);
        replace_file(file, text.as_bytes()).map_err(|e| {
            ToolError::invalid(format!("The baseline {name} can't be written: {e}."))
        })?;
        let counts = rules.iter().zip(&outcome.counts);
        let new = counts.filter(|(rule, count)| !is_new && **count > rule.max);
        let new = new.map(|(_, count)| count).sum();
        let more = match new {
            0 => String::new(),
            new => format!(" {} new, which it does not get.", counted(new, "finding")),
        };
        let has = Baseline::read(&text).unwrap_or_default().count();
        let said = format!("{name} has {}.{more}\n", counted(has, "finding"));
        if !print(said.as_bytes(), Medium::Text) {
            return Ok(UNCHECKED);
        }
        Ok(u8::from(new > 0))
    }

    fn print(&self, options: &CallToolOptions, mut found: CheckReport, outcome: &Outcome) -> bool {
        let root = self.session.tool_env().workspace.root();
        if let Some(format) = options.report {
            found.use_repository_paths(root);
            if format == CiFormat::Sarif {
                found.keep_most_severe(MAX_UPLOADED);
            }
            return print(&document(format, &found), Medium::Text);
        }
        let directory = std::env::current_dir().unwrap_or_default();
        for issue in &mut found.issues {
            if let Some(Origin::File(file)) = &mut issue.place.origin {
                let whole = root.join(&*file);
                let below = whole.strip_prefix(&directory).map(Path::to_owned);
                *file = below.unwrap_or(whole);
            }
        }
        let text = report::text(&found, &self.rules.rules, outcome, shows_colours(options));
        print(text.as_bytes(), Medium::Text)
    }
}

/// Refuses a list of which no file was looked at: a list in another form, or whose names count from
/// another directory, would make the project look clean.
fn check_list(outcome: &Outcome) -> Result<(), ToolError> {
    let Some((first, why)) = &outcome.nothing else {
        return Ok(());
    };
    let what = format!(
        "Nothing of the list can be looked at: {} {why}.",
        line_name(first)
    );
    let hint = if first.ends_with(b"\r") {
        "Its lines end with a carriage return, as on Windows, which is no part of a name."
    } else {
        "Names count from the project's root: git diff has --relative for that."
    };
    Err(ToolError::invalid(what).with_hint(hint))
}

/// Writes a file that may be there already. It keeps its mode and, if it is a link, its place; one
/// that may not be written to is left as it is.
fn replace_file(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let whole = match std::fs::canonicalize(file) {
        Ok(real) => {
            rustix::fs::access(&real, Access::WRITE_OK)?;
            real
        }
        Err(_) => std::path::absolute(file)?,
    };
    atomic_file::put(&whole, content, 0o666, Some(&whole), false)
}

/// The most results of a run that GitHub's code scanning takes; it refuses an upload with more.
const MAX_UPLOADED: usize = 25_000;

fn rule_of_search(options: &CallToolOptions, args: &Value) -> Result<Rule, ToolError> {
    let text = |key: &str| args[key].as_str().filter(|text| !text.is_empty());
    let flag = |key: &str| args[key].as_bool().unwrap_or_default();
    let message = options.message.clone().unwrap_or_default();
    let pattern = text("pattern").unwrap_or_default();
    let (ignores_case, fixed) = (!flag("case_sensitive"), flag("fixed_strings"));
    let lines = LineRule::new(pattern, text("exclude_pattern"), ignores_case, fixed)?;
    let include = split_list(text("include").unwrap_or_default());
    Ok(Rule {
        id: options.rule_id.clone().unwrap_or_else(|| SEARCH.to_owned()),
        demand: if options.files_without_match {
            Demand::Match(lines)
        } else {
            Demand::NoMatch(lines)
        },
        include: include.into_iter().map(str::to_owned).collect(),
        exclude: Vec::new(),
        level: options.level.unwrap_or(Severity::Error),
        message,
        help: String::new(),
        url: String::new(),
        max: options.max.unwrap_or_default(),
        place: Box::default(),
    })
}

fn print_failure(options: &CallToolOptions, failure: Failure, cancel: &Cancellation) -> u8 {
    let mut report = CheckReport {
        suite: "call_tool --check".to_owned(),
        ..CheckReport::default()
    };
    let (text, status) = match failure {
        Failure::Faults(faults) => {
            let lines: Vec<String> = faults.iter().map(Diagnostic::to_string).collect();
            report.issues = faults;
            report.failure = Some("The rules have faults, so nothing was checked.".to_owned());
            report.use_repository_paths(&std::env::current_dir().unwrap_or_default());
            (lines.join("\n"), UNCHECKED)
        }
        Failure::Error(error) => {
            let answer: Answer<'_> = Answer {
                name: &options.name,
                id: None,
                outcome: Err::<ToolResult, _>(error),
            };
            report.failure = answer.failure().map(|(message, _)| message);
            let status = match status(&answer, cancel) {
                FOUND => UNCHECKED,
                status => status,
            };
            (
                format!("call_tool: {}", answer.to_text().trim_end()),
                status,
            )
        }
    };
    match options.report {
        Some(format) => print(&document(format, &report), Medium::Text),
        None => print(text.trim_end().as_bytes(), Medium::Complaint),
    };
    status
}
