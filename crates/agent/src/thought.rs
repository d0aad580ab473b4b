//! The model's thoughts, as the API streams them: a subject in bold type, then the text.

use std::fmt;

const BOLD: &str = "**";

/// A thought, read as Gemini CLI reads it: what is between the first two `**` is the subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thought {
    /// The subject; empty where there is none.
    pub subject: String,
    /// The text without the subject.
    pub description: String,
}

impl fmt::Display for Thought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject.as_str() {
            "" => f.write_str(&self.description),
            subject => write!(f, "{BOLD}{subject}{BOLD}\n\n{}\n", self.description),
        }
    }
}

impl Thought {
    /// Reads the text of a thought.
    pub fn parse(text: &str) -> Self {
        let parts = text.split_once(BOLD).and_then(|(before, rest)| {
            let (subject, after) = rest.split_once(BOLD)?;
            Some((subject, format!("{before}{after}")))
        });
        let (subject, description) = parts.unwrap_or_else(|| ("", text.to_owned()));
        Self {
            subject: subject.trim().to_owned(),
            description: description.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Thought;

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
}
