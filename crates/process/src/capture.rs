//! Taking in output without limit and keeping what matters of it within bounds: the beginning and
//! the end as text, and all of it in a file.
//!
//! # How it works
//!
//! [`Capture::push`] gives each piece of output to three recipients:
//!
//! - `sniffed` keeps the first `SNIFF_BYTES`, by which `finish` tells text from binary data. Binary
//!   data is named, not shown.
//! - `WholeOutput` keeps all bytes, in memory up to `IN_MEMORY_BYTES`, then in a file. The file is made
//!   only when it is needed, because most commands print little. [`Capture::finish`] keeps it only
//!   if the text is cut or binary; else it is removed.
//! - The decoder makes text of the bytes and the terminal emulator makes of that what a terminal
//!   would show. The result goes into `plain`, for the model, and into `live`, for a user who
//!   watches; `coloured` gets the text as it was printed, with its escape sequences.
//!
//! `plain`, `coloured` and `live` are `Ends`: a beginning and an end, each with room for the whole
//! limit, because the final cut is known only at the end of the output. A fifth of the limit goes
//! to the beginning and the rest to the end, since a command says last what matters. Cuts fall on
//! the ends of lines where that does not cost much, and a marker says how many characters and lines
//! are missing.
//!
//! Memory is bounded by the limit and by `IN_MEMORY_BYTES`, however much comes and however it is
//! cut into pieces. The size of the file is bounded by [`super::log::Log`]. Reading the pipe, and
//! deciding when the command is over, is left to the caller.

use super::command::OutputSink;
use super::log::Log;
use super::terminal::{TerminalEmulator, Utf8Decoder};
use gemini_tools_core::text::count_newlines;
use infer::MatcherType;
use infer::archive::{is_cpio, is_tar};
use std::io;
use std::path::PathBuf;

/// Maximum output that is looked at to tell text from binary data, in bytes.
const SNIFF_BYTES: usize = 8 * 1024;

/// Maximum output kept in memory before a file is made, in bytes.
const IN_MEMORY_BYTES: usize = 256 * 1024;

/// The share of the text that is kept of its beginning, in fifths: what a command says last
/// tells more.
const HEAD_FIFTHS: usize = 1;

/// Maximum characters of live output at once.
const LIVE_CHARS: usize = 8_000;

/// A name for a file of the whole output.
type NewFile<'a> = Box<dyn FnMut() -> Option<PathBuf> + Send + 'a>;

/// Output as it comes in.
pub struct Capture<'a> {
    decoder: Utf8Decoder,
    shown: OutputTexts,
    sniffed: Vec<u8>,
    whole: WholeOutput<'a>,
    limit: usize,
}

impl std::fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("bytes", &self.whole.bytes)
            .finish_non_exhaustive()
    }
}

/// The output as it is kept in the end.
#[derive(Debug)]
pub struct CapturedOutput {
    /// The text for the model: at most as long as the limit, with a marker where something is missing.
    pub text: String,
    /// The text as it was printed, for a terminal.
    pub coloured: Option<String>,
    /// The number of bytes that came in all.
    pub bytes: u64,
    /// The file that holds all of it, where `text` does not.
    pub file: Option<PathBuf>,
}

impl<'a> Capture<'a> {
    /// Keeps at most `limit` characters. `new_file` names a file to be made for the whole.
    pub fn new(
        limit: usize,
        coloured: bool,
        live: bool,
        new_file: impl FnMut() -> Option<PathBuf> + Send + 'a,
    ) -> Self {
        Self {
            decoder: Utf8Decoder::default(),
            shown: OutputTexts {
                terminal: TerminalEmulator::default(),
                plain: Ends::new(limit),
                coloured: coloured.then(|| Ends::new(limit)),
                live: live.then(|| Ends::new(LIVE_CHARS)),
            },
            sniffed: Vec::new(),
            whole: WholeOutput {
                new_file: Box::new(new_file),
                memory: Vec::new(),
                log: None,
                path: None,
                bytes: 0,
                is_lost: false,
                is_given_away: false,
            },
            limit,
        }
    }

    /// Puts all output so far into a file of this name, which others go on with.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn write_whole(&mut self, path: &std::path::Path) -> io::Result<()> {
        let whole = &mut self.whole;
        match whole.path.take() {
            Some(kept) => std::fs::rename(kept, path)?,
            None => Log::create(path)?.append(&whole.memory)?,
        }
        whole.log = None;
        whole.path = Some(path.to_owned());
        whole.is_given_away = true;
        Ok(())
    }

    /// Ends the output.
    pub fn finish(mut self) -> CapturedOutput {
        let mut shown = self.shown;
        self.decoder.finish(|text| shown.push(text));
        shown
            .terminal
            .finish_line(&mut |text| shown.plain.push(text));
        let bytes = self.whole.bytes;
        let is_binary =
            is_binary(&self.sniffed) || (shown.terminal.odd > 8 && shown.terminal.odd * 50 > bytes);
        if is_binary {
            let kind = format_of(&self.sniffed);
            let (file, place) = self.whole.keep();
            return CapturedOutput {
                text: format!("[Binary output of {kind}, {bytes} bytes, is not shown.{place}]"),
                coloured: None,
                bytes,
                file,
            };
        }
        let (file, place) = if shown.plain.chars > self.limit {
            self.whole.keep()
        } else {
            self.whole.forget();
            (None, String::new())
        };
        let text = shown.plain.cut(self.limit, |missing| {
            format!("[Truncated: {missing} are left out here.{place}]\n")
        });
        let coloured = shown.coloured.map(|ends| {
            ends.cut(self.limit, |missing| {
                format!("[{missing} are left out here.{place}]\n")
            })
        });
        CapturedOutput {
            text: text.trim_matches(['\n', ' ', '\t']).to_owned(),
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
        self.decoder.push(bytes, |text| self.shown.push(text));
    }

    fn bytes(&self) -> u64 {
        self.whole.bytes
    }

    fn take_live(&mut self) -> Option<String> {
        let live = self.shown.live.as_mut()?;
        if is_binary(&self.sniffed) {
            return None;
        }
        let text = std::mem::replace(live, Ends::new(LIVE_CHARS))
            .cut(LIVE_CHARS, |missing| format!("[… {missing} left out …]\n"));
        (!text.is_empty()).then_some(text)
    }
}

/// Returns true if output is binary: it has zero bytes together with control characters or invalid UTF-8, or
/// control characters together with a known signature. Zero bytes alone separate file names, except
/// in an archive of text files. A signature alone proves nothing, since text can start with `BM` or
/// `MZ`; only a PDF can be without control characters.
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

/// Returns the MIME type of binary output. An archive is looked for first: it begins with the name of a file,
/// which may be like another signature.
fn format_of(start: &[u8]) -> &'static str {
    if is_tar(start) {
        return "application/x-tar";
    }
    infer::get(start).map_or("unknown type", |kind| kind.mime_type())
}

/// The text of the output, for each reader.
struct OutputTexts {
    terminal: TerminalEmulator,
    plain: Ends,
    /// The text as printed, with escape sequences, where it will be shown on a terminal.
    coloured: Option<Ends>,
    /// Text that has not been shown live yet.
    live: Option<Ends>,
}

impl OutputTexts {
    fn push(&mut self, text: &str) {
        if let Some(coloured) = &mut self.coloured {
            coloured.push(text);
        }
        let (plain, live) = (&mut self.plain, &mut self.live);
        self.terminal.push(text, &mut |text| {
            plain.push(text);
            if let Some(live) = live {
                live.push(text);
            }
        });
    }
}

/// Everything that came, in memory first and then in a file.
struct WholeOutput<'a> {
    new_file: NewFile<'a>,
    memory: Vec<u8>,
    log: Option<Log>,
    path: Option<PathBuf>,
    bytes: u64,
    /// True if some of it could not be kept.
    is_lost: bool,
    /// True if the file has another owner now.
    is_given_away: bool,
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
            }
            None => self.is_lost = true,
        }
        self.memory = Vec::new();
    }

    /// Returns the file, if it could be made, and a sentence that names it.
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

    /// Removes the file: its content is all in the answer.
    fn forget(&mut self) {
        self.log = None;
        if let Some(path) = self.path.take()
            && !self.is_given_away
        {
            // Best effort: old files are removed some time.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The beginning and the end of a text, with the length of what lies between.
#[derive(Default)]
struct Ends {
    /// The number of characters that each side must be able to give.
    limit: usize,
    head: String,
    /// Grows to twice its size before its beginning is thrown away.
    tail: String,
    /// Counts of the whole text.
    chars: usize,
    lines: u64,
}

impl Ends {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    fn push(&mut self, text: &str) {
        self.chars += text.chars().count();
        self.lines += count_newlines(text.as_bytes());
        let mut rest = text;
        // Any character may take four bytes.
        let room = (self.limit * 4).saturating_sub(self.head.len());
        if room > 0 && self.tail.is_empty() {
            let at = boundary(rest, room.min(rest.len()));
            self.head.push_str(&rest[..at]);
            rest = &rest[at..];
        }
        let keep = self.limit * 4;
        if rest.len() > keep {
            rest = &rest[boundary(rest, rest.len() - keep)..];
            self.tail.clear();
        }
        if self.tail.len() + rest.len() > keep * 2 {
            let from = boundary(&self.tail, self.tail.len() - keep.min(self.tail.len()));
            self.tail.drain(..from);
        }
        self.tail.push_str(rest);
    }

    /// Returns at most `limit` characters, and a marker if something is missing.
    fn cut(self, limit: usize, marker: impl FnOnce(String) -> String) -> String {
        if self.chars <= limit {
            return self.head + &self.tail;
        }
        let for_head = limit / 5 * HEAD_FIFTHS;
        let nth =
            |text: &str, n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let head_end = nth(&self.head, for_head);
        // Whole lines, unless a line takes most of the room.
        let head_end = match self.head[..head_end].rfind('\n') {
            Some(at) if at >= head_end / 2 => at + 1,
            _ => head_end,
        };
        let for_tail = limit - for_head;
        // A short end begins in what is kept of the beginning, which then borders on it.
        let end = if self.tail.chars().count() < for_tail {
            self.head.clone() + &self.tail
        } else {
            self.tail
        };
        let skip = end.chars().count().saturating_sub(for_tail);
        let from = nth(&end, skip);
        let end = &end[from..];
        let end = match end.find('\n') {
            Some(at) if at < end.len() / 2 => &end[at + 1..],
            _ => end,
        };
        let head = &self.head[..head_end];
        let chars = self.chars - head.chars().count() - end.chars().count();
        let line_feeds = |text: &str| count_newlines(text.as_bytes());
        let lines = self
            .lines
            .saturating_sub(line_feeds(head) + line_feeds(end));
        let missing = if lines == 0 {
            format!("{chars} characters")
        } else {
            format!("{chars} characters in {lines} lines")
        };
        let gap = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{head}{gap}{}{end}", marker(missing))
    }
}

/// Returns the last boundary of a character at or before `at`, which is no more than the length.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Capture;
    use crate::command::OutputSink;

    fn captured(limit: usize, pieces: &[&[u8]]) -> super::CapturedOutput {
        let mut capture = Capture::new(limit, true, false, || None);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends() {
        assert_eq!(captured(100, &[b"\n\n  padded  \n\n"]).text, "padded");
        let lines = (1..=5000).fold(String::new(), |all, i| all + &format!("línea {i}\n"));
        for pieces in [1, 7, 1000, 100_000] {
            let cut: Vec<&[u8]> = lines.as_bytes().chunks(pieces).collect();
            let text = captured(1000, &cut).text;
            assert!(
                text.starts_with("línea 1\n") && text.ends_with("línea 5000"),
                "{text}"
            );
            assert!(
                text.contains("[Truncated: ") && text.chars().count() < 1100,
                "{text}"
            );
            let shown = text.lines().filter(|l| l.starts_with("línea")).count();
            assert!(
                text.contains(&format!(" in {} lines are left out", 5000 - shown)),
                "{text}"
            );
            assert!(!text.contains('\u{fffd}'));
        }
    }

    #[test]
    fn one_endless_line_is_cut_as_well() {
        let text = captured(1000, &["👍".repeat(1_000_000).as_bytes()]).text;
        assert!(text.chars().count() < 1100, "{}", text.chars().count());
        assert!(text.contains("999000 characters are left out"), "{text}");
    }

    #[test]
    fn binary_data_is_named_instead_of_printed() {
        assert!(
            captured(100, &[b"ab\0\x01\x02cd"])
                .text
                .contains("7 bytes, is not shown")
        );
        let png = captured(100, &[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"]);
        assert!(png.text.contains("image/png"), "{}", png.text);
        assert_eq!(
            captured(100, &[b"a b\0c d\0"]).text,
            "a b\u{2400}c d\u{2400}"
        );
        let tar = captured(1000, &[b"BM25.txt", &[0; 249], b"ustar\x0000", &[0; 248]]);
        assert!(tar.text.contains("application/x-tar"), "{}", tar.text);
        let cpio = captured(1000, &[b"070701", &[b'0'; 104], b"name.txt\0\0text"]);
        assert!(cpio.text.contains("application/x-cpio"), "{}", cpio.text);
        let pdf = captured(1000, &[b"%PDF-1.4\n%\x93\x8c\x8b\x9e ReportLab\n"]);
        assert!(pdf.text.contains("application/pdf"), "{}", pdf.text);
        let noise: Vec<u8> = (0..100_000_u32).map(|i| (i * 7919 % 251) as u8).collect();
        let late = captured(1_000_000, &[b"text first\n", &[b'x'; 9000], &noise]);
        assert!(
            late.text.starts_with("[Binary output"),
            "{}",
            &late.text[..80]
        );
    }

    #[test]
    fn text_that_begins_like_a_binary_format_is_text() {
        for text in [
            "BMW",
            "MZ",
            "ID3 tags",
            "GIF89a is a format",
            "BZh",
            "CWS report",
            "!<arch>",
            "%PDF-1.4",
            "src/pdf.rs:8: const MAGIC: &[u8] = b\"%PDF\";",
            "{\\rtf1 text}",
        ] {
            assert_eq!(captured(100, &[text.as_bytes()]).text, text);
        }
        assert_eq!(captured(100, &[b"BM\0BZh\0"]).text, "BM\u{2400}BZh\u{2400}");
    }

    #[test]
    fn colours_are_kept_for_a_terminal_only() {
        let both = captured(100, &[b"\x1b[31mred\x1b[0m\n"]);
        assert_eq!(both.text, "red");
        assert_eq!(both.coloured.as_deref(), Some("\x1b[31mred\x1b[0m\n"));
    }
}
