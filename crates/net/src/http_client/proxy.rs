//! The proxy that the environment asks for.
//!
//! The variables are those of curl: `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, in
//! lower and upper case. `HTTP_PROXY` in upper case does not count where the process serves a
//! web request (`REQUEST_METHOD` is set): a client could have sent it as a header.

use super::NetError;
use ipnet::IpNet;
use std::net::IpAddr;
use url::{Host, Url};

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyKind {
    /// HTTP `CONNECT`.
    Connect,
    /// SOCKS 5; names go to the proxy only where the client leaves them to it.
    Socks5,
}

/// A proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// User and password.
    pub(super) credentials: Option<(String, String)>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.shown())
    }
}

impl Proxy {
    /// Host and port, for messages.
    pub(super) fn shown(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The proxy for an address, by the variables of this process.
    pub(super) fn of_environment(url: &Url) -> Result<Option<Self>, NetError> {
        Self::of(url, &|name| std::env::var(name).ok())
    }

    /// Finds the proxy for a URL by the variables that `env` returns.
    pub(super) fn of(
        url: &Url,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, NetError> {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let is_web_server = env("REQUEST_METHOD").is_some();
        let by_scheme = if url.scheme() == "https" {
            set("https_proxy")
                .map(|v| ("https_proxy", v))
                .or_else(|| set("HTTPS_PROXY").map(|v| ("HTTPS_PROXY", v)))
        } else {
            set("http_proxy").map(|v| ("http_proxy", v)).or_else(|| {
                set("HTTP_PROXY")
                    .filter(|_| !is_web_server)
                    .map(|v| ("HTTP_PROXY", v))
            })
        };
        let found = by_scheme
            .or_else(|| set("all_proxy").map(|v| ("all_proxy", v)))
            .or_else(|| set("ALL_PROXY").map(|v| ("ALL_PROXY", v)));
        let Some((variable, value)) = found else {
            return Ok(None);
        };
        let exceptions = set("no_proxy")
            .or_else(|| set("NO_PROXY"))
            .unwrap_or_default();
        if is_excepted(url, &exceptions) {
            return Ok(None);
        }
        Self::parse(&value).map(Some).ok_or_else(|| {
            NetError::BadRequest(format!(
                "The environment variable {variable} names no proxy that can be used; it must \
                 look like http://host:port or socks5://host:port."
            ))
        })
    }

    fn to_url(&self) -> Option<Url> {
        let scheme = match self.kind {
            ProxyKind::Connect => "http",
            // The proxy gets names.
            ProxyKind::Socks5 => "socks5h",
        };
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        let mut url = Url::parse(&format!("{scheme}://{host}:{}", self.port)).ok()?;
        if let Some((user, password)) = &self.credentials {
            url.set_username(user).ok()?;
            url.set_password(Some(password)).ok()?;
        }
        Some(url)
    }

    fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        let url = if value.contains("://") {
            Url::parse(value).ok()?
        } else {
            Url::parse(&format!("http://{value}")).ok()?
        };
        let (kind, default_port) = match url.scheme() {
            "http" => (ProxyKind::Connect, 80),
            "socks5" | "socks5h" | "socks" => (ProxyKind::Socks5, 1080),
            _ => return None,
        };
        let decoded = |text: &str| percent_decoded(text);
        let credentials = (!url.username().is_empty()).then(|| {
            let password = url.password().unwrap_or_default();
            (decoded(url.username()), decoded(password))
        });
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        (!host.is_empty()).then_some(Self {
            kind,
            host,
            port: url.port().unwrap_or(default_port),
            credentials,
        })
    }
}

/// The proxy for an address by the variables of this process, as an address that other HTTP
/// clients understand; `None` where there is no proxy.
pub fn address_for(url: &Url) -> Option<Result<Url, String>> {
    let proxy = match Proxy::of_environment(url) {
        Ok(proxy) => proxy?,
        Err(e) => return Some(Err(e.to_string())),
    };
    Some(
        proxy
            .to_url()
            .ok_or_else(|| format!("the proxy {} has no address", proxy.shown())),
    )
}

fn percent_decoded(text: &str) -> String {
    // The query of an address is decoded alike, but for the plus sign.
    let escaped = text.replace('+', "%2B");
    url::form_urlencoded::parse(format!("k={escaped}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Returns true if `no_proxy` names the host: `*`, a name with all below it, an address or a
/// network.
fn is_excepted(url: &Url, exceptions: &str) -> bool {
    let port = url.port_or_known_default();
    let host = match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
        Some(Host::Ipv4(v4)) => v4.to_string(),
        Some(Host::Ipv6(v6)) => v6.to_string(),
        None => return false,
    };
    let address: Option<IpAddr> = host.parse().ok();
    exceptions.split([',', ' ']).any(|entry| {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let Some(address) = address {
            let bare = entry.trim_matches(['[', ']']);
            return bare.parse::<IpAddr>().is_ok_and(|own| own == address)
                || bare
                    .parse::<IpNet>()
                    .is_ok_and(|net| net.contains(&address));
        }
        let (name, wanted_port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name.to_owned(), port.parse().ok()),
            None => (entry, None),
        };
        let name = name.trim_start_matches("*.").trim_matches('.');
        !name.is_empty()
            && (wanted_port.is_none() || wanted_port == port)
            && (host == name
                || host
                    .strip_suffix(name)
                    .is_some_and(|rest| rest.ends_with('.')))
    })
}

#[cfg(test)]
mod tests {
    use super::{Proxy, ProxyKind};
    use url::Url;

    fn proxy(url: &str, vars: &[(&str, &str)]) -> Option<Proxy> {
        let env = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Proxy::of(&Url::parse(url).expect("an address"), &env).expect("a proxy or none")
    }

    #[test]
    fn the_variables_are_those_of_curl() {
        let shown = |url, vars: &[_]| proxy(url, vars).map(|p| p.shown());
        let https = [("https_proxy", "http://p:3128"), ("http_proxy", "q")];
        assert_eq!(
            shown("https://a.example/", &https).as_deref(),
            Some("p:3128")
        );
        assert_eq!(shown("http://a.example/", &https).as_deref(), Some("q:80"));
        let all = [("ALL_PROXY", "socks5://s")];
        let socks = proxy("http://a.example/", &all).expect("one");
        assert_eq!((socks.kind, socks.port), (ProxyKind::Socks5, 1080));
        let served = [("HTTP_PROXY", "evil"), ("REQUEST_METHOD", "GET")];
        assert_eq!(shown("http://a.example/", &served), None);
        let user = proxy("http://a/", &[("http_proxy", "http://me:a%20b+c@p:1")]).expect("one");
        let expected = ("me".to_owned(), "a b+c".to_owned());
        assert_eq!(user.credentials, Some(expected));
        assert_eq!(format!("{user:?}"), "Proxy(p:1)");
    }

    #[test]
    fn no_proxy_names_exceptions() {
        for (url, exceptions, is_used) in [
            ("http://a.example/", "a.example", false),
            ("http://b.a.example/", "a.example", false),
            ("http://b.a.example/", ".a.example", false),
            ("http://b.a.example/", "*.a.example", false),
            ("http://ba.example/", "a.example", true),
            ("http://a.example:81/", "a.example:81", false),
            ("http://a.example:82/", "a.example:81", true),
            ("http://10.1.2.3/", "x, 10.0.0.0/8", false),
            ("http://10.1.2.3/", "10.1.2.4", true),
            ("http://[::1]/", "::1", false),
            ("http://a.example/", "*", false),
            ("http://a.example/", "", true),
        ] {
            let vars = [("http_proxy", "p"), ("no_proxy", exceptions)];
            assert_eq!(proxy(url, &vars).is_some(), is_used, "{url} {exceptions}");
        }
    }

    #[test]
    fn a_proxy_of_another_kind_is_an_error_that_names_the_variable() {
        let env = |name: &str| (name == "https_proxy").then(|| "ftp://x".to_owned());
        let url = Url::parse("https://a/").expect("an address");
        let error = Proxy::of(&url, &env).expect_err("no proxy").to_string();
        assert!(error.contains("https_proxy"), "{error}");
    }
}
