//! What the text of a path argument means: as shells, editors and other systems write paths, and never the name of a
//! file that is called so.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

/// A workspace below the home directory, which is the directory above it.
struct Below(Workspace);

impl Below {
    fn new() -> Self {
        Self(
            Workspace::new()
                .file("src/a.ts", "needle\n")
                .file("b.txt", "b\n")
                .sibling("s.txt", "needle\n"),
        )
    }

    fn call(&self, tool: &str, arguments: &Value) -> Answer {
        let home = self.0.root().display().to_string();
        let call = self.0.tool(tool).arguments(arguments).unwatched();
        call.env("HOME", &home).run()
    }

    /// The names at the top of the workspace.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.dir()).expect("the workspace");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Every spelling of a path below the home directory.
    fn spellings(&self, below_home: &str) -> Vec<String> {
        let home = self.0.root().display();
        let coded = below_home.replace('s', "%73");
        vec![
            format!("~/{below_home}"),
            format!("$HOME/{below_home}"),
            format!("${{HOME}}/{below_home}"),
            format!("%USERPROFILE%/{below_home}"),
            format!("%UserProfile%\\{}", below_home.replace('/', "\\")),
            format!("%HOMEDRIVE%%HOMEPATH%\\{}", below_home.replace('/', "\\")),
            format!("$env:USERPROFILE\\{}", below_home.replace('/', "\\")),
            format!("~\\{}", below_home.replace('/', "\\")),
            format!("file://{home}/{below_home}"),
            format!("FILE://localhost{home}/{coded}"),
            format!("file:{home}/{below_home}"),
            format!("file://{home}/{below_home}#L3"),
            format!("\"~/{below_home}\""),
            format!("~/{below_home}\n"),
            format!(" ~/{below_home}"),
            format!("@~/{below_home}"),
            format!("@${{HOME}}/{below_home}"),
            format!("@file://{home}/{below_home}"),
        ]
    }
}

#[test]
fn every_spelling_of_the_home_directory_means_it_in_every_tool() {
    for i in 0..Below::new().spellings("").len() {
        let ws = Below::new();
        let path = &ws.spellings("ws/src/a.ts")[i];
        let answer = ws.call("read_file", &json!({"absolute_path": path}));
        assert_eq!(answer.output(), "needle\n", "{path}");
        let arguments = json!({"file_path": path, "old_string": "needle", "new_string": "n"});
        ws.call("replace", &arguments).output();
        let arguments = json!({"file_path": path, "content": format!("{i}")});
        ws.call("write_file", &arguments).output();
        let written = fs::read_to_string(ws.0.path("src/a.ts")).expect("the file");
        assert_eq!(written, format!("{i}"), "{path}");
        let answer = ws.call("read_many_files", &json!({"paths": [path]}));
        answer.must_say(&answer.output(), &["/ws/src/a.ts ---"]);
        assert_eq!(ws.names(), ["b.txt", "src"], "{path}");
    }
    let ws = Below::new();
    for path in ws.spellings("ws/src") {
        let found = [
            ("list_directory", json!({"path": path})),
            ("glob", json!({"pattern": "*", "path": path})),
            (
                "search_file_content",
                json!({"pattern": "needle", "path": path}),
            ),
            (
                "run_shell_command",
                json!({"command": "ls", "directory": path}),
            ),
        ];
        for (tool, arguments) in found {
            let answer = ws.call(tool, &arguments);
            answer.must_say(&answer.output(), &["a.ts"]);
        }
    }
}

#[test]
fn the_mark_of_a_path_in_a_prompt_is_no_part_of_its_name() {
    let ws = Below::new();
    let arguments = json!({"file_path": "@src/new.ts", "content": "n"});
    ws.call("write_file", &arguments).output();
    let arguments = json!({"file_path": format!("@{}", ws.0.path("src/new.ts")), "content": "m"});
    ws.call("write_file", &arguments).output();
    for path in [
        "@src/a.ts",
        "@./src/a.ts",
        &format!("@{}", ws.0.path("src/a.ts")),
    ] {
        let answer = ws.call("read_file", &json!({"absolute_path": path}));
        assert_eq!(answer.output(), "needle\n", "{path}");
    }
    let found = ws.call("glob", &json!({"pattern": "@src/**/*.ts"}));
    found.must_say(&found.output(), &["a.ts", "new.ts"]);
    assert_eq!(ws.names(), ["b.txt", "src"]);
    // A name that really begins so is taken as it is, and so is one that nothing else explains.
    for path in ["@/x.d.ts", "@types/x.d.ts", "@types/y.d.ts", "./@src/z.ts"] {
        let arguments = json!({"file_path": path, "content": "n"});
        ws.call("write_file", &arguments).output();
        assert!(ws.0.dir().join(path).is_file(), "{path}");
    }
    fs::create_dir(ws.0.path("types")).expect("a directory");
    let arguments = json!({"file_path": "@types/z.d.ts", "content": "n"});
    ws.call("write_file", &arguments).output();
    assert!(ws.0.dir().join("@types/z.d.ts").is_file());
}

#[test]
fn an_empty_path_is_the_root_to_tools_that_can_do_without() {
    let ws = Below::new();
    for (tool, arguments) in [
        ("list_directory", json!({"path": ""})),
        ("glob", json!({"pattern": "*.txt", "path": ""})),
        ("search_file_content", json!({"pattern": "b", "path": ""})),
    ] {
        let answer = ws.call(tool, &arguments);
        answer.must_say(&answer.output(), &["b.txt"]);
    }
    ws.call("read_file", &json!({"absolute_path": ""}))
        .error("invalid_tool_params", 2);
}

#[test]
fn what_lies_elsewhere_in_the_home_directory_is_outside() {
    let ws = Below::new();
    let mut paths = ws.spellings("ws-sibling/s.txt");
    paths.extend(["~", "$HOME", "file:///", "~/new.txt"].map(str::to_owned));
    for path in paths {
        for (tool, arguments) in [
            ("read_file", json!({"absolute_path": path})),
            ("write_file", json!({"file_path": path, "content": "x"})),
            ("glob", json!({"pattern": "*", "path": path})),
        ] {
            ws.call(tool, &arguments).error("path_not_in_workspace", 1);
        }
    }
    for (tool, arguments) in [
        ("glob", json!({"pattern": "~/ws-sibling/*.txt"})),
        (
            "search_file_content",
            json!({"pattern": "needle", "include": "~/ws-sibling/*.txt"}),
        ),
    ] {
        ws.call(tool, &arguments).error("path_not_in_workspace", 1);
    }
    assert_eq!(ws.names(), ["b.txt", "src"]);
}

#[test]
fn patterns_begin_with_any_path_of_the_project() {
    let ws = Below::new();
    symlink(".", ws.0.root().join("link")).expect("a link");
    let home = ws.0.root().display().to_string();
    for start in [
        "~",
        "${HOME}",
        "..",
        &format!("@{home}"),
        &format!("file://{home}"),
        &format!("{home}/link"),
        &format!("{home}/./no/.."),
        &format!("/{home}/ws/.."),
    ] {
        let pattern = format!("{start}/ws/**/*.ts");
        for (tool, arguments, says, says_not) in [
            ("glob", json!({"pattern": pattern}), "src/a.ts", "b.txt"),
            (
                "search_file_content",
                json!({"pattern": "^", "include": pattern}),
                "src/a.ts",
                "b.txt",
            ),
            (
                "search_file_content",
                json!({"pattern": "^", "include": format!("!{pattern}")}),
                "b.txt",
                "src/a.ts",
            ),
            (
                "read_many_files",
                json!({"paths": [pattern]}),
                "src/a.ts",
                "b.txt",
            ),
            (
                "read_many_files",
                json!({"paths": ["."], "exclude": [pattern]}),
                "b.txt",
                "src/a.ts",
            ),
            (
                "list_directory",
                json!({"path": ".", "ignore": [format!("{start}/ws/b.*")]}),
                "src",
                "b.txt",
            ),
        ] {
            let answer = ws.call(tool, &arguments);
            let output = answer.output();
            answer.must_say(&output, &[says]);
            assert!(!output.contains(says_not), "{}", answer.shown());
        }
    }
}

#[test]
fn what_only_a_shell_or_another_system_understands_is_refused_and_makes_nothing() {
    let ws = Below::new();
    for path in [
        "~root/x",
        "~bob",
        "~+/x",
        "$FOO/x",
        "$PWD",
        "${XDG_CONFIG_HOME}/x",
        "%TEMP%\\x",
        "%ProgramFiles(x86)%/x",
        "$env:TEMP\\x",
        "$(pwd)/x",
        "`pwd`/x",
        "C:\\Users\\me\\a.txt",
        "c:/x",
        "file:///C:/x",
        "\\\\server\\share\\x",
        "file://server/x",
        "https://example.com/x",
        "vscode://file/x",
        "\"$FOO/x\"",
        "${FOO:-/r}/x",
        "@$FOO/x",
        "@C:/x",
        "src\\a.ts",
        "src\\deep\\x",
        ".\\x",
        "..\\ws\\x",
        "b.txt\\",
        "@src\\x",
        "\"src\\x\"",
        "~/ws/src\\x",
    ] {
        for (tool, arguments) in [
            ("write_file", json!({"file_path": path, "content": "x"})),
            (
                "replace",
                json!({"file_path": path, "old_string": "", "new_string": "x"}),
            ),
            ("read_file", json!({"absolute_path": path})),
            ("list_directory", json!({"path": path})),
            (
                "run_shell_command",
                json!({"command": "true", "directory": path}),
            ),
        ] {
            let answer = ws.call(tool, &arguments);
            let message = answer.error("invalid_tool_params", 2);
            answer.must_say(&message, &["The path "]);
        }
    }
    let slip = "src\\*.ts";
    for (tool, arguments) in [
        ("glob", json!({"pattern": slip})),
        (
            "search_file_content",
            json!({"pattern": "n", "include": slip}),
        ),
        (
            "read_many_files",
            json!({"paths": ["src"], "exclude": [slip]}),
        ),
    ] {
        let answer = ws.call(tool, &arguments);
        answer.must_say(&answer.error("invalid_tool_params", 2), &["src/*.ts"]);
    }
    let answer = ws.call("glob", &json!({"pattern": "~bob/*.md"}));
    answer.must_say(&answer.error("invalid_tool_params", 2), &["./~bob/*.md"]);
    assert_eq!(ws.names(), ["b.txt", "src"]);
}

#[test]
fn a_name_that_exists_is_used_as_it_is_and_after_a_dot_every_name_is() {
    let odd = [
        "src\\f", "src/f", "~/f", "~root/f", "$FOO/f", "$HOME/f", "C:/f", "file:/f", "\"q\"", "t ",
        "n\n", " l",
    ];
    let mut ws = Workspace::new();
    for name in odd {
        ws = ws.file(name, format!("{name:?}"));
    }
    for name in odd {
        for path in [name.to_owned(), format!("./{name}")] {
            let answer = ws.call("read_file", &json!({"absolute_path": path}));
            assert_eq!(answer.output(), format!("{name:?}"), "{path:?}");
        }
    }
    let answer = ws.call("glob", &json!({"pattern": "~/*"}));
    answer.must_say(&answer.output(), &["\n~/f"]);
    // What begins like that and is none of them is a name.
    for name in ["~$a.docx", "$id.tsx", "%20x%", "a:b", "$a b/c", "a\\b"] {
        let arguments = json!({"file_path": format!("./{name}"), "content": name});
        ws.tool("write_file")
            .arguments(&arguments)
            .unwatched()
            .run()
            .output();
        let answer = ws.call("read_file", &json!({"absolute_path": name}));
        assert_eq!(answer.output(), name);
    }
    let answer = ws.call(
        "list_directory",
        &json!({"path": ".", "ignore": ["~*", "$id.*"]}),
    );
    assert!(!answer.output().contains("docx"), "{}", answer.shown());
}

#[test]
fn the_path_of_a_file_with_brackets_is_that_file_alone_in_every_pattern() {
    let ws = Workspace::new()
        .file("app/[id]/p.ts", "needle\n")
        .file("app/i/p.ts", "needle\n")
        .file("app/{x,y}/p.ts", "needle\n")
        .file("app/x/p.ts", "needle\n");
    let root = format!("{}/", ws.dir().display());
    for name in ["[id]", "{x,y}"] {
        for start in ["", "./", "no/../", &root] {
            let pattern = format!("{start}app/{name}/p.ts");
            for (tool, arguments, is_out) in [
                ("glob", json!({"pattern": pattern}), false),
                (
                    "search_file_content",
                    json!({"pattern": "^", "include": pattern}),
                    false,
                ),
                (
                    "search_file_content",
                    json!({"pattern": "^", "include": format!("!{pattern}")}),
                    true,
                ),
                ("read_many_files", json!({"paths": [pattern]}), false),
                (
                    "read_many_files",
                    json!({"paths": ["."], "exclude": [pattern]}),
                    true,
                ),
            ] {
                let answer = ws.tool(tool).arguments(&arguments).unwatched().run();
                let output = answer.output();
                for file in ["[id]", "i", "{x,y}", "x"] {
                    let is_there = output.contains(&format!("app/{file}/p.ts\n"))
                        || output.ends_with(&format!("app/{file}/p.ts"))
                        || output.contains(&format!("app/{file}/p.ts ---"));
                    assert_eq!(
                        is_there,
                        (file == name) != is_out,
                        "{file}: {}",
                        answer.shown()
                    );
                }
            }
        }
    }
}

#[test]
fn a_name_is_that_of_the_one_file_with_these_letters_however_they_are_composed() {
    for (name, given) in [
        ("re\u{301}sume\u{301}.txt", "r\u{e9}sum\u{e9}.txt"),
        ("r\u{e9}sum\u{e9}.txt", "re\u{301}sume\u{301}.txt"),
        ("\u{1112}\u{1161}\u{11ab}/a.txt", "\u{d55c}/a.txt"),
    ] {
        let ws = Workspace::new().file(name, "old\n");
        for (tool, arguments) in [
            ("read_file", json!({"absolute_path": given})),
            ("glob", json!({"pattern": given})),
            (
                "search_file_content",
                json!({"pattern": "old", "path": given}),
            ),
            (
                "write_file",
                json!({"file_path": given, "content": "new\n"}),
            ),
        ] {
            let answer = ws.tool(tool).arguments(&arguments).unwatched().run();
            assert!(!answer.output().starts_with("No "), "{}", answer.shown());
        }
        assert_eq!(
            fs::read_to_string(ws.path(name)).expect("the file"),
            "new\n"
        );
        assert_eq!(fs::read_dir(ws.dir()).expect("the workspace").count(), 1);
    }
}

#[test]
fn what_stands_around_a_path_is_no_part_of_it() {
    for path in [
        "\"b.txt\"",
        "'b.txt'",
        "`b.txt`",
        "“b.txt”",
        "b.txt\n",
        "b.txt\r\n",
        "\nb.txt",
        "b.txt ",
        " b.txt",
        "\u{feff}b.txt",
        "b.txt\u{200b}",
        "\"b.txt\"\n",
        " 'b.txt' ",
        "\"b.txt \"",
    ] {
        let ws = Below::new();
        let arguments = json!({"file_path": path, "content": "new"});
        ws.call("write_file", &arguments).output();
        assert_eq!(
            fs::read_to_string(ws.0.path("b.txt")).expect("it"),
            "new",
            "{path:?}"
        );
        assert_eq!(ws.names(), ["b.txt", "src"], "{path:?}");
    }
    for path in ["\"new.txt\"", "new.txt\n", "\u{200b}new.txt"] {
        let ws = Below::new();
        let arguments = json!({"file_path": path, "content": "new"});
        ws.call("write_file", &arguments).output();
        assert_eq!(ws.names(), ["b.txt", "new.txt", "src"], "{path:?}");
    }
    let ws = Below::new();
    let answer = ws.call("glob", &json!({"pattern": "\"**/*.ts\"\n"}));
    answer.must_say(&answer.output(), &["src/a.ts"]);
    for empty in ["\"\"", "\u{200b}", "\"\n\""] {
        ws.call("read_file", &json!({"absolute_path": empty}))
            .error("invalid_tool_params", 2);
    }
}

#[test]
fn a_path_that_ends_in_a_slash_is_that_of_a_directory() {
    let ws = Below::new();
    for path in [
        "pkg/sub/",
        "b.txt/",
        "src/",
        "src/.",
        "~/ws/pkg/",
        "b.txt/.",
    ] {
        for (tool, arguments) in [
            ("write_file", json!({"file_path": path, "content": ""})),
            (
                "replace",
                json!({"file_path": path, "old_string": "", "new_string": "x"}),
            ),
        ] {
            ws.call(tool, &arguments).error("target_is_directory", 1);
        }
    }
    for (tool, arguments, kind) in [
        (
            "read_file",
            json!({"absolute_path": "b.txt/"}),
            "path_is_not_a_directory",
        ),
        (
            "read_file",
            json!({"absolute_path": "src/"}),
            "target_is_directory",
        ),
        (
            "list_directory",
            json!({"path": "b.txt/"}),
            "path_is_not_a_directory",
        ),
        (
            "search_file_content",
            json!({"pattern": "b", "path": "b.txt/"}),
            "search_path_not_a_directory",
        ),
    ] {
        ws.call(tool, &arguments).error(kind, 1);
    }
    let answer = ws.call("read_many_files", &json!({"paths": ["b.txt/", "src/"]}));
    answer.must_say(&answer.output(), &["b.txt/: is no directory", "needle"]);
    ws.call("list_directory", &json!({"path": "src/"})).output();
    assert_eq!(ws.names(), ["b.txt", "src"]);
}
