//! Expands braces in patterns: `{a,b}`, also nested, `{1..3}` and `{a..e}`.

use gemini_tools_core::tool::ToolError;

/// The maximum number of patterns that braces may stand for.
pub const MAX_ALTERNATIVES: usize = 4096;

/// Maximum number of bytes that are copied while a pattern is expanded. The result can't be much
/// larger.
const MAX_EXPANDED_BYTES: usize = 4 * 1024 * 1024;

/// Maximum length of a number in a range, such as `08..10`, whose numbers are padded with zeros.
const MAX_WIDTH: usize = 32;

/// Expands the braces in a pattern into one pattern for each choice. Braces without a comma or
/// range, or without an end, are literal.
///
/// # Errors
///
/// Returns `invalid_tool_params` if the braces stand for more than [`MAX_ALTERNATIVES`] patterns,
/// or for more than about 4 MiB of text.
pub fn expand_braces(pattern: &str) -> Result<Vec<String>, ToolError> {
    let mut expansion = Expansion::default();
    expansion.expand(pattern).ok_or_else(|| {
        let beginning: String = pattern.chars().take(80).collect();
        ToolError::invalid(format!(
            "The braces in {beginning:?} stand for more than {MAX_ALTERNATIVES} patterns, or for \
             very long ones."
        ))
    })
}

/// The texts that the pattern stands for since an open brace, or since its beginning: those of each
/// finished choice, and those of the present one up to the present position. The first choice
/// begins with the brace, because the brace may turn out to be literal.
struct Level {
    start: usize,
    choices: Vec<Vec<String>>,
    present: Vec<String>,
}

/// Expands a pattern in one pass. The functions return `None` as soon as a part of the result is
/// too large, since the whole would be at least as large.
#[derive(Default)]
struct Expansion {
    taken: usize,
}

impl Expansion {
    fn expand(&mut self, pattern: &str) -> Option<Vec<String>> {
        let level = |start, text: &str| Level {
            start,
            choices: Vec::new(),
            present: vec![text.to_owned()],
        };
        let mut here = level(0, "");
        let mut above: Vec<Level> = Vec::new();
        let mut rest = 0;
        let mut chars = pattern.char_indices();
        while let Some((at, c)) = chars.next() {
            if c == '\\' {
                chars.next();
            }
            if !matches!(c, '{' | '}' | ',') || (above.is_empty() && c != '{') {
                continue;
            }
            self.append(&mut here.present, &[&pattern[rest..at]])?;
            rest = at + 1;
            match c {
                '{' => above.push(std::mem::replace(&mut here, level(at, "{"))),
                ',' => here
                    .choices
                    .push(std::mem::replace(&mut here.present, vec![String::new()])),
                _ => {
                    let inner = &pattern[here.start + 1..at];
                    let texts = self.closed(here, inner)?;
                    here = above.pop()?;
                    self.append(&mut here.present, &texts)?;
                }
            }
        }
        self.append(&mut here.present, &[&pattern[rest..]])?;
        let mut texts = vec![String::new()];
        for open in above.into_iter().chain([here]) {
            // A brace that is never closed is literal, and so are the commas after it.
            for choice in open.choices {
                self.append(&mut texts, &choice)?;
                self.append(&mut texts, &[","])?;
            }
            self.append(&mut texts, &open.present)?;
        }
        Some(texts)
    }

    /// Returns the texts that a pair of braces stands for. `inner` is the pattern between them.
    fn closed(&mut self, braces: Level, inner: &str) -> Option<Vec<String>> {
        let mut texts = braces.present;
        if braces.choices.is_empty() {
            if let Some(items) = range(inner) {
                return Some(items);
            }
            self.append(&mut texts, &["}"])?;
            return Some(texts);
        }
        let mut all = braces.choices;
        for text in &mut all[0] {
            text.remove(0);
        }
        all.push(texts);
        let all: Vec<String> = all.into_iter().flatten().collect();
        (all.len() <= MAX_ALTERNATIVES).then_some(all)
    }

    fn append(&mut self, texts: &mut Vec<String>, more: &[impl AsRef<str>]) -> Option<()> {
        if let [one] = more {
            self.taken += one.as_ref().len() * texts.len();
            if self.taken > MAX_EXPANDED_BYTES {
                return None;
            }
            for text in texts {
                text.push_str(one.as_ref());
            }
            return Some(());
        }
        let bytes: usize = texts.iter().map(String::len).sum();
        let added: usize = more.iter().map(|text| text.as_ref().len()).sum();
        let strings = texts.len() * more.len() * size_of::<String>();
        self.taken += bytes * more.len() + added * texts.len() + strings;
        if self.taken > MAX_EXPANDED_BYTES || texts.len() * more.len() > MAX_ALTERNATIVES {
            return None;
        }
        for text in std::mem::take(texts) {
            let with = more.iter().map(|more| format!("{text}{}", more.as_ref()));
            texts.extend(with);
        }
        Some(())
    }
}

/// Lists the numbers or letters of a range such as `1..3`, `08..10` or `a..e..2`; `None` if it is
/// no range. If there are too many, one more than the maximum is listed, which `append` refuses.
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
    if width > MAX_WIDTH {
        return None;
    }
    let steps = (first.abs_diff(last) / step).min(MAX_ALTERNATIVES as u64);
    let item = |i: u64| {
        let offset = i128::from(i * step);
        let offset = if first <= last { offset } else { -offset };
        let value = i128::from(first) + offset;
        match letters.and_then(|_| u8::try_from(value).ok()) {
            Some(letter) => char::from(letter).to_string(),
            None => format!("{value:0width$}"),
        }
    };
    Some((0..=steps).map(item).collect())
}
