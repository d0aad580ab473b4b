//! `get_tools init`: sets Gemini CLI up, after a person has seen what is to be changed.

use crate::confirm::confirm;
use crate::print::{print, warn};
use gemini_tools::builtin::{self, declarations};
use gemini_tools::custom::Custom;
use gemini_tools::init::{self, Allow, Lock, SetupPlan, SetupScope, Wanted};
use gemini_tools::process::command::find_program;
use gemini_tools::settings::{Settings, home};
use gemini_tools::text::{show_path, visible};
use gemini_tools::tool::{ErrorKind, Kind, ToolError};
use gemini_tools::trust::{self, Fingerprint, Trust, TrustedBy, Untrusted};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What is asked for.
pub(crate) struct InitTask {
    pub(crate) scope: SetupScope,
    pub(crate) allow: Allow,
    pub(crate) asks: bool,
    pub(crate) undoes: bool,
    /// Whether Gemini CLI's list of trusted folders may be added to.
    pub(crate) trusts: bool,
}

/// Does it.
pub(crate) fn run(task: &InitTask) -> u8 {
    match try_run(task) {
        Ok(status) | Err(Stop::Status(status)) => status,
        Err(Stop::Reason(reason)) => {
            warn(&format!("get_tools: {}", visible(&reason)));
            1
        }
    }
}

/// Why nothing more is done.
enum Stop {
    Reason(String),
    /// The reason has been said already.
    Status(u8),
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Reason(error.to_string())
    }
}

fn try_run(task: &InitTask) -> Result<u8, Stop> {
    let home = home().ok_or_else(|| Stop::Reason("HOME is not set".to_owned()))?;
    let root = std::env::current_dir().map_err(|e| {
        Stop::Reason(format!(
            "the current directory can't be found ({e}); it may have been removed: change to another one"
        ))
    })?;
    // Whose home is the project, their settings are the project's.
    let scope = match Trust::of(Some(&home), &root) {
        Trust::Trusted(TrustedBy::Home) => SetupScope::User,
        _ => task.scope,
    };
    // No other process waits while a person thinks; what has changed then is found by apply.
    let mut lock = None;
    if !task.asks {
        lock = Some(locked(&home)?);
    }
    let before = Before::look(&home, &root, scope)?;
    let mut plan = planned(task, scope, &home, &root, &before)?;
    if plan.changes.is_empty() {
        let text = match (task.undoes, plan.knows_nothing()) {
            (true, true) => "There is nothing to undo here.\n",
            (true, false) => "Nothing is left of it.\n",
            (false, _) => "All is in place already.\n",
        };
        if task.undoes {
            plan.apply(&mut lock.map_or_else(|| locked(&home), Ok)?)?;
        }
        return Ok(print(text.as_bytes()));
    }
    if !task.undoes {
        before.note(&mut plan, task.trusts);
    }
    let status = print(shown(&plan).as_bytes());
    if status != 0 {
        return Err(Stop::Status(status));
    }
    confirm(
        "Make these changes?",
        "--yes makes the changes that are shown",
        task.asks,
    )
    .map_err(Stop::Status)?;
    let mut lock = lock.map_or_else(|| locked(&home), Ok)?;
    plan.apply(&mut lock)?;
    before.trust_again(&home, &root)?;
    Ok(print(done(task, scope, &home, &root).as_bytes()))
}

fn locked(home: &Path) -> Result<Lock, Stop> {
    let waits = || warn("get_tools: waiting for another get_tools init to end");
    Ok(Lock::take(home, waits)?)
}

fn planned(
    task: &InitTask,
    scope: SetupScope,
    home: &Path,
    root: &Path,
    before: &Before,
) -> Result<SetupPlan, Stop> {
    if task.undoes {
        return Ok(init::undo(home, root, scope)?);
    }
    let directory = directory();
    Ok(init::plan(&Wanted {
        home,
        root,
        scope,
        allow: task.allow,
        directory: directory.as_deref(),
        tools: &tools(home, root),
        trusts_folder: task.trusts && before.may_be_trusted(),
    })?)
}

/// What the project was before.
struct Before {
    scope: SetupScope,
    trust: Trust,
    /// Whether the user's home lies in it, and so all of their other projects may.
    holds_home: bool,
    /// What it brings that Gemini CLI would obey.
    brings: Vec<String>,
}

impl Before {
    fn look(home: &Path, root: &Path, scope: SetupScope) -> Result<Self, Stop> {
        Ok(Self {
            scope,
            trust: Trust::of(Some(home), root),
            holds_home: is_above(root, home),
            brings: init::active_content(home, root)?,
        })
    }

    fn is_unknown(&self) -> bool {
        matches!(self.trust, Trust::Untrusted(Untrusted::Unknown))
    }

    /// Whether nothing of the project counts but what is put there now.
    fn may_be_trusted(&self) -> bool {
        self.scope == SetupScope::Project
            && self.is_unknown()
            && !self.holds_home
            && self.brings.is_empty()
    }

    fn note(&self, plan: &mut SetupPlan, may_trust: bool) {
        let how = "then trust it, with get_tools trust and in Gemini CLI (/permissions; without a terminal GEMINI_CLI_TRUST_WORKSPACE=true).";
        let note = match (&self.trust, self.scope) {
            (Trust::Trusted(_), _) | (_, SetupScope::User) => return,
            _ if may_trust && self.may_be_trusted() => {
                "From now on Gemini CLI and get_tools trust this directory with all that comes into it; --no-trust leaves that to you.".to_owned()
            }
            _ if self.holds_home => format!(
                "Your home directory lies in this one, so that trusting it trusts all your projects: it is not trusted, and nothing of this counts here yet. If that is what you want: look at what they bring, {how}"
            ),
            _ if self.brings.is_empty() => format!(
                "This project is not trusted, so nothing of this counts here yet: look at what it brings, {how}"
            ),
            _ => format!(
                "This project is not trusted, so nothing of this counts here yet. Gemini CLI would obey what it brings: {}. Look at that, {how}",
                self.brings.join(", ")
            ),
        };
        plan.notes.push(note);
    }

    /// What was trusted as it was is so as it is now: the change is the user's own.
    fn trust_again(&self, home: &Path, root: &Path) -> Result<(), Stop> {
        if !matches!(self.trust, Trust::Trusted(TrustedBy::Record)) {
            return Ok(());
        }
        let seen = Fingerprint::look(root)?;
        trust::save(home, root, seen)?;
        Ok(())
    }
}

/// Whether `home` lies in `root`.
fn is_above(root: &Path, home: &Path) -> bool {
    let real =
        |path: &Path| gemini_tools::sys::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(home).starts_with(real(root))
}

/// The directory of our executables; `None` where their names lead there.
fn directory() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let found = find_program(OsStr::new("get_tools"))
        .and_then(|path| gemini_tools::sys::canonicalize(path).ok());
    if found.is_some() && found == gemini_tools::sys::canonicalize(&own).ok() {
        return None;
    }
    let directory = own.parent()?;
    // In a checkout, below `target/release` or `target/TARGET/release`, the launchers build what is
    // missing.
    let checkouts = directory.ancestors().skip(2).take(2);
    let mut launchers = checkouts.map(|checkout| checkout.join("bin"));
    let launchers = launchers.find(|bin| {
        ["launch.sh", "get_tools", "call_tool"]
            .iter()
            .all(|name| bin.join(name).is_file())
    });
    Some(launchers.unwrap_or_else(|| directory.to_owned()))
}

/// All tools by name that the settings leave in, with what they do.
fn tools(home: &Path, root: &Path) -> Vec<(String, Kind)> {
    let settings = Settings::load(Some(home), root);
    let mut tools = Vec::new();
    declarations(
        |name, _| {
            tools.push((name.to_owned(), builtin::kind(name).unwrap_or(Kind::Other)));
            false
        },
        false,
    );
    let nowhere = || {
        let message = "No command is run to set things up.";
        Err(ToolError::new(ErrorKind::ExecutionFailed, message))
    };
    Custom::open(Some(home), root, &settings.trust).declarations(
        |name, kind| {
            tools.push((name.to_owned(), kind));
            false
        },
        false,
        false,
        nowhere,
    );
    tools.sort_by(|a, b| a.0.cmp(&b.0));
    tools
}

fn shown(plan: &SetupPlan) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        let what = match (&change.before, &change.after) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        };
        let path = show_path(&change.path);
        match show_path(&change.real) {
            real if real == path => text.push_str(&format!("{path} ({what})\n")),
            real => text.push_str(&format!("{path} ({what}), which is {real}\n")),
        }
        for line in change.diff().lines() {
            text.push_str(&format!("{}\n", visible(line)));
        }
        text.push('\n');
    }
    for note in &plan.notes {
        text.push_str(&format!("{}\n", visible(note)));
    }
    text
}

fn done(task: &InitTask, scope: SetupScope, home: &Path, root: &Path) -> String {
    if task.undoes {
        return "Undone.\n".to_owned();
    }
    let option = match scope {
        SetupScope::User => " --user",
        SetupScope::Project => "",
    };
    let first = if trust::gemini_cli_trusts(home, root) {
        "Done. Try:"
    } else {
        "Done. Gemini CLI does not trust this directory yet: start gemini here once and trust the folder, or, without a terminal, set GEMINI_CLI_TRUST_WORKSPACE=true. Then try:"
    };
    format!(
        "{first} gemini -p 'Use read_file to say what README.md is about.'\n\
         get_tools init{option} --undo takes it back.\n"
    )
}
