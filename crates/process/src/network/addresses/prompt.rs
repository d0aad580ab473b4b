//! Finds addresses in a text.

use super::is_public;
use linkify::{LinkFinder, LinkKind};
use std::net::IpAddr;
use std::ops::Range;
use url::{Host, Url};

/// The addresses in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExtractedUrls {
    /// Addresses that can be requested, each once, in order.
    pub usable: Vec<Url>,
    /// Texts that look like an address but can't be requested, each with the reason.
    pub unusable: Vec<(String, String)>,
    /// The text with blanks inserted where another reader could take neighbouring characters for a
    /// part of an address. A model that fetches from this text finds the same addresses as
    /// [`find`].
    pub separated: String,
}

/// Finds the addresses in a text. Each begins and ends as in mail programs, without the full stop
/// of a sentence or a bracket around it; it is then parsed by the same parser that the request is
/// made with. Letters of other alphabets belong to an address, their punctuation does not: it has
/// to be written percent-encoded in an address, as browsers do.
pub fn find(text: &str) -> ExtractedUrls {
    let mut found = ExtractedUrls::default();
    let mut copied = 0;
    for span in spans(text) {
        let link = &text[span.clone()];
        let (before, after) = (&text[..span.start], &text[span.end..]);
        let is_wide = |c: char| !c.is_ascii() && !c.is_whitespace();
        let mut rest = after.chars();
        let is_open_at_end = rest
            .next()
            .is_some_and(|c| is_wide(c) || !c.is_whitespace() && ends_address(c, rest.as_str()));
        for (at, is_open) in [
            (span.start, before.ends_with(is_wide)),
            (span.end, is_open_at_end),
        ] {
            if is_open && at >= copied {
                found.separated.push_str(&text[copied..at]);
                found.separated.push(' ');
                copied = at;
            }
        }
        match usable(link) {
            Ok(url) => {
                if !found.usable.contains(&url) {
                    found.usable.push(url);
                }
            }
            Err(why) => found.unusable.push((display_url(link), why)),
        }
    }
    found.separated.push_str(&text[copied..]);
    found
}

fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if ends_address(c, &text[at + c.len_utf8()..]) {
            spans_between(text, start..at, &mut spans);
            start = at + c.len_utf8();
        }
    }
    spans_between(text, start..text.len(), &mut spans);
    spans
}

fn spans_between(text: &str, part: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let (offset, text) = (part.start, &text[part]);
    if !text.contains(':') {
        return;
    }
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let mut own: Vec<Range<usize>> = finder
        .links(text)
        .filter(|link| !is_cut_in_host(link.as_str(), &text[link.end()..]))
        .map(|link| link.start()..link.start() + link.as_str().trim_end_matches(JOINERS).len())
        .collect();
    let odd: Vec<_> = odd_spans(text, &own).collect();
    own.extend(odd);
    own.sort_by_key(|span| span.start);
    spans.extend(
        own.into_iter()
            .map(|span| (span.start, without_words(&text[span])))
            .map(|(start, len)| start + offset..start + len + offset),
    );
}

/// Returns the length of an address without words that follow its host directly, as in
/// `https://a.example然后`. The host is taken to end where a label mixes Latin letters with another
/// alphabet, because no host does.
fn without_words(link: &str) -> usize {
    let host = link.find("://").map_or(0, |at| at + 3);
    if link[host..].contains(['/', '?', '#']) {
        return link.len();
    }
    let label = link[host..]
        .rfind(['.', ':', '@'])
        .map_or(host, |at| host + at + 1);
    match link[label..].find(|c: char| c > '\u{36f}') {
        Some(at) if at > 0 => label + at,
        _ => link.len(),
    }
}

/// Punctuation beyond ASCII that is part of names: `/wiki/ドナルド・トランプ`,
/// `/wiki/Michelson–Morley_experiment`. An address may contain it, but does not end with it.
const JOINERS: [char; 10] = ['·', '‐', '‑', '–', '‧', '〜', '゠', '・', '～', '･'];

/// The longest word of another alphabet between two addresses without blanks, as in
/// `https://a.example和https://b.example`.
const WORD_CHARS: usize = 64;

/// Returns true if the character `c`, which is followed by `rest`, ends an address. That is so for
/// blanks, punctuation and emoji beyond ASCII, for invisible marks, for a bracket or quote of HTML,
/// and for a comma, semicolon, or word of another alphabet right before another address.
fn ends_address(c: char, rest: &str) -> bool {
    let is_before_address = |rest: &str| {
        let head = rest.get(..8).or_else(|| rest.get(..7)).unwrap_or_default();
        let head = head.to_ascii_lowercase();
        head.starts_with("http://") || head.starts_with("https://")
    };
    let is_break = |c: char| c.is_whitespace() || is_unseen(c) || is_punctuation(c);
    match c {
        ',' | ';' => is_before_address(rest),
        '&' => ["gt;", "lt;", "quot;"].iter().any(|e| rest.starts_with(e)),
        c if c.is_ascii() => false,
        c if !JOINERS.contains(&c) && is_break(c) => true,
        _ => {
            let is_letter = |c: &char| !(c.is_ascii() || JOINERS.contains(c) || is_break(*c));
            let word = rest.chars().take(WORD_CHARS).take_while(is_letter);
            is_before_address(&rest[word.map(char::len_utf8).sum()..])
        }
    }
}

/// Returns true for invisible characters, except for the joiners of Persian and Indic scripts,
/// which are parts of words.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns true for emoji, and for punctuation beyond ASCII that stands next to words: quotes,
/// brackets, dashes, stops, commas and the like, of all living scripts. Marks within syllables,
/// abbreviations or numbers are not among them (the Tibetan tsheg, the Hebrew gershayim, the Arabic
/// decimal point).
fn is_punctuation(c: char) -> bool {
    matches!(c,
        '¡' | '«' | '»' | '¿' | '\u{37e}' | '\u{55d}' | '\u{589}' | '\u{5c3}'
        // Arabic and Syriac.
        | '\u{60c}' | '\u{60d}' | '\u{61b}' | '\u{61d}'..='\u{61f}' | '\u{66d}' | '\u{6d4}'
        | '\u{700}'..='\u{70a}'
        // India, Sri Lanka, Thailand, Tibet, Myanmar.
        | '\u{964}' | '\u{965}' | '\u{df4}' | '\u{e5a}' | '\u{e5b}' | '\u{f0d}'..='\u{f12}'
        | '\u{f3a}'..='\u{f3d}' | '\u{104a}' | '\u{104b}'
        // Ethiopia, the Philippines, Cambodia, Mongolia, Meitei.
        | '\u{1361}'..='\u{1368}' | '\u{1735}' | '\u{1736}' | '\u{17d4}'..='\u{17d6}'
        | '\u{17da}' | '\u{1801}'..='\u{1805}' | '\u{1808}' | '\u{1809}' | '\u{abeb}'
        // Dashes, quotes, bullets, ellipses, mathematical and ornamental brackets.
        | '\u{2012}' | '\u{2014}'..='\u{2026}' | '\u{2032}'..='\u{203e}' | '\u{2045}'..='\u{2049}'
        | '\u{207d}' | '\u{207e}' | '\u{208d}' | '\u{208e}' | '\u{2308}'..='\u{230b}'
        | '\u{2329}' | '\u{232a}' | '\u{2768}'..='\u{2775}' | '\u{27e6}'..='\u{27ef}'
        | '\u{2983}'..='\u{2998}' | '\u{29d8}'..='\u{29db}' | '\u{2e00}'..='\u{2e5d}'
        // China, Japan, Korea; upright and small forms; full and half width.
        | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}'
        | '\u{301d}'..='\u{301f}' | '\u{fd3e}' | '\u{fd3f}' | '\u{fe10}'..='\u{fe19}'
        | '\u{fe30}'..='\u{fe4c}' | '\u{fe50}'..='\u{fe6b}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff3e}' | '\u{ff40}'
        | '\u{ff5b}'..='\u{ff5d}' | '\u{ff5f}'..='\u{ff64}'
        | '\u{2600}'..='\u{2767}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns true if the link finder has cut an address within its host, before `%`, `@` or `\`. A
/// URL parser does not end the address there, so its host would be another one.
fn is_cut_in_host(link: &str, rest: &str) -> bool {
    let host = link.split_once("://").map_or("", |(_, host)| host);
    rest.starts_with(['%', '@', '\\']) && !host.contains(['/', '?', '#'])
}

/// Returns the spans of addresses whose host the link finder does not recognise, such as
/// `http://127.1`. A client can still reach them, so they must be judged. Spans of `own`, the
/// recognised addresses, are skipped.
fn odd_spans(text: &str, own: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let is_start = move |at: usize| {
        let rest = &bytes[at..];
        let scheme = ["https:", "http:"].into_iter().find(|scheme| {
            let head = rest.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
        });
        let before = at.checked_sub(1).map(|i| bytes[i]);
        scheme.is_some_and(|scheme| matches!(rest.get(scheme.len()), Some(b'/' | b'\\')))
            && !before.is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    };
    let mut done = 0;
    (0..bytes.len()).filter_map(move |at| {
        if at < done || !is_start(at) || own.iter().any(|own| own.contains(&at)) {
            return None;
        }
        let rest = &text[at..];
        let end = rest.find(|c: char| c.is_whitespace() || c.is_control() || "<>|\"`".contains(c));
        done = at + odd_len(&rest[..end.unwrap_or(rest.len())]);
        Some(at..done)
    })
}

/// Returns the length of an address whose host the link finder does not recognise. The end of its
/// path is found by putting the path after a host that the finder recognises.
fn odd_len(link: &str) -> usize {
    const KNOWN: &str = "http://a.example";
    let slashes = link.find(['/', '\\']).unwrap_or(link.len());
    let host = link.len() - link[slashes..].trim_start_matches(['/', '\\']).len();
    let (host, path) = link.split_at(
        link[host..]
            .find(['/', '?', '#'])
            .map_or(link.len(), |at| host + at),
    );
    let known = format!("{KNOWN}{path}");
    let end = LinkFinder::new()
        .links(&known)
        .next()
        .map_or(0, |link| link.end());
    if end > KNOWN.len() {
        let path = &known[KNOWN.len()..end];
        return host.len() + path.trim_end_matches(JOINERS).len();
    }
    let host = host.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'', '*']);
    host.trim_end_matches(JOINERS).len()
}

/// Returns an address as messages show it: without user and password, and cut after 200 characters.
pub fn display_url(text: &str) -> String {
    let without = text.split_once("://").and_then(|(scheme, rest)| {
        // In a valid address, only an `@` before the host ends a user and password; a later one is
        // part of the path. In any other text, all that is before the last `@` may be a password.
        let ends = |c: char| Url::parse(text).is_ok() && "/\\?#".contains(c);
        let host = rest.split(ends).next()?;
        Some(format!("{scheme}://…{}", &rest[host.rfind('@')?..]))
    });
    let shown = without.as_deref().unwrap_or(text);
    shown.chars().take(200).collect()
}

/// Parses one address, checks that it may be requested, and removes its fragment. Returns why it
/// can't be requested, as an error.
pub fn usable(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|e| e.to_string())?;
    check(&url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Checks that an address is one of http or https, with a host and without a user or password.
/// Returns the fault as an error. Whether the host is public is not checked.
pub fn check(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{} is not http or https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user or a password".to_owned());
    }
    match url.host_str() {
        None | Some("") => Err("it names no host".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Returns true if only this machine or its network knows the host of an address: a private
/// address, or a name that no public name server knows.
pub fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(v4)) => !is_public(IpAddr::V4(v4)),
        Some(Host::Ipv6(v6)) => !is_public(IpAddr::V6(v6)),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let end = name.rsplit('.').next().unwrap_or(name);
            !name.contains('.')
                || matches!(end, "localhost" | "local" | "internal" | "lan" | "test")
                || name.ends_with(".home.arpa")
        }
        None => true,
    }
}

fn raw_of_blob(url: &Url) -> Option<Url> {
    if !matches!(url.host_str(), Some("github.com" | "www.github.com")) {
        return None;
    }
    let parts: Vec<&str> = url.path_segments()?.collect();
    let [owner, repository, "blob", rest @ ..] = parts.as_slice() else {
        return None;
    };
    if rest.len() < 2 {
        return None;
    }
    let path = rest.join("/");
    Url::parse(&format!(
        "https://raw.githubusercontent.com/{owner}/{repository}/{path}"
    ))
    .ok()
}

/// Returns the address to request for an address in the prompt: for a page of GitHub that shows a
/// file, that of the raw file, otherwise the address itself.
pub fn target(url: &Url) -> Url {
    raw_of_blob(url).unwrap_or_else(|| url.clone())
}

#[cfg(test)]
mod tests;
