//! The options of programs that run others, parsed as `getopt_long` does.

use super::plain::is_name;
use super::words::Word;

/// A program that runs another one, with its options. `short` has the short ones in the notation of
/// getopt(3): `:` after a letter that takes a value, `::` after one whose value can only be
/// attached. `long` has the names of the long ones, with `=` after a name that takes a value, and
/// `?` after one whose value can only be attached. `operands` is the number of arguments before the
/// command, such as the duration of `timeout`.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    pub(super) operands: usize,
    pub(super) takes_assignments: bool,
}

pub(super) struct Arguments<'w> {
    /// Each option's letter or name with its value, which is `None` if the option has no value or
    /// the value can't be known.
    pub(super) options: Vec<(String, Option<String>)>,
    pub(super) assignments: Vec<&'w Word>,
    pub(super) command: &'w [Word],
}

impl<'w> Arguments<'w> {
    /// Parses a wrapper's words up to the command that it runs. Returns `None` if an unknown option
    /// might have taken the command's name as its value: then it is not known where the command
    /// begins.
    pub(super) fn parse(words: &'w [Word], wrapper: &Wrapper) -> Option<Self> {
        let mut parsed = Self {
            options: Vec::new(),
            assignments: Vec::new(),
            command: words,
        };
        let (mut operands, mut may_be_option) = (wrapper.operands, true);
        while let Some((word, behind)) = parsed.command.split_first() {
            if may_be_option && word.known.starts_with('-') {
                parsed.command = behind;
                may_be_option = !word.is("--");
                if may_be_option {
                    parsed.option(word, wrapper)?;
                }
            } else if wrapper.takes_assignments && word.known.contains('=') {
                // `env` and `sudo` differ in the names that they accept before `=`. If it is not a
                // valid name of a shell variable, the word may be an assignment or already the
                // command.
                let has_name = word.known.split('=').next().is_some_and(is_name);
                (has_name && (word.value.is_some() || word.is_single)).then_some(())?;
                parsed.assignments.push(word);
                parsed.command = behind;
            } else if operands > 0 {
                (word.is_single && !word.known.is_empty()).then_some(())?;
                operands -= 1;
                parsed.command = behind;
            } else {
                break;
            }
        }
        Some(parsed)
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut given = self.options.iter();
        given.any(|(name, _)| names.contains(&name.as_str()))
    }

    fn option(&mut self, word: &Word, wrapper: &Wrapper) -> Option<()> {
        let text = word.value.as_deref().filter(|text| *text != "-")?;
        let number = text.trim_start_matches('-');
        // `nice -5` is the old form of `nice -n 5`.
        if wrapper.name == "nice" && number.bytes().all(|b| b.is_ascii_digit()) {
            return Some(());
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let mut entries = wrapper.long.split_whitespace().chain(["help", "version"]);
            let entry = entries.find(|entry| entry.trim_end_matches(['=', '?']) == name)?;
            let value = match attached {
                None if entry.ends_with('=') => self.next_value()?,
                attached => attached,
            };
            self.options.push((name.to_owned(), value));
            return Some(());
        }
        for (at, letter) in text.char_indices().skip(1) {
            let (_, behind) = wrapper.short.split_once(letter).filter(|_| letter != ':')?;
            let rest = &text[at + letter.len_utf8()..];
            let takes_value = behind.starts_with(':');
            let value = if takes_value && rest.is_empty() && !behind.starts_with("::") {
                self.next_value()?
            } else {
                Some(rest.to_owned()).filter(|rest| takes_value && !rest.is_empty())
            };
            self.options.push((letter.to_string(), value));
            if takes_value {
                break;
            }
        }
        Some(())
    }

    #[expect(clippy::option_option, reason = "missing, or not known")]
    fn next_value(&mut self) -> Option<Option<String>> {
        let (word, behind) = self.command.split_first()?;
        self.command = behind;
        word.is_single.then(|| word.value.clone())
    }
}
