//! `get_tools init`: sets up a host, after the user has seen the changes.

use crate::get_tools::command::InitOptions;
use crate::get_tools::confirm::confirm;
use crate::get_tools::print::{fail, print};
use crate::get_tools::style::Style;
use crate::get_tools::table::at_width;
use gemini_tools::builtin;
use gemini_tools::custom::Custom;
use gemini_tools::custom::own_program::are_on_path;
use gemini_tools::hosts::Host;
use gemini_tools::init::{self, Allow, FileChange, Purpose, SetupPlace, SetupPlan, SetupScope};
use gemini_tools::process::command::find_program;
use gemini_tools::settings::home;
use gemini_tools::text::{show_path, visible};
use gemini_tools::tool::Kind;
use gemini_tools::trust::{self, Distrust, Fingerprint, ProjectTrust, Trust, TrustedBy};
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};

pub(crate) fn run(options: &InitOptions) -> u8 {
    try_run(options).unwrap_or_else(|status| status)
}

/// Prints why nothing was done, and returns the status to exit with.
fn failed(reason: impl Display) -> u8 {
    fail(1, &visible(&reason.to_string()))
}

fn try_run(options: &InitOptions) -> Result<u8, u8> {
    let name = options.host.as_deref().filter(|name| *name != "gemini");
    let host = name.map(|name| {
        Host::find(name).ok_or_else(|| failed(format!("hosts/{name}.toml is malformed")))
    });
    let host = host.transpose()?;
    if let Some(host) = host {
        refuse_options_of_gemini(options, host)?;
    }
    let home = home().ok_or_else(|| failed("HOME is not set"))?;
    let root = std::env::current_dir().map_err(|e| {
        failed(format!(
            "the current directory can't be found ({e}); it may have been removed: change to another one"
        ))
    })?;
    // In the home directory, the user's and the project's settings are the same.
    let scope = match Trust::judge(Some(&home), &root) {
        Trust::Trusted(TrustedBy::Home) => SetupScope::User,
        _ if options.user => SetupScope::User,
        _ if options.project => SetupScope::Project,
        _ => host.map_or(SetupScope::Project, |host| host.scope),
    };
    let place = SetupPlace {
        home: &home,
        root: &root,
        scope,
    };
    if let Some(host) = host {
        let plan = planned_for_host(options, host, place)?;
        if plan.changes.is_empty() {
            return nothing_to_do(options, &plan);
        }
        agree(options, &plan)?;
        plan.apply().map_err(failed)?;
        return Ok(print_done(options, &done_for_host(host, scope)));
    }
    let before = ProjectBefore::look(place)?;
    let mut plan = planned(options, place, &before)?;
    if plan.changes.is_empty() {
        return nothing_to_do(options, &plan);
    }
    if !options.undo {
        before.note(&mut plan);
    }
    agree(options, &plan)?;
    plan.apply().map_err(failed)?;
    before.trust_again(&home, &root)?;
    Ok(print_done(options, &done(&before, &home, &root)))
}

fn refuse_options_of_gemini(options: &InitOptions, host: &Host) -> Result<(), u8> {
    for (id, is_set) in [("allow", options.allow.is_some()), ("trust", options.trust)] {
        if is_set {
            let reason = format!(
                "--{id} is for Gemini CLI; leave it out. {} asks about calls itself.",
                host.title
            );
            return Err(fail(2, &reason));
        }
    }
    Ok(())
}

fn nothing_to_do(options: &InitOptions, plan: &SetupPlan) -> Result<u8, u8> {
    let text = match (options.undo, plan.knows_nothing()) {
        (true, true) => "There is nothing to undo here.\n".to_owned(),
        (true, false) if !plan.notes.is_empty() => notes(plan),
        (true, false) => "Nothing is left of it.\n".to_owned(),
        (false, _) if !plan.notes.is_empty() => notes(plan) + "All else is in place already.\n",
        (false, _) => "All is in place already.\n".to_owned(),
    };
    if options.undo {
        plan.apply().map_err(failed)?;
    }
    Ok(print(text.as_bytes()))
}

fn planned_for_host(
    options: &InitOptions,
    host: &Host,
    place: SetupPlace<'_>,
) -> Result<SetupPlan, u8> {
    if options.undo {
        return init::undo(place, Some(host)).map_err(failed);
    }
    let SetupPlace { root, scope, .. } = place;
    let name = "serve_tools";
    let found = find_program(OsStr::new(name)).filter(|_| are_on_path(root));
    let server = match (found, scope) {
        (Some(_), SetupScope::Project) => PathBuf::from(name),
        // An absolute path, because an editor's `PATH` may differ from the shell's.
        (Some(path), SetupScope::User) => path,
        (None, _) => own_directory().unwrap_or_default().join(name),
    };
    let mut plan =
        init::plan_host(place, host, &show_path(&server), options.skill).map_err(failed)?;
    if scope == SetupScope::Project && server.is_absolute() && !plan.changes.is_empty() {
        let directory = server.parent().unwrap_or(&server);
        let init = format!("get_tools init --host {}", host.name);
        plan.notes.push(named_directory(directory, &init));
    }
    Ok(plan)
}

fn named_directory(path: &Path, init: &str) -> String {
    format!(
        "The project's settings name executables in {}, which others who share the project don't have. \
         With that directory on the PATH they are named without it; {init} --user puts \
         them into your own settings.",
        show_path(path)
    )
}

fn planned(
    options: &InitOptions,
    place: SetupPlace<'_>,
    before: &ProjectBefore,
) -> Result<SetupPlan, u8> {
    if options.undo {
        return init::undo(place, None).map_err(failed);
    }
    let is_named = !are_on_path(place.root);
    let directory = is_named.then(own_directory).flatten();
    let mut plan = init::plan(&init::InitOptions {
        place,
        allow: match options.allow.as_deref() {
            Some("all") => Allow::All,
            Some("none") => Allow::Nothing,
            _ => Allow::ReadOnly,
        },
        directory: directory.as_deref(),
        tools: &tools(place.home, place.root),
        trusts_folder: options.trust && before.may_be_trusted(),
        has_skill: options.skill,
    })
    .map_err(failed)?;
    let names_commands = |change: &FileChange| change.purpose == Purpose::Commands;
    if let Some(directory) = directory
        && place.scope == SetupScope::Project
        && plan.changes.iter().any(names_commands)
    {
        plan.notes
            .push(named_directory(&directory, "get_tools init"));
    }
    Ok(plan)
}

/// Shows the changes, and asks the user whether to make them.
///
/// # Errors
///
/// Returns the status to exit with, unless the user agrees.
fn agree(options: &InitOptions, plan: &SetupPlan) -> Result<(), u8> {
    let style = Style::for_stdout();
    let changes = plan.changes.iter().map(|one| change_text(one, style));
    let shown = changes.collect::<String>() + &notes(plan);
    match print(shown.as_bytes()) {
        0 => {}
        status => return Err(status),
    }
    let otherwise = "--yes makes the changes that are shown";
    confirm("Make these changes?", otherwise, !options.yes)
}

fn notes(plan: &SetupPlan) -> String {
    let style = Style::for_stdout();
    let notes = plan.notes.iter();
    notes
        .map(|note| at_width(&visible(note), "", style))
        .collect()
}

struct ProjectBefore {
    scope: SetupScope,
    trust: Trust,
    /// Set if the home directory is below the project. Trusting the project would then trust all of
    /// the user's other projects.
    holds_home: bool,
    brings: Vec<String>,
}

impl ProjectBefore {
    fn look(place: SetupPlace<'_>) -> Result<Self, u8> {
        let SetupPlace { home, root, scope } = place;
        Ok(Self {
            scope,
            trust: Trust::judge(Some(home), root),
            holds_home: is_above(root, home),
            brings: init::active_content(home, root).map_err(failed)?,
        })
    }

    fn is_unknown(&self) -> bool {
        matches!(self.trust, Trust::Untrusted(Distrust::Unknown))
    }

    /// Returns true if trusting the project has no other effect than to put this change in force.
    fn may_be_trusted(&self) -> bool {
        self.scope == SetupScope::Project
            && self.is_unknown()
            && !self.holds_home
            && self.brings.is_empty()
    }

    /// Adds a note on why this run leaves the project untrusted. Adds none if it can be trusted:
    /// then [`done`] names the command for that.
    fn note(&self, plan: &mut SetupPlan) {
        let how = "then trust it, with get_tools trust and in Gemini CLI (/permissions; without a terminal GEMINI_CLI_TRUST_WORKSPACE=true).";
        let note = match (&self.trust, self.scope) {
            (Trust::Trusted(_), _) | (_, SetupScope::User) => return,
            _ if self.may_be_trusted() => return,
            _ if self.holds_home => format!(
                "Your home directory lies in this one, so that trusting it trusts all your projects: it is not trusted, and none of this takes effect yet. If that is what you want: look at what they bring, {how}"
            ),
            _ if self.brings.is_empty() => format!(
                "This project is not trusted, so none of this takes effect yet: look at what it brings, {how}"
            ),
            _ => format!(
                "This project is not trusted, so none of this takes effect yet. Gemini CLI would obey what it brings: {}. Look at that, {how}",
                self.brings.join(", ")
            ),
        };
        plan.notes.push(note);
    }

    /// Renews the record of trust after the change. The user has just agreed to it, but it would
    /// otherwise count as a change by someone else.
    fn trust_again(&self, home: &Path, root: &Path) -> Result<(), u8> {
        if !matches!(self.trust, Trust::Trusted(TrustedBy::Record)) {
            return Ok(());
        }
        let seen = Fingerprint::look(root).map_err(failed)?;
        trust::save(home, root, seen).map(drop).map_err(failed)
    }
}

fn is_above(root: &Path, home: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(home).starts_with(real(root))
}

fn own_directory() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let directory = own.parent()?;
    // In a checkout, this executable is in `target/release` or `target/TARGET/release`. The
    // settings then name the launchers in `bin`, which build missing executables.
    let checkouts = directory.ancestors().skip(2).take(2);
    let mut launchers = checkouts.map(|checkout| checkout.join("bin"));
    let launchers = launchers.find(|bin| {
        ["launch.sh", "get_tools", "call_tool"]
            .iter()
            .all(|name| bin.join(name).is_file())
    });
    Some(launchers.unwrap_or_else(|| directory.to_owned()))
}

/// Returns the names and kinds of the built-in tools and of the user's, but not of the project's,
/// since rules apply to all projects.
fn tools(home: &Path, root: &Path) -> Vec<(String, Kind)> {
    let built_in = builtin::TOOLS.iter();
    let mut tools: Vec<_> = built_in
        .map(|tool| (tool.name.to_owned(), tool.info.kind))
        .collect();
    let without_project = ProjectTrust::known(Trust::Untrusted(Distrust::Unknown));
    tools.extend(Custom::open(Some(home), root, &without_project).kinds());
    tools.sort_by(|a, b| a.0.cmp(&b.0));
    tools
}

fn change_text(change: &FileChange, style: Style) -> String {
    let what = match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    };
    let [path, real] = [&change.path, &change.real].map(|path| show_path(path).into_owned());
    let [path, real] = [visible(&path), visible(&real)];
    let mut text = match real {
        real if real == path => format!("{} ({what})\n", style.bold(&path)),
        real => format!("{} ({what}), which is {real}\n", style.bold(&path)),
    };
    text.push_str(&at_width(change.purpose.description(), "", style));
    let diff = change.diff();
    // For a new or removed file, the diff's header tells nothing.
    let is_whole = change.before.is_none() || change.after.is_none();
    let heads = if is_whole { 3 } else { 0 };
    for line in diff.lines().skip(heads) {
        let line = visible(line);
        text.push_str(&match line.as_bytes().first() {
            Some(b'+') => style.green(&line),
            Some(b'-') => style.red(&line),
            Some(b'@') => style.dim(&line),
            _ => line.into_owned(),
        });
        text.push('\n');
    }
    text + "\n"
}

fn print_done(options: &InitOptions, text: &str) -> u8 {
    if options.undo {
        return print(b"Undone.\n");
    }
    print(at_width(text, "", Style::for_stdout()).as_bytes())
}

fn done(before: &ProjectBefore, home: &Path, root: &Path) -> String {
    let option = match before.scope {
        SetupScope::User => " --user",
        SetupScope::Project => "",
    };
    let is_trusted = Trust::judge(Some(home), root).is_trusted();
    let next = if before.may_be_trusted() && !is_trusted {
        "Next: get_tools init --trust, without which none of this takes effect here; then: get_tools doctor\n"
    } else if trust::gemini_cli_trusts(home, root) {
        "Next: get_tools doctor\n"
    } else {
        "Gemini CLI does not trust this directory yet: start gemini here once and trust the folder, or, without a terminal, set GEMINI_CLI_TRUST_WORKSPACE=true. Then: get_tools doctor\n"
    };
    format!(
        "Done. {next}\
         Then try: gemini -p 'Use discovered_tool_read_file to say what README.md is about.'\n\
         get_tools init{option} --undo takes it back.\n"
    )
}

fn done_for_host(host: &Host, scope: SetupScope) -> String {
    let Host { name, next, .. } = host;
    let option = match scope {
        _ if scope == host.scope => "",
        SetupScope::User => " --user",
        SetupScope::Project => " --project",
    };
    format!(
        "Done. Next: get_tools doctor --host {name}\n\
         Then: {next}\n\
         get_tools init --host {name}{option} --undo takes it back.\n"
    )
}
