//! Takes in output of any length and keeps a bounded part of it: the beginning and the end as text,
//! and all of it in a file.
//!
//! # How it works
//!
//! [`Capture::push`] gives each piece of output to three recipients:
//!
//! - `sniffed` keeps the first `SNIFF_BYTES`, by which `finish` tells text from binary data. Binary
//!   data is named, not shown.
//! - `WholeOutput` keeps all bytes, in memory up to `IN_MEMORY_BYTES`, then in a file. The file is
//!   made only when it is needed, because most commands print little. [`Capture::finish`] keeps it
//!   only if the answer lacks some of the output; else it is removed.
//! - The decoder makes text of the bytes, whatever their encoding, and the terminal emulator turns
//!   that into what a terminal would show. The result goes into `plain`, for the model, and into
//!   `live`, for a user who watches; `coloured` gets the text as it was printed, with its escape
//!   sequences.
//!
//! `plain`, `coloured` and `live` are `Ends`: a beginning and an end, each with room for the whole
//! limit, because the final cut is known only at the end of the output. A fifth of the limit goes
//! to the beginning and the rest to the end, since a command reports its result last. Cuts fall on
//! the ends of lines where that does not cost much, and a marker says how many characters and lines
//! are missing.
//!
//! For a model, `whole` keeps all that a terminal would show, up to `MAX_CONDENSED_BYTES` of output.
//! What [`super::condense`] makes of it at the end takes the place of `plain` in the answer if it is
//! much shorter and the file holds the whole output.
//!
//! Memory is bounded by the limit and by these two sizes, however long the output is and however it
//! is cut into pieces. The size of the file is bounded by [`super::log::Log`]. The caller reads
//! the pipe, and decides when the command is over.

mod ends;

use super::command::OutputSink;
use super::condense::{by_path, condense, own_frames};
use super::decode::OutputDecoder;
use super::log::Log;
use super::terminal::TerminalEmulator;
use ends::Ends;
use infer::MatcherType;
use infer::archive::{is_cpio, is_tar};
use std::io;
use std::path::PathBuf;

const SNIFF_BYTES: usize = 8 * 1024;

const IN_MEMORY_BYTES: usize = 256 * 1024;

/// Maximum size of output that is condensed, in bytes. The logs of daily work are shorter, and
/// condensing takes about ten times as long as capturing.
const MAX_CONDENSED_BYTES: u64 = 4 * 1024 * 1024;

const LIVE_CHARS: usize = 8_000;

type NewFile<'a> = Box<dyn FnMut() -> Option<PathBuf> + Send + 'a>;

/// Captures a command's output: shows beginning and end, and if need be keeps all of it in a file.
pub struct Capture<'a> {
    decoder: OutputDecoder,
    shown: OutputTexts,
    sniffed: Vec<u8>,
    whole: WholeOutput<'a>,
    limit: usize,
    /// Set once the output is known to be binary. From then on it is not decoded, which takes far
    /// longer than storing it, and nobody would see the text.
    is_binary: bool,
}

impl std::fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("bytes", &self.whole.bytes)
            .finish_non_exhaustive()
    }
}

/// What is kept of a finished command's output.
#[derive(Debug)]
pub struct CapturedOutput {
    /// The text for the model: at most `limit` characters of output, with a marker where some are
    /// missing, and notes on what was left out.
    pub text: String,
    /// The text with its escape sequences, for a terminal; `None` if not wanted or for binary data.
    pub coloured: Option<String>,
    /// Total size of the output, in bytes.
    pub bytes: u64,
    /// The file with the whole output, or its first 256 MiB, if `text` lacks some of it.
    pub file: Option<PathBuf>,
}

impl<'a> Capture<'a> {
    /// Creates a capture that shows at most `limit` characters, with [`CapturedOutput::coloured`]
    /// and with live output if those are wanted. `new_file` returns the path of the file to make if
    /// the whole output has to be kept.
    pub fn new(
        limit: usize,
        coloured: bool,
        live: bool,
        new_file: impl FnMut() -> Option<PathBuf> + Send + 'a,
    ) -> Self {
        Self {
            decoder: OutputDecoder::default(),
            shown: OutputTexts::new(limit, coloured, live, false),
            sniffed: Vec::new(),
            whole: WholeOutput {
                new_file: Box::new(new_file),
                memory: Vec::new(),
                log: None,
                path: None,
                bytes: 0,
                is_lost: false,
            },
            limit,
            is_binary: false,
        }
    }

    /// Also condenses the text, if `is_wanted`. It must be called before any output comes. The
    /// condensed text is used only if a file holds the whole output.
    #[must_use]
    pub fn condensed(mut self, is_wanted: bool) -> Self {
        self.shown.whole = is_wanted.then(String::new);
        self
    }

    /// Moves all output so far into a file at `path`, to which another process appends from now on.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn write_whole(&mut self, path: &std::path::Path) -> io::Result<()> {
        let whole = &mut self.whole;
        if let Some(kept) = whole.path.take() {
            std::fs::rename(kept, path)?;
        } else {
            let mut log = Log::create(path)?;
            log.append(&whole.memory)?;
            if whole.is_lost {
                log.append(b"\n[Output is missing here: it could not be stored.]\n")?;
            }
        }
        whole.log = None;
        whole.path = Some(path.to_owned());
        Ok(())
    }

    /// Ends the capture and returns what was kept.
    pub fn finish(mut self) -> CapturedOutput {
        let mut shown = self.shown;
        self.decoder.finish(|text| shown.push(text));
        // If all output is in memory, it can be decoded again with the encoding known by now.
        if let Some(mut decoder) = self.decoder.better().filter(|_| self.whole.is_in_memory()) {
            let (coloured, is_for_model) = (shown.coloured.is_some(), shown.whole.is_some());
            shown = OutputTexts::new(self.limit, coloured, false, is_for_model);
            decoder.push(&self.whole.memory, |text| shown.push(text));
            decoder.finish(|text| shown.push(text));
        }
        shown.finish();
        let bytes = self.whole.bytes;
        if self.is_binary || is_binary(&self.sniffed) || shown.is_odd(bytes) {
            let kind = format_of(&self.sniffed);
            let (file, place) = self.whole.keep();
            return CapturedOutput {
                text: format!("[Binary output of {kind}, {bytes} bytes, is not shown.{place}]"),
                coloured: None,
                bytes,
                file,
            };
        }
        let is_cut = shown.plain.chars > self.limit;
        let is_for_model = shown.whole.is_some();
        let short = shown.whole.and_then(|text| condense(&text, 1));
        let (mut file, mut place) = (None, String::new());
        let has_frames = is_for_model && self.whole.has_frames();
        if is_cut || short.is_some() || has_frames {
            (file, place) = self.whole.keep();
        }
        let short = short.filter(|_| file.is_some() && !self.whole.is_lost);
        if !is_cut && short.is_none() && !has_frames {
            self.whole.forget();
            file = None;
        }
        let (ends, note) = match short {
            Some((text, count)) => {
                let mut ends = Ends::new(self.limit);
                ends.push(&text);
                let numbers = if shown.terminal.has_own_lines {
                    "The numbers count lines as a terminal shows them, not those of the file."
                } else {
                    "Line 1 is at offset 0."
                };
                let what = format!("{count} lines are left out.{place} {numbers}");
                (ends, format!("\n[Condensed: {what}]"))
            }
            None => (shown.plain, String::new()),
        };
        let decoded = self.decoder.decoded_from();
        let decoded = decoded.map(|name| format!("\n[Decoded from {name}.]"));
        let text =
            ends.cut(|missing| format!("[Truncated: {missing} are left out here.{place}]\n"));
        let coloured = shown
            .coloured
            .map(|ends| ends.cut(|missing| format!("[{missing} are left out here.{place}]\n")));
        // Gemini CLI takes off all blanks at both ends. Those before the first of several lines are
        // kept here: they are a column, as in `git status --short`, or the indentation of code.
        let mut text = text.trim_matches('\n');
        if is_for_model {
            text = text.trim_end();
            if !text.contains('\n') {
                text = text.trim_start();
            }
        }
        let whole = has_frames && file.is_some() && !self.whole.is_lost;
        let text = if is_for_model {
            in_short(text, whole.then_some(&*place))
        } else {
            text.to_owned()
        };
        CapturedOutput {
            text: text + &decoded.unwrap_or_default() + &note,
            coloured,
            bytes,
            file,
        }
    }
}

impl OutputSink for Capture<'_> {
    fn push(&mut self, bytes: &[u8]) {
        let room = SNIFF_BYTES
            .saturating_sub(self.sniffed.len())
            .min(bytes.len());
        self.sniffed.extend_from_slice(&bytes[..room]);
        self.whole.push(bytes);
        if self.whole.bytes > MAX_CONDENSED_BYTES {
            self.shown.whole = None;
        }
        let total = self.whole.bytes;
        let has_sniffed = room > 0 && self.sniffed.len() == SNIFF_BYTES;
        self.is_binary |= has_sniffed && is_binary(&self.sniffed)
            || total > IN_MEMORY_BYTES as u64 && self.shown.is_odd(total);
        if !self.is_binary {
            self.decoder.push(bytes, |text| self.shown.push(text));
        }
    }

    fn bytes(&self) -> u64 {
        self.whole.bytes
    }

    fn take_live(&mut self) -> Option<String> {
        let live = self.shown.live.as_mut()?;
        if self.is_binary || is_binary(&self.sniffed) {
            return None;
        }
        let text = std::mem::replace(live, Ends::new(LIVE_CHARS))
            .cut(|missing| format!("[… {missing} left out …]\n"));
        (!text.is_empty()).then_some(text)
    }
}

/// Returns true if output that begins with `start` is binary: if it has a zero byte, and also a
/// control character, invalid UTF-8 or the signature of a tar or cpio archive; or a control
/// character and the signature of a known format; or the signature of a PDF and invalid UTF-8. Zero
/// bytes alone prove nothing, since `find -print0` separates names by them, and neither does a
/// signature alone, since text can start with `BM` or `MZ`.
fn is_binary(start: &[u8]) -> bool {
    let is_odd = |b: &u8| matches!(b, 1..=6 | 0xe..=0x1a | 0x1c..=0x1f);
    let is_utf8 = || std::str::from_utf8(start).map_or_else(|e| e.error_len().is_none(), |_| true);
    let is_known = || {
        infer::get(start).is_some_and(|kind| {
            !matches!(kind.matcher_type(), MatcherType::Text | MatcherType::Custom)
                && kind.mime_type() != "text/x-shellscript"
        })
    };
    let is_archive = || is_tar(start) || is_cpio(start);
    let (has_zero, has_odd) = (start.contains(&0), start.iter().any(is_odd));
    (has_zero && (has_odd || !is_utf8() || is_archive()))
        || (has_odd && is_known())
        || (start.starts_with(b"%PDF-") && !is_utf8())
}

fn format_of(start: &[u8]) -> &'static str {
    // A tar archive begins with the name of its first file, which may look like another signature.
    if is_tar(start) {
        return "application/x-tar";
    }
    infer::get(start).map_or("unknown type", |kind| kind.mime_type())
}

struct OutputTexts {
    terminal: TerminalEmulator,
    plain: Ends,
    coloured: Option<Ends>,
    /// All of the text, to be condensed for a model.
    whole: Option<String>,
    live: Option<Ends>,
}

impl OutputTexts {
    fn new(limit: usize, coloured: bool, live: bool, is_for_model: bool) -> Self {
        Self {
            terminal: TerminalEmulator::default(),
            plain: Ends::new(limit),
            coloured: coloured.then(|| Ends::new(limit)),
            whole: is_for_model.then(String::new),
            live: live.then(|| Ends::new(LIVE_CHARS)),
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(coloured) = &mut self.coloured {
            coloured.push(text);
        }
        let (plain, whole, live) = (&mut self.plain, &mut self.whole, &mut self.live);
        self.terminal.push(text, &mut |text| {
            plain.push(text);
            if let Some(whole) = whole {
                whole.push_str(text);
            }
            if let Some(live) = live {
                live.push(text);
            }
        });
    }

    /// Returns true if so many of the bytes are control characters that nobody could read the text.
    fn is_odd(&self, bytes: u64) -> bool {
        let odd = self.terminal.odd;
        odd > 8 && odd * 50 > bytes
    }

    fn finish(&mut self) {
        let (plain, whole) = (&mut self.plain, &mut self.whole);
        self.terminal.finish_line(&mut |text| {
            plain.push(text);
            if let Some(whole) = whole {
                whole.push_str(text);
            }
        });
    }
}

/// Returns a shorter text for a model: a path that several lines begin with stands once, and stack
/// frames in libraries are left out if the whole output is in a file. `place` is the sentence that
/// names that file; `None` if there is none.
fn in_short(text: &str, place: Option<&str>) -> String {
    let framed = place.and_then(|place| {
        let short = own_frames(text)?;
        let short = short.trim_end_matches('\n');
        Some(format!("{short}\n[Frames left out.{place}]"))
    });
    let text = framed.as_deref().unwrap_or(text);
    by_path(text).map_or_else(
        || text.to_owned(),
        |grouped| grouped + "\n[What begins with the same path stands below or behind it.]",
    )
}

struct WholeOutput<'a> {
    new_file: NewFile<'a>,
    memory: Vec<u8>,
    log: Option<Log>,
    path: Option<PathBuf>,
    bytes: u64,
    is_lost: bool,
}

impl WholeOutput<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.log.is_none() && !self.is_lost {
            if self.memory.len() + bytes.len() <= IN_MEMORY_BYTES {
                self.memory.extend_from_slice(bytes);
                return;
            }
            self.spill();
        }
        if let Some(log) = &mut self.log {
            self.is_lost |= log.append(bytes).is_err();
        }
    }

    fn is_in_memory(&self) -> bool {
        self.bytes == self.memory.len() as u64
    }

    fn spill(&mut self) {
        let made = (self.new_file)().and_then(|path| {
            let mut log = Log::create(&path).ok()?;
            log.append(&self.memory).ok()?;
            Some((path, log))
        });
        match made {
            Some((path, log)) => {
                self.path = Some(path);
                self.log = Some(log);
                self.memory = Vec::new();
            }
            // The beginning of the output stays in memory, so that `write_whole` can store it.
            None => self.is_lost = true,
        }
    }

    /// Returns true if the output is in memory and so many of its stack frames are in libraries
    /// that they can be left out.
    fn has_frames(&self) -> bool {
        self.is_in_memory() && own_frames(&String::from_utf8_lossy(&self.memory)).is_some()
    }

    fn keep(&mut self) -> (Option<PathBuf>, String) {
        if self.path.is_none() && !self.is_lost {
            self.spill();
        }
        let place = self.path.as_ref().map_or_else(String::new, |path| {
            let what = if self.is_lost {
                "beginning of it"
            } else {
                "whole output"
            };
            let path = path.display();
            format!(" The {what} is in {path}; read it with read_file.")
        });
        (self.path.clone(), place)
    }

    /// Removes the file, since the answer has all of the output. A file of [`Capture::write_whole`]
    /// belongs to another process and stays.
    fn forget(&mut self) {
        if let (Some(_), Some(path)) = (self.log.take(), self.path.take()) {
            // If this fails, a later call removes the file together with other old ones.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
