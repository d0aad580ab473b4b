//! Plans our entry in the settings of a host that takes the tools over MCP.

use super::change::InitError;
use super::set::Set;
use super::{Purpose, SetupPlace, SetupPlan, works};
use crate::hosts::{Host, NAME, is_off, is_server, replace};
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
/// Returns an error if a file can't be read or is malformed, or if the host has no settings of a
/// project.
pub fn plan_host<'a>(
    place: SetupPlace<'a>,
    host: &'a Host,
    server: &str,
    has_skill: bool,
) -> Result<SetupPlan<'a>, InitError> {
    let SetupPlace { home, root, scope } = place;
    let Some(path) = host.file(home, root, scope) else {
        let reason = format!(
            "{} has no settings of a project; leave --project out",
            host.title
        );
        return Err(InitError::new(root, reason));
    };
    let mut plan = SetupPlan::begin(place, Some(host))?;
    let before = place.read(&path)?;
    // A malformed text is reported when it is edited.
    let document = host.syntax.value(before.as_deref().unwrap_or_default());
    let document = document.unwrap_or_default();
    let there = host.own_entry(&document);
    let name = there.map_or(NAME, |(name, _)| name);
    let value = &host.servers(&document)[name];
    if there.is_none() && !value.is_null() {
        let shown = show_path(&path);
        plan.notes.push(format!(
            "{name} in {shown} was another server: {value}. get_tools init --undo puts it back."
        ));
    }
    if there.is_some() && is_off(value) {
        let shown = show_path(&path);
        plan.notes
            .push(format!("{name} in {shown} is switched off, and stays so."));
    }
    let sets = sets(host, root, server, there);
    plan.set(Purpose::Server, &path, before, &sets)?;
    if has_skill {
        plan.write_skill(&host.skills(home, root, scope))?;
    }
    Ok(plan)
}

fn at(host: &Host, name: &str, rest: &[String]) -> Vec<String> {
    let name = [name.to_owned()];
    [&host.servers[..], &name, rest].concat()
}

fn sets(host: &Host, root: &Path, server: &str, there: Option<(&str, &Value)>) -> Vec<Set> {
    let own = host.entry(server);
    let Some((name, entry)) = there else {
        let at = at(host, NAME, &[]);
        // Another server of our name is in the way of our lines.
        return [None, Some(Value::Object(own))]
            .map(|value| Set::new(&at, value))
            .to_vec();
    };
    // An entry whose command wraps the server is kept as it is.
    let started = host.started(entry);
    let Some(there) = started.filter(|there| is_server(there.command)) else {
        return Vec::new();
    };
    let mut keys: Vec<(String, Value)> = own.into_iter().collect();
    keys.retain(|(key, _)| host.command.first() != Some(key) && entry[key].is_null());
    // The path may be of an earlier installation, and is then replaced.
    if !works(there.command, root, is_own_server) {
        let mut value = entry[&there.key].clone();
        replace(&mut value, there.command, server);
        keys.push((there.key, value));
    }
    keys.into_iter()
        .map(|(key, value)| Set::new(&at(host, name, &[key]), Some(value)))
        .collect()
}
