//! Fetches a page, following redirects, within limits of time and size.

use crate::http_client::{Body, HttpClient, HttpRequest, HttpTimeouts, NetError};
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::network::addresses::{AddressPolicy, check, display_url, is_local};
use std::time::Duration;
use url::Url;

const TIMEOUTS: HttpTimeouts = HttpTimeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(20),
    silence: Duration::from_secs(10),
    answer: PAGE_TIME,
};

const FAILURE_BYTES: usize = 64 * 1024;

pub(super) const PAGE_TIME: Duration = Duration::from_secs(40);

/// How long the names of the addresses are looked up, at most, to decide whether the addresses are
/// all public and the API may be asked to read them.
const NAMES_TIME: Duration = Duration::from_secs(10);

const MAX_HOPS: usize = 10;

/// Markdown is preferred to HTML, because it needs no conversion.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, \
    text/plain;q=0.8, application/json;q=0.8, */*;q=0.5";

/// A page that was fetched. `failure` is the HTTP status in words if it is not a success; the
/// content then is an error page. `is_public` is set if the page could be reached without anything
/// that only the user's settings allow.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) media_type: String,
    pub(super) charset: Option<String>,
    pub(super) bytes: Vec<u8>,
    pub(super) cut: Option<String>,
    pub(super) failure: Option<String>,
    pub(super) is_public: bool,
}

#[derive(Debug)]
pub(super) enum FetchError {
    /// The address is not public, but the user could allow the host.
    NotPublic(String),
    /// The address is never requested: its scheme is not HTTP, or it contains a password.
    Refused(String),
    Failed(String),
}

impl FetchError {
    pub(super) fn why(&self) -> &str {
        match self {
            Self::NotPublic(why) | Self::Refused(why) | Self::Failed(why) => why,
        }
    }

    /// Returns the error of a page that another one leads to. The user is not told to allow its
    /// host, because that page's author has chosen it.
    fn after_redirect(self, from: &Url) -> Self {
        match self {
            Self::NotPublic(why) | Self::Refused(why) => {
                Self::Refused(format!("{from} redirects to {why}"))
            }
            Self::Failed(why) => Self::Failed(format!("{from} redirects, and {why}")),
        }
    }
}

fn max_bytes(media_type: &str) -> usize {
    const MIB: usize = 1024 * 1024;
    match media_type {
        // Once parsed, an HTML page takes many times its size in memory.
        "text/html" | "application/xhtml+xml" | "" => 2 * MIB,
        "application/pdf" => 10 * MIB,
        t if t.starts_with("image/") => 7 * MIB,
        _ => 10 * MIB,
    }
}

/// Returns true if all of these addresses are in the public network, and none has a host that the
/// user has allowed. A name that can't be resolved here counts as public: behind some proxies none
/// can.
pub(super) fn are_public(urls: &[Url], policy: &AddressPolicy, cancel: &Cancellation) -> bool {
    let none = AddressPolicy::Public {
        allowed: Vec::new(),
    };
    let client = HttpClient::new(none, TIMEOUTS);
    let own = cancel.restarted(NAMES_TIME);
    let is_allowed = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        policy.trusts(host, url.port_or_known_default().unwrap_or_default())
    };
    let may_be = |url: &Url| !is_local(url) && !is_allowed(url);
    urls.iter().all(may_be) && !urls.iter().any(|url| client.forbids(url, &own))
}

pub(super) fn fetch(
    url: &Url,
    policy: &AddressPolicy,
    share: usize,
    limit: Duration,
    cancel: &Cancellation,
) -> Result<Page, FetchError> {
    let mut client = HttpClient::new(policy.clone(), TIMEOUTS);
    let own = cancel.restarted(limit);
    let mut at = url.clone();
    for _ in 0..=MAX_HOPS {
        check(&at).map_err(|why| {
            let to = display_url(at.as_str());
            FetchError::Refused(if at == *url {
                format!("{to}: {why}")
            } else {
                format!("{url} redirects to {to}: {why}")
            })
        })?;
        let reached = hop(&mut client, &at, share, limit, &own);
        match reached.map_err(|e| if at == *url { e } else { e.after_redirect(url) })? {
            Hop::Page(mut page) => {
                page.is_public = !client.has_been_inside();
                return Ok(page);
            }
            Hop::Redirect(next) => at = next,
        }
    }
    Err(FetchError::Failed(format!(
        "{url} was redirected more than {MAX_HOPS} times"
    )))
}

enum Hop {
    Page(Page),
    Redirect(Url),
}

/// Requests one address and returns the page or the target of its redirect. `limit` is only for the
/// message of a time-out.
fn hop(
    client: &mut HttpClient,
    url: &Url,
    share: usize,
    limit: Duration,
    cancel: &Cancellation,
) -> Result<Hop, FetchError> {
    let request = HttpRequest::get(url, vec![("accept", ACCEPT.to_owned())]);
    let failed = |e| failure(e, url, limit);
    let mut response = client.send(request, cancel).map_err(failed)?;
    let status = response.status;
    if matches!(status, 301 | 302 | 303 | 307 | 308)
        && let Some(target) = response.header("location")
    {
        let mut next = url.join(target).map_err(|e| {
            FetchError::Failed(format!("{url} redirects to what is not an address: {e}"))
        })?;
        next.set_fragment(None);
        return Ok(Hop::Redirect(next));
    }
    let failed_as = (!(200..300).contains(&status)).then(|| {
        let name = http::StatusCode::from_u16(status).ok();
        let reason = name.and_then(|s| s.canonical_reason()).unwrap_or_default();
        let why = format!("{url} answered {status} {reason}");
        why.trim_end().to_owned()
    });
    let kind = response.header("content-type").unwrap_or_default();
    let (media_type, charset) = parse_type(kind);
    let (bytes, cut) = match &failed_as {
        None => read_body(&mut response.body, max_bytes(&media_type).min(share)).map_err(failed)?,
        // The status is reported even if the body can't be read.
        Some(_) => read_body(&mut response.body, FAILURE_BYTES.min(share)).unwrap_or_default(),
    };
    Ok(Hop::Page(Page {
        url: url.clone(),
        media_type,
        charset,
        bytes,
        cut,
        failure: failed_as,
        is_public: false,
    }))
}

fn read_body(body: &mut Body<'_>, limit: usize) -> Result<(Vec<u8>, Option<String>), NetError> {
    let mut bytes = Vec::new();
    let cut = match body.read_into(&mut bytes, limit) {
        Ok(false) => None,
        Ok(true) => Some(format!("only its first {limit} bytes were read")),
        // The part that arrived is better than nothing, unless the call was cancelled.
        Err(e) if !bytes.is_empty() && !matches!(e, NetError::Cancelled) => {
            let why = match e {
                NetError::OutOfTime => "took too long".to_owned(),
                other => format!("broke off ({other})"),
            };
            Some(format!("it {why} after {} bytes", bytes.len()))
        }
        Err(e) => return Err(e),
    };
    Ok((bytes, cut))
}

fn failure(error: NetError, url: &Url, limit: Duration) -> FetchError {
    match error {
        NetError::OutOfTime => {
            let secs = (limit.as_secs_f64() * 10.0).round() / 10.0;
            FetchError::Failed(format!("{url} took longer than {secs} s"))
        }
        NetError::NotPublic { .. } => FetchError::NotPublic(format!("{url}: {error}")),
        other => FetchError::Failed(format!("{url}: {other}")),
    }
}

fn parse_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';');
    let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts
        .filter_map(|p| p.split_once('='))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned());
    (media_type, charset)
}

#[cfg(test)]
mod tests {
    use super::{FetchError, fetch, parse_type};
    use gemini_tools_core::tool::Cancellation;
    use gemini_tools_process::network::addresses::AddressPolicy;
    use std::net::TcpListener;
    use std::time::Duration;
    use url::Url;

    #[test]
    fn a_page_that_takes_too_long_is_named_with_the_time_that_counted() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = silent.local_addr().expect("an address");
        let url = Url::parse(&format!("http://{address}/")).expect("a URL");
        let (limit, cancel) = (Duration::from_millis(400), Cancellation::default());
        let failed = fetch(&url, &AddressPolicy::Any, 1024, limit, &cancel);
        let Err(FetchError::Failed(why)) = failed else {
            panic!("{failed:?}");
        };
        assert!(why.contains(" took longer than 0."), "{why}");
    }

    #[test]
    fn a_content_type_has_type_and_charset() {
        let parsed = parse_type("Text/HTML; x=1; Charset=\"ISO-8859-1\"");
        assert_eq!(
            parsed,
            ("text/html".to_owned(), Some("ISO-8859-1".to_owned()))
        );
        assert_eq!(parse_type(""), (String::new(), None));
    }
}
