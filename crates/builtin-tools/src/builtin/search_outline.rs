//! The answer to a search with too many matches: of each file the number of its matches and the
//! first of them.
//!
//! A search with up to `MAX_WHOLE` matches shows all of them: Gemini CLI shows as many, and then
//! stops. Of more, `MAX_SHOWN` are shown, which the files share, though each has at least one. If
//! more than `MAX_NAMED` files match, their directories are named instead.

use super::counted;
use super::query::Query;
use super::scope::directory_and_name;
use super::search::{Hits, around, count_of};
use gemini_tools_core::tool::named::NamedText;
use grep_matcher::Match;
use std::collections::BTreeMap;

pub(super) const MAX_WHOLE: u64 = 100;

const MAX_SHOWN: usize = 20;

const LINE_CHARS: usize = 60;

const MAX_NAMED: usize = 200;

/// The files with matches, by name. No more than `most_of_file` matches of a file were counted. If
/// `is_cut` is set, the search has ended at its limit: the files are then those up to the last one
/// in the order of names, and nothing is known of any behind it.
pub(super) struct Outlined<'a> {
    pub(super) files: &'a BTreeMap<Vec<u8>, Option<Box<Hits>>>,
    pub(super) most_of_file: u64,
    pub(super) is_cut: bool,
}

impl Outlined<'_> {
    /// Appends how many matches each file has, and the first of them; with more than `MAX_NAMED`
    /// files, how many each directory has. `ways` names the arguments that show more.
    pub(super) fn push_to(&self, text: &mut NamedText, query: &Query, ways: &str) {
        let what = if self.files.len() > MAX_NAMED {
            self.push_directories(text);
            "Matches by directory.".to_owned()
        } else {
            let most = (MAX_SHOWN / self.files.len()).max(1);
            self.push_first_matches(text, query, most);
            let first = match most {
                1 => String::new(),
                _ => format!(" {most}"),
            };
            format!("The number of matches of each file, and the first{first}.")
        };
        text.push_str(&format!("({what} For more give {ways}.)"));
        if let (true, Some((last, _))) = (self.is_cut, self.files.last_key_value()) {
            text.push_str("\n(The search ended at its limit: what is sorted behind ");
            text.push_name(last);
            text.push_str(" is not counted.)");
        }
    }

    fn push_first_matches(&self, text: &mut NamedText, query: &Query, most: usize) {
        let mut directory = None;
        for (name, hits) in self.files {
            let (above, name) = directory_and_name(name);
            if directory.replace(above) != Some(above) {
                push_directory(text, above);
                text.push_str("\n");
            }
            text.push_str(" ");
            text.push_name(name);
            let mut count = Count::default();
            count.add(self, hits.as_deref());
            text.push_str(&format!(" ({})\n", count.number()));
            let lines = hits.iter().flat_map(|hits| &hits.lines);
            for line in lines.filter(|line| line.is_match).take(most) {
                let shown = shortened(line.text.trim_start(), query);
                text.push_str(&format!("L{}: {shown}\n", line.number));
            }
        }
    }

    /// Appends how many matches each directory has. The directories' paths are cut to so few
    /// leading components that at most `MAX_NAMED` directories are left, but never to less than one
    /// component. If there are still more then, the last line has the sum of the others.
    fn push_directories(&self, text: &mut NamedText) {
        let mut depth = usize::MAX;
        loop {
            let mut groups: BTreeMap<&[u8], Count> = BTreeMap::new();
            let mut deepest = 0;
            for (name, hits) in self.files {
                let slashes = name.iter().enumerate().filter(|(_, b)| **b == b'/');
                let ends: Vec<usize> = slashes.map(|(at, _)| at + 1).collect();
                deepest = deepest.max(ends.len().min(depth));
                let end = *ends.iter().take(depth).next_back().unwrap_or(&0);
                let group = groups.entry(&name[..end]).or_default();
                group.add(self, hits.as_deref());
            }
            if groups.len() > MAX_NAMED && deepest > 1 {
                depth = deepest - 1;
                continue;
            }
            let more = groups.len().saturating_sub(MAX_NAMED);
            let mut others = Count::default();
            for (n, (name, group)) in groups.into_iter().enumerate() {
                if n < MAX_NAMED {
                    push_directory(text, name);
                    text.push_str(&group.line());
                } else {
                    others.matches += group.matches;
                    others.files += group.files;
                    others.is_least |= group.is_least;
                }
            }
            if more > 0 {
                text.push_str(&format!("({more} more){}", others.line()));
            }
            return;
        }
    }
}

/// How many matches one file has, or the files of one directory. `is_least` is set if not all
/// matches of a file were counted, so that there are more.
#[derive(Default)]
struct Count {
    matches: u64,
    files: usize,
    is_least: bool,
}

impl Count {
    fn add(&mut self, outlined: &Outlined<'_>, hits: Option<&Hits>) {
        let count = count_of(hits);
        self.is_least |= count > outlined.most_of_file;
        self.matches += count.min(outlined.most_of_file);
        self.files += 1;
    }

    fn number(&self) -> String {
        let more = if self.is_least { "more than " } else { "" };
        format!("{more}{}", self.matches)
    }

    fn line(&self) -> String {
        let noun = match self.matches {
            1 => "match",
            _ => "matches",
        };
        let files = counted(self.files, "file");
        format!(": {} {noun} in {files}\n", self.number())
    }
}

fn push_directory(text: &mut NamedText, directory: &[u8]) {
    text.push_name(if directory.is_empty() {
        b"./"
    } else {
        directory
    });
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
