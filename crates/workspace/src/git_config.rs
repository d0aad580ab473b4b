//! The user's ignore file for all repositories, `core.excludesFile` of git's configuration.
//!
//! Only the user's own files are read, `~/.gitconfig` before `$XDG_CONFIG_HOME/git/config`, without
//! what they include. The configuration of a repository can name any file of the user's, and a
//! repository may be the work of others.

use super::ignore::RuleFile;
use super::rules::read_named;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The rules of the user's ignore file for all repositories, read when the first repository is met.
#[derive(Debug, Default)]
pub(super) struct UsersRules(OnceLock<Option<Arc<RuleFile>>>);

impl UsersRules {
    /// Returns the rules, where there are any.
    pub(super) fn get(&self) -> Option<&Arc<RuleFile>> {
        let read = || {
            let path = excludes_file(&|name| std::env::var_os(name))?;
            // A relative path would lie somewhere in a project.
            let path = path.is_absolute().then_some(path)?;
            Some(Arc::new(RuleFile::parse(&read_named(&path)?)))
        };
        self.0.get_or_init(read).as_ref()
    }
}

/// Returns the user's ignore file for all repositories, by the configuration that the environment
/// leads to.
fn excludes_file(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name| env(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = directory("HOME");
    let xdg = directory("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let configurations = match env("GIT_CONFIG_GLOBAL") {
        Some(only) => vec![PathBuf::from(only)],
        None => [
            home.as_ref().map(|home| home.join(".gitconfig")),
            xdg.as_ref().map(|xdg| xdg.join("git/config")),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    let named = configurations
        .iter()
        .find_map(|path| named_in(path, home.as_deref()));
    named.or_else(|| Some(xdg?.join("git/ignore")))
}

/// Returns the last value of `core.excludesFile` in a configuration file.
fn named_in(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let text = read_named(path)?;
    let text = String::from_utf8_lossy(&text);
    let mut is_in_core = false;
    let mut named = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let (name, rest) = header.split_once(']').unwrap_or_default();
            is_in_core = name.trim().eq_ignore_ascii_case("core");
            line = rest;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_in_core) else {
            continue;
        };
        if key.trim().eq_ignore_ascii_case("excludesfile") {
            let value = value.trim();
            let value = match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default(),
                None => value
                    .split(['#', ';'])
                    .next()
                    .unwrap_or_default()
                    .trim_end(),
            };
            named = match value.strip_prefix("~/") {
                Some(rest) => home.map(|home| home.join(rest)),
                None => Some(PathBuf::from(value)),
            };
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::excludes_file;
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    fn the_last_word_counts_and_the_usual_file_where_there_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path();
        let file = |env: &[(&str, &Path)]| {
            let get = |name: &str| {
                let value = env.iter().find(|(known, _)| *known == name);
                value.map(|(_, path)| OsString::from(path))
            };
            excludes_file(&get)
        };
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let at_home = [("HOME", home)];
        assert_eq!(file(&[]), None);
        assert_eq!(file(&at_home), Some(home.join(".config/git/ignore")));
        let xdg = home.join("xdg");
        let with_xdg = [("HOME", home), ("XDG_CONFIG_HOME", xdg.as_path())];
        assert_eq!(file(&with_xdg), Some(xdg.join("git/ignore")));
        write(".config/git/config", "[core]\nexcludesFile = /x/low\n");
        assert_eq!(file(&at_home), Some("/x/low".into()));
        for (text, expected) in [
            ("[core]\n\tExcludesFile = ~/in # mine\n", home.join("in")),
            (
                "[Core]\r\nexcludesfile=\"/x/a b;c\" ; mine\r\n",
                "/x/a b;c".into(),
            ),
            (
                "[core]\nexcludesFile = /x/a\nexcludesFile = /x/b\n",
                "/x/b".into(),
            ),
            ("[core]\nexcludesFile =\n[user]\nname = O\n", "".into()),
            ("[core \"x\"]\nexcludesFile = /x/a\n", "/x/low".into()),
        ] {
            write(".gitconfig", text);
            assert_eq!(file(&at_home), Some(expected), "{text:?}");
        }
        write("other", "[core]\nexcludesFile = ~/in\n");
        let other = home.join("other");
        let chosen = [("HOME", home), ("GIT_CONFIG_GLOBAL", other.as_path())];
        assert_eq!(file(&chosen), Some(home.join("in")));
    }
}
