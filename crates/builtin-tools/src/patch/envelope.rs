//! The envelope of codex's `apply_patch`, from `*** Begin Patch` to `*** End Patch`.

use super::{Change, FilePatch, Hunk, Line, Lines, PatchError};

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Parses the sections of an envelope, which follow the line [`BEGIN`]. Blanks around marks such as
/// `*** Add File: PATH` don't count.
pub(super) fn parse(lines: &Lines<'_>) -> Result<Vec<FilePatch>, PatchError> {
    let mut patches = Vec::new();
    let mut at = 1;
    loop {
        let Some(line) = lines.get(at) else {
            let why = format!("the patch does not end in {END:?}");
            return Err(PatchError::new(lines.number(at - 1), why));
        };
        let (mark, number) = (line.trim(), lines.number(at));
        at += 1;
        if mark == END {
            break;
        } else if mark.is_empty() || mark.starts_with("*** Environment ID:") {
            // Blank lines and an environment id may stand between sections.
        } else if let Some(path) = path_after(mark, "*** Add File:") {
            let text = added(lines, &mut at)?;
            let is_executable = false;
            let change = Change::Create {
                text,
                is_executable,
            };
            patches.push(patch(path, change, number)?);
        } else if let Some(path) = path_after(mark, "*** Delete File:") {
            patches.push(patch(path, Change::Delete { hunks: None }, number)?);
        } else if let Some(path) = path_after(mark, "*** Update File:") {
            let change = update(lines, &mut at, number)?;
            patches.push(patch(path, change, number)?);
        } else {
            let why = "\"*** Add File: PATH\", \"*** Update File: PATH\", \"*** Delete File: PATH\" or \"*** End Patch\" should be there";
            return Err(PatchError::new(number, why));
        }
    }
    match lines.texts[at..]
        .iter()
        .position(|line| !line.trim().is_empty())
    {
        None => Ok(patches),
        Some(more) => {
            let why = format!("something follows {END:?}");
            Err(PatchError::new(lines.number(at + more), why))
        }
    }
}

fn path_after<'t>(line: &'t str, mark: &str) -> Option<&'t str> {
    line.strip_prefix(mark).map(str::trim)
}

fn patch(path: &str, change: Change, number: usize) -> Result<FilePatch, PatchError> {
    if path.is_empty() {
        return Err(PatchError::new(number, "the path is missing"));
    }
    let path = path.to_owned();
    Ok(FilePatch { path, change })
}

fn added(lines: &Lines<'_>, at: &mut usize) -> Result<String, PatchError> {
    let mut text = String::new();
    // Blank lines without a `+` belong to the new file only if another line of it follows.
    let mut blanks = String::new();
    let is_mark = |line: &str| line.trim_start().starts_with("***");
    while let Some(line) = lines.get(*at).filter(|line| !is_mark(line)) {
        match line.strip_prefix('+') {
            Some(line) => {
                text.push_str(&std::mem::take(&mut blanks));
                text.push_str(line);
                text.push('\n');
            }
            None if line.trim().is_empty() => {
                blanks.push_str(line.trim_matches([' ', '\t']));
                blanks.push('\n');
            }
            None => {
                let why = "each line of a new file begins with \"+\"";
                return Err(PatchError::new(lines.number(*at), why));
            }
        }
        *at += 1;
    }
    Ok(text)
}

fn update(lines: &Lines<'_>, at: &mut usize, number: usize) -> Result<Change, PatchError> {
    let to = lines.get(*at);
    let to = to.and_then(|line| path_after(line.trim(), "*** Move to:"));
    *at += usize::from(to.is_some());
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    while let Some(line) = lines.get(*at) {
        let here = lines.number(*at);
        let mark = line.trim();
        if mark == END_OF_FILE {
            hunk.is_at_end = true;
            finish(&mut hunks, &mut hunk, here)?;
        } else if line.starts_with("***") || mark == END {
            break;
        } else if let Some(anchor) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                finish(&mut hunks, &mut hunk, here)?;
            }
            hunk.number = here;
            // Some models write the line numbers of a unified diff here. They only guess them, so
            // these numbers don't count.
            let is_numbers =
                anchor.trim_start().starts_with('-') && anchor.trim_end().contains("@@");
            // The marks at the end of a unified diff's head are no part of the line.
            let anchor = anchor.trim_end().strip_suffix(" @@").unwrap_or(anchor);
            if !is_numbers && !anchor.trim().is_empty() {
                hunk.anchors
                    .push(anchor.strip_prefix(' ').unwrap_or(anchor).to_owned());
            }
        } else if mark.is_empty() && !line.starts_with(' ') && hunk.number == 0 {
            // Blank lines may stand between the head of the section and its first hunk. One with
            // the mark of an unchanged line belongs to the hunk.
        } else if let Some(line) = Line::parse(line) {
            if hunk.number == 0 {
                hunk.number = here;
            }
            hunk.push(line);
        } else {
            let why = "each line of a hunk begins with a blank, \"-\" or \"+\"";
            return Err(PatchError::new(here, why));
        }
        *at += 1;
    }
    if hunk.number > 0 {
        finish(&mut hunks, &mut hunk, lines.number(*at))?;
    }
    if hunks.is_empty() && to.is_none() {
        let why = "the section changes nothing: it has no hunk";
        return Err(PatchError::new(number, why));
    }
    let to = to.map(str::to_owned);
    Ok(Change::Update {
        to,
        hunks,
        is_executable: None,
    })
}

fn finish(hunks: &mut Vec<Hunk>, hunk: &mut Hunk, number: usize) -> Result<(), PatchError> {
    hunk.drop_separators();
    if hunk.lines.is_empty() {
        return Err(PatchError::new(number, "the hunk before has no lines"));
    }
    hunks.push(std::mem::take(hunk));
    Ok(())
}
