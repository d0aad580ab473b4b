//! Help about tools: `call_tool NAME --help`, `get_tools show NAME`, and the lists of tools.

use std::path::Path;

use serde_json::json;

use crate::harness::Workspace;
use crate::harness::mcp::Servers;
use crate::harness::{Answer, executable};

const HELLO: &str = "description = \"Greets a person. Politely.\"\n\
    command = [\"echo\", \"Hello {name}\"]\n\
    [params.name]\ntype = \"string\"\ndescription = \"Whom.\"\nrequired = true\n\
    [params.times]\ntype = \"integer\"\ndefault = 1\ndescription = \"How often.\"\n";

fn help(ws: &Workspace, tool: &str) -> String {
    let answer = ws.call_tool(&[tool, "--help"]).run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    answer.text().to_owned()
}

fn names(ws: &Workspace) -> Vec<String> {
    let answer = ws.get_tools(&["--format", "names"]).run();
    answer.text().lines().map(str::to_owned).collect()
}

#[test]
fn every_tool_has_help_with_all_that_it_takes() {
    let ws = Workspace::new();
    let declared = ws.get_tools(&[]).run().json();
    for tool in declared.as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        let help = help(&ws, name);
        for heading in [
            "Usage:\n  call_tool ",
            "\nExamples:\n",
            "\nExit status: 0 done",
            "Kind: ",
        ] {
            assert!(help.contains(heading), "{name}: {heading}: {help}");
        }
        let properties = tool["parametersJsonSchema"]["properties"]
            .as_object()
            .expect("properties");
        for parameter in properties.keys() {
            assert!(
                help.contains(&format!("\n  {parameter}  ")),
                "{name}: {parameter}"
            );
        }
        let shown = ws.get_tools(&["show", name]).run();
        assert_eq!((shown.status(), shown.text()), (0, &*help));
        let page = std::fs::read_to_string(
            crate::harness::checkout().join(format!("docs/tools/{name}.md")),
        )
        .expect("a page");
        let examples = examples(&help);
        assert_eq!(examples.len(), 2, "{help}");
        assert!(page.contains(&examples.join("\n")), "{name}");
    }
}

fn examples(help: &str) -> Vec<&str> {
    let after = help.split_once("\nExamples:\n").expect("examples").1;
    after
        .lines()
        .map_while(|line| line.strip_prefix("  "))
        .collect()
}

fn in_shell(ws: &Workspace, line: &str) -> Answer {
    let path = executable("call_tool")
        .parent()
        .expect("a directory")
        .to_owned();
    let path = format!(
        "{}:{}",
        path.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let script = format!("set -o pipefail; {line}");
    ws.program(Path::new("bash"), &["-c", &script])
        .env("PATH", &path)
        .unwatched()
        .run()
}

#[test]
fn the_examples_of_help_can_be_copied() {
    for name in names(&Workspace::new()) {
        for example in examples(&help(&Workspace::new(), &name)) {
            let ws = Workspace::new()
                .file("README.md", "one\n")
                .file("docs/guide.md", "A guide.\n")
                .file("Makefile", "test:\n\t@echo tested\n")
                .file("src/main.rs", "// TODO\nfn main() {\n}\n");
            if example.starts_with("jq ")
                && std::process::Command::new("jq").arg("-V").output().is_err()
            {
                crate::harness::skipped("jq");
                continue;
            }
            // What is on other machines is not asked for.
            let is_web = name == "web_fetch" || name == "google_web_search";
            let explain = if is_web { " --explain" } else { "" };
            let answer = in_shell(&ws, &format!("{example}{explain}"));
            let text = answer.text();
            let expected = match name.as_str() {
                _ if is_web => !text.contains("invalid_tool_params"),
                // There is no process with this number.
                "read_background_output" | "stop_background_process" => {
                    text.contains("Process 4711 is not a background process")
                }
                _ => answer.status() == 0,
            };
            assert!(expected, "{example}: {}", answer.shown());
            if example.contains("is_background") {
                let group = text
                    .split_once("Process Group PGID: ")
                    .map(|(_, after)| after);
                let group: String = group
                    .unwrap_or_default()
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                let ended = in_shell(&ws, &format!("call_tool stop_background_process {group}"));
                assert_eq!(ended.status(), 0, "{}", ended.shown());
            }
        }
    }
}

#[test]
fn a_tool_of_ones_own_has_help_from_its_declaration() {
    let ws = Workspace::new().home(".gemini/tools/hello.toml", HELLO);
    let help = help(&ws, "hello");
    for piece in [
        "Greets a person. Politely.\n",
        "Usage:\n  call_tool hello NAME [KEY=VALUE] [KEY=@FILE] [KEY:=JSON]\n",
        "\n  name  string, required\n      Whom.\n",
        "\n  times  integer, default 1\n      How often.\n",
        "\n  call_tool hello name=VALUE\n",
        "\n  echo '{\"name\":\"VALUE\"}' | call_tool hello\n",
        ".gemini/tools/hello.toml.",
    ] {
        assert!(help.contains(piece), "{piece}: {help}");
    }
    for example in examples(&help) {
        let answer = in_shell(&ws, example);
        assert_eq!(answer.output(), "Hello VALUE", "{}", answer.shown());
    }
}

#[test]
fn a_tool_of_an_mcp_server_has_help_and_is_completed_from_what_is_known() {
    let s = Servers::new(&[("one", "plain", json!({}))]);
    let offered = |args: &[&str]| s.marked(s.ws.get_tools(args)).run().text().to_owned();
    // No server is started for a shell that completes.
    assert!(!offered(&["complete"]).contains("one__echo"));
    assert_eq!(offered(&["complete", "one__echo"]), "");
    let listed = s.names();
    assert!(listed.contains(&"one__echo".to_owned()));
    let tools = offered(&["complete", "--describe"]);
    assert!(tools.contains("\none__echo\tSays it again.\n"), "{tools}");
    assert!(offered(&["complete", "--", "one__echo"]).contains("text="));
    let help = s.marked(s.ws.call_tool(&["one__echo", "--help"])).run();
    help.must_say(
        help.text(),
        &[
            "Says it again.",
            "\n  text  string",
            "From the MCP server one, which calls it echo.",
        ],
    );
}

#[test]
fn help_for_a_tool_that_is_not_there_names_the_nearest() {
    let ws = Workspace::new();
    for call in [
        ws.call_tool(&["raed_file", "--help"]),
        ws.get_tools(&["show", "raed_file"]),
    ] {
        let answer = call.run();
        assert_eq!((answer.status(), answer.stdout.len()), (2, 0));
        answer.must_say(
            &answer.errors(),
            &["no tool named \"raed_file\"", "Did you mean read_file"],
        );
    }
}

#[test]
fn without_a_name_the_tools_are_named() {
    let ws = Workspace::new().home(".gemini/tools/hello.toml", HELLO);
    let mut person = ws.call_tool(&[]).at_a_terminal();
    let screen = person.sees_it_end(2);
    for piece in [
        "call_tool: Name a tool: apply_patch, glob, ",
        "read_file, ",
        "hello, ",
        "call_tool NAME --help shows its arguments",
    ] {
        assert!(screen.contains(piece), "{piece}: {screen}");
    }
    ws.call_tool(&[]).run().error("invalid_tool_params", 2);
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let ws = Workspace::new();
    for (columns, most) in [("60", 60), ("100", 100), ("300", 100)] {
        let call = ws
            .call_tool(&["run_shell_command", "--help"])
            .env("COLUMNS", columns);
        let help = call.run().text().to_owned();
        let copied = examples(&help);
        let long = help.lines().filter(|line| {
            line.chars().count() > most
                && !copied.contains(&line.trim())
                && !line.starts_with("  call_tool ")
        });
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{columns}");
    }
}

#[test]
fn a_glob_that_fits_no_tool_is_reported_and_what_is_printed_stays() {
    let ws = Workspace::new();
    let answer = ws
        .get_tools(&["--only", "raed_file,glob", "--format", "names"])
        .run();
    assert_eq!((answer.status(), answer.text()), (0, "glob\n"));
    answer.must_say(
        &answer.errors(),
        &["--only raed_file", "did you mean read_file"],
    );
    let answer = ws.get_tools(&["--exclude", "zzz"]).run();
    assert_eq!(answer.stdout, ws.get_tools(&[]).run().stdout);
    answer.must_say(&answer.errors(), &["--exclude zzz: No tool has this name"]);
    let fine = ws
        .get_tools(&["--only", "read_*,grep_search", "--exclude", "write_file"])
        .run();
    assert!(fine.stderr.is_empty(), "{}", fine.shown());
}
