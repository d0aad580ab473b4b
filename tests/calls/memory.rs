//! Every call fits: each input that was once the worst for some tool is answered within 64 MiB, or refused with an error
//! that names the limit. That is said of the executables that users have: `scripts/check --full` runs the tests with those,
//! while `cargo test` leaves these out.

use serde_json::{Value, json};

use crate::harness::{Call, Workspace, executable};

/// What a process of a call may have resident.
const MAX_MIB: u64 = 64;

/// A call and what its answer says.
struct Row {
    name: &'static str,
    ws: Workspace,
    call: fn(&Workspace) -> Call<'_>,
    says: &'static str,
}

fn row(
    name: &'static str,
    ws: Workspace,
    call: fn(&Workspace) -> Call<'_>,
    says: &'static str,
) -> Row {
    Row {
        name,
        ws,
        call,
        says,
    }
}

fn search<'a>(ws: &'a Workspace, more: &Value) -> Call<'a> {
    let mut arguments = json!({"pattern": "a"});
    for (key, value) in more.as_object().expect("an object") {
        arguments[key] = value.clone();
    }
    ws.tool("search_file_content").arguments(&arguments)
}

fn command<'a>(ws: &'a Workspace, line: &str) -> Call<'a> {
    ws.tool("run_shell_command")
        .arguments(&json!({"command": line}))
}

/// `serve_tools` with a call of a tool whose arguments are this text.
fn served<'a>(ws: &'a Workspace, arguments: &str) -> Call<'a> {
    served_call(ws, "list_directory", arguments)
}

fn served_call<'a>(ws: &'a Workspace, tool: &str, arguments: &str) -> Call<'a> {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    let call = format!("{hello}\n{begun}\n{call}\n");
    ws.program(&executable("serve_tools"), &[]).input(call)
}

fn ones(count: usize) -> String {
    format!(r#"{{"path":[{}1]}}"#, "1,".repeat(count))
}

fn many_lines() -> Workspace {
    Workspace::new().file("a.txt", "aaaaaaaaaaaaaaaa\n".repeat(1_000_000))
}

/// What commands print.
fn floods() -> Vec<Row> {
    let ws = Workspace::new;
    vec![
        row(
            "zero bytes",
            ws(),
            |ws| command(ws, "head -c 60000000 /dev/zero"),
            "[Truncated: ",
        ),
        row(
            "a log of many lines",
            ws(),
            |ws| {
                let line =
                    "Copying the file of number %.0f to the directory /srv/data, with its time";
                command(ws, &format!("seq -f '{line}' 50000"))
            },
            "lines like this (2-49991)",
        ),
        row(
            "zero bytes, streamed",
            ws(),
            |ws| command(ws, "head -c 30000000 /dev/zero").flags(&["--stream"]),
            "[Truncated: ",
        ),
        row(
            "bytes that are not UTF-8",
            ws(),
            |ws| command(ws, r"head -c 10000000 /dev/zero | tr '\0' '\377'"),
            "[Truncated: ",
        ),
        row(
            "an escape sequence without end",
            ws(),
            |ws| {
                command(
                    ws,
                    r"printf '\033]'; head -c 30000000 /dev/zero | tr '\0' a",
                )
            },
            "Output: (empty)",
        ),
    ]
}

/// JSON documents.
fn documents() -> Vec<Row> {
    let ws = Workspace::new;
    vec![
        row(
            "arguments of 20 MB",
            ws(),
            |ws| ws.tool("list_directory").input(ones(10_000_000)),
            "larger than 8388608 bytes",
        ),
        row(
            "arguments of 4,000,000 values",
            ws(),
            |ws| ws.tool("list_directory").input(ones(4_000_000)),
            "the values in it take more than 12 MiB of memory",
        ),
        row(
            "arguments of 190,000 values",
            ws(),
            |ws| ws.tool("list_directory").input(ones(190_000)),
            "must be a string",
        ),
        row(
            "a batch's line of 20 MB",
            ws(),
            |ws| ws.call_tool(&["--batch"]).input(ones(10_000_000)),
            "longer than 8388608 bytes",
        ),
        row(
            "a file of 7 MB that is written",
            ws(),
            |ws| {
                let content = "some words\n".repeat(7_000_000 / 11);
                let call = ws.tool("write_file").changing(&["a.txt"]);
                call.arguments(&json!({"file_path": "a.txt", "content": content}))
            },
            "Successfully created",
        ),
        row(
            "settings of a project, of 500 KB",
            Workspace::new().file(
                ".gemini/settings.json",
                format!("{{\"a\":[{}1]}}", r#"{"a":1},"#.repeat(60_000)),
            ),
            |ws| ws.tool("list_directory").arguments(&json!({"path": "."})),
            "Directory listing",
        ),
        row(
            "settings of a project, of 8 MB",
            Workspace::new().file(
                ".gemini/settings.json",
                format!("{{\"a\":[{}1]}}", r#"{"a":1},"#.repeat(1_000_000)),
            ),
            |ws| ws.tool("list_directory").arguments(&json!({"path": "."})),
            "list_directory",
        ),
        row(
            "a message of 60 MB",
            ws(),
            |ws| served(ws, &ones(30_000_000)),
            "longer than 8388608 bytes",
        ),
        row(
            "a message of 4,000,000 values",
            ws(),
            |ws| served(ws, &ones(4_000_000)),
            "the values in it take more than 12 MiB of memory",
        ),
        row(
            "a message of 190,000 values",
            ws(),
            |ws| served(ws, &ones(190_000)),
            "must be a string",
        ),
    ]
}

/// Edits.
fn edits() -> Vec<Row> {
    vec![
        row(
            "25,000,000 places to replace",
            Workspace::new().file("a.txt", "a".repeat(50_000_000)),
            |ws| {
                let texts = json!({"file_path": "a.txt", "old_string": "aa", "new_string": "b", "allow_multiple": true});
                ws.tool("replace").arguments(&texts)
            },
            "more than 200000 places",
        ),
        row(
            "200,000 places to replace",
            Workspace::new().file("a.txt", "a".repeat(200_000)),
            |ws| {
                let texts = json!({"file_path": "a.txt", "old_string": "a", "new_string": "bc", "allow_multiple": true});
                ws.tool("replace")
                    .arguments(&texts)
                    .flags(&["--output", "result"])
            },
            "200000 replacements",
        ),
        row(
            "a short text that becomes 100 MB",
            Workspace::new().file("a.txt", "a".repeat(1_000)),
            |ws| {
                let new = "x\n".repeat(50_000);
                let texts = json!({"file_path": "a.txt", "old_string": "a", "new_string": new, "allow_multiple": true});
                ws.tool("replace")
                    .arguments(&texts)
                    .flags(&["--output", "result"])
            },
            "1000 replacements",
        ),
        row(
            "line feeds that stand for CRLF",
            Workspace::new().file("a.txt", "\r\n".repeat(1_900_000)),
            |ws| {
                let old = "\n".repeat(1_900_000) + "x";
                ws.tool("replace")
                    .arguments(&json!({"file_path": "a.txt", "old_string": old, "new_string": "y"}))
            },
            "old_string was not found",
        ),
        row(
            "lines that differ in blanks at their ends",
            Workspace::new().file("a.txt", "a \r\n".repeat(1_000_000)),
            |ws| {
                let [old, new] = ["a\n", "b\n"].map(|line| line.repeat(1_000_000));
                ws.tool("smart_edit").arguments(
                    &json!({"file_path": "a.txt", "instruction": "x", "old_string": old, "new_string": new}),
                )
            },
            "too large to be compared",
        ),
        row(
            "as many of these lines as are compared",
            Workspace::new().file("a.txt", "c\n".repeat(440_000) + &" a\r\n".repeat(32_000)),
            |ws| {
                let [old, new] = ["a\n", "b\n"].map(|line| line.repeat(32_000));
                ws.tool("smart_edit").changing(&["a.txt"]).arguments(
                    &json!({"file_path": "a.txt", "instruction": "x", "old_string": old, "new_string": new}),
                )
            },
            "Successfully modified",
        ),
        row(
            "a new file of 3,000,000 empty lines with its diff",
            Workspace::new(),
            |ws| {
                let content = json!({"file_path": "a.txt", "content": "\n".repeat(3_000_000)});
                ws.tool("write_file")
                    .arguments(&content)
                    .flags(&["--output", "result"])
            },
            "too long to be shown",
        ),
    ]
}

/// What directories hold.
fn directories() -> Vec<Row> {
    // Rules of 300 levels, and of one level that has too many.
    let rules = (0..4_000).fold(String::new(), |all, i| {
        all + &format!("a*name-{i}?[x-z]*.tmp\n")
    });
    let mut nested = Workspace::new().git();
    let mut path = String::new();
    for _ in 0..100 {
        path.push_str("d/");
        nested = nested.file(format!("{path}.gitignore"), &rules);
    }
    let nested = nested.file(format!("{path}x"), "x").file("x", "x");
    let image = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &vec![7; 3_000_000]].concat();
    let images = (0..30).fold(Workspace::new(), |ws, i| {
        ws.file(format!("{i:02}.png"), &image)
    });
    let files = (0..30_000).fold(Workspace::new(), |ws, i| {
        ws.file(format!("{}/{i}.txt", i / 500), "")
    });
    let names = || {
        let name = "a-name-that-takes-some-room-".repeat(8);
        (0..80_000).fold(Workspace::new(), |ws, i| ws.file(format!("{name}{i}"), ""))
    };
    vec![
        row(
            "100 nested ignore files of 4,000 lines",
            nested,
            |ws| ws.tool("glob").arguments(&json!({"pattern": "**/x"})),
            "Found 1 file",
        ),
        row(
            "30,000 files to read",
            files,
            |ws| {
                ws.tool("read_many_files")
                    .arguments(&json!({"paths": ["**"]}))
            },
            "Skipped ",
        ),
        row(
            "a pattern of 30,000 directories",
            Workspace::new(),
            |ws| {
                ws.tool("glob")
                    .arguments(&json!({"pattern": "a/".repeat(30_000)}))
            },
            "too large",
        ),
        row(
            "80,000 long paths",
            names(),
            |ws| ws.tool("glob").arguments(&json!({"pattern": "**"})),
            "more than ",
        ),
        row(
            "a directory of 80,000 long names",
            names(),
            |ws| ws.tool("list_directory").arguments(&json!({"path": "."})),
            "more than ",
        ),
        row(
            "30 images of 3 MB",
            images,
            |ws| {
                ws.tool("read_many_files")
                    .arguments(&json!({"paths": ["*.png"]}))
            },
            "all media of an answer may have 20 MB",
        ),
    ]
}

/// Searches.
fn searches() -> Vec<Row> {
    vec![
        row(
            "20,000 matches as SARIF",
            many_lines(),
            |ws| search(ws, &json!({})).flags(&["--format=sarif"]),
            "2.1.0",
        ),
        row(
            "1,000,000 matches as SARIF",
            many_lines(),
            |ws| search(ws, &json!({"total_max_matches": 3_000_000})).flags(&["--format=sarif"]),
            "Showing only the first ",
        ),
        row(
            "1,000,000 matches as JUnit",
            many_lines(),
            |ws| search(ws, &json!({"total_max_matches": 3_000_000})).flags(&["--format=junit"]),
            "Showing only the first ",
        ),
        row(
            "1,000,000 matches as a result",
            many_lines(),
            |ws| {
                search(ws, &json!({"total_max_matches": 3_000_000})).flags(&["--output", "result"])
            },
            "results limited to",
        ),
        row(
            "lines of control characters as a result",
            Workspace::new().file(
                "a.txt",
                format!("{}\n", "\u{1}".repeat(1999)).repeat(20_000),
            ),
            |ws| search(ws, &json!({"pattern": "^"})).flags(&["--output", "result"]),
            "results limited to",
        ),
        row(
            "1,000,000 matches with context",
            many_lines(),
            |ws| search(ws, &json!({"total_max_matches": 3_000_000, "context": 5})),
            "results limited to",
        ),
        row(
            "1,000,000 matches by look-around with context",
            many_lines(),
            |ws| {
                search(
                    ws,
                    &json!({"pattern": "a(?!b)", "total_max_matches": 3_000_000, "context": 5}),
                )
            },
            "results limited to",
        ),
        row(
            "context in a file of 60 MB",
            Workspace::new().file("a.txt", "some words\n".repeat(5_500_000)),
            |ws| search(ws, &json!({"pattern": "nothing", "context": 5})),
            "No matches found",
        ),
        row(
            "a file of 60 MB in UTF-16",
            Workspace::new().file(
                "a.txt",
                [&b"\xff\xfe"[..], &b"w\0\n\0".repeat(15_000_000)].concat(),
            ),
            |ws| search(ws, &json!({"pattern": "nothing"})),
            "No matches found",
        ),
    ]
}

/// Calls of a tool whose MCP server says so many letters about the tool, and in its answer.
fn server_row(name: &'static str, description: usize, answer: usize, says: &'static str) -> Row {
    let script = r#"
        letters() { head -c "$1" /dev/zero | tr '\0' x; }
        while read -r line; do
            id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            begin="{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{"
            case $line in
            *'"initialize"'*)
                echo "$begin"'"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
            *tools/list*)
                printf %s "$begin"'"tools":[{"name":"t","inputSchema":{"type":"object"},"description":"'
                letters "$1"
                echo '"}]}}' ;;
            *tools/call*)
                printf %s "$begin"'"content":[{"type":"text","text":"'
                letters "$2"
                echo '"}]}}' ;;
            esac
        done"#;
    let arguments = json!([
        "-c",
        script,
        "sh",
        description.to_string(),
        answer.to_string()
    ]);
    let settings = json!({"mcpServers": {"s": {"command": "sh", "args": arguments}}});
    let ws = Workspace::new().home(".gemini/settings.json", settings.to_string());
    row(name, ws, |ws| ws.tool("s__t").arguments(&json!({})), says)
}

/// Messages of MCP servers.
fn servers() -> Vec<Row> {
    let refused = "more than 8388608 bytes beside media";
    vec![
        server_row("a description of 20 MB", 20_000_000, 1, refused),
        server_row("a description of 8 MB", 8_000_000, 1, "output"),
        server_row("an answer of 25 MB", 1, 25_000_000, refused),
        server_row("an answer of 8 MB", 1, 8_000_000, "output"),
    ]
}

/// Expressions.
fn expressions() -> Vec<Row> {
    vec![
        row(
            "a large expression",
            Workspace::new().file("a.txt", "a\n"),
            |ws| search(ws, &json!({"pattern": ".{50000}"})),
            "at most 10000 are allowed",
        ),
        row(
            "a large expression of letters",
            Workspace::new().file("a.txt", "a\n"),
            |ws| search(ws, &json!({"pattern": r"\w{1000}"})),
            "size limit",
        ),
        row(
            "a long expression",
            Workspace::new().file("a.txt", "a\n"),
            |ws| search(ws, &json!({"pattern": "a".repeat(20_000)})),
            "it may have 16384",
        ),
        row(
            "an expression of 8,000 classes",
            Workspace::new().file("a.txt", "a\n"),
            |ws| search(ws, &json!({"pattern": r"\w".repeat(8_000)})),
            "more than 1000 classes",
        ),
        row(
            "an expression as large as it may be",
            Workspace::new().file(
                "a.txt",
                format!("{}\r\r\n", "word ".repeat(2000)).repeat(300),
            ),
            |ws| search(ws, &json!({"pattern": r"\w{60}$|d"})),
            "Found 300 matches",
        ),
    ]
}

/// Explains a line of shell that repeats a text.
fn explained<'a>(ws: &'a Workspace, text: &str, times: usize, end: &str) -> Call<'a> {
    command(ws, &format!("{}x{}", text.repeat(times), end.repeat(times))).flags(&["--explain"])
}

/// A rule that denies a command.
const DENIES: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\n\
    priority = 900\n";

/// Lines of shell.
fn lines() -> Vec<Row> {
    let ws = Workspace::new;
    vec![
        row(
            "10,000 expansions within each other",
            ws(),
            |ws| explained(ws, "${x:-", 10_000, "}"),
            "more than 40 levels of nesting",
        ),
        row(
            "10,000 substitutions within each other",
            ws(),
            |ws| explained(ws, "$(", 10_000, ")"),
            "more than 40 levels of nesting",
        ),
        row(
            "800 programs that start each other",
            ws(),
            |ws| explained(ws, "npx ", 800, ""),
            "npx",
        ),
        row(
            "25,000 scripts within each other",
            ws(),
            |ws| explained(ws, "eval ", 25_000, ""),
            "more than 20,000 parts",
        ),
        row(
            "60,000 commands",
            ws(),
            |ws| explained(ws, "a;", 60_000, ""),
            "more than 20,000 parts",
        ),
        row(
            "9,000 commands within each other",
            ws(),
            |ws| explained(ws, "xargs ", 9_000, ""),
            "more than 20,000 parts",
        ),
        row(
            "10,000 expansions within each other, refused by a server",
            ws().home(".gemini/policies/rules.toml", DENIES),
            |ws| {
                let line = format!("{}x{}", "${x:-".repeat(10_000), "}".repeat(10_000));
                served_call(
                    ws,
                    "run_shell_command",
                    &json!({"command": line}).to_string(),
                )
            },
            "isError",
        ),
    ]
}

/// Fails with a table of all rows where one is over the limit.
fn hold_no_more(rows: Vec<Row>) {
    let mut table = String::new();
    let mut is_within = true;
    // Media that were asked for: 20 MB of them are 27 in base64, which are in the answer too.
    let most = |name: &str| {
        if name.contains("images") {
            2 * MAX_MIB
        } else {
            MAX_MIB
        }
    };
    for row in rows {
        let (answer, mib) = (row.call)(&row.ws).unwatched().run_measured();
        let said = String::from_utf8_lossy(&answer.stdout);
        if !said.contains(row.says) {
            answer.fail(&format!("{}: no {:?}", row.name, row.says));
        }
        is_within &= mib <= most(row.name);
        table.push_str(&format!("{mib:6} MiB  {}\n", row.name));
    }
    assert!(is_within, "more than {MAX_MIB} MiB:\n{table}");
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_flood_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(floods());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_document_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(documents());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_edit_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(edits());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_directory_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(directories());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_search_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(searches());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_server_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(servers());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_expression_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(expressions());
}

#[test]
#[ignore = "measures what scripts/build makes"]
fn no_line_of_shell_makes_a_call_hold_more_than_64_mib() {
    hold_no_more(lines());
}
