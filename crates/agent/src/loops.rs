//! Detects a model that repeats itself, so that it does not use up the user's quota.

use super::call::CallRequest;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// This many identical calls in a row count as a loop. The value is Gemini CLI's.
const SAME_CALLS: u32 = 5;

const SAME_TEXTS: usize = 10;

const WINDOW_CHARS: usize = 6_000;

/// Passages shorter than this repeat legitimately, in tables and lists.
const SHORTEST_PERIOD_CHARS: usize = 20;

const LONGEST_PERIOD_CHARS: usize = WINDOW_CHARS / SAME_TEXTS;

/// The search for a repetition runs once per this many new characters, because it is slow: it
/// compares the text with itself, shifted by each possible period.
const STEP_CHARS: usize = 500;

#[derive(Debug, Clone, Default)]
pub(super) struct CallLoop {
    last: Option<u64>,
    times: u32,
}

impl CallLoop {
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
        // A line of dashes or blank space may repeat: more than a third of the passage must be
        // letters or digits.
        end[..period].iter().filter(|c| c.is_alphanumeric()).count() * 3 > period
            && end[period..].iter().zip(end).all(|(a, b)| a == b)
            // If the text also repeats with a shorter period, it is a row of equal words in a
            // table.
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
