//! Suggests existing paths for a path that does not exist.
//!
//! It suggests only names that a listing would show: none outside of the workspace and none that is
//! ignored. The search is bounded, so that it costs no more in a huge tree than in a small one.

use super::text::{detect, other_spellings};
use super::walk::{NodeModules, Visitor, WalkEntry, WalkOptions, walk};
use super::{Respect, Workspace, WorkspacePath, show_path};
use gemini_tools_core::text::line_name;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MOST: usize = 3;

/// How many similar directories are followed at once where a component is misspelled.
const BRANCHES: usize = 3;

/// Similar names are searched for only in a directory of up to so many entries. In a larger one,
/// only other spellings of the same name (letter case, encoding, `-` or `_`) are found. In other
/// directories the same name is searched for by walking up to `MAX_WALKED_ENTRIES` entries. If
/// there are more, nothing is suggested, because which entries come first depends on the threads'
/// timing.
const MAX_COMPARED_ENTRIES: usize = 20_000;

const MAX_WALKED_ENTRIES: usize = 100_000;

/// Similarity of a path that has the same name in another directory, on the scale from 0 to 1 of
/// [`likeness_of_names`].
const ELSEWHERE: f64 = 0.85;

#[derive(Debug, Clone)]
struct Near {
    place: WorkspacePath,
    likeness: f64,
}

impl Near {
    fn order(&self, other: &Self) -> Ordering {
        let path = |near: &Self| near.place.path().as_os_str().to_owned();
        (other.likeness.total_cmp(&self.likeness))
            .then_with(|| path(self).len().cmp(&path(other).len()))
            .then_with(|| path(self).cmp(&path(other)))
    }
}

impl Workspace {
    /// Adds to the error about a path that does not exist up to three paths that do and have a
    /// similar name, or the same name in another directory. Other errors stay as they are.
    #[must_use]
    pub fn with_nearest(&self, error: ToolError, place: &WorkspacePath) -> ToolError {
        let is_missing = matches!(
            error.kind,
            ErrorKind::FileNotFound | ErrorKind::SearchPathNotFound
        );
        if !is_missing {
            return error;
        }
        let Some(question) = self.nearest_question(place) else {
            return error;
        };
        let hint = match &error.hint {
            Some(hint) => format!("{question} {hint}"),
            None => question,
        };
        error.with_hint(hint)
    }

    /// Returns a question that offers up to three existing paths in place of one that does not
    /// exist, or says that it is a link to what does not exist; `None` if no path is similar.
    pub fn nearest_question(&self, place: &WorkspacePath) -> Option<String> {
        if self.is_link(place) {
            return Some("It is a symbolic link, and its target does not exist.".to_owned());
        }
        let near = self.nearest(place);
        let shown = |place: &WorkspacePath| {
            let path = self.display(place.path());
            line_name(path.as_os_str().as_bytes()).into_owned()
        };
        let names: Vec<_> = near.iter().map(shown).collect();
        (!names.is_empty()).then(|| format!("Did you mean {}?", names.join(" or ")))
    }

    fn nearest(&self, place: &WorkspacePath) -> Vec<WorkspacePath> {
        if self.roots[place.root].read_only || place.is_root() {
            return Vec::new();
        }
        let mut all = self.along(place);
        all.extend(self.elsewhere(place));
        all.sort_by(Near::order);
        let mut seen: Vec<WorkspacePath> = Vec::new();
        for Near { place, .. } in all {
            if seen.len() < MOST && !seen.iter().any(|one| one.path() == place.path()) {
                seen.push(place);
            }
        }
        seen
    }

    /// Follows a path from its root. Where a component does not exist, it goes on with the existing
    /// names that are most similar.
    fn along(&self, place: &WorkspacePath) -> Vec<Near> {
        let slashes = show_path(place.rel()).replace('\\', "/");
        let parts: Vec<&OsStr> = Path::new(&slashes).iter().collect();
        let root = WorkspacePath::new(
            place.root,
            PathBuf::new(),
            self.roots[place.root].path.clone(),
        );
        let mut branches = vec![Near {
            place: root,
            likeness: 1.0,
        }];
        for (i, part) in parts.iter().enumerate() {
            let is_last = i + 1 == parts.len();
            let mut next = Vec::new();
            for Near { place, likeness } in branches {
                let exact = place.join(Path::new(part));
                if self.stat(&exact).is_ok() {
                    next.push(Near {
                        place: exact,
                        likeness,
                    });
                    continue;
                }
                let entries = self.list_dir(&place, Respect::ALL).unwrap_or_default();
                let compares = entries.len() <= MAX_COMPARED_ENTRIES;
                for entry in entries {
                    if entry.ignored.is_none()
                        && (is_last || entry.is_dir)
                        && let Some(like) =
                            likeness_of_names(part.as_bytes(), &entry.name, compares)
                    {
                        next.push(Near {
                            place: place.join(Path::new(OsStr::from_bytes(&entry.name))),
                            likeness: likeness * like,
                        });
                    }
                }
            }
            next.sort_by(Near::order);
            next.truncate(BRANCHES);
            branches = next;
        }
        branches.retain(|near| self.is_shown(&near.place));
        branches
    }

    fn elsewhere(&self, place: &WorkspacePath) -> Vec<Near> {
        let options = WalkOptions {
            respect: Respect::ALL,
            node_modules: NodeModules::LeftOut,
            visit_ignored: false,
        };
        let seen = AtomicUsize::new(0);
        let mut found = Vec::new();
        for top in self.root_places() {
            let make = || SameName {
                top: &top,
                name: place.name().as_bytes(),
                seen: &seen,
                found: RefCell::default(),
            };
            if let Ok((visitors, _)) = walk(self, &top, options, &Cancellation::default(), make) {
                found.extend(
                    visitors
                        .into_iter()
                        .flat_map(|visitor| visitor.found.into_inner()),
                );
            }
        }
        // The walk was stopped early. Which entries it met depends on the threads' timing, so
        // nothing is suggested.
        if seen.load(Relaxed) > MAX_WALKED_ENTRIES {
            return Vec::new();
        }
        let wanted: Vec<&OsStr> = place.rel().iter().collect();
        let rate = |place: WorkspacePath| {
            let parts: Vec<&OsStr> = place.rel().iter().collect();
            let is_same = |(a, b): &(&&OsStr, &&OsStr)| a == b;
            let first = parts.iter().zip(&wanted).take_while(is_same).count();
            let last = (parts.iter().rev().zip(wanted.iter().rev())).take_while(is_same);
            let likeness = ELSEWHERE + 0.01 * (first + last.count()).min(10) as f64;
            Near { place, likeness }
        };
        let mut near: Vec<Near> = found.into_iter().map(rate).collect();
        near.sort_by(Near::order);
        let shown = near.into_iter().filter(|near| self.is_shown(&near.place));
        shown.take(MOST).collect()
    }

    fn is_shown(&self, place: &WorkspacePath) -> bool {
        if place.rel().iter().any(|name| name == ".git") {
            return false;
        }
        let is_dir = self.open_dir(place).is_ok();
        let named = self.ignored_as_named(place, is_dir, Respect::ALL);
        matches!(named, Ok(None)) && matches!(self.is_closed(place, is_dir), Ok(false))
    }
}

/// A visitor that finds files and directories by name, ignoring ASCII case.
struct SameName<'a> {
    top: &'a WorkspacePath,
    name: &'a [u8],
    seen: &'a AtomicUsize,
    found: RefCell<Vec<WorkspacePath>>,
}

impl SameName<'_> {
    fn counts(&self) -> bool {
        self.seen.fetch_add(1, Relaxed) < MAX_WALKED_ENTRIES
    }

    fn is_called(&self, path: &[u8], name_at: usize) -> bool {
        path[name_at..].eq_ignore_ascii_case(self.name)
    }

    fn add(&self, path: &[u8]) {
        let place = self.top.join(Path::new(OsStr::from_bytes(path)));
        self.found.borrow_mut().push(place);
    }
}

impl Visitor for SameName<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.counts() && self.is_called(path, name_at)
    }

    fn enters(&self, path: &[u8], name_at: usize) -> bool {
        if self.is_called(path, name_at) {
            self.add(path);
        }
        self.counts()
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        self.add(found.path);
    }
}

/// Returns how similar a name is to the wanted one, from 0 to 1, or `None` if it is not similar.
/// Unless `compares` is set, only other spellings of the same name count.
fn likeness_of_names(wanted: &[u8], name: &[u8], compares: bool) -> Option<f64> {
    let is_spelled_so =
        |text: &str| !text.is_ascii() && other_spellings(text).any(|bytes| bytes == name);
    if std::str::from_utf8(wanted).is_ok_and(is_spelled_so) {
        return Some(0.98);
    }
    let [wanted, name] = [wanted, name].map(read_name);
    if wanted.eq_ignore_ascii_case(&name) {
        return Some(0.99);
    }
    let [a, b] = [&wanted, &name].map(|name| plain(name));
    if a == b {
        return Some(0.95);
    }
    if !compares {
        return None;
    }
    let [stem, other] = [&a, &b].map(|name| stem(name));
    if stem == other {
        return Some(0.8);
    }
    let shorter = stem.chars().count().min(other.chars().count());
    let most = if shorter < 2 { 0 } else { (shorter / 3).max(1) };
    if a.len().abs_diff(b.len()) > 4 * most {
        return None;
    }
    let steps = strsim::damerau_levenshtein(&a, &b);
    let length = a.chars().count().max(b.chars().count());
    (steps <= most).then(|| 0.95 * (1.0 - steps as f64 / length as f64))
}

fn read_name(name: &[u8]) -> Cow<'_, str> {
    let older = std::str::from_utf8(name)
        .is_err()
        .then(|| detect(name, true));
    match older.flatten().filter(|encoding| encoding.is_legacy()) {
        Some(encoding) => encoding.decode(name),
        None => line_name(name),
    }
}

fn plain(name: &str) -> String {
    let is_part = |c: &char| !matches!(c, '-' | '_' | ' ');
    name.chars()
        .filter(is_part)
        .flat_map(char::to_lowercase)
        .collect()
}

fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::likeness_of_names;

    #[test]
    fn a_slip_is_near_and_another_name_is_not() {
        let likeness = |a: &str, b: &str| likeness_of_names(a.as_bytes(), b.as_bytes(), true);
        for (a, b) in [
            ("mainn.rs", "main.rs"),
            ("readme.md", "README.md"),
            ("readFile.ts", "read_file.ts"),
            ("util.py", "utils.py"),
            ("config.yml", "config.yaml"),
            ("mian.rs", "main.rs"),
            ("Makefile", "makefile"),
            (".gitignroe", ".gitignore"),
        ] {
            assert!(likeness(a, b).is_some(), "{a} {b}");
        }
        for (a, b) in [
            ("a.txt", "b.txt"),
            ("lib.rs", "mod.rs"),
            ("main.rs", "tests.rs"),
            ("src", "doc"),
            ("index.ts", "io.ts"),
        ] {
            assert_eq!(likeness(a, b), None, "{a} {b}");
        }
        assert!(likeness_of_names("café.txt".as_bytes(), b"caf\xe9.txt", true).is_some());
        assert!(likeness("a.RS", "a.rs") > likeness("mainn.rs", "main.rs"));
    }
}
