//! How MCP servers are reached, and what is said where they are not: those that die at once, the newest greeting and its
//! unfinished answers, server-sent events, proxies.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::mcp::{Helper, Servers};

/// A server with this entry.
fn one(entry: &Value) -> Servers {
    Servers::configured(Workspace::new(), json!({ "one": entry }), &json!({}))
}

/// Starts a script that prints its port.
pub(super) fn listening(ws: &Workspace, script: &str, args: &[&str]) -> (Helper, u16) {
    let mut command = Command::new("python3");
    command.arg(ws.outside_path(script)).args(args);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    let mut port = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut port).expect("a port");
    (Helper(child), port.trim().parse().expect("a port"))
}

/// Writes the user's settings.
fn configure(ws: &Workspace, entry: &Value) {
    let settings = json!({"mcpServers": { "one": entry }}).to_string();
    fs::create_dir_all(ws.root().join("home/.gemini")).expect("made");
    fs::write(ws.root().join("home/.gemini/settings.json"), settings).expect("written");
}

#[test]
fn a_server_that_ends_at_once_has_its_reason_told_each_time() {
    let script = "echo missing API token >&2; exit 3";
    let s = one(&json!({"command": "sh", "args": ["-c", script]}));
    for _ in 0..12 {
        let message = s.call("one__x", &json!({})).error("mcp_tool_error", 1);
        assert_eq!(
            message,
            "The MCP server one exited with status 3 before it answered: \"missing API token\". See \
             mcpServers.one in ~/.gemini/settings.json:1."
        );
    }
    for (script, reason) in [
        ("kill -9 $$", "was ended by SIGKILL before it answered."),
        ("exit 0", "exited with status 0 before it answered."),
        (
            "exec >&-; sleep 60",
            "closed its standard output before it answered.",
        ),
    ] {
        let s = one(&json!({"command": "sh", "args": ["-c", script]}));
        let answer = s.call("one__x", &json!({}));
        answer.must_say(&answer.error("mcp_tool_error", 1), &[reason]);
        s.all_gone();
    }
}

#[test]
fn only_a_call_that_was_handed_over_may_have_had_an_effect() {
    let s = Servers::new(&[("one", "plain", json!({}))]);
    let died = s.call("one__crash", &json!({})).error("mcp_tool_error", 1);
    assert_eq!(
        died,
        "The MCP server one exited with status 3 before it answered: \"a last word\". Whether the call \
         has had an effect is not known."
    );
    s.all_gone();
}

#[test]
fn an_address_where_nobody_listens_is_told_with_the_reason_and_the_file() {
    // A bound socket that does not listen keeps the port from others.
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = SocketAddrV4::try_from(getsockname(&socket).expect("its address"));
    let port = address.expect("of IPv4").port();
    for kind in ["httpUrl", "url"] {
        let mut entry = json!({});
        entry[kind] = format!("http://127.0.0.1:{port}/secret").into();
        let s = one(&entry);
        let answer = s.call("one__x", &json!({}));
        answer.must_say(
            &answer.error("mcp_tool_error", 1),
            &[
                "The MCP server one can't be reached: Connection refused (os error ",
                "). See mcpServers.one in ~/.gemini/settings.json:1.",
            ],
        );
        // The project's file is another one.
        let settings = json!({"mcpServers": { "two": entry }}).to_string();
        let s = Servers {
            ws: s.ws.file(".gemini/settings.json", settings),
        };
        let call = s.tool("two__x", &json!({}));
        let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
        let file = format!(
            "See mcpServers.two in {}",
            s.ws.path(".gemini/settings.json")
        );
        answer.must_say(&answer.error("mcp_tool_error", 1), &[&file]);
    }
}

#[test]
fn a_server_of_the_newest_revision_is_greeted_its_way_however_it_refuses_the_older() {
    let ws = Workspace::new().outside("newest.py", include_str!("servers/newest.py"));
    let notes = ws.outside_path("notes");
    let expected = r#"{"responses": null, "state": null}"#;
    for (code, status) in [
        ("-32601", "404"),
        ("-32022", "400"),
        ("-32020", "400"),
        ("-32600", "400"),
        ("-32602", "200"),
        ("-32000", "400"),
        ("0", "400"),
    ] {
        let (_server, port) = listening(&ws, "newest.py", &[code, status, &notes]);
        for kind in ["httpUrl", "url"] {
            let mut entry = json!({});
            entry[kind] = format!("http://127.0.0.1:{port}/mcp").into();
            configure(&ws, &entry);
            let answer = ws.tool("one__plain").unwatched().run();
            assert_eq!(answer.output(), expected, "{code} {status} {kind}");
        }
        if code == "0" {
            continue;
        }
        let args = json!([ws.outside_path("newest.py"), code, status, notes, "stdio"]);
        configure(&ws, &json!({"command": "python3", "args": args}));
        let answer = ws.tool("one__plain").unwatched().run();
        assert_eq!(answer.output(), expected, "{code} on standard streams");
    }
}

#[test]
fn an_answer_that_is_not_complete_is_completed_or_is_an_error() {
    let ws = Workspace::new().outside("newest.py", include_str!("servers/newest.py"));
    let notes = ws.outside_path("notes");
    let (_server, port) = listening(&ws, "newest.py", &["-32601", "404", &notes]);
    configure(
        &ws,
        &json!({"httpUrl": format!("http://127.0.0.1:{port}/mcp")}),
    );
    let call = |name: &str| ws.tool(&format!("one__{name}")).unwatched().run();
    let said = |name: &str| -> Value { serde_json::from_str(&call(name).output()).expect("JSON") };
    let root = format!("file://{}", ws.dir().display());
    assert_eq!(
        said("roots"),
        json!({"responses": {"q": {"roots": [{"uri": root}]}}, "state": "s"})
    );
    assert_eq!(
        said("form"),
        json!({"responses": {"q": {"action": "decline"}}, "state": "s"})
    );
    assert_eq!(said("state"), json!({"responses": null, "state": "only"}));
    for (name, reason) in [
        ("model", "asks for \"sampling/createMessage\""),
        ("nothing", "does not say for what"),
        ("endless", "was not complete after 10 requests"),
        ("later", "a result of the type \"from the future\""),
    ] {
        let answer = call(name);
        answer.must_say(&answer.error("mcp_tool_error", 1), &[reason]);
    }
    let notes = fs::read_to_string(notes).expect("noted");
    let count = |name: &str| {
        notes
            .lines()
            .filter(|l| **l == format!("call {name}"))
            .count()
    };
    assert_eq!(
        (count("roots"), count("model"), count("endless")),
        (2, 1, 10)
    );
}

#[test]
fn lines_of_events_may_end_in_a_carriage_return_alone() {
    let ws = Workspace::new().outside("events.py", include_str!("servers/events.py"));
    let (_server, port) = listening(&ws, "events.py", &[]);
    configure(&ws, &json!({"url": format!("http://127.0.0.1:{port}/sse")}));
    let answer = ws.tool("one__big").unwatched().run();
    assert!(answer.output().ends_with("xEND"), "{}", answer.shown());
}

#[test]
fn servers_are_reached_by_the_proxy_that_all_requests_go_by() {
    let ws = Workspace::new().outside("redirects.py", include_str!("servers/redirects.py"));
    let notes = ws.outside_path("notes");
    let (_proxy, port) = listening(&ws, "redirects.py", &[&notes]);
    let proxy = format!("http://127.0.0.1:{port}");
    configure(&ws, &json!({"httpUrl": "http://mcp.invalid:81/mcp"}));
    let asked = |variables: &[(&str, &str)]| {
        let call = ws.tool("one__x").unwatched();
        let call = variables.iter().fold(call, |call, (k, v)| call.env(k, v));
        let message = call.run().error("mcp_tool_error", 1);
        let notes = fs::read_to_string(&notes).unwrap_or_default();
        let _ = fs::remove_file(ws.outside_path("notes"));
        (notes.contains("mcp.invalid:81"), message)
    };
    assert!(asked(&[("http_proxy", &proxy)]).0);
    assert!(asked(&[("all_proxy", &proxy)]).0);
    let except = |hosts| asked(&[("http_proxy", proxy.as_str()), ("no_proxy", hosts)]).0;
    assert!(!except("mcp.invalid") && !except(".invalid"));
    assert!(except("other.invalid"));
    let served = [("HTTP_PROXY", proxy.as_str()), ("REQUEST_METHOD", "GET")];
    assert!(!asked(&served).0);
    let (_, message) = asked(&[("http_proxy", "ftp://127.0.0.1")]);
    assert!(
        message.contains("variable http_proxy names no proxy"),
        "{message}"
    );
    // SOCKS is spoken as well.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let socks = format!("socks5h://{address}");
    let first = thread::spawn(move || {
        let mut version = [0];
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut version).expect("a greeting");
        version[0]
    });
    let _ = asked(&[("all_proxy", &socks)]);
    // Where none came this one is heard, so that the thread ends.
    if let Ok(mut other) = TcpStream::connect(address) {
        drop(other.write_all(&[0]));
    }
    assert_eq!(first.join().expect("heard"), 5);
}
