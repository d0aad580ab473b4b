//! Options of programs, taken apart as `getopt_long` does it.

use super::plain::is_name;
use super::words::Word;

/// The options that a program knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters as getopt(3) has them: `:` behind one that takes a value, `::` behind one whose
    /// value can only be attached. `#` means that numbers are options too, as in `-5`, and a dash
    /// that a dash alone is one.
    pub(super) short: &'static str,
    /// Names: `=` behind one for each value, `=?` for one that can only be attached. `*` means
    /// that there are others, none of which takes the next word.
    pub(super) long: &'static str,
}

/// What may be before the words that are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    pub(super) options: Options,
    /// Words that are not options.
    pub(super) operands: usize,
    /// Whether assignments may be there too.
    pub(super) assignments: bool,
}

impl Grammar {
    /// Options up to the first word that is none.
    pub(super) const fn leading(short: &'static str, long: &'static str) -> Self {
        Self {
            options: Options { short, long },
            operands: 0,
            assignments: false,
        }
    }
}

/// An option as it was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The option's letter or its whole name.
    pub(super) name: &'static str,
    pub(super) value: Option<Word>,
    /// Where the words behind it begin.
    pub(super) next: usize,
}

/// Words taken apart.
#[derive(Debug)]
pub(super) struct Parsed<'w> {
    pub(super) options: Vec<Found>,
    pub(super) assignments: Vec<&'w Word>,
    /// Where the operands stand.
    pub(super) operands: Vec<usize>,
    /// Where the words behind `--` begin.
    pub(super) after_dashes: Option<usize>,
    /// The words behind all of that.
    pub(super) rest: &'w [Word],
    /// Whether an option may have taken one of the words, or may be one.
    pub(super) is_unsure: bool,
}

impl Parsed<'_> {
    /// Whether one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|o| names.contains(&o.name))
    }

    /// The values of these options.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &Word> {
        let found = self.options.iter().filter(|o| names.contains(&o.name));
        found.filter_map(|o| o.value.as_ref())
    }
}

/// Where an option's values stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// In this many words behind it; the first may be attached.
    Next(usize),
    /// Attached, if there is one.
    Attached,
}

/// Takes words apart until the first that is not an option, assignment or operand.
pub(super) fn parse<'w>(words: &'w [Word], grammar: &Grammar) -> Parsed<'w> {
    let mut parsed = Parsed {
        options: Vec::new(),
        assignments: Vec::new(),
        operands: Vec::new(),
        after_dashes: None,
        rest: &[],
        is_unsure: false,
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let may_be_option = parsed.after_dashes.is_none();
        if may_be_option && word.value.as_deref() == Some("--") {
            at += 1;
            parsed.after_dashes = Some(at);
        } else if word.value.as_deref() == Some("-") && grammar.options.short.starts_with('-') {
            at += 1;
        } else if may_be_option && is_option(word) {
            at = option(&mut parsed, words, at, &grammar.options);
        } else if grammar.assignments && is_assignment(word) {
            // Programs differ in what names they take.
            let has_name = word.known.split('=').next().is_some_and(is_name);
            parsed.is_unsure |= !has_name || word.value.is_none() && !word.is_single;
            parsed.assignments.push(word);
            at += 1;
        } else if parsed.operands.len() < grammar.operands {
            let is_sure = word.is_single && (!may_be_option || !may_begin_with_dash(word));
            parsed.is_unsure |= !is_sure;
            parsed.operands.push(at);
            at += 1;
        } else {
            break;
        }
    }
    parsed.rest = words.get(at..).unwrap_or_default();
    parsed
}

fn is_option(word: &Word) -> bool {
    word.known.starts_with('-') && word.value.as_deref() != Some("-")
}

fn may_begin_with_dash(word: &Word) -> bool {
    word.value.is_none() && word.known.is_empty()
}

fn is_assignment(word: &Word) -> bool {
    word.known.contains('=')
}

/// Takes the option at `at`, and says where the next word is.
fn option(parsed: &mut Parsed<'_>, words: &[Word], at: usize, options: &Options) -> usize {
    let word = &words[at];
    let known = word.known.as_str();
    let is_whole = word.value.as_deref() == Some(known);
    parsed.is_unsure |= !word.is_single;
    let taken = match known.strip_prefix("--") {
        Some(digits) if is_number(digits, options) => return at + 1,
        Some(name) => long(name, is_whole, options),
        None if is_number(&known[1..], options) => return at + 1,
        None => cluster(&known[1..], is_whole, options, parsed, at + 1),
    };
    let Some(Taken {
        name,
        attached,
        values,
        is_sure,
    }) = taken
    else {
        parsed.is_unsure = true;
        return at + 1;
    };
    parsed.is_unsure |= !is_sure;
    let attached = attached.map(|value| Word {
        value: is_whole.then(|| value.to_owned()),
        known: value.to_owned(),
        if_empty: value.to_owned(),
        text: value.to_owned(),
        written: value.to_owned(),
        is_quoted: true,
        is_number: false,
        is_single: word.is_single,
        is_expanded: word.is_expanded,
    });
    let following = match values {
        Values::Next(count) if count > 0 => count - usize::from(attached.is_some()),
        _ => 0,
    };
    let taken = words.get(at + 1..at + 1 + following).unwrap_or_default();
    // A value that is missing may come from elsewhere.
    parsed.is_unsure |= taken.len() < following || !taken.iter().all(|word| word.is_single);
    let next = at + 1 + following;
    let value = attached.or_else(|| taken.first().cloned());
    parsed.options.push(Found { name, value, next });
    next
}

fn is_number(text: &str, options: &Options) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    options.short.contains('#') && digits.starts_with(|c: char| c.is_ascii_digit())
}

/// The option that a word ends with.
struct Taken<'t> {
    name: &'static str,
    attached: Option<&'t str>,
    values: Values,
    is_sure: bool,
}

/// A long option, which may be shortened.
fn long<'t>(text: &'t str, is_whole: bool, options: &Options) -> Option<Taken<'t>> {
    let (wanted, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    // Without all of its name it is not known.
    if attached.is_none() && !is_whole {
        return None;
    }
    let known = || {
        let all = options.long.split_whitespace().chain(["help", "version"]);
        all.filter(|entry| *entry != "*").map(|entry| {
            let (name, values) = entry.split_at(entry.find('=').unwrap_or(entry.len()));
            match values {
                "=?" => (name, Values::Attached),
                equals => (name, Values::Next(equals.len())),
            }
        })
    };
    let exact = known().find(|(name, _)| *name == wanted);
    let mut similar = known().filter(|(name, _)| name.starts_with(wanted));
    let found = exact.or_else(|| similar.next());
    match found {
        Some((name, values)) => Some(Taken {
            name,
            attached,
            values,
            is_sure: exact.is_some() || similar.all(|(_, v)| v == values),
        }),
        None if options.long.contains('*') => Some(Taken {
            name: "*",
            attached,
            values: Values::Attached,
            is_sure: true,
        }),
        None => None,
    }
}

/// Letters behind one dash, of which the last may have a value.
fn cluster<'t>(
    text: &'t str,
    is_whole: bool,
    options: &Options,
    parsed: &mut Parsed<'_>,
    next: usize,
) -> Option<Taken<'t>> {
    let mut taken = None;
    for (i, letter) in text.char_indices() {
        let rest = &text[i + letter.len_utf8()..];
        let at = options.short.find(letter).filter(|_| letter != ':')?;
        let behind = &options.short[at + letter.len_utf8()..];
        let name = &options.short[at..at + letter.len_utf8()];
        let has_rest = !rest.is_empty() || !is_whole;
        let attached = has_rest.then_some(rest);
        if let Some(last) = taken.replace(name) {
            parsed.options.push(Found {
                name: last,
                value: None,
                next,
            });
        }
        let values = match () {
            () if behind.starts_with("::") => Values::Attached,
            () if behind.starts_with(':') => Values::Next(1),
            () => continue,
        };
        return Some(Taken {
            name,
            attached,
            values,
            // `-n"$x"` takes the next word where the variable is empty.
            is_sure: is_whole || !rest.is_empty() || values == Values::Attached,
        });
    }
    taken.map(|name| Taken {
        name,
        attached: None,
        values: Values::Next(0),
        // What is not known of the word may be more letters.
        is_sure: is_whole,
    })
}
