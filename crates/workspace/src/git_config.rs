//! Reads git's configuration files, and finds the user's ignore file (`core.excludesFile`).
//!
//! To find that ignore file only the user's own configuration is read, of which `~/.gitconfig` wins
//! over `$XDG_CONFIG_HOME/git/config`, without the files that these include. A repository's
//! configuration could name any file of the user as rules, and what is then missing in a listing
//! would reveal the content of that file.

use super::ignore::RuleFile;
use super::rules::read_named;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The user's ignore file for all repositories, read when the first repository is met.
#[derive(Debug, Default)]
pub(super) struct UsersRules(OnceLock<Option<Arc<RuleFile>>>);

impl UsersRules {
    pub(super) fn get(&self) -> Option<&Arc<RuleFile>> {
        let read = || {
            let path = excludes_file(&|name| std::env::var_os(name))?;
            // A relative path would be looked up in the current directory, perhaps a project's.
            let path = path.is_absolute().then_some(path)?;
            Some(Arc::new(RuleFile::parse(&read_named(&path)?)))
        };
        self.0.get_or_init(read).as_ref()
    }
}

fn excludes_file(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = users_files(env).into_iter().find_map(|path| {
        let text = read_named(&path)?;
        let mut entries = entries(&String::from_utf8_lossy(&text));
        entries.retain(|entry| entry.key == "core.excludesfile");
        Some(entries.pop()?.path(home(env).as_deref()))
    });
    named.or_else(|| Some(xdg(env)?.join("git/ignore")))
}

/// Returns the paths of the user's configuration files, the one that wins over the others first.
/// `env` reads an environment variable.
pub fn users_files(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if let Some(only) = env("GIT_CONFIG_GLOBAL") {
        return vec![PathBuf::from(only)];
    }
    let of_home = home(env).map(|home| home.join(".gitconfig"));
    let of_xdg = xdg(env).map(|xdg| xdg.join("git/config"));
    of_home.into_iter().chain(of_xdg).collect()
}

fn directory(env: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    env(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn home(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    directory(env, "HOME")
}

fn xdg(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    directory(env, "XDG_CONFIG_HOME").or_else(|| Some(home(env)?.join(".config")))
}

/// A value in a configuration file of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The section, the subsection and the name in lower case, joined by dots: `core.hookspath`.
    pub key: String,
    /// The value, without quotes, escapes and comment.
    pub value: String,
}

impl ConfigEntry {
    /// Returns the value as a path, with `~/` expanded.
    pub fn path(&self, home: Option<&Path>) -> PathBuf {
        match (self.value.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(&self.value),
        }
    }
}

/// Returns the values in the text of a configuration file, in order. Included files are not read,
/// and a name without `=` is left out.
pub fn entries(text: &str) -> Vec<ConfigEntry> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let (name, rest) = header.split_once(']').unwrap_or_default();
            let words = name.split_whitespace();
            let words: Vec<&str> = words.map(|word| word.trim_matches('"')).collect();
            section = words.join(".").to_ascii_lowercase();
            line = rest;
        }
        let Some((name, written)) = line.split_once('=') else {
            continue;
        };
        let key = format!("{section}.{}", name.trim().to_ascii_lowercase());
        let value = value(written.trim_start(), &mut lines);
        found.push(ConfigEntry { key, value });
    }
    found
}

fn value<'a>(first: &'a str, more: &mut impl Iterator<Item = &'a str>) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    // Trailing blanks do not belong to the value, unless they are quoted.
    let mut length = 0;
    let mut line = Some(first);
    while let Some(text) = line.take() {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => is_quoted = !is_quoted,
                '#' | ';' if !is_quoted => break,
                '\\' => match chars.next() {
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some(other) => value.push(other),
                    None => line = more.next(),
                },
                other => value.push(other),
            }
            if is_quoted || !c.is_whitespace() {
                length = value.len();
            }
        }
    }
    value.truncate(length);
    value
}

#[cfg(test)]
mod tests {
    use super::{entries, excludes_file};
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

    #[test]
    fn values_are_read_as_git_reads_them() {
        let text = "[core]\n\thooksPath = \"a b\"/c ; more\n[Alias] st = !x\\\\y\\\n  z # no\n\
            [diff \"Img\"]\n textconv=\\\"q\\\" \n flag\n";
        let found: Vec<_> = entries(text)
            .into_iter()
            .map(|e| (e.key, e.value))
            .collect();
        let expected = [
            ("core.hookspath", "a b/c"),
            ("alias.st", "!x\\y  z"),
            ("diff.img.textconv", "\"q\""),
        ];
        assert_eq!(
            found,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }
}
