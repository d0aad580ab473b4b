//! What `serve_tools` does for one host and not for others: hints, and answers within the host's limit.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::served::{greeted_by, text};
use crate::harness::client::{Server, greeting};
use crate::harness::{Workspace, executable};

const LINES: usize = 4000;

/// A workspace with a file of 200 KB.
fn workspace() -> Workspace {
    let lines = (1..=LINES).map(|n| format!("line {n:>4} {}\n", "x".repeat(40)));
    let long = lines.collect::<Vec<_>>().concat();
    Workspace::new().file("long.txt", long)
}

/// Reads the whole file, by a model of this name.
fn read_long(server: &mut Server, model: &str) -> String {
    read_as(server, model, "call_1")
}

/// Reads the whole file by a call with this id.
fn read_as(server: &mut Server, model: &str, id: &str) -> String {
    let call = json!({
        "name": "read_file",
        "arguments": {"absolute_path": "long.txt", "limit": LINES},
        "_meta": {"callId": id, "x-codex-turn-metadata": {"model": model}},
    });
    text(&server.ask("tools/call", &call)["result"]).to_owned()
}

/// Returns with which offset the note of a cut read says to read on, and the lines that it shows.
#[track_caller]
fn shown(answer: &str) -> (usize, &str) {
    let rest = answer.strip_prefix('[').expect("a note");
    let (note, shown) = rest.split_once("]\n\n").expect("its end");
    let (_, offset) = note
        .split_once("call read_file with offset ")
        .expect("a way");
    let offset = offset.trim_end_matches('.').parse().expect("a number");
    assert_eq!(shown.lines().count(), offset, "{note}");
    (offset, shown)
}

/// Follows the note of a cut read, and asserts that the call that it names reads on at once.
#[track_caller]
fn follow(server: &mut Server, answer: &str) {
    let (offset, _) = shown(answer);
    let args = json!({"absolute_path": "long.txt", "offset": offset, "limit": 1});
    let next = server.call("read_file", &args);
    let line = format!("line {:>4} x", offset + 1);
    assert!(text(&next).contains(&line), "{next}");
}

#[test]
fn an_answer_is_cut_to_what_the_host_hands_to_its_model() {
    for (client, model, limit) in [
        ("codex-mcp-client", "", 12_000),
        ("codex-mcp-client", "gpt-5.1-codex", 12_000),
        ("codex-mcp-client", "gpt-6-sol", 48_000),
        ("claude-code", "", 75_000),
        ("qwen-cli-mcp-client-gemini-tools", "", 25_000),
        ("gemini-cli-mcp-client-gemini-tools", "", 40_000),
        ("opencode", "", 51_200),
        ("kilo", "", 51_200),
        ("copilot-cli", "", 20_480),
    ] {
        let ws = workspace();
        let mut server = greeted_by(&ws, client, &[]);
        let answer = read_long(&mut server, model);
        let size = answer.len();
        assert!(
            (limit / 8 * 7 - 700..=limit).contains(&size),
            "{client} {model}: {size}"
        );
        follow(&mut server, &answer);
        let shown = server.call("run_shell_command", &json!({"command": "cat long.txt"}));
        let shown = text(&shown);
        assert!(
            shown.len() <= limit && !shown.contains("bytes are left out here"),
            "{shown}"
        );
        let short = server.call(
            "read_file",
            &json!({"absolute_path": "long.txt", "limit": 100}),
        );
        assert!(!text(&short).contains("bytes are left out"), "{client}");
    }
    for (client, id) in [("another", "call_1"), ("codex-mcp-client", "exec-1")] {
        let ws = workspace();
        let mut server = greeted_by(&ws, client, &[]);
        let answer = read_as(&mut server, "gpt-6-sol", id);
        assert!(answer.len() > 200_000, "{client}");
    }
}

#[test]
fn a_limit_of_codex_that_the_user_has_set_counts() {
    let ws = workspace().home(".codex/config.toml", "tool_output_token_limit = 20000\n");
    let mut server = greeted_by(&ws, "codex-mcp-client", &[]);
    let answer = read_long(&mut server, "gpt-6-sol");
    assert!((83_000..96_000).contains(&answer.len()), "{}", answer.len());
    follow(&mut server, &answer);
    let ws = workspace().home(".codex/config.toml", "tool_output_token_limit = \n");
    let mut server = greeted_by(&ws, "codex-mcp-client", &[]);
    assert!(read_long(&mut server, "m").len() < 12_000);
}

#[test]
fn where_nothing_can_be_kept_the_note_says_to_narrow_the_call_down() {
    let ws = workspace();
    let mut server = greeted_by(&ws, "codex-mcp-client", &[("GEMINI_CLI_HOME", "/dev/null")]);
    let args = json!({"pattern": "x", "names_only": false});
    let answer = server.call("search_file_content", &args);
    let answer = text(&answer);
    assert!(
        answer.contains("Narrow the call down to see them."),
        "{answer}"
    );
}

#[test]
fn claude_code_alone_gets_hints() {
    let ws = Workspace::new();
    let hints = |client: &str| -> Vec<(String, Value)> {
        let mut server = greeted_by(&ws, client, &[]);
        let listed = server.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"]
            .as_array()
            .expect("a list")
            .clone();
        let hint = |tool: &Value| {
            Some((
                tool["name"].as_str()?.to_owned(),
                tool.get("_meta")?.clone(),
            ))
        };
        tools.iter().filter_map(hint).collect()
    };
    let all = hints("claude-code");
    assert_eq!(all.len(), 16);
    let (always, deferred): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, hint)| hint["anthropic/alwaysLoad"] == true);
    let names: Vec<_> = always.iter().map(|(name, _)| &**name).collect();
    let expected = [
        "glob",
        "read_file",
        "replace",
        "run_shell_command",
        "search_file_content",
        "write_file",
    ];
    assert_eq!(names, expected);
    for (name, hint) in always.into_iter().chain(deferred) {
        assert_eq!(hint["anthropic/maxResultSizeChars"], 75_000, "{name}");
    }
    for client in ["codex-mcp-client", "qwen-cli-mcp-client-x", "another"] {
        assert_eq!(hints(client), [], "{client}");
    }
}

/// A host as an MCP client: what it sends, as it was seen, and what it shows its model whole.
struct Seen {
    name: &'static str,
    version: &'static str,
    /// The version of the protocol, in which the newest one has no greeting.
    protocol: &'static str,
    capabilities: &'static str,
    shows: fn(&Value) -> bool,
}

const SEEN: [Seen; 4] = [
    Seen {
        name: "opencode",
        version: "1.18.33",
        protocol: "2025-11-25",
        capabilities: r#"{"roots": {}}"#,
        shows: |result| text(result).len() <= 51_200 && text(result).split('\n').count() <= 2000,
    },
    Seen {
        name: "copilot-cli",
        version: "1.0.102",
        protocol: "2026-07-28",
        capabilities: r#"{"sampling": {}, "elicitation": {"form": {}, "url": {}}}"#,
        shows: |result| text(result).len() <= 20_480,
    },
    Seen {
        name: "goose-cli",
        version: "1.52.0",
        protocol: "2026-07-28",
        capabilities: r#"{"extensions": {}, "roots": {}, "sampling": {}, "elicitation": {}}"#,
        shows: |result| text(result).chars().count() <= 200_000,
    },
    Seen {
        name: "@cline/core",
        version: "0.0.0",
        protocol: "2024-11-05",
        capabilities: "{}",
        // The result itself, without what newer versions of the protocol add.
        shows: |result| result.to_string().encode_utf16().count() <= 8000,
    },
];

/// A server with one of these clients.
struct Talk<'a> {
    server: Server,
    host: &'a Seen,
    roots: Value,
}

impl<'a> Talk<'a> {
    fn begin(ws: &Workspace, host: &'a Seen, variables: &[(&str, &str)]) -> Self {
        let mut server = Server::start_with(ws, &[], variables);
        let roots = json!({"roots": [{"uri": format!("file://{}", ws.dir().display())}]});
        if host.protocol < "2026" {
            let mut greeting = greeting(host.protocol, &host.capabilities());
            greeting["clientInfo"] = json!({"name": host.name, "version": host.version});
            server.ask("initialize", &greeting);
            server.notify("notifications/initialized", &json!({}));
            if host.capabilities().get("roots").is_some() {
                server.answer_request("roots/list", &roots);
            }
        }
        Self {
            server,
            host,
            roots,
        }
    }

    fn call(&mut self, tool: &str, args: &Value) -> Value {
        let mut call = json!({"name": tool, "arguments": args});
        if self.host.protocol < "2026" {
            return self.server.ask("tools/call", &call)["result"].clone();
        }
        call["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": self.host.protocol,
            "io.modelcontextprotocol/clientInfo":
                {"name": self.host.name, "version": self.host.version},
            "io.modelcontextprotocol/clientCapabilities": self.host.capabilities(),
        });
        let result = self.server.ask("tools/call", &call)["result"].clone();
        if result["resultType"] != "input_required" {
            return result;
        }
        call["inputResponses"] = json!({"roots": self.roots});
        self.server.ask("tools/call", &call)["result"].clone()
    }
}

impl Seen {
    fn capabilities(&self) -> Value {
        serde_json::from_str(self.capabilities).expect("JSON")
    }
}

#[test]
fn a_model_sees_each_answer_once_whole_or_with_the_line_that_comes_next() {
    let numbered = |count: usize, width: usize| {
        let line = |n: usize| format!("{:width$}\n", format!("{n} \"é\\\t🙂 line"));
        (1..=count).map(line).collect::<String>()
    };
    for host in &SEEN {
        let ws = Workspace::new();
        let mut talk = Talk::begin(&ws, host, &[]);
        let mut sizes = Vec::new();
        for (count, width) in [(3, 20), (300, 40), (1500, 40), (3000, 90), (2500, 14)] {
            let whole = numbered(count, width);
            fs::write(ws.path("a.txt"), &whole).expect("written");
            let args = json!({"absolute_path": "a.txt", "limit": count});
            let result = talk.call("read_file", &args);
            assert!((host.shows)(&result), "{}: {count}, {width}", host.name);
            assert_eq!(result.get("structuredContent"), None, "{}", host.name);
            assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
            let answer = text(&result);
            sizes.push(if answer == whole { "whole" } else { "cut" });
            if answer != whole {
                follow_in(&mut talk, answer, &whole);
            }
        }
        let cut_from = match host.name {
            "goose-cli" => 3,
            "@cline/core" => 1,
            _ => 2,
        };
        let expected = (0..5).map(|at| if at < cut_from { "whole" } else { "cut" });
        let mut expected: Vec<_> = expected.collect();
        if host.name == "goose-cli" {
            expected[4] = "whole";
        }
        assert_eq!(sizes, expected, "{}", host.name);
        let missing = talk.call("read_file", &json!({"absolute_path": "none.txt"}));
        assert_eq!(missing["isError"], true, "{missing}");
        assert!(text(&missing).contains("does not exist"), "{missing}");
        assert_eq!(missing.get("structuredContent"), None, "{}", host.name);
    }
}

/// Follows the note of a cut read, and asserts that the call that it names reads on in `whole`.
#[track_caller]
fn follow_in(talk: &mut Talk<'_>, answer: &str, whole: &str) {
    let (offset, shown) = shown(answer);
    assert!(whole.starts_with(shown), "{answer}");
    let args = json!({"absolute_path": "a.txt", "offset": offset, "limit": 1});
    let next = talk.call("read_file", &args);
    let expected = whole.lines().nth(offset).expect("a line");
    assert!(text(&next).contains(&format!("\n{expected}\n")), "{next}");
}

#[test]
fn structured_content_is_for_clients_that_have_asked() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let calls = [
        json!({"absolute_path": "a.txt"}),
        json!({"absolute_path": "none.txt"}),
        json!({"absolute_path": 1, "pages": 2}),
    ];
    for client in [
        "claude-code",
        "codex-mcp-client",
        "qwen-cli-mcp-client-x",
        "gemini-cli-mcp-client-x",
        "mcp",
        "mcporter",
        "google-adk",
        "inspector-client",
    ] {
        let mut server = greeted_by(&ws, client, &[]);
        for args in &calls {
            let result = server.call("read_file", args);
            assert_eq!(result.get("structuredContent"), None, "{client}");
            assert!(!text(&result).is_empty(), "{client}: {result}");
        }
    }
    let mut asked = Server::greeted(&ws, &[], &json!({}));
    for args in &calls {
        let result = asked.call("read_file", args);
        let data = &result["structuredContent"];
        let failed = result["isError"] == true;
        let text_of_it = if failed {
            &data["error"]
        } else {
            &data["output"]
        };
        assert_eq!(text_of_it, text(&result), "{result}");
        assert_eq!(data["errorType"].is_string(), failed, "{result}");
    }
}

#[test]
fn answers_that_the_clients_host_has_kept_for_all_projects_are_read_and_nothing_beside_them() {
    let ws = Workspace::new();
    let directory = |name: &str| {
        let directory = ws.root().join(name);
        fs::create_dir_all(&directory).expect("made");
        directory
    };
    let (temporary, data) = (directory("tmp"), directory("data"));
    let variables = [
        ("TMPDIR", temporary.to_str().expect("UTF-8")),
        ("XDG_DATA_HOME", data.to_str().expect("UTF-8")),
    ];
    let of_opencode = directory("data/opencode/tool-output");
    let of_kilo = directory("data/kilo/tool-output");
    for (client, kept) in [
        ("kilo", of_kilo.join("tool_223fceee2001RR5B6BEiHwCd9f")),
        (
            "opencode",
            of_opencode.join("tool_220df62b4001sPwtxeYUWokajj"),
        ),
        (
            "copilot-cli",
            temporary.join("1795847847598-copilot-tool-output-0163fdc.txt"),
        ),
        ("goose-cli", temporary.join("goose_mcp_response_hFaDlL.txt")),
    ] {
        fs::write(&kept, "kept\n").expect("written");
        let mut server = greeted_by(&ws, client, &variables);
        let mut reads = |path: &Path| {
            let result = server.call("read_file", &json!({"absolute_path": path}));
            (result["isError"] == false).then(|| text(&result).to_owned())
        };
        assert_eq!(reads(&kept).as_deref(), Some("kept\n"), "{client}");
        let name = kept
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let beside = |name: &str| -> PathBuf { kept.with_file_name(name) };
        let other = beside("other.txt");
        fs::write(&other, "secret\n").expect("written");
        let (link, second) = (beside(&format!("{name}1")), beside(&format!("{name}2")));
        std::os::unix::fs::symlink(&other, &link).expect("a link");
        fs::hard_link(&other, &second).expect("a second name");
        let deeper = beside(&format!("{name}.d")).join(name);
        fs::create_dir_all(deeper.parent().expect("a directory")).expect("made");
        fs::write(&deeper, "secret\n").expect("written");
        let upward = beside(&format!("{name}.d")).join("..").join(name);
        for path in [&other, &link, &second, &deeper, &upward] {
            assert_eq!(reads(path), None, "{client}: {}", path.display());
        }
        let place = kept.parent().expect("a directory");
        for (tool, args) in [
            ("list_directory", json!({"path": place})),
            (
                "search_file_content",
                json!({"path": place, "pattern": "kept"}),
            ),
        ] {
            let result = server.call(tool, &args);
            assert_eq!(result["isError"], true, "{client}: {result}");
        }
        let write = json!({"file_path": kept, "content": "changed"});
        assert_eq!(
            server.call("write_file", &write)["isError"],
            true,
            "{client}"
        );
        for stranger in ["another", "claude-code", "@cline/core"] {
            let mut server = greeted_by(&ws, stranger, &variables);
            let result = server.call("read_file", &json!({"absolute_path": kept}));
            assert_eq!(result["isError"], true, "{stranger}: {result}");
        }
    }
}

/// Puts another directory in the place of the workspace.
fn replace(ws: &Workspace, is_moved: bool) {
    if is_moved {
        fs::rename(ws.dir(), ws.root().join("moved")).expect("moved");
    } else {
        fs::remove_dir_all(ws.dir()).expect("removed");
    }
    fs::create_dir(ws.dir()).expect("made");
    fs::write(ws.path("a.txt"), "new\n").expect("written");
}

#[test]
fn calls_work_in_the_directory_that_a_roots_path_names_by_now() {
    for (is_moved, how) in [true, false]
        .into_iter()
        .flat_map(|is_moved| ["here", "option", "client", "second"].map(|how| (is_moved, how)))
    {
        let ws = Workspace::new().file("a.txt", "old\n");
        let (root, other) = (ws.path(""), ws.outside_path(""));
        let (args, uris) = match how {
            "option" => (vec!["--root", &*root], vec![]),
            "client" => (vec![], vec![&root]),
            "second" => (vec![], vec![&other, &root]),
            _ => (vec![], vec![]),
        };
        let uris = uris
            .iter()
            .map(|path| json!({"uri": format!("file://{path}")}));
        let uris = json!({"roots": uris.collect::<Value>()});
        let mut server = Server::greeted(&ws, &args, &json!({"roots": {}}));
        if args.is_empty() {
            server.answer_request("roots/list", &uris);
        }
        let path = json!({"absolute_path": ws.path("a.txt")});
        assert_eq!(text(&server.call("read_file", &path)), "old\n", "{how}");
        replace(&ws, is_moved);
        assert_eq!(text(&server.call("read_file", &path)), "new\n", "{how}");
        for (tool, args, said) in [
            (
                "write_file",
                json!({"file_path": ws.path("w.txt"), "content": "x"}),
                "created",
            ),
            (
                "run_shell_command",
                json!({"command": "ls", "dir_path": ws.path("")}),
                "w.txt",
            ),
            ("search_file_content", json!({"pattern": "new"}), "a.txt"),
        ] {
            let answer = server.call(tool, &args);
            assert!(text(&answer).contains(said), "{how} {is_moved}: {answer}");
        }
        assert!(fs::exists(ws.path("w.txt")).expect("a look"), "{how}");
    }
}

#[test]
fn a_batch_writes_into_no_directory_that_was_moved() {
    for is_moved in [true, false] {
        let ws = Workspace::new().file("a.txt", "old\n");
        let mut batch = Server::start_program(&ws, &executable("call_tool"), &["--batch"]);
        let mut call = |name: &str, args: &Value| {
            batch.say(&json!({"name": name, "args": args}).to_string());
            batch.message()["functionResponse"]["response"].to_string()
        };
        let (read, write) = (
            json!({"absolute_path": "a.txt"}),
            json!({"file_path": "w.txt", "content": "x"}),
        );
        assert!(call("read_file", &read).contains("old"));
        replace(&ws, is_moved);
        for (name, args) in [("read_file", &read), ("write_file", &write)] {
            let said = call(name, args);
            assert!(said.contains("was moved or deleted"), "{said}");
        }
        for dir in ["ws", "moved"] {
            assert!(!ws.root().join(dir).join("w.txt").exists());
        }
    }
}
