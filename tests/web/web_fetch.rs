//! `web_fetch` without a credential: what comes from an address, as text for a model, as media, or as an error that
//! says what is wrong. Who may be asked is in [`super::web_fetch_addresses`], what it may cost in
//! [`super::web_fetch_limits`], and what a model makes of it in [`crate::web_fetch_model`].

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzEncoder;
use serde_json::json;
use std::io::Read;

use crate::harness::name_server::DNS;
use crate::harness::name_server::{Found, NameServer};
use crate::harness::web_server::ALLOW;
use crate::harness::web_server::{
    WebServer, answer, chunked, coded, endless_head, gzipped, page, status,
};
use crate::harness::{Answer, Workspace, lines};

/// The smallest image there is.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const ARTICLE: &str = r#"<!doctype html><html><head><title>On
    Herons &amp; others</title><style>p { color: red }</style></head><body>
    <nav><a href="/">Home</a></nav>
    <article><h1>Herons</h1>
    <p>A heron stands in <a href="../water?deep=1#edge">the water</a> for hours, and then, all of a sudden, it does
    not; this is told at length, so that it counts as an article, with commas, as articles have them.</p>
    <p>See <a href="//other.example/x">another site</a> and <a href="javascript:alert(1)">a script</a>.</p>
    <pre><code>let heron = 1;
let water = 2;</code></pre></article>
    <script>document.write("no")</script></body></html>"#;

/// Reads one path of a server that is allowed.
fn read(server: &WebServer, path: &str) -> Answer {
    let ws = Workspace::new();
    let arguments = json!({ "prompt": format!("Read {}", server.url(path)) });
    let call = ws.tool("web_fetch").arguments(&arguments);
    call.env(ALLOW, &server.host()).unwatched().run()
}

/// The text of a page, without the line that names it.
#[track_caller]
pub(super) fn text(server: &WebServer, path: &str) -> String {
    let output = read(server, path).output();
    let head = format!("--- {} ---\n", server.url(path));
    let rest = output.strip_prefix(&head).map(str::to_owned);
    rest.unwrap_or_else(|| panic!("{output:?} does not begin with {head:?}"))
}

#[test]
fn a_page_becomes_markdown_with_its_title_and_whole_links() {
    let server = WebServer::of(vec![(
        "/a/b/page",
        page("text/html; charset=utf-8", ARTICLE),
    )]);
    let found = text(&server, "/a/b/page");
    assert!(found.starts_with("Title: On Herons & others\n"), "{found}");
    let link = format!("[the water]({})", server.url("/a/water?deep=1#edge"));
    for piece in [
        &*link,
        "(http://other.example/x)",
        "a script",
        "let heron = 1;\nlet water = 2;",
    ] {
        assert!(found.contains(piece), "{piece}: {found}");
    }
    for piece in ["document.write", "color: red", "javascript:", "Home"] {
        assert!(!found.contains(piece), "{piece}: {found}");
    }
}

#[test]
fn a_host_that_forgets_how_children_end_gets_the_same_page() {
    let server = WebServer::of(vec![("/a", page("text/html", ARTICLE))]);
    let ws = Workspace::new();
    let arguments = json!({ "prompt": format!("Read {}", server.url("/a")) });
    let call = ws.tool("web_fetch").arguments(&arguments);
    let call = call.env(ALLOW, &server.host()).unwatched();
    let answer = call.in_bash(r#"exec env --ignore-signal=CHLD "$@""#).run();
    assert_eq!(answer.output(), read(&server, "/a").output());
}

#[test]
fn what_is_text_already_comes_byte_for_byte() {
    let body = "{\"a\" :  [1,2.50],\r\n\t\"ü\":\"<b>&amp;\\u00e9</b>\", \"日本\": 1e400}\n\n";
    for media_type in [
        "application/json",
        "application/json; charset=utf-8",
        "application/ld+json",
        "application/vnd.api+json",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "image/svg+xml",
        "text/plain",
        "text/markdown",
        "text/csv",
        "application/yaml",
        "application/javascript",
        "text/x-whatever",
        "application/x-unheard-of",
        "application/octet-stream",
        "",
    ] {
        let server = WebServer::always(answer(
            200,
            &[("Content-Type", media_type)],
            body.as_bytes(),
        ));
        assert_eq!(text(&server, "/x"), format!("\n{body}"), "{media_type}");
    }
}

#[test]
fn every_charset_becomes_the_same_text() {
    let german = "<p>Größe: 5 €</p>";
    let meta = |charset: &str| format!("<html><head><meta charset=\"{charset}\"></head><body>");
    let windows = b"<p>Gr\xf6\xdfe: 5 \x80</p>".to_vec();
    let utf16: Vec<u8> = german.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16_be: Vec<u8> = german.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (media_type, body) in [
        ("text/html; charset=utf-8", german.as_bytes().to_vec()),
        ("text/html;charset=\"UTF-8\"", german.as_bytes().to_vec()),
        ("text/html", german.as_bytes().to_vec()),
        ("text/html; charset=windows-1252", windows.clone()),
        ("text/html; charset=iso-8859-1", windows.clone()),
        (
            "text/html",
            [meta("windows-1252").as_bytes(), &windows].concat(),
        ),
        (
            "text/html",
            [
                &b"<meta http-equiv=Content-Type content='text/html; charset=windows-1252'>"[..],
                &windows,
            ]
            .concat(),
        ),
        (
            "application/xhtml+xml",
            [
                &b"<?xml version='1.0' encoding='windows-1252'?>\n<html xmlns='http://www.w3.org/1999/xhtml'><body>"[..],
                &windows,
                b"</body></html>",
            ]
            .concat(),
        ),
        ("text/html", [b"\xef\xbb\xbf", german.as_bytes()].concat()),
        // The mark at the front knows better than the server.
        (
            "text/html; charset=windows-1252",
            [b"\xef\xbb\xbf", german.as_bytes()].concat(),
        ),
        ("text/html", [b"\xff\xfe", &*utf16].concat()),
        ("text/html", [b"\xfe\xff", &*utf16_be].concat()),
        ("text/html; charset=utf-16le", utf16.clone()),
        // The server knows better than the page; a charset that there is not is none.
        (
            "text/html; charset=utf-8",
            format!("{}{german}", meta("koi8-r")).into_bytes(),
        ),
        ("text/html; charset=none-such", german.as_bytes().to_vec()),
        // What the page says of itself counts where the bytes are not UTF-8, and valid by it.
        (
            "text/html",
            format!("{}{german}", meta("koi8-r")).into_bytes(),
        ),
        ("text/html", [meta("euc-jp").as_bytes(), &windows].concat()),
    ] {
        let server = WebServer::always(page(media_type, &body));
        let found = text(&server, "/");
        assert_eq!(found.trim(), "Größe: 5 €", "{media_type} {body:?}");
    }
    for (charset, body, expected) in [
        ("shift_jis", &b"\x93\xfa\x96{"[..], "日本"),
        ("euc-jp", b"\xc6\xfc\xcb\xdc", "日本"),
        ("koi8-r", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
        ("gb18030", b"\xc4\xe3\xba\xc3", "你好"),
    ] {
        let server = WebServer::always(page(&format!("text/plain; charset={charset}"), body));
        assert_eq!(text(&server, "/"), format!("\n{expected}"), "{charset}");
    }
}

#[test]
fn an_image_is_a_part_for_the_model_to_look_at() {
    let bytes = STANDARD.decode(PNG).expect("base64");
    for media_type in [
        "image/png",
        "Image/PNG; x=y",
        "application/octet-stream",
        "application/octet-stream; charset=utf-8",
        "",
    ] {
        let server = WebServer::always(answer(200, &[("Content-Type", media_type)], &bytes));
        let answer = read(&server, "/heron");
        answer.must_say(&answer.output(), &[&server.url("/heron")]);
        let parts = answer.function_response().parts;
        assert_eq!(parts.len(), 1, "{media_type}");
        assert_eq!(parts[0].inline_data.mime_type, "image/png", "{media_type}");
        assert_eq!(parts[0].inline_data.data, PNG);
    }
}

#[test]
fn a_pdf_document_comes_as_data_as_a_file_does() {
    // Some producers put a line before it.
    for document in [
        &b"%PDF-1.4\n1 0 obj\n<< >>\nendobj\n%%EOF\n"[..],
        b"\n%PDF-1.7\n\xff\x00",
        b"\xef\xbb\xbf\n%PDF-1.7\n",
    ] {
        for media_type in ["application/pdf", "application/octet-stream"] {
            let server = WebServer::always(page(media_type, document));
            let answer = read(&server, "/x.pdf");
            answer.must_say(&answer.output(), &["Document of", &server.url("/x.pdf")]);
            let parts = answer.function_response().parts;
            assert_eq!(parts.len(), 1, "{media_type}");
            assert_eq!(parts[0].inline_data.mime_type, "application/pdf");
            assert_eq!(parts[0].inline_data.data, STANDARD.encode(document));
        }
    }
    let server = WebServer::always(page("application/pdf", "<p>Sorry</p>"));
    let message = read(&server, "/x.pdf").error("web_fetch_fallback_failed", 1);
    assert!(message.contains("is not one"), "{message}");
}

#[test]
fn what_is_neither_text_nor_media_is_an_error_that_names_it() {
    let binary: Vec<u8> = (0..=255).cycle().take(3000).collect();
    for (media_type, body, shown) in [
        ("application/zip", &binary, "application/zip"),
        (
            "application/octet-stream",
            &b"PK\x03\x04\x00\x00\x00\x00\x00".to_vec(),
            "application/zip",
        ),
        ("video/mp4", &binary, "video/mp4"),
        ("audio/ogg", &binary, "audio/ogg"),
        ("font/woff2", &binary, "font/woff2"),
    ] {
        let server = WebServer::always(page(media_type, body));
        let answer = read(&server, "/x");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &[shown, &body.len().to_string(), "not text"]);
    }
}

#[test]
fn a_status_that_is_no_success_is_an_error_that_names_it() {
    for (code, name) in [
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (410, "Gone"),
        (418, "I'm a teapot"),
        (429, "Too Many Requests"),
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
        (304, "Not Modified"),
        (302, "Found"),
        (799, "799"),
    ] {
        let server = WebServer::always(status(code, "text/html", "<p>canary-body"));
        let answer = read(&server, "/x");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &[&code.to_string(), name, &server.url("/x")]);
        // RFC 9110: 304 has no body.
        assert_eq!(message.contains("canary-body"), code != 304, "{message}");
        assert!(!message.contains("<p>"), "{message}");
        assert_eq!(server.asked().len(), 1, "{code}: asked once");
    }
}

#[test]
fn what_a_failing_server_says_is_told_up_to_a_limit() {
    let long = "<html><p>".to_owned() + &"word ".repeat(100_000);
    for (media_type, body, told) in [
        (
            "application/json",
            "{\"error\":\"db down\"}",
            "says: {\"error\":\"db down\"}",
        ),
        (
            "application/problem+json",
            "{\"title\":\"quota\"}",
            "says: {\"title\":\"quota\"}",
        ),
        ("text/plain", "\n  no such\npage \n", "says: no such\npage"),
        (
            "text/html",
            "<script>x()</script><h1>Closed</h1>",
            "says: ## Closed",
        ),
        ("", "plain words", "says: plain words"),
        ("image/png", PNG, "Unavailable."),
        ("text/html", "<script>x()</script>", "Unavailable."),
        ("text/plain", "", "Unavailable."),
        ("text/html", &long, "says: word word"),
    ] {
        let server = WebServer::always(status(503, media_type, body));
        let answer = read(&server, "/x");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &["answered 503 Service Unavailable", told]);
        assert!(message.len() < 2_500, "{}", message.len());
    }
}

#[test]
fn an_answer_that_is_no_http_is_an_error_that_says_so() {
    for bytes in [
        &b""[..],
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"\0\0\0\0",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
    ] {
        let server = WebServer::always(bytes.to_vec());
        let answer = read(&server, "/");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &[&server.url("/")]);
    }
}

#[test]
fn a_page_that_breaks_off_is_told_to_be_part_of_one() {
    let head = endless_head(&[("Content-Type", "text/plain"), ("Content-Length", "100")]);
    let chunk = endless_head(&[
        ("Content-Type", "text/plain"),
        ("Transfer-Encoding", "chunked"),
    ]);
    for bytes in [
        [&head[..], b"the beginning"].concat(),
        [&chunk[..], b"d\r\nthe beginning\r\nff\r\nx"].concat(),
    ] {
        let server = WebServer::always(bytes);
        let found = text(&server, "/");
        assert!(found.contains("the beginning"), "{found}");
        assert!(found.contains("not whole"), "{found}");
    }
}

#[test]
fn all_ways_to_send_a_body_give_the_same() {
    let body = "A heron.\n".repeat(5000);
    let until_end = [
        endless_head(&[("Content-Type", "text/plain")]),
        body.clone().into_bytes(),
    ];
    let server = WebServer::of(vec![
        ("/whole", page("text/plain", &body)),
        ("/chunked", chunked("text/plain", body.as_bytes(), 7)),
        (
            "/large-chunks",
            chunked("text/plain", body.as_bytes(), 40_000),
        ),
        ("/gzip", gzipped("text/plain", body.as_bytes())),
        ("/end", until_end.concat()),
    ]);
    let ws = Workspace::new();
    let settings = r#"{"tools": {"truncateToolOutputThreshold": 1000000}}"#;
    let ws = ws.home(".gemini/settings.json", settings);
    for path in ["/whole", "/chunked", "/large-chunks", "/gzip", "/end"] {
        let arguments = json!({ "url": server.url(path) });
        let call = ws.tool("web_fetch").arguments(&arguments);
        let output = call.env(ALLOW, &server.host()).run().output();
        assert!(
            output.ends_with(&format!("---\n\n{body}")),
            "{path}: {} bytes",
            output.len()
        );
    }
}

fn all(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .expect("memory has no faults");
    bytes
}

#[test]
fn content_codings_are_undone_however_they_are_written() {
    let body = "A heron stands in the water.\n".repeat(100);
    let gzip = all(GzEncoder::new(body.as_bytes(), Compression::fast()));
    for (coding, bytes) in [
        ("x-gzip", &gzip),
        ("GZIP", &gzip),
        ("identity", &body.clone().into_bytes()),
    ] {
        let server = WebServer::always(coded(coding, "text/plain", bytes));
        assert!(text(&server, "/").contains(body.trim_end()), "{coding}");
    }
}

#[test]
fn a_content_coding_that_is_not_known_is_named() {
    for coding in ["zstd", "deflate", "gzip, zstd"] {
        let server = WebServer::always(coded(coding, "text/plain", b"\x28\xb5\x2f\xfd...."));
        let answer = read(&server, "/");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &["content encoding", coding, &server.url("/")]);
    }
    for coding in ["x-gzip", "BR"] {
        let server = WebServer::always(coded(coding, "text/plain", b"no such thing as that"));
        read(&server, "/").error("web_fetch_fallback_failed", 1);
    }
}

#[test]
fn binary_content_without_a_type_is_no_text() {
    for media_type in ["application/octet-stream", "binary/octet-stream", ""] {
        let bytes = b"\x01\x02\0\0data\0\0\xff\xfe";
        let server = WebServer::always(answer(200, &[("Content-Type", media_type)], bytes));
        let answer = read(&server, "/");
        let message = answer.error("web_fetch_fallback_failed", 1);
        answer.must_say(&message, &["application/octet-stream", "not text"]);
    }
}

#[test]
fn text_without_a_type_is_text_whatever_it_begins_like() {
    for media_type in ["application/octet-stream", "binary/octet-stream", ""] {
        for plain in ["just text", "BMW", "the mark of a PDF is %PDF"] {
            let headers = [("Content-Type", media_type)];
            let server = WebServer::always(answer(200, &headers, plain.as_bytes()));
            assert_eq!(text(&server, "/"), format!("\n{plain}"));
        }
    }
}

#[test]
fn blocks_of_a_page_are_apart_and_captions_stay() {
    let html = "<html><body><main><dl><dt>Term</dt><dd>Definition</dd><dt>Other</dt><dd>More</dd></dl>\
        <details><summary>Sum</summary>Body</details><address>Street</address>\
        <fieldset><legend>Legend</legend><label>Label</label></fieldset>\
        <figure><figcaption>Figure</figcaption></figure><header>Head</header>\
        <table><caption>Caption <b>one</b></caption><tr><th>A</th></tr><tr><td>1</td></tr></table>\
        </main></body></html>";
    let server = WebServer::always(page("text/html", html));
    let found = text(&server, "/");
    let lines: Vec<&str> = found
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let blocks = [
        "Term",
        "Definition",
        "Other",
        "More",
        "Sum",
        "Body",
        "Street",
        "Legend",
        "Label",
        "Figure",
        "Head",
        "Caption **one**",
    ];
    assert_eq!(lines.get(..blocks.len()), Some(&blocks[..]), "{found}");
    assert!(found.contains('1'), "{found}");
}

/// A paragraph that Readability takes for a piece of an article.
pub(super) fn paragraph(number: usize) -> String {
    format!(
        "<p>On day {number} the heron stood in the water, as herons do, and waited, patiently, until a fish came by; \
         nobody, not even the fish, expected what happened then, though it happened every day.</p>"
    )
}

/// The text of a page with this head and body.
pub(super) fn text_of(head: &str, body: &str) -> String {
    let html = format!("<html><head><title>A heron</title>{head}</head><body>{body}</body></html>");
    text(&WebServer::always(page("text/html", html)), "/")
}

#[test]
fn an_article_comes_without_the_teasers_and_the_comments_around_it() {
    let article = format!("<div>{}</div>", lines(8, paragraph));
    let teasers = lines(60, |i| {
        format!(
            "<div><a href='/other/articles/of/the/year/with-a-long-address-{i}.html'>\
             <img src='/pictures/of/other/articles/{i}-large.jpg' alt=''>Other {i}</a></div>"
        )
    });
    let comments = lines(30, |i| {
        format!(
            "<div class='comment'><b>Reader {i}</b><div>I have seen heron number {i}, too, and it was, I must say, \
             larger than told here, by far, and it stood elsewhere, near the bridge of the mill.</div></div>"
        )
    });
    let is_article = "<meta property='og:type' content='article'>";
    for (head, around) in [("", teasers), (is_article, comments)] {
        let found = text_of(head, &format!("{article}<div>{around}</div>"));
        for i in 0..8 {
            assert!(found.contains(&format!("On day {i} ")), "{found}");
        }
        for piece in ["Other", "Reader"] {
            assert!(!found.contains(piece), "{found}");
        }
        assert!(found.contains("% of its text"), "{found}");
    }
}

#[test]
fn a_reference_comes_whole_though_its_beginning_reads_like_an_article() {
    let entries = lines(60, |i| {
        format!(
            "<div><h2>option-{i}</h2><table><tr><td>Default</td><td>{i} herons</td></tr>\
             <tr><td>Since</td><td>1.{i}</td></tr></table></div>"
        )
    });
    let beginning = lines(2, paragraph);
    for head in ["", "<meta property='og:type' content='article'>"] {
        let found = text_of(
            head,
            &format!("<div>{beginning}</div><div>{entries}{entries}</div>"),
        );
        for piece in ["On day 1 ", "option-0", "option-59", "59 herons"] {
            assert!(found.contains(piece), "{piece}: {found}");
        }
    }
}

/// How much memory there was for taking a page apart once depended on the addresses that the kernel chose.
#[test]
fn a_large_page_has_the_same_text_each_time() {
    let html = lines(5000, |i| {
        format!(
            "<div><h2>Water {i}</h2><p>The <a href='/heron/{i}'>heron</a> of <b>water</b> number {i}, <i>as told</i>, \
             stands, and then it does not.</p></div>\n"
        )
    });
    let server = WebServer::always(page("text/html", html));
    let settings = r#"{"tools": {"truncateToolOutputThreshold": 0}}"#;
    let ws = Workspace::new().home(".gemini/settings.json", settings);
    let arguments = json!({ "prompt": format!("Read {}", server.url("/")) });
    for _ in 0..4 {
        let call = ws.tool("web_fetch").arguments(&arguments);
        let answer = call.env(ALLOW, &server.host()).unwatched().run();
        let output = answer.output();
        assert!(output.contains("\n## Water 4999\n"), "{output}");
        assert!(output.contains("/heron/4999)"), "{output}");
    }
}

#[test]
fn a_page_gets_a_plain_request_without_anything_of_the_user() {
    let server = WebServer::always(page("text/plain", "x"));
    read(&server, "/path?q=%20a&b#part").output();
    let asked = &server.asked()[0];
    assert_eq!((&*asked.method, &*asked.target), ("GET", "/path?q=%20a&b"));
    assert_eq!(asked.header("host"), Some(&*server.host()));
    let agent = asked.header("user-agent").unwrap_or_default();
    assert!(agent.starts_with("gemini-tools/"), "{agent}");
    assert_eq!(asked.header("accept-encoding"), Some("gzip, br"));
    for name in ["cookie", "authorization", "referer", "x-goog-api-key"] {
        assert_eq!(asked.header(name), None, "{name}");
    }
}

#[test]
fn of_several_pages_those_that_came_are_told_with_the_failures() {
    let server = WebServer::of(vec![
        ("/one", page("text/plain", "first text")),
        ("/two", page("text/html", "<p>second text</p>")),
    ]);
    let ws = Workspace::new();
    let prompt = format!(
        "Compare {}, {} and {} with http://10.0.0.1/x and ftp://a.example/y.",
        server.url("/one"),
        server.url("/missing"),
        server.url("/two")
    );
    let call = ws.tool("web_fetch").arguments(&json!({ "prompt": prompt }));
    let answer = call.env(ALLOW, &server.host()).run();
    let output = answer.output();
    let one = format!("--- {} ---\n\nfirst text", server.url("/one"));
    let two = format!("--- {} ---\n\nsecond text", server.url("/two"));
    let missing = format!("{} answered 404", server.url("/missing"));
    answer.must_say(
        &output,
        &[&one, &two, &missing, "10.0.0.1", "private", "ftp"],
    );
    assert!(
        output.find(&one) < output.find(&two),
        "in the order of the prompt"
    );
    let call = ws.tool("web_fetch").arguments(&json!({ "prompt": prompt }));
    let result = call
        .env(ALLOW, &server.host())
        .flags(&["--output", "result"])
        .run()
        .json();
    let pages = result["data"]["pages"].as_array().expect("a list");
    assert_eq!(pages.len(), 4, "{result}");
}

#[test]
fn a_prompt_must_name_an_address_and_no_more_than_twenty() {
    let ws = Workspace::new();
    for prompt in [
        "Summarize the news.",
        "example.com",
        "www.example.com",
        "mailto:a@b.example",
    ] {
        let answer = ws.call("web_fetch", &json!({ "prompt": prompt }));
        let message = answer.error("web_fetch_no_url_in_prompt", 1);
        answer.must_say(&message, &["https://"]);
    }
    let server = WebServer::always(page("text/plain", "x"));
    let urls = |n: usize| {
        (0..n)
            .map(|i| server.url(&format!("/{i}")))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let fetch = |prompt: String| {
        let call = ws.tool("web_fetch").arguments(&json!({ "prompt": prompt }));
        call.env(ALLOW, &server.host()).run()
    };
    let message = fetch(urls(21)).error("invalid_tool_params", 2);
    assert!(
        message.contains("21") && message.contains("20"),
        "{message}"
    );
    assert_eq!(server.connections(), 0);
    fetch(urls(20)).output();
    assert_eq!(server.connections(), 20);
    // The same address is one page.
    server.forget();
    fetch(vec![urls(1); 30].join(" ")).output();
    assert_eq!(server.asked().len(), 1);
    for arguments in [
        json!({}),
        json!({"prompt": 7}),
        json!({"prompt": ""}),
        json!({"prompt": null}),
    ] {
        let failure = ws.call("web_fetch", &arguments).failure();
        assert!(
            failure.message.contains("prompt"),
            "{arguments}: {failure:?}"
        );
    }
}

#[test]
fn the_page_of_a_file_on_github_becomes_the_file() {
    // What the proxy is asked for is seen; for an answer it would need GitHub's certificate.
    let proxy = WebServer::always(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let names = NameServer::new(|_, _| Found::at(&["185.199.108.133"]));
    let ws = Workspace::new();
    let fetch = |url: &str| {
        let call = ws.tool("web_fetch").arguments(&json!({ "prompt": url }));
        call.env(DNS, &names.address())
            .env("https_proxy", &proxy.url(""))
    };
    let blob = "https://github.com/o/r/blob/main/src/x.rs";
    let answer = fetch(blob).run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    let raw = "https://raw.githubusercontent.com/o/r/main/src/x.rs";
    answer.must_say(&message, &[raw]);
    assert_eq!(proxy.targets(), ["185.199.108.133:443"]);
    assert_eq!(names.asked(), ["raw.githubusercontent.com"]);
    let plan = fetch(blob).flags(&["--explain"]).run().json();
    assert_eq!(plan["confirmation"]["urls"], json!([raw]));
    fetch("https://github.com/o/r/tree/main/src")
        .run()
        .failure();
    assert_eq!(names.asked()[1..], ["github.com"]);
}

#[test]
fn the_shell_of_a_program_is_told_to_be_one() {
    let script = format!("<script>{}</script>", "let x = 1;".repeat(400));
    let shell = format!(
        "<html><head><title>App</title>{script}</head><body><div id=root></div>{script}</body></html>"
    );
    let server = WebServer::always(page("text/html", shell));
    let found = text(&server, "/");
    assert!(
        found.contains("Title: App") && found.contains("scripts"),
        "{found}"
    );
    assert!(!found.contains("let x"), "{found}");
}

#[test]
fn a_page_without_text_says_so_and_whether_it_needs_a_script() {
    for (media_type, body, said) in [
        (
            "text/html",
            "<title>App</title><div id=root></div><SCRIPT src=a.js></SCRIPT>",
            "needs scripts",
        ),
        (
            "application/xhtml+xml",
            "<html><body><script>x()</script></body></html>",
            "needs scripts",
        ),
        ("text/html", "<title>Empty</title>", "has no text"),
        ("text/html", "", "has no text"),
        ("text/plain", " \n", "has no text"),
    ] {
        let found = text(&WebServer::always(page(media_type, body)), "/");
        assert!(found.contains(said), "{media_type} {body}: {found}");
    }
    let found = text(
        &WebServer::always(page("text/html", "<p>Hello<script>x()</script>")),
        "/",
    );
    assert_eq!(found.trim(), "Hello");
}

#[test]
fn explaining_names_the_pages_and_asks_nobody() {
    let server = WebServer::always(page("text/plain", "x"));
    let ws = Workspace::new();
    let prompt = format!("Compare {} with https://b.example/y.", server.url("/x"));
    let call = ws.tool("web_fetch").arguments(&json!({ "prompt": prompt }));
    let answer = call.env(ALLOW, &server.host()).flags(&["--explain"]).run();
    let plan = answer.json();
    assert_eq!(plan["confirmation"]["type"], "info");
    assert_eq!(plan["confirmation"]["prompt"], prompt);
    let urls = json!([server.url("/x"), "https://b.example/y"]);
    assert_eq!(plan["confirmation"]["urls"], urls);
    assert_eq!((answer.status(), server.connections()), (0, 0));
}
