//! Turns the body of a response into text or media.

use super::fetch::Page;
use super::html;
use encoding_rs::Encoding;
use gemini_tools_core::tool::{Cancellation, TICK};
use gemini_tools_workspace::text::{declared, detect};
use infer::MatcherType;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

const MAX_TIME: Duration = Duration::from_secs(20);

/// The HTML parsers recurse into nested elements, and would overflow a thread's default stack.
const STACK_BYTES: usize = 64 * 1024 * 1024;

pub(super) const PDF: &str = "application/pdf";

/// A page with at least this much HTML but less text than [`SHELL_TEXT_CHARS`] is taken for a page
/// that a script fills in the browser. A note then tells the model, which would otherwise believe
/// that the page says nothing.
const SHELL_PAGE_BYTES: usize = 2_000;

const SHELL_TEXT_CHARS: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebContent {
    Text(PageText),
    Media { media_type: String, bytes: Vec<u8> },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageText {
    pub(super) title: Option<String>,
    pub(super) body: String,
    pub(super) notes: Vec<String>,
}

pub(super) fn read(page: &Page, cancel: &Cancellation) -> Result<WebContent, String> {
    let media_type = effective_type(page);
    let mut content = match &*media_type {
        "text/html" | "application/xhtml+xml" => {
            let text = decoded(page);
            html_text(&text, page, cancel)?
        }
        "image/svg+xml" => plain(page),
        PDF => return media(page, media_type, "PDF document"),
        image if image.starts_with("image/") => return media(page, media_type, "image"),
        _ if is_text(&media_type, &page.bytes) => plain(page),
        _ => {
            let size = page.bytes.len();
            return Err(format!(
                "the content is {media_type} ({size} bytes), which is not text"
            ));
        }
    };
    if content.body.trim().is_empty() && content.notes.is_empty() {
        content.notes.push("The page has no text.".to_owned());
    }
    if let Some(why) = &page.cut {
        content
            .notes
            .insert(0, format!("The page is not whole: {why}."));
    }
    Ok(WebContent::Text(content))
}

fn media(page: &Page, media_type: String, what: &str) -> Result<WebContent, String> {
    if page.cut.is_some() {
        return Err(format!("the {what} is too large ({media_type})"));
    }
    // PDF readers accept the signature `%PDF-` anywhere in the first 1,024 bytes.
    let start = &page.bytes[..page.bytes.len().min(1024)];
    if media_type == PDF && memchr::memmem::find(start, b"%PDF-").is_none() {
        return Err("the content is called a PDF document, but is not one".to_owned());
    }
    Ok(WebContent::Media {
        media_type,
        bytes: page.bytes.clone(),
    })
}

fn effective_type(page: &Page) -> String {
    let named = page.media_type.as_str();
    if !matches!(
        named,
        "" | "application/octet-stream" | "binary/octet-stream"
    ) {
        return named.to_owned();
    }
    let start = String::from_utf8_lossy(&page.bytes[..page.bytes.len().min(512)]).to_lowercase();
    let start = start.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    let looks_like_text = detect(&page.bytes, true).is_some();
    // Text can start like an image (`BM`), and a page about PDFs can contain `%PDF`.
    let is_credible = |kind: &infer::Type| {
        !looks_like_text || kind.matcher_type() == MatcherType::Text || start.starts_with("%pdf-")
    };
    if let Some(kind) = infer::get(&page.bytes).filter(is_credible) {
        return kind.mime_type().to_owned();
    }
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        "text/html".to_owned()
    } else if page.charset.is_some() || looks_like_text {
        "text/plain".to_owned()
    } else {
        "application/octet-stream".to_owned()
    }
}

fn is_text(media_type: &str, bytes: &[u8]) -> bool {
    let ends = ["json", "xml", "yaml"];
    media_type.starts_with("text/")
        || ends.iter().any(|end| media_type.ends_with(end))
        || detect(bytes, true).is_some()
}

fn plain(page: &Page) -> PageText {
    PageText {
        body: decoded(page),
        ..PageText::default()
    }
}

/// Decodes a text. The encoding is that of a byte-order mark, the server's, or one that the bytes
/// tell.
fn decoded(page: &Page) -> String {
    let bytes = &page.bytes;
    let named = page
        .charset
        .as_deref()
        .and_then(|name| Encoding::for_label(name.as_bytes()))
        // Text in ISO-2022-JP is also valid UTF-8, since it consists of ASCII bytes with escape
        // sequences. Only the page's declaration tells.
        .or_else(|| {
            declared(bytes).filter(|own| *own == encoding_rs::ISO_2022_JP && bytes.contains(&0x1b))
        });
    let named = named.filter(|_| Encoding::for_bom(bytes).is_none());
    let text = match (named, detect(bytes, page.cut.is_none())) {
        (Some(named), _) => named.decode_without_bom_handling(bytes).0,
        (None, Some(detected)) => detected.decode(bytes),
        (None, None) => String::from_utf8_lossy(bytes),
    };
    // The size limit may have cut the last character in half.
    match page.cut {
        Some(_) => text.trim_end_matches('\u{fffd}').to_owned(),
        None => text.into_owned(),
    }
}

fn html_text(source: &str, page: &Page, cancel: &Cancellation) -> Result<PageText, String> {
    let taken_apart = if html::is_too_deep(source) || html::is_too_large(source) {
        None
    } else {
        let (source, url) = (source.to_owned(), page.url.clone());
        take_apart(move || html::to_markdown(&source, &url), cancel)?
    };
    // A page that can't be parsed still has its text.
    let mut text = taken_apart.unwrap_or_else(|| PageText {
        title: None,
        body: html::bare_text(source),
        notes: vec!["The page is too odd to be taken apart: this is its bare text.".to_owned()],
    });
    let is_empty = text.body.trim().is_empty();
    let is_shell = source.len() >= SHELL_PAGE_BYTES && text.body.chars().count() < SHELL_TEXT_CHARS;
    let has_script = memchr::memmem::find(source.to_ascii_lowercase().as_bytes(), b"<script");
    if (is_empty || is_shell) && has_script.is_some() {
        let own = if is_empty { "no" } else { "almost no" };
        text.notes.push(format!(
            "The page has {own} text of its own: it needs scripts to run, which is not done here. \
             Look for an API or a plain page with the same content."
        ));
    }
    Ok(text)
}

/// The right to run a parser. Only one runs at a time, because each needs much memory; one that was
/// abandoned keeps the right until it ends.
struct Turn;

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

impl Turn {
    fn take(deadline: Instant, cancel: &Cancellation) -> Option<Self> {
        while IS_TAKEN.swap(true, Ordering::Acquire) {
            if is_over(deadline, cancel) {
                return None;
            }
            std::thread::sleep(TICK);
        }
        Some(Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        IS_TAKEN.store(false, Ordering::Release);
    }
}

fn is_over(deadline: Instant, cancel: &Cancellation) -> bool {
    Instant::now() > deadline || cancel.interruption().is_some()
}

/// Parses a page on a thread of its own, with a large stack. Returns `None` if another parser does
/// not end in time, if the parser panics or takes too long, or if the call ends. A thread that
/// still runs then can't be stopped; it is abandoned.
fn take_apart(
    parse: impl FnOnce() -> PageText + Send + 'static,
    cancel: &Cancellation,
) -> Result<Option<PageText>, String> {
    let Some(turn) = Turn::take(Instant::now() + MAX_TIME, cancel) else {
        return Ok(None);
    };
    let (sender, receiver) = mpsc::channel();
    let deadline = Instant::now() + MAX_TIME;
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let _turn = turn;
            sender.send(parse())
        })
        .map_err(|e| format!("no thread could be started: {e}"))?;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(text) => return Ok(Some(text)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if is_over(deadline, cancel) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PageText, Turn, take_apart};
    use gemini_tools_core::tool::Cancellation;
    use std::time::{Duration, Instant};

    #[test]
    fn beside_an_abandoned_parser_no_other_one_starts() {
        let cancel = Cancellation::default();
        let turn = Turn::take(Instant::now() + Duration::from_secs(60), &cancel).expect("a turn");
        cancel.cancel();
        let taken = take_apart(|| panic!("it has started"), &cancel);
        assert_eq!(taken, Ok(None));
        drop(turn);
        let taken = take_apart(PageText::default, &Cancellation::default());
        assert_eq!(taken, Ok(Some(PageText::default())));
    }
}
