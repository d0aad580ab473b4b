//! A shorter answer for a search with too many matches: the first matches of each file, and the
//! number of the others.

use super::counted;
use super::search::{Hits, count_of};
use gemini_tools_core::text::{excerpt, show_name};
use std::collections::BTreeMap;

const MAX_SHOWN_CHARS: usize = 16_000;

const LINE_CHARS: usize = 160;

/// Maximum number of files that are named. If more files match, directories are named instead.
const MAX_NAMED: usize = 200;

/// The files of a search by name; `None` if only the file's name was asked for.
type Files = BTreeMap<Vec<u8>, Option<Box<Hits>>>;

/// Returns a shorter text for `whole`, the answer about several files, if that has more characters
/// than `limit`: `head`, a selection of the matches, and `notes`. Returns `None` if `whole` is
/// short enough, is about one file, or shows no lines.
pub(super) fn outline(
    whole: &str,
    head: &str,
    notes: &str,
    files: &Files,
    limit: Option<usize>,
) -> Option<String> {
    let is_long = whole.chars().nth(limit?).is_some();
    let has_lines = files.values().any(Option::is_some);
    (is_long && has_lines && files.len() > 1)
        .then(|| head.to_owned() + body(files).trim_end() + notes)
}

/// Returns the first matches of each file, at most three, with the number of its other matches. If
/// there is no room for one match of each, returns only the number of matches of each file; if
/// there are more than `MAX_NAMED` files, that of each directory. The last line says how to go on.
fn body(files: &Files) -> String {
    if files.len() > MAX_NAMED {
        return directories(files)
            + "(Matches by directory. Search one of them with 'path', or narrow the pattern.)\n";
    }
    let mut texts = [3, 2, 1]
        .into_iter()
        .map(|most| (most, first_matches(files, most)));
    let fitting = texts.find(|(_, text)| text.chars().count() <= MAX_SHOWN_CHARS);
    if let Some((most, text)) = fitting {
        let most = counted(most, "match");
        let note = format!(
            "(At most {most} of each file. Search one file or directory with 'path' to see the others.)\n"
        );
        return text + &note;
    }
    let lines = files
        .iter()
        .map(|(name, hits)| line(&show_name(name), count_of(hits.as_deref()), 0));
    lines.collect::<String>() + "(Matches by file. Search one file or directory with 'path'.)\n"
}

/// Returns a line with a name and its number of matches. `files` is the number of matching files in
/// a directory, or 0 if `name` is a file.
fn line(name: &str, matches: u64, files: usize) -> String {
    let matches = counted(matches, "match");
    match files {
        0 => format!("{name}: {matches}\n"),
        files => format!("{name}: {matches} in {}\n", counted(files, "file")),
    }
}

fn first_matches(files: &Files, most: usize) -> String {
    let mut text = String::new();
    for (name, hits) in files {
        text.push_str(&format!("File: {}\n", show_name(name)));
        let lines = hits.iter().flat_map(|hits| &hits.lines);
        for line in lines.filter(|line| line.is_match).take(most) {
            text.push_str(&format!(
                "L{}: {}\n",
                line.number,
                excerpt(&line.text, LINE_CHARS)
            ));
        }
        let more = count_of(hits.as_deref()).saturating_sub(most as u64);
        if more > 0 {
            text.push_str(&format!("({more} more)\n"));
        }
        text.push_str("---\n");
    }
    text
}

/// Returns the numbers of matches by directory. The directories' paths are cut to so few leading
/// components that at most `MAX_NAMED` directories are left, but never to less than one component:
/// if there are still more then, the last line has the sum of the others.
fn directories(files: &Files) -> String {
    let mut depth = usize::MAX;
    loop {
        let mut groups: BTreeMap<&[u8], (u64, usize)> = BTreeMap::new();
        let mut deepest = 0;
        for (name, hits) in files {
            let slashes = name.iter().enumerate().filter(|(_, b)| **b == b'/');
            let ends: Vec<usize> = slashes.map(|(at, _)| at + 1).collect();
            deepest = deepest.max(ends.len().min(depth));
            let end = ends
                .iter()
                .take(depth)
                .next_back()
                .copied()
                .unwrap_or_default();
            let group = groups.entry(&name[..end]).or_default();
            *group = (group.0 + count_of(hits.as_deref()), group.1 + 1);
        }
        if groups.len() <= MAX_NAMED || deepest <= 1 {
            let others = groups.values().skip(MAX_NAMED);
            let sum = others.fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
            let more = groups.len().saturating_sub(MAX_NAMED);
            let named = groups.into_iter().take(MAX_NAMED);
            let lines = named.map(|(name, (matches, files))| {
                let name = if name.is_empty() {
                    ".".into()
                } else {
                    show_name(name)
                };
                line(&name, matches, files)
            });
            let rest = (more > 0).then(|| line(&format!("({more} more)"), sum.0, sum.1));
            return lines.chain(rest).collect();
        }
        depth = deepest - 1;
    }
}
