//! Interprets the text of an argument as a path or a pattern.
//!
//! Models write paths as for shells, editors and other systems: `~/a.txt`, `$HOME/a.txt`,
//! `file:///home/you/a.txt`, `"a.txt"`, or with a line feed at the end, and as people do in a
//! host's prompt: `@src/a.txt`. No shell stands between a model and a tool, so such a text would
//! name a file that is really called like that, and a write would create it. This module gives each
//! text the meaning that its writer had in mind, or refuses it. The name of an existing file is
//! used as it is, and after `./` no `~`, variable or URL is expanded.
//!
//! Programs' output is decoded to UTF-8, so the model sees a file name in an older encoding as
//! other bytes than the disk has. It may use the decoded name if only one file can be meant. So it
//! is with a decomposed name, as macOS has them: models and some hosts compose the letters.

use super::{Workspace, WorkspacePath, show_path};
use crate::pattern::escaped;
use crate::text::other_spellings;
use gemini_tools_core::text::{line_name, path_from_argument, visible};
use gemini_tools_core::tool::ToolError;
use rustix::fs::FileType;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const HOME_VARIABLES: [&str; 8] = [
    "$home",
    "${home}",
    "%home%",
    "%userprofile%",
    "%homedrive%%homepath%",
    "$env:home",
    "$env:userprofile",
    "${env:userprofile}",
];

const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

impl Workspace {
    /// Returns the path that an argument means: the argument itself, unless it is written as for a
    /// shell, an editor or another system. The path need not exist or lie in the workspace.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` for a text that is no path on this system: `~user`, a variable
    /// other than the home directory's, a drive letter, a URL.
    pub fn meant<'a>(&self, argument: &'a str) -> Result<Cow<'a, str>, ToolError> {
        if is_plain(argument) || self.is_there(argument) {
            return Ok(argument.into());
        }
        let text = self.unwrapped(argument);
        let start = text.trim_start();
        let text = match self.expanded(start)? {
            Some(expanded) => self.without_blanks(&expanded).to_owned().into(),
            None => Cow::from(self.without_blanks(text)),
        };
        if self.has_foreign_slash(&text) {
            let slashes = text.replace('\\', "/");
            let shown = show_path(self.display(Path::new(&slashes)));
            let hint = format!("Did you mean {}?", visible(&shown));
            let what = "has a backslash where paths here have a slash";
            return Err(refused_with(&text, what, hint));
        }
        Ok(self.encoded(&text).map_or(text, Cow::from))
    }

    /// Replaces each component that does not exist by the one existing name that is its spelling in
    /// an older encoding or the other form of Unicode. Returns `None` if that changes nothing.
    fn encoded(&self, text: &str) -> Option<String> {
        if text.is_ascii() || self.is_there(text) {
            return None;
        }
        let path = path_from_argument(text);
        let (mut found, mut has_changed) = (Vec::new(), false);
        for (i, name) in path
            .as_os_str()
            .as_bytes()
            .split(|b| *b == b'/')
            .enumerate()
        {
            found.extend_from_slice(if i > 0 { b"/" } else { b"" });
            let is_there = |name: &[u8]| self.is_there(&line_name(&[&found, name].concat()));
            let other = std::str::from_utf8(name)
                .ok()
                .filter(|name| !name.is_ascii() && !is_there(name.as_bytes()))
                .and_then(|name| {
                    let mut names = other_spellings(name).filter(|name| is_there(name));
                    let first = names.next()?;
                    names.all(|name| name == first).then_some(first)
                });
            has_changed |= other.is_some();
            found.extend_from_slice(other.as_deref().unwrap_or(name));
        }
        has_changed.then(|| line_name(&found).into_owned())
    }

    /// Returns the patterns that an argument means, relative to the directories `places`. The
    /// beginning of the argument is interpreted as by [`Workspace::meant`]. If its first components
    /// are also names of existing files, the first pattern takes these components literally, and
    /// the second is the argument's own.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::meant`], and `path_not_in_workspace` for a pattern below
    /// the home directory that can match nothing in the workspace.
    pub fn patterns_below(
        &self,
        argument: &str,
        places: &[WorkspacePath],
    ) -> Result<Vec<String>, ToolError> {
        let meant = self.meant_pattern(argument)?;
        let mut below = places.iter();
        let pattern = if let Some(rest) = below.find_map(|p| self.pattern_below(&meant, p)) {
            rest.to_owned()
        } else {
            // A pattern below the home directory is an error if it lies outside of the workspace.
            // Otherwise its leading slash would make it match names below `places`.
            if meant.starts_with('/') && !argument.starts_with('/') {
                self.locate(&meant)?;
            }
            meant.into_owned()
        };
        // If a file has exactly this name, such as `[id].ts`, that one is meant, as in Gemini CLI.
        // But whoever gives a pattern with `*` or `?` hardly knows that a file has such a name, so
        // the text stays a pattern.
        let is_file = |place: &WorkspacePath| {
            let place = place.join(Path::new(pattern.trim_start_matches('/')));
            matches!(self.file_type(&place), Ok(FileType::RegularFile))
        };
        let is_literal = pattern.contains(['[', '{', '(']) && !pattern.contains(['*', '?']);
        if is_literal && places.iter().any(is_file) {
            return Ok(vec![escaped(&pattern)]);
        }
        let literal = places
            .iter()
            .find_map(|p| self.with_literal_names(p, &pattern));
        Ok(literal.into_iter().chain([pattern]).collect())
    }

    /// Returns the rest of a pattern behind the path of the directory `place`, from the slash on.
    /// The path may be absolute or begin with `..`, and lead there through links.
    pub fn pattern_below<'a>(&self, pattern: &'a str, place: &WorkspacePath) -> Option<&'a str> {
        if !pattern.starts_with('/') && pattern.split('/').all(|part| part != "..") {
            return None;
        }
        let id = |place: &WorkspacePath| self.stat(place).map(|s| (s.st_dev, s.st_ino)).ok();
        let (id_of_place, ends) = (id(place)?, pattern.rmatch_indices('/'));
        let mut ends = ends.map(|(at, _)| (&pattern[..at.max(1)], &pattern[at..]));
        // `..` behind `**` leads to several directories, so no single one can be compared with
        // `place`.
        let found = ends.find(|(path, _)| {
            let there = || self.place_of(&place.path().join(path_from_argument(path)));
            !path.contains("**") && there().is_some_and(|there| id(&there) == Some(id_of_place))
        });
        found.map(|(_, rest)| rest)
    }

    /// Returns the pattern that an argument means. A pattern without a slash is compared with
    /// names, so no `~`, variable or URL is expanded at its beginning.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::meant`].
    pub fn meant_pattern<'a>(&self, argument: &'a str) -> Result<Cow<'a, str>, ToolError> {
        if argument.contains(['/', '\\']) {
            self.meant(argument)
        } else {
            Ok(self.unwrapped(argument).into())
        }
    }

    /// Escapes the first components of a pattern, as far as files of these names exist below
    /// `place`. Returns `None` if none of these names contains a brace, group or backslash. A class
    /// such as `[id]` matches its own text anyway: see [`crate::pattern`].
    fn with_literal_names(&self, place: &WorkspacePath, pattern: &str) -> Option<String> {
        let special = ['{', '(', '\\'];
        if !pattern.contains(special) {
            return None;
        }
        let mut run = PathBuf::new();
        let mut out = Vec::new();
        let mut has_found = false;
        let mut parts = pattern.split('/');
        let mut part = parts.next();
        while let Some(name) = part {
            if matches!(name, "" | ".") {
                out.push(name.to_owned());
            } else {
                let is_named =
                    !matches!(name, "**" | "..") && self.has_entry(&place.join(&run.join(name)));
                if !is_named {
                    break;
                }
                run.push(name);
                has_found |= name.contains(special);
                out.push(escaped(name));
            }
            part = parts.next();
        }
        out.extend(part.into_iter().chain(parts).map(str::to_owned));
        has_found.then(|| out.join("/"))
    }

    fn is_there(&self, argument: &str) -> bool {
        let is_possible = !argument.is_empty() && !argument.contains('\0');
        let place = || self.place_of(&path_from_argument(argument));
        is_possible && place().is_some_and(|place| self.has_entry(&place))
    }

    fn has_entry(&self, place: &WorkspacePath) -> bool {
        place.is_root() || self.entry_type(place).is_some()
    }

    /// Strips line ends, invisible characters and quotes around the whole text, as long as no file
    /// of that name exists.
    fn unwrapped<'a>(&self, argument: &'a str) -> &'a str {
        let mut text = argument;
        while !self.is_there(text) {
            let bare = text.trim_matches(is_wrapping);
            // A path may be in quotes that have blanks around them.
            let inner = [bare, bare.trim()].iter().find_map(|one| unquoted(one));
            match inner.unwrap_or(bare) {
                same if same == text => break,
                shorter => text = shorter,
            }
        }
        text
    }

    fn without_blanks<'a>(&self, text: &'a str) -> &'a str {
        let bare = text.trim();
        if bare != text && !self.is_there(text) && self.is_there(bare) {
            bare
        } else {
            text
        }
    }

    /// Expands `~`, `$HOME`, `file:` and `@` at the beginning of a path. Returns `None` if there is
    /// nothing to expand, or if the first component is the name of an existing file.
    fn expanded(&self, text: &str) -> Result<Option<String>, ToolError> {
        let end = text.find(['/', '\\']).unwrap_or(text.len());
        let (head, rest) = text.split_at(end);
        if self.is_there(head) {
            return Ok(None);
        }
        // Hosts mark the paths of a prompt so, and models copy the mark.
        if let Some(path) = text.strip_prefix('@') {
            let (first, _) = path.split_once(['/', '\\']).unwrap_or((path, ""));
            let is_below = || path.starts_with('/') && self.place_of(Path::new(path)).is_some();
            if self.is_there(path) || self.is_there(first) || is_below() {
                return Ok(Some(path.to_owned()));
            }
            if let Some(meant) = self.expanded(path)? {
                return Ok(Some(meant));
            }
        }
        if head == "~" || HOME_VARIABLES.contains(&&*head.to_ascii_lowercase()) {
            let Some(home) = self.home_by_name() else {
                return Err(refused(
                    text,
                    "begins with the home directory, and there is none",
                ));
            };
            let rest = if rest.starts_with('\\') {
                rest.replace('\\', "/")
            } else {
                rest.to_owned()
            };
            return Ok(Some(format!("{home}{rest}")));
        }
        if let Some(path) = self.path_of_url(text)? {
            let below_home = path.strip_prefix('/');
            let below_home = below_home.filter(|rest| *rest == "~" || rest.starts_with("~/"));
            let path = below_home.unwrap_or(&path);
            return Ok(Some(
                self.expanded(path)?.unwrap_or_else(|| path.to_owned()),
            ));
        }
        match foreign_beginning(text, head) {
            Some(what) => Err(refused(text, what)),
            None => Ok(None),
        }
    }

    /// Returns true if a name that does not exist has a backslash behind one that does. A backslash
    /// is a legal character of a name here, but Windows has it between names.
    fn has_foreign_slash(&self, text: &str) -> bool {
        let Some((above, rest)) = text.split_once('\\').filter(|_| !text.starts_with("./")) else {
            return false;
        };
        let name = &text[..text.len() - rest.find('/').map_or(0, |at| rest.len() - at)];
        let place = || self.place_of(&path_from_argument(above));
        let is_directory = || {
            matches!(
                place().map(|place| self.file_type(&place)),
                Some(Ok(FileType::Directory))
            )
        };
        // `a\{b` is a pattern with an escape, unless `a` has names in it.
        let may_escape = rest.starts_with(['*', '?', '[', '{', '(', '!', ')', ']', '}']);
        !above.ends_with('/')
            && (above == ".." || self.is_there(above))
            && (!may_escape || is_directory())
            && !self.is_there(name)
    }

    /// Returns the home directory. If a root lies below the home directory, or the other way round,
    /// its real path is returned, because roots are known by their real paths.
    fn home_by_name(&self) -> Option<String> {
        let home = self.home()?;
        let real = std::fs::canonicalize(home).ok();
        let is_shared = |real: &PathBuf| {
            let mut roots = self.roots();
            roots.any(|root| root.starts_with(real) || real.starts_with(root))
        };
        let path = real.filter(is_shared).unwrap_or_else(|| home.to_owned());
        Some(line_name(path.as_os_str().as_bytes()).into_owned())
    }

    fn path_of_url(&self, text: &str) -> Result<Option<String>, ToolError> {
        let Some(rest) = strip_scheme(text, "file") else {
            return Ok(None);
        };
        let path = match rest.strip_prefix("//") {
            None => rest,
            Some(rest) => {
                let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
                if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                    return Err(refused(text, "is an address on another host"));
                }
                &rest[host.len()..]
            }
        };
        if !path.starts_with('/') {
            return Ok(None);
        }
        let decode = |path: &str| {
            let bytes: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
            line_name(&bytes).into_owned()
        };
        let whole = decode(path);
        // The text after `#` names a place in the file, unless a file with `#` in its name exists.
        Ok(Some(match path.split_once('#') {
            Some((before, _)) if !self.is_there(&whole) => decode(before),
            _ => whole,
        }))
    }
}

/// Returns true if the text can only be a plain path, so that it need not be compared with files on
/// the disk. Most texts are such paths.
fn is_plain(argument: &str) -> bool {
    let is_usual = |b: &u8| b.is_ascii_graphic() && !b"~$%@\"'`\\".contains(b);
    let bytes = argument.as_bytes();
    argument.is_ascii()
        && bytes.first().is_some_and(is_usual)
        && bytes
            .last()
            .is_some_and(|b| b.is_ascii_graphic() && !b"\"'`".contains(b))
        && !argument.contains([':', '\\'])
}

fn is_wrapping(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'
            | '\u{feff}'
    )
}

fn unquoted(text: &str) -> Option<&str> {
    let inner = |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close);
    let mut pairs = QUOTES.iter();
    pairs.find_map(|pair| inner(*pair).filter(|inner| !inner.contains([pair.0, pair.1])))
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = text.split_once(':')?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Describes the beginning of a text that names no file on this system; `None` if it may name one.
/// `head` is everything before the first slash or backslash.
fn foreign_beginning(text: &str, head: &str) -> Option<&'static str> {
    let is_word = |name: &str, more: &str| {
        let mut chars = name.chars();
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        chars.next().is_some_and(begins)
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(c))
    };
    if let Some(user) = head.strip_prefix('~')
        && (matches!(user, "+" | "-") || is_word(user, ".-"))
    {
        return Some("begins with a user or a place that only a shell knows");
    }
    let is_drive = |text: &str| {
        let bytes = text.as_bytes();
        matches!(bytes, [letter, b':'] | [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
    };
    if is_drive(text) || text.strip_prefix('/').is_some_and(is_drive) || is_share(text) {
        return Some("is one of Windows");
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.len() > 1 && is_word(scheme, "+.-")) {
        return Some("is an address");
    }
    if text.starts_with("$(") || head.starts_with('`') {
        return Some("begins with a command, which is not run");
    }
    let name = head.strip_prefix('$');
    let windows = || {
        head.strip_prefix('%')?
            .split_once('%')
            .map(|(name, _)| name)
    };
    let is_variable = head.starts_with("${")
        || name.is_some_and(|name| is_word(name, ":"))
        || windows().is_some_and(|n| is_word(n, "()"));
    is_variable.then_some("begins with a variable, which is not expanded")
}

fn is_share(text: &str) -> bool {
    text.strip_prefix("\\\\")
        .is_some_and(|rest| rest.contains('\\'))
}

fn refused(text: &str, what: &str) -> ToolError {
    let mut schemes = ["http", "https"].iter();
    let hint = if schemes.any(|scheme| strip_scheme(text, scheme).is_some()) {
        "Fetch it with web_fetch, or give the path of a file."
    } else {
        "Give an absolute path, one relative to the project's root, or one below the home directory \
         as ~/name."
    };
    refused_with(text, what, hint.to_owned())
}

fn refused_with(text: &str, what: &str, mut hint: String) -> ToolError {
    let shown = visible(text);
    if !text.starts_with('/') {
        hint.push_str(&format!(" For a file of that very name, write ./{shown}."));
    }
    ToolError::invalid(format!("The path {shown} {what}.")).with_hint(hint)
}

pub(super) fn names_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes == b"."
        || [&b"/"[..], b"/.", b"/.."]
            .iter()
            .any(|end| bytes.ends_with(end))
}
