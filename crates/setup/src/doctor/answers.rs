//! In which form Gemini CLI gets the answers of our call command.

use super::variables::reaches_calls;
use super::{DoctorReport, Setup, State};
use crate::init::OUTPUT;
use gemini_tools_core::answer::Form;
use gemini_tools_core::text::show_path;
use gemini_tools_core::variables::{self, Variable, host_name};
use gemini_tools_settings::env_file;
use gemini_tools_settings::trust::gemini_cli_trusts;
use gemini_tools_workspace::file_owner::FileOwner;

const FORMS: &str = "Choose host (text) or part (JSON).";

/// Tells the form, where it is chosen, and whether it is one for a host.
pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) {
    let Some((name, place)) = chosen(setup) else {
        let what =
            "JSON (part, as nothing chooses a form); get_tools init --output host chooses text";
        return report.fact("answers", what);
    };
    let Some(form) = Form::from_name(&name) else {
        let what = format!("{OUTPUT} is {name:?}, which is not a form.");
        let why = "call_tool answers each call with an error.";
        return report.error("output-form", place, what, why, FORMS);
    };
    let what = match form {
        Form::Part => "JSON",
        Form::Host => "text",
        _ => {
            let what = format!("{OUTPUT} is {name}, which is not a form for a host.");
            let why = "Answers have no limit or no media then, or a failure's message is not where Gemini CLI looks.";
            return report.warn("output-form", place, what, why, FORMS);
        }
    };
    report.note(
        "answers",
        format!("{what}: {name}, by {place}"),
        State::Works,
    );
}

/// Returns the form and where it is chosen.
fn chosen(setup: &Setup<'_>) -> Option<(String, String)> {
    let (of_files, of_environment): (Vec<_>, Vec<_>) = variables::values(OUTPUT)
        .into_iter()
        .partition(|one| one.file.is_some());
    let of_environment = of_environment.into_iter().find(reaches_calls);
    let of_environment = of_environment.map(|one| (one.text(), format!("{} here", one.name)));
    let of_file = |one: Variable| {
        let file = one.file.as_deref().map(show_path)?;
        Some((one.text(), file.into_owned()))
    };
    of_environment
        .or_else(|| by_host(setup))
        .or_else(|| of_files.into_iter().find_map(of_file))
}

/// Returns the form in the file of variables that the host reads, where that is not the user's: what is in there comes
/// to the commands by the environment.
fn by_host(setup: &Setup<'_>) -> Option<(String, String)> {
    let file = env_file::in_force(setup.home, setup.root)
        .filter(|file| setup.home.map(env_file::of_user).as_ref() != Some(file))?;
    let owner = FileOwner::by_location(&file, setup.home, setup.root);
    let text = owner.read(&file).ok()??;
    let mut lines = env_file::variables(&text).into_iter();
    let (name, value) = lines.rfind(|(name, _)| *name == OUTPUT || *name == host_name(OUTPUT))?;
    let variable = Variable {
        name,
        value: value.into(),
        file: None,
    };
    if !reaches_calls(&variable) {
        return None;
    }
    let is_trusted = setup
        .home
        .is_some_and(|home| gemini_cli_trusts(home, setup.root));
    let shown = show_path(&file);
    let place = if is_trusted {
        shown.into_owned()
    } else {
        format!("{shown}, which Gemini CLI 0.61 reads once it trusts the folder")
    };
    Some((variable.text(), place))
}
