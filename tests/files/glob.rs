//! `glob`: patterns, order, ignore rules, limits.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace};

fn tree() -> Workspace {
    Workspace::new()
        .file("index.ts", "1")
        .file("src/app.ts", "2")
        .file("src/util/io.ts", "3")
        .file("src/util/io.test.ts", "4")
        .file("README.md", "5")
        .file(".github/ci.yml", "6")
        .file("p1.txt", "7")
        .file("p2.txt", "8")
}

/// The paths found, relative to the workspace and in order of their names.
fn found(ws: &Workspace, arguments: &Value) -> Vec<String> {
    let mut paths = in_order(&ws.call("glob", arguments));
    paths.sort();
    paths
}

fn in_order(answer: &Answer) -> Vec<String> {
    let output = answer.output();
    output.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn patterns_mean_what_they_mean_everywhere() {
    let ws = tree();
    let cases: [(&str, &[&str]); 23] = [
        ("*.ts", &["index.ts"]),
        (
            "**/*.ts",
            &[
                "index.ts",
                "src/app.ts",
                "src/util/io.test.ts",
                "src/util/io.ts",
            ],
        ),
        (
            "src/**",
            &["src/app.ts", "src/util/io.test.ts", "src/util/io.ts"],
        ),
        ("src/*/*.ts", &["src/util/io.test.ts", "src/util/io.ts"]),
        ("**/*.{md,yml}", &[".github/ci.yml", "README.md"]),
        ("p[12].txt", &["p1.txt", "p2.txt"]),
        ("p[!1].txt", &["p2.txt"]),
        ("p{1..2}.txt", &["p1.txt", "p2.txt"]),
        ("**/i?.ts", &["src/util/io.ts"]),
        ("./src/app.ts", &["src/app.ts"]),
        ("src/./app.ts", &["src/app.ts"]),
        ("src//app.ts", &["src/app.ts"]),
        ("src/../index.ts", &["index.ts"]),
        (
            "src/util/{..,.}/*.ts",
            &["src/app.ts", "src/util/io.test.ts", "src/util/io.ts"],
        ),
        ("@(p1|p3).txt", &["p1.txt"]),
        ("!(p1).txt", &["p2.txt"]),
        ("src/**/!(*.test).ts", &["src/app.ts", "src/util/io.ts"]),
        ("+(p|1).txt", &["p1.txt"]),
        ("*(x)index.ts", &["index.ts"]),
        ("?(in)dex.ts", &["index.ts"]),
        ("src/@(util|x)/io.ts", &["src/util/io.ts"]),
        ("p{1..4..2}.txt", &["p1.txt"]),
        ("[--a]*.yml", &[]),
    ];
    for (pattern, paths) in cases {
        assert_eq!(found(&ws, &json!({"pattern": pattern})), paths, "{pattern}");
    }
}

#[test]
fn paths_begin_at_the_root_that_the_known_heading_names() {
    let ws = tree();
    let root = ws.dir().display().to_string();
    for (arguments, within, path) in [
        (json!({"pattern": "*.md"}), root.clone(), "README.md"),
        (
            json!({"pattern": "util/io.ts", "path": "src"}),
            format!("{root}/src, as paths below {root}"),
            "src/util/io.ts",
        ),
    ] {
        let pattern = arguments["pattern"].as_str().expect("a pattern");
        assert_eq!(
            ws.call("glob", &arguments).output(),
            format!(
                "Found 1 file(s) matching '{pattern}' within {within}, sorted by modification time (newest first):\n\
                 {path}"
            )
        );
    }
}

#[test]
fn a_long_list_for_a_model_says_each_directory_once() {
    let old = |ws: Workspace, name: String| ws.file(&name, "").age(&name, 3 * 24 * 3600);
    let names = |directory: &str, n: usize| {
        let name = |i| format!("{directory}file{i:02}.c");
        (0..n).map(name).collect::<Vec<_>>()
    };
    let all = [names("", 8), names("src/deep/", 4), names("src/", 8)].concat();
    let ws = all.iter().cloned().fold(Workspace::new(), old);
    let call = |pattern: &str| ws.tool("glob").arguments(&json!({"pattern": pattern}));
    let output = call("**/*.c").run().output();
    let head = ", sorted by modification time (newest first), below their directories:\n./\n file00.c\n file01.c\n";
    assert!(output.contains(head), "{output}");
    let mut directory = "";
    let mut paths = Vec::new();
    for line in output.lines().skip(1) {
        match line.strip_prefix(' ') {
            Some(name) => paths.push(format!("{directory}{name}")),
            None => directory = line.strip_prefix("./").unwrap_or(line),
        }
    }
    assert_eq!(paths, all);
    // A shorter list, one for a program, and one whose files lie apart have the paths themselves.
    assert_eq!(in_order(&call("src/**/*.c").run()), all[8..]);
    let whole = call("**/*.c").env("GEMINI_TOOLS_CONDENSE", "off").run();
    assert_eq!(in_order(&whole), all);
    let apart = (0..20).map(|n| format!("d{n:02}/file.c"));
    let ws = apart.fold(Workspace::new(), old);
    let paths = in_order(&ws.call("glob", &json!({"pattern": "**/*.c"})));
    assert_eq!((paths.len(), &*paths[0]), (20, "d00/file.c"));
}

#[test]
fn a_pattern_without_a_match_says_where_there_are_files() {
    let ws = Workspace::new()
        .file("src/a.rs", "")
        .file("src/deep/B.rs", "");
    for (arguments, says) in [
        (
            json!({"pattern": "*.rs"}),
            "(2 files in subdirectories, as '**/*.rs').",
        ),
        (
            json!({"pattern": "deep/*.rs"}),
            "(1 file in subdirectories, as '**/deep/*.rs').",
        ),
        (
            json!({"pattern": "**/b.rs", "case_sensitive": true}),
            "(1 file in another case).",
        ),
    ] {
        let output = ws.call("glob", &arguments).output();
        assert!(output.starts_with("No files found matching '"), "{output}");
        assert!(output.ends_with(says), "{output}");
    }
    let none = ws.call("glob", &json!({"pattern": "*.zig"})).output();
    assert!(!none.contains('('), "{none}");
}

#[test]
fn many_files_are_cut_with_their_total_in_a_fixed_order() {
    let ws = Workspace::new();
    for n in 0..3000 {
        std::fs::write(ws.path(&format!("a-file-with-a-name-{n:04}.txt")), "").expect("a file");
    }
    let call = || {
        ws.tool("glob")
            .arguments(&json!({"pattern": "*.txt"}))
            .unwatched()
            .run()
    };
    let (first, second) = (call(), call());
    let output = first.output();
    first.must_say(&output.replace(',', ""), &["3000"]);
    assert!(
        output.chars().count() < 42_000,
        "{}",
        output.chars().count()
    );
    // The file that holds the whole has another name each time.
    let listed = |output: String| output.split_once("\n[").map(|(list, _)| list.to_owned());
    assert!(listed(output).is_some());
    assert_eq!(listed(first.output()), listed(second.output()));
}

#[test]
fn malformed_patterns_do_not_panic() {
    let ws = tree();
    for pattern in [
        "[",
        "{",
        "{a",
        "a}",
        "[]",
        "[!",
        "\\",
        "***",
        "**/**/**",
        "{,}",
        "{{a,b},c}",
        "[z-a]",
        "{1..99999999}",
    ] {
        ws.call("glob", &json!({"pattern": pattern}))
            .function_response();
    }
    let long = "{a,b}".repeat(64);
    ws.call("glob", &json!({"pattern": long}))
        .function_response();
}

#[test]
fn a_root_below_another_is_not_searched_twice() {
    let ws = Workspace::new().file("sub/f.txt", "x");
    let answer = ws
        .tool("glob")
        .arguments(&json!({ "pattern": "**/*.txt" }))
        .env("GEMINI_TOOLS_ROOTS", &ws.path("sub"))
        .run();
    assert_eq!(in_order(&answer), ["sub/f.txt"]);
}

#[test]
fn the_git_file_of_a_linked_worktree_is_left_out() {
    let ws = Workspace::new()
        .file(".git", "gitdir: /nowhere\n")
        .file("a", "x");
    assert_eq!(found(&ws, &json!({ "pattern": "**/*" })), ["a"]);
}

#[test]
fn what_a_repository_excludes_for_itself_counts_in_its_worktrees_and_submodules() {
    let ws = Workspace::new()
        .file("main/.git/info/exclude", "kept.out\n")
        .file("main/.git/HEAD", "ref: refs/heads/main\n")
        .file("main/.git/objects/x", "")
        .file("main/.git/worktrees/w/commondir", "../..\n")
        .file("main/.git/modules/s/info/exclude", "sub.out\n")
        .file("main/.git/modules/s/HEAD", "ref: refs/heads/main\n")
        .file("main/.git/modules/s/objects/x", "")
        .file("main/s/.git", "gitdir: ../.git/modules/s\n")
        .file("main/s/sub.out", "x")
        .file("main/s/kept.out", "x")
        .file("w/kept.out", "x")
        .file("w/below/kept.out", "x")
        .file("w/below/seen", "x");
    let kept = ws.path("main/.git/worktrees/w");
    let ws = ws.file("w/.git", format!("gitdir: {kept}\n"));
    assert_eq!(
        found(&ws, &json!({ "pattern": "**/*" })),
        ["main/s/kept.out", "w/below/seen"]
    );
    let below = ws.call_tool(&["glob", "pattern=**/*", "--output", "text"]);
    let below = below.command().current_dir(ws.path("w/below")).output();
    let text = String::from_utf8(below.expect("call_tool").stdout).expect("UTF-8");
    assert!(text.ends_with(":\nseen\n"), "{text}");
    assert!(!text.contains("kept.out"), "{text}");
}

#[test]
fn a_class_may_begin_with_a_hyphen() {
    let ws = Workspace::new().file("-x", "").file("a", "").file("b", "");
    let arguments = json!({"pattern": "[--a]*", "case_sensitive": true});
    assert_eq!(found(&ws, &arguments), ["-x", "a"]);
}

#[test]
fn a_pattern_is_judged_by_where_it_leads() {
    let ws = tree();
    for pattern in ["src/../../x", "../x", "{src,..}/x", "src/**/../x", "./../x"] {
        let answer = ws.call("glob", &json!({"pattern": pattern}));
        answer.error("path_not_in_workspace", 1);
    }
}

#[test]
fn a_link_to_a_directory_is_followed_as_the_path_only() {
    let ws = Workspace::new()
        .file("src/a.js", "")
        .file("real/p/b.js", "")
        .sibling("d.js", "")
        .link("linkdir", "src")
        .link("src/back", "..")
        .link("out", "../ws-sibling");
    let cases: [(&str, &[&str]); 4] = [
        ("linkdir/a.js", &[]),
        ("{src,linkdir}/*.js", &["src/a.js"]),
        ("**/a.js", &["src/a.js"]),
        ("out/*.js", &[]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(
            found(&ws, &json!({"pattern": pattern})),
            expected,
            "{pattern}"
        );
    }
    let by_path = json!({"pattern": "*.js", "path": "linkdir"});
    let answer = ws.call("glob", &by_path);
    answer.must_say(&answer.output(), &["Found 1 file(s)", "/a.js"]);
}

#[test]
fn only_two_stars_go_through_directories_and_a_dot_at_the_end_is_no_file() {
    let ws = tree();
    let none: [&str; 0] = [];
    for pattern in ["**/.", "src/.", "src/util/.."] {
        assert_eq!(found(&ws, &json!({"pattern": pattern})), none, "{pattern}");
    }
    assert_eq!(found(&ws, &json!({"pattern": "src/***"})), ["src/app.ts"]);
    assert_eq!(
        found(&ws, &json!({"pattern": "***/app.ts"})),
        ["src/app.ts"]
    );
    assert_eq!(found(&ws, &json!({"pattern": "***/io.ts"})), none);
}

#[test]
fn node_modules_is_left_out_counted_and_listed_when_named() {
    let ws = Workspace::new()
        .git()
        .file("a.js", "")
        .file("node_modules/p/b.js", "")
        .file("sub/node_modules/p/c.js", "");
    let answer = ws.call("glob", &json!({"pattern": "**/*.js"}));
    assert_eq!(in_order(&answer), ["a.js"]);
    answer.must_say(&answer.output(), &["(2 node_modules directories left out)"]);
    let top = ws.call("glob", &json!({"pattern": "*.js"})).output();
    assert!(!top.contains("left out"), "{top}");
    let named = json!({"pattern": "node_modules/**/*.js"});
    let by_path = json!({"pattern": "**/*.js", "path": "sub/node_modules"});
    let all = json!({"pattern": "**/*.js", "respect_git_ignore": false});
    let every = ["a.js", "node_modules/p/b.js", "sub/node_modules/p/c.js"];
    assert_eq!(found(&ws, &named), ["node_modules/p/b.js"]);
    assert_eq!(found(&ws, &by_path), ["sub/node_modules/p/c.js"]);
    assert_eq!(found(&ws, &all), every);
    // As most repositories have it.
    let ws = ws.file(".gitignore", "node_modules/\n");
    assert_eq!(found(&ws, &named), ["node_modules/p/b.js"]);
    assert_eq!(found(&ws, &all), every);
    let ws = ws.file(".geminiignore", "node_modules/\n");
    let none: [&str; 0] = [];
    assert_eq!(found(&ws, &named), none);
}

#[test]
fn node_modules_can_be_named_in_a_group_and_git_never() {
    let ws = Workspace::new()
        .git()
        .file(".gitignore", "node_modules\n")
        .file("sub/node_modules/c.js", "")
        .file(".git/hooks/h", "");
    let cases: [(&str, &[&str]); 5] = [
        ("*/@(node_modules|y)/*.js", &["sub/node_modules/c.js"]),
        ("**/{node_modules,y}/c.js", &["sub/node_modules/c.js"]),
        ("sub/!(node_modules)/*.js", &[]),
        ("sub/*/*my_node_modules_x{,c.js}", &[]),
        (".git/**", &[]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(
            found(&ws, &json!({"pattern": pattern})),
            expected,
            "{pattern}"
        );
    }
    let excluded = ws.call("glob", &json!({"pattern": "!(node_modules)/**/*.js"}));
    excluded.must_say(&excluded.output(), &["1 node_modules directory left out"]);
}

/// Names of routes and of templates, beside files that they would match as patterns.
fn routes() -> Workspace {
    let mut ws = Workspace::new();
    for directory in [
        "app/[id]",
        "app/i",
        "app/[...slug]",
        "app/[[opt]]",
        "app/(x)/{y}",
        "app/{a,b}",
        "app/a",
        "app/@(m)",
        "app/m",
        "app/!(n)",
        "app/o\\p",
    ] {
        ws = ws.file(format!("{directory}/page.tsx"), "NEEDLE\n");
    }
    ws
}

#[test]
fn a_literal_name_counts_besides_the_meaning_of_its_characters_in_every_pattern() {
    let ws = routes();
    for (start, literal, also) in [
        ("app/[id]", "app/[id]", Some("app/i")),
        ("./app/[id]", "app/[id]", Some("app/i")),
        ("**/[id]", "app/[id]", Some("app/i")),
        ("app/[...slug]", "app/[...slug]", None),
        ("app/[[opt]]", "app/[[opt]]", None),
        ("app/(x)/{y}", "app/(x)/{y}", None),
        ("app/{a,b}", "app/{a,b}", Some("app/a")),
        ("app/@(m)", "app/@(m)", Some("app/m")),
        ("app/!(n)", "app/!(n)", Some("app/i")),
        ("app/o\\p", "app/o\\p", None),
    ] {
        let name = format!("{literal}/page.tsx");
        let others = also.map(|also| format!("{also}/page.tsx"));
        for pattern in [format!("{start}/*.tsx"), format!("{start}/**")] {
            let glob = ws.call("glob", &json!({"pattern": pattern}));
            let search = json!({"pattern": "NEEDLE", "include": pattern});
            let search = ws.call("search_file_content", &search);
            let many = ws.call("read_many_files", &json!({"paths": [pattern]}));
            for answer in [glob, search, many] {
                let output = answer.output();
                for name in others.iter().chain([&name]) {
                    assert!(
                        output.contains(name.as_str()),
                        "{pattern}: {}",
                        answer.shown()
                    );
                }
            }
            let search = json!({"pattern": "NEEDLE", "include": format!("!{pattern}")});
            let search = ws.call("search_file_content", &search);
            let many = json!({"paths": ["app"], "exclude": [pattern]});
            let many = ws.call("read_many_files", &many);
            for answer in [search, many] {
                let output = answer.output();
                assert!(!output.contains(&name), "{pattern}: {}", answer.shown());
            }
        }
    }
    for (pattern, is_alone) in [
        ("*.rs", false),
        ("**", false),
        ("?.rs", false),
        ("[ab].rs", true),
        ("{a,b}.rs", true),
    ] {
        let ws = Workspace::new()
            .file("a.rs", "NEEDLE\n")
            .file("b.rs", "NEEDLE\n");
        let ws = ws.file(pattern, "NEEDLE\n");
        let glob = ws.call("glob", &json!({"pattern": pattern}));
        let many = ws.call("read_many_files", &json!({"paths": [pattern]}));
        for answer in [glob, many] {
            let output = answer.output();
            assert!(output.contains(pattern), "{pattern}: {}", answer.shown());
            for name in ["/a.rs", "/b.rs", "- a.rs", "- b.rs"] {
                let is_read = output.contains(name);
                assert!(!(is_alone && is_read), "{pattern}: {}", answer.shown());
            }
            let others = output.matches("a.rs").count() + output.matches("b.rs").count();
            assert!(is_alone || others >= 2, "{pattern}: {}", answer.shown());
            assert!(!output.contains("Skipped"), "{pattern}: {}", answer.shown());
        }
    }
    let answer = ws.call(
        "list_directory",
        &json!({"path": "app", "ignore": ["[id]", "{a,b}"]}),
    );
    let output = answer.output();
    let shown: Vec<&str> = output.lines().filter(|l| l.starts_with("[DIR]")).collect();
    let left = ["!(n)", "(x)", "@(m)", "[...slug]", "[[opt]]", "m", "o\\p"];
    assert_eq!(shown.len(), left.len(), "{output}");
    for name in left {
        assert!(
            shown.contains(&&*format!("[DIR] {name}")),
            "{name}: {output}"
        );
    }
}

#[test]
fn dead_links_are_listed_as_by_git_and_links_out_are_not_followed() {
    let ws = Workspace::new()
        .file("a.txt", "")
        .directory("d")
        .link("dead", "nowhere")
        .link("d/dead too", "../none/x")
        .link("loop", "loop")
        .link("directory", "d")
        .link("file", "a.txt")
        .link("out", "../out");
    let listed = ["a.txt", "d/dead too", "dead", "file", "loop"];
    assert_eq!(found(&ws, &json!({"pattern": "**/*"})), listed);
}
