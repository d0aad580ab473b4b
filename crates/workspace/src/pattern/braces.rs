//! Expands braces in patterns: `{a,b}`, also nested, `{1..3}` and `{a..e}`.

use gemini_tools_core::tool::ToolError;

/// The maximum number of patterns that braces may stand for.
pub const MAX_ALTERNATIVES: usize = 4096;

/// Expands the braces in a pattern into one pattern for each choice. Braces without a comma or
/// range, without an end, or with a range of more than [`MAX_ALTERNATIVES`] items are literal.
///
/// # Errors
///
/// Returns `invalid_tool_params` if the braces stand for more than [`MAX_ALTERNATIVES`] patterns.
pub fn expand_braces(pattern: &str) -> Result<Vec<String>, ToolError> {
    let mut done = Vec::new();
    let mut pending = vec![(String::new(), pattern.to_owned())];
    while let Some((head, rest)) = pending.pop() {
        match next_braces(&rest) {
            None => done.push(head + &rest),
            Some((start, end, choices)) => {
                for choice in choices.into_iter().rev() {
                    // A choice may contain braces, so it is expanded again together with the text
                    // after it. The text before it has no more braces.
                    pending.push((
                        format!("{head}{}", &rest[..start]),
                        format!("{choice}{}", &rest[end..]),
                    ));
                }
            }
        }
        if done.len() + pending.len() > MAX_ALTERNATIVES {
            return Err(ToolError::invalid(format!(
                "The braces in {pattern:?} stand for more than {MAX_ALTERNATIVES} patterns."
            )));
        }
    }
    Ok(done)
}

fn next_braces(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'{' => {
                if let Some((end, commas)) = closing_brace(bytes, i) {
                    let choices = if commas.is_empty() {
                        range(&text[i + 1..end])
                    } else {
                        let starts = std::iter::once(i).chain(commas.iter().copied());
                        let ends = commas.iter().copied().chain([end]);
                        Some(
                            starts
                                .zip(ends)
                                .map(|(from, to)| text[from + 1..to].to_owned())
                                .collect(),
                        )
                    };
                    if let Some(choices) = choices {
                        return Some((i, end + 1, choices));
                    }
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

fn closing_brace(bytes: &[u8], start: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut i = start;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((i, commas));
                }
            }
            b',' if depth == 1 => commas.push(i),
            _ => {}
        }
        i += 1;
    }
    None
}

/// Lists the numbers or letters of a range such as `1..3`, `08..10` or `a..e..2`; `None` if it is
/// no range, or too long.
fn range(inner: &str) -> Option<Vec<String>> {
    let mut parts = inner.splitn(3, "..");
    let (from, to) = (parts.next()?, parts.next()?);
    let step = match parts.next() {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(i64::from(*letter)),
        _ => None,
    };
    let letters = letter(from).zip(letter(to));
    let (first, last) = match letters {
        Some(letters) => letters,
        None => (from.parse().ok()?, to.parse().ok()?),
    };
    let is_padded = from.starts_with('0') || to.starts_with('0');
    let width = if is_padded {
        from.len().max(to.len())
    } else {
        0
    };
    let count = first.abs_diff(last) / step + 1;
    if count > MAX_ALTERNATIVES as u64 {
        return None;
    }
    let item = |i: u64| {
        let offset = i128::from(i * step);
        let offset = if first <= last { offset } else { -offset };
        let value = i128::from(first) + offset;
        match letters.and_then(|_| u8::try_from(value).ok()) {
            Some(letter) => char::from(letter).to_string(),
            None => format!("{value:0width$}"),
        }
    };
    Some((0..count).map(item).collect())
}
