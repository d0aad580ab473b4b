//! Shortens results that are longer than what the client passes to its model.
//!
//! What the client itself cuts out is lost to the model, or saved in a form that it can hardly
//! read. A long text is therefore cut here: the model gets the beginning, the end, and a note that
//! says how to read the rest.

use gemini_tools_core::answer::KeepText;
use gemini_tools_core::client_host::AnswerLimit;
use gemini_tools_core::text::count_newlines;
use rmcp::model::{CallToolResult, ContentBlock};

/// How many characters longer the final note may be than the note by which its size is estimated,
/// because its line numbers may have more digits.
const NOTE_CHARS: usize = 32;

const NOTE_LINES: usize = 3;

/// The most characters that a host adds around each text after the first.
const AROUND_CHARS: usize = 32;

/// Shortens the texts of a result if together they exceed `limit`. They are merged into one text,
/// of which the result keeps the beginning and the end; `keep` saves the whole to a file.
pub(super) fn limit(result: &mut CallToolResult, limit: AnswerLimit, keep: KeepText<'_>) {
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    let sizes = texts
        .clone()
        .map(|text| limit.unit.of_text(&text.text) + AROUND_CHARS);
    let lines = texts
        .clone()
        .map(|text| count_newlines(text.text.as_bytes()) as usize + 1);
    let has_room = limit.lines.is_none_or(|most| lines.sum::<usize>() <= most);
    if has_room && sizes.sum::<usize>() <= limit.size + AROUND_CHARS {
        return;
    }
    let mut whole = String::new();
    for text in texts {
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(&text.text);
    }
    let cut = ContentBlock::text(cut(&whole, limit, keep));
    result.content.retain(|block| block.as_text().is_none());
    result.content.insert(0, cut);
}

/// Returns the beginning and the end of a text with a note in between. Each of these two parts ends
/// or begins at a line break, unless that would cost more than half of the part.
fn cut(text: &str, limit: AnswerLimit, keep: KeepText<'_>) -> String {
    let unit = limit.unit;
    let file = keep(text);
    let file = file.as_ref().map(|file| file.to_string_lossy());
    let for_note = unit.of_text(&note(text, 0, text.len(), file.as_deref())) + NOTE_CHARS;
    let half = AnswerLimit {
        size: limit.size.saturating_sub(for_note) / 2,
        lines: limit
            .lines
            .map(|lines| lines.saturating_sub(NOTE_LINES) / 2),
        unit,
    };
    let start = within(text.char_indices(), half).map_or(text.len(), |(at, _)| at);
    let start = match text[..start].rfind('\n') {
        Some(newline) if newline > start / 2 => newline + 1,
        _ => start,
    };
    let end = within(text.char_indices().rev(), half).map_or(0, |(at, c)| at + c.len_utf8());
    let end = match text[end..].find('\n') {
        Some(newline) if newline < (text.len() - end) / 2 => end + newline + 1,
        _ => end,
    };
    let note = note(text, start, end, file.as_deref());
    let before = if text[..start].ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{}{before}{note}\n{}", &text[..start], &text[end..])
}

fn within(
    mut chars: impl Iterator<Item = (usize, char)>,
    mut room: AnswerLimit,
) -> Option<(usize, char)> {
    let mut take = |c: char| {
        room.size = room.size.checked_sub(room.unit.of_char(c))?;
        if let Some(lines) = room.lines.as_mut().filter(|_| c == '\n') {
            *lines = lines.checked_sub(1)?;
        }
        Some(())
    };
    chars.find(|(_, c)| take(*c).is_none())
}

fn note(text: &str, start: usize, end: usize, file: Option<&str>) -> String {
    let lines_before = |at: usize| count_newlines(&text.as_bytes()[..at]);
    let (first, last) = (lines_before(start), lines_before(end));
    let bytes = end.saturating_sub(start);
    let rest = match file {
        Some(file) => format!(
            "The whole answer is in {file}; read_file with offset {first} reads on from here."
        ),
        None => "Narrow the call down to see them.".to_owned(),
    };
    format!(
        "[{bytes} bytes are left out here, lines {} to {}. {rest}]",
        first + 1,
        last.max(first + 1)
    )
}

#[cfg(test)]
mod tests {
    use super::{AROUND_CHARS, limit};
    use gemini_tools_core::client_host::{AnswerLimit, SizeUnit};
    use rmcp::model::{CallToolResult, ContentBlock};
    use std::path::PathBuf;

    const UNITS: [SizeUnit; 3] = [SizeUnit::Bytes, SizeUnit::Utf16, SizeUnit::JsonUtf16];

    fn limited(text: &str, size: usize, unit: SizeUnit, file: Option<&str>) -> String {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        let keep = |_: &str| file.map(PathBuf::from);
        limit(&mut result, AnswerLimit::new(size, unit), &keep);
        let text = result.content[0].as_text().expect("a text");
        text.text.clone()
    }

    #[test]
    fn a_long_text_keeps_its_first_and_last_lines_and_names_those_between() {
        let lines: Vec<_> = (1..=1000).map(|n| format!("line {n} é🙂\n")).collect();
        let text = lines.concat();
        for unit in UNITS {
            let cut = limited(&text, 2000, unit, Some("/kept/x.txt"));
            let size = unit.of_text(&cut);
            assert!((1900..=2000).contains(&size), "{size}: {cut}");
            let (before, rest) = cut.split_once('[').expect("a note");
            let (note, after) = rest.split_once("]\n").expect("its end");
            assert!(text.starts_with(before) && before.ends_with('\n'), "{cut}");
            assert!(text.ends_with(after) && after.starts_with("line "), "{cut}");
            let (first, last) = (before.lines().count(), after.lines().count());
            let left_out = text.len() - before.len() - after.len();
            assert_eq!(
                note,
                format!(
                    "{left_out} bytes are left out here, lines {} to {}. The whole answer is in \
                     /kept/x.txt; read_file with offset {first} reads on from here.",
                    first + 1,
                    1000 - last
                )
            );
        }
    }

    #[test]
    fn lines_are_counted_where_they_are_limited() {
        let text = "x\n".repeat(3000);
        for (lines, is_whole) in [(3001, true), (3000, false), (100, false), (2, false)] {
            let mut result = CallToolResult::success(vec![ContentBlock::text(&*text)]);
            let lines = Some(lines);
            let unit = SizeUnit::Bytes;
            limit(
                &mut result,
                AnswerLimit {
                    size: 50_000,
                    unit,
                    lines,
                },
                &|_| None,
            );
            let cut = &result.content[0].as_text().expect("a text").text;
            assert_eq!(*cut == text, is_whole, "{cut}");
            let count = cut.split('\n').count();
            assert!(
                lines.is_some_and(|most| count <= most.max(3) && count + 4 > most),
                "{cut}"
            );
        }
    }

    #[test]
    fn a_single_line_is_cut_between_characters() {
        let text = "🙂".repeat(5000);
        for unit in UNITS {
            let cut = limited(&text, 1000, unit, None);
            assert!(unit.of_text(&cut) <= 1000, "{cut}");
            assert!(cut.contains("lines 1 to 1. Narrow the call down"), "{cut}");
            assert!(cut.starts_with("🙂") && cut.ends_with("🙂"), "{cut}");
        }
    }

    #[test]
    fn long_texts_become_one_and_other_content_stays() {
        let text = ContentBlock::text("a\n".repeat(1000));
        let image = ContentBlock::image("AA==", "image/png");
        let blocks = vec![text.clone(), image.clone(), text];
        for (size, count) in [(4000 + AROUND_CHARS, 3), (3000, 2)] {
            let mut result = CallToolResult::success(blocks.clone());
            let unit = SizeUnit::Bytes;
            limit(&mut result, AnswerLimit::new(size, unit), &|whole| {
                assert_eq!(whole.len(), 4000);
                None
            });
            assert_eq!(result.content.len(), count);
            assert!(result.content.contains(&image));
        }
    }
}
