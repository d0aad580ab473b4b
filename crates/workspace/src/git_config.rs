//! What of the user's git configuration concerns walks: the ignore file for all repositories,
//! `core.excludesFile`.
//!
//! Only the user's own files are read, `~/.gitconfig` before `$XDG_CONFIG_HOME/git/config`, with
//! what they include without a condition. The configuration of a repository can name any file of
//! the user's, and a repository may be the work of others.

use super::ignore::RuleFile;
use super::rules::{parsed, read_named};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How deep files include each other, as in git.
const MAX_DEPTH: usize = 10;

/// The rules of the user's ignore file for all repositories, read when the first repository is met.
#[derive(Debug, Default)]
pub(super) struct UsersRules(OnceLock<Option<Arc<RuleFile>>>);

impl UsersRules {
    /// The rules, where there are any.
    pub(super) fn get(&self) -> Option<&Arc<RuleFile>> {
        let read = || {
            let path = excludes_file(&|name| std::env::var_os(name))?;
            // A relative path would lie somewhere in a project.
            let path = path.is_absolute().then_some(path)?;
            Some(Arc::new(parsed(&read_named(&path)?)))
        };
        self.0.get_or_init(read).as_ref()
    }
}

/// The user's ignore file for all repositories, by the configuration that the environment leads
/// to.
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
        .find_map(|path| named_in(path, home.as_deref(), 0));
    named.or_else(|| Some(xdg?.join("git/ignore")))
}

/// What a configuration file, or one that it includes, says last of `core.excludesFile`.
fn named_in(path: &Path, home: Option<&Path>, depth: usize) -> Option<PathBuf> {
    let text = read_named(path)?;
    let mut named = None;
    for (section, key, value) in entries(&text) {
        let value = || interpolated(&value, home);
        match (section.as_str(), key.as_str()) {
            ("core", "excludesfile") => named = value(),
            ("include", "path") if depth < MAX_DEPTH => {
                let included = value().and_then(|value| Some(path.parent()?.join(value)));
                let more = included.and_then(|path| named_in(&path, home, depth + 1));
                named = more.or(named);
            }
            _ => {}
        }
    }
    named
}

/// A path as it is in a configuration file.
fn interpolated(value: &str, home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(value)),
    }
}

/// The entries of a configuration file up to the first that is not valid: section and key in
/// lower case, and the value. Sections with a name in quotation marks, and keys without a value,
/// are left out.
fn entries(text: &[u8]) -> Vec<(String, String, String)> {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut section = String::new();
    let mut entries = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return entries;
        };
        if matches!(first, '#' | ';') {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if first == '[' {
            let Some(end) = header_end(rest) else {
                return entries;
            };
            section = rest[1..end].trim().to_ascii_lowercase();
            rest = &rest[end + 1..];
        } else {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after.trim_start_matches([' ', '\t']);
            match rest.strip_prefix('=') {
                Some(after) => {
                    let Some((value, after)) = value(after) else {
                        return entries;
                    };
                    entries.push((section.clone(), key.to_ascii_lowercase(), value));
                    rest = after;
                }
                None if key.is_empty() => return entries,
                None => {}
            }
        }
    }
}

/// Where the bracket that closes a section's header is.
fn header_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    text.bytes().enumerate().find_map(|(i, byte)| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_quoted,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return Some(i),
            _ => {}
        }
        None
    })
}

/// The value that begins after an equals sign, and the text after it.
fn value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    // The length of the value without blanks at its end.
    let mut end = 0;
    let (mut is_quoted, mut is_comment) = (false, false);
    let mut chars = text.char_indices();
    let rest = loop {
        let Some((i, c)) = chars.next() else {
            break "";
        };
        match c {
            '\n' if is_quoted => return None,
            '\n' => break &text[i..],
            _ if is_comment => {}
            '#' | ';' if !is_quoted => is_comment = true,
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => {
                if end > 0 {
                    value.push(c);
                }
                continue;
            }
            '\\' => match chars.next()?.1 {
                '\n' => {}
                't' => value.push('\t'),
                'n' => value.push('\n'),
                'b' => value.push('\u{8}'),
                c @ ('\\' | '"') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
        if !is_comment {
            end = value.len();
        }
    };
    value.truncate(end);
    (!is_quoted).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::{entries, excludes_file};
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    fn entries_are_read_as_git_reads_them() {
        let text = b"\xef\xbb\xbf# first\n[User] name = O ; me\n\temail = \"a;b # \\\"c\\\"\" # x\n\
            [core]\r\n  excludesFile\t=  ~/one two  \r\n autocrlf\n pager = a\\\n b \\\\\\t\n\
            [include \"x]y\"] path = no\n[Include]path=more\nempty =\n[core] Bad = \\q\n[core] late = 1\n";
        let found: Vec<String> = entries(text)
            .into_iter()
            .map(|(section, key, value)| format!("{section}.{key}={value}"))
            .collect();
        assert_eq!(
            found,
            [
                "user.name=O",
                "user.email=a;b # \"c\"",
                "core.excludesfile=~/one two",
                "core.pager=a b \\\t",
                "include \"x]y\".path=no",
                "include.path=more",
                "include.empty=",
            ]
        );
    }

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
        write(
            "more/it",
            "[core]\nexcludesFile = ~/in\n[include]\npath = it\n",
        );
        write(
            ".gitconfig",
            "[core]\nexcludesFile = /x/a\n[include]\npath = more/it\n",
        );
        assert_eq!(file(&at_home), Some(home.join("in")));
        write(
            ".gitconfig",
            "[include]\npath = more/it\n[core]\nexcludesFile =\n",
        );
        assert_eq!(file(&at_home), Some("".into()));
        let other = home.join("more/it");
        let chosen = [("HOME", home), ("GIT_CONFIG_GLOBAL", other.as_path())];
        assert_eq!(file(&chosen), Some(home.join("in")));
    }
}
