//! Detection of a model that repeats itself.

use super::call::CallRequest;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Number of equal calls in a row that is a loop, as for Gemini CLI.
const SAME_CALLS: u32 = 5;

/// Number of equal texts in a row that is a loop.
const SAME_TEXTS: usize = 10;

/// Maximum characters of the text's end that are looked at.
const WINDOW_CHARS: usize = 6_000;

/// Shorter texts are repeated in tables and lists, too.
const SHORTEST_PERIOD_CHARS: usize = 20;

const LONGEST_PERIOD_CHARS: usize = WINDOW_CHARS / SAME_TEXTS;

/// Number of new characters after which the text is looked at again.
const STEP_CHARS: usize = 500;

#[derive(Debug, Clone, Default)]
pub(super) struct CallLoop {
    last: Option<u64>,
    times: u32,
}

impl CallLoop {
    /// Takes a call in. Returns true if it is the same again and again.
    pub(super) fn grows(&mut self, request: &CallRequest) -> bool {
        let hasher = BuildHasherDefault::<DefaultHasher>::new();
        let call = hasher.hash_one((&request.name, &request.args));
        if self.last.replace(call) != Some(call) {
            self.times = 0;
        }
        self.times += 1;
        self.times >= SAME_CALLS
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct TextLoop {
    tail: Vec<char>,
    new: usize,
}

impl TextLoop {
    /// Takes more text in. Returns true if its end is the same again and again.
    pub(super) fn grows(&mut self, text: &str) -> bool {
        let before = self.tail.len();
        self.tail.extend(text.chars());
        self.new += self.tail.len() - before;
        if self.new < STEP_CHARS {
            return false;
        }
        self.new = 0;
        let surplus = self.tail.len().saturating_sub(WINDOW_CHARS);
        self.tail.drain(..surplus);
        (SHORTEST_PERIOD_CHARS..=LONGEST_PERIOD_CHARS).any(|period| self.repeats(period))
    }

    fn repeats(&self, period: usize) -> bool {
        let Some(start) = self.tail.len().checked_sub(period * SAME_TEXTS) else {
            return false;
        };
        let end = &self.tail[start..];
        // Rulers and blank space are not statements.
        end[..period].iter().filter(|c| c.is_alphanumeric()).count() * 3 > period
            && end[period..].iter().zip(end).all(|(a, b)| a == b)
            // A shorter period would be a table of one word.
            && !(1..SHORTEST_PERIOD_CHARS).any(|p| end[p..].iter().zip(end).all(|(a, b)| a == b))
    }
}

#[cfg(test)]
mod tests {
    use super::{CallLoop, TextLoop};
    use crate::call::CallRequest;
    use serde_json::{Map, json};

    #[test]
    fn the_same_call_five_times_in_a_row_is_a_loop() {
        let call = |n: u32| CallRequest {
            id: n.to_string(),
            name: "t".to_owned(),
            args: Map::from_iter([("n".to_owned(), json!(n))]),
        };
        let mut own = CallLoop::default();
        let seen: Vec<bool> = [1, 1, 1, 1, 2, 1, 1, 1, 1, 1]
            .map(|n| own.grows(&call(n)))
            .to_vec();
        assert_eq!(seen.iter().filter(|l| **l).count(), 1);
        assert_eq!(seen.last(), Some(&true));
    }

    #[test]
    fn only_a_text_that_repeats_itself_is_a_loop() {
        let grows = |text: &str| {
            let mut own = TextLoop::default();
            let chars: Vec<char> = text.chars().collect();
            chars
                .chunks(37)
                .any(|piece| own.grows(&piece.iter().collect::<String>()))
        };
        assert!(grows(&"I will now look into the file again.\n".repeat(60)));
        assert!(grows(&format!(
            "A beginning.\n{}",
            "Größe prüfen, dann weiter — und wieder. ".repeat(80)
        )));
        let mut counted = String::new();
        for i in 0..300 {
            counted.push_str(&format!("Line {i} of the list.\n"));
        }
        assert!(!grows(&counted));
        assert!(!grows(&"-".repeat(5_000)));
        assert!(!grows(&"| a | b |\n".repeat(500)));
        assert!(!grows(&"I will now look into the file again.\n".repeat(5)));
    }
}
