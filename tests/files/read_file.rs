//! `read_file`: windows, encodings, media, refusals.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use std::fs;

use serde_json::{Value, json};

use crate::harness::PNG_BASE64;
use crate::harness::{Answer, Workspace, lines};

fn read(ws: &Workspace, name: &str) -> Answer {
    ws.call("read_file", &json!({"absolute_path": ws.path(name)}))
}

fn numbered(count: usize) -> String {
    lines(count, |n| format!("line {}\n", n + 1))
}

#[test]
fn shows_a_whole_file_as_it_is() {
    for text in ["mixed\nlines\r\nhere\rend", " "] {
        let ws = Workspace::new().file("a.txt", text);
        assert_eq!(read(&ws, "a.txt").output(), text);
    }
}

#[test]
fn of_a_limit_and_an_end_the_smaller_holds() {
    let ws = Workspace::new().file("a.txt", numbered(100));
    for (limit, end, last) in [(1, 9, 3), (9, 4, 4), (2, 4, 4)] {
        let arguments =
            json!({"absolute_path": "a.txt", "start_line": 3, "end_line": end, "limit": limit});
        let output = ws.call("read_file", &arguments).output();
        let shown = [2, 3, last, last + 1].map(|n| output.contains(&format!("line {n}\n")));
        assert_eq!(shown, [false, true, true, false], "{output}");
    }
}

#[test]
fn line_range_that_ends_before_it_begins_is_refused() {
    let ws = Workspace::new().file("a.txt", numbered(10));
    for (start, end) in [(5, 4), (0, 3)] {
        let arguments =
            json!({"absolute_path": ws.path("a.txt"), "start_line": start, "end_line": end});
        ws.call("read_file", &arguments)
            .error("invalid_tool_params", 2);
    }
}

#[test]
fn shows_two_thousand_lines_unless_asked_for_more() {
    let ws = Workspace::new().file("a.txt", numbered(2500));
    let output = read(&ws, "a.txt").output();
    assert_eq!(next_offset(&output), Some(2000));
    let arguments = json!({"absolute_path": ws.path("a.txt"), "offset": 0, "limit": 2500});
    let answer = ws.call("read_file", &arguments);
    answer.must_say(&answer.output(), &["line 2001\n", "line 2500"]);
}

#[test]
fn cuts_lines_over_two_thousand_characters_and_says_so() {
    let long = "é".repeat(3000);
    let ws = Workspace::new().file("a.txt", format!("first\n{long}\nlast\n"));
    let answer = read(&ws, "a.txt");
    let output = answer.output();
    answer.must_say(&output, &["first\n", &"é".repeat(2000), "last"]);
    assert!(!output.contains(&"é".repeat(2001)), "{output}");
    assert!(output.to_lowercase().contains("truncated"), "{output}");
    let exact = "x".repeat(2000) + "\n";
    let ws = Workspace::new().file("a.txt", &exact);
    assert_eq!(read(&ws, "a.txt").output(), exact);
}

#[test]
fn following_the_next_offset_gives_the_whole_file() {
    let text = lines(6000, |n| format!("{n} {}\n", "lorem ipsum ".repeat(n % 30)));
    let known: HashSet<&str> = text.lines().collect();
    let ws = Workspace::new().file("a.txt", &text);
    let mut offset = 0;
    let mut whole = String::new();
    for _ in 0..100 {
        let arguments = json!({"absolute_path": ws.path("a.txt"), "offset": offset});
        let answer = ws.call("read_file", &arguments);
        let output = answer.output();
        for line in output.lines().filter(|line| known.contains(line)) {
            whole += line;
            whole.push('\n');
        }
        match next_offset(&output) {
            Some(next) if next > offset => offset = next,
            Some(next) => answer.fail(&format!("offset {next} after offset {offset}")),
            None => break,
        }
    }
    assert_eq!(whole.len(), text.len());
    assert!(whole == text);
}

#[test]
fn no_answer_is_longer_than_its_limit() {
    let line = "x".repeat(1900) + "\n";
    let ws = Workspace::new().file("a.txt", line.repeat(2000));
    let output = read(&ws, "a.txt").output();
    assert!(
        output.chars().count() < 402_000,
        "{} characters",
        output.chars().count()
    );
    let next = next_offset(&output).expect("a next offset");
    assert!((150..=211).contains(&next), "{next}");
}

/// The offset that a note names for the next call.
fn next_offset(output: &str) -> Option<usize> {
    let pattern = Regex::new(r#"(?i)offset["`']?\s*[:=]?\s*(?:of |to )?(\d+)"#).expect("a pattern");
    let found = pattern.captures_iter(output).last()?;
    found[1].parse().ok()
}

#[test]
fn what_a_document_says_of_its_encoding_counts() {
    // Too little to be told by its letters: "őrület" in windows-1250, "Привет" in x-mac-cyrillic.
    let xml = b"<?xml version=\"1.0\" encoding=\"windows-1250\"?>\n<a>\xf5r\xfclet</a>\n";
    let html = b"<!doctype html>\n<meta charset=x-mac-cyrillic>\n<p>\x8f\xf0\xe8\xe2\xe5\xf2\n";
    for (bytes, encoding, text) in [
        (&xml[..], "windows-1250", "<a>őrület</a>"),
        (&html[..], "x-mac-cyrillic", "<p>Привет"),
    ] {
        let answer = read(&Workspace::new().file("a", bytes), "a");
        let output = answer.output();
        answer.must_say(&output, &[&format!("[Decoded from {encoding}.]"), text]);
    }
}

#[test]
fn images_documents_sound_and_film_come_as_data() {
    let png = STANDARD.decode(PNG_BASE64).expect("base64");
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("a.png", png.clone(), "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9".to_vec(), "image/jpeg"),
        ("a.gif", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(), "image/gif"),
        ("a.webp", b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0".to_vec(), "image/webp"),
        ("a.pdf", b"%PDF-1.4\n1 0 obj\n<< >>\nendobj\n%%EOF\n".to_vec(), "application/pdf"),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\xff\xfb\x90\0".to_vec(), "audio/mp"),
        ("a.wav", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0".to_vec(), "audio/"),
        ("a.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08mdat".to_vec(), "video/mp4"),
        ("named-wrongly.txt", png, "image/png"),
    ];
    for (name, bytes, mime) in cases {
        let ws = Workspace::new().file(name, &bytes);
        let answer = read(&ws, name);
        answer.must_say(&answer.output(), &[mime]);
        let parts = answer.function_response().parts;
        assert_eq!(parts.len(), 1, "{name}");
        let data = &parts[0].inline_data;
        assert!(
            data.mime_type.starts_with(mime),
            "{name}: {}",
            data.mime_type
        );
        assert_eq!(
            STANDARD.decode(&data.data).expect("base64"),
            bytes,
            "{name}"
        );
    }
}

#[test]
fn text_is_text_whatever_its_name() {
    let text = "just text\n";
    for name in [
        "a.dat",
        "a.bin",
        "a.o",
        "a.svg",
        "a.ts",
        "noext",
        "a.unknown",
        ".hidden",
    ] {
        let ws = Workspace::new().file(name, text);
        assert_eq!(read(&ws, name).output(), text, "{name}");
    }
    let ws = Workspace::new().file("a.png", text);
    let answer = read(&ws, "a.png");
    answer.must_say(&answer.output(), &["just text"]);
}

#[test]
fn other_binary_files_are_refused_by_name() {
    let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec();
    let zeros = vec![0; 1000];
    for (name, bytes) in [
        ("prog", elf),
        ("blob.xyz", zeros),
        ("late", [vec![b'a'; 3000], vec![0; 100]].concat()),
    ] {
        let ws = Workspace::new().file(name, bytes);
        let answer = read(&ws, name);
        let text = answer.text();
        assert!(
            text.contains(name) && text.to_lowercase().contains("binary"),
            "{text}"
        );
        assert!(answer.function_response().parts.is_empty());
    }
}

#[test]
fn too_large_media_are_refused() {
    let ws = Workspace::new().file("a.png", STANDARD.decode(PNG_BASE64).expect("base64"));
    let file = std::fs::File::options()
        .write(true)
        .open(ws.path("a.png"))
        .expect("the image");
    file.set_len(21 * 1024 * 1024).expect("its length");
    let answer = read(&ws, "a.png");
    let message = answer.error("file_too_large", 1);
    answer.must_say(&message, &["a.png", "20"]);
}

#[test]
fn window_of_a_huge_file_neither_loads_nor_walks_it() {
    let ws = Workspace::new().file("huge.txt", numbered(200_000));
    let file = std::fs::File::options()
        .write(true)
        .open(ws.path("huge.txt"))
        .expect("the file");
    file.set_len(5 << 30).expect("its length");
    let path = ws.path("huge.txt");
    let arguments = json!({"absolute_path": path, "offset": 100_000, "limit": 3});
    let call = ws.tool("read_file").arguments(&arguments);
    // The address space has room for the program, not for the file.
    let script = "ulimit -v 1000000; ulimit -t 10; exec \"$@\"";
    let answer = call.in_bash(script).run();
    answer.must_say(
        &answer.output(),
        &["line 100001\nline 100002\nline 100003\n"],
    );
}

#[test]
fn file_of_five_gibibytes_of_zeros_is_refused_quickly() {
    let ws = Workspace::new().sparse("zeros", 5 << 30);
    let arguments = json!({"absolute_path": ws.path("zeros")});
    let call = ws.tool("read_file").arguments(&arguments);
    let answer = call.within_cpu_seconds(2).run();
    answer.must_say(answer.text(), &["zeros"]);
}

#[test]
fn line_without_an_end_is_cut_in_bounded_memory() {
    let ws = Workspace::new().file("line.txt", "x".repeat(50 << 20));
    let call = ws
        .tool("read_file")
        .arguments(&json!({"absolute_path": ws.path("line.txt")}));
    let answer = call.in_bash("ulimit -v 1000000; exec \"$@\"").run();
    let output = answer.output();
    assert!(output.len() < 5000, "{} bytes", output.len());
    answer.must_say(&output, &[&"x".repeat(2000)]);
}

#[test]
fn total_is_counted_when_asked_for() {
    let ws = Workspace::new().file("a.txt", numbered(30_000));
    let arguments =
        json!({"absolute_path": ws.path("a.txt"), "offset": 3, "limit": 2, "count_lines": true});
    let answer = ws.call("read_file", &arguments);
    let output = answer.output().replace(',', "");
    answer.must_say(&output, &["line 4\nline 5\n", "30000"]);
}

#[test]
fn an_empty_file_and_one_of_a_byte_order_mark_alone_are_empty() {
    for mark in [&b""[..], b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"] {
        let ws = Workspace::new().file("mark", mark);
        assert_eq!(read(&ws, "mark").output(), "[The file is empty.]");
    }
}

#[test]
fn a_legacy_file_is_decoded_though_its_beginning_is_ascii() {
    let mut bytes = b"a\n".repeat(40_000);
    bytes.extend_from_slice(b"un caf\xe9 tr\xe8s noir\n");
    let ws = Workspace::new().file("l.txt", bytes);
    let arguments = json!({"absolute_path": ws.path("l.txt"), "offset": 40_000});
    let text = ws.tool("read_file").arguments(&arguments).run().output();
    assert!(text.contains("un café très noir"), "{text}");
    assert!(text.contains("[Decoded from windows-1252.]"), "{text}");
    let many = ws.call("read_many_files", &json!({"paths": ["l.txt"]}));
    assert!(!many.output().contains('\u{fffd}'));
}

#[test]
fn no_link_leads_around_geminiignore() {
    let ws = Workspace::new()
        .file(".geminiignore", "*.key\nsecret/\n")
        .file("a.key", "TOKEN=1\n")
        .file("secret/s.txt", "TOKEN=2\n")
        .link("file", "a.key")
        .link("directory", "secret");
    for path in ["file", "directory/s.txt", "secret/s.txt"] {
        let answer = read(&ws, path);
        let failure = answer.failure();
        answer.must_say(&failure.message, &[".geminiignore"]);
        let single = json!({"pattern": "TOKEN", "path": path});
        let found = ws.call("search_file_content", &single);
        assert!(!found.text().contains("TOKEN="), "{}", found.text());
    }
    for path in ["secret", "directory"] {
        for (tool, arguments) in [
            (
                "search_file_content",
                json!({"pattern": "TOKEN", "path": path}),
            ),
            ("glob", json!({"pattern": "**", "path": path})),
            ("list_directory", json!({"path": path})),
            ("read_many_files", json!({"paths": [path]})),
        ] {
            let answer = ws.call(tool, &arguments);
            assert!(!answer.text().contains("TOKEN="), "{}", answer.text());
            assert!(!answer.text().contains("s.txt"), "{}", answer.text());
        }
    }
    let listed = ws
        .call("list_directory", &json!({"path": "secret"}))
        .output();
    assert!(listed.contains("1 gemini-ignored"), "{listed}");
    let swept = ws.call("read_many_files", &json!({"paths": ["**"]}));
    assert!(!swept.text().contains("TOKEN="), "{}", swept.text());
    let open =
        json!({"path": "secret", "file_filtering_options": {"respect_gemini_ignore": false}});
    let listed = ws.call("list_directory", &open).output();
    assert!(listed.contains("s.txt"), "{listed}");
}

#[test]
fn no_answer_about_an_edit_quotes_a_file_that_geminiignore_closes() {
    let text = "fn main() {\n    one(\"TOKEN=1\");\n    two();\n}\nfn last() { \"TOKEN=2\"; }\n";
    let edit = |old: &str, new: &str| json!({"file_path": "a.rs", "old_string": old, "new_string": new, "instruction": "x"});
    let patch = |lines: &str| json!({"patch": format!("*** Begin Patch\n*** Update File: a.rs\n@@\n{lines}\n*** End Patch")});
    let cases = [
        // What changed, after an inexact match.
        ("smart_edit", edit("    two(); \n}", "    three();\n}")),
        ("apply_patch", patch("-  two();\n+  three();\n }")),
        // New syntax errors.
        ("replace", edit("last()", "last(")),
        ("smart_edit", edit("last()", "last(")),
        (
            "apply_patch",
            patch(" }\n-fn last() { \"TOKEN\" ; }\n+fn last( { }"),
        ),
        // What is near.
        ("replace", edit("one(\"TOKEN\");", "")),
        ("smart_edit", edit("one(\"TOKEN\");", "")),
        ("apply_patch", patch("-    one(\"TOKEN\");\n+    two();")),
        // What was changed unseen.
        (
            "write_file",
            json!({"file_path": "a.rs", "content": "fn main() {}\n"}),
        ),
    ];
    for (tool, args) in cases {
        for is_closed in [true, false] {
            let ws = Workspace::new();
            let ws = if is_closed {
                ws.file(".geminiignore", "*.rs\n")
            } else {
                ws
            };
            let call = |tool: &str, args: &Value| {
                let call = ws.tool(tool).arguments(args).unwatched();
                call.env("GEMINI_TOOLS_SESSION", "one").run()
            };
            if tool == "write_file" {
                call(tool, &json!({"file_path": "a.rs", "content": "seen"})).output();
            }
            fs::write(ws.path("a.rs"), text).expect("written");
            let answer = call(tool, &args);
            let said = answer.text();
            assert_eq!(said.contains("TOKEN="), !is_closed, "{tool} {args}: {said}");
        }
    }
}

/// Every way to see what `.geminiignore` may close; none of the answers may hold `TOKEN=`.
fn ways_to_see(path: &str, directory: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"absolute_path": path})),
        ("read_many_files", json!({"paths": [path]})),
        (
            "search_file_content",
            json!({"pattern": "TOKEN", "path": path}),
        ),
        ("read_many_files", json!({"paths": [directory]})),
        ("read_many_files", json!({"paths": ["**/*"]})),
        (
            "search_file_content",
            json!({"pattern": "TOKEN", "path": directory}),
        ),
        ("search_file_content", json!({"pattern": "TOKEN"})),
        ("glob", json!({"pattern": "**/*.key", "path": directory})),
        ("glob", json!({"pattern": "**/*.key"})),
        ("list_directory", json!({"path": directory})),
    ]
}

#[test]
fn a_gemini_ignore_file_is_followed_within_the_workspace() {
    let ws = Workspace::new()
        .file("rules", "*.key\n")
        .file("d/a.key", "TOKEN=1\n")
        .link("d/.geminiignore", "../rules");
    let absolute = ws.path("rules");
    let ws = ws
        .file("e/a.key", "TOKEN=1\n")
        .link("e/.geminiignore", absolute);
    for name in ["d", "e"] {
        for (tool, arguments) in ways_to_see(&format!("{name}/a.key"), name) {
            let answer = ws.call(tool, &arguments);
            assert!(!answer.text().contains("TOKEN="), "{}", answer.text());
            assert!(!answer.text().contains("a.key (") && !answer.text().contains("/a.key\n"));
        }
    }
}

#[test]
fn a_gemini_ignore_file_that_cannot_be_read_closes_everything_below_it() {
    type Rules = fn(Workspace, &str) -> Workspace;
    let cases: [(&str, Rules); 7] = [
        ("leads out", |ws, name| {
            let rules = ws.outside_path("rules");
            fs::write(&rules, "x\n").expect("written");
            ws.link(name, rules)
        }),
        ("No such file", |ws, name| ws.link(name, "nowhere")),
        ("denied", |ws, name| ws.file(name, "x\n").mode(name, 0)),
        ("regular file", |ws, name| ws.directory(name)),
        ("regular file", |ws, name| ws.fifo(name)),
        ("bytes", |ws, name| ws.sparse(name, 5 * 1024 * 1024)),
        ("too many rules", |ws, name| {
            ws.file(name, "a\n".repeat(70_000))
        }),
    ];
    for (why, rules) in cases {
        for top in ["", "d/"] {
            let ws = Workspace::new()
                .file("d/e/a.key", "TOKEN=1\n")
                .file("b", "open\n");
            let ws = rules(ws, &format!("{top}.geminiignore")).unprivileged();
            for (tool, arguments) in ways_to_see("d/e/a.key", "d/e") {
                let answer = ws.call(tool, &arguments);
                let text = answer.text();
                let is_told = text.contains(&format!("{top}.geminiignore can't be read"));
                assert!(
                    is_told && text.contains(why) && !text.contains("TOKEN="),
                    "{why}: {tool} {arguments}: {text}"
                );
                assert!(
                    !text.contains("a.key (") && !text.contains("/a.key\\n"),
                    "{text}"
                );
            }
            let outside = read(&ws, "b");
            assert_eq!(outside.status() == 0, top == "d/", "{why}");
        }
    }
}
