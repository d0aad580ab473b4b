//! What restricts fails closed: whatever is wrong with what may restrict calls, the call that it denies does not run,
//! and the error names the cause.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use gemini_tools::variables;
use serde_json::{Value, json};

use crate::harness::random::{Random, seeds};
use crate::harness::{Answer, Call, Workspace, make_fifo, set_mode, skipped, trials, write};

const DENY: &str = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 10\n";

const PLAN: &str = "GEMINI_TOOLS_APPROVAL_MODE=plan\n";

const SYSTEM: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";

const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// A file that denies `write_file`, and the variable with which it counts.
struct Source {
    file: &'static str,
    text: &'static str,
    variable: Option<(&'static str, String)>,
}

fn source(random: &mut Random, ws: &Workspace) -> Source {
    let settings = random.of(&[
        r#"{"tools": {"exclude": ["write_file"]}}"#,
        r#"{"excludeTools": "write_file"}"#,
        r#"{"tools": {"core": ["glob"]}}"#,
    ]);
    let of = |file, text, variable: Option<(&'static str, &str)>| Source {
        file,
        text,
        variable: variable.map(|(name, value)| (name, value.to_owned())),
    };
    let outside = |name: &str| ws.outside_path(name);
    let trusts = Some((TRUST, "true"));
    let all = [
        of("home/.gemini/settings.json", settings, None),
        of(
            "out/etc/s.json",
            settings,
            Some((SYSTEM, &outside("etc/s.json"))),
        ),
        of(
            "out/etc/d.json",
            settings,
            Some((DEFAULTS, &outside("etc/d.json"))),
        ),
        of("ws/.gemini/settings.json", settings, None),
        of("ws/.gemini/settings.json", settings, trusts),
        of("home/.gemini/policies/a.toml", DENY, None),
        of("home/.gemini/extensions/e/policies/a.toml", DENY, None),
        of("ws/.gemini/policies/a.toml", DENY, trusts),
        of(
            "out/rules/a.toml",
            DENY,
            Some(("GEMINI_TOOLS_POLICY", &outside("rules"))),
        ),
        of("home/.gemini/.env", PLAN, None),
        of(
            "home/.qwen/.env",
            PLAN,
            Some(("QWEN_CODE_NO_RELAUNCH", "true")),
        ),
    ];
    let chosen = random.below(all.len());
    all.into_iter().nth(chosen).expect("one of them")
}

impl Source {
    fn with<'a>(&self, call: Call<'a>) -> Call<'a> {
        let call = call.unwatched();
        match &self.variable {
            Some((name, value)) => call.env(name, value),
            None => call,
        }
    }

    fn write_call(&self, ws: &Workspace) -> Answer {
        let call = ws.tool("write_file");
        self.with(call.arguments(&json!({"file_path": "a.txt", "content": "x"})))
            .run()
    }
}

/// Ways in which the content of a file can be at fault.
const CONTENTS: [&str; 6] = ["cut", "UTF-16", "mark", "NUL", "long", "scalar"];

/// Ways in which a file, or the directory that it is in, can be at fault.
const PLACES: [&str; 6] = [
    "directory",
    "FIFO",
    "dangling",
    "loop",
    "mode",
    "parts dangle",
];

fn spoiled(random: &mut Random, how: &str, source: &Source) -> Vec<u8> {
    let text = source.text;
    let is_of_variables = text == PLAN;
    match how {
        // What is left of a file of variables may be whole.
        "cut" if !is_of_variables => {
            let length = 1 + random.below(text.trim_end().len() - 1);
            text.as_bytes()[..length].to_vec()
        }
        "UTF-16" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "NUL" => format!("{text}\0").into_bytes(),
        "long" => format!("{text}{}", "\n".repeat(5 << 20)).into_bytes(),
        "scalar" if !is_of_variables => b"[3]\n[4".to_vec(),
        _ => format!("\u{feff}{text}").into_bytes(),
    }
}

/// Puts something that can't be read in the place of a file or directory.
fn displace(how: &str, path: &Path, content: &str) {
    if path.is_dir() {
        fs::remove_dir_all(path).expect("removed");
    } else {
        fs::remove_file(path).expect("removed");
    }
    match how {
        "directory" => fs::create_dir(path).expect("made"),
        "FIFO" => make_fifo(path),
        "loop" => symlink(path, path).expect("a link"),
        "mode" => {
            write(path, content.as_bytes());
            set_mode(path, 0);
        }
        _ => symlink("/none/at/all", path).expect("a link"),
    }
}

/// Checks that nobody is left in the dark: declarations are printed all the same, without a word, and `config` and
/// `doctor` name the cause.
fn is_told(ws: &Workspace, source: &Source, cause: &str, shown: &str) {
    let list = source.with(ws.get_tools(&[])).run();
    assert_eq!(
        (list.status(), list.stderr.is_empty()),
        (0, true),
        "{shown}"
    );
    assert!(
        !list.json().as_array().expect("a list").is_empty(),
        "{shown}"
    );
    let config = source
        .with(ws.get_tools(&["config", "--json"]))
        .run()
        .json();
    let refusal = config["refusal"].as_str().unwrap_or_default();
    assert!(refusal.contains(cause), "{shown}: {config}");
    let doctor = source.with(ws.get_tools(&["doctor", "--json"])).run();
    let report = doctor.json();
    let mut errors = report["findings"].as_array().expect("a list").iter();
    let names = |finding: &Value| {
        finding["severity"] == "error"
            && finding["file"].as_str().is_some_and(|f| f.contains(cause))
    };
    assert!(
        errors.any(names) && doctor.status() != 0,
        "{shown}: {report}"
    );
}

#[test]
fn no_fault_of_a_file_that_restricts_lets_the_call_run() {
    for seed in seeds("faults", 60 * trials()) {
        let random = &mut Random::new(seed);
        let ws = Workspace::new();
        let source = source(random, &ws);
        let (file, made) = (ws.root().join(source.file), ws.dir().join("a.txt"));
        write(&file, source.text.as_bytes());
        let shown = format!("seed {seed}: {} {:?}", source.file, source.variable);
        source.write_call(&ws).error("policy_violation", 3);
        let how = if random.one_in(2) {
            let how = random.of(&CONTENTS);
            write(&file, &spoiled(random, how, &source));
            how
        } else {
            let how = random.of(&PLACES);
            let parent = file.parent().expect("a directory");
            match how {
                "parts dangle" => displace(how, parent, ""),
                _ => displace(how, &file, source.text),
            }
            how
        };
        let shown = format!("{shown}: {how}");
        let ws = ws.unprivileged();
        let answer = source.write_call(&ws);
        assert!(
            answer.status() == 3 && !made.exists(),
            "{shown}: {}",
            answer.shown()
        );
        let message = answer.error("policy_violation", 3);
        let parent = file.parent().expect("a directory").display().to_string();
        if message.starts_with("No call may run: ") {
            assert!(message.contains(&parent), "{shown}: {message}");
            is_told(&ws, &source, &parent, &shown);
            source.write_call(&ws).error("policy_violation", 3);
            assert!(!made.exists(), "{shown}");
        } else {
            // A mark, and what is left of a rule, still denies.
            assert!(
                matches!(how, "mark" | "cut" | "scalar"),
                "{shown}: {message}"
            );
        }
    }
}

/// Keys that restrict, with the names that they had, and whether they are lists.
pub(super) const KEYS: [(&str, bool); 15] = [
    ("tools.core", true),
    ("coreTools", true),
    ("tools.exclude", true),
    ("excludeTools", true),
    ("tools.confirmationRequired", true),
    ("tools.undo.exclude", true),
    ("mcp.allowed", true),
    ("mcp.excluded", true),
    ("excludeMCPServers", true),
    ("policyPaths", true),
    ("adminPolicyPaths", true),
    ("mcp.pin", false),
    ("tools.commandSandbox", false),
    ("security.disableYoloMode", false),
    ("security.disableAlwaysAllow", false),
];

#[test]
fn no_restriction_of_a_wrong_type_or_in_a_wrong_place_is_passed_over() {
    let for_lists = [
        json!({"write_file": true}),
        json!(3),
        json!(true),
        json!(["x", 3]),
        json!([[]]),
    ];
    let for_switches = [json!("true"), json!(1), json!([true]), json!({})];
    for seed in seeds("wrong types", 40 * trials()) {
        let random = &mut Random::new(seed);
        let (key, is_list) = random.of(&KEYS);
        let values = if is_list {
            &for_lists[..]
        } else {
            &for_switches[..]
        };
        let mut value = values[random.below(values.len())].clone();
        let parts: Vec<&str> = key.split('.').collect();
        // The whole key, or one of the objects around it.
        let end = random.below(parts.len()) + 1;
        if end < parts.len() {
            value = [json!([{"exclude": ["x"]}]), json!("x"), json!(1)][random.below(3)].clone();
        }
        let flat = end == parts.len() && parts.len() > 1 && random.one_in(3);
        let settings = if flat {
            json!({ key: value })
        } else {
            let around = parts[..end].iter().rev();
            around.fold(value, |inner, part| json!({ *part: inner }))
        };
        let file = random.of(&["home/.gemini/settings.json", "ws/.gemini/settings.json"]);
        let ws = Workspace::new();
        let is_own = ["policyPaths", "adminPolicyPaths", "tools.undo.exclude"].contains(&key);
        if file.starts_with("ws") && is_own && end == parts.len() && !flat {
            continue;
        }
        write(&ws.root().join(file), settings.to_string().as_bytes());
        let call = ws
            .tool("write_file")
            .arguments(&json!({"file_path": "a.txt", "content": "x"}));
        let answer = call.unwatched().flags(&["--approval-mode", "yolo"]).run();
        let message = answer.error("policy_violation", 3);
        let named = [&ws.root().join(file).display().to_string(), parts[0]];
        assert!(
            message.starts_with("No call may run: "),
            "seed {seed}: {settings}: {message}"
        );
        assert!(
            message.contains(named[0]),
            "seed {seed}: {settings}: {message}"
        );
        assert!(
            message.contains(named[1]),
            "seed {seed}: {settings}: {message}"
        );
        assert!(
            message.contains(".json:1:"),
            "the line is named: seed {seed}: {message}"
        );
    }
}

#[test]
fn no_restriction_that_stands_twice_is_passed_over() {
    let once = r#""tools": {"exclude": ["write_file"]}"#;
    let security = r#""security": {"disableYoloMode": true}"#;
    for (settings, named) in [
        (
            format!(r#"{{{once}, "excludeTools": ["glob"]}}"#),
            "excludeTools",
        ),
        (format!(r#"{{"excludeTools": [], {once}}}"#), "excludeTools"),
        (
            format!(r#"{{{once}, "tools": {{}}}}"#),
            "line 1: \"tools\" stands twice",
        ),
        (
            format!(r#"{{{security}, "security": null}}"#),
            "\"security\" stands twice",
        ),
        (
            r#"{"excludeTools": ["a"], "excludeTools": ["b"]}"#.to_owned(),
            "excludeTools",
        ),
        (
            r#"{"tools": {"exclude": ["a"], "exclude": ["b"]}}"#.to_owned(),
            "\"exclude\" stands twice",
        ),
        (
            r#"{"mcpServers": {"a": {"url": "x", "excludeTools": ["b"], "excludeTools": []}}}"#
                .to_owned(),
            "\"excludeTools\" stands twice",
        ),
        // These say it once.
        (
            r#"{"tools": {"exclude": null}, "excludeTools": ["write_file"]}"#.to_owned(),
            "",
        ),
        (format!(r#"{{{once}, "excludeTools": ["write_file"]}}"#), ""),
        (format!(r#"{{{once}, "ui": {{"a": 1, "a": 2}}}}"#), ""),
    ] {
        let file = ["home/.gemini/settings.json", "ws/.gemini/settings.json"];
        for file in file {
            let ws = Workspace::new();
            write(&ws.root().join(file), settings.as_bytes());
            let call = ws.tool("write_file").unwatched();
            let call = call.arguments(&json!({"file_path": "a.txt", "content": "x"}));
            let message = call.run().error("policy_violation", 3);
            let stops = message.starts_with("No call may run: ");
            assert_eq!(stops, !named.is_empty(), "{settings}: {message}");
            assert!(message.contains(named), "{settings}: {message}");
        }
    }
}

#[test]
fn a_variable_that_is_not_understood_stops_every_call_and_is_named() {
    let stops = |name: &str, value: &str, in_file: bool| {
        let mut ws = Workspace::new().file("rel/a.toml", DENY.replace("deny", "allow"));
        if in_file {
            ws = ws.home(".gemini/.env", format!("{name}={value}\n"));
        }
        let call = ws.tool("list_directory").arguments(&json!({"path": "."}));
        let call = if in_file { call } else { call.env(name, value) };
        let answer = call.run();
        if answer.status() == 0 {
            return false;
        }
        let message = answer.error("policy_violation", 3);
        assert!(
            message.contains(name) && message.contains(value),
            "{message}"
        );
        for (report, status) in [("config", 0), ("doctor", 1), ("lint", 1)] {
            let call = ws.get_tools(&[report]).unwatched();
            let call = if in_file { call } else { call.env(name, value) };
            let answer = call.run();
            assert_eq!(answer.status(), status, "{report}: {}", answer.shown());
            let expected = format!("It is {value:?}, not ");
            let words: Vec<&str> = answer.text().split_whitespace().collect();
            answer.must_say(&words.join(" "), &[name, &expected]);
        }
        true
    };
    for (name, right, wrong) in [
        (
            "GEMINI_TOOLS_APPROVAL_MODE",
            &["plan", "auto_edit", "yolo", ""][..],
            &["Plan", "PLAN", "plann"][..],
        ),
        (
            "GEMINI_CLI_TOOLS_APPROVAL_MODE",
            &["default"],
            &["autoEdit"],
        ),
        (
            "GEMINI_TOOLS_SANDBOX",
            &["read-only", "off"],
            &["readonly", "1"],
        ),
        (
            "GEMINI_TOOLS_POLICY",
            &["/dev"],
            &["rel", "./rel/a.toml", "/dev:rel"],
        ),
        ("GEMINI_TOOLS_CONDENSE", &["off", " on "], &["0", "OFF"]),
        ("GEMINI_CLI_TOOLS_OUTPUT", &["response"], &["foo"]),
        ("GEMINI_TOOLS_UNDO_COMMANDS", &["off", "all"], &["yes"]),
        ("GEMINI_TOOLS_TIMEOUT", &["0", "1e2"], &["abc", "-1", "1s"]),
        ("GEMINI_CLI_TOOLS_SHELL_TIMEOUT", &["9999"], &["inf"]),
        ("GEMINI_TOOLS_SHELL_IDLE_TIMEOUT", &["0.5"], &["1,5"]),
        ("GEMINI_TOOLS_MCP", &["yes"], &[]),
    ] {
        for in_file in [false, true] {
            for value in right {
                assert!(!stops(name, value, in_file), "{name}={value}");
            }
            for value in wrong {
                assert!(stops(name, value, in_file), "{name}={value}");
            }
        }
    }
    for name in ["GEMINI_CLI_HOME", SYSTEM, DEFAULTS] {
        assert!(
            stops(name, "rel", false) && !stops(name, "/none/at/all", false),
            "{name}"
        );
    }
    let call = Workspace::new();
    for (name, stops) in [
        ("GEMINI_TOOLS_SANBOX", true),
        ("GEMINI_TOOLS_SERVE_TOKEN", false),
    ] {
        let call = call.tool("glob").arguments(&json!({"pattern": "*"}));
        let answer = call.env(name, "read-only").run();
        assert_eq!(answer.status() == 3, stops, "{}", answer.shown());
        assert_eq!(answer.text().contains("GEMINI_TOOLS_SANDBOX"), stops);
    }
    // Only the blanks around it may be too many.
    let planned = Workspace::new().file("x", "");
    let call = planned
        .tool("write_file")
        .arguments(&json!({"file_path": "a.txt", "content": "x"}));
    let answer = call.env("GEMINI_TOOLS_APPROVAL_MODE", " plan ").run();
    assert!(
        answer
            .error("policy_violation", 3)
            .contains("Plans are made")
    );
}

#[test]
fn what_is_wrong_is_said_to_who_calls_a_servers_tool_by_lint_and_in_notes() {
    let settings = ".gemini/settings.json";
    let (refused, failed) = (("policy_violation", 3), ("execution_failed", 1));
    for (file, text, cause, (kind, status)) in [
        (settings, r#"{"mcpServers": {"a": {}}"#, "line 1", refused),
        (
            settings,
            r#"{"excludeTools": 7}"#,
            ": excludeTools: a list",
            refused,
        ),
        (".gemini/policies/x.toml", "[[rule]", "x.toml", refused),
        (
            settings,
            r#"{"mcpServers": {"a": {"comand": "x"}}}"#,
            "no command",
            failed,
        ),
        (settings, r#"{"mcpServers": {"a": 7}}"#, "an object", failed),
    ] {
        let ws = Workspace::new().home(file, text);
        let call = ws.tool("a__x").arguments(&json!({})).unwatched();
        let message = call.run().error(kind, status);
        assert!(message.contains(cause), "{message}");
        let lint = ws.get_tools(&["lint"]).unwatched().run();
        assert_eq!(lint.status() == 0, status == 1, "{}", lint.shown());
        lint.must_say(lint.text(), &[cause]);
        let notes = ws.get_tools(&["--notes"]).unwatched().run();
        assert!(notes.status() == 0 && notes.json().is_array());
        notes.must_say(&notes.errors(), &[cause]);
    }
}

#[test]
fn a_path_of_rules_that_is_relative_is_nobodys() {
    let allow = DENY.replace("deny", "allow");
    for key in ["policyPaths", "adminPolicyPaths"] {
        for path in ["rules.toml", "./rules.toml", "$NONE_SUCH/rules.toml"] {
            let ws = Workspace::new()
                .file("rules.toml", &allow)
                .home(".gemini/settings.json", json!({key: [path]}).to_string());
            let call = ws.tool("list_directory").arguments(&json!({"path": "."}));
            let message = call.run().error("policy_violation", 3);
            assert!(message.contains(key) && message.contains(path), "{message}");
        }
    }
    // A trusted project's file means one of its own.
    let ws = Workspace::new()
        .file("sub/x", "")
        .file("rules.toml", DENY)
        .file(
            ".gemini/settings.json",
            json!({"policyPaths": ["rules.toml"]}).to_string(),
        );
    let call = ws
        .tool("write_file")
        .arguments(&json!({"file_path": "a.txt", "content": "x"}));
    let message = call.env(TRUST, "true").run().error("policy_violation", 3);
    assert!(message.contains(&ws.path("rules.toml")), "{message}");
}

#[test]
fn variables_about_trust_give_it_by_one_word_only_and_take_it_by_any() {
    let ws = Workspace::new().file(".gemini/policies/p.toml", DENY);
    let status = |variables: &[(&str, &str)]| {
        let call = ws.get_tools(&["trust", "--status"]);
        let call = variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, value));
        call.run().status()
    };
    let restricted = "GEMINI_RESTRICTED_MODE";
    for value in ["1", "TRUE", "yes", "0", "FALSE", "false", "true "] {
        assert_eq!(status(&[(TRUST, value)]), 1, "{value}");
    }
    for value in ["1", "TRUE", "true", "yes"] {
        assert_eq!(
            status(&[(TRUST, "true"), (restricted, value)]),
            1,
            "{value}"
        );
    }
    for value in ["", "0", "false"] {
        assert_eq!(
            status(&[(TRUST, "true"), (restricted, value)]),
            0,
            "{value}"
        );
    }
}

/// `dotenv`'s own way to read a file, from its source (BSD-2-Clause, Scott Motte). Each line of the input is a text as
/// JSON; each line of the output has the variables.
const DOTENV: &str = r#"
const LINE = /(?:^|^)\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?(?:$|$)/mg
function parse(src) {
  const all = []
  const lines = src.replace(/\r\n?/mg, '\n')
  let match
  while ((match = LINE.exec(lines)) != null) {
    let value = (match[2] || '').trim()
    const quote = value[0]
    value = value.replace(/^(['"`])([\s\S]*)\1$/mg, '$2')
    if (quote === '"') value = value.replace(/\\n/g, '\n').replace(/\\r/g, '\r')
    all.push([match[1], value])
  }
  return all
}
require('fs').readFileSync(0, 'utf8').trimEnd().split('\n')
  .forEach(line => console.log(JSON.stringify(parse(JSON.parse(line)))))
"#;

/// Runs a script of node on these lines; `None` if node is missing.
fn by_node(script: &str, lines: &str) -> Option<String> {
    let mut child = Command::new("node")
        .args(["-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("an end");
    writer.join().expect("no panic").expect("read");
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn files_of_variables_are_read_as_dotenv_reads_them() {
    const PIECES: [&str; 33] = [
        "A",
        "B_1",
        "x.y-z",
        "export",
        "=",
        ": ",
        ":",
        " ",
        "\t",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "#",
        "'",
        "\"",
        "`",
        "\\'",
        "\\\"",
        "\\n",
        "\\r",
        "\\",
        "$A",
        "é",
        "\u{feff}",
        "\u{a0}",
        "\u{85}",
        "\u{3000}",
        "value",
        "A=1\n",
        "B='x\ny'\n",
        "\u{b}",
    ];
    for seed in seeds("dotenv", trials()) {
        let random = &mut Random::new(seed);
        let text =
            |random: &mut Random| (0..random.below(24)).map(|_| random.of(&PIECES)).collect();
        let texts: Vec<String> = (0..4000).map(|_| text(random)).collect();
        let lines: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
        let Some(found) = by_node(DOTENV, &lines.join("\n")) else {
            return skipped("node");
        };
        assert_eq!(found.lines().count(), texts.len());
        for (text, found) in texts.iter().zip(found.lines()) {
            let theirs: Vec<(String, String)> = serde_json::from_str(found).expect("pairs");
            assert_eq!(variables::parse(text), theirs, "seed {seed}: {text:?}");
        }
    }
}
