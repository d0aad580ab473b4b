//! Reads git's configuration files, and finds the user's ignore file (`core.excludesFile`).
//!
//! To find that ignore file only the user's own configuration is read, of which `~/.gitconfig` wins
//! over `$XDG_CONFIG_HOME/git/config`, without the files that these include. A repository's
//! configuration could name any file of the user as rules, and what is then missing in a listing
//! would reveal the content of that file.

use super::ignore::RuleFile;
use super::rules::read_named;
use std::ffi::OsString;
use std::iter::{Peekable, from_fn};
use std::path::{Path, PathBuf};
use std::str::Chars;
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
///
/// The text is read by character, as git reads it: several headers may stand on one line, and only
/// a value goes on after a backslash at the end of a line. Of a line that git refuses, the rest is
/// skipped.
pub fn entries(text: &str) -> Vec<ConfigEntry> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut chars = text.chars().peekable();
    let (mut found, mut section) = (Vec::new(), String::new());
    while let Some(c) = chars.next() {
        if c == '[' {
            section = header(&mut chars);
        } else if c.is_ascii_alphabetic() {
            let mut key = format!("{section}{c}");
            key.extend(from_fn(|| {
                chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-')
            }));
            key.make_ascii_lowercase();
            while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
            if chars.next_if_eq(&'=').is_some() {
                let value = value(&mut chars);
                found.push(ConfigEntry { key, value });
            } else {
                chars.find(|c| *c == '\n');
            }
        } else if !is_blank(c) {
            // This is a comment or something that git refuses, so the rest of the line is skipped.
            chars.find(|c| *c == '\n');
        }
    }
    found
}

fn header(chars: &mut Peekable<Chars<'_>>) -> String {
    let (mut section, mut is_quoted) = (String::new(), false);
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            ']' if !is_quoted => break,
            '"' => {
                is_quoted = !is_quoted;
                section.push_str(if is_quoted { "." } else { "" });
            }
            '\\' if is_quoted => section.extend(chars.next_if(|c| *c != '\n')),
            c if is_quoted || !is_blank(c) => section.push(c),
            _ => {}
        }
    }
    section + "."
}

fn value(chars: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    // Trailing blanks do not belong to the value, unless they are quoted.
    let mut length = 0;
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                break;
            }
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                other => value.extend(other.filter(|c| *c != '\n')),
            },
            c if value.is_empty() && !is_quoted && is_blank(c) => {}
            c => value.push(c),
        }
        if is_quoted || !is_blank(c) {
            length = value.len();
        }
    }
    value.truncate(length);
    value
}

/// Unlike Rust, git does not take `\u{b}` and `\u{c}` for blanks.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::{entries, excludes_file};
    use crate::text::tests::Random;
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
    fn listed(file: &Path) -> Option<Vec<(String, String)>> {
        let mut git = std::process::Command::new("git");
        let out = git.args(["config", "--list", "-z", "--file"]).arg(file);
        let out = out.output().expect("git starts");
        let text = String::from_utf8(out.stdout).expect("text");
        let items = text.split_terminator('\0').filter_map(|item| {
            // A name without `=` has no line feed after it.
            let (key, value) = item.split_once('\n')?;
            Some((key.to_ascii_lowercase(), value.to_owned()))
        });
        out.status.success().then(|| items.collect())
    }

    #[test]
    fn random_files_have_the_entries_that_git_lists() {
        if std::process::Command::new("git")
            .arg("version")
            .output()
            .is_err()
        {
            return;
        }
        let parts = [
            "[core]",
            "[a \"b]#\"]",
            "[A.B]",
            "[x \"q\\\"\"]",
            "[s]\n",
            "hooksPath",
            "x-1",
            "flag\n",
            "=",
            " = ",
            "=",
            " ",
            "\t",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "\\\n",
            "\\\r\n",
            "\\t",
            "\\b",
            "\\\\",
            "\"",
            "\"y z\"",
            "# a = \\\n",
            "; b=1\n",
            "#",
            ";",
            "v",
            "/p/é",
            "\u{b}",
            "]",
            "k=v\n",
            "[c] d = e\n",
            "f = g\\\n",
        ];
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("config");
        let mut random = Random::new(9);
        let mut accepted = 0;
        for _ in 0..600 {
            let count = random.below(8) + 1;
            let text: String = (0..count).map(|_| random.one_of(&parts)).collect();
            std::fs::write(&file, &text).expect("written");
            let Some(expected) = listed(&file) else {
                continue;
            };
            accepted += 1;
            let found = entries(&text).into_iter().map(|e| (e.key, e.value));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text:?}");
        }
        assert!(accepted > 50, "only {accepted}");
    }
}
