//! The meaning of the text of an argument as a path or as a pattern.
//!
//! Models write paths as shells, editors and other systems do: `~/a.txt`, `$HOME/a.txt`,
//! `file:///home/you/a.txt`, `"a.txt"`, with a line feed at the end. No shell stands between a model
//! and a tool, so that such a text would name a file that is called like that, and a write would make it. Here,
//! and nowhere else, each gets the meaning that its writer knows, or is refused. A name that
//! exists is used as it is, and after `./` every name is.
//!
//! A program's output is decoded, also where it lists names in an older encoding. So the decoded name of the only
//! file that it can mean is a path as well.

use super::{Workspace, WorkspacePath};
use crate::pattern::escaped;
use crate::text::older_spellings;
use gemini_tools_core::text::{line_name, path_from_argument, visible};
use gemini_tools_core::tool::ToolError;
use rustix::fs::{AtFlags, OFlags};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Spellings of the variable that names the home directory: of POSIX, `cmd.exe` and PowerShell, in small letters.
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

/// Quotes that may stand around a whole path.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

impl Workspace {
    /// Returns the path that the text of an argument means, as a text: the argument itself unless it is written as
    /// for a shell, an editor or another system. It need not exist or lie in the workspace.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params` where that is known to be no path here: `~user`, a variable other than that of the
    /// home directory, a drive letter, an address.
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
        Ok(self.encoded(&text).map_or(text, Cow::from))
    }

    /// Returns the path with the names that exist in an older encoding, one of each, where those in UTF-8 do not;
    /// `None` if there are none.
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
                    let mut names = older_spellings(name).filter(|name| is_there(name));
                    let first = names.next()?;
                    names.all(|name| name == first).then_some(first)
                });
            has_changed |= other.is_some();
            found.extend_from_slice(other.as_deref().unwrap_or(name));
        }
        has_changed.then(|| line_name(&found).into_owned())
    }

    /// Returns the patterns that the text of an argument means below the directories `places`: what
    /// [`Workspace::meant`] says of its beginning, and besides the meaning of its characters the literal names that its
    /// first components have, where there are such.
    ///
    /// # Errors
    ///
    /// As [`Workspace::meant`]; `path_not_in_workspace` for a pattern below the home directory that is about
    /// nothing in the workspace.
    pub fn patterns_below(
        &self,
        argument: &str,
        places: &[WorkspacePath],
    ) -> Result<Vec<String>, ToolError> {
        let meant = self.meant_pattern(argument)?;
        let below = |place: &WorkspacePath| {
            let rest = meant.strip_prefix(place.path().to_str()?)?;
            rest.starts_with('/').then(|| rest.to_owned())
        };
        let pattern = if let Some(rest) = places.iter().find_map(below) {
            rest
        } else {
            // A slash at the beginning ties other patterns to the directory, where one of elsewhere matches nothing.
            if meant.starts_with('/') && !argument.starts_with('/') {
                self.locate(&meant)?;
            }
            meant.into_owned()
        };
        let literal = places
            .iter()
            .find_map(|p| self.with_literal_names(p, &pattern));
        Ok(literal.into_iter().chain([pattern]).collect())
    }

    /// Returns the pattern that the text of an argument means. One without a slash is for names, which may begin
    /// with anything.
    ///
    /// # Errors
    ///
    /// As [`Workspace::meant`].
    pub fn meant_pattern<'a>(&self, argument: &'a str) -> Result<Cow<'a, str>, ToolError> {
        if argument.contains(['/', '\\']) {
            self.meant(argument)
        } else {
            Ok(self.unwrapped(argument).into())
        }
    }

    /// Returns a pattern whose first components are literal, as far as there are files or directories of these
    /// names below `place`; `None` where a pattern with braces, groups or backslashes names none. (Classes need no
    /// disk: see [`crate::pattern`].)
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

    /// Returns true if there is a file, directory or link by the very name of an argument.
    fn is_there(&self, argument: &str) -> bool {
        let is_possible = !argument.is_empty() && !argument.contains('\0');
        let place = || self.place_of(&path_from_argument(argument));
        is_possible && place().is_some_and(|place| self.has_entry(&place))
    }

    fn has_entry(&self, place: &WorkspacePath) -> bool {
        let Some(above) = place.parent() else {
            return true;
        };
        self.open_beneath(&above, crate::files::PATH_ONLY | OFlags::DIRECTORY)
            .is_ok_and(|dir| {
                rustix::fs::statat(dir, place.name(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
            })
    }

    /// Takes off what stands around a path and is never a part of one: line ends, characters without width, and
    /// quotes around the whole.
    fn unwrapped<'a>(&self, argument: &'a str) -> &'a str {
        let mut text = argument;
        while !self.is_there(text) {
            let bare = text.trim_matches(is_wrapping);
            // Blanks count if they are all that is before or after a line end or quote.
            let inner = [bare, bare.trim()].iter().find_map(|one| unquoted(one));
            match inner.unwrap_or(bare) {
                same if same == text => break,
                shorter => text = shorter,
            }
        }
        text
    }

    /// Takes blanks off the ends where only the name without them exists.
    fn without_blanks<'a>(&self, text: &'a str) -> &'a str {
        let bare = text.trim();
        if bare != text && !self.is_there(text) && self.is_there(bare) {
            bare
        } else {
            text
        }
    }

    /// Returns the path that a text means by its beginning; `None` where the beginning is a name.
    fn expanded(&self, text: &str) -> Result<Option<String>, ToolError> {
        let end = text.find(['/', '\\']).unwrap_or(text.len());
        let (head, rest) = text.split_at(end);
        if self.is_there(head) {
            return Ok(None);
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

    /// Returns the home directory as a text for an argument, by the name under which the workspace lies below it.
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

    /// Returns the path of a `file:` address; `None` for another text.
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
        // Behind it is a place in the file, unless a file is called so.
        Ok(Some(match path.split_once('#') {
            Some((before, _)) if !self.is_there(&whole) => decode(before),
            _ => whole,
        }))
    }
}

/// Returns true if nothing in a text asks for a second look: most arguments need no look at the disk.
fn is_plain(argument: &str) -> bool {
    let is_usual = |b: &u8| b.is_ascii_graphic() && !b"~$%\"'`\\".contains(b);
    let bytes = argument.as_bytes();
    argument.is_ascii()
        && bytes.first().is_some_and(is_usual)
        && bytes
            .last()
            .is_some_and(|b| b.is_ascii_graphic() && !b"\"'`".contains(b))
        && !argument.contains(':')
}

/// Returns true for line ends, and for characters without width or with a direction only.
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

/// Returns what a pair of quotes stands around; `None` where none does.
fn unquoted(text: &str) -> Option<&str> {
    let inner = |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close);
    let mut pairs = QUOTES.iter();
    pairs.find_map(|pair| inner(*pair).filter(|inner| !inner.contains([pair.0, pair.1])))
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = text.split_once(':')?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Says what a text begins with that names no file here; `head` is all before the first slash.
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
    let name = head.strip_prefix('$').map(|name| {
        let braced = name
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'));
        braced.unwrap_or(name)
    });
    let windows = || {
        head.strip_prefix('%')?
            .split_once('%')
            .map(|(name, _)| name)
    };
    let is_variable =
        name.is_some_and(|name| is_word(name, ":")) || windows().is_some_and(|n| is_word(n, "()"));
    is_variable.then_some("begins with a variable, which is not expanded")
}

fn is_share(text: &str) -> bool {
    text.strip_prefix("\\\\")
        .is_some_and(|rest| rest.contains('\\'))
}

fn refused(text: &str, what: &str) -> ToolError {
    let shown = visible(text);
    let mut schemes = ["http", "https"].iter();
    let mut hint = if schemes.any(|scheme| strip_scheme(text, scheme).is_some()) {
        "Fetch it with web_fetch, or give the path of a file.".to_owned()
    } else {
        "Give an absolute path, one relative to the project's root, or one below the home directory \
         as ~/name."
            .to_owned()
    };
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
