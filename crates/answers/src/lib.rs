//! From a result to the JSON that a host reads.

pub mod answer;
pub mod kept_answers;
