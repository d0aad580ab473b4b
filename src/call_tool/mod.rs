//! `call_tool NAME`: runs one call of a tool and prints its answer as JSON; `call_tool
//! --batch`: runs many.

mod batch;
mod check;
mod ci;
mod command;
mod dialect;
mod explained;
mod help;
mod history;
mod input;
mod live;
mod options;
mod print;
mod propagate;

pub use command::command;

use crate::call_tool::input::{arguments, read_input};
use crate::call_tool::options::{CallToolOptions, options};
use crate::call_tool::print::{Medium, is_stdout_terminal, print, print_last};
use crate::start::{signal_status, warn};
use gemini_tools::answer::{Answer, Form, after_live};
use gemini_tools::approval::terminal::TerminalPrompt;
use gemini_tools::output::keeps_characters;
use gemini_tools::process::exit;
use gemini_tools::session::{
    CallOptions, Clock, Project, Reader, Session, SharedPrompt, with_time_limit,
};
use gemini_tools::text::show_path;
use gemini_tools::tool::{
    Cancellation, Context, ErrorKind, Interruption, LlmContent, ResultPlaces, ToolError, ToolResult,
};
use gemini_tools::workspace::MORE_ROOTS;
use serde_json::Map;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs the program and returns its exit status.
///
/// # Errors
///
/// Returns why there is no help or journal to print or undo. Failed calls are answered.
pub fn run() -> anyhow::Result<u8> {
    // A panic is answered as a failed call. Its message must not reach standard error, because a
    // host takes a call that has written there for failed.
    std::panic::set_hook(Box::new(|_| {}));
    let options: &'static CallToolOptions = match options() {
        // The options are never freed, because the clock's thread may use them until the process
        // ends.
        Ok(options) => Box::leak(Box::new(options)),
        Err(ended) => return ended,
    };
    if options.help {
        return help::run(options);
    }
    let cancel = cancellation();
    let clock = Clock::of_process(&cancel, |signal| exit(signal_status(signal)));
    if options.is_about_journal() {
        let run = || history::run(options, &cancel);
        // What only prints ends with its signal even if nobody reads, an undo when it is done.
        return if options.undo.is_some() {
            clock.busy(run)
        } else {
            run()
        };
    }
    if options.batch {
        return Ok(batch::run(options, &cancel, clock));
    }
    if options.is_check() {
        return Ok(check::run(options, &cancel));
    }
    if let Some(dialect) = options.from {
        let input = input(options, &cancel);
        return Ok(clock.busy(|| dialect::run(options, dialect, input, &cancel, &clock)));
    }
    Ok(answer(options, &cancel, &clock))
}

fn input(options: &CallToolOptions, cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    match &options.args {
        Some(_) => Ok(Vec::new()),
        None => read_input(cancel),
    }
}

fn cancellation() -> Cancellation {
    let mut cancel = with_time_limit(&Cancellation::default());
    let signals = cancel.signal_cell();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // If no handler can be installed, the signal ends the process, which is acceptable as well.
        let _ =
            signal_hook::flag::register_usize(signal, Arc::clone(&signals), signal as usize + 1);
    }
    if let Some(caller) = gemini_tools::process::caller() {
        cancel = cancel.with_caller(caller);
    }
    cancel
}

fn open_session(options: &CallToolOptions) -> Result<Session, ToolError> {
    let Some((first, more)) = options.roots.split_first() else {
        let root = std::env::current_dir().map_err(|e| {
            ToolError::failed(format!("The current directory can't be opened: {e}."))
        })?;
        return Session::open(&root, &[], &options.rules());
    };
    let absolute = |path: &PathBuf| {
        let fail = |e| ToolError::invalid(format!("--root {}: {e}.", show_path(path)));
        if !std::fs::metadata(path).map_err(fail)?.is_dir() {
            return Err(fail(std::io::ErrorKind::NotADirectory.into()));
        }
        std::path::absolute(path).map_err(fail)
    };
    let more: Vec<PathBuf> = more.iter().map(absolute).collect::<Result<_, _>>()?;
    let written = absolute(first)?;
    Session::of_project(Project::open_at(&written, &more)?, &more, &options.rules())
}

/// Opens the terminal to ask a person for approval. Returns `None` if the options do not allow
/// questions, or without a terminal.
fn person(options: &CallToolOptions, cancel: &Cancellation) -> Option<SharedPrompt> {
    options.approval_mode?;
    let mut terminal = TerminalPrompt::open()?;
    terminal.cancel = cancel.clone();
    terminal.is_for_one_call = !options.batch && options.from.is_none();
    Some(SharedPrompt::new(Box::new(terminal)))
}

fn call_options<'a>(
    options: &CallToolOptions,
    person: Option<&'a SharedPrompt>,
) -> CallOptions<'a> {
    let mut call = CallOptions::default();
    call.is_strict = options.strict || options.fail_on_match || options.report.is_some();
    call.is_explained = options.explain;
    call.is_foreign = options.from.is_some();
    call.person = person;
    call.tell = std::io::stderr().is_terminal().then_some(warn);
    call
}

/// Returns who reads the answer, which decides how long it may be. For a report for CI the text is
/// not shortened, because the report is made from the places that were found.
fn reader(options: &CallToolOptions, session: &Session) -> Reader {
    match options.form.unwrap_or_default() {
        form if form.is_for_people() => Reader::Person,
        _ if options.report.is_some() => Reader::Host(session.tool_env().settings.limit_chars()),
        _ => Reader::Model,
    }
}

fn answer(options: &'static CallToolOptions, cancel: &Cancellation, clock: &Arc<Clock>) -> u8 {
    let own = cancel.clone();
    let number = clock.begin(cancel, move |error| {
        let last = Message::new(options, Err(error), None, &own);
        print_last(&last.text, last.medium, |is_written| {
            last.exit_status(options, is_written)
        });
    });
    let form = options.form.unwrap_or_default();
    let wants_display = matches!(form, Form::Result | Form::Host) || form.is_for_people();
    let mut cx = Context::new(cancel.clone(), wants_display);
    cx.view.places = match form {
        _ if options.report.is_some() => ResultPlaces::Matches,
        Form::Result => ResultPlaces::Matches,
        Form::Lines => ResultPlaces::Items,
        _ => ResultPlaces::Unwanted,
    };
    cx.view.wants_looks = form == Form::Text && shows_colours(options);
    if options.stream {
        cx = cx.with_live_output(live::print_line);
    }
    let shown = Arc::<Mutex<String>>::default();
    if form == Form::Text && is_stdout_terminal() && options.shows_live() {
        let shown = Arc::clone(&shown);
        cx = cx.with_live_output(move |output| live::show(output, &shown));
    }
    let mut session = None;
    let notes = RefCell::default();
    let outcome = input(options, cancel).and_then(|input| {
        let session = session.insert(open_session(options)?);
        session.remember_by_caller();
        let args = arguments(options, session, &input, &cx)?;
        ci::check_tool(options, session)?;
        let person = person(options, cancel);
        let mut how = call_options(options, person.as_ref());
        how.id = options.id.as_deref();
        how.reader = reader(options, session);
        // Only a host's model is told in the text: a pipe would write the note into a file.
        let is_for_pipes = form.is_for_people() || form == Form::Content;
        how.notes = is_for_pipes.then_some(&notes);
        ci::check(
            options,
            session.run(&options.name, args, how, &mut cx).outcome?,
        )
    });
    let shown = std::mem::take(&mut *shown.lock().unwrap_or_else(PoisonError::into_inner));
    let shown = Some(shown).filter(|shown| !shown.is_empty());
    let result = outcome.as_ref().ok();
    let rest = result.and_then(|result| after_live(result, shown.as_deref()?));
    let mut message = Message::new(options, outcome, session.as_ref(), cancel);
    while !clock.claim(number) {
        // The time limit has passed, so the clock's thread is printing the answer. It then ends the
        // process.
        std::thread::park();
    }
    if let Some(shown) = shown {
        message.go_on(&shown, rest);
    }
    for remark in notes.take().iter().chain(&message.remarks) {
        warn(remark);
    }
    let is_written = print(&message.text, message.medium);
    message.exit_status(options, is_written)
}

fn shows_colours(options: &CallToolOptions) -> bool {
    options.colours.shows_on(is_stdout_terminal())
}

struct Message {
    text: Vec<u8>,
    medium: Medium,
    status: u8,
    /// Notes for a person about a list of places, such as what it leaves out.
    remarks: Vec<String>,
}

impl Message {
    fn new(
        options: &CallToolOptions,
        outcome: Result<ToolResult, ToolError>,
        session: Option<&Session>,
        cancel: &Cancellation,
    ) -> Self {
        let form = options.form.unwrap_or_default();
        let answer = Answer {
            name: &options.name,
            id: options.id.as_deref(),
            outcome,
        };
        let status = ci::status(options, &answer, status(&answer, cancel));
        let status = propagate::status(options, &answer, status);
        let said = |text, medium| Self {
            text,
            medium,
            status,
            remarks: Vec::new(),
        };
        if let Some(format) = options.report {
            let root = session.map(|session| session.tool_env().workspace.root());
            let report = ci::report(format, options, &answer, root.unwrap_or(Path::new("")));
            return said(report, Medium::Text);
        }
        if let Some(json) = explanation(options, &answer) {
            if form.is_for_people() {
                let text = explained::text(json, shows_colours(options));
                return said(text.into_bytes(), Medium::Text);
            }
            return said(json.as_bytes().to_vec(), Medium::Json);
        }
        if form.is_for_people() && !options.stream {
            return Self::for_people(options, &answer, session, status);
        }
        if form == Form::Host && !options.stream {
            let env = session.map(Session::tool_env);
            let limit = env.and_then(|env| env.settings.limit_chars());
            let keep = |text: &str| env?.keep(answer.name, text);
            let text = answer.to_host(limit, &keep);
            if keeps_characters(text.as_bytes()) {
                return said(text.into_bytes(), Medium::Text);
            }
        }
        let mut more = Map::new();
        if options.stream {
            more.insert("type".to_owned(), "result".into());
        }
        said(answer.to_json_with(form, more), Medium::Json)
    }

    /// Adapts the message to `shown`, the text that the terminal has shown while the call ran. If
    /// the answer begins with that text, only the rest of the answer is printed (`rest`). Otherwise
    /// `rest` is `None`, and the whole answer is printed on a new line.
    fn go_on(&mut self, shown: &str, rest: Option<String>) {
        if let Some(rest) = rest {
            self.text = rest.into_bytes();
            self.medium = Medium::Text;
        } else if !shown.ends_with('\n') {
            live::write("\n");
        }
    }

    fn exit_status(&self, options: &CallToolOptions, is_written: bool) -> u8 {
        match is_written {
            true => self.status,
            false if options.propagate_status => propagate::OURS,
            false if options.fail_on_match => ci::UNCHECKED,
            false => 1,
        }
    }

    fn for_people(
        options: &CallToolOptions,
        answer: &Answer<'_>,
        session: Option<&Session>,
        status: u8,
    ) -> Self {
        let is_terminal = is_stdout_terminal();
        let has_colours = shows_colours(options);
        let mut remarks = Vec::new();
        let mut medium = Medium::Text;
        let text = if let Some((_, kind)) = answer.failure() {
            medium = Medium::Complaint;
            let mut complaint = format!("call_tool: {}", answer.to_text().trim_end());
            if kind == ErrorKind::PathNotInWorkspace {
                complaint = complaint.replace(MORE_ROOTS, "") + " Another root: --root DIR.";
            }
            complaint.into_bytes()
        } else if let (Some(Form::Lines), Some(session)) = (options.form, session) {
            remarks.extend(answer.unread());
            remarks.extend(answer.remark());
            remarks.extend(answer.binary_remark());
            let root = session.tool_env().workspace.root();
            let directory = std::env::current_dir().unwrap_or_default();
            // On a terminal, paths are printed as escaped lines, because a file's name may contain
            // control characters.
            if options.null && !is_terminal {
                answer.to_paths(root, &directory).unwrap_or_default()
            } else {
                let lines = answer.to_lines(root, &directory, is_terminal, has_colours);
                lines.into_bytes()
            }
        } else if is_terminal || has_colours {
            answer.to_terminal(has_colours).into_bytes()
        } else {
            answer.to_text().into_bytes()
        };
        Self {
            text,
            medium,
            status,
            remarks,
        }
    }
}

fn explanation<'a>(options: &CallToolOptions, answer: &'a Answer<'_>) -> Option<&'a str> {
    match &answer.outcome {
        Ok(result) if options.explain => match &result.llm_content {
            LlmContent::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the exit status of a call: 128 plus the signal's number if a signal has cancelled it, as
/// in a shell.
fn status(answer: &Answer<'_>, cancel: &Cancellation) -> u8 {
    match (answer.exit_status(), cancel.interruption()) {
        (130, Some(Interruption::Cancelled(signal))) => signal_status(signal),
        (status, _) => status,
    }
}
