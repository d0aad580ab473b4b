//! Thoughts of a model, put together from their pieces.
//!
//! The API sends a thought as one or more parts of a stream: a subject in bold type, then what
//! there is to say of it. Gemini CLI reads each part by itself; here the parts of one thought are
//! one, so that a subject is found wherever the stream cuts it.

/// The mark around a subject.
const BOLD: &str = "**";

/// A thought, read as Gemini CLI reads it: what is between the first two `**` is the subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thought {
    /// The subject; empty where there is none.
    pub subject: String,
    /// Text after the subject.
    pub description: String,
}

impl Thought {
    /// Reads the text of a thought.
    pub fn parse(text: &str) -> Self {
        let parts = text.split_once(BOLD).and_then(|(before, rest)| {
            let (subject, after) = rest.split_once(BOLD)?;
            Some((subject, format!("{before}{after}")))
        });
        match parts {
            Some((subject, description)) => Self {
                subject: subject.trim().to_owned(),
                description: description.trim().to_owned(),
            },
            None => Self {
                subject: String::new(),
                description: text.trim().to_owned(),
            },
        }
    }

    fn is_empty(&self) -> bool {
        self.subject.is_empty() && self.description.is_empty()
    }
}

/// Puts pieces together.
#[derive(Debug, Default)]
pub(super) struct ThoughtReader {
    text: String,
}

impl ThoughtReader {
    /// Takes the next piece; gives the thought before, where another one begins.
    pub(super) fn push(&mut self, piece: &str) -> Option<Thought> {
        let before = self.is_followed_by(piece).then(|| self.finish()).flatten();
        self.text.push_str(piece);
        before
    }

    /// Returns the last thought: nothing more comes.
    pub(super) fn finish(&mut self) -> Option<Thought> {
        let thought = Thought::parse(&std::mem::take(&mut self.text));
        (!thought.is_empty()).then_some(thought)
    }

    /// Returns true if a piece begins another thought: by a subject at the beginning of a line, where the
    /// one that is there has its own.
    fn is_followed_by(&self, piece: &str) -> bool {
        let begins_line = self.text.ends_with('\n') || piece.starts_with('\n');
        begins_line
            && piece.trim_start().starts_with(BOLD)
            && self.text.matches(BOLD).count().is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::{Thought, ThoughtReader};

    fn thought(subject: &str, description: &str) -> Thought {
        Thought {
            subject: subject.to_owned(),
            description: description.to_owned(),
        }
    }

    #[test]
    fn the_subject_is_what_stands_in_bold_type_first() {
        for (text, subject, description) in [
            ("**Looking around**\n\nI look.", "Looking around", "I look."),
            ("Well. ** A ** then **b**.", "A", "Well.  then **b**."),
            ("**Only**", "Only", ""),
            ("no subject", "", "no subject"),
            ("**never ends", "", "**never ends"),
            ("****rest", "", "rest"),
        ] {
            assert_eq!(
                Thought::parse(text),
                thought(subject, description),
                "{text:?}"
            );
        }
    }

    #[test]
    fn thoughts_are_the_same_wherever_the_stream_is_cut() {
        let texts = ["**One two**\n\nThe **first**.\n\n\n", "**Three**\nMore.\n"];
        let expected = [
            thought("One two", "The **first**."),
            thought("Three", "More."),
        ];
        let cuts = |text: &'static str| (0..=text.len()).map(|at| text.split_at(at));
        for (a, b) in cuts(texts[0]) {
            for (c, d) in cuts(texts[1]) {
                let mut reader = ThoughtReader::default();
                // A piece of one `*` does not say yet what it begins.
                if c == "*" {
                    continue;
                }
                let pieces = [a, b, c, d];
                let mut read: Vec<Thought> = pieces
                    .into_iter()
                    .filter_map(|piece| reader.push(piece))
                    .collect();
                read.extend(reader.finish());
                assert_eq!(read, expected, "{pieces:?}");
                assert_eq!(reader.finish(), None);
            }
        }
    }
}
