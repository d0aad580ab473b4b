//! Finds the proxy that environment variables name.

use super::NetError;
use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use std::net::IpAddr;

const VARIABLES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

pub(super) struct Proxy {
    pub(super) intercept: Intercept,
    pub(super) uri: Uri,
    pub(super) name: String,
    pub(super) is_socks: bool,
}

/// Returns the proxy for an address, or `None` if no variable names one or `no_proxy` exempts the
/// host.
///
/// # Errors
///
/// Returns an error if a variable is malformed. The library would ignore it and connect directly,
/// past the proxy that the user wanted.
pub(super) fn find_proxy(uri: &Uri) -> Result<Option<Proxy>, NetError> {
    check_proxy_variables()?;
    let exempt = std::env::var("NO_PROXY").or_else(|_| std::env::var("no_proxy"));
    if is_exempt(uri, &exempt.unwrap_or_default()) {
        return Ok(None);
    }
    Ok(Matcher::from_env().intercept(uri).and_then(parse))
}

/// Returns true if a list of exempt hosts names a host in a way that the library does not know:
/// `*` also stands for addresses, and a host with a port for that port only. Blanks separate hosts as
/// well as commas, and a name may end in a dot, as for curl.
fn is_exempt(uri: &Uri, list: &str) -> bool {
    let is_secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let port = format!(":{port}");
    let entries = list.split(|c: char| c == ',' || c.is_whitespace());
    let entries = entries.map(|entry| entry.strip_suffix('.').unwrap_or(entry));
    let mut entries = entries.filter(|entry| !entry.is_empty());
    entries.any(|entry| {
        let host = entry.strip_suffix(&port);
        // `::1:80` is an address, not a host and a port.
        let host = host.filter(|_| entry.parse::<IpAddr>().is_err());
        let host = host.unwrap_or(entry).trim_matches(['[', ']']);
        let exempt = Matcher::builder().all("http://any").no(host).build();
        entry == "*" || exempt.intercept(uri).is_none()
    })
}

/// Checks the environment variables that name a proxy. The libraries ignore a malformed one, and
/// would connect directly.
///
/// # Errors
///
/// Returns an error that names the variable.
pub fn check_proxy_variables() -> Result<(), NetError> {
    let any = Uri::from_static("http://any/");
    for variable in VARIABLES {
        let value = std::env::var(variable).unwrap_or_default();
        let find = || Matcher::builder().all(&value).build().intercept(&any);
        if !value.trim().is_empty() && find().and_then(parse).is_none() {
            return Err(NetError::Failed(format!(
                "The environment variable {variable} names no proxy that can be used; it must \
                 look like http://host:port or socks5://host:port."
            )));
        }
    }
    Ok(())
}

fn parse(intercept: Intercept) -> Option<Proxy> {
    let (is_socks, default_port) = match intercept.uri().scheme_str()? {
        "http" => (false, 80),
        "socks5" | "socks5h" => (true, 1080),
        _ => return None,
    };
    let host = intercept.uri().host()?;
    let name = format!(
        "{host}:{}",
        intercept.uri().port_u16().unwrap_or(default_port)
    );
    Some(Proxy {
        // The kind of proxy is in `is_socks`, so any scheme will do here that can be parsed.
        uri: format!("http://{name}/").parse().ok()?,
        name,
        intercept,
        is_socks,
    })
}

#[cfg(test)]
mod tests {
    use super::{is_exempt, parse};
    use hyper_util::client::proxy::matcher::Matcher;

    #[test]
    fn hosts_are_exempt_by_a_star_or_at_a_port() {
        let all = [
            "http://10.0.0.1/",
            "https://[fd00::1]/",
            "http://a.example:81/",
        ];
        for (list, exempt) in [
            ("*", [true; 3]),
            ("b.example, *", [true; 3]),
            ("", [false; 3]),
            ("10.0.0.1:80,a.example:80", [true, false, false]),
            ("10.0.0.0/8:80", [true, false, false]),
            ("[fd00::1]:443, .example:81", [false, true, true]),
            ("example:81", [false, false, true]),
            ("b.example 10.0.0.0/8\ta.example.", [true, false, true]),
            ("::1:443,fd00::1:80,:80,:443,:81", [false; 3]),
        ] {
            let found = all.map(|uri| is_exempt(&uri.parse().expect("an address"), list));
            assert_eq!(found, exempt, "{list}");
        }
    }

    #[test]
    fn http_and_socks_proxies_can_be_used_and_no_others() {
        let uri = "https://a.example/".parse().expect("an address");
        let proxy = |value: &str| {
            let found = Matcher::builder().all(value).build().intercept(&uri);
            found.and_then(parse).map(|p| (p.name, p.is_socks))
        };
        for (value, name, is_socks) in [
            ("p", "p:80", false),
            ("http://me:secret@p:3128/x", "p:3128", false),
            ("socks5://[::1]", "[::1]:1080", true),
        ] {
            assert_eq!(proxy(value), Some((name.to_owned(), is_socks)), "{value}");
        }
        for value in ["ftp://p", "https://p", "socks4://p", "http://"] {
            assert_eq!(proxy(value), None, "{value}");
        }
    }
}
