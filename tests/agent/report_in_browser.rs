//! The page of `--report` in a real browser: Chromium, by `scripts/report.d/look.mjs`, on a phone and on a desktop, in
//! light and in dark. The session is as nasty as we could think of. Without node or a browser the tests are skipped and
//! say so, but not in CI.

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::harness::agent::{agent, call, said};
use crate::harness::stand_in::StandIn;
use crate::harness::{Workspace, skipped};

/// What would run if any of it were markup.
const HOSTILE: &str = "</code></pre></details></title></style><script>globalThis.owned = 1; alert(1)</script>\
    <img src=http://127.0.0.1:9/x onerror=\"globalThis.owned = 1\"><svg onload=alert(1)><iframe src=//x.invalid>\
    <link rel=stylesheet href=http://127.0.0.1:9/y><a href=\"javascript:alert(1)\">x</a>&lt;b&gt;";

/// What models write.
const MARKDOWN: &str = "## Changes\n\n1. **One** `a < b` and *two*\n2. [x] ~~three~~\n   - four\n\n> five\n\n```rust\nfn six() -> \
    &u8;\n```\n\n| seven | eight |\n|---|---|\n| 9 | [web](https://example.org/?a=b) |\n\n[none](javascript:alert(1)) ![image](https://x.invalid/y.png)\n\n***";

const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// `look.mjs` ends so where there is no browser.
const NO_BROWSER: i32 = 77;

const VIEWS: [&str; 4] = ["phone", "phone-dark", "desktop", "desktop-dark"];

/// Wider than any screen.
fn table() -> String {
    let cells: Vec<String> = (0..40).map(|i| format!("column {i:02}")).collect();
    format!("| {} |\n", cells.join(" | ")).repeat(5)
}

fn session() -> Value {
    let usage = json!({"promptTokenCount": 4321, "candidatesTokenCount": 987, "thoughtsTokenCount": 65,
        "cachedContentTokenCount": 1234, "totalTokenCount": 5373});
    let of =
        |c: &Value| json!({"functionCall": {"id": c["id"], "name": c["tool"], "args": c["args"]}});
    let shell = format!("printf '%s\\n' '{HOSTILE}'; cat wide.txt; exit 3");
    let first = [
        call("r", "read_file", json!({"absolute_path": "wide.txt"})),
        call("i", "read_file", json!({"absolute_path": "pixel.png"})),
        call(
            "e",
            "replace",
            json!({"file_path": "src/lib.rs", "old_string": "a + b // TODO", "new_string": format!("a.saturating_add(b) // {HOSTILE}")}),
        ),
        call(
            "x",
            "read_file",
            json!({"absolute_path": format!("missing/{}", "n".repeat(200))}),
        ),
    ];
    let mut parts = vec![
        json!({"text": format!("I should look first. {HOSTILE}"), "thought": true}),
        json!({"text": format!("Let me look at {}.\n\n{}", "x".repeat(300), table())}),
    ];
    parts.extend(first.iter().map(of));
    let second = [
        call("s", "run_shell_command", json!({"command": shell})),
        call(HOSTILE, HOSTILE, json!({HOSTILE: HOSTILE})),
        call(
            "l",
            "write_file",
            json!({"file_path": "long.txt", "content": format!("{}\n", "0123456789".repeat(60))}),
        ),
    ];
    json!({
        "answers": [
            {"parts": parts, "usageMetadata": usage},
            {"parts": second.iter().map(of).collect::<Vec<_>>(), "usageMetadata": usage},
        ],
        "closing": format!("All done. {HOSTILE}\n\nשלום, 世界, and a very_{}_long_name.\n\n{MARKDOWN}", "long_".repeat(60)),
    })
}

/// What the browser has seen, once for all tests.
fn seen() -> Option<&'static Value> {
    static SEEN: OnceLock<Option<Value>> = OnceLock::new();
    SEEN.get_or_init(look).as_ref()
}

fn look() -> Option<Value> {
    let api = StandIn::playing(&session())?;
    let ws = Workspace::new()
        .file("wide.txt", table())
        .file("pixel.png", PNG)
        .file(
            "src/lib.rs",
            "pub fn add(a: u32, b: u32) -> u32 {\n    a + b // TODO\n}\n",
        );
    let report = ws.outside_path("report.html");
    let prompt = format!("Improve the addition. {HOSTILE}\n\n{}", table());
    let args = ["--yolo", "--report", &report, "--prompt", &prompt];
    said(&agent(&ws, &api, &args).run());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/report.d/look.mjs");
    let mut look = Command::new("node");
    look.arg(program).arg(&report);
    // For people who want to see it too.
    look.args(env::var_os("GEMINI_TOOLS_TEST_SCREENSHOTS"));
    let looked = look.output().expect("node");
    if looked.status.code() == Some(NO_BROWSER) {
        skipped("chromium");
        return None;
    }
    let stderr = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success(), "{stderr}");
    Some(serde_json::from_slice(&looked.stdout).expect("what was seen"))
}

/// Each view's name with what was seen there, folded and unfolded.
fn measures(seen: &'static Value) -> impl Iterator<Item = (String, &'static Value)> {
    VIEWS.iter().flat_map(move |view| {
        ["closed", "open"]
            .into_iter()
            .map(move |state| (format!("{view}, {state}"), &seen[view][state]))
    })
}

#[track_caller]
fn list(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

#[test]
fn nothing_is_loaded_or_run_and_the_browser_has_nothing_to_complain_about() {
    let Some(seen) = seen() else { return };
    for view in VIEWS {
        for what in ["requests", "complaints", "dialogs"] {
            assert_eq!(seen[view][what], json!([]), "{view}: {what}");
        }
    }
}

#[test]
fn what_the_session_says_is_text_only() {
    let Some(seen) = seen() else { return };
    let says = &seen["phone"]["says"];
    assert_eq!(says["owned"], "undefined");
    // The link of the answer.
    assert_eq!(says["handlers"], json!(["href"]));
    assert_eq!(
        says["elements"],
        json!([
            "a",
            "b",
            "blockquote",
            "body",
            "code",
            "dd",
            "del",
            "details",
            "div",
            "dl",
            "dt",
            "em",
            "h1",
            "h2",
            "h3",
            "h5",
            "head",
            "hr",
            "html",
            "li",
            "meta",
            "noscript",
            "ol",
            "p",
            "pre",
            "script",
            "span",
            "strong",
            "style",
            "summary",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "title",
            "tr",
            "ul"
        ])
    );
    let title = says["title"].as_str().expect("a title");
    assert!(
        title.starts_with("Improve the addition. </code>"),
        "{title}"
    );
    let texts = says["texts"].to_string();
    let as_json = Value::from(HOSTILE).to_string();
    let whole = as_json.trim_matches('"');
    // Prompt and thoughts.
    assert_eq!(texts.matches(whole).count(), 2, "{texts}");
    // These are markdown, of which no HTML is left either.
    let words = says["words"].to_string();
    assert!(
        words.contains("</code></pre></details></title></style><script>"),
        "{words}"
    );
    for piece in [
        "Changes",
        "☑ three",
        "four",
        "five",
        "fn six() -> &u8;",
        "web",
        "none image",
    ] {
        assert!(words.contains(piece), "{piece}: {words}");
    }
    for marks in ["**", "```", "~~", "|---|", "javascript:alert(1))", "y.png"] {
        assert!(!words.contains(marks), "{marks}: {words}");
    }
}

#[test]
fn the_page_is_no_wider_than_the_screen_and_nothing_is_out_of_reach() {
    let Some(seen) = seen() else { return };
    for (view, measured) in measures(seen) {
        // The window's own width grows with a page on a phone.
        let most = if view.starts_with("phone") { 360 } else { 1280 };
        for key in ["scrollWidth", "innerWidth"] {
            assert!(measured[key].as_u64() <= Some(most), "{view}: {measured:#}");
        }
        assert_eq!(measured["lost"], json!([]), "{view}");
    }
    let phone = &seen["phone"]["open"];
    assert_eq!(phone["pixelRatio"], 3);
    // Long lines are scrolled by themselves, by keys too.
    let scrollable = list(&phone["scrollable"]);
    assert!(scrollable.len() >= 4, "{scrollable:?}");
    for region in scrollable {
        assert_eq!(region["focusable"], true, "{region}");
    }
}

#[test]
fn every_text_can_be_read() {
    let Some(seen) = seen() else { return };
    for (view, measured) in measures(seen) {
        assert_eq!(measured["dark"], view.contains("dark"), "{view}");
        assert!(measured["texts"].as_u64() > Some(40), "{view}: {measured}");
        assert!(
            measured["smallest"].as_f64() >= Some(12.0),
            "{view}: {}",
            measured["smallest"]
        );
        assert_eq!(measured["faint"], json!([]), "{view}");
    }
    let page = |view: &str| seen[view]["open"]["page"].to_string();
    assert_ne!(page("phone"), page("phone-dark"));
}

#[test]
fn a_diff_has_its_colours() {
    let Some(seen) = seen() else { return };
    for view in VIEWS {
        let open = &seen[view]["open"];
        let colours = ["added", "removed", "hunk", "page"].map(|key| open[key].to_string());
        let mut different = colours.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 4, "{view}: {colours:?}");
        assert!(!colours.contains(&"null".to_owned()), "{view}: {colours:?}");
    }
}

#[test]
fn folds_open_and_close_by_finger_mouse_and_keys() {
    let Some(seen) = seen() else { return };
    for view in VIEWS {
        for by in ["pointer", "keys"] {
            let states = &seen[view]["steps"][by];
            // The last fold has a diff, and is open from the start.
            let expected = [by == "keys", by != "keys", by == "keys"];
            assert_eq!(*states, json!(expected), "{view}: {by}");
        }
        // What a finger hits well, by WCAG 2.2.
        let height = seen[view]["closed"]["summaries"].as_f64();
        assert!(height >= Some(44.0), "{view}: {height:?}");
    }
}

#[test]
fn turns_tokens_and_times_are_told() {
    let Some(seen) = seen() else { return };
    let says = &seen["phone"]["says"];
    assert_eq!(
        says["headings"],
        json!(["Answer", "Prompt", "Turn 1", "Turn 2", "Turn 3"])
    );
    let totals = &says["totals"];
    assert_eq!(totals["Turns"], "3");
    assert_eq!(totals["Calls"], "7, of which 3 failed");
    assert_eq!(totals["Model"], "gemini-2.5-pro");
    let has = |text: &Value, pieces: &[&str]| {
        let text = text.as_str().expect("text").to_owned();
        for piece in pieces {
            assert!(text.contains(piece), "{piece}: {text}");
        }
    };
    let used = list(&says["used"]);
    assert_eq!(used.len(), 3, "{used:?}");
    for turn in &used[..2] {
        has(turn, &["4321 tokens in", "987 tokens out"]);
        assert!(is_time(turn.as_str().expect("text")), "{turn}");
    }
    assert!(is_time(totals["Duration"].as_str().expect("text")));
    let tools = list(&says["table"]);
    // And the row of the answer's table.
    assert_eq!(tools.len(), 6, "{tools:?}");
    assert!(
        tools
            .iter()
            .any(|row| row[0] == "read_file" && row[1] == "3" && row[2] == "1")
    );
}

/// Whether a text begins with a number and a unit of time.
fn is_time(text: &str) -> bool {
    let time = regex::Regex::new(r"^[0-9]+(\.[0-9]+)? ?(ms|s|min|m)\b").expect("a pattern");
    time.is_match(text)
}

#[test]
fn every_call_has_its_name_arguments_output_and_duration() {
    let Some(seen) = seen() else { return };
    let calls = list(&seen["phone"]["says"]["calls"]);
    let hostile_name = calls
        .iter()
        .filter(|c| c["name"].as_str().is_some_and(|n| n.contains("<script>")));
    assert_eq!(hostile_name.count(), 1);
    let wide = table();
    let rows = [
        (
            "read_file",
            false,
            "wide.txt",
            "wide.txt",
            "Output",
            "column 39",
        ),
        (
            "read_file",
            false,
            "pixel.png",
            "pixel.png",
            "Output",
            "image/png",
        ),
        (
            "replace",
            false,
            "src/lib.rs",
            "saturating_add",
            "Diff",
            "+    a.saturating_add(b) // </code>",
        ),
        (
            "read_file",
            true,
            "missing/nn",
            "missing/nn",
            "Error",
            "missing/nn",
        ),
        (
            "</code></pre>",
            true,
            "<img",
            "<script>",
            "Error",
            "</code></pre>",
        ),
        (
            "run_shell_command",
            true,
            "✗ exit 3",
            "exit 3",
            "Output",
            wide.trim_end(),
        ),
        (
            "write_file",
            false,
            "long.txt",
            "long.txt",
            "Output",
            "long.txt",
        ),
    ];
    assert_eq!(calls.len(), rows.len());
    let is = |value: &Value, piece: &str| value.as_str().is_some_and(|v| v.contains(piece));
    // Those that only read end in any order.
    for (name, is_bad, about, argument, heading, text) in rows {
        let mut found = calls
            .iter()
            .filter(|c| is(&c["name"], name) && is(&c["blocks"]["Arguments"], argument));
        let (Some(call), None) = (found.next(), found.next()) else {
            panic!("not one call of {name} with {argument}: {calls:#?}");
        };
        assert_eq!(call["bad"], is_bad, "{name}");
        assert!(is(&call["blocks"][heading], text), "{call:#}");
        let duration = call["facts"]["Duration"].as_str().expect("a duration");
        assert!(is_time(duration), "{duration}");
        assert!(is(&call["summary"], duration), "{call:#}");
        assert!(is(&call["summary"], about), "{call:#}");
        // The model was told the status of the command, and the call is done.
        let is_error = is_bad && name != "run_shell_command";
        let state = if is_error { "error" } else { "success" };
        assert_eq!(call["facts"]["State"], state, "{name}");
    }
}
