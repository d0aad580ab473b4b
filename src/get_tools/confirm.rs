//! Asks a person on the terminal.

use crate::get_tools::print::fail;
use crate::start::warn;
use gemini_tools::process::tty::discard_typed_ahead;
use gemini_tools::variables::is_in_qwen;
use std::io::{BufRead, IsTerminal, Read, Write};

const NOTHING_DONE: &str = "Nothing was done.";

/// Refuses a command of a model unless it asks a person on a terminal; that it runs on a terminal
/// is not enough, because hosts run commands on one, too. If `asks` is true, any command without a
/// terminal is refused. `otherwise` tells the user how to proceed without a question.
///
/// # Errors
///
/// Returns the status to exit with.
fn may_ask(otherwise: &str, asks: bool) -> Result<(), u8> {
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // Gemini CLI and run_agent set this for commands that a model runs.
    let is_in_gemini = std::env::var_os("GEMINI_CLI").is_some_and(|v| !v.is_empty());
    if (is_in_gemini || is_in_qwen()) && !(asks && has_terminal) {
        let reason =
            "A command of an agent can't agree to this; a person can, asked on a terminal.";
        return Err(fail(2, reason));
    }
    if asks && !has_terminal {
        let reason = format!("There is no terminal to ask on; {otherwise}");
        return Err(fail(2, &reason));
    }
    Ok(())
}

fn answer_to(question: &str) -> Option<String> {
    discard_typed_ahead();
    // If the question can't be printed, there will be no answer either.
    let _ = write!(std::io::stderr(), "{question} ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().take(100).read_line(&mut answer);
    read.is_ok_and(|length| length > 0)
        .then(|| answer.trim().to_lowercase())
}

/// Asks for confirmation if `asks` is true. `otherwise` tells the user how to proceed without a
/// question.
///
/// # Errors
///
/// Returns the status to exit with, unless the answer is yes.
pub(crate) fn confirm(question: &str, otherwise: &str, asks: bool) -> Result<(), u8> {
    may_ask(otherwise, asks)?;
    if !asks
        || matches!(
            answer_to(&format!("{question} [y/N]")).as_deref(),
            Some("y" | "yes")
        )
    {
        return Ok(());
    }
    Err(fail(1, NOTHING_DONE))
}

/// Shows changes one by one and asks about each. Returns an answer per change. Without a terminal
/// all are shown before the error.
///
/// # Errors
///
/// Returns the status to exit with if the user agrees to no change or can't be asked.
pub(crate) fn choose(
    shown: &[String],
    otherwise: &str,
    print: impl Fn(&str) -> u8,
) -> Result<Vec<bool>, u8> {
    let show = |text: &str| match print(text) {
        0 => Ok(()),
        status => Err(status),
    };
    if let Err(status) = may_ask(otherwise, true) {
        shown.iter().try_for_each(|text| show(text))?;
        return Err(status);
    }
    let mut answers = Vec::new();
    let mut choice = Choice::No;
    for (at, text) in shown.iter().enumerate() {
        show(text)?;
        if choice != Choice::All {
            choice = ask_about(at + 1, shown.len());
        }
        if choice == Choice::Quit {
            return Err(fail(1, NOTHING_DONE));
        }
        answers.push(choice != Choice::No);
    }
    if answers.contains(&true) {
        return Ok(answers);
    }
    Err(fail(1, NOTHING_DONE))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Yes,
    No,
    All,
    Quit,
}

fn ask_about(number: usize, count: usize) -> Choice {
    let question = format!("Make this change ({number} of {count})? [y/N/a/q/?]");
    loop {
        match answer_to(&question).as_deref() {
            Some("y" | "yes") => return Choice::Yes,
            Some("" | "n" | "no") => return Choice::No,
            Some("a" | "all") => return Choice::All,
            None | Some("q" | "quit") => return Choice::Quit,
            Some(_) => warn(
                "y  make this change\n\
                 n  leave it out (Enter does the same)\n\
                 a  make this change and all that follow\n\
                 q  quit: nothing at all is changed\n\
                 Nothing is written before the last answer.",
            ),
        }
    }
}
