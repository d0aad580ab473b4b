//! Unified diffs, as `diff -u` and git write them.

use super::names::{self, Header, Names, Open, Side};
use super::{Change, FilePatch, Hunk, Line, Lines, PatchError, Role};

const UNREADABLE: &str = "the name can't be read: its quotes are wrong, or it is not UTF-8";

const MERGE: &str = "the difference of a merge is not taken: give that to one of its parents";

const STRAY: &str = "it looks like a piece of a patch, but is in no hunk or section: count the lines \
                     of the hunk before it again, mend its own head, or leave it out";

/// Lines by which `diff -r` and git say that a file differs in a way that the patch does not
/// contain.
const UNTAKEN: [[&str; 2]; 4] = [
    ["Binary files ", " differ"],
    ["Only in ", ": "],
    ["Submodule ", ".."],
    ["* Unmerged path ", ""],
];

pub(super) fn has_section(lines: &Lines<'_>) -> bool {
    (0..lines.texts.len()).any(|at| is_head(lines, at))
}

fn is_head(lines: &Lines<'_>, at: usize) -> bool {
    let line = lines.texts[at];
    let next = lines.get(at + 1).unwrap_or_default();
    line.starts_with("diff --git ") || line.starts_with("--- ") && next.starts_with("+++ ")
}

/// Parses the sections about files. Other text, such as a commit message, is skipped.
pub(super) fn parse(lines: &Lines<'_>) -> Result<Vec<FilePatch>, PatchError> {
    let mut sections = Vec::new();
    let (mut at, mut is_message) = (0, true);
    while let Some(line) = lines.get(at) {
        if is_head(lines, at) {
            let section = Section::parse(lines, &mut at)?;
            let names = section
                .names()
                .map_err(|why| PatchError::new(section.number, why))?;
            sections.push((section, names));
            is_message = false;
            continue;
        }
        is_message |= begins_commit(line);
        check_skipped(line, is_message).map_err(|why| PatchError::new(lines.number(at), why))?;
        at += 1;
    }
    let shown: Vec<_> = sections
        .iter()
        .filter_map(|(_, names)| names.shown.clone())
        .collect();
    let patch = |(section, names): (Section, Names)| {
        let names = names
            .settled(&shown)
            .map_err(|why| PatchError::new(section.number, why))?;
        section.into_patch(names)
    };
    sections.into_iter().map(patch).collect()
}

/// Returns true for the line with which a signature begins in a mail. git ends a patch with one.
fn is_signature(line: &str) -> bool {
    matches!(line, "-- " | "--")
}

fn begins_commit(line: &str) -> bool {
    let mut words = line.split(' ');
    let is_git = matches!(words.next(), Some("From" | "commit"));
    let is_id = |id: &str| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_git && words.next().is_some_and(is_id) || line == "# HG changeset patch"
}

/// Refuses a line outside of all sections that seems to be a piece of a patch: if it were skipped,
/// the patch would be applied without it. A commit message may have lists with `-` and `+`, so less
/// is refused there.
fn check_skipped(line: &str, is_message: bool) -> Result<(), &'static str> {
    let line = if is_message { line } else { line.trim_start() };
    let begins = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
    let is_untaken = |[mark, rest]: &[&str; 2]| line.starts_with(mark) && line.contains(rest);
    if begins(&["diff --cc ", "diff --combined "]) {
        Err(MERGE)
    } else if UNTAKEN.iter().any(is_untaken) {
        Err("such a file can't be patched: leave the line out to patch the others")
    } else if is_message && begins(&["@@"]) {
        Err("the hunk belongs to no file: \"--- a/FILE\" and \"+++ b/FILE\" are missing before it")
    } else if begins(&["***"])
        || !is_message && begins(&["@@", "+", "-"]) && !is_signature(line)
        || !is_message && Section::default().take(line)?
    {
        Err(STRAY)
    } else {
        Ok(())
    }
}

/// What a diff says about one file. `number` is its first line in the patch. `header` is the line
/// `diff --git`, and `sides` are the lines `---` and `+++`, if there are any. `has_hunks` is set if
/// the lines before the hunks say that the content changes, so that hunks must follow.
#[derive(Default)]
struct Section {
    number: usize,
    header: Option<Header>,
    sides: Option<[Side; 2]>,
    renamed: (Option<String>, Option<String>),
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    is_new: bool,
    is_deleted: bool,
    has_hunks: bool,
    hunks: Vec<Hunk>,
}

impl Section {
    fn parse(lines: &Lines<'_>, at: &mut usize) -> Result<Self, PatchError> {
        let mut section = Self {
            number: lines.number(*at),
            ..Self::default()
        };
        if let Some(names) = lines.texts[*at].strip_prefix("diff --git ") {
            section.header = Some(Header::parse(names));
            *at += 1;
        }
        while let Some(line) = lines.get(*at) {
            // git takes the names of `diff --git` if `---` and `+++` are missing.
            let has_sides = line.starts_with("--- ") && is_head(lines, *at);
            if has_sides {
                let side = |at: usize| {
                    let side = Side::parse(&lines.texts[at][4..]);
                    side.ok_or_else(|| PatchError::new(lines.number(at), UNREADABLE))
                };
                section.sides = Some([side(*at)?, side(*at + 1)?]);
                *at += 2;
            }
            if has_sides || section.header.is_some() && line.starts_with("@@") {
                section.has_hunks = true;
                section.parse_hunks(lines, at)?;
                break;
            }
            let is_over = section.header.is_none() || is_head(lines, *at);
            let fail = |why: &str| PatchError::new(lines.number(*at), why);
            if is_over || !section.take(line).map_err(fail)? {
                break;
            }
            *at += 1;
        }
        if section.has_hunks && section.hunks.is_empty() {
            let why = "the section lacks the hunks that it should have";
            return Err(PatchError::new(section.number, why));
        }
        let modes = [section.old_mode, section.new_mode].into_iter().flatten();
        if modes.clone().any(|mode| mode & 0o170_000 != 0o100_000) {
            let why = "only regular files can be patched, no links and no submodules";
            return Err(PatchError::new(section.number, why));
        }
        Ok(section)
    }

    /// Takes a line that git writes before the hunks of a file, such as one with its mode. Returns
    /// false for any other line.
    fn take(&mut self, line: &str) -> Result<bool, &'static str> {
        let mode = |text: &str| {
            let mode = u32::from_str_radix(text.trim(), 8);
            mode.map(Some)
                .map_err(|_| "the mode of the file is no octal number")
        };
        let word = |mark: &str| line.strip_prefix(mark);
        if let Some(text) = word("old mode ") {
            self.old_mode = mode(text)?;
        } else if let Some(text) = word("new mode ") {
            self.new_mode = mode(text)?;
        } else if let Some(text) = word("new file mode ") {
            (self.is_new, self.new_mode) = (true, mode(text)?);
        } else if let Some(text) = word("deleted file mode ") {
            (self.is_deleted, self.old_mode) = (true, mode(text)?);
        } else if let Some(text) = word("rename from ") {
            self.renamed.0 = Some(names::whole(text).ok_or(UNREADABLE)?);
        } else if let Some(text) = word("rename to ") {
            self.renamed.1 = Some(names::whole(text).ok_or(UNREADABLE)?);
        } else if word("copy ").is_some() {
            return Err("a copy is not taken: give the new file whole");
        } else if word("GIT binary patch").or(word("Binary files ")).is_some() {
            return Err("a binary file can't be patched");
        } else if let Some(text) = word("index ") {
            // If the mode does not change, this line ends in it. The mode of a symbolic link says
            // that the hunk changes where the link leads, and not the text of a file.
            let kept = text
                .split_once(' ')
                .map_or(Ok(None), |(_, kept)| mode(kept))?;
            self.old_mode = self.old_mode.or(kept);
            self.new_mode = self.new_mode.or(kept);
            // These are ids of empty files, which are made and removed without a hunk.
            let is_empty = |id: &str| id.starts_with("e69d") || id.starts_with("473a");
            self.has_hunks = !text.split("..").any(is_empty);
        } else if let Some(share) = word("similarity index ") {
            self.has_hunks = share != "100%";
        } else {
            return Ok(word("dissimilarity index ").is_some());
        }
        Ok(true)
    }

    fn parse_hunks(&mut self, lines: &Lines<'_>, at: &mut usize) -> Result<(), PatchError> {
        let numbers = |at| lines.get(at).and_then(|line| line.strip_prefix("@@"));
        while let Some(numbers) = numbers(*at) {
            let number = lines.number(*at);
            let fail = |why| PatchError::new(number, why);
            let why = if numbers.starts_with('@') {
                MERGE
            } else {
                "the head of a hunk is not \"@@ -LINE,COUNT +LINE,COUNT @@\""
            };
            let numbers = Numbers::parse(numbers).ok_or_else(|| fail(why))?;
            *at += 1;
            let mut hunk = Hunk {
                number,
                is_numbered: true,
                ..Hunk::default()
            };
            if !numbers.take(lines, at, &mut hunk)? {
                take_until_head(lines, at, &mut hunk)?;
            }
            if hunk.is_unchanged() {
                return Err(fail("the hunk changes nothing"));
            }
            self.hunks.push(hunk);
        }
        Ok(())
    }

    fn into_patch(self, [old, new]: [Option<String>; 2]) -> Result<FilePatch, PatchError> {
        let fail = |why: &str| Err(PatchError::new(self.number, why));
        let is_executable = |mode: u32| mode & 0o100 != 0;
        let old_is_empty = self.is_empty(Role::Removed);
        let change = match (&old, &new) {
            (None, Some(_)) => {
                if !old_is_empty {
                    return fail("a new file has no lines that stay or go");
                }
                if self.hunks.len() > 1 {
                    return fail("a new file has one hunk");
                }
                Change::Create {
                    text: self.hunks.iter().map(Hunk::added).collect(),
                    is_executable: self.new_mode.is_some_and(is_executable),
                }
            }
            (Some(_), None) => Change::Delete {
                hunks: Some(self.hunks),
            },
            (Some(old), Some(new)) => {
                let to = (old != new).then(|| new.clone());
                let is_executable = self
                    .new_mode
                    .filter(|new| {
                        self.old_mode
                            .is_none_or(|old| is_executable(old) != is_executable(*new))
                    })
                    .map(is_executable);
                if to.is_none() && self.hunks.is_empty() && is_executable.is_none() {
                    return fail("the section changes nothing");
                }
                Change::Update {
                    to,
                    hunks: self.hunks,
                    is_executable,
                }
            }
            (None, None) => return fail("the section names no file"),
        };
        let path = old.or(new).unwrap_or_default();
        Ok(FilePatch { path, change })
    }

    /// Returns true if the hunks have no line of the file before the change (`Removed`) or after it
    /// (`Added`).
    fn is_empty(&self, side: Role) -> bool {
        let mut lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.all(|line| line.role != Role::Context && line.role != side)
    }

    fn names(&self) -> Result<Names, String> {
        let header = self.header.as_ref();
        if let (Some(old), Some(new)) = &self.renamed {
            let is_header = header.is_some_and(|header| header.ends_in(new));
            let mut sides = self.sides.iter().flatten().zip([old, new]);
            if !is_header || !sides.all(|(side, name)| side.ends_in(name)) {
                let why = "the lines \"diff --git\", \"---\" and \"+++\" have other names";
                return Err(format!(
                    "the file is renamed from {old:?} to {new:?}, but {why}"
                ));
            }
            let is_bare = header.is_some_and(|header| header.is_bare(old, new));
            return Ok(Names {
                both: [Some(old.clone()), Some(new.clone())],
                shown: None,
                open: is_bare.then_some(Open::Written),
            });
        }
        let Some(sides) = &self.sides else {
            let names = header.and_then(|header| header.names([!self.is_new, !self.is_deleted]));
            return names.ok_or_else(|| "the name of the file can't be told".to_owned());
        };
        let mut told = names::both(sides, header)?;
        let names = &mut told.both;
        for (name, side) in names.iter_mut().zip(sides) {
            name.take_if(|_| side.is_absent);
        }
        for (at, is_gone, mark) in [(0, self.is_new, "---"), (1, self.is_deleted, "+++")] {
            if is_gone && names[at].is_some() {
                return Err(format!("the line \"{mark}\" should have /dev/null"));
            }
        }
        // A file may really be from the first second of 1970, so this time alone does not say that
        // there is no file. If the hunks have lines of the file, it was there.
        for (at, side) in [Role::Removed, Role::Added].into_iter().enumerate() {
            if header.is_none() && sides[at].is_epoch && self.is_empty(side) {
                names[at] = None;
            }
        }
        Ok(told)
    }
}

/// The numbers in the head of a hunk: its first line in the old file, from 1, and how many lines it
/// has in the old and in the new file.
struct Numbers {
    start: usize,
    old: usize,
    new: usize,
}

impl Numbers {
    fn parse(text: &str) -> Option<Self> {
        let (numbers, _) = text
            .split_once(" @@")
            .or_else(|| Some((text.trim_end().strip_suffix("@@")?, "")))?;
        let (old, new) = numbers.trim().split_once(' ')?;
        let pair = |text: &str| -> Option<(usize, usize)> {
            match text.split_once(',') {
                Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
                None => Some((text.parse().ok()?, 1)),
            }
        };
        let (start, old) = pair(old.strip_prefix('-')?)?;
        let (_, new) = pair(new.trim().strip_prefix('+')?)?;
        Some(Self { start, old, new })
    }

    /// Takes the lines of a hunk. Returns false, and takes none, if there are not as many as the
    /// head says. The head was then written by hand, and its line number can't be trusted either.
    ///
    /// # Errors
    ///
    /// Returns an error if the text ends before the hunk does, or if it goes on behind it.
    fn take(&self, lines: &Lines<'_>, at: &mut usize, hunk: &mut Hunk) -> Result<bool, PatchError> {
        let (mut old, mut new, mut next) = (self.old, self.new, *at);
        let mut taken = Hunk::default();
        while old > 0 || new > 0 || lines.starts_with(next, &['\\']) {
            let Some(text) = lines.get(next) else {
                let why = format!(
                    "the patch is cut off in this hunk: by its head, {old} lines of the old file \
                     and {new} of the new one are missing; give the rest, or count again"
                );
                return Err(PatchError::new(hunk.number, why));
            };
            next += 1;
            if text.starts_with('\\') {
                taken.mark_last_unended();
                continue;
            }
            let Some(line) = Line::parse(text) else {
                return Ok(false);
            };
            let (in_old, in_new) = (line.role != Role::Added, line.role != Role::Removed);
            if old < usize::from(in_old) || new < usize::from(in_new) {
                return Ok(false);
            }
            (old, new) = (old - usize::from(in_old), new - usize::from(in_new));
            taken.push(line);
        }
        // Unchanged lines that follow only make the place more certain, so the head may have left
        // them out of its count. An added or removed line behind them may be a part of this hunk,
        // or of a section whose head is missing, or no line of a file at all, so it is an error.
        let more = (next..).take_while(|at| lines.starts_with(*at, &[' ']));
        let behind = next + more.count();
        let is_over = || is_head(lines, behind) || is_signature(lines.texts[behind]);
        if !taken.is_unchanged() && lines.starts_with(behind, &['+', '-']) && !is_over() {
            return Err(PatchError::new(lines.number(behind), STRAY));
        }
        if behind > next || taken.is_unchanged() {
            return Ok(false);
        }
        let is_context = |line: Option<&Line>| line.is_some_and(|line| line.role == Role::Context);
        let is_said = taken.is_at_end;
        let taken = taken.lines;
        let (first, last) = (is_context(taken.first()), is_context(taken.last()));
        // git and `diff -u` give equally many lines of context before and after a change, unless
        // the file begins or ends there. So a hunk with context on one side only is at the
        // beginning or end of the file.
        hunk.is_at_start = !first && last && self.start <= 1;
        hunk.is_at_end = !last && first || is_said;
        hunk.start = Some(self.start);
        hunk.lines = taken;
        *at = next;
        Ok(true)
    }
}

/// Takes the lines of a hunk up to the next head. A hunk is read like this if its own head says a
/// wrong number of lines.
fn take_until_head(lines: &Lines<'_>, at: &mut usize, hunk: &mut Hunk) -> Result<(), PatchError> {
    while let Some(text) = lines.get(*at) {
        if text.starts_with("@@") || is_head(lines, *at) {
            break;
        }
        let fail = |why| Err(PatchError::new(lines.number(*at), why));
        if text.starts_with('\\') {
            hunk.mark_last_unended();
        } else if lines.starts_with(*at + 1, &['@'])
            && (text.starts_with("--- ") || text.starts_with("+++ "))
        {
            return fail("the head of a file has \"--- a/FILE\" and \"+++ b/FILE\"");
        } else if let Some(line) = Line::parse(text) {
            hunk.push(line);
        } else {
            return fail("each line of a hunk begins with a blank, \"-\" or \"+\"");
        }
        *at += 1;
    }
    hunk.drop_separators();
    Ok(())
}
