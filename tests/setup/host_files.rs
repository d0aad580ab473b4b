//! `get_tools init --host` in random settings of JSON, TOML and YAML, which others edit in between: no byte of theirs
//! changes, neither by `init` nor by `--undo`.

use std::fs;

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
    let note = |random: &mut Random, notes: &[&'static str]| match has_comments {
        true => random.of(notes),
        false => "",
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
