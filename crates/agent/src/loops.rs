//! Detects a model that repeats itself, so that it does not use up the user's quota.

use super::call::{CallRequest, ToolCall};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// So many identical calls in a row count as a loop; the value is Gemini CLI's. `SAME_ROUNDS` equal
/// rounds of different calls count as one, too, but only if their answers are equal as well:
/// otherwise a model that waits for something would be stopped.
const SAME_CALLS: u32 = 5;

const SAME_ROUNDS: usize = 5;

const MAX_ROUND_CALLS: usize = 8;

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
    answered: Vec<u64>,
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

    pub(super) fn grows_by_answer(&mut self, call: &ToolCall) -> bool {
        let request = &call.request;
        let mut parts = call
            .outcome()
            .map_or_else(Vec::new, |outcome| outcome.parts.clone());
        for response in parts
            .iter_mut()
            .filter_map(|part| part.function_response.as_mut())
        {
            response.id = None;
        }
        let parts = serde_json::to_string(&parts).unwrap_or_default();
        let hasher = BuildHasherDefault::<DefaultHasher>::new();
        let all = &mut self.answered;
        all.push(hasher.hash_one((&request.name, &request.args, parts)));
        let surplus = all.len().saturating_sub(SAME_ROUNDS * MAX_ROUND_CALLS);
        all.drain(..surplus);
        (2..=MAX_ROUND_CALLS).any(|round| {
            let start = all.len().checked_sub(SAME_ROUNDS * round);
            start.is_some_and(|start| {
                let rounds = &all[start..];
                rounds[round..].iter().zip(rounds).all(|(a, b)| a == b)
            })
        })
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
    use super::{CallLoop, MAX_ROUND_CALLS, SAME_ROUNDS, TextLoop};
    use crate::call::{CallOutcome, CallRequest, CallState, ToolCall};
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
    fn rounds_of_calls_are_a_loop_only_with_the_same_answers() {
        for round in 1..=MAX_ROUND_CALLS + 1 {
            let call = |n: usize| CallRequest {
                id: n.to_string(),
                name: format!("t{}", n % round),
                args: Map::new(),
            };
            let first = |answer: &dyn Fn(usize) -> usize| {
                let mut own = CallLoop::default();
                (0..200).position(|n| {
                    let (request, text) = (call(n), answer(n).to_string());
                    let outcome = CallOutcome::answered(&request, json!({"output": text}), text);
                    let state = CallState::Done(outcome);
                    own.grows_by_answer(&ToolCall {
                        request,
                        state,
                        ..ToolCall::default()
                    })
                })
            };
            let seen = first(&|n| n % round);
            let expected = match round {
                1 => Some(SAME_ROUNDS * 2 - 1),
                2..=MAX_ROUND_CALLS => Some(SAME_ROUNDS * round - 1),
                _ => None,
            };
            assert_eq!(seen, expected, "{round}");
            assert_eq!(first(&|n| n), None, "{round}");
        }
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
