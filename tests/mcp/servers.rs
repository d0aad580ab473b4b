//! Tools of MCP servers: what is listed, what calls give, and that no server costs more than itself.
//!
//! The servers are `server.py` of the harness, which misbehaves on demand; those of others are in `mcp_real.rs`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::mcp::{Helper, MARK, Servers, WAIT_LIMIT};
use crate::harness::{
    Workspace, executable, marked_processes, place_executable, set_age, set_mode, wait_until,
};

fn none() -> Value {
    json!({})
}

fn error_of(answer: &Value) -> (String, String) {
    let text = |key: &str| {
        answer["response"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (text("errorType"), text("error"))
}

#[test]
fn tools_are_listed_only_when_asked_for_and_then_kept() {
    let s = Servers::new(&[("one", "plain", none()), ("two", "plain", none())]);
    let plain = s.ws.get_tools(&[]).run();
    assert!(Servers::names_in(&plain).is_empty());
    let answer = s.ws.get_tools(&["--mcp"]).unwatched().run();
    let names = Servers::names_in(&answer);
    assert!(names.contains(&"one__echo".to_owned()) && names.contains(&"two__echo".to_owned()));
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
    let echo = answer.json();
    let echo = echo
        .as_array()
        .expect("a list")
        .iter()
        .find(|t| t["name"] == "one__echo");
    let echo = echo.expect("listed");
    assert_eq!(echo["description"], "Says it again.");
    assert_eq!(
        echo["parametersJsonSchema"]["properties"]["text"]["type"],
        "string"
    );
    // By variable, and from what was kept: byte for byte, and nothing is started.
    let again = s.ws.get_tools(&[]).env("GEMINI_TOOLS_MCP", "1").run();
    assert_eq!(again.stdout, answer.stdout);
    assert_eq!((s.was_started("one"), s.was_started("two")), (1, 1));
    let _ = s.list(&["--refresh"]);
    assert_eq!((s.was_started("one"), s.was_started("two")), (2, 2));
    s.all_gone();
}

#[test]
fn a_server_that_can_not_be_asked_again_keeps_its_tools_and_is_told_of() {
    let s = Servers::new(&[("one", "plain", none())]);
    let names = s.names();
    fs::write(s.ws.outside_path("one.notes.broken"), "").expect("written");
    let again = s.list(&["--mcp", "--refresh", "--notes"]);
    assert_eq!(Servers::names_in(&again), names);
    let told = "The MCP server one: whether its tools have changed is not known: ";
    again.must_say(&again.errors(), &[told]);
    s.all_gone();
}

#[test]
fn a_call_starts_only_its_own_server_with_and_without_a_list() {
    let s = Servers::new(&[("one", "plain", none()), ("two", "plain", none())]);
    let call = s.ws.tool("one__echo").arguments(&json!({"text": "hällo"}));
    let answer = call.env(MARK, &s.mark()).unwatched().run();
    assert_eq!(answer.output(), "hällo");
    assert_eq!((s.was_started("one"), s.was_started("two")), (1, 0));
    let _ = s.names();
    for name in [
        "one__echo",
        "discovered_tool_one__echo",
        "mcp_one_echo",
        "discovered_tool_mcp_one_echo",
    ] {
        assert_eq!(
            s.call(name, &json!({"text": "x", "wait_for_previous": true}))
                .output(),
            "x"
        );
    }
    assert_eq!(s.was_started("two"), 1, "only for the list");
    s.all_gone();
    // A built-in tool has nothing to do with any of it.
    fs::remove_dir_all(s.ws.root().join("home/.cache")).expect("there");
    s.ws.call("list_directory", &json!({"path": s.ws.path("")}))
        .output();
    assert_eq!(s.was_started("one"), 5);
}

#[test]
fn servers_that_misbehave_cost_only_their_own_tools() {
    let limit = json!({"timeout": 1500});
    let modes = [
        "exits",
        "hang_initialize",
        "hang_list",
        "flood_stdout",
        "flood_line",
        "wrong_ids",
        "refuses",
        "no_list",
    ];
    let mut servers: Vec<(&str, &str, Value)> = modes
        .iter()
        .map(|mode| (*mode, *mode, limit.clone()))
        .collect();
    servers.push(("good", "plain", none()));
    servers.push(("garbage", "garbage", none()));
    servers.push(("loud", "flood_stderr", none()));
    let s = Servers::new(&servers);
    let names = s.names();
    for name in ["good__echo", "garbage__echo", "loud__echo"] {
        assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
    }
    for mode in modes {
        let prefix = format!("{mode}__");
        assert!(
            !names.iter().any(|n| n.starts_with(&prefix)),
            "{mode}: {names:?}"
        );
    }
    s.all_gone();
    // A call says what is wrong.
    for (mode, kind, status, pieces) in [
        (
            "exits",
            "mcp_tool_error",
            1,
            vec!["exited with status 4", "no such table"],
        ),
        (
            "hang_initialize",
            "timeout",
            124,
            vec!["greeting", "timeout"],
        ),
        ("hang_list", "timeout", 124, vec!["took too long"]),
        ("flood_stdout", "mcp_tool_error", 1, vec!["floods", "noise"]),
        ("wrong_ids", "mcp_tool_error", 1, vec!["another number"]),
        ("refuses", "mcp_tool_error", 1, vec!["not today"]),
        ("no_list", "mcp_tool_error", 1, vec!["no list of tools"]),
    ] {
        let answer = s.call(&format!("{mode}__x"), &none());
        let message = answer.error(kind, status);
        answer.must_say(&message, &[&format!("MCP server {mode} ")]);
        answer.must_say(&message, &pieces);
    }
    assert_eq!(s.call("garbage__echo", &json!({"text": "x"})).output(), "x");
    assert_eq!(s.call("loud__echo", &json!({"text": "x"})).output(), "x");
    s.all_gone();
}

#[test]
fn only_media_make_a_message_longer_than_8_mib() {
    let s = Servers::new(&[
        ("list", "long_list", none()),
        ("pages", "long_pages", none()),
        ("answers", "long_answers", none()),
    ]);
    assert_eq!(s.names(), ["answers__media", "answers__text"]);
    for (name, pieces) in [
        (
            "list__long",
            ["too large", "more than 8388608 bytes beside media"],
        ),
        (
            "pages__page0",
            ["its list of tools", "more than 8388608 bytes"],
        ),
        (
            "answers__text",
            ["too large", "more than 8388608 bytes beside media"],
        ),
    ] {
        let answer = s.call(name, &none());
        let message = answer.error("mcp_tool_error", 1);
        answer.must_say(&message, &pieces);
    }
    let media = s.call("answers__media", &none());
    assert_eq!(media.status(), 0);
    assert!(media.stdout.len() > 9_000_000);
    s.all_gone();
}

#[test]
fn people_are_told_what_was_left_out_and_programs_are_not() {
    let s = Servers::new(&[("odd", "schemas", none()), ("gone", "exits", none())]);
    let names = s.names();
    assert_eq!(
        names,
        [
            "odd__a_tool_with_a_n___ng_for_the_API_of_Gemini",
            "odd__cyclic",
            "odd__fine",
            "odd__untyped",
            "odd__without"
        ]
    );
    let script = "exec script -qec \"'$1' $2\" /dev/null";
    let call = s.ws.get_tools(&["--mcp"]).in_bash(script);
    let answer = s.marked(call).run();
    let shown = answer.text();
    for piece in [
        "server odd: dangling: x: The reference \"#/nowhere\" leads nowhere",
        "There is an invisible character",
        "U+200B",
        "without a name",
        "server gone",
        "no such table",
    ] {
        answer.must_say(shown, &[piece]);
    }
    let held = s.call("odd__hidden", &none());
    held.error("tool_not_registered", 2);
    let dangling = s.call("odd__dangling", &none());
    let message = dangling.error("tool_not_registered", 2);
    dangling.must_say(
        &message,
        &["leads nowhere in the declaration; the tool is left out"],
    );
    let cut = s.call("odd__a_tool_with_a_n___ng_for_the_API_of_Gemini", &none());
    cut.must_say(
        &cut.output(),
        &["called a tool with a name that is far too long"],
    );
    s.all_gone();
}

#[test]
fn lint_says_what_is_wrong_with_servers_and_starts_them_only_when_told_to() {
    let more = json!({"includeTools": ["echo", "eccho(x)"]});
    let s = Servers::new(&[
        ("odd", "schemas", none()),
        ("one", "plain", more),
        ("gone", "exits", none()),
    ]);
    let lint = |args: &[&str], status: i32, pieces: &[&str]| {
        let answer = s.marked(s.ws.get_tools(&["lint"]).flags(args)).run();
        assert_eq!(answer.status(), status, "{}", answer.shown());
        answer.must_say(answer.text(), pieces);
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
        answer.text().to_owned()
    };
    let unknown = "warning[not-asked]: The MCP server odd: What it declares is not known";
    lint(&[], 0, &[unknown, "0 tools in 0 files and 3 MCP servers"]);
    assert_eq!(s.was_started("odd"), 0);
    let found = [
        "repair[untyped]: The MCP server odd: untyped: x: ",
        "error[reference]: The MCP server odd: dangling: x: ",
        "error[hidden-text]: The MCP server odd: hidden: ",
        "error[nameless]: The MCP server odd: name: ",
        "repair[cyclic-reference]: The MCP server odd: cyclic: ",
        "warning[no-such-tool]: The MCP server one: eccho: includeTools: ",
    ];
    let failed = "error[discovery]: The MCP server gone: It has no tools: it exited";
    let first = lint(&["--mcp"], 1, &found);
    assert!(first.contains(failed), "{first}");
    assert_eq!((s.was_started("odd"), s.was_started("one")), (1, 1));
    let kept = lint(&[], 1, &found);
    assert!(
        !kept.contains(failed) && !kept.contains("server odd: What"),
        "{kept}"
    );
    assert_eq!((s.was_started("odd"), s.was_started("gone")), (1, 1));
    lint(&["--refresh"], 1, &found);
    assert_eq!(s.was_started("odd"), 2);
    let lines = s.marked(s.ws.get_tools(&["lint", "--json"])).run();
    let finding = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let lines: Vec<Value> = lines.text().lines().map(finding).collect();
    let untyped = lines
        .iter()
        .find(|f| f["code"] == "untyped")
        .expect("found");
    assert_eq!(
        (&untyped["server"], &untyped["tool"]),
        (&json!("odd"), &json!("untyped"))
    );
    assert!(untyped.get("file").is_none() && untyped.get("origin").is_none());
    s.all_gone();
}

#[test]
fn lint_says_what_is_held_back_by_a_pin() {
    let s = Servers::with_settings(
        &[("one", "poisoned", none())],
        &json!({"mcp": {"pin": true}}),
    );
    let _ = s.names();
    fs::write(s.ws.outside_path("one.notes.poison"), "").expect("written");
    let _ = s
        .call("one__echo", &json!({"text": "x"}))
        .error("policy_violation", 3);
    let lint = s.list(&["lint"]);
    assert_eq!(lint.status(), 1);
    lint.must_say(
        lint.text(),
        &["error[pinned]: The MCP server one: echo: It is held back: its declaration has changed"],
    );
    let accepted = s.list(&["lint", "--refresh"]);
    assert_eq!(accepted.status(), 0, "{}", accepted.shown());
    s.all_gone();
}

#[test]
fn lists_may_have_pages_but_must_end_and_names_count_once() {
    let s = Servers::new(&[
        ("p", "pages", none()),
        ("e", "endless", none()),
        ("d", "duplicates", none()),
    ]);
    let names = s.names();
    assert_eq!(
        names,
        [
            "d__once", "d__twice", "e__page0", "e__page1", "e__page2", "p__page0", "p__page1",
            "p__page2", "p__page3", "p__page4"
        ]
    );
    let list = s.list(&["--mcp"]).json();
    let twice = list
        .as_array()
        .expect("a list")
        .iter()
        .find(|t| t["name"] == "d__twice")
        .expect("listed");
    assert_eq!(twice["description"], "The first.");
    s.all_gone();
}

#[test]
fn of_a_long_list_only_the_first_count_and_a_note_says_so() {
    let s = Servers::new(&[("one", "many", none())]);
    let listed = s.list(&["--mcp", "--notes"]);
    listed.must_say(&listed.errors(), &["list of tools", "the first 5000 count"]);
    let answer = s.call("one__tool1_2500", &json!({}));
    let error = answer.error("tool_not_registered", 2);
    assert!(error.contains("the first 5000 count"), "{error}");
    s.all_gone();
}

#[test]
fn arguments_are_checked_before_anything_is_started() {
    let s = Servers::new(&[("one", "plain", none())]);
    let _ = s.names();
    let answer = s.call("one__echo", &json!({"text": 1}));
    answer.must_say(
        &answer.error("invalid_tool_params", 2),
        &["\"text\" must be a string"],
    );
    assert_eq!(s.was_started("one"), 1);
    let answer = s.call("one__eccho", &none());
    answer.must_say(
        &answer.error("tool_not_registered", 2),
        &["server one", "one__echo"],
    );
    s.all_gone();
}

#[test]
fn a_name_that_no_tool_has_is_that_of_a_server_or_near_one() {
    let s = Servers::new(&[("one", "plain", none()), ("two", "dotted", none())]);
    // Only what is known counts: no server is started for a name.
    let _ = s.call("echo", &none()).error("tool_not_registered", 2);
    assert_eq!((s.was_started("one"), s.was_started("two")), (0, 0));
    let _ = s.names();
    assert_eq!(s.call("echo", &json!({"text": "x"})).output(), "x");
    assert_eq!(s.call("rows.list", &none()).output(), "{}");
    for (name, near) in [
        ("one__ech", "Did you mean one__echo"),
        ("oen__echo", "Did you mean one__echo"),
        ("echoo", "Did you mean one__echo"),
        ("nosrv__x", "The MCP servers are: one, two."),
    ] {
        let answer = s.call(name, &none());
        answer.must_say(&answer.error("tool_not_registered", 2), &[near]);
    }
    s.all_gone();
    let several = Servers::new(&[("one", "plain", none()), ("two", "plain", none())]);
    let _ = several.names();
    let answer = several.call("echo", &json!({"text": "x"}));
    answer.must_say(
        &answer.error("tool_not_registered", 2),
        &["Several MCP servers", "one__echo, two__echo"],
    );
    assert!(!several.notes("one").contains(&"call echo".to_owned()));
    several.all_gone();
}

#[test]
fn contents_become_the_parts_of_the_contract() {
    let s = Servers::new(&[("one", "plain", none())]);
    let response = s.call("one__blocks", &none()).function_response();
    let types: Vec<&str> = response
        .parts
        .iter()
        .map(|p| p.inline_data.mime_type.as_str())
        .collect();
    assert_eq!(types, ["image/png", "audio/wav", "application/pdf"]);
    let answer = s
        .tool("one__blocks", &none())
        .flags(&["--output", "result"])
        .run();
    let result = answer.json();
    assert_eq!(result["data"], json!({"n": 1}));
    let parts = result["llmContent"].as_array().expect("parts");
    assert_eq!(parts[0], json!({"text": "words"}));
    assert_eq!(
        parts[1],
        json!({"text": "[Tool 'blocks' provided the following image data with mime-type: image/png]"})
    );
    assert_eq!(parts[2]["inlineData"]["data"], "ZGF0YQ==");
    assert_eq!(parts[5], json!({"text": "embedded"}));
    assert_eq!(parts[8], json!({"text": "Resource Link: A title at x:3"}));
    let answer = s.call("one__fails", &none());
    assert_eq!(answer.error("mcp_tool_error", 1), "it did not work");
    let with = json!({"text": "an image"});
    // A server of a browser shows the page that is not as it should be.
    let shown = "it did not work\n[Tool 'fails' provided the following image data with mime-type: image/png]";
    let failed = s.call("one__fails", &with).json()["functionResponse"].take();
    assert_eq!(failed["response"]["error"], shown);
    assert_eq!(failed["parts"][0]["inlineData"]["data"], "ZGF0YQ==");
    let content = s.tool("one__fails", &with);
    let content = content.flags(&["--output", "content"]).run().json();
    assert_eq!(content["parts"][1]["inlineData"]["data"], "ZGF0YQ==");
    let mut server = Server::greeted(&s.ws, &["--mcp"], &none());
    let failed = server.call("one__fails", &with);
    assert_eq!(
        (&failed["isError"], &failed["content"][0]["text"]),
        (&json!(true), &json!(shown))
    );
    assert_eq!(failed["content"][1]["data"], "ZGF0YQ==");
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    let answer = s.call("one__refuses", &none());
    answer.must_say(
        &answer.error("mcp_tool_error", 1),
        &["server one has refused the request", "no such thing"],
    );
    s.all_gone();
}

#[test]
fn a_server_that_dies_in_a_call_is_started_anew_for_the_next() {
    let s = Servers::new(&[("one", "plain", none())]);
    let echo = json!({"text": "x"});
    let answers = s.batch(&[
        ("one__echo", echo.clone()),
        ("one__crash", none()),
        ("one__echo", echo.clone()),
        ("one__echo", echo),
    ]);
    assert_eq!(answers[0]["response"]["output"], "x");
    let (kind, message) = error_of(&answers[1]);
    assert_eq!(kind, "mcp_tool_error");
    assert!(
        message.contains("exited with status 3") && message.contains("a last word"),
        "{message}"
    );
    assert_eq!(answers[2]["response"]["output"], "x");
    assert_eq!(answers[3]["response"]["output"], "x");
    assert_eq!(s.was_started("one"), 2, "once for each life");
    s.all_gone();
}

#[test]
fn a_call_past_its_time_is_cancelled_and_the_server_goes_on() {
    let s = Servers::new(&[("one", "plain", json!({"timeout": 3000}))]);
    let answers = s.batch(&[("one__hang", none()), ("one__echo", json!({"text": "x"}))]);
    let (kind, message) = error_of(&answers[0]);
    assert_eq!(kind, "timeout", "{message}");
    assert!(message.contains("server one"), "{message}");
    for said in [
        "its time limit, 3 s",
        "\"timeout\" (milliseconds) of mcpServers.one in",
    ] {
        assert!(message.contains(said), "{message}");
    }
    assert_eq!(answers[1]["response"]["output"], "x");
    assert_eq!(s.was_started("one"), 1);
    assert!(
        s.notes("one")
            .contains(&"notifications/cancelled".to_owned())
    );
    // The limit of the call counts as well.
    let hang = Servers::new(&[("one", "plain", none())]);
    let answer = hang
        .tool("one__hang", &none())
        .env("GEMINI_TOOLS_TIMEOUT", "2")
        .run();
    let message = answer.error("timeout", 124);
    answer.must_say(
        &message,
        &["2 s (GEMINI_TOOLS_TIMEOUT)", "raise GEMINI_TOOLS_TIMEOUT"],
    );
    assert!(!message.contains("mcpServers"), "{message}");
    hang.all_gone();
    s.all_gone();
}

#[test]
fn a_signal_cancels_a_call_and_a_kill_leaves_nothing() {
    for kills in [false, true] {
        let s = Servers::new(&[("one", "grandchildren", none())]);
        let running = s.tool("one__hang", &none()).start();
        wait_until("the call", || {
            s.notes("one").contains(&"call hang".to_owned())
        });
        assert!(
            marked_processes(MARK, &s.mark()).len() >= 4,
            "with what it has started"
        );
        if kills {
            running.kill();
        } else {
            let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("an id");
            kill_process(pid, Signal::TERM).expect("ours");
            let answer = running.finish();
            let _ = answer.error("cancelled", 143);
            assert!(
                s.notes("one")
                    .contains(&"notifications/cancelled".to_owned())
            );
        }
        s.all_gone();
    }
}

#[test]
fn what_a_server_has_started_ends_with_it() {
    let s = Servers::new(&[("one", "grandchildren", none())]);
    let _ = s.names();
    s.all_gone();
    let answer = s.call("one__echo", &json!({"text": "x"}));
    assert_eq!(answer.output(), "x");
    s.all_gone();
    let killed = marked_processes(MARK, &s.mark());
    assert!(killed.is_empty());
    // And when the one that holds the connections is killed.
    let running = s.tool("one__hang", &none()).start();
    let until = Instant::now() + WAIT_LIMIT;
    let client = loop {
        let all = marked_processes(MARK, &s.mark());
        if s.notes("one").contains(&"call hang".to_owned())
            && let Some((id, _)) = all
                .iter()
                .find(|(_, line)| line.contains("serve_tools --connect"))
        {
            break *id;
        }
        assert!(Instant::now() < until, "not called");
        thread::sleep(Duration::from_millis(10));
    };
    // Supervisors are forks of it; all of them go.
    let pid = Pid::from_raw(i32::try_from(client).expect("an id")).expect("an id");
    kill_process(pid, Signal::KILL).expect("ours");
    let answer = running.finish();
    let _ = answer.error("mcp_tool_error", 1);
    s.all_gone();
}

#[test]
fn a_large_answer_is_cut_as_any_other_and_progress_is_shown() {
    let s = Servers::new(&[("one", "plain", none())]);
    let answer = s.call("one__big", &none());
    let output = answer.output();
    assert!(
        output.len() < 100_000 && output.contains(".gemini/tmp"),
        "{}",
        output.len()
    );
    let answer = s.tool("one__progress", &none()).flags(&["--stream"]).run();
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    assert_eq!(
        lines[0],
        json!({"type": "output", "text": "step 1 (1 of 2)\n"})
    );
    assert_eq!(
        lines[1],
        json!({"type": "output", "text": "step 2 (2 of 2)\n"})
    );
    assert_eq!(lines[2]["functionResponse"]["response"]["output"], "done");
    s.all_gone();
}

#[test]
fn a_batch_keeps_its_servers_and_hears_of_new_tools() {
    let s = Servers::new(&[("one", "plain", none())]);
    let answers = s.batch(&[
        ("one__echo", json!({"text": "a"})),
        ("one__later", none()),
        ("one__change", none()),
        ("one__later", none()),
        ("read_file", json!({"absolute_path": "/nowhere"})),
    ]);
    assert_eq!(error_of(&answers[1]).0, "tool_not_registered");
    assert_eq!(answers[3]["response"]["output"], "called later");
    assert_eq!(s.was_started("one"), 1);
    s.all_gone();
}

#[test]
fn pinned_declarations_are_held_back_when_they_change_until_they_are_accepted() {
    for pin in [true, false] {
        let s = Servers::with_settings(
            &[("one", "poisoned", none())],
            &json!({"mcp": {"pin": pin}}),
        );
        assert!(s.names().contains(&"one__echo".to_owned()));
        fs::write(s.ws.outside_path("one.notes.poison"), "").expect("written");
        let answer = s.call("one__echo", &json!({"text": "x"}));
        if pin {
            let message = answer.error("policy_violation", 3);
            answer.must_say(&message, &["has changed", "get_tools --refresh"]);
            assert!(!s.notes("one").contains(&"call echo".to_owned()));
            assert!(s.names().is_empty(), "new ones are held back too");
            let _ = s.list(&["--refresh"]);
        } else {
            assert_eq!(answer.output(), "x");
        }
        assert_eq!(s.names(), ["one__echo", "one__newcomer"]);
        assert_eq!(s.call("one__echo", &json!({"text": "x"})).output(), "x");
        s.all_gone();
    }
}

#[test]
fn settings_choose_servers_and_tools() {
    let s = Servers::with_settings(
        &[
            (
                "one",
                "plain",
                json!({"includeTools": ["echo", "env(x)", "crash"], "excludeTools": ["crash"]}),
            ),
            ("two", "plain", none()),
            ("three", "plain", none()),
        ],
        &json!({"mcp": {"allowed": ["one", "two"], "excluded": ["two"]}, "tools": {"exclude": ["one__env"]}}),
    );
    assert_eq!(s.names(), ["one__echo"]);
    let answer = s.call("one__hang", &none());
    answer.must_say(&answer.error("policy_violation", 3), &["includeTools"]);
    let _ = s.call("one__env", &none()).error("policy_violation", 3);
    let _ = s.call("two__echo", &none()).error("tool_not_registered", 2);
    assert_eq!((s.was_started("two"), s.was_started("three")), (0, 0));
    s.all_gone();
    // What there is at all is said by tools.core, as by Gemini CLI 0.61.
    let core = json!({"tools": {"core": ["glob", "one__echo"]}});
    let s = Servers::with_settings(&[("one", "plain", none())], &core);
    assert_eq!(s.names(), ["one__echo"]);
    s.call("one__env", &none()).error("policy_violation", 3);
    s.all_gone();
    // A line of words is a server as well.
    let ws = Workspace::new().outside("server.py", crate::harness::mcp::SERVER);
    let line = format!(
        "python3 '{}' plain '{}'",
        ws.outside_path("server.py"),
        ws.outside_path("n")
    );
    let s = Servers::configured(ws, none(), &json!({"mcp": {"serverCommand": line}}));
    assert_eq!(s.call("mcp__echo", &json!({"text": "x"})).output(), "x");
    s.all_gone();
}

#[test]
fn only_a_trusted_server_is_believed_and_needs_no_approval() {
    let s = Servers::new(&[
        ("safe", "plain", json!({"trust": true})),
        ("other", "plain", none()),
    ]);
    let list = s.list(&["--mcp", "--kinds"]).json();
    let kind = |name: &str| {
        let tool = list
            .as_array()
            .expect("a list")
            .iter()
            .find(|t| t["name"] == name);
        tool.expect("listed")["kind"].clone()
    };
    assert_eq!(
        (kind("safe__echo"), kind("safe__env")),
        (json!("read"), json!("other"))
    );
    assert_eq!(kind("other__echo"), "other");
    let explained = |name: &str| {
        s.tool(name, &json!({"text": "x"}))
            .flags(&["--explain"])
            .run()
            .json()
    };
    assert_eq!(explained("safe__echo")["confirmation"], false);
    let other = explained("other__echo");
    let confirmation = &other["confirmation"];
    assert_eq!(confirmation["type"], "mcp");
    assert_eq!(confirmation["serverName"], "other");
    assert_eq!(confirmation["toolName"], "echo");
    assert_eq!(confirmation["toolDisplayName"], "other__echo");
    assert!(s.notes("other").iter().all(|line| line != "call echo"));
    s.all_gone();
}

#[test]
fn a_server_gets_no_credentials_but_those_it_is_given() {
    let s = Servers::new(&[(
        "one",
        "plain",
        json!({"env": {"OWN_TOKEN": "$WANTED", "PLAIN": "p$NOT_SET"}}),
    )]);
    let call = s.tool("one__env", &none());
    let answer = call
        .env("GEMINI_API_KEY", "secret-1")
        .env("WANTED", "w")
        .env("SOME_PASSWORD", "secret-2")
        .env("SENTRY_DSN", "secret-3")
        .env("LC_ALL", "C.UTF-8")
        .env("INNOCENT", "ghp_012345678901234567890123456789012345")
        .run();
    let environment: Value = serde_json::from_str(&answer.output()).expect("JSON");
    assert_eq!(environment["OWN_TOKEN"], "w");
    assert_eq!(environment["PLAIN"], "p$NOT_SET");
    assert_eq!(environment["LC_ALL"], "C.UTF-8");
    assert_eq!(environment["GEMINI_CLI"], "1");
    for name in ["GEMINI_API_KEY", "SOME_PASSWORD", "SENTRY_DSN", "INNOCENT"] {
        assert_eq!(environment[name], Value::Null, "{name}");
    }
    s.all_gone();
}

#[test]
fn another_version_of_a_server_is_asked_anew() {
    let s = Servers::new(&[("one", "plain", none())]);
    let _ = s.names();
    assert_eq!(s.names().len(), 10);
    assert_eq!(s.was_started("one"), 1);
    let script = s.ws.root().join("out/server.py");
    let text = fs::read_to_string(&script)
        .expect("there")
        .replace("tool(\"env\")", "tool(\"other\")");
    fs::write(&script, text).expect("written");
    assert!(s.names().contains(&"one__other".to_owned()));
    s.all_gone();
}

#[test]
fn what_is_kept_of_declarations_may_be_damaged_or_impossible_to_keep() {
    let s = Servers::new(&[("one", "plain", none())]);
    let names = s.names();
    let dir = s.ws.root().join("home/.cache/gemini-tools/mcp");
    for entry in fs::read_dir(&dir).expect("kept") {
        fs::write(entry.expect("a file").path(), b"{\"form\":1,\xff").expect("written");
    }
    assert_eq!(s.names(), names);
    fs::remove_dir_all(&dir).expect("there");
    fs::write(&dir, "no directory").expect("written");
    assert_eq!(s.names(), names);
    s.all_gone();
}

#[test]
fn what_is_kept_of_a_directory_that_is_gone_goes_after_a_week() {
    let s = Servers::new(&[("one", "plain", none())]);
    let names = s.names();
    let dir = s.ws.root().join("home/.cache/gemini-tools/mcp");
    let own = fs::read_dir(&dir).expect("kept").flatten().next();
    let own = own.expect("a file").path();
    let mut known: Value = serde_json::from_slice(&fs::read(&own).expect("read")).expect("JSON");
    let cwd = known["cwd"].as_str().expect("a path");
    assert_eq!(Path::new(cwd), s.ws.dir());
    let add = |name: &str, content: &str, days: u64| {
        fs::write(dir.join(name), content).expect("written");
        set_age(&dir.join(name), days * 24 * 3600);
    };
    add("there, 30", &known.to_string(), 30);
    add("broken, 8", "{", 8);
    known["cwd"] = json!(s.ws.dir().join("gone"));
    for days in [6, 8] {
        add(&format!("gone, {days}"), &known.to_string(), days);
    }
    fs::remove_file(&own).expect("removed");
    assert_eq!(s.names(), names);
    let left = ["there, 30", "broken, 8", "gone, 6", "gone, 8"].map(|name| dir.join(name).exists());
    assert_eq!(left, [true, false, true, false]);
    s.all_gone();
}

/// A directory with the two commands and without the client.
fn without_client(s: &Servers) -> PathBuf {
    let alone = s.ws.root().join("out/alone");
    fs::create_dir(&alone).expect("made");
    for name in ["call_tool", "get_tools"] {
        place_executable(name, &alone.join(name));
    }
    alone
}

#[test]
fn a_client_of_another_version_is_not_talked_to() {
    let s = Servers::new(&[("one", "plain", none())]);
    let alone = without_client(&s);
    let client = executable("call_tool").with_file_name("serve_tools");
    let client = client.display();
    let script = format!("#!/bin/sh\nexec '{client}' --connect 0.0.0\n");
    fs::write(alone.join("serve_tools"), script).expect("written");
    set_mode(&alone.join("serve_tools"), 0o755);
    let call =
        s.ws.program(&alone.join("call_tool"), &["one__echo"])
            .unwatched();
    let answer = call.run();
    answer.must_say(&answer.error("mcp_tool_error", 1), &["of the same version"]);
}

#[test]
fn without_its_executable_the_error_says_what_to_do() {
    let s = Servers::new(&[("one", "plain", none())]);
    let alone = without_client(&s);
    let call =
        s.ws.program(&alone.join("call_tool"), &["one__echo"])
            .unwatched();
    let answer = call.run();
    answer.must_say(
        &answer.error("mcp_tool_error", 1),
        &["serve_tools", "install it there"],
    );
    let list =
        s.ws.program(&alone.join("get_tools"), &["--mcp"])
            .unwatched()
            .run();
    assert_eq!((list.status(), list.stderr.len()), (0, 0));
    assert!(Servers::names_in(&list).is_empty());
}

fn redirecting(script: &Path, notes: &Path, target: Option<&str>) -> (Helper, String) {
    let mut command = Command::new("python3");
    command.arg(script).arg(notes).args(target);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    let mut port = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut port).expect("a port");
    (Helper(child), port.trim().to_owned())
}

#[test]
fn headers_go_to_the_configured_host_only() {
    let ws = Workspace::new().outside("redirects.py", include_str!("servers/redirects.py"));
    let file = |name: &str| -> PathBuf { ws.outside_path(name).into() };
    let (_other, there) = redirecting(&file("redirects.py"), &file("there"), None);
    let (_own, here) = redirecting(&file("redirects.py"), &file("here"), Some(&there));
    for kind in ["httpUrl", "url"] {
        let mut entry = json!({"headers": {"Authorization": "Bearer $OWN_TOKEN", "X-Own": "o"}, "timeout": 4000});
        entry[kind] = format!("http://127.0.0.1:{here}/mcp").into();
        let settings = json!({"mcpServers": {"away": entry}}).to_string();
        fs::create_dir_all(ws.root().join("home/.gemini")).expect("made");
        fs::write(ws.root().join("home/.gemini/settings.json"), settings).expect("written");
        let call = ws.tool("away__x").arguments(&none()).unwatched();
        // Nor does the proxy of the environment get what is for the machine itself.
        let answer = call
            .env("OWN_TOKEN", "secret")
            .env("http_proxy", &format!("http://127.0.0.1:{there}"))
            .run();
        let message = answer.error("mcp_tool_error", 1);
        assert!(
            !message.contains("secret")
                && !message.contains("/mcp")
                && message.contains(&format!(":{there}/there;")),
            "{message}"
        );
    }
    let here = fs::read_to_string(file("here")).expect("asked");
    assert!(here.contains("POST /mcp Bearer secret o"), "{here}");
    assert!(
        !file("there").exists(),
        "{:?}",
        fs::read_to_string(file("there"))
    );
}

#[test]
fn what_is_kept_is_nobody_elses_business() {
    let s = Servers::new(&[("one", "plain", none())]);
    let _ = s.names();
    let kept = s.ws.root().join("home/.cache/gemini-tools/mcp");
    for entry in fs::read_dir(kept).expect("kept") {
        let mode = entry
            .expect("it")
            .metadata()
            .expect("it")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0);
    }
}
