//! The answer to a search with too many matches: of each file the number of its matches and the
//! first of them.

use super::counted;
use super::query::Query;
use super::scope::divided;
use super::search::{Hits, around, count_of};
use gemini_tools_core::tool::named::NamedText;
use grep_matcher::Match;
use std::collections::BTreeMap;

/// The most matches that all are shown: Gemini CLI shows as many, and then stops.
pub(super) const MAX_WHOLE: u64 = 100;

/// How many matches are shown of more. The files share them, and each has at least one.
const MAX_SHOWN: usize = 20;

const LINE_CHARS: usize = 60;

/// Maximum number of files that are named. If more files match, directories are named instead.
const MAX_NAMED: usize = 200;

/// The files of a search by name; `None` if only the file's name was asked for.
type Files = BTreeMap<Vec<u8>, Option<Box<Hits>>>;

/// Appends the number of matches of each file with the first of them, or of each directory if there
/// are more than `MAX_NAMED` files. `ways` are the arguments that show more.
pub(super) fn push_outline(text: &mut NamedText, files: &Files, query: &Query, ways: &str) {
    if files.len() > MAX_NAMED {
        push_directories(text, files);
        text.push_str(&format!("(Matches by directory. For more give {ways}.)"));
        return;
    }
    let most = (MAX_SHOWN / files.len()).max(1);
    push_first_matches(text, files, query, most);
    let first = match most {
        1 => String::new(),
        _ => format!(" {most}"),
    };
    text.push_str(&format!(
        "(The number of matches of each file, and the first{first}. For more give {ways}.)"
    ));
}

/// Appends the path of a directory with a slash at its end; an empty one is that of the root.
fn push_directory(text: &mut NamedText, directory: &[u8]) {
    text.push_name(if directory.is_empty() {
        b"./"
    } else {
        directory
    });
}

fn push_first_matches(text: &mut NamedText, files: &Files, query: &Query, most: usize) {
    let mut directory = None;
    for (name, hits) in files {
        let (above, name) = divided(name);
        if directory.replace(above) != Some(above) {
            push_directory(text, above);
            text.push_str("\n");
        }
        text.push_str(" ");
        text.push_name(name);
        text.push_str(&format!(" ({})\n", count_of(hits.as_deref())));
        let lines = hits.iter().flat_map(|hits| &hits.lines);
        for line in lines.filter(|line| line.is_match).take(most) {
            let shown = shortened(line.text.trim_start(), query);
            text.push_str(&format!("L{}: {shown}\n", line.number));
        }
    }
}

fn shortened(line: &str, query: &Query) -> String {
    // If the engine gives up on the line, its beginning is shown.
    let found = query.find_all(line.as_bytes()).unwrap_or_default();
    let at = found.first().map_or(0, Match::start);
    let part = around(line, at, LINE_CHARS);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let (head, tail) = (dots(part.start > 0), dots(part.end < line.len()));
    format!("{head}{}{tail}", &line[part])
}

fn push_counts(text: &mut NamedText, (matches, files): (u64, usize)) {
    let (matches, files) = (counted(matches, "match"), counted(files, "file"));
    text.push_str(&format!(": {matches} in {files}\n"));
}

/// Appends the numbers of matches by directory. The directories' paths are cut to so few leading
/// components that at most `MAX_NAMED` directories are left, but never to less than one component:
/// if there are still more then, the last line has the sum of the others.
fn push_directories(text: &mut NamedText, files: &Files) {
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
            let more = groups.len().saturating_sub(MAX_NAMED);
            let mut others = (0, 0);
            for (n, (name, group)) in groups.into_iter().enumerate() {
                if n < MAX_NAMED {
                    push_directory(text, name);
                    push_counts(text, group);
                } else {
                    others = (others.0 + group.0, others.1 + group.1);
                }
            }
            if more > 0 {
                text.push_str(&format!("({more} more)"));
                push_counts(text, others);
            }
            return;
        }
        depth = deepest - 1;
    }
}
