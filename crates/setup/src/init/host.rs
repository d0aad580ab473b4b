//! Plans our entry in the settings of a host that takes the tools over MCP.

use super::change::InitError;
use super::record::Edit;
use super::set::Set;
use super::{Purpose, SetupPlace, SetupPlan, works};
use crate::hosts::{Host, NAME, is_server};
use gemini_tools_core::text::show_path;
use gemini_tools_custom_tools::own_program::is_own_server;
use serde_json::Value;
use std::path::Path;

/// Plans the entry for `serve_tools` in the host's settings and, with `has_skill`, the skill. A
/// working entry is kept, and only gets the keys that it lacks. The entry approves no calls.
/// `server` is the path of `serve_tools`, or just its name if the host can find it by that.
///
/// # Errors
///
/// Returns an error for a file that can't be read, or that is not what it should be.
pub fn plan_host(
    place: SetupPlace<'_>,
    host: &Host,
    server: &str,
    has_skill: bool,
) -> Result<SetupPlan, InitError> {
    let SetupPlace { home, root, scope } = place;
    let path = host.file(home, root, scope);
    if host.replaces_variables() && server.contains('$') {
        let reason = format!(
            "{} would take the $ in the name {server} for a variable; install the executables in another directory",
            host.title
        );
        return Err(InitError::new(&path, reason));
    }
    let mut plan = SetupPlan::begin(place, Some(host))?;
    let before = plan.read(&path)?;
    // A malformed text is reported when it is edited.
    let document = host.syntax.value(before.as_deref().unwrap_or_default());
    let document = document.unwrap_or_default();
    let there = host.own_entry(&document);
    let name = there.map_or(NAME, |(name, _)| name);
    let value = &document[host.servers][name];
    let is_made_here = plan
        .record
        .file(&path)
        .is_some_and(|file| file.edit.is_some());
    let edit = (value.is_null() || is_made_here)
        .then(|| Edit::Entry([host.servers, name].map(str::to_owned).to_vec()));
    if there.is_none() && !value.is_null() {
        let shown = show_path(&path);
        plan.notes.push(format!(
            "{name} in {shown} was another server: {value}. get_tools init --undo puts it back."
        ));
    }
    let sets = sets(host, root, server, there);
    let reader = (host.title, host.syntax);
    plan.set(Purpose::Server, (&path, reader), before, &sets, edit)?;
    if has_skill {
        plan.write_skill(&host.skills(home, root, scope))?;
    }
    Ok(plan)
}

fn sets(host: &Host, root: &Path, server: &str, there: Option<(&str, &Value)>) -> Vec<Set> {
    let mut keys = host.needs();
    keys.insert("command".to_owned(), server.into());
    let Some((name, entry)) = there else {
        return vec![Set::new(&[host.servers, NAME], Some(Value::Object(keys)))];
    };
    // The path may be of an earlier installation, and is then replaced. A command that wraps the
    // server is kept.
    let is_stale = |command: &str| is_server(command) && !works(command, root, is_own_server);
    let is_stale = entry["command"].as_str().is_none_or(is_stale);
    let missing = keys.into_iter().filter(|(key, _)| match &**key {
        "command" => is_stale,
        key => entry[key].is_null(),
    });
    missing
        .map(|(key, value)| Set::new(&[host.servers, name, &key], Some(value)))
        .collect()
}
