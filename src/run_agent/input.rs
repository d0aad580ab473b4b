//! The prompt: from the command line, from standard input, or both.

use crate::run_agent::bad_input;
use crate::run_agent::model::STANDARD_INPUT;
use crate::run_agent::options::RunAgentOptions;
use gemini_tools::agent::event::SessionError;
use gemini_tools::process::{ReadBuffer, wait_for_stdin};
use gemini_tools::tool::Cancellation;
use rustix::io::Errno;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Prompt {
    /// Standard input, if it is not a terminal, followed by the prompt of the command line.
    pub(crate) text: String,
    /// The prompt of the command line alone. Only in this must an `@path` exist: text from a pipe
    /// may contain such words by chance.
    pub(crate) written: String,
}

pub(crate) fn prompt(
    options: &RunAgentOptions,
    cancel: &Cancellation,
) -> Result<Prompt, SessionError> {
    let written = options.written_prompt();
    let script = options.model_script.as_deref();
    if script.is_some_and(is_standard_input) || std::io::stdin().is_terminal() {
        let text = written.clone();
        return Ok(Prompt { text, written });
    }
    let bytes = piped(cancel)?;
    let piped = String::from_utf8_lossy(&bytes);
    let piped = piped.trim_end();
    let text = match (piped.is_empty(), written.is_empty()) {
        (true, _) => written.clone(),
        (false, true) => piped.to_owned(),
        (false, false) => format!("{piped}\n\n{written}"),
    };
    Ok(Prompt { text, written })
}

fn is_standard_input(path: &Path) -> bool {
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let named = std::fs::metadata(path).map(identity).ok();
    let own = rustix::fs::fstat(rustix::stdio::stdin()).ok();
    path == Path::new(STANDARD_INPUT)
        || own.is_some_and(|own| named == Some((own.st_dev, own.st_ino)))
}

/// Reads standard input to its end, or until the session is cancelled: its writer may never finish.
fn piped(cancel: &Cancellation) -> Result<Vec<u8>, SessionError> {
    let stdin = rustix::stdio::stdin();
    let mut bytes = Vec::new();
    let mut buffer = ReadBuffer::new(64 * 1024);
    loop {
        if !wait_for_stdin(|| cancel.interruption().is_some())
            && let Some(why) = cancel.interruption()
        {
            return Err(why.into());
        }
        match buffer.read(stdin) {
            // `nohup` leaves a write-only descriptor: there is nothing to read.
            Ok([]) | Err(Errno::BADF) => return Ok(bytes),
            Ok(piece) => bytes.extend_from_slice(piece),
            Err(Errno::AGAIN) => {}
            Err(e) => return Err(bad_input(format!("Standard input can't be read: {e}."))),
        }
        if bytes.len() > MAX_BYTES {
            return Err(bad_input(format!(
                "Standard input has more than {MAX_BYTES} bytes. Put it into a file and name that \
                 in the prompt as @FILE."
            )));
        }
    }
}
