//! What CI services read: `--fail-on-match` and `--format` of `call_tool`, and the checks of those formats.

use std::env;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, python, skipped};

/// A file of the formats' own schemas.
fn schema(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/schemas")
        .join(name)
}

/// The status of a validator that lacks what it needs.
const MISSING: i32 = 77;

/// Has a validator look at a document on its standard input, and panics at what it says. Without the validator nothing is
/// looked at, but in CI it is.
#[track_caller]
fn validate(program: &Path, arguments: &[&OsStr], document: &str) {
    let validator = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut validator) = validator else {
        return skipped(&format!("the validator {}", program.display()));
    };
    let mut stdin = validator.stdin.take().expect("a pipe");
    // What it says of a document that it did not read to its end counts all the same.
    let _ = stdin.write_all(document.as_bytes());
    drop(stdin);
    let run = validator.wait_with_output().expect("it ends");
    if run.status.code() == Some(MISSING) {
        return skipped(&format!("a module of the validator {}", program.display()));
    }
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}\n{document}");
}

const VALIDATE_JSON: &str = "\
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
schema = json.load(open(sys.argv[1]))
kind = jsonschema.validators.validator_for(schema)
kind.check_schema(schema)
errors = list(kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(json.load(sys.stdin)))
for e in errors:
    print('/'.join(map(str, e.absolute_path)), e.message)
sys.exit(bool(errors))
";

/// Holds a document against one of the schemas.
#[track_caller]
pub(crate) fn check_json(schema_name: &str, document: &Value) {
    let schema = schema(schema_name);
    let arguments = ["-c".as_ref(), VALIDATE_JSON.as_ref(), schema.as_os_str()];
    let python = python().unwrap_or("python3".as_ref());
    validate(python, &arguments, &document.to_string());
}

/// Against the whole schema of SARIF 2.1.0, and what it has no words for: an index leads to the rule of that name.
#[track_caller]
pub(crate) fn check_sarif(document: &Value) {
    check_json("sarif-2.1.0.json", document);
    for run in array(&document["runs"]) {
        let rules = array(&run["tool"]["driver"]["rules"]);
        let mut ids: Vec<String> = rules.iter().map(|rule| rule["id"].to_string()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "rules are unique");
        for result in array(&run["results"]) {
            check_result(result, rules);
        }
    }
}

#[track_caller]
fn check_result(result: &Value, rules: &[Value]) {
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    for location in result["locations"].as_array().into_iter().flatten() {
        let uri = location["physicalLocation"]["artifactLocation"]["uri"].as_str();
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/%".contains(&b);
        assert!(uri.expect("a URI").bytes().all(fits), "{uri:?}");
    }
}

#[track_caller]
fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// Against the schema that Jenkins holds such documents against.
#[track_caller]
pub(crate) fn check_junit(document: &str) {
    let schema = schema("junit-10.xsd");
    let arguments = [
        "--noout".as_ref(),
        "--nonet".as_ref(),
        "--schema".as_ref(),
        schema.as_os_str(),
        "-".as_ref(),
    ];
    validate("xmllint".as_ref(), &arguments, document);
}

fn project() -> Workspace {
    Workspace::new()
        .file("src/a b.rs", "fn main() {\n    ünï // TODO: \"x\" <&>\n}\n")
        .file("src/c.rs", "// nothing\n// todo TODO\n")
}

fn search(ws: &Workspace, arguments: &[&str]) -> Answer {
    ws.call_tool(&["search_file_content"])
        .flags(arguments)
        .run()
}

#[test]
fn a_match_fails_and_none_does_not() {
    let ws = project();
    for (pattern, status) in [("TODO", 1), ("FIXME", 0)] {
        let argument = format!("pattern={pattern}");
        for form in ["part", "response", "content", "result", "text"] {
            let with = search(&ws, &[&argument, "--fail-on-match", "--output", form]);
            let without = search(&ws, &[&argument, "--output", form]);
            assert_eq!((with.status(), without.status()), (status, 0), "{form}");
            assert_eq!(with.stdout, without.stdout, "the answer is the same");
            assert!(with.stderr.is_empty());
        }
    }
    let named = search(
        &ws,
        &["pattern=TODO", "names_only:=true", "--fail-on-match"],
    );
    assert_eq!(named.status(), 1);
}

#[test]
fn a_search_that_goes_wrong_keeps_its_own_status() {
    let ws = project();
    for (arguments, status) in [
        (["pattern=(", "--fail-on-match"], 2),
        (["path=none", "--fail-on-match"], 2),
        (["path=none", "--format=sarif"], 2),
        (["pattern=(", "--format=sarif"], 2),
        (["pattern=(", "--format=junit"], 2),
    ] {
        let answer = search(&ws, &arguments);
        assert_eq!(answer.status(), status, "{arguments:?}");
    }
    let sarif = search(
        &ws,
        &[
            "pattern=x",
            "path=none",
            "--format=sarif",
            "--fail-on-match",
        ],
    );
    assert_eq!(sarif.status(), 2, "1 would say that something was found");
    let document = sarif.json();
    check_sarif(&document);
    let invocation = &document["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let junit = search(&ws, &["pattern=x", "path=none", "--format=junit"]);
    check_junit(junit.text());
    junit.must_say(junit.text(), &["errors=\"1\"", "<error message="]);
}

#[test]
fn sarif_names_file_line_and_column_of_each_match() {
    let ws = project();
    let answer = search(&ws, &["pattern=TODO", "--format=sarif"]);
    assert_eq!(answer.status(), 0, "without --fail-on-match");
    let document = answer.json();
    check_sarif(&document);
    let results = array(&document["runs"][0]["results"]);
    let places: Vec<_> = results
        .iter()
        .map(|r| {
            let place = &r["locations"][0]["physicalLocation"];
            let region = &place["region"];
            json!([
                place["artifactLocation"]["uri"],
                region["startLine"],
                region["startColumn"],
                region["endColumn"]
            ])
        })
        .collect();
    assert_eq!(
        places,
        [
            json!(["src/a%20b.rs", 2, 12, 16]),
            json!(["src/c.rs", 2, 4, 8])
        ]
    );
    // The engine for look-around knows columns too, and names of files alone have none.
    let back = search(&ws, &["pattern=(?<=do )TODO", "--format=sarif"]).json();
    let region = &back["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        *region,
        json!({"startLine": 2, "startColumn": 9, "endColumn": 13})
    );
    let names = search(&ws, &["pattern=TODO", "names_only:=true", "--format=sarif"]).json();
    check_sarif(&names);
    let place = &names["runs"][0]["results"][1]["locations"][0]["physicalLocation"];
    assert_eq!(*place, json!({"artifactLocation": {"uri": "src/c.rs"}}));
    let none = search(&ws, &["pattern=FIXME", "--format=sarif", "--fail-on-match"]);
    assert_eq!(
        (
            none.status(),
            array(&none.json()["runs"][0]["results"]).len()
        ),
        (0, 0)
    );
}

#[test]
fn a_check_has_a_rule_a_message_and_a_level_of_its_own() {
    let ws = project();
    let words = ["--rule-id", "no-todo", "--message", "Open TODO", "--level"];
    let check = |more: &[&str]| search(&ws, &[&["pattern=TODO"], &words[..], more].concat());
    let document = check(&["warning", "--format", "sarif"]).json();
    check_sarif(&document);
    let result = &document["runs"][0]["results"][0];
    assert_eq!(
        json!([result["ruleId"], result["message"]["text"], result["level"]]),
        json!(["no-todo", "Open TODO", "warning"])
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        place["contextRegion"],
        json!({"startLine": 2, "snippet": {"text": "ünï // TODO: \"x\" <&>"}})
    );
    assert_eq!(
        document["runs"][0]["tool"]["driver"]["rules"],
        json!([{"id": "no-todo"}])
    );
    let junit = check(&["error", "--format=junit", "--fail-on-match"]);
    assert_eq!(junit.status(), 1);
    check_junit(junit.text());
    junit.must_say(
        junit.text(),
        &[
            "failures=\"2\"",
            "type=\"no-todo\" message=\"Open TODO\"",
            "&#10;// todo TODO</failure>",
        ],
    );
    let note = check(&["note", "--format", "junit"]);
    check_junit(note.text());
    note.must_say(
        note.text(),
        &[
            "failures=\"0\"",
            "<system-out>Open TODO&#10;// todo TODO</system-out>",
        ],
    );
    let words = ["--message", "Do it: {text}!", "--format", "junit"];
    let placed = search(&ws, &[&["pattern=todo TODO"], &words[..]].concat());
    check_junit(placed.text());
    placed.must_say(
        placed.text(),
        &["message=\"Do it: // todo TODO!\">src/c.rs:2:4</failure>"],
    );
    // Without a report there is nothing to say it in.
    let alone = search(&ws, &["pattern=TODO", "--rule-id", "x"]);
    assert_eq!(alone.status(), 2);
    let both = search(&ws, &["pattern=TODO", "--format=sarif", "--format=github"]);
    assert_eq!(both.status(), 2);
}

#[test]
fn matches_become_annotations_of_github() {
    let ws = project();
    let found = search(
        &ws,
        &["pattern=TODO", "--format", "github", "--fail-on-match"],
    );
    assert_eq!(found.status(), 1);
    assert_eq!(
        found.text(),
        "::error file=src/a b.rs,line=2,col=12,title=search_file_content::Found: ünï // TODO: \"x\" <&>\n\
         ::error file=src/c.rs,line=2,col=4,title=search_file_content::Found: // todo TODO\n"
    );
    let words = ["--rule-id", "todo", "--message", "100 %", "--level", "note"];
    let told = search(
        &ws,
        &[&["pattern=// todo TODO", "--format=github"], &words[..]].concat(),
    );
    assert_eq!(told.status(), 0);
    assert_eq!(
        told.text(),
        "::notice file=src/c.rs,line=2,col=1,title=todo::100 %25%0A// todo TODO\n"
    );
    let failed = search(&ws, &["pattern=(", "--format", "github", "--fail-on-match"]);
    assert_eq!(failed.status(), 2);
    assert!(failed.text().starts_with("::error::"), "{}", failed.text());
    let other = ws.call_tool(&["read_file", "absolute_path=src/c.rs", "--format=github"]);
    assert_eq!(other.run().status(), 2);
}

/// Returns the one file that each of the three documents names.
#[track_caller]
fn named(run: impl Fn(&str) -> Answer) -> String {
    let sarif = run("sarif").json();
    check_sarif(&sarif);
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
    let junit = run("junit");
    let class = junit.text().split("<testcase classname=\"").nth(1);
    let class = class
        .and_then(|rest| rest.split('"').next())
        .expect("a class");
    let github = run("github");
    let file = github.text().split("file=").nth(1);
    let file = file
        .and_then(|rest| rest.split(',').next())
        .expect("a file");
    assert_eq!(
        (uri, class),
        (
            file.replace(' ', "%20").replace('ü', "%C3%BC").as_str(),
            file
        )
    );
    file.to_owned()
}

#[test]
fn paths_are_those_of_the_repository_wherever_a_check_runs() {
    let ws = Workspace::new()
        .file("packages/a ü/src/x.rs", "// TODO\n")
        .file("packages/b/.git", "gitdir: ../../.git/modules/b\n")
        .file("packages/b/y.rs", "// TODO\n")
        .link("link", "packages/a ü");
    let top = ws.path("");
    let found = |directory: &str, root: &str, workspace: Option<&str>| {
        named(|format| {
            let mut call = ws
                .call_tool(&["search_file_content", "TODO", "include=x.rs"])
                .flags(&["--format", format]);
            if !root.is_empty() {
                call = call.flags(&["--root", root]);
            }
            call = call.in_bash(&format!("cd './{directory}' && exec \"$@\""));
            if let Some(workspace) = workspace {
                call = call.env("GITHUB_WORKSPACE", workspace);
            }
            call.run()
        })
    };
    let whole = "packages/a ü/src/x.rs";
    // Without a repository, paths count from the current directory, as those of --output lines.
    assert_eq!(found("", "packages/a ü", None), whole);
    assert_eq!(found("packages", "a ü/src", None), "a ü/src/x.rs");
    ws.git_command(&["init", "-q"]);
    for (directory, root) in [
        ("", ""),
        ("", "packages"),
        ("", "packages/a ü/src"),
        ("", "link"),
        ("link/src", ""),
        ("packages", "a ü"),
        ("packages/a ü/src", ""),
        ("packages/a ü/src", "../.."),
    ] {
        let about = format!("{directory}, --root {root}");
        assert_eq!(found(directory, root, None), whole, "{about}");
        for workspace in [top.trim_end_matches('/'), &format!("{top}/"), "/none", ""] {
            let about = format!("{about}, {workspace}");
            assert_eq!(found(directory, root, Some(workspace)), whole, "{about}");
        }
    }
    let packages = ws.path("packages");
    assert_eq!(
        found("", "", Some(&packages)),
        "a ü/src/x.rs",
        "the job's own"
    );
    let other = ws.path("packages/b");
    assert_eq!(found("", "", Some(&other)), whole, "the file is not in it");
    // A submodule and a worktree are repositories of their own.
    let inner = named(|format| {
        ws.call_tool(&["search_file_content", "TODO", "--format", format])
            .in_bash("cd packages/b && exec \"$@\"")
            .run()
    });
    assert_eq!(inner, "y.rs");
}

#[test]
fn sarif_says_that_not_everything_is_told() {
    let ws = Workspace::new().file("many", "x\n".repeat(30));
    let answer = search(
        &ws,
        &["pattern=x", "total_max_matches:=20", "--format=sarif"],
    );
    let document = answer.json();
    check_sarif(&document);
    let run = &document["runs"][0];
    assert_eq!(array(&run["results"]).len(), 20);
    let notes = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes[0]["level"], "warning");
    answer.must_say(&notes[0].to_string(), &["first 20 matches"]);
}

#[test]
fn junit_is_well_formed_whatever_the_files_hold() {
    let ws = project().file("odd", "TODO \u{1}\u{1b}[2J ]]> &amp; '\"\n");
    let answer = search(&ws, &["pattern=TODO", "--format=junit", "--fail-on-match"]);
    assert_eq!(answer.status(), 1);
    check_junit(answer.text());
    answer.must_say(
        answer.text(),
        &[
            "tests=\"3\" failures=\"3\"",
            ":2:12\"",
            "&lt;&amp;&gt;",
            "classname=\"src/a b.rs\"",
        ],
    );
    let none = search(&ws, &["pattern=FIXME", "--format=junit", "--fail-on-match"]);
    assert_eq!(none.status(), 0);
    check_junit(none.text());
    none.must_say(none.text(), &["tests=\"1\" failures=\"0\""]);
}

#[test]
fn structured_results_name_the_places_too() {
    let answer = search(&project(), &["pattern=nothing", "--output", "result"]).json();
    assert_eq!(
        answer["data"]["locations"],
        json!([{"file": "src/c.rs", "line": 1, "column": 4, "text": "// nothing"}])
    );
}

#[test]
fn tools_that_find_nothing_are_refused_and_do_nothing() {
    let ws = project();
    for flag in ["--fail-on-match", "--format=sarif", "--format=junit"] {
        for arguments in [
            &["read_file", "absolute_path=src/c.rs", flag][..],
            &["write_file", "file_path=new", "content=x", flag],
            &["no_such_tool", flag],
        ] {
            let answer = ws.call_tool(arguments).run();
            assert_eq!(answer.status(), 2, "{arguments:?}");
        }
    }
    let answer = ws.call_tool(&["write_file", "file_path=n", "content=", "--fail-on-match"]);
    let message = answer.run().error("invalid_tool_params", 2);
    assert!(
        message.contains("--fail-on-match is for searches"),
        "{message}"
    );
    for flags in [
        ["--format=sarif", "--format=junit"],
        ["--format=sarif", "--stream"],
        ["--format=junit", "--explain"],
    ] {
        let answer = search(&ws, &[&["pattern=x"][..], &flags].concat());
        assert_eq!(answer.status(), 2, "{flags:?}");
    }
}

#[test]
fn the_schemas_refuse_what_is_none_of_theirs() {
    let refuses = |check: fn(&Value), document: Value| {
        let run = std::panic::catch_unwind(|| check(&document));
        run.is_err()
    };
    let has = |program: &str, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).output();
        run.is_ok_and(|run| run.status.success())
    };
    if has("python3", &["-c", "import jsonschema"]) {
        let wrong = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "rules": []}},
            "results": [], "columnKind": "bytes"}]});
        assert!(refuses(check_sarif, wrong));
    }
    if has("xmllint", &["--version"]) {
        let wrong =
            json!("<testsuites><testsuite tests=\"1\"><testcase/></testsuite></testsuites>");
        assert!(refuses(
            |text| check_junit(text.as_str().expect("a text")),
            wrong
        ));
    }
}

/// A shell as it runs the lines of a job, where the executables are found.
fn job(ws: &Workspace, script: &str) -> Answer {
    let bin = crate::harness::executable("call_tool");
    let bin = bin.parent().expect("a directory").to_string_lossy();
    let path = format!("{bin}:{}", env::var("PATH").unwrap_or_default());
    ws.program(Path::new("sh"), &["-eu", "-c", script])
        .env("PATH", &path)
        .unwatched()
        .run()
}

const TODO: &str =
    "call_tool search_file_content pattern='\\b(TODO|FIXME)\\b' include='src/**' --fail-on-match";

const SECRET: &str = "call_tool search_file_content case_sensitive=true names_only=true no_ignore=true --fail-on-match \
    -t pattern='AKIA[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|-----BEGIN [A-Z ]*PRIVATE KEY-----'";

#[test]
fn the_recipes_of_the_book_are_the_lines_that_are_tried_here() {
    let recipes =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes.md"));
    let recipes = recipes.expect("the page").replace("\\\n>     ", "");
    for line in [TODO, SECRET] {
        assert!(recipes.contains(line), "{line}");
    }
}

#[test]
fn a_job_fails_where_something_is_found_and_where_nobody_could_look() {
    let ws = project();
    let clean = Workspace::new().file("src/a b.rs", "fn main() {}\n");
    let after = |line: &str| format!("{line} > found; echo passed");
    assert_eq!(job(&clean, &after(TODO)).text(), "passed\n");
    assert_eq!(job(&ws, &after(TODO)).status(), 1);
    assert_eq!(
        job(&ws, &after(&TODO.replace("include", "path=none include"))).status(),
        2
    );
    // As after grep: found, not found, not searched.
    let told = format!(
        "set +e; {TODO} > found; case $? in 0) echo none;; 1) echo some;; *) echo unknown;; esac"
    );
    assert_eq!(job(&ws, &told).text(), "some\n");
    assert_eq!(job(&clean, &told).text(), "none\n");
    let wrong = told.replace("TODO", "(TODO");
    assert_eq!(job(&ws, &wrong).text(), "unknown\n");
    // The document is there for the step after, whatever the status.
    for (format, has) in [
        ("--format=sarif", "src/a%20b.rs"),
        ("--format=junit", "failures=\"2\""),
    ] {
        let script =
            format!("{TODO} {format} > report || status=$?; echo ${{status:-0}}; cat report");
        let answer = job(&ws, &script);
        assert!(answer.text().starts_with("1\n"), "{}", answer.shown());
        answer.must_say(answer.text(), &[has]);
        let (_, report) = answer.text().split_once('\n').expect("a report");
        match format {
            "--format=sarif" => check_sarif(&serde_json::from_str(report).expect("JSON")),
            _ => check_junit(report),
        }
    }
    // In a pipeline the last command's status is the pipeline's: sh has no pipefail.
    let piped = job(
        &ws,
        &format!("{TODO} --format sarif | cat > report; echo $?"),
    );
    assert_eq!(piped.text(), "0\n");
}

#[test]
fn planted_secrets_are_found_and_what_looks_like_one_passes() {
    let key = "AKIAABCDEFGHIJKLMNOP";
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    for (name, text) in [
        ("a b.txt", format!("x = {key}\n")),
        (".env", format!("K={key}")),
        (".github/workflows/x.yml", format!("t: {token}\n")),
        (
            "keys/id_rsa",
            "-----BEGIN RSA PRIVATE KEY-----\n".to_owned(),
        ),
        ("keys/id", "-----BEGIN PRIVATE KEY-----\n".to_owned()),
        ("forced.log", format!("{key}\n")),
        ("data.bin", format!("\0\u{1}{key}\n")),
        ("long.js", format!("{}{key}", "a".repeat(300_000))),
        ("crlf.txt", format!("a\r\n{token}\r\n")),
    ] {
        let ws = Workspace::new()
            .git()
            .file(".gitignore", "*.log\n")
            .file(name, text);
        let answer = job(&ws, SECRET);
        assert_eq!(answer.status(), 1, "{name}: {}", answer.shown());
        answer.must_say(
            answer.text(),
            &[if name == "data.bin" { "binary" } else { name }],
        );
    }
    let ws = Workspace::new().git().file(
        "fine.txt",
        "AKIA\nakiaabcdefghijklmnop\nAKIAABC\nghp_short\n-----BEGIN PUBLIC KEY-----\n-----BEGIN CERTIFICATE-----\n",
    );
    assert_eq!(job(&ws, SECRET).status(), 0);
}

#[test]
fn a_match_in_a_binary_file_is_one_for_ci() {
    let ws = Workspace::new().file("data.bin", "\0\u{1}TODO\n");
    let answer = search(&ws, &["pattern=TODO", "--fail-on-match", "--format=sarif"]);
    assert_eq!(answer.status(), 1);
    let document = answer.json();
    check_sarif(&document);
    let result = &document["runs"][0]["results"][0];
    assert_eq!(
        result["locations"][0]["physicalLocation"],
        json!({"artifactLocation": {"uri": "data.bin"}})
    );
    let structured = search(&ws, &["pattern=TODO", "--output", "result"]).json();
    assert_eq!(structured["data"]["binaryFiles"], json!(["data.bin"]));
    assert_eq!(
        search(&ws, &["pattern=none", "--fail-on-match"]).status(),
        0
    );
}
