//! `get_tools init --host` in random settings of JSON, TOML and YAML, which others edit in between: no byte of theirs
//! changes, neither by `init` nor by `--undo`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::hosts::installed;
use crate::harness::random::{Random, seeds};
use crate::harness::tree::Tree;
use crate::harness::{Workspace, trials};

const HOSTS: [(&str, &str); 4] = [
    ("zed", ".config/zed/settings.json"),
    ("copilot", ".copilot/mcp-config.json"),
    ("codex", ".codex/config.toml"),
    ("goose", ".config/goose/config.yaml"),
];

/// Settings of a host in a random spelling, in which `VALUE` and, in some, `NOTE` stand for what others edit.
fn settings(random: &mut Random, host: &str) -> String {
    let lines = match host {
        "codex" => toml(random),
        "goose" => yaml(random),
        "copilot" => json(random, "mcpServers", false),
        _ => json(random, "context_servers", true),
    };
    let end = random.of(&["\n", "\r\n"]);
    let last = random.of(&["", end]);
    // A host that reads no mark is left without.
    let mark = if host == "zed" && random.one_in(4) {
        "\u{feff}"
    } else {
        ""
    };
    let lines = lines.join("\n").replace('\n', end);
    format!("{mark}{lines}{last}")
}

/// Leaves some of the lines out, and puts blank ones between others.
fn some(random: &mut Random, lines: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for line in lines {
        if !random.one_in(3) {
            all.push((*line).to_owned());
        }
        if random.one_in(5) {
            all.push(random.of(&["", "  "]).to_owned());
        }
    }
    all
}

fn json(random: &mut Random, servers: &str, has_comments: bool) -> Vec<String> {
    let tab = random.of(&["  ", "    ", "\t"]);
    let note = |random: &mut Random, notes: &[&'static str]| {
        if has_comments { random.of(notes) } else { "" }
    };
    let noted = |random: &mut Random, notes: &[&'static str]| {
        let note = note(random, notes);
        some(random, &[note])
    };
    let quote = if has_comments {
        random.of(&["\"", "'", ""])
    } else {
        "\""
    };
    let server = "\"x\" : {\"command\":\"y\", \"args\" :[ ]}";
    let other = match random.below(5) {
        0 => {
            return vec![format!(
                "{{ \"k\" :1,\"v\":\"VALUE\", {quote}{servers}{quote}: {{{server}}} }}"
            )];
        }
        1 => format!("{{{server}}}"),
        2 => "{ }".to_owned(),
        3 => format!(
            "{{{}\n{tab}{tab}{server}\n{tab}}}",
            note(random, &["", " // a, { \"", " /* b */"])
        ),
        _ => format!(
            "{{\n{tab}{}\n{tab}}}",
            note(random, &["", "// \"off\": {},", "/* c\n } */"])
        ),
    };
    let mut lines = noted(random, &["", "// first", "/* a\n{ */"]);
    lines.push(format!(
        "{{{}",
        note(random, &["", " // top", " /* top", " /* a */ // }"])
    ));
    if lines.last().is_some_and(|line| line.ends_with("/* top")) {
        lines.push("still */".to_owned());
    }
    lines.extend(noted(random, &["", "// NOTE", "// NOTE {"]));
    let mut keys = vec![format!("{tab}\"v\": \"VALUE\"")];
    if !random.one_in(3) {
        let at = random.below(2);
        keys.insert(at, format!("{tab}{quote}{servers}{quote} : {other}"));
    }
    let comma = if has_comments {
        random.of(&["", ","])
    } else {
        ""
    };
    lines.push(keys.join(",\n") + comma);
    lines.extend(noted(random, &["", "  // last"]));
    lines.push("}".to_owned());
    lines
}

fn toml(random: &mut Random) -> Vec<String> {
    let odd = "'odd' = '''\n\n'''";
    let mut lines = some(random, &["# first", "model=\"m\"   # why", odd, "# NOTE"]);
    lines.push("v = \"VALUE\"".to_owned());
    let servers: &[&str] = match random.below(6) {
        0 => &["mcp_servers = { x={command='y'} } # z"],
        1 => &["[mcp_servers] # mine"],
        2 => &["[\"mcp_servers\".'z.z']", "  command=\"y\"", "# of it"],
        3 => &["[mcp_servers]", "x = { command = \"y\" }", "", "[[list]]"],
        4 => &[
            "mcp_servers.x.command = \"y\"",
            "[ projects . \"/a\" ]",
            "trust = [",
            "  1,",
            "]",
        ],
        _ => &[],
    };
    lines.extend(servers.iter().map(|line| (*line).to_owned()));
    lines.extend(some(random, &["", "# last"]));
    lines
}

fn yaml(random: &mut Random) -> Vec<String> {
    let mut lines = some(random, &["# first", "---", "# NOTE"]);
    lines.push("v: \"VALUE\"".to_owned());
    let servers: &[&str] = match random.below(7) {
        0 => &["extensions: { x: {cmd: y} } # z"],
        1 => &["extensions: # mine", "  # off:", "  #   cmd: y"],
        2 => &["extensions: {} # mine"],
        3 => &[
            "\"extensions\":",
            "    # of x",
            "    x:",
            "        cmd:   y",
            "    # last",
        ],
        4 => &["extensions: &all", "  x: &x {cmd: y}", "", "others: *x"],
        5 => &["extensions:", "  x:", "    cmd: |", "      y"],
        _ => &[],
    };
    lines.extend(servers.iter().map(|line| (*line).to_owned()));
    lines.extend(some(random, &["z: >-", "# end"]));
    lines
}

/// What others do to a file while our entry is in it.
fn edited(text: &str, edit: usize, host: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let comment = if host == "zed" { "//" } else { "#" };
    match edit {
        0 => text.replace("VALUE", "new"),
        1 => text.replace("NOTE", &format!("NOTE{end}{comment} another")),
        2 if host == "codex" || host == "goose" => format!("# top{end}{text}"),
        2 => text.replacen("\"VALUE\"", "[1, 2]", 1),
        3 => text.replace("# first", "#").replace("// first", "//"),
        _ => text.to_owned() + end,
    }
}

/// True if the new text is the old one with one piece put in.
fn is_insertion(before: &str, after: &str) -> bool {
    let same = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let start = same(&mut before.bytes(), &mut after.bytes());
    let end = same(&mut before.bytes().rev(), &mut after.bytes().rev());
    after.len() > before.len() && start + end >= before.len()
}

#[test]
fn every_byte_of_others_stays_whatever_they_do_in_between() {
    for seed in seeds("host files", 25 * trials()) {
        let mut random = Random::new(seed);
        let (host, file) = random.of(&HOSTS);
        let before = settings(&mut random, host);
        let ws = Workspace::new().home(file, &before);
        let init = |args: &[&str]| {
            let call = installed(&ws, &["init", "--host", host, "--user", "--yes"]);
            let answer = call.flags(args).run();
            assert_eq!(answer.status(), 0, "{seed}: {before}\n{}", answer.shown());
        };
        let path = ws.root().join("home").join(file);
        let read = || fs::read_to_string(&path).expect("a file");
        let tree = Tree::of(ws.root());
        init(&[]);
        let after = read();
        assert!(
            is_insertion(&before, &after),
            "{seed}: {before}\n---\n{after}"
        );
        let bare = |text: &str| text.replace('\r', "").trim_end().to_owned();
        let is_in_line = |line: &str| line.contains('{') && line.contains('}');
        assert!(
            holds(&bare(&after), &bare(&before)) || before.lines().any(is_in_line),
            "{seed}: {before}\n---\n{after}"
        );
        let written = Tree::of(ws.root());
        init(&[]);
        let changes = written.changes(&Tree::of(ws.root()));
        assert!(changes.is_empty(), "{seed}: twice is once: {changes:?}");
        init(&["--undo"]);
        let changes = tree.changes(&Tree::of(ws.root()));
        assert!(
            changes.is_empty(),
            "{seed}: {before}\n---\n{after}\n{changes:?}"
        );
        init(&[]);
        let edit = random.below(5);
        fs::write(&path, edited(&after, edit, host)).expect("written");
        init(&["--undo"]);
        let expected = edited(&before, edit, host);
        assert_eq!(read(), expected, "{seed}: edit {edit} of {after}");
        // The copy goes only if nothing of it is lost.
        let copy = path.with_file_name(format!(
            "{}.before-init",
            path.file_name().expect("a name").display()
        ));
        assert_eq!(
            copy.exists(),
            !holds(&expected, &before),
            "{seed}: {expected}"
        );
    }
}

fn holds(text: &str, older: &str) -> bool {
    let mut lines = text.split('\n');
    older.split('\n').all(|line| lines.any(|one| one == line))
}

#[test]
fn what_stood_in_the_way_back_stays_and_so_does_the_copy() {
    let file = "home/.cursor/mcp.json";
    let before = "{\n  \"mcpServers\": {\n    // \"github\": { \"command\": \"gh-mcp\" } // off for now\n  }\n}\n";
    let ws = Workspace::new().home(".cursor/mcp.json", before);
    let init = |args: &[&str]| {
        let call = installed(&ws, &["init", "--host", "cursor", "--user", "--yes"]);
        let answer = call.flags(args).run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        answer.text().to_owned()
    };
    init(&[]);
    let path = ws.root().join(file);
    let other = |text: &str| text.replacen('{', "{ \"other\": 1,", 1);
    let written = fs::read_to_string(&path).expect("a file");
    fs::write(&path, other(&written)).expect("written");
    let copy = ws.root().join(format!("{file}.before-init"));
    for _ in 0..2 {
        let said = init(&["--undo"]);
        assert!(
            said.contains("mcp.json.before-init stays: not all of its lines are still in "),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&path).expect("a file"), other(before));
        assert_eq!(fs::read_to_string(&copy).expect("a copy"), before);
    }
    init(&[]);
    fs::write(&path, before).expect("written");
    init(&["--undo"]);
    assert!(!copy.exists(), "nothing of it is lost");
}

#[test]
fn a_null_is_no_server_and_another_server_of_our_name_gives_way() {
    for (host, file, before) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"mcpServers\": null\n}\n",
        ),
        (
            "qwen",
            ".qwen/settings.json",
            "{\n  \"mcpServers\": // mine\n  /* , */ null\n}\n",
        ),
        ("goose", ".config/goose/config.yaml", "note: |\n  mine"),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions: ~ # mine\n",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions:\n  gemini-tools: {cmd: mine}\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.gemini-tools]\nurl = \"https://a.example\"\n",
        ),
    ] {
        let ws = Workspace::new().home(file, before);
        let tree = Tree::of(ws.root());
        for args in [&["--user"][..], &["--user", "--undo"]] {
            let call = installed(&ws, &["init", "--host", host, "--yes"]);
            let answer = call.flags(args).run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
            let text = fs::read_to_string(ws.root().join("home").join(file)).expect("a file");
            assert_eq!(text.contains("serve_tools"), args.len() == 1, "{text}");
            let is_kept = before.ends_with("mine") == text.ends_with("mine");
            assert!(
                is_kept && text.contains("// mine") == before.contains("// mine"),
                "{text}"
            );
        }
        let changes = tree.changes(&Tree::of(ws.root()));
        assert!(changes.is_empty(), "{before}: {changes:?}");
    }
}

#[test]
fn nothing_stays_of_several_hosts_in_whatever_order_they_are_undone() {
    let hosts = ["agy", "cursor", "gemini"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let ws = Workspace::new();
        let before = Tree::of(ws.root());
        let init = |host: &str, args: &[&str]| {
            let call = installed(
                &ws,
                &["init", "--yes", "--skill", "--project", "--host", host],
            );
            let answer = call.flags(args).run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
        };
        for host in hosts {
            init(host, &[]);
        }
        for host in order.map(|at| hosts[at]) {
            let call = installed(
                &ws,
                &["init", "--yes", "--project", "--host", host, "--undo"],
            );
            let answer = call.run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
        }
        let changes = before.changes(&Tree::of(ws.root()));
        assert!(changes.is_empty(), "{order:?}: {changes:?}");
    }
}

#[test]
fn odd_names_are_shown_or_named_and_other_links_are_told_of() {
    let init_in = |ws: &Workspace, name: &OsStr| {
        let directory = ws.dir().join(name);
        fs::create_dir(&directory).expect("a directory");
        let mut call = ws.get_tools(&["init"]).command();
        let output = call.current_dir(directory).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let ws = Workspace::new();
    let (said, _) = init_in(&ws, OsStr::new("e\u{1b}[31m\u{202e}x"));
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}'),
        "{said:?}"
    );
    assert!(said.contains("settings.json (new)"), "{said:?}");
    let (_, said) = init_in(&ws, OsStr::from_bytes(b"bad\xffname"));
    assert!(
        said.contains("bad")
            && said.contains("its path is not UTF-8")
            && !said.contains("tools_init"),
        "{said}"
    );
}

#[test]
fn faults_of_settings_are_on_one_line_and_a_mark_is_none() {
    for (host, file, text, said) in [
        ("codex", ".codex/config.toml", "x = 1\ny = \n", "line 2: "),
        (
            "goose",
            ".config/goose/config.yaml",
            "a: 1\nb: [\n",
            "line ",
        ),
    ] {
        let ws = Workspace::new().home(file, text);
        let answer = installed(&ws, &["init", "--host", host, "--user", "--yes"]).run();
        assert_eq!(answer.status(), 1, "{}", answer.shown());
        let stderr = answer.errors();
        assert!(stderr.contains(said) && !stderr.contains("\\n"), "{stderr}");
    }
    for (host, file) in [
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let ws = Workspace::new().home(file, "\u{feff}");
        let answer = installed(&ws, &["init", "--host", host, "--user", "--yes"]).run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        let text = fs::read_to_string(ws.root().join("home").join(file)).expect("a file");
        assert!(
            text.starts_with('\u{feff}') && text.contains("serve_tools"),
            "{text}"
        );
    }
}
