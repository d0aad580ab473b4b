//! Servers that are reached by HTTP. The SDK implements streamable HTTP; the older SSE transport,
//! which it has dropped, is in [`super::sse`].

use gemini_tools_net::http_client::{
    check_proxy_variables, is_this_machine, tls_config, user_agent,
};
use gemini_tools_process::network::wire::Connect;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;
use url::Url;

const CONNECT_SECS: u64 = 20;

const MAX_REDIRECTS: usize = 5;

pub(super) fn headers(connect: &Connect) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut headers = HashMap::new();
    for (name, value) in &connect.headers {
        // The message does not show the value, which may be a secret.
        let unfit = || format!("the header {name:?} can't be sent as it is configured");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

pub(super) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|e| format!("its address is not a valid URL: {e}"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err("its address must begin with http:// or https://".to_owned()),
    }
}

pub(super) fn reason(e: &reqwest::Error) -> String {
    let mut last: &dyn Error = e;
    while let Some(source) = last.source() {
        last = source;
    }
    if e.is_timeout() {
        "it took too long".to_owned()
    } else {
        last.to_string()
    }
}

/// Creates a client for one server. It uses the proxy that the environment names, except for
/// servers on this machine. A redirect is followed only if it stays within the origin and keeps the
/// method and body, so that headers with secrets never reach another host.
pub(super) fn client(url: &Url) -> Result<reqwest::Client, String> {
    let redirects = Policy::custom(|attempt| {
        let status = attempt.status().as_u16();
        let first = attempt.previous().first().map(Url::origin);
        let is_same = first == Some(attempt.url().origin());
        if is_same && matches!(status, 307 | 308) && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            let mut target = attempt.url().clone();
            target.set_query(None);
            let error =
                format!("HTTP {status}: it redirects to {target}; name that in its settings");
            attempt.error(error)
        }
    });
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config())
        .user_agent(user_agent())
        .connect_timeout(Duration::from_secs(CONNECT_SECS))
        .redirect(redirects)
        // Reusing a connection whose last response was not read to its end costs about 40 ms. The
        // SDK's own client does not reuse connections either.
        .pool_max_idle_per_host(0);
    if is_this_machine(url) {
        builder = builder.no_proxy();
    } else {
        check_proxy_variables().map_err(|e| e.to_string())?;
    }
    builder.build().map_err(|e| e.to_string())
}

pub(super) fn streamable(
    connect: &Connect,
    url: &Url,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers(connect)?)
        // A server that has lost the session may have other tools: that is another connection.
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(
        client(url)?,
        config,
    ))
}
