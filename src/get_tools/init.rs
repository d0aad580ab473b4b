//! `get_tools init`: sets up a host, after the user has seen the changes.

use crate::get_tools::command::InitOptions;
use crate::get_tools::confirm::confirm;
use crate::get_tools::print::print;
use crate::get_tools::style::Style;
use crate::get_tools::table::at_width;
use crate::start::Failure;
use anyhow::{Context, anyhow, bail};
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
use std::path::{Path, PathBuf};

pub(crate) fn run(options: &InitOptions) -> anyhow::Result<u8> {
    let name = options.host.as_deref().filter(|name| *name != "gemini");
    let host = name
        .map(|name| Host::find(name).with_context(|| format!("hosts/{name}.toml is malformed")));
    let host = host.transpose()?;
    if let Some(host) = host {
        refuse_options_of_gemini(options, host)?;
    }
    let home = home()
        .filter(|home| home.is_dir())
        .context("HOME is not set, or is not the path of a directory")?;
    let root = std::env::current_dir().map_err(|e| {
        anyhow!(
            "the current directory can't be found ({e}); it may have been removed: change to another one"
        )
    })?;
    let trust = Trust::judge(Some(&home), &root);
    // In the home directory, the user's and the project's settings are the same.
    let scope = match trust {
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
    let needs_trust = host.is_none() && scope == SetupScope::Project && !trust.is_trusted();
    let obstacle = if needs_trust {
        obstacle_to_trust(place, &trust)?
    } else {
        None
    };
    let may_be_trusted = needs_trust && obstacle.is_none();
    let mut plan = if options.undo {
        init::undo(place, host)?
    } else {
        planned(options, host, place, may_be_trusted)?
    };
    if plan.changes.is_empty() {
        return nothing_to_do(options, &plan);
    }
    if !options.undo {
        plan.notes.extend(obstacle);
    }
    agree(options, &plan)?;
    plan.apply()?;
    if host.is_none() && matches!(trust, Trust::Trusted(TrustedBy::Record)) {
        // The user has just agreed to the change, which would otherwise count as someone else's.
        let seen = Fingerprint::look(&root)?;
        trust::save(&home, &root, seen)?;
    }
    if options.undo {
        let text = if plan.is_incomplete {
            "The rest is undone.\n"
        } else {
            "Undone.\n"
        };
        print(text.as_bytes())?;
        return Ok(plan.is_incomplete.into());
    }
    let text = done(place, host, may_be_trusted);
    print(at_width(&text, "", Style::for_stdout()).as_bytes())
}

fn refuse_options_of_gemini(options: &InitOptions, host: &Host) -> anyhow::Result<()> {
    for (id, is_set) in [("allow", options.allow.is_some()), ("trust", options.trust)] {
        if is_set {
            let reason = format!(
                "--{id} is for Gemini CLI; leave it out. {} asks about calls itself.",
                host.title
            );
            bail!(Failure(2, reason));
        }
    }
    Ok(())
}

fn nothing_to_do(options: &InitOptions, plan: &SetupPlan) -> anyhow::Result<u8> {
    let text = match (options.undo, plan.knows_nothing()) {
        (true, true) => "There is nothing to undo here.\n".to_owned(),
        (true, false) if !plan.notes.is_empty() => notes(plan),
        (true, false) => "Nothing is left of it.\n".to_owned(),
        (false, _) if !plan.notes.is_empty() => notes(plan) + "All else is in place already.\n",
        (false, _) => "All is in place already.\n".to_owned(),
    };
    if options.undo {
        plan.apply()?;
    }
    print(text.as_bytes())?;
    Ok(plan.is_incomplete.into())
}

fn planned<'a>(
    options: &InitOptions,
    host: Option<&'a Host>,
    place: SetupPlace<'a>,
    may_be_trusted: bool,
) -> anyhow::Result<SetupPlan<'a>> {
    let SetupPlace { home, root, scope } = place;
    let server = Path::new("serve_tools");
    let found = find_program(server.as_os_str());
    let is_on_path = are_on_path(root) && (host.is_none() || found.is_some());
    let directory = own_directory().filter(|_| !is_on_path);
    let plan = if let Some(host) = host {
        let server = match (&directory, scope, found) {
            (Some(directory), ..) => directory.join(server),
            // An absolute path, because an editor's `PATH` may differ from the shell's.
            (None, SetupScope::User, Some(path)) => path,
            _ => server.to_owned(),
        };
        init::plan_host(place, host, &show_path(&server), options.skill)
    } else {
        let options = init::InitOptions {
            allow: match options.allow.as_deref() {
                Some("all") => Allow::All,
                Some("none") => Allow::Nothing,
                _ => Allow::ReadOnly,
            },
            directory: directory.as_deref(),
            tools: &tools(home, root),
            trusts_folder: options.trust && may_be_trusted,
            has_skill: options.skill,
        };
        init::plan(place, &options)
    };
    let mut plan = plan?;
    let names_programs =
        |change: &FileChange| matches!(change.purpose, Purpose::Commands | Purpose::Server);
    if let Some(directory) = directory
        && scope == SetupScope::Project
        && plan.changes.iter().any(names_programs)
    {
        let host = host.map_or_else(String::new, |host| format!(" --host {}", host.name));
        plan.notes.push(format!(
            "The project's settings name executables in {}, which others who share the project don't have. \
             With that directory on the PATH they are named without it; get_tools init{host} --user puts \
             them into your own settings.",
            show_path(&directory)
        ));
    }
    Ok(plan)
}

/// Shows the changes, and asks the user whether to make them.
///
/// # Errors
///
/// Returns an error unless the user agrees.
fn agree(options: &InitOptions, plan: &SetupPlan) -> anyhow::Result<()> {
    let style = Style::for_stdout();
    let changes = plan.changes.iter().map(|one| change_text(one, style));
    let shown = changes.collect::<String>() + &notes(plan);
    print(shown.as_bytes())?;
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

/// Returns a note on why this run leaves the project untrusted. `None` means that trusting it would
/// only put this change in force; [`done`] then names the command for that.
fn obstacle_to_trust(place: SetupPlace<'_>, trust: &Trust) -> anyhow::Result<Option<String>> {
    let SetupPlace { home, root, .. } = place;
    let how = "then trust it, with get_tools trust and in Gemini CLI (/permissions; without a terminal GEMINI_CLI_TRUST_WORKSPACE=true).";
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if real(home).starts_with(real(root)) {
        return Ok(Some(format!(
            "Your home directory lies in this one, so that trusting it trusts all your projects: it is not trusted, and none of this takes effect yet. If that is what you want: look at what they bring, {how}"
        )));
    }
    let brings = init::active_content(home, root)?;
    let not_trusted = "This project is not trusted, so none of this takes effect yet";
    Ok(match trust {
        _ if !brings.is_empty() => Some(format!(
            "{not_trusted}. Gemini CLI would obey what it brings: {}. Look at that, {how}",
            brings.join(", ")
        )),
        Trust::Untrusted(Distrust::Unknown) => None,
        _ => Some(format!("{not_trusted}: look at what it brings, {how}")),
    })
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
    let shown = |path: &Path| visible(&show_path(path)).into_owned();
    let (path, real) = (shown(&change.path), shown(&change.real));
    let mut text = format!("{} ({what})", style.bold(&path));
    if real != path {
        text.push_str(&format!(", which is {real}"));
    }
    text.push('\n');
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

fn done(place: SetupPlace<'_>, host: Option<&Host>, may_be_trusted: bool) -> String {
    let SetupPlace { home, root, scope } = place;
    let (usual, name) = match host {
        Some(host) => (host.scope, format!(" --host {}", host.name)),
        None => (SetupScope::Project, String::new()),
    };
    let option = match scope {
        _ if scope == usual => "",
        SetupScope::User => " --user",
        SetupScope::Project => " --project",
    };
    let next = if let Some(Host { name, next, .. }) = host {
        format!("Next: get_tools doctor --host {name}\nThen: {next}")
    } else {
        let is_trusted = Trust::judge(Some(home), root).is_trusted();
        let next = if may_be_trusted && !is_trusted {
            "Next: get_tools init --trust, without which none of this takes effect here; then: get_tools doctor"
        } else if trust::gemini_cli_trusts(home, root) {
            "Next: get_tools doctor"
        } else {
            "Gemini CLI does not trust this directory yet: start gemini here once and trust the folder, or, without a terminal, set GEMINI_CLI_TRUST_WORKSPACE=true. Then: get_tools doctor"
        };
        format!(
            "{next}\nThen try: gemini -p 'Use discovered_tool_read_file to say what README.md is about.'"
        )
    };
    format!("Done. {next}\nget_tools init{name}{option} --undo takes it back.\n")
}
