//! Addresses in a text.

use super::is_public;
use linkify::{LinkFinder, LinkKind};
use std::net::IpAddr;
use std::ops::Range;
use url::{Host, Url};

/// The addresses in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExtractedUrls {
    /// Addresses that can be asked, each once, in order.
    pub usable: Vec<Url>,
    /// Texts that look like an address but can't be requested, each with the reason.
    pub unusable: Vec<(String, String)>,
}

/// Finds the addresses of a text. Their bounds are found as in mail programs, so that
/// the full stop of a sentence or a bracket around is not part of it; what is within is read
/// by the same parser that the request is made from.
pub fn find(text: &str) -> ExtractedUrls {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let mut spans: Vec<Range<usize>> = finder
        .links(text)
        .filter(|link| !is_cut_in_host(link.as_str(), &text[link.end()..]))
        .map(|link| link.start()..link.end())
        .collect();
    let odd: Vec<_> = odd_spans(text)
        .filter(|span| !spans.iter().any(|own| own.contains(&span.start)))
        .collect();
    spans.extend(odd);
    spans.sort_by_key(|span| span.start);
    let mut found = ExtractedUrls::default();
    for span in spans {
        let link = &text[span];
        match usable(link) {
            Ok(url) => {
                if !found.usable.contains(&url) {
                    found.usable.push(url);
                }
            }
            Err(why) => found.unusable.push((display_url(link), why)),
        }
    }
    found
}

/// Returns true if a link ends before its host does: percent-encoding there is nothing to mail
/// programs, but the parser of addresses decodes it.
fn is_cut_in_host(link: &str, rest: &str) -> bool {
    let host = link.split_once("://").map_or("", |(_, host)| host);
    rest.starts_with(['%', '@', '\\']) && !host.contains(['/', '?', '#'])
}

/// Returns all that begins like an address, up to the next blank: hosts like `127.1` are nothing
/// to mail programs, but must be judged all the same.
fn odd_spans(text: &str) -> impl Iterator<Item = Range<usize>> {
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
    (0..bytes.len()).filter(move |at| is_start(*at)).map(|at| {
        let rest = &text[at..];
        let end = rest.find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c));
        let link = &rest[..end.unwrap_or(rest.len())];
        at..at
            + link
                .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\''])
                .len()
    })
}

/// Returns an address as messages show it: without user and password, and not too long.
pub fn display_url(text: &str) -> String {
    let without = match (text.find("://"), text.rfind('@')) {
        (Some(start), Some(at)) if at > start => format!("{}…{}", &text[..start + 3], &text[at..]),
        _ => text.to_owned(),
    };
    without.chars().take(200).collect()
}

/// Reads one address.
pub fn usable(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|e| e.to_string())?;
    check(&url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Checks that an address may be requested, as far as that is known without asking.
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

/// Returns true if only this machine or its network can know the host: a private address, or a name
/// that no public name server knows.
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

/// Returns the address of the file itself for the page of GitHub that shows it.
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

/// Returns the address that is requested for an address of the prompt.
pub fn target(url: &Url) -> Url {
    raw_of_blob(url).unwrap_or_else(|| url.clone())
}

#[cfg(test)]
mod tests;
