//! The last line of a terminal, which says what is waited for, and for how long.
//!
//! A thread draws the line anew several times a second, on the terminal that all else is written
//! to as well. So that the two never mix, [`LiveOutput`] holds the observers that write: it takes
//! each event first, erases the line, and lets it come back when they are done. The thread draws
//! while it has the lock and something is waited for, and at no other time. Where the model's
//! text has ended within a line of the terminal, nothing is drawn before that line has ended. Text
//! that is shown by whole lines has not: its cursor is at the beginning of one while more of it is
//! waited for.

use super::escape::fitting;
use super::progress::{last_line, what};
use super::terminal::LINE_BYTES;
use super::{Sink, one_line};
use crate::call::{CallState, ToolCall};
use crate::event::{Event, Observer};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The line is drawn anew after this.
const TICK: Duration = Duration::from_millis(100);

/// What takes no longer is not worth a line.
const DELAY: Duration = Duration::from_millis(300);

/// The sign at the beginning, one after the other.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Maximum characters of a thought's subject that are kept.
const SUBJECT_CHARS: usize = 200;

/// How the model's text comes to the terminal that the line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOnTerminal {
    /// The text goes to another place.
    None,
    /// As it comes, in pieces of lines.
    InPieces,
    /// By whole lines, but for one that is too long to be waited for.
    InLines,
}

/// Shows what is waited for, below what other observers write.
pub struct LiveOutput<W: Write + Send + 'static> {
    observers: Vec<Box<dyn Observer>>,
    shared: Arc<Shared<W>>,
    drawing: Option<JoinHandle<()>>,
    text: TextOnTerminal,
    /// Bytes of the model's line that have come.
    line_bytes: usize,
    model: String,
    /// When the model was asked.
    asked: Instant,
    thought: String,
    /// Calls that run: their ids, and what they do.
    running: Vec<(String, String)>,
    waited: Option<Waited>,
}

/// What is waited for.
#[derive(Debug, Clone)]
struct Waited {
    since: Instant,
    what: String,
    /// What was said of it last.
    last: String,
}

struct Shared<W> {
    line: Mutex<Line<W>>,
    changed: Condvar,
}

struct Line<W> {
    sink: Sink<W>,
    columns: fn() -> usize,
    is_styled: bool,
    is_drawn: bool,
    is_over: bool,
    frame: usize,
    waited: Option<Waited>,
}

impl<W: Write + Send + 'static> fmt::Debug for LiveOutput<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOutput")
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}

impl<W: Write + Send + 'static> LiveOutput<W> {
    /// Draws on `out`, a terminal that `columns` gives the width of and that obeys escape
    /// sequences; with `is_styled`, in colours. `text` is how the model's text comes to the same
    /// terminal.
    pub fn new(
        out: W,
        columns: fn() -> usize,
        is_styled: bool,
        text: TextOnTerminal,
        observers: Vec<Box<dyn Observer>>,
    ) -> Self {
        let shared = Arc::new(Shared {
            line: Mutex::new(Line {
                sink: Sink::new(out),
                columns,
                is_styled,
                is_drawn: false,
                is_over: false,
                frame: 0,
                waited: None,
            }),
            changed: Condvar::new(),
        });
        let drawn = Arc::clone(&shared);
        // Without a thread there is no line, and the session is as good.
        let drawing = std::thread::Builder::new().spawn(move || drawn.draw()).ok();
        Self {
            observers,
            shared,
            drawing,
            text,
            line_bytes: 0,
            model: String::new(),
            asked: Instant::now(),
            thought: String::new(),
            running: Vec::new(),
            waited: None,
        }
    }

    /// The model is waited for.
    fn model(&self, last: String) -> Waited {
        Waited {
            since: self.asked,
            what: self.model.clone(),
            last,
        }
    }

    fn follow(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { model, .. } => self.model = one_line(model),
            Event::Request { .. } => {
                self.asked = Instant::now();
                self.thought.clear();
                self.line_bytes = 0;
                self.waited = Some(self.model(String::new()));
            }
            Event::ThoughtPiece(text) => {
                if let Some(subject) = self.subject(text) {
                    self.waited = Some(self.model(subject));
                }
            }
            Event::Text(text) => {
                self.line_bytes = match text.rfind('\n') {
                    Some(end) => text.len() - end - 1,
                    None => self.line_bytes + text.len(),
                };
                let is_within_line = match self.text {
                    TextOnTerminal::None => false,
                    TextOnTerminal::InPieces => self.line_bytes > 0,
                    TextOnTerminal::InLines => self.line_bytes > LINE_BYTES,
                };
                self.waited = (!is_within_line).then(|| self.model(String::new()));
            }
            Event::Retry(_) | Event::Waits { .. } => {
                self.line_bytes = 0;
                self.waited = Some(self.model(String::new()));
            }
            Event::Call(call) => self.call(call),
            Event::Live { text, .. } => {
                if let (Some(waited), Some(line)) = (&mut self.waited, last_line(text)) {
                    waited.last = one_line(line);
                }
            }
            Event::Response { .. } | Event::ApiFailed { .. } | Event::Ended { .. } => {
                self.waited = None;
            }
            _ => {}
        }
    }

    /// The subject of a thought, which is a line in bold type; it may come in pieces.
    fn subject(&mut self, text: &str) -> Option<String> {
        let mut found = None;
        for piece in text.split_inclusive('\n') {
            let room = SUBJECT_CHARS.saturating_sub(self.thought.chars().count());
            self.thought.extend(piece.chars().take(room));
            let line = self.thought.trim();
            let subject = line.strip_prefix("**").and_then(|l| l.strip_suffix("**"));
            if let Some(subject) = subject.filter(|subject| !subject.trim().is_empty()) {
                found = Some(one_line(subject));
            }
            if piece.ends_with('\n') {
                self.thought.clear();
            }
        }
        found
    }

    fn call(&mut self, call: &ToolCall) {
        let id = &call.request.id;
        self.running.retain(|(running, _)| running != id);
        if matches!(call.state(), CallState::Executing) {
            let label = format!("{} {}", one_line(&call.request.name), what(call));
            self.running.push((id.clone(), label.trim_end().to_owned()));
        }
        let more = match self.running.len() {
            0 | 1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        self.waited = self.running.first().map(|(_, label)| Waited {
            since: Instant::now(),
            what: format!("{label}{more}"),
            last: String::new(),
        });
    }
}

impl<W: Write + Send + 'static> Observer for LiveOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        // Output of a call is on this line only.
        if !matches!(event, Event::Live { .. } | Event::ThoughtPiece(_)) {
            self.shared.hold();
        }
        for observer in &mut self.observers {
            observer.take(event);
        }
        self.follow(event);
        self.shared.line().waited.clone_from(&self.waited);
        self.shared.changed.notify_one();
    }
}

impl<W: Write + Send + 'static> Drop for LiveOutput<W> {
    fn drop(&mut self) {
        self.shared.hold();
        self.shared.line().is_over = true;
        self.shared.changed.notify_one();
        if let Some(drawing) = self.drawing.take() {
            // It ends at once, and has nothing to say.
            let _ = drawing.join();
        }
    }
}

impl<W: Write> Shared<W> {
    fn line(&self) -> MutexGuard<'_, Line<W>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the line away, and draws none.
    fn hold(&self) {
        let mut line = self.line();
        line.waited = None;
        if std::mem::take(&mut line.is_drawn) {
            line.sink.write("\r\x1b[2K");
        }
    }

    /// Draws until the end.
    fn draw(&self) {
        let mut line = self.line();
        while !line.is_over {
            line = if line.waited.is_some() {
                line.draw();
                let waiting = self.changed.wait_timeout(line, TICK);
                waiting.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let waiting = self.changed.wait(line);
                waiting.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

impl<W: Write> Line<W> {
    fn draw(&mut self) {
        let Some(waited) = &self.waited else {
            return;
        };
        let elapsed = waited.since.elapsed();
        if elapsed < DELAY {
            return;
        }
        let text = text(waited, elapsed, self.frame, (self.columns)());
        let text = if self.is_styled {
            format!("\r\x1b[2K\x1b[2m{text}\x1b[0m")
        } else {
            format!("\r\x1b[2K{text}")
        };
        self.frame += 1;
        self.is_drawn = true;
        self.sink.write(&text);
    }
}

/// The line; its last column stays free, because some terminals go to the next line after it.
fn text(waited: &Waited, elapsed: Duration, frame: usize, columns: usize) -> String {
    /// Columns that are left for what is said last.
    const LAST_COLUMNS: usize = 24;

    let sign = FRAMES[frame % FRAMES.len()];
    let secs = elapsed.as_secs();
    let time = match secs {
        0..60 => format!("{secs}s"),
        _ => format!("{}m {:02}s", secs / 60, secs % 60),
    };
    let room = columns.saturating_sub(1 + 2 + 1 + time.len());
    let is_cut = waited.last.is_empty();
    let for_last = if is_cut { 0 } else { LAST_COLUMNS };
    let what = fitting(&waited.what, room.saturating_sub(for_last).max(10));
    let head = format!("{sign} {what} {time}");
    if waited.last.is_empty() {
        return head;
    }
    let line = format!("{head}  {}", waited.last);
    fitting(&line, columns.saturating_sub(1)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, LiveOutput, TICK, TextOnTerminal, Waited, text};
    use crate::event::{Event, Observer};
    use crate::output::testing::{STARTED, begun, turn};
    use serde_json::json;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    /// What all that write to a terminal have written.
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Terminal {
        fn shown(&self) -> String {
            String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8")
        }

        fn waits_for(&self, text: &str) {
            let end = Instant::now() + Duration::from_secs(60);
            while !self.shown().contains(text) {
                assert!(Instant::now() < end, "{text:?}: {:?}", self.shown());
                std::thread::sleep(TICK / 10);
            }
        }
    }

    /// Writes a line at each event but those of the line itself.
    struct Writer(Terminal);

    impl Observer for Writer {
        fn take(&mut self, event: &Event<'_>) {
            if !matches!(event, Event::Live { .. } | Event::ThoughtPiece(_)) {
                self.0.write_all(b"event\n").expect("written");
            }
        }
    }

    fn live(terminal: &Terminal, text: TextOnTerminal) -> LiveOutput<Terminal> {
        let writer = Box::new(Writer(terminal.clone()));
        LiveOutput::new(terminal.clone(), || 40, false, text, vec![writer])
    }

    #[test]
    fn the_line_is_gone_before_anything_is_written() {
        let terminal = Terminal::default();
        let mut live = live(&terminal, TextOnTerminal::InPieces);
        live.take(&STARTED);
        live.take(&turn(1));
        terminal.waits_for("gemini-x 0s");
        live.take(&Event::ThoughtPiece("**Looking "));
        live.take(&Event::ThoughtPiece("around**\nI look."));
        terminal.waits_for("0s  Looking around");
        live.take(&Event::Text("One line.\n"));
        terminal.waits_for("gemini-x 1s");
        let call = begun("t", json!({}));
        live.take(&Event::Call(&call));
        let before = terminal.shown();
        drop(live);
        assert_eq!(
            terminal.shown(),
            before,
            "nothing is drawn while a call waits"
        );
        // Each event's line begins where the line was erased, or at a line's start.
        for (at, _) in before.match_indices("event") {
            let head = &before[..at];
            assert!(
                head.is_empty() || head.ends_with('\n') || head.ends_with("\r\x1b[2K"),
                "{before:?}"
            );
        }
        assert!(before.contains("s\r\x1b[2Kevent\n"), "{before:?}");
    }

    #[test]
    fn nothing_is_drawn_within_a_line_of_the_model() {
        let long = "x".repeat(LINE_BYTES + 1);
        for (text, begun, is_within) in [
            (TextOnTerminal::InPieces, "half", true),
            (TextOnTerminal::InLines, "half", false),
            (TextOnTerminal::InLines, &*long, true),
            (TextOnTerminal::None, "half", false),
        ] {
            let terminal = Terminal::default();
            let mut live = live(&terminal, text);
            live.take(&STARTED);
            live.take(&turn(1));
            live.take(&Event::Text(begun));
            if is_within {
                std::thread::sleep(2 * super::DELAY);
                assert!(
                    !terminal.shown().contains("gemini-x"),
                    "{:?}",
                    terminal.shown()
                );
                live.take(&Event::Text(" a line\n"));
            }
            terminal.waits_for("gemini-x");
        }
    }

    #[test]
    fn a_line_is_no_wider_than_the_terminal() {
        let waited = |what: &str, last: &str| Waited {
            since: Instant::now(),
            what: what.to_owned(),
            last: last.to_owned(),
        };
        let long = "x".repeat(100);
        let secs = Duration::from_secs;
        for (waited, elapsed, expected) in [
            (waited("m", ""), secs(4), "⠋ m 4s".to_owned()),
            (
                waited("m", "Looks"),
                secs(65),
                "⠋ m 1m 05s  Looks".to_owned(),
            ),
            (
                waited(&long, ""),
                secs(4),
                format!("⠋ {}… 4s", "x".repeat(33)),
            ),
            (
                waited(&long, &long),
                secs(4),
                format!("⠋ {}… 4s  {}…", "x".repeat(9), "x".repeat(21)),
            ),
        ] {
            let text = text(&waited, elapsed, 0, 40);
            assert_eq!(text, expected);
            assert!(text.chars().count() < 40);
        }
    }
}
