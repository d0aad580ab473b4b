//! `web_fetch` and servers that send too much, too slowly, without end, or what a parser dies of: the call ends, says
//! what is missing, and neither it nor a process of its own ever holds more than 128 MiB.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::harness::web_server::ALLOW;
use crate::harness::web_server::{WebServer, chunked, endless_head, gzip_bomb, page, redirect};
use crate::harness::{Answer, Call, Workspace, lines};

/// The largest resident set of a process that a call may have: pages are taken apart in one of their own.
const MAX_MIB: u64 = 128;

fn fetch<'a>(ws: &'a Workspace, server: &WebServer, prompt: &str) -> Call<'a> {
    let call = ws.tool("web_fetch").arguments(&json!({ "prompt": prompt }));
    call.env(ALLOW, &server.host()).unwatched()
}

/// The answer for `prompt`, got within the limit of memory.
#[track_caller]
fn measured(ws: &Workspace, server: &WebServer, prompt: &str) -> Answer {
    let (answer, mib) = fetch(ws, server, prompt).run_measured();
    if mib > MAX_MIB {
        answer.fail(&format!("{mib} MiB were held"));
    }
    answer
}

/// The output for the only page of a server.
#[track_caller]
fn output(server: &WebServer) -> String {
    measured(&Workspace::new(), server, &server.url("/")).output()
}

#[test]
fn of_a_large_page_the_beginning_is_read_and_the_rest_is_told() {
    let html = format!(
        "<title>Large</title>{}",
        "<p>Some words of a page.</p>\n".repeat(750_000)
    );
    let text = "Some words of a text.\n".repeat(950_000);
    assert!(html.len() > 20_000_000 && text.len() > 20_000_000);
    for answer in [
        page("text/html", &html),
        chunked("text/html", html.as_bytes(), 100_000),
        page("text/plain", &text),
        page("application/json", &text),
    ] {
        let server = WebServer::always(answer);
        let found = output(&server);
        assert!(found.contains("Some words of a"), "{found}");
        assert!(found.contains("not whole"), "{found}");
        assert!(
            found.chars().count() < 45_000,
            "{} characters",
            found.chars().count()
        );
    }
}

#[test]
fn what_is_not_shown_of_a_long_page_is_in_a_file() {
    let text = "Some words of a text.\n".repeat(5000);
    let server = WebServer::always(page("text/plain", &text));
    let ws = Workspace::new();
    let found = fetch(&ws, &server, &server.url("/")).run().output();
    let place = found
        .split('"')
        .chain(found.split_whitespace())
        .map(|w| w.trim_matches(|c: char| "`'.,;:()[]".contains(c)));
    let file = place
        .filter(|word| word.starts_with(ws.root().to_str().expect("UTF-8")))
        .find(|word| fs::metadata(word).is_ok_and(|m| m.is_file()));
    let kept = fs::read_to_string(file.unwrap_or_else(|| panic!("no file is named: {found}")))
        .expect("the file");
    assert!(kept.contains(&text));
}

#[test]
fn a_gzip_bomb_is_unpacked_no_further_than_the_limit() {
    for media_type in ["text/html", "text/plain", "application/pdf", "image/png"] {
        let server = WebServer::always(gzip_bomb(media_type, 1024));
        let answer = measured(&Workspace::new(), &server, &server.url("/"));
        match media_type {
            "text/html" | "text/plain" => answer.must_say(&answer.output(), &["not whole"]),
            _ => answer.must_say(&answer.failure().message, &["too large"]),
        }
    }
}

#[test]
fn an_answer_without_end_is_read_up_to_the_limit() {
    for media_type in ["text/html", "text/plain", "application/json", ""] {
        let server = WebServer::new(move |_, line| {
            let kind = [("Content-Type", media_type)];
            line.send(endless_head(if media_type.is_empty() {
                &[]
            } else {
                &kind
            }))?;
            let piece = "<p>A heron, and again a heron.</p>\n".repeat(1000);
            line.send_forever(piece.as_bytes(), Duration::ZERO)
        });
        let found = output(&server);
        assert!(found.contains("not whole"), "{media_type}: {found}");
    }
}

#[test]
fn chunks_without_end_are_read_up_to_the_limit() {
    let server = WebServer::new(|_, line| {
        line.send(endless_head(&[
            ("Content-Type", "text/plain"),
            ("Transfer-Encoding", "chunked"),
        ]))?;
        let chunk = format!("1f4\r\n{}\r\n", "heron".repeat(100));
        line.send_forever(chunk.repeat(100).as_bytes(), Duration::ZERO)
    });
    assert!(output(&server).contains("not whole"));
    // The length of a chunk, its extension, and what follows the last one, are not content.
    for piece in [&b"0"[..], b"5;x=y", b"0\r\nX: y\r\n"] {
        let server = WebServer::new(move |_, line| {
            line.send(endless_head(&[
                ("Content-Type", "text/plain"),
                ("Transfer-Encoding", "chunked"),
            ]))?;
            line.send_forever(&piece.repeat(1000), Duration::from_millis(1))
        });
        let ws = Workspace::new();
        let prompt = server.url("/");
        let call = fetch(&ws, &server, &prompt).env("GEMINI_TOOLS_TIMEOUT", "1");
        assert_ne!(call.run().status(), 0);
    }
}

#[test]
fn a_head_without_end_is_an_error() {
    for (piece, error, status) in [
        (&b"X-Heron: 1\r\n"[..], "web_fetch_fallback_failed", 1),
        (b"x", "web_fetch_fallback_failed", 1),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", "timeout", 124),
    ] {
        let server = WebServer::new(move |_, line| {
            if piece.starts_with(b"HTTP/") {
                // No limit ends this one but that of time.
                return line.send_forever(&piece.repeat(1000), Duration::from_millis(1));
            }
            line.send(b"HTTP/1.1 200 OK\r\n")?;
            line.send_forever(&piece.repeat(100), Duration::ZERO)
        });
        let ws = Workspace::new();
        let call = fetch(&ws, &server, &server.url("/")).env("GEMINI_TOOLS_TIMEOUT", "3");
        call.run().error(error, status);
    }
}

#[test]
fn a_server_that_drips_or_says_nothing_ends_with_the_calls_time() {
    let body = WebServer::new(|_, line| {
        line.send(endless_head(&[("Content-Type", "text/plain")]))?;
        line.send_forever(b".", Duration::from_millis(50))
    });
    let head = WebServer::new(|_, line| {
        line.send(b"HTTP/1.1 200 OK\r\nX: ")?;
        line.send_forever(b".", Duration::from_millis(50))
    });
    let silent = WebServer::new(|_, line| line.be_silent());
    let half = WebServer::new(|_, line| {
        line.send(endless_head(&[
            ("Content-Type", "text/plain"),
            ("Content-Length", "9"),
        ]))?;
        line.send("half")?;
        line.be_silent()
    });
    let hops = WebServer::new(|_, line| {
        std::thread::sleep(Duration::from_millis(300));
        line.send(redirect(302, "/"))
    });
    for server in [&body, &head, &silent, &half, &hops] {
        let ws = Workspace::new();
        let call = fetch(&ws, server, &server.url("/"));
        let answer = call.env("GEMINI_TOOLS_TIMEOUT", "1").run();
        let message = answer.error("timeout", 124);
        let why = "longer than its time limit, 1 s (GEMINI_TOOLS_TIMEOUT), and was ended.";
        answer.must_say(&message, &[why, "raise GEMINI_TOOLS_TIMEOUT (seconds)"]);
    }
}

#[test]
fn slow_pages_do_not_take_the_others_with_them() {
    for drips in [false, true] {
        let server = WebServer::new(move |asked, line| match &*asked.target {
            path if path.ends_with("/slow") && drips => {
                line.send(b"HTTP/1.1 200 OK\r\nX: ")?;
                line.send_forever(b".", Duration::from_millis(50))
            }
            path if path.ends_with("/slow") => line.be_silent(),
            path => line.send(page("text/plain", format!("Text of {path}."))),
        });
        // The slow ones take all time that there is, in one group or in each of several.
        for count in [2, 9, 16] {
            let path = |i| {
                if i % 4 == 1 {
                    format!("/{i}/slow")
                } else {
                    format!("/{i}")
                }
            };
            let paths: Vec<String> = (0..count).map(path).collect();
            let urls: Vec<String> = paths.iter().map(|path| server.url(path)).collect();
            let (ws, prompt) = (Workspace::new(), urls.join(" "));
            let answer = fetch(&ws, &server, &prompt)
                .env("GEMINI_TOOLS_TIMEOUT", "8")
                .run();
            let output = answer.output();
            for (path, url) in paths.iter().zip(&urls) {
                let text = format!("Text of {path}.");
                let missing = format!("Not fetched: {url} took longer than");
                let is_slow = path.ends_with("slow");
                answer.must_say(&output, &[if is_slow { &missing } else { &text }]);
            }
        }
    }
}

#[test]
fn a_server_that_stays_silent_is_named_with_the_seconds_that_were_waited() {
    let silent = WebServer::new(|_, line| {
        line.send(endless_head(&[("Content-Type", "text/plain")]))?;
        line.be_silent()
    });
    let ws = Workspace::new();
    let answer = fetch(&ws, &silent, &silent.url("/")).run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    answer.must_say(&message, &["10 s"]);
    assert!(!message.contains("GEMINI_TOOLS_TIMEOUT"), "{message}");
}

#[test]
fn deep_nesting_and_odd_pages_still_have_their_text() {
    let times = |n: usize, piece: &str| format!("<p>the heron</p>{}", piece.repeat(n));
    let attributes = lines(3000, |i| format!("a{i} "));
    for (name, html) in [
        ("div", times(300_000, "<div>")),
        ("b", times(300_000, "<b>")),
        ("lists", times(200_000, "<ul><li>")),
        ("tables", times(120_000, "<table><tr><td>")),
        ("formatting", times(150_000, "<a><font>")),
        ("templates", times(100_000, "<template>")),
        ("almost too deep", times(500, "<div><p>x")),
        ("line breaks", times(40_000, "<br>")),
        ("paragraphs", times(400_000, "<p>x")),
        ("links", times(10_000, "<a href='/x'>y</a> ")),
        (
            "attributes",
            format!("<p {}>the heron</p>", "a=b ".repeat(100_000)),
        ),
        (
            "distinct attributes",
            format!("<p {attributes}>the heron</p>"),
        ),
        ("signs", times(50_000, "<")),
        ("comments", times(200_000, "<!--")),
        ("entities", times(30_000, "&amp;")),
        ("zeros", times(500_000, "\0")),
        (
            "scripts without an end, deep down",
            format!(
                "<p>the heron</p>{}{}",
                "<div>".repeat(700),
                "<script>".repeat(180_000)
            ),
        ),
    ] {
        let server = WebServer::always(page("text/html", html));
        let answer = measured(&Workspace::new(), &server, &server.url("/"));
        assert!(
            answer.output().contains("the heron"),
            "{name}: {}",
            answer.text()
        );
    }
}

#[test]
fn twenty_large_pages_at_once_are_held_within_the_limit() {
    let text = "Some words of a text.\n".repeat(100_000);
    let server = WebServer::always(page("text/plain", text));
    let urls: Vec<String> = (0..20).map(|i| server.url(&format!("/{i}"))).collect();
    let ws = Workspace::new();
    measured(&ws, &server, &urls.join(" ")).output();
}
