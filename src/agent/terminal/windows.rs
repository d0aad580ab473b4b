//! Windows: nobody is asked yet. A console has no file that reads keys and shows text whatever
//! the standard streams are, as a terminal has elsewhere; what would be asked is refused, as
//! where there is no terminal.

use super::approval::{Asker, Reply};
use super::call::ToolCall;
use super::pair::Explanation;
use super::signals::Signals;
use std::sync::Arc;

/// A terminal on which a person is asked. There is none.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// `None`.
    pub fn open() -> Option<Self> {
        None
    }

    /// Never called, because [`Terminal::open`] gives none.
    #[must_use]
    pub fn with_signals(self, _signals: Arc<Signals>) -> Self {
        self
    }
}

impl Asker for Terminal {
    fn ask(&mut self, _: &ToolCall, _: &Explanation) -> Option<Reply> {
        None
    }
}
