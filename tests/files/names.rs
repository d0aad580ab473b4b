//! Names of files that would break a line, command a terminal or look like others: JSON has them as they are, lines of text
//! as what path arguments understand.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Workspace, executable};

/// Each name with what stands for it on a line.
const NAMES: [(&[u8], &str); 8] = [
    (b"a\nb.txt", "a\\x{0a}b.txt"),
    (b"c\x1b[2Jd\r.txt", "c\\x{1b}[2Jd\\x{0d}.txt"),
    (b"e\xe2\x80\xaef.txt", "e\\x{e2}\\x{80}\\x{ae}f.txt"),
    (b"caf\xe9.txt", "caf\\x{e9}.txt"),
    (b"g\\x{0a}h.txt", "g\\x{5c}x{0a}h.txt"),
    (b"plain, \xc3\xbcn\xc3\xaf.txt", "plain, \u{fc}n\u{ef}.txt"),
    // A joiner that belongs to what is seen.
    (
        b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb.txt",
        "\u{1f469}\u{200d}\u{1f4bb}.txt",
    ),
    (b"z\n", "z\\x{0a}"),
];

fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn project() -> Workspace {
    let mut ws = Workspace::new();
    for (i, (name, _)) in NAMES.into_iter().enumerate() {
        ws = ws.file(path(name), format!("TODO {i}\n"));
    }
    ws
}

#[track_caller]
fn text(ws: &Workspace, tool: &str, arguments: &Value) -> String {
    let answer = ws
        .tool(tool)
        .flags(&["--output", "text"])
        .arguments(arguments)
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    let text = answer.text().to_owned();
    let deceives = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(deceives), "{text:?}");
    text
}

#[test]
fn paths_ended_by_nul_are_the_names_on_disk_once_each() {
    let ws = project().file("sub/twice.txt", "TODO\nTODO\n");
    let mut expected: Vec<&[u8]> = NAMES.iter().map(|(name, _)| *name).collect();
    expected.push(b"sub/twice.txt");
    expected.sort_unstable();
    for (tool, argument) in [("search_file_content", "TODO"), ("glob", "**")] {
        let answer = ws
            .call_tool(&[tool, &format!("pattern={argument}"), "-0"])
            .run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        let mut names: Vec<&[u8]> = answer.stdout.split(|byte| *byte == 0).collect();
        assert_eq!(names.pop(), Some(&b""[..]), "each has its end");
        names.sort_unstable();
        assert_eq!(names, expected, "{tool}");
    }
    let writes = ["write_file", "file_path=x", "content=", "-0"];
    for (call, said) in [
        (&writes[..], "--null is for searches"),
        (&["read_file", "z\\x{0a}", "-0"], "gives no locations"),
    ] {
        let answer = ws.call_tool(call).run();
        assert_eq!(answer.status(), 2, "{}", answer.shown());
        answer.must_say(&answer.errors(), &[said]);
    }
}

#[test]
fn lines_of_text_have_one_name_each_and_path_arguments_take_it() {
    let ws = project();
    let shown: Vec<&str> = NAMES.iter().map(|(_, shown)| *shown).collect();
    let sorted = |lines: Vec<String>| {
        let mut lines = lines;
        lines.sort();
        lines
    };
    let below = |prefix: &str, suffix: &str| {
        sorted(
            shown
                .iter()
                .map(|name| format!("{prefix}{name}{suffix}"))
                .collect(),
        )
    };
    let lines =
        |text: &str, skip: usize| sorted(text.lines().skip(skip).map(str::to_owned).collect());
    let search = |more: &Value| {
        let mut arguments = json!({"pattern": "TODO"});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        text(&ws, "search_file_content", &arguments)
    };
    assert_eq!(
        lines(&search(&json!({"names_only": true})), 1),
        below("", "")
    );
    let found = search(&json!({}));
    let files: Vec<_> = found
        .lines()
        .filter(|line| line.starts_with("File: "))
        .collect();
    let files = files.into_iter().map(str::to_owned).collect();
    assert_eq!(sorted(files), below("File: ", ""));
    let globbed = text(&ws, "glob", &json!({"pattern": "*"}));
    assert_eq!(lines(&globbed, 1), below("", ""));
    let listed = text(&ws, "list_directory", &json!({"path": "."}));
    assert_eq!(lines(&listed, 1), below("", ""));
    let read = text(&ws, "read_many_files", &json!({"paths": ["*"]}));
    let heads: Vec<_> = read
        .lines()
        .filter(|line| line.starts_with("--- /"))
        .collect();
    let heads = heads.into_iter().map(str::to_owned).collect();
    assert_eq!(
        sorted(heads),
        below(&format!("--- {}/", ws.dir().display()), " ---")
    );
    for (i, (_, shown)) in NAMES.into_iter().enumerate() {
        let answer = ws.call("read_file", &json!({"absolute_path": shown}));
        assert_eq!(answer.output(), format!("TODO {i}\n"), "{shown}");
    }
}

#[test]
fn a_name_as_a_command_prints_it_is_a_path_where_it_means_one_file() {
    let ws = Workspace::new()
        .file(path(b"caf\xe9.txt"), "TODO eins\n")
        .file(path(b"donn\xe9es/\xfcber.txt"), "TODO zwei\n")
        // The same name in KOI8-U and windows-1251.
        .file(path(b"\xc9\xcd\xd1.txt"), "koi")
        .file(path(b"\xe8\xec\xff.txt"), "windows")
        // UTF-8 beside what is shown like it.
        .file(path(b"gr\xfcn.txt"), "alt")
        .file("grün.txt", "neu");
    let arguments = json!({"command": r"printf '%s\n' caf*"});
    let printed = ws.call("run_shell_command", &arguments).output();
    assert!(printed.contains("\nOutput: café.txt\n"), "{printed}");
    for (name, content) in [
        ("café.txt", "TODO eins\n"),
        ("données/über.txt", "TODO zwei\n"),
        ("./données/\\x{fc}ber.txt", "TODO zwei\n"),
        ("cafè.txt", ""),
        ("grün.txt", "neu"),
    ] {
        for name in [name.to_owned(), ws.path(name)] {
            let answer = ws.call("read_file", &json!({ "absolute_path": name }));
            if content.is_empty() {
                answer.error("file_not_found", 1);
            } else {
                assert_eq!(answer.output(), content, "{name}");
            }
        }
    }
    let found = text(
        &ws,
        "search_file_content",
        &json!({"pattern": "zwei", "path": "données"}),
    );
    assert!(found.contains("\\x{fc}ber.txt"), "{found}");
    for (tool, arguments) in [
        (
            "replace",
            json!({"file_path": "café.txt", "old_string": "eins", "new_string": "EINS"}),
        ),
        (
            "write_file",
            json!({"file_path": "café.txt", "content": "ganz neu\n"}),
        ),
    ] {
        // Nothing else is there afterwards.
        let call = ws.tool(tool).arguments(&arguments);
        call.changing(&["caf\u{fffd}.txt"]).run().output();
    }
    let content = fs::read(ws.dir().join(path(b"caf\xe9.txt"))).expect("a file");
    assert_eq!(content, b"ganz neu\n");
    let answer = ws.call("read_file", &json!({"absolute_path": "имя.txt"}));
    let message = answer.error("file_not_found", 1);
    let names = ["\\x{c9}\\x{cd}\\x{d1}.txt", "\\x{e8}\\x{ec}\\x{ff}.txt"];
    answer.must_say(&message, &[&["Did you mean"][..], &names].concat());
}

#[test]
fn a_directory_is_shown_on_one_line_and_an_error_about_a_file_too() {
    let ws = Workspace::new().file("a\nb/c.txt", "TODO\n");
    let listed = text(&ws, "list_directory", &json!({"path": "a\nb"}));
    let root = ws.path("a");
    assert_eq!(
        listed,
        format!("Directory listing for {root}\\x{{0a}}b:\nc.txt\n")
    );
    let found = text(
        &ws,
        "search_file_content",
        &json!({"pattern": "TODO", "path": "a\nb"}),
    );
    assert!(found.contains("in path \"a\\x{0a}b\""), "{found}");
    let missing = json!({"absolute_path": "x\u{1b}[2J\u{202e}"});
    let call = ws
        .tool("read_file")
        .flags(&["--output", "text"])
        .arguments(&missing);
    let errors = call.run().errors();
    assert!(!errors.contains(['\u{1b}', '\u{202e}']), "{errors:?}");
}

#[test]
fn what_is_said_of_an_edit_and_its_diff_have_names_on_one_line() {
    let name = "a\nb\u{1b}[2J.txt";
    let ws = Workspace::new().file(name, "one\n");
    for (tool, arguments) in [
        ("write_file", json!({"file_path": name, "content": "two\n"})),
        (
            "replace",
            json!({"file_path": name, "old_string": "two", "new_string": "three"}),
        ),
        (
            "replace",
            json!({"file_path": "c\rd", "old_string": "", "new_string": "new"}),
        ),
    ] {
        let call = ws
            .tool(tool)
            .flags(&["--output", "text"])
            .arguments(&arguments);
        let answer = call.unwatched().run();
        let shown = answer.text();
        assert!(shown.starts_with("Successfully"), "{}", answer.shown());
        assert!(
            !shown.contains(['\u{1b}', '\r']) && !shown.contains("a\nb"),
            "{shown:?}"
        );
    }
    let edit = json!({"file_path": name, "old_string": "three", "new_string": "four"});
    let call = ws.tool("replace").arguments(&edit).unwatched();
    let said = call.run().output();
    assert!(said.contains(r"a\x{0a}b\x{1b}[2J.txt"), "{said}");
}

#[test]
fn json_has_names_as_they_are_unless_they_would_end_a_line() {
    let ws = project();
    let calls = [
        ("list_directory", json!({"path": "."})),
        ("glob", json!({"pattern": "*"})),
        ("search_file_content", json!({"pattern": "TODO"})),
    ];
    for (tool, arguments) in calls {
        let output = ws.call(tool, &arguments).output();
        for (name, _) in NAMES {
            if let Ok(name) = std::str::from_utf8(name) {
                let is_there = !name.contains(['\n', '\r']);
                assert_eq!(
                    output.contains(name),
                    is_there,
                    "{tool}: {name:?} in {output:?}"
                );
            }
        }
    }
    let arguments = json!({"pattern": "TODO"});
    let call = ws
        .tool("search_file_content")
        .flags(&["--output", "result"]);
    let result = call.arguments(&arguments).run().json();
    let locations = result["data"]["locations"]
        .as_array()
        .expect("a list")
        .clone();
    assert!(
        locations.iter().any(|one| one["file"] == "a\nb.txt"),
        "{locations:?}"
    );
}

#[test]
fn a_pipeline_of_names_reaches_every_file_and_no_other() {
    let ws = project();
    let script =
        "\"$1\" search_file_content pattern=TODO names_only:=true --output text | tail -n +2 |
        while read -r file; do
            \"$1\" replace file_path=\"$file\" old_string=TODO new_string=LATER --output text
        done";
    let call_tool = executable("call_tool").display().to_string();
    let call = ws.program(Path::new("bash"), &["-c", script, "bash", &call_tool]);
    let answer = call.unwatched().run();
    assert_eq!(
        answer.text().matches("Successfully").count(),
        NAMES.len(),
        "{}",
        answer.shown()
    );
    for (i, (name, _)) in NAMES.into_iter().enumerate() {
        let text = fs::read_to_string(ws.dir().join(path(name))).expect("a file");
        assert_eq!(text, format!("LATER {i}\n"));
    }
}

#[test]
fn no_name_commands_a_terminal() {
    let ws = Workspace::new()
        .file("c\u{1b}[2Jd.txt", "")
        .file("e\u{202e}f\u{9b}2J.txt", "");
    for form in ["part", "result", "text"] {
        let call = ws.call_tool(&["list_directory", "path=.", "--output", form]);
        let shown = call.at_a_terminal().sees_it_end(0);
        assert!(shown.contains("[2Jd.txt"), "{shown:?}");
        assert!(
            !shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']),
            "{form}: {shown:?}"
        );
    }
}
