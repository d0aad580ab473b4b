//! The options of programs that run others, parsed as `getopt_long` does.

use super::plain::is_name;
use super::words::Word;

/// The words that may be before the command that a program runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    /// Letters as getopt(3) has them: `:` behind one that takes a value, `::` behind one whose value can only be
    /// attached. `#` means that numbers are options too, as in `-5`, and a dash at the beginning that a dash alone is one.
    pub(super) short: &'static str,
    /// Names: `=` behind one that takes a value, `=?` behind one whose value can only be attached.
    pub(super) long: &'static str,
    /// The number of words that are not options.
    pub(super) operands: usize,
    /// True if assignments may be there too.
    pub(super) assignments: bool,
}

/// The words of a program, parsed.
#[derive(Debug, Default)]
pub(super) struct Parsed<'w> {
    /// The options, by letter or name, with their values.
    options: Vec<(&'static str, Option<Word>)>,
    pub(super) assignments: Vec<&'w Word>,
    /// The words behind all of that.
    pub(super) rest: &'w [Word],
    /// True if an option may have taken one of the words, or a word may be one.
    pub(super) is_unsure: bool,
}

impl Parsed<'_> {
    /// Returns true if one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// Returns the values of these options.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Word> {
        let given = self.options.iter().filter(|(name, _)| names.contains(name));
        given.filter_map(|(_, value)| value.as_ref())
    }
}

/// An option at the end of a word.
struct LastOption<'t> {
    name: &'static str,
    attached: Option<&'t str>,
    /// True if the next word is its value.
    takes_next: bool,
}

/// Parses words until the first that is not an option, assignment or operand.
pub(super) fn parse<'w>(words: &'w [Word], grammar: &Grammar) -> Parsed<'w> {
    let mut parsed = Parsed::default();
    let (mut at, mut operands, mut may_be_option) = (0, 0, true);
    while let Some(word) = words.get(at) {
        let value = word.value.as_deref();
        if may_be_option && value == Some("--") {
            at += 1;
            may_be_option = false;
        } else if value == Some("-") && grammar.short.starts_with('-') {
            at += 1;
        } else if may_be_option && word.known.starts_with('-') && value != Some("-") {
            at = option(&mut parsed, words, at, grammar);
        } else if grammar.assignments && word.known.contains('=') {
            // Programs differ in what names they take.
            let has_name = word.known.split('=').next().is_some_and(is_name);
            parsed.is_unsure |= !has_name || value.is_none() && !word.is_single;
            parsed.assignments.push(word);
            at += 1;
        } else if operands < grammar.operands {
            let may_begin_with_dash = value.is_none() && word.known.is_empty();
            parsed.is_unsure |= !word.is_single || may_be_option && may_begin_with_dash;
            operands += 1;
            at += 1;
        } else {
            break;
        }
    }
    parsed.rest = words.get(at..).unwrap_or_default();
    parsed
}

/// Adds the options of the word at `at`, and returns the position of the next word.
fn option(parsed: &mut Parsed<'_>, words: &[Word], at: usize, grammar: &Grammar) -> usize {
    let word = &words[at];
    let known = word.known.as_str();
    let is_whole = word.value.as_deref() == Some(known);
    parsed.is_unsure |= !word.is_single;
    let digits = known.trim_start_matches(['-', '+']);
    if grammar.short.contains('#') && digits.starts_with(|c: char| c.is_ascii_digit()) {
        return at + 1;
    }
    let last = match known.strip_prefix("--") {
        Some(name) => long(name, is_whole, grammar),
        None => cluster(&known[1..], is_whole, grammar, parsed),
    };
    let Some(last) = last else {
        parsed.is_unsure = true;
        return at + 1;
    };
    if last.takes_next {
        let next = words.get(at + 1);
        // A value that is missing may come from elsewhere.
        parsed.is_unsure |= next.is_none_or(|word| !word.is_single);
        parsed.options.push((last.name, next.cloned()));
        return at + 2;
    }
    let value = last.attached.map(|text| Word {
        value: is_whole.then(|| text.to_owned()),
        ..Word::unknown(text.to_owned(), text.to_owned())
    });
    parsed.options.push((last.name, value));
    at + 1
}

/// Finds a long option by its whole name.
fn long<'t>(text: &'t str, is_whole: bool, grammar: &Grammar) -> Option<LastOption<'t>> {
    let (wanted, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        // Without all of its name it is not known.
        None if is_whole => (text, None),
        None => return None,
    };
    let all = grammar.long.split_whitespace().chain(["help", "version"]);
    let mut entries = all.map(|entry| entry.split_at(entry.find('=').unwrap_or(entry.len())));
    let (name, values) = entries.find(|(name, _)| *name == wanted)?;
    Some(LastOption {
        name,
        attached,
        takes_next: values == "=" && attached.is_none(),
    })
}

/// Adds letters behind one dash, and returns the last, which may have a value.
fn cluster<'t>(
    text: &'t str,
    is_whole: bool,
    grammar: &Grammar,
    parsed: &mut Parsed<'_>,
) -> Option<LastOption<'t>> {
    let mut last = None;
    for (i, letter) in text.char_indices() {
        let rest = &text[i + letter.len_utf8()..];
        let at = grammar.short.find(letter).filter(|_| letter != ':')?;
        let (name, behind) = grammar.short[at..].split_at(letter.len_utf8());
        parsed.options.extend(last.take().map(|last| (last, None)));
        if behind.starts_with(':') {
            let has_rest = !rest.is_empty() || !is_whole;
            let is_optional = behind.starts_with("::");
            // `-n"$x"` takes the next word where the variable is empty.
            parsed.is_unsure |= !is_whole && rest.is_empty() && !is_optional;
            return Some(LastOption {
                name,
                attached: has_rest.then_some(rest),
                takes_next: !has_rest && !is_optional,
            });
        }
        last = Some(name);
    }
    // What is not known of the word may be more letters.
    parsed.is_unsure |= !is_whole;
    last.map(|name| LastOption {
        name,
        attached: None,
        takes_next: false,
    })
}
