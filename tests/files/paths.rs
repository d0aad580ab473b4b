//! All file access goes through the workspace: what a path may mean, and what no path can reach.

use std::fs;

use proptest::prelude::{ProptestConfig, proptest};
use proptest::{collection, sample};
use serde_json::{Value, json};

use crate::harness::Workspace;

const SECRET: &str = "SECRET-OUTSIDE-LINE";

/// A workspace with every kind of way out.
fn with_ways_out() -> Workspace {
    let ws = Workspace::new()
        .outside("secret.txt", SECRET)
        .outside("deep/secret.txt", SECRET)
        .sibling("secret.txt", SECRET)
        .file("in.txt", "inside\n")
        .file("d/in.txt", "inside\n")
        .link("file-link", "../out/secret.txt")
        .link("dir-link", "../out")
        .link("d/up-link", "../../out")
        .link("proc-link", "/proc/self/environ");
    let absolute = ws.outside_path("secret.txt");
    let next = ws.path("absolute-link");
    ws.link("absolute-link", absolute)
        .link("link-to-link", next)
}

/// A call of each tool that takes a path, with this one.
fn every_call(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"absolute_path": path})),
        ("write_file", json!({"file_path": path, "content": "x"})),
        (
            "replace",
            json!({"file_path": path, "old_string": "SECRET", "new_string": "x"}),
        ),
        (
            "replace",
            json!({"file_path": path, "old_string": "", "new_string": "x"}),
        ),
        ("list_directory", json!({"path": path})),
        ("glob", json!({"pattern": "**/*", "path": path})),
        (
            "search_file_content",
            json!({"pattern": "SECRET", "path": path}),
        ),
    ]
}

#[test]
fn paths_outside_are_refused_by_name() {
    let ws = with_ways_out();
    let outside = ws.outside_path("secret.txt");
    let sibling = ws.path("../ws-sibling/secret.txt");
    let paths = [
        outside.as_str(),
        "../out/secret.txt",
        "d/../../out/secret.txt",
        &sibling,
        &sibling.replace("/ws/..", ""),
        "/etc/hostname",
        "/proc/self/environ",
        "/",
    ];
    for path in paths {
        for (tool, arguments) in every_call(path) {
            let answer = ws.call(tool, &arguments);
            let message = answer.error("path_not_in_workspace", 1);
            answer.must_say(&message, &[path]);
        }
    }
}

#[test]
fn links_out_are_refused() {
    let ws = with_ways_out();
    for name in [
        "file-link",
        "absolute-link",
        "link-to-link",
        "proc-link",
        "dir-link/secret.txt",
        "d/up-link/secret.txt",
    ] {
        for (tool, arguments) in every_call(&ws.path(name)) {
            let answer = ws.call(tool, &arguments);
            answer.error("path_not_in_workspace", 1);
        }
    }
}

#[test]
fn missing_components_below_a_link_out_are_not_created() {
    let ws = with_ways_out();
    for name in [
        "dir-link/new.txt",
        "dir-link/a/b/c/new.txt",
        "d/up-link/deep/x/y/new.txt",
    ] {
        let path = ws.path(name);
        // The harness fails when anything outside changes.
        let calls = [
            ("write_file", json!({"file_path": path, "content": "x"})),
            (
                "replace",
                json!({"file_path": path, "old_string": "", "new_string": "x"}),
            ),
        ];
        for (tool, arguments) in calls {
            ws.call(tool, &arguments).error("path_not_in_workspace", 1);
        }
    }
}

#[test]
fn dangling_link_out_is_not_written_through() {
    let ws = Workspace::new().link("exit", "../out/new.txt");
    let arguments = json!({"file_path": ws.path("exit"), "content": "x"});
    ws.call("write_file", &arguments)
        .error("path_not_in_workspace", 1);
}

#[test]
fn walks_do_not_follow_links_out() {
    let ws = with_ways_out();
    for (tool, arguments) in [
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "dir-link/**"})),
        ("glob", json!({"pattern": "../**/*"})),
        ("search_file_content", json!({"pattern": "SECRET"})),
        (
            "search_file_content",
            json!({"pattern": "SECRET", "no_ignore": true}),
        ),
        (
            "read_many_files",
            json!({"paths": ["**/*", "dir-link/secret.txt", "../out/*", "/etc/hostname"]}),
        ),
        ("list_directory", json!({"path": "."})),
    ] {
        let answer = ws.call(tool, &arguments);
        let said = answer.text();
        assert!(
            !said.contains(SECRET) && !said.contains("deep/secret"),
            "{tool}: {said}"
        );
    }
}

#[test]
fn links_that_stay_inside_work() {
    let ws = Workspace::new()
        .file("real/a.txt", "inside\n")
        .link("relative", "real");
    let target = ws.path("real/a.txt");
    let dir = ws.path("real");
    let ws = ws.link("absolute.txt", target).link("absolute-dir", dir);
    for name in [
        "relative/a.txt",
        "absolute.txt",
        "absolute-dir/a.txt",
        "relative/../real/a.txt",
    ] {
        let answer = ws.call("read_file", &json!({"absolute_path": ws.path(name)}));
        assert_eq!(answer.output(), "inside\n", "{name}");
    }
}

#[test]
fn endless_links_are_an_error() {
    let ws = Workspace::new()
        .link("a", "b")
        .link("b", "a")
        .link("self/loop", ".");
    for (tool, arguments) in every_call(&ws.path("a")) {
        ws.call(tool, &arguments).failure();
    }
    ws.call("glob", &json!({"pattern": "**/*"})).output();
    ws.call("search_file_content", &json!({"pattern": "x"}))
        .output();
}

#[test]
fn relative_paths_count_from_the_root() {
    let ws = Workspace::new().file("d/a.txt", "inside\n");
    for path in ["d/a.txt", "./d/a.txt", "d//a.txt", "d/../d/./a.txt"] {
        let answer = ws.call("read_file", &json!({"absolute_path": path}));
        assert_eq!(answer.output(), "inside\n", "{path}");
    }
}

#[test]
fn further_roots_come_from_the_environment() {
    let ws = Workspace::new().outside("a.txt", "in the second root\n");
    let path = ws.outside_path("a.txt");
    let call = ws
        .tool("read_file")
        .arguments(&json!({"absolute_path": path}));
    let answer = call.env("GEMINI_TOOLS_ROOTS", &ws.outside_path("")).run();
    assert_eq!(answer.output(), "in the second root\n");
    ws.call("read_file", &json!({"absolute_path": path}))
        .error("path_not_in_workspace", 1);
}

#[test]
fn further_roots_come_from_the_settings_of_the_user_and_not_of_the_project() {
    for (by_user, status) in [(true, 0), (false, 1)] {
        let ws = Workspace::new().outside("a.txt", "in the second root\n");
        let settings =
            json!({"context": {"includeDirectories": [ws.outside_path("")]}}).to_string();
        let ws = if by_user {
            ws.home(".gemini/settings.json", settings)
        } else {
            ws.file(".gemini/settings.json", settings)
        };
        let answer = ws.call(
            "read_file",
            &json!({"absolute_path": ws.outside_path("a.txt")}),
        );
        assert_eq!(answer.status(), status, "{}", answer.text());
    }
}

#[test]
fn a_root_that_leads_out_through_a_link_in_a_place_for_commands_is_refused() {
    let ws = Workspace::new()
        .outside("a.txt", "outside\n")
        .directory("kept")
        .link("docs", "../out")
        .link("inside", "kept");
    fs::create_dir(ws.root().join("tmp")).expect("a directory");
    fs::create_dir(ws.root().join("allowed")).expect("a directory");
    let link = |name: &str| {
        let link = ws.root().join(name);
        std::os::unix::fs::symlink(ws.root().join("out"), &link).expect("a link");
        link.to_str().expect("UTF-8").to_owned()
    };
    let above = link("above");
    let by_all = [
        "docs".to_owned(),
        ws.path("docs"),
        "inside/../docs".to_owned(),
        format!("{above}/../ws/docs"),
        link("tmp/link"),
        link("allowed/link"),
        link("home/of-another-root"),
    ];
    let settings = |roots: &[&str]| {
        let allowed = ws.root().join("allowed");
        let text = json!({
            "context": {"includeDirectories": roots},
            "tools": {"sandboxAllowedPaths": [allowed]},
        });
        let dir = ws.root().join("home/.gemini");
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(dir.join("settings.json"), text.to_string()).expect("written");
    };
    let home = ws.root().join("home");
    let home = home.to_str().expect("UTF-8");
    let outside = ws.outside_path("a.txt");
    let tmp = ws.root().join("tmp");
    let call = |variable: &str| {
        let roots = [home, variable].join(":");
        ws.tool("read_file")
            .arguments(&json!({"absolute_path": outside}))
            .env("TMPDIR", tmp.to_str().expect("UTF-8"))
            .env("GEMINI_TOOLS_ROOTS", &roots)
            .run()
    };
    for root in &by_all {
        settings(&[]);
        let answer = call(root);
        let message = answer.error("path_not_in_workspace", 1);
        answer.must_say(&message, &["is not worked in", "symbolic link"]);
        settings(&[root]);
        call("").error("path_not_in_workspace", 1);
    }
    // One that only the user can change, and one that stays.
    settings(&["inside"]);
    assert_eq!(call(&above).output(), "outside\n");
}

#[test]
fn zero_byte_in_a_path_is_refused() {
    let ws = with_ways_out();
    for (tool, arguments) in every_call("in.txt\u{0}/../../out/secret.txt") {
        let failure = ws.call(tool, &arguments).failure();
        assert!(!failure.message.contains(SECRET));
    }
}

#[test]
fn names_that_are_too_long_are_refused_in_words() {
    let ws = Workspace::new();
    let component = "n".repeat(300);
    let path = "p/".repeat(2048) + "f.txt";
    let whole = "w".repeat(4096);
    for name in [component, path, whole] {
        for (tool, arguments) in every_call(&ws.path(&name)) {
            ws.call(tool, &arguments).failure();
        }
    }
}

#[test]
fn deep_path_works() {
    let ws = Workspace::new();
    let name = "d/".repeat(1000) + "f.txt";
    let write = json!({"file_path": name, "content": "deep"});
    ws.tool("write_file")
        .arguments(&write)
        .unwatched()
        .run()
        .output();
    let read = json!({"absolute_path": name});
    assert_eq!(
        ws.tool("read_file")
            .arguments(&read)
            .unwatched()
            .run()
            .output(),
        "deep"
    );
    for (tool, arguments) in [
        ("glob", json!({"pattern": "**/f.txt"})),
        ("search_file_content", json!({"pattern": "deep"})),
    ] {
        let answer = ws.tool(tool).arguments(&arguments).unwatched().run();
        answer.must_say(&answer.output(), &["d/d/d/f.txt"]);
    }
}

#[test]
fn special_files_are_refused_at_once() {
    let ws = Workspace::new().fifo("pipe").file("a.txt", "text\n");
    for (tool, arguments) in every_call(&ws.path("pipe")) {
        ws.call(tool, &arguments).failure();
    }
    ws.call("search_file_content", &json!({"pattern": "text"}))
        .output();
    ws.call("read_many_files", &json!({"paths": ["*"]}))
        .output();
    ws.call("list_directory", &json!({"path": "."})).output();
}

#[test]
fn unreadable_file_is_permission_denied() {
    let ws = Workspace::new()
        .file("closed.txt", "text\n")
        .mode("closed.txt", 0)
        .unprivileged();
    let answer = ws.call(
        "read_file",
        &json!({"absolute_path": ws.path("closed.txt")}),
    );
    let message = answer.error("permission_denied", 1);
    answer.must_say(&message, &["closed.txt"]);
    let arguments =
        json!({"file_path": ws.path("closed.txt"), "old_string": "a", "new_string": "b"});
    ws.call("replace", &arguments).error("permission_denied", 1);
}

#[test]
fn unreadable_files_do_not_end_a_search() {
    let ws = Workspace::new()
        .file("closed.txt", "needle\n")
        .mode("closed.txt", 0)
        .file("dir/x.txt", "needle\n")
        .mode("dir", 0)
        .file("open.txt", "needle\n")
        .unprivileged();
    let answer = ws.call("search_file_content", &json!({"pattern": "needle"}));
    let unread = "(1 file could not be read: closed.txt: Permission denied";
    answer.must_say(&answer.output(), &["File: open.txt", unread]);
    let answer = ws.call("glob", &json!({"pattern": "**/*.txt"}));
    answer.must_say(&answer.output(), &["open.txt"]);
    let answer = ws.call("read_many_files", &json!({"paths": ["*.txt"]}));
    answer.must_say(&answer.output(), &["needle", "closed.txt"]);
}

#[test]
fn write_protected_file_is_not_overwritten() {
    let ws = Workspace::new()
        .file("a.txt", "old\n")
        .mode("a.txt", 0o444)
        .unprivileged();
    let write = json!({"file_path": ws.path("a.txt"), "content": "x"});
    ws.call("write_file", &write).error("permission_denied", 1);
    let edit = json!({"file_path": ws.path("a.txt"), "old_string": "old", "new_string": "new"});
    ws.call("replace", &edit).error("permission_denied", 1);
}

#[test]
fn files_that_vanish_meanwhile_are_no_error() {
    let ws = (0..50).fold(Workspace::new(), |ws, n| {
        ws.file(format!("stay/{n}.txt"), "needle\n")
    });
    let dir = ws.dir();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for n in 0..20 {
                    let path = dir.join(format!("come-and-go-{n}"));
                    fs::create_dir_all(&path).expect("a directory");
                    fs::write(path.join("x.txt"), "needle\n").expect("a file");
                }
                for n in 0..20 {
                    fs::remove_dir_all(dir.join(format!("come-and-go-{n}"))).expect("removal");
                }
            }
        });
        for _ in 0..20 {
            for (tool, arguments) in [
                ("search_file_content", json!({"pattern": "needle"})),
                ("glob", json!({"pattern": "**/*.txt"})),
                ("list_directory", json!({"path": "."})),
                ("read_many_files", json!({"paths": ["**/*.txt"]})),
            ] {
                let answer = ws.tool(tool).arguments(&arguments).unwatched().run();
                answer.must_say(&answer.output(), &["stay"]);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a path is made of: no text from outside, and nothing outside is changed.
    #[test]
    fn no_path_reaches_outside(
        absolute in proptest::bool::ANY,
        components in collection::vec(sample::select(vec![
            "..", ".", "", "d", "in.txt", "ws", "out", "ws-sibling", "secret.txt", "deep", "dir-link", "up-link",
            "file-link", "absolute-link", "link-to-link", "new", "~", "*", "$HOME", "%2e%2e", "\u{ff0e}\u{ff0e}",
        ]), 1..7),
    ) {
        let ws = with_ways_out();
        let relative = components.join("/");
        let path = if absolute { ws.path(&relative) } else { relative };
        for (tool, arguments) in every_call(&path) {
            let call = ws.tool(tool).arguments(&arguments);
            // Files inside may change, those outside never.
            let answer = call.changing(&[""]).run();
            let said = answer.text();
            assert!(!said.contains(SECRET), "{tool} {path}: {said}");
        }
    }
}
