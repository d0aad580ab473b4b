//! Replaces paths that differ between machines by placeholders.
//!
//! In a recorded script, the project's directory is `{{workspace}}` and the home directory
//! `{{home}}`. The script can thus be played in another checkout, and does not reveal the user's
//! name. If a text itself contains such a placeholder, recording inserts an equals sign into it:
//! `{{=workspace}}` stands for the text `{{workspace}}`.

use gemini_tools_core::secrets::Secrets;
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const WORKSPACE: &str = "{{workspace}}";
const HOME: &str = "{{home}}";

#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{(=*)(workspace|home)\}\}").unwrap());

/// The directories of a run, with their placeholders.
#[derive(Debug, Clone, Default)]
pub struct ScriptPlaces {
    /// The paths to replace, with their placeholders. Longer paths come first: a project inside the
    /// home directory must be recognised before the home directory is.
    paths: Vec<(String, &'static str)>,
    workspace: Option<String>,
    home: Option<String>,
    secrets: Secrets,
}

impl ScriptPlaces {
    /// Creates the placeholders for the project's and the user's directory. `given` is the
    /// project's path as the caller wrote it, which may lead through a link.
    pub fn new(workspace: &Path, given: Option<&Path>, home: Option<&Path>) -> Self {
        let text = |path: &Path| {
            let text = path.to_str()?.trim_end_matches('/');
            // `/` would match in every path.
            (text.len() > 1).then(|| text.to_owned())
        };
        let real: Option<PathBuf> = home.and_then(|home| std::fs::canonicalize(home).ok());
        let mut paths: Vec<(String, &'static str)> = [
            (Some(workspace), WORKSPACE),
            (given, WORKSPACE),
            (home, HOME),
            (real.as_deref(), HOME),
        ]
        .into_iter()
        .filter_map(|(path, name)| Some((text(path?)?, name)))
        .collect();
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        // If home and project are the same directory, the project's placeholder is kept.
        paths.dedup_by(|b, a| a.0 == b.0);
        Self {
            paths,
            workspace: text(workspace),
            home: home.and_then(text),
            secrets: Secrets::from_environment(),
        }
    }

    /// Replaces paths by placeholders, and hides secrets.
    pub fn named(&self, text: &str) -> String {
        let mut own = NAME.replace_all(text, "{{=$1$2}}").into_owned();
        for (path, name) in &self.paths {
            own = replaced(&own, path, name);
        }
        self.secrets.hidden(&own)
    }

    /// Replaces placeholders by paths. A placeholder for a directory that this run does not have is
    /// left as it is.
    pub fn found(&self, text: &str) -> String {
        let path = |name: &Captures<'_>| {
            if let Some(fewer) = name[1].strip_prefix('=') {
                return format!("{{{{{fewer}{}}}}}", &name[2]);
            }
            let path = match &name[2] {
                "home" => &self.home,
                _ => &self.workspace,
            };
            path.clone().unwrap_or_else(|| name[0].to_owned())
        };
        NAME.replace_all(text, path).into_owned()
    }
}

fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut own = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(path) {
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let mut next = behind.chars();
        let is_longer = match next.next() {
            // A full stop may end the sentence instead of continuing the path.
            Some('.') => next.next().is_some_and(goes_on),
            Some(c) => goes_on(c),
            None => false,
        };
        let begins_inside = before.chars().next_back().is_some_and(goes_on);
        let is_other = is_longer || begins_inside;
        own.push_str(before);
        own.push_str(if is_other { path } else { name });
        rest = behind;
    }
    own.push_str(rest);
    own
}

pub(crate) fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => each_text_of(fields, change),
        _ => {}
    }
}

pub(crate) fn each_text_of(fields: &mut Map<String, Value>, change: &dyn Fn(&str) -> String) {
    let changed = std::mem::take(fields).into_iter().map(|(key, mut value)| {
        each_text(&mut value, change);
        (change(&key), value)
    });
    *fields = changed.collect();
}

#[cfg(test)]
mod tests {
    use super::ScriptPlaces;
    use std::path::Path;

    fn places() -> ScriptPlaces {
        ScriptPlaces::new(
            Path::new("/home/ada/demo"),
            Some(Path::new("/link/demo")),
            Some(Path::new("/home/ada")),
        )
    }

    #[test]
    fn paths_become_names_and_names_paths() {
        for (text, named) in [
            ("/home/ada/demo/a.txt", "{{workspace}}/a.txt"),
            ("in /home/ada/demo.", "in {{workspace}}."),
            ("'/home/ada/demo'", "'{{workspace}}'"),
            ("/home/ada/.gemini", "{{home}}/.gemini"),
            (
                "/home/ada/demo2 /home/ada/demo.d",
                "{{home}}/demo2 {{home}}/demo.d",
            ),
            ("/home/adam /mnt/home/ada", "/home/adam /mnt/home/ada"),
            ("write {{workspace}}", "write {{=workspace}}"),
            ("write {{=home}}", "write {{==home}}"),
            ("{{other}}", "{{other}}"),
        ] {
            assert_eq!(places().named(text), named);
            assert_eq!(places().found(named), text);
        }
        assert_eq!(places().named("/link/demo/a"), "{{workspace}}/a");
    }

    #[test]
    fn what_a_machine_has_not_stays_a_name() {
        let places = ScriptPlaces::new(Path::new("/"), None, None);
        assert_eq!(places.named("/etc /"), "/etc /");
        assert_eq!(
            places.found("{{home}} {{workspace}}"),
            "{{home}} {{workspace}}"
        );
    }
}
