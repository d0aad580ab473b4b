//! `--history` and `--undo`: lists the changes that tools have made, and undoes them.

use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::{Medium, is_stdout_terminal, print, print_json};
use crate::start::{tell, warn};
use chrono::{DateTime, SecondsFormat};
use gemini_tools::builtin::memory_files;
use gemini_tools::colours;
use gemini_tools::journal::{
    FileOutcome, FileState, Filter, History, JournalEntry, UNDO, Undo, UndoLock, now,
};
use gemini_tools::session::Session;
use gemini_tools::settings::home;
use gemini_tools::text::{counted, harmless_lines, line_name, path_from_argument, visible};
use gemini_tools::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools::workspace::show_path;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) fn run(options: &CallToolOptions, cancel: &Cancellation) -> anyhow::Result<u8> {
    let no_home = || {
        ToolError::failed("There is no home directory with a journal.")
            .with_hint("Set HOME or GEMINI_CLI_HOME to an absolute path.")
    };
    let home = home().ok_or_else(no_home)?;
    let mut session = crate::call_tool::open_session(options)?;
    if options.undo.is_some() {
        session.remember_by_caller();
    }
    if options.prune_history {
        if let Some(journal) = session.journal() {
            journal.prune();
        }
        return Ok(0);
    }
    let unreadable = |e: io::Error| {
        let why = format!("The journal can't be read: {e}.");
        ToolError::new(ErrorKind::ReadContentFailure, why)
    };
    let workspace = &session.tool_env().workspace;
    let say = |notes: Vec<String>| {
        for note in notes {
            warn(&visible(&note));
        }
    };
    // Neither a list nor an explanation changes anything.
    let lock = if options.undo.is_some() && !options.explain {
        let lock = UndoLock::wait(&home, cancel)?;
        say(workspace.finish_interrupted());
        Some(lock)
    } else {
        say(workspace.pending_changes());
        None
    };
    let history = History::load(&home).map_err(unreadable)?;
    let view = View {
        session: &session,
        history: &history,
        json: options.json,
        has_colours: crate::call_tool::shows_colours(options),
    };
    let filter = filter(options, &session, &history)?;
    if options.undo.is_none() {
        return Ok(view.list(&history.chosen(&filter)));
    }
    view.take_back(options, &home, &history.steps(&filter), cancel, lock)
}

/// Returns which changes the command line selects. An undo without ids, session and time selects
/// the latest change that was not undone.
fn filter(
    options: &CallToolOptions,
    session: &Session,
    history: &History,
) -> Result<Filter, ToolError> {
    let workspace = &session.tool_env().workspace;
    let mut filter = Filter {
        session: options.session.clone(),
        since: options.since.map(|span| now().saturating_sub(span)),
        ..Filter::default()
    };
    if !options.all {
        filter.roots = workspace.roots().map(Path::to_owned).collect();
    }
    let path_of = |argument: &OsString| {
        if argument.is_empty() {
            // Joined to the root, it would stand for the whole project.
            return Err(ToolError::invalid("The path must not be empty.")
                .with_hint("Leave it out for the whole project."));
        }
        // Names are taken as they are printed, or as their bytes.
        let path = argument.to_str().map(path_from_argument);
        let path = path.unwrap_or_else(|| PathBuf::from(argument));
        Ok(real_path(&workspace.root().join(path)))
    };
    let names = options.history.iter().flatten();
    for name in names.chain(options.undo.iter().flatten()) {
        let path = path_of(name)?;
        let everything = || Filter {
            roots: filter.roots.clone(),
            ..Filter::default()
        };
        let (mut by_id, mut by_path) = (everything(), everything());
        by_id.ids.extend(name.to_str().map(str::to_owned));
        by_path.paths.push(path.clone());
        if !by_id.ids.is_empty() && !history.chosen(&by_id).is_empty() {
            filter.ids.append(&mut by_id.ids);
        } else if options.history.is_some() && path.exists() || !history.chosen(&by_path).is_empty()
        {
            filter.paths.push(path);
        } else {
            return Err(ToolError::invalid(format!(
                "There is no change with the id or path \"{}\" in this project.",
                line_name(name.as_bytes())
            ))
            .with_hint("call_tool --history lists them."));
        }
    }
    if !filter.ids.is_empty() && !filter.paths.is_empty() {
        return Err(ToolError::invalid(
            "Ids of changes and paths can't be given together.",
        ));
    }
    let narrows = !filter.ids.is_empty() || filter.session.is_some() || filter.since.is_some();
    filter.standing = options.undo.is_some() && !narrows;
    Ok(filter)
}

fn real_path(path: &Path) -> PathBuf {
    let real = |existing: &Path| {
        let real = std::fs::canonicalize(existing).ok()?;
        let rest = path.strip_prefix(existing).ok()?;
        Some(real.components().chain(rest.components()).collect())
    };
    path.ancestors().find_map(real).unwrap_or(path.to_owned())
}

struct View<'a> {
    session: &'a Session,
    history: &'a History,
    json: bool,
    has_colours: bool,
}

impl View<'_> {
    /// Returns a path for people: relative to the project, with control characters and line breaks
    /// escaped, as `--undo` and `--history` take it.
    fn display(&self, path: &Path) -> String {
        let path = self.session.tool_env().workspace.display(path);
        line_name(path.as_os_str().as_bytes()).into_owned()
    }

    fn display_diff(&self, diff: &str) -> String {
        if !is_stdout_terminal() {
            return diff.to_owned();
        }
        let diff = harmless_lines(diff);
        if self.has_colours {
            colours::diff(&diff)
        } else {
            diff
        }
    }

    fn list(&self, chosen: &[usize]) -> u8 {
        let mut text = String::with_capacity(chosen.len() * if self.json { 400 } else { 100 });
        let now = now();
        // Consecutive changes are often of the same file, so its path is only converted once.
        let (mut path, mut shown) = (Cow::Borrowed(Path::new("")), String::new());
        for index in chosen {
            let entry = &self.history.entries[*index];
            if self.json {
                let line = serde_json::to_string(&self.entry_json(*index, entry));
                text.push_str(&line.unwrap_or_default());
            } else {
                let next = entry.path();
                if next.as_os_str() != path.as_os_str() {
                    shown = self.display(&next);
                    path = next;
                }
                self.push_line(&mut text, *index, &shown, now);
            }
            text.push('\n');
        }
        if text.is_empty() {
            if !self.json {
                warn("No tool has changed anything here that is still kept.");
            }
            return 0;
        }
        if self.json {
            return print_json(text.as_bytes(), 0);
        }
        u8::from(!print(text.as_bytes(), Medium::Text))
    }

    fn push_line(&self, text: &mut String, index: usize, path: &str, now: u64) {
        use std::fmt::Write;
        let entry = &self.history.entries[index];
        let _ = write!(
            text,
            "{}  {:>7}  {:<12}  {:<11}  {}  {}",
            visible(&entry.id),
            age(now.saturating_sub(entry.at)),
            visible(&entry.by),
            visible(&entry.tool),
            entry.change(),
            path
        );
        match (&entry.line, &entry.command) {
            (Some(line), _) => {
                let _ = write!(text, "  ({})", visible(&line.replace('\n', " ")));
            }
            (None, Some(command)) if entry.tool != UNDO && command != &entry.id => {
                let _ = write!(text, "  (with {})", visible(command));
            }
            _ => {}
        }
        if let Some(by) = self.history.undone_by(index) {
            let _ = write!(text, "  (undone by {})", visible(&by.id));
        } else if let Some(reason) = entry.loss() {
            let _ = write!(text, "  (can't be undone: {})", visible(reason));
        }
    }

    fn entry_json<'s>(&'s self, index: usize, entry: &'s JournalEntry) -> EntryJson<'s> {
        EntryJson {
            id: &entry.id,
            time: iso(entry.at),
            by: &entry.by,
            session: &entry.session,
            tool: &entry.tool,
            call: entry.call.as_deref(),
            command: entry.command.as_deref(),
            line: entry.line.as_deref(),
            change: entry.change(),
            path: show_path(&entry.path()).into_owned(),
            before: entry.before.as_ref().map(state_json),
            after: entry.after.as_ref().map(state_json),
            undoes: &entry.undoes,
            undone_by: self.history.undone_by(index).map(|by| by.id.as_str()),
            not_kept: entry.loss(),
        }
    }

    fn take_back(
        &self,
        options: &CallToolOptions,
        home: &Path,
        steps: &[Vec<usize>],
        cancel: &Cancellation,
        lock: Option<UndoLock>,
    ) -> anyhow::Result<u8> {
        let tool_env = self.session.tool_env();
        let undo = Undo {
            workspace: &tool_env.workspace,
            memory: memory_files(&tool_env.workspace, &tool_env.settings),
            is_explained: options.explain,
            cancel: cancel.clone(),
        };
        let unchanged = (!options.explain).then(|| undo.workspace.seen_files());
        let (mut at, mut outcomes) = (0, Vec::new());
        for (i, step) in steps.iter().enumerate() {
            let found = undo.take_back(home, self.history, step);
            // What was put back by hand does not stand any more, so the change before it is next.
            let mut outcomes_of_step = found.iter();
            let is_passed = outcomes_of_step.all(|outcome| outcome.is_done && outcome.id.is_none());
            if i == 0 || !is_passed {
                (at, outcomes) = (i, found);
            }
            if !is_passed {
                break;
            }
        }
        drop(lock);
        if let Some(unchanged) = unchanged {
            undo.workspace.saw_changes_of(&unchanged);
            for outcome in outcomes.iter().filter(|outcome| outcome.id.is_some()) {
                let newest = outcome.undone.first();
                if newest.is_some_and(|index| self.history.entries[*index].after.is_none()) {
                    undo.workspace.gave_back(&outcome.path);
                }
            }
        }
        let chosen = steps.get(at).ok_or_else(|| {
            ToolError::failed("There is nothing to undo in this project.")
                .with_hint("call_tool --history --all lists the changes in all projects.")
        })?;
        let is_refused = outcomes.iter().any(|outcome| !outcome.refused.is_empty());
        let mut status = u8::from(is_refused);
        if self.json {
            let lines = outcomes.iter().map(|outcome| self.outcome_json(outcome));
            let text: String = lines.map(|line| line.to_string() + "\n").collect();
            return Ok(print_json(text.as_bytes(), status));
        }
        let undone = outcomes.iter().filter(|outcome| !outcome.undone.is_empty());
        let mut text: String = undone
            .clone()
            .map(|outcome| self.display_diff(&outcome.diff))
            .collect();
        text.extend(undone.map(|outcome| self.summary(outcome, options.explain)));
        let mut entries = chosen.iter().map(|i| &self.history.entries[*i]);
        let is_of_command = entries.any(|entry| entry.command.is_some());
        let is_kept = |outcome: &&FileOutcome| outcome.not_kept.is_none();
        // The undo of a command is taken back as a whole, too.
        let is_lost = is_of_command && !outcomes.iter().all(|outcome| is_kept(&outcome));
        let mut kept = outcomes
            .iter()
            .filter(|outcome| !is_lost && is_kept(outcome));
        if let Some(id) = kept.find_map(|outcome| outcome.id.as_deref()) {
            text.push_str(&format!("To take this back: call_tool --undo {id}\n"));
        }
        if !text.is_empty() && !print(text.as_bytes(), Medium::Text) {
            status = 1;
        }
        for outcome in &outcomes {
            self.complain(outcome);
        }
        let is_unchanged = outcomes.iter().all(|outcome| outcome.id.is_none())
            && undo.workspace.pending_changes().is_empty();
        if is_refused && is_of_command && is_unchanged {
            warn(
                "Nothing was changed: what a command or a patch did is undone as a whole, or for a file or directory by: call_tool --undo PATH",
            );
        }
        if let Some(older) = steps.get(at + 1).filter(|_| is_refused) {
            let entry = &self.history.entries[older[0]];
            warn(&format!(
                "The change before it, {} of {}, is undone by: call_tool --undo {}",
                visible(&entry.tool),
                self.display(&entry.path()),
                visible(&entry.id)
            ));
        }
        Ok(status)
    }

    fn summary(&self, outcome: &FileOutcome, is_explained: bool) -> String {
        let count = counted(outcome.undone.len(), "change");
        let path = self.display(&outcome.path);
        let entries = outcome.undone.iter().map(|i| &self.history.entries[*i]);
        let ids: Vec<_> = entries.map(|entry| visible(&entry.id)).collect();
        let ids = ids.join(", ");
        match (outcome.is_done, is_explained) {
            (true, _) => format!("{path}: {count} already undone ({ids})\n"),
            (_, true) => format!("Would undo {count} of {path} ({ids})\n"),
            _ => format!("Undid {count} of {path} ({ids})\n"),
        }
    }

    fn complain(&self, outcome: &FileOutcome) {
        let path = self.display(&outcome.path);
        if let Some(reason) = &outcome.not_kept {
            let reason = visible(reason);
            warn(&format!(
                "The undo of {path} can't be taken back: {reason}."
            ));
        }
        for refusal in &outcome.refused {
            let entry = &self.history.entries[refusal.index];
            warn(&format!(
                "{path} {}; not undone: {} ({})",
                visible(&refusal.reason),
                visible(&entry.id),
                visible(&entry.tool)
            ));
        }
        if let Some(old) = &outcome.old_content {
            tell(harmless_lines(&outcome.diff).trim_end());
            warn(&format!(
                "This is the difference to the old content, which is in {}. Edit {path} by it, or copy that file.",
                visible(&show_path(old))
            ));
        }
    }

    fn outcome_json(&self, outcome: &FileOutcome) -> Value {
        let id = |index: &usize| &self.history.entries[*index].id;
        let refused = outcome
            .refused
            .iter()
            .map(|refused| json!({ "id": id(&refused.index), "reason": refused.reason }));
        json!({
            "path": show_path(&outcome.path),
            "undone": outcome.undone.iter().map(id).collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "diff": outcome.diff,
            "oldContent": outcome.old_content.as_ref().map(|path| path.to_string_lossy()),
            "undo": outcome.id,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryJson<'a> {
    id: &'a str,
    time: String,
    by: &'a str,
    session: &'a str,
    tool: &'a str,
    call: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
    change: &'a str,
    path: String,
    before: Option<Value>,
    after: Option<Value>,
    undoes: &'a [String],
    undone_by: Option<&'a str>,
    not_kept: Option<&'a str>,
}

fn state_json(state: &FileState) -> Value {
    json!({ "bytes": state.stamp.size(), "mode": format!("{:04o}", state.mode) })
}

fn age(millis: u64) -> String {
    let secs = millis / 1000;
    match secs {
        0..60 => format!("{secs}s ago"),
        60..3600 => format!("{}m ago", secs / 60),
        3600..86400 => format!("{}h ago", secs / 3600),
        _ => format!("{}d ago", secs / 86400),
    }
}

fn iso(millis: u64) -> String {
    let time = i64::try_from(millis)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    time.unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}
