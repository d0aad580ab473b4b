//! Finds typing errors in patterns.

use super::class;

/// Returns what is wrong with a pattern: a bracket that is not closed, or a range that runs
/// backwards. Tools take the first literally and match nothing by the second, since a model may mean
/// the name of a file. In a rule either would make the rule hold for ever.
pub fn fault(pattern: &str) -> Option<String> {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut open, mut i) = (Vec::new(), 0);
    while let Some(c) = chars.get(i) {
        match c {
            '\\' => i += 1,
            '[' => match class(&chars, i) {
                Some(found) if !chars[i..found.end].contains(&'/') => {
                    let text: String = chars[i..found.end].iter().collect();
                    if found.ranges.iter().any(|(from, to)| from > to) {
                        return Some(format!("a range of {text} runs backwards"));
                    }
                    i = found.end;
                    continue;
                }
                _ => open.push(('[', ']')),
            },
            '{' => open.push(('{', '}')),
            '(' if i > 0 && "@?*+!".contains(chars[i - 1]) => open.push(('(', ')')),
            _ if open.last().is_some_and(|(_, close)| close == c) => drop(open.pop()),
            _ => {}
        }
        i += 1;
    }
    let (start, close) = open.pop()?;
    Some(format!(
        "it has a {start} without a {close}; \\{start} is the character itself"
    ))
}
