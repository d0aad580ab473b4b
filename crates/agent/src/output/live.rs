//! The last line of a terminal, which names what is waited for, and for how long.
//!
//! A thread draws the line anew several times a second, on the terminal that all else is written
//! to as well. So that the two never mix, [`LiveOutput`] holds the observers that write: it takes
//! each event first, erases the line, and lets it come back when they are done. The thread draws
//! while it has the lock and something is waited for, and at no other time. Within a line of the
//! model's text nothing is drawn.

use super::escape::fitting;
use super::progress::{last_line, what};
use super::{Sink, one_line};
use crate::call::{CallState, ToolCall};
use crate::event::{Event, Observer};
use crate::thought::Thought;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time after which the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Time before the line is drawn: less is not worth one.
const DELAY: Duration = Duration::from_millis(300);

/// The signs at the beginning, one after the other.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Maximum bytes of a thought in which its subject is looked for.
const THOUGHT_BYTES: usize = 1_000;

/// Shows what is waited for, below what other observers write.
pub struct LiveOutput<W: Write + Send + 'static> {
    observers: Vec<Box<dyn Observer>>,
    shared: Arc<Shared<W>>,
    drawing: Option<JoinHandle<()>>,
    /// Set if the model's text goes to the same terminal.
    shows_text: bool,
    model: String,
    /// The time when the model was asked.
    asked: Instant,
    thought: String,
    /// The running calls: their ids, and what they do.
    running: Vec<(String, String)>,
    waited: Option<WaitStatus>,
}

/// A thing that is waited for.
#[derive(Debug, Clone)]
struct WaitStatus {
    since: Instant,
    what: String,
    /// The last news of it.
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
    waited: Option<WaitStatus>,
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
    /// sequences; with `is_styled`, in colours. `shows_text` is set if the model's text comes to the
    /// same terminal.
    pub fn new(
        out: W,
        columns: fn() -> usize,
        is_styled: bool,
        shows_text: bool,
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
            shows_text,
            model: String::new(),
            asked: Instant::now(),
            thought: String::new(),
            running: Vec::new(),
            waited: None,
        }
    }

    /// Waits for the model.
    fn wait_for_model(&mut self, last: String) {
        self.waited = Some(WaitStatus {
            since: self.asked,
            what: self.model.clone(),
            last,
        });
    }

    fn follow(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { model, .. } => self.model = one_line(model),
            Event::Request { .. } => {
                self.asked = Instant::now();
                self.thought.clear();
                self.wait_for_model(String::new());
            }
            Event::ThoughtPiece(text) => {
                if self.thought.len() < THOUGHT_BYTES {
                    self.thought.push_str(text);
                }
                let subject = Thought::parse(&self.thought).subject;
                self.wait_for_model(one_line(&subject));
            }
            Event::Thought(_) => self.thought.clear(),
            Event::Text(text) if self.shows_text && !text.ends_with('\n') => self.waited = None,
            Event::Text(_) | Event::Retry(_) | Event::AttemptFailed { wait: Some(_), .. } => {
                self.wait_for_model(String::new());
            }
            Event::Call(call) => self.follow_call(call),
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

    fn follow_call(&mut self, call: &ToolCall) {
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
        self.waited = self.running.first().map(|(_, label)| WaitStatus {
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

    /// Erases the line, and draws none.
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

/// Returns the line. Its last column stays free, because some terminals go to the next line after it.
fn text(waited: &WaitStatus, elapsed: Duration, frame: usize, columns: usize) -> String {
    /// Columns that are left for the last news.
    const LAST_COLUMNS: usize = 24;

    let sign = FRAMES[frame % FRAMES.len()];
    let secs = elapsed.as_secs();
    let time = match secs {
        0..60 => format!("{secs}s"),
        _ => format!("{}m {:02}s", secs / 60, secs % 60),
    };
    let room = columns.saturating_sub(1 + 2 + 1 + time.len());
    let for_last = if waited.last.is_empty() {
        0
    } else {
        LAST_COLUMNS
    };
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
    use super::{LiveOutput, TICK, WaitStatus, text};
    use crate::event::{Event, Observer};
    use crate::output::tests::{STARTED, begun, turn};
    use serde_json::json;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    /// The bytes that were written to a terminal.
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

    fn live(terminal: &Terminal, shows_text: bool) -> LiveOutput<Terminal> {
        let writer = Box::new(Writer(terminal.clone()));
        LiveOutput::new(terminal.clone(), || 40, false, shows_text, vec![writer])
    }

    #[test]
    fn the_line_is_gone_before_anything_is_written() {
        let terminal = Terminal::default();
        let mut live = live(&terminal, true);
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
        for is_within in [true, false] {
            let terminal = Terminal::default();
            let mut live = live(&terminal, is_within);
            live.take(&STARTED);
            live.take(&turn(1));
            live.take(&Event::Text("half"));
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
        let waited = |what: &str, last: &str| WaitStatus {
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
