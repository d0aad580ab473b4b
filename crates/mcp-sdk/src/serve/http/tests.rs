use super::Http;
use http::{HeaderMap, HeaderName, HeaderValue};

fn status(headers: &[(&'static str, &str)], path: &str, allows_remote: bool) -> u16 {
    let http = Http {
        addresses: Vec::new(),
        token: "0123456789abcdef".to_owned(),
        is_token_made: false,
        hosts: vec!["Tools.example".to_owned()],
        allows_remote,
    };
    let headers = headers.iter().map(|(name, value)| {
        let value = HeaderValue::from_str(value).expect("a value");
        (HeaderName::from_static(name), value)
    });
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, value);
    }
    let refusal = http.refusal(&map, &path.parse().expect("a target"));
    refusal.map_or(200, |answer| answer.status().as_u16())
}

#[test]
fn only_requests_for_this_server_with_its_token_pass() {
    let good = ("authorization", "Bearer 0123456789abcdef");
    for (host, expected) in [
        ("localhost:8808", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8808", 200),
        ("[::1]:8808", 200),
        ("tools.example", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("[::1]evil", 403),
        ("localhost:99999", 403),
        ("localhost:", 200),
        ("user@localhost", 403),
        ("10.0.0.1", 403),
        ("", 403),
    ] {
        assert_eq!(
            status(&[("host", host), good], "/mcp", false),
            expected,
            "{host}"
        );
    }
    let host = ("host", "localhost");
    assert_eq!(status(&[("host", "10.0.0.1"), good], "/mcp", true), 200);
    assert_eq!(status(&[("host", "evil.example"), good], "/mcp", true), 403);
    assert_eq!(status(&[good], "/mcp", false), 403);
    assert_eq!(status(&[host, host, good], "/mcp", false), 403);
    assert_eq!(status(&[host, good], "/", false), 404);
    let own = "http://localhost:8808/mcp";
    assert_eq!(status(&[host, good], own, false), 200);
    let other = "http://evil.example/mcp";
    assert_eq!(status(&[host, good], other, false), 403);
    assert_eq!(status(&[host], "/mcp", false), 401);
    assert_eq!(status(&[host, good, good], "/mcp", false), 401);
    for wrong in [
        "Bearer 0123456789abcdeF",
        "Bearer ",
        "Basic 0123456789abcdef",
        "0123456789abcdef",
    ] {
        assert_eq!(
            status(&[host, ("authorization", wrong)], "/mcp", false),
            401,
            "{wrong}"
        );
    }
    for origin in ["http://evil.example", "null", "http://localhost:8808"] {
        assert_eq!(
            status(&[host, good, ("origin", origin)], "/mcp", false),
            403,
            "{origin}"
        );
    }
}
