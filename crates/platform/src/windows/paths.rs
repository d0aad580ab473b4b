//! Forms of paths.

use crate::UnusableName;
use std::path::{Component, Path, PathBuf, Prefix};

/// The most characters of a path that every program takes without the prefix `\\?\`.
const MAX_USUAL: usize = 259;

/// A path without the prefix `\\?\`, where it means the same to every program.
pub(crate) fn usual_form(path: PathBuf) -> PathBuf {
    let Some(Component::Prefix(prefix)) = path.components().next() else {
        return path;
    };
    let Some(text) = path.to_str() else {
        return path;
    };
    let usual = match prefix.kind() {
        Prefix::VerbatimDisk(_) => text.strip_prefix(r"\\?\").map(str::to_owned),
        Prefix::VerbatimUNC(..) => text.strip_prefix(r"\\?\UNC\").map(|t| format!(r"\\{t}")),
        _ => None,
    };
    let is_plain = |path: &Path| {
        path.components().all(|part| match part {
            Component::Normal(name) => name.to_str().is_some_and(|name| why_not(name).is_none()),
            _ => true,
        })
    };
    match usual.map(PathBuf::from) {
        Some(usual) if usual.as_os_str().len() <= MAX_USUAL && is_plain(&usual) => usual,
        _ => path,
    }
}

/// Why no file should have this name; `None` where it may.
fn why_not(name: &str) -> Option<&'static str> {
    if name == "." || name == ".." {
        return None;
    }
    if name.contains(':') {
        return Some("a colon names another stream of a file");
    }
    if name.ends_with([' ', '.']) {
        return Some("most programs would leave out the space or the full stop at its end");
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let stem = stem.to_ascii_uppercase();
    let is_numbered = |prefix: &str| {
        let digit = stem.strip_prefix(prefix);
        digit.is_some_and(|d| {
            matches!(
                d,
                "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
            )
        })
    };
    let is_device = matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$");
    (is_device || is_numbered("COM") || is_numbered("LPT"))
        .then_some("Windows keeps that name for a device")
}

/// Refuses a path that is to be written to where one of its names can't be a file's. For reading
/// there is no such file, or it is a pattern.
///
/// # Errors
///
/// The name, and why.
pub fn check_new_names(path: &Path) -> Result<(), UnusableName> {
    let path = path.to_string_lossy();
    let is_bad = |c: char| matches!(c, '<' | '>' | '"' | '|' | '?' | '*') || c < ' ';
    match path.chars().find(|c| is_bad(*c)) {
        None => Ok(()),
        Some(bad) => {
            let message =
                format!("The path {path:?} holds {bad:?}, which no name may hold on Windows.");
            Err(UnusableName(message))
        }
    }
}

/// Refuses a path one of whose names stands for something else on Windows than for a file of
/// that name.
///
/// # Errors
///
/// The name, and why.
pub fn check_names(path: &Path) -> Result<(), UnusableName> {
    for part in path.components() {
        if let Component::Normal(name) = part {
            let name = name.to_string_lossy();
            if let Some(why) = why_not(&name) {
                let message = format!("The path has the name {name}, which can't be used: {why}.");
                return Err(UnusableName(message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check_names, check_new_names, usual_form};
    use std::path::{Path, PathBuf};

    #[test]
    fn names_that_stand_for_something_else_are_refused() {
        for name in [
            "nul", "NUL.txt", "Com1", "lpt9.log", "a:b", "a.", "a ", "con .x",
        ] {
            assert!(check_names(&Path::new("src").join(name)).is_err(), "{name}");
        }
        assert!(check_new_names(Path::new("a/b?")).is_err());
        assert!(check_new_names(Path::new("a/b")).is_ok());
        for name in [
            "null",
            "com10",
            ".gitignore",
            "a b",
            "console",
            "C:\\x\\y",
            "..",
            "é.txt",
        ] {
            assert!(check_names(Path::new(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_path_has_no_prefix_where_it_can_do_without() {
        let usual = |text: &str| usual_form(PathBuf::from(text));
        assert_eq!(usual(r"\\?\C:\a\b"), Path::new(r"C:\a\b"));
        assert_eq!(usual(r"\\?\UNC\host\share\a"), Path::new(r"\\host\share\a"));
        assert_eq!(usual(r"\\?\C:\a\nul"), Path::new(r"\\?\C:\a\nul"));
        let long = format!(r"\\?\C:\{}", "a\\".repeat(200));
        assert_eq!(usual(&long), Path::new(&long));
    }
}
