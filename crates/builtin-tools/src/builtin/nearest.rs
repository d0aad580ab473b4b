//! The text of a file that is nearest to one that was not found, and the difference.

use crate::edit::{plain, unescape};
use gemini_tools_core::text::one_line;

/// Candidates that a message shows.
const SHOWN: usize = 3;

/// Lines of a candidate that a message shows.
const EXCERPT_LINES: usize = 12;

/// Characters of a line that a message shows.
const EXCERPT_CHARS: usize = 200;

/// Lines less alike than this are not near.
const MIN_LIKENESS: f64 = 0.6;

/// Pairs of letters that are compared at most.
const COMPARED_PAIRS: usize = 100_000_000;

type Normalize = fn(&str) -> String;

/// The ways in which texts that mean the same often differ, the commonest first.
const DIFFERENCES: [(&str, Normalize); 6] = [
    (
        "which differs only in its line ends: change fewer lines at once, or use smart_edit",
        |text| text.replace('\r', ""),
    ),
    ("which differs only in whitespace", squeeze),
    (
        "which differs only in the kind of quotes or dashes",
        plain_punctuation,
    ),
    ("which differs only in escaping", unescape),
    (
        "which differs only in upper and lower case",
        str::to_lowercase,
    ),
    (
        "which differs in whitespace, quotes, escaping or case",
        normalize_all,
    ),
];

/// Describes up to three places near to `old`: their line, the difference, and the text that is there.
pub(super) fn nearest(text: &str, old: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    for (difference, normalize) in DIFFERENCES {
        let found = same_but_for(&lines, old, difference, normalize);
        if !found.is_empty() {
            return found;
        }
    }
    most_alike(&lines, old)
}

fn same_but_for(lines: &[&str], old: &str, difference: &str, normalize: Normalize) -> Vec<String> {
    // Escaping can hide line feeds, so the text is normalized as a whole.
    let wanted = normalize(old);
    let wanted: Vec<&str> = wanted.trim_matches('\n').split('\n').collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let normalized: Vec<String> = lines.iter().map(|line| normalize(line)).collect();
    let fits = |window: &[String]| match wanted.as_slice() {
        [one] => window[0].contains(one),
        [first, middle @ .., last] => {
            window[0].ends_with(first)
                && window[window.len() - 1].starts_with(last)
                && window[1..].iter().zip(middle).all(|(a, b)| a == b)
        }
        [] => false,
    };
    normalized
        .windows(wanted.len().max(1))
        .enumerate()
        .filter(|(_, window)| fits(window))
        .take(SHOWN)
        .map(|(i, _)| describe(lines, i, wanted.len(), difference))
        .collect()
}

/// Returns the places whose lines are most alike.
fn most_alike(lines: &[&str], old: &str) -> Vec<String> {
    let wanted: Vec<&str> = old.lines().collect();
    let Some((anchor, longest)) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())
        .map(|(i, line)| (i, line.trim()))
    else {
        return Vec::new();
    };
    let length = longest.chars().count();
    if !(3..=1_000).contains(&length) {
        return Vec::new();
    }
    let mut pairs = 0;
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| {
            let other = line.trim().len();
            other * 2 >= longest.len() && other <= longest.len() * 2
        })
        .take_while(|(_, line)| {
            pairs += longest.len() * line.len();
            pairs <= COMPARED_PAIRS
        })
        .map(|(i, line)| (strsim::normalized_levenshtein(longest, line.trim()), i))
        .filter(|(score, _)| *score >= MIN_LIKENESS)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(SHOWN)
        .map(|(score, i)| {
            let first = i.saturating_sub(anchor);
            let difference = format!("which is {:.0} % alike", score * 100.0);
            describe(lines, first, wanted.len(), &difference)
        })
        .collect()
}

fn describe(lines: &[&str], first: usize, count: usize, difference: &str) -> String {
    let end = (first + count.clamp(1, EXCERPT_LINES)).min(lines.len());
    let mut text = format!("line {}, {difference}:", first + 1);
    for line in &lines[first..end] {
        text.push('\n');
        text.extend(line.chars().take(EXCERPT_CHARS));
    }
    text
}

fn squeeze(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(one_line).collect();
    lines.join("\n")
}

fn plain_punctuation(text: &str) -> String {
    let plain = text.chars().filter_map(plain);
    // All quotes are alike.
    plain.map(|c| if c == '\'' { '"' } else { c }).collect()
}

fn normalize_all(text: &str) -> String {
    squeeze(&plain_punctuation(&unescape(text)).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_difference_is_named_with_the_line() {
        let text = "fn a() {\n\tlet x = \"one\";\n    Return(x)\n}\nfoo(“bar”)\nlast line of all\n";
        let cases = [
            ("    let x = \"one\";", 2, "whitespace"),
            ("let x = 'one';", 2, "quotes"),
            ("return(x)", 3, "case"),
            ("fn a() {\\n\\tlet x", 1, "escaping"),
            ("foo(\"bar\")", 5, "quotes"),
            ("foo(„bar″)", 5, "quotes"),
            ("last lime of all", 6, "alike"),
            ("fn a() {\n  let x = \"one\";\n  Return(x)", 1, "whitespace"),
            ("fn a() {\r\n\tlet x = \"one\";", 1, "line ends"),
        ];
        for (old, line, word) in cases {
            let found = nearest(text, old);
            let first = found.first().unwrap_or_else(|| panic!("{old}"));
            let (head, _) = first.split_once(":\n").expect("a text");
            assert!(head.starts_with(&format!("line {line},")), "{old}: {head}");
            assert!(head.contains(word), "{old}: {head}");
        }
        assert!(nearest(text, "something else entirely, not here").is_empty());
        assert!(nearest("", "x").is_empty());
    }
}
