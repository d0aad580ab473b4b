//! What names resolve to decides who is reached: `web_fetch` connects to the very address that was judged, by a proxy
//! too. Names that lead inside, to both sides, or elsewhere at the next question (rebinding) reach nothing.
//!
//! Public addresses are played by a proxy of the test's own, which sees what it is asked to connect to, and answers in
//! place of the page. So no packet leaves this machine.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use crate::harness::name_server::DNS;
use crate::harness::name_server::{Found, NameServer};
use crate::harness::web_server::ALLOW;
use crate::harness::web_server::{WebServer, page, redirect};
use crate::harness::{Call, Workspace};

const PUBLIC: &str = "93.184.215.14";

/// Names that lead inside, by what they resolve to.
const INSIDE: &[(&str, &[&str])] = &[
    ("loopback", &["127.0.0.1"]),
    ("loopback-6", &["::1"]),
    ("both-loopbacks", &["127.0.0.1", "::1"]),
    ("far-loopback", &["127.9.9.9"]),
    ("unspecified", &["0.0.0.0"]),
    ("unspecified-6", &["::"]),
    ("mapped", &["::ffff:127.0.0.1"]),
    ("compatible", &["::127.0.0.1"]),
    ("nat64", &["64:ff9b::7f00:1"]),
    ("six-to-four", &["2002:7f00:1::1"]),
    ("teredo", &["2001:0:7f00:1::"]),
    ("private-10", &["10.0.0.1"]),
    ("private-172", &["172.20.1.1"]),
    ("private-192", &["192.168.1.1"]),
    ("carrier", &["100.64.0.1"]),
    ("metadata", &["169.254.169.254"]),
    ("metadata-6", &["fd00:ec2::254"]),
    ("azure", &["168.63.129.16"]),
    ("unique-local", &["fd12:3456::1"]),
    ("link-local-6", &["fe80::1"]),
    ("all-private", &["10.0.0.1", "192.168.0.1", "fd00::1"]),
    ("multicast", &["224.0.0.1"]),
    ("broadcast", &["255.255.255.255"]),
];

fn fetch<'a>(ws: &'a Workspace, names: &NameServer, prompt: &str) -> Call<'a> {
    let arguments = json!({ "prompt": prompt });
    let call = ws.tool("web_fetch").arguments(&arguments);
    call.env(DNS, &names.address())
}

/// A proxy that plays every host it is asked to connect to.
fn proxy() -> WebServer {
    WebServer::new(|asked, line| {
        if asked.method != "CONNECT" {
            return line.send(page("text/plain", "no tunnel was asked for"));
        }
        line.send("HTTP/1.1 200 Connection established\r\n\r\n")?;
        let host = asked.target.clone();
        while let Some(inner) = line.next_request()? {
            let name = inner.header("host").unwrap_or_default();
            line.send(page("text/plain", format!("{name} by {host}")))?;
        }
        Ok(())
    })
}

/// A SOCKS 5 proxy that plays every host, on a port of its own. It wants the login `me` with `secret`.
fn socks_proxy() -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serve = move || {
        let (mut line, _) = listener.accept().expect("a client");
        let mut receive = |count: usize, answer: &[u8]| {
            let mut bytes = vec![0; count];
            line.read_exact(&mut bytes).expect("a message");
            line.write_all(answer).expect("answered");
            bytes
        };
        assert_eq!(receive(3, &[5, 2]), [5, 1, 2], "a login is offered");
        assert_eq!(receive(11, &[1, 0]), *b"\x01\x02me\x06secret");
        let target = receive(10, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        receive(1, &page("text/plain", "by socks"));
        target
    };
    (port, std::thread::spawn(serve))
}

/// The proxy's `CONNECT` lines.
fn tunnels(proxy: &WebServer) -> Vec<String> {
    let asked = proxy.asked().into_iter();
    let tunnels = asked.filter(|a| a.method == "CONNECT");
    tunnels.map(|a| a.target).collect()
}

/// A server on 127.0.0.2 and a canary of the same port on 127.0.0.1; nothing where loopback has one address only.
fn neighbours() -> Option<(WebServer, WebServer)> {
    let listener = TcpListener::bind("127.0.0.2:0").ok()?;
    let port = listener.local_addr().ok()?.port();
    let canary = TcpListener::bind(("127.0.0.1", port)).ok()?;
    let own = WebServer::on(listener, move |asked, line| match &*asked.target {
        "/again" => line.send(redirect(302, "/")),
        _ => line.send(page("text/plain", "allowed")),
    });
    let canary = WebServer::on(canary, |_, line| line.send(page("text/plain", "tweet")));
    Some((own, canary))
}

#[test]
fn a_name_that_leads_inside_is_refused() {
    let ws = Workspace::new();
    let canary = WebServer::canary();
    let proxy = proxy();
    let names = NameServer::new(|name, _| {
        let first = name.split('.').next().unwrap_or_default();
        let found = INSIDE.iter().find(|(own, _)| *own == first);
        match found {
            Some((_, addresses)) => Found::at(addresses),
            None => Found::Nothing,
        }
    });
    for (name, addresses) in INSIDE {
        let url = format!("http://{name}.example.com:{}/", canary.port());
        let answer = fetch(&ws, &names, &url).unwatched().run();
        let message = answer.error("policy_violation", 3);
        assert!(message.contains(name), "{addresses:?}: {message}");
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{name}.example.com:{}/", canary.port());
            let call = fetch(&ws, &names, &url).unwatched();
            let call = call.env("all_proxy", &proxy.url("")).run();
            call.error("policy_violation", 3);
        }
    }
    assert_eq!(canary.connections(), 0);
    assert_eq!(proxy.connections(), 0, "{:?}", proxy.asked());
}

#[test]
fn an_alias_of_something_inside_is_refused() {
    let ws = Workspace::new();
    let canary = WebServer::canary();
    let names = NameServer::new(|name, _| match name {
        "one.example.com" => Found::alias("localhost", &["127.0.0.1", "::1"]),
        // The target must be asked for anew, and leads on.
        "two.example.com" => Found::alias("three.example.com", &[]),
        "three.example.com" => Found::alias("four.example.com", &["10.0.0.1"]),
        "four.example.com" => Found::at(&["127.0.0.1"]),
        "bare.example.com" => Found::alias("localhost", &[]),
        _ => Found::Nothing,
    });
    for name in ["one", "two", "three", "bare"] {
        let url = format!("http://{name}.example.com:{}/", canary.port());
        let answer = fetch(&ws, &names, &url).run();
        let failure = answer.failure();
        // An alias without an address is not an address.
        let is_bare = matches!(name, "bare" | "two");
        assert!(
            failure.error_type == "policy_violation" || is_bare,
            "{name}: {failure:?}"
        );
        assert_eq!(canary.connections(), 0, "{name}");
    }
}

#[test]
fn a_public_name_is_fetched_by_the_address_that_was_judged() {
    let ws = Workspace::new();
    let proxy = proxy();
    let names = NameServer::new(|name, count| match (name, count) {
        ("site.example.com", _) | ("rebound.example.com", 0) => Found::at(&[PUBLIC]),
        ("six.example.com", _) => Found::at(&["2606:4700::6810:1"]),
        ("alias.example.com", _) => Found::alias("cdn.example.net", &[PUBLIC]),
        ("rebound.example.com", _) => Found::at(&["127.0.0.1"]),
        ("mixed.example.com", _) => Found::at(&["127.0.0.1", "10.0.0.1", PUBLIC, "::1"]),
        _ => Found::Nothing,
    });
    for (url, tunnel) in [
        ("http://site.example.com/", format!("{PUBLIC}:80")),
        ("http://site.example.com:8080/x", format!("{PUBLIC}:8080")),
        (
            "http://six.example.com/",
            "[2606:4700::6810:1]:80".to_owned(),
        ),
        ("http://alias.example.com/", format!("{PUBLIC}:80")),
        ("http://rebound.example.com/", format!("{PUBLIC}:80")),
        ("http://mixed.example.com/", format!("{PUBLIC}:80")),
        ("http://8.8.8.8/", "8.8.8.8:80".to_owned()),
        ("http://134744072/", "8.8.8.8:80".to_owned()),
        (
            "http://[2001:4860:4860::8888]/",
            "[2001:4860:4860::8888]:80".to_owned(),
        ),
        ("http://[::ffff:8.8.8.8]/", "8.8.8.8:80".to_owned()),
    ] {
        proxy.forget();
        let call = fetch(&ws, &names, url).env("http_proxy", &proxy.url(""));
        let output = call.run().output();
        assert!(output.contains(&format!("by {tunnel}")), "{url}: {output}");
        assert_eq!(tunnels(&proxy), [tunnel], "{url}");
        // The page's own server gets the name.
        let host = url.split('/').nth(2).expect("a host");
        if host.contains("example") {
            assert!(output.contains(&format!("{host} by")), "{url}: {output}");
        }
    }
    let asked = names.asked().into_iter();
    let rebound = asked.filter(|name| name == "rebound.example.com").count();
    assert_eq!(rebound, 1, "a name is resolved once for a connection");
}

#[test]
fn a_socks_proxy_is_asked_for_the_judged_address() {
    let ws = Workspace::new();
    let names = NameServer::new(|_, _| Found::at(&[PUBLIC]));
    let (port, proxy) = socks_proxy();
    let call = fetch(&ws, &names, "http://site.example.com/")
        .env("all_proxy", &format!("socks5://me:secret@127.0.0.1:{port}"));
    let answer = call.run();
    answer.must_say(&answer.output(), &["by socks"]);
    let target = proxy.join().expect("it was asked");
    assert_eq!(target, [5, 1, 0, 1, 93, 184, 215, 14, 0, 80]);
}

#[test]
fn https_too_asks_the_proxy_for_the_judged_address() {
    let ws = Workspace::new();
    // It refuses, since a page would need a certificate.
    let proxy = WebServer::always(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let names = NameServer::new(|_, count| match count {
        0 => Found::at(&[PUBLIC]),
        _ => Found::at(&["127.0.0.1"]),
    });
    let call = fetch(&ws, &names, "https://site.example.com/x");
    let answer = call.env("https_proxy", &proxy.url("")).run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    answer.must_say(&message, &["proxy", "403"]);
    assert_eq!(tunnels(&proxy), [format!("{PUBLIC}:443")]);
}

#[test]
fn of_public_and_private_addresses_only_the_public_ones_are_connected_to() {
    let Some((own, canary)) = neighbours() else {
        return;
    };
    let ws = Workspace::new();
    let url = format!("http://mixed.example.com:{}/", own.port());
    for order in [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]] {
        let names = NameServer::new(move |_, _| Found::at(&order));
        let answer = fetch(&ws, &names, &url).env(ALLOW, &own.host()).run();
        answer.must_say(&answer.output(), &["allowed"]);
        // Nor where the allowed one does not answer.
        let answer = fetch(&ws, &names, &url).env(ALLOW, "127.0.0.3/32").run();
        answer.error("policy_violation", 3);
    }
    assert_eq!((own.connections(), canary.connections()), (2, 0));
}

#[test]
fn a_name_that_moves_between_two_questions_gains_nothing() {
    let Some((own, canary)) = neighbours() else {
        return;
    };
    let ws = Workspace::new();
    // Allowed at the first question, inside ever after.
    let names = || {
        NameServer::new(|_, count| match count {
            0 => Found::at(&["127.0.0.2"]),
            _ => Found::at(&["127.0.0.1"]),
        })
    };
    let url = |path: &str| format!("http://moving.example.com:{}{path}", own.port());
    let asked = names();
    let answer = fetch(&ws, &asked, &url("/")).env(ALLOW, &own.host()).run();
    answer.must_say(&answer.output(), &["allowed"]);
    assert_eq!(
        asked.asked().len(),
        1,
        "resolved once, judged, connected to"
    );
    // A redirect to itself is a question of its own, and judged again.
    let answer = fetch(&ws, &names(), &url("/again"))
        .env(ALLOW, &own.host())
        .run();
    answer.error("policy_violation", 3);
    assert_eq!((own.connections(), canary.connections()), (2, 0));
}

#[test]
fn a_redirect_to_a_name_that_leads_inside_is_refused() {
    let ws = Workspace::new();
    let canary = WebServer::canary();
    let location = format!("http://inside.example.com:{}/", canary.port());
    let first = WebServer::always(redirect(307, &location));
    let names = NameServer::new(|_, _| Found::at(&["127.0.0.1", "::1"]));
    let answer = fetch(&ws, &names, &first.url("/"))
        .env(ALLOW, &first.host())
        .run();
    answer.error("policy_violation", 3);
    assert_eq!(canary.connections(), 0);
}

#[test]
fn an_allowed_name_is_fetched_wherever_it_leads() {
    let ws = Workspace::new();
    let server = WebServer::always(page("text/plain", "inside"));
    let names = NameServer::new(|_, _| Found::at(&["127.0.0.1"]));
    let port = server.port();
    for (name, rule) in [
        ("site.test", "site.test".to_owned()),
        ("Site.Test.", "site.test".to_owned()),
        ("site.test", format!("SITE.test:{port}")),
        ("a.b.corp.test", "*.corp.test".to_owned()),
        ("bücher.test", "xn--bcher-kva.test".to_owned()),
    ] {
        let url = format!("http://{name}:{port}/");
        let answer = fetch(&ws, &names, &url).env(ALLOW, &rule).run();
        answer.must_say(&answer.output(), &["inside"]);
    }
    server.forget();
    for (name, rule) in [
        ("evil-site.test", "site.test"),
        ("site.test.evil.test", "site.test"),
        ("corp.test", "*.corp.test"),
        ("evilcorp.test", "*.corp.test"),
        ("site.test", "site.test:1"),
    ] {
        let url = format!("http://{name}:{port}/");
        let answer = fetch(&ws, &names, &url).env(ALLOW, rule).run();
        answer.error("policy_violation", 3);
    }
    assert!(server.asked().is_empty());
}

#[test]
fn a_proxy_gets_the_name_of_an_allowed_host_only() {
    let ws = Workspace::new();
    let proxy = proxy();
    // The company's proxy may be the only one who knows the name.
    let names = NameServer::new(|name, _| match name {
        "net.corp.test" => Found::at(&["10.1.2.3"]),
        _ => Found::Nothing,
    });
    let call = fetch(&ws, &names, "http://intra.corp.test/");
    let call = call
        .env(ALLOW, "intra.corp.test")
        .env("http_proxy", &proxy.url(""));
    call.run().output();
    assert_eq!(tunnels(&proxy), ["intra.corp.test:80"]);
    assert_eq!(names.asked(), [""; 0]);
    proxy.forget();
    // A rule of addresses is not a rule about names: the address that was judged is what is asked for.
    let call = fetch(&ws, &names, "http://net.corp.test/");
    let call = call
        .env(ALLOW, "10.0.0.0/8")
        .env("http_proxy", &proxy.url(""));
    call.run().output();
    assert_eq!(tunnels(&proxy), ["10.1.2.3:80"]);
    proxy.forget();
    let call = fetch(&ws, &names, "http://[fd00::1]:8080/");
    let call = call
        .env(ALLOW, "[fd00::1]:8080")
        .env("http_proxy", &proxy.url(""));
    call.run().output();
    assert_eq!(tunnels(&proxy), ["[fd00::1]:8080"]);
    proxy.forget();
    // Without a rule a name that only the proxy knows is not reached.
    let call = fetch(&ws, &names, "http://other.corp.test/");
    let answer = call.env("http_proxy", &proxy.url("")).run();
    answer.error("web_fetch_fallback_failed", 1);
    let call = fetch(
        &ws,
        &names,
        "http://127.0.0.1:1/ http://[fd00::1]/ http://localhost/",
    );
    let answer = call.env("http_proxy", &proxy.url("")).run();
    answer.error("policy_violation", 3);
    assert_eq!(proxy.asked().len(), 0);
}

#[test]
fn the_variables_choose_the_proxy_and_its_exceptions() {
    let ws = Workspace::new();
    let (http, other) = (proxy(), proxy());
    let server = WebServer::always(page("text/plain", "direct"));
    let names = NameServer::new(|name, _| match name {
        "direct.test" => Found::at(&["127.0.0.1"]),
        _ => Found::at(&[PUBLIC]),
    });
    let url = format!("http://direct.test:{}/", server.port());
    for exceptions in ["direct.test", ".test", "*", "x.test, direct.test"] {
        let call = fetch(&ws, &names, &url).env(ALLOW, "direct.test");
        let call = call
            .env("http_proxy", &http.url(""))
            .env("no_proxy", exceptions);
        let output = call.run().output();
        assert!(output.contains("direct"), "{exceptions}: {output}");
    }
    assert_eq!(http.connections(), 0);
    let call = fetch(&ws, &names, "http://site.example.com/");
    let call = call.env("HTTP_PROXY", &http.url(""));
    let call = call
        .env("all_proxy", &other.url(""))
        .env("NO_PROXY", "direct.test");
    call.run().output();
    assert_eq!((tunnels(&http).len(), other.connections()), (1, 0));
}

#[test]
fn a_proxy_that_fails_is_an_error_without_its_password() {
    let ws = Workspace::new();
    let names = NameServer::new(|_, _| Found::at(&[PUBLIC]));
    let refusing = WebServer::always(
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n".to_vec(),
    );
    let endless = WebServer::new(|_, line| {
        line.send_forever(b"HTTP/1.1 200 OK\r\nX: ", std::time::Duration::ZERO)
    });
    let mute = WebServer::new(|_, _| Ok(()));
    let nobody = "http://127.0.0.1:1".to_owned();
    for (server, piece) in [
        (refusing.host(), "407"),
        (endless.host(), "too large"),
        (mute.host(), "connection closed"),
        (
            nobody.replace("http://", ""),
            "no connection to the proxy 127.0.0.1:1",
        ),
    ] {
        let with_login = format!("http://me:canary-password@{server}");
        let call = fetch(&ws, &names, "http://site.example.com/").env("http_proxy", &with_login);
        let answer = call.run();
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &[piece]);
        assert!(!answer.text().contains("canary-password"), "{message}");
    }
    let login = refusing.asked()[0]
        .header("proxy-authorization")
        .map(str::to_owned);
    assert_eq!(login.as_deref(), Some("Basic bWU6Y2FuYXJ5LXBhc3N3b3Jk"));
    let call = fetch(&ws, &names, "http://site.example.com/")
        .env("http_proxy", "ftp://me:canary-password@x");
    let answer = call.run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    answer.must_say(&message, &["http_proxy"]);
    assert!(!message.contains("canary-password"), "{message}");
}

#[test]
fn names_that_lead_nowhere_are_an_error_of_the_network() {
    let ws = Workspace::new();
    let names = NameServer::new(|name, _| match name {
        "silent.example.com" => Found::Silence,
        "empty.example.com" => Found::Addresses(Vec::new()),
        _ => Found::Nothing,
    });
    for name in ["missing", "empty"] {
        let answer = fetch(&ws, &names, &format!("http://{name}.example.com/")).run();
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &[name, "does not exist"]);
    }
    // What ends the call is its own time.
    let call = fetch(&ws, &names, "http://silent.example.com/");
    let answer = call.env("GEMINI_TOOLS_TIMEOUT", "1").run();
    answer.error("timeout", 124);
    let call = fetch(&ws, &names, "http://site.example.com/");
    let answer = call.env(DNS, "no address").run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    answer.must_say(&message, &["GEMINI_TOOLS_DNS"]);
}
