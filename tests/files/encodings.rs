//! One decision about the encoding of a file, for all tools that read, search and change it, and what
//! is sent as media.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::answer::Answer;

/// A text in UTF-16 and UTF-32, in both orders of bytes.
fn wide(text: &str) -> [(&'static str, Vec<u8>); 4] {
    let (short, long) = (text.encode_utf16(), text.chars().map(u32::from));
    [
        (
            "UTF-16LE",
            short.clone().flat_map(u16::to_le_bytes).collect(),
        ),
        ("UTF-16BE", short.flat_map(u16::to_be_bytes).collect()),
        (
            "UTF-32LE",
            long.clone().flat_map(u32::to_le_bytes).collect(),
        ),
        ("UTF-32BE", long.flat_map(u32::to_be_bytes).collect()),
    ]
}

fn change(ws: &Workspace, tool: &str, arguments: &Value) -> String {
    let call = ws.tool(tool).arguments(arguments);
    call.changing(&["f.txt"]).run().output()
}

fn bytes(ws: &Workspace) -> Vec<u8> {
    fs::read(ws.path("f.txt")).expect("a file")
}

fn edit(ws: &Workspace, tool: &str, old: &str, new: &str) -> String {
    let path = ws.path("f.txt");
    let mut arguments = json!({"file_path": path, "old_string": old, "new_string": new});
    if tool == "smart_edit" {
        arguments["instruction"] = "x".into();
    }
    change(ws, tool, &arguments)
}

#[test]
fn wide_text_is_read_searched_and_edited_with_and_without_a_mark() {
    let text = "// Größe\r\nint x = 1;\r\n";
    for mark in ["", "\u{feff}"] {
        let expected = [
            wide(&format!("{mark}{}", text.replace("x = 1", "y = 日"))),
            wide(&format!("{mark}neu 👋\r\nzwei\r\n")),
        ];
        for (i, (name, before)) in wide(&format!("{mark}{text}")).into_iter().enumerate() {
            let ws = Workspace::new().file("f.txt", &before);
            let note = format!("[Decoded from {name}.]");
            let answer = ws.call("read_file", &json!({"absolute_path": ws.path("f.txt")}));
            answer.must_say(&answer.output(), &[&note, "// Größe\r\nint x = 1;\r\n"]);
            let answer = ws.call("read_many_files", &json!({"paths": ["f.txt"]}));
            answer.must_say(answer.text(), &[&note, "int x = 1;"]);
            let answer = ws.call("search_file_content", &json!({"pattern": "größe$|x = \\d"}));
            answer.must_say(&answer.output(), &["L1: // Größe", "L2: int x = 1;"]);
            for tool in ["replace", "smart_edit"] {
                fs::write(ws.path("f.txt"), &before).expect("written");
                let said = edit(&ws, tool, "int x = 1;\n", "int y = 日;\n");
                assert!(said.contains(name), "{said}");
                assert_eq!(bytes(&ws), expected[0][i].1, "{tool} {name} {mark:?}");
            }
            let arguments = json!({"file_path": ws.path("f.txt"), "content": "neu 👋\nzwei\n"});
            change(&ws, "write_file", &arguments);
            assert_eq!(bytes(&ws), expected[1][i].1, "write_file {name} {mark:?}");
        }
    }
}

#[test]
fn wide_text_of_any_size_is_searched_and_edited() {
    let line = "Zeile mit Größe 👋 und mehr\n";
    let text = format!("{}die Nadel\n{}", line.repeat(40_000), line.repeat(10));
    for (name, before) in wide(&text) {
        let ws = Workspace::new().file("f.txt", before);
        let answer = ws.call("search_file_content", &json!({"pattern": "die Nadel"}));
        answer.must_say(&answer.output(), &["L40001: die Nadel"]);
        edit(&ws, "replace", "die Nadel\n", "das Heu\n");
        let (_, expected) = wide(&text.replace("die Nadel", "das Heu"))
            .into_iter()
            .find(|(other, _)| *other == name)
            .expect("the same");
        assert!(bytes(&ws) == expected, "{name}");
    }
}

#[test]
fn one_bad_byte_leaves_a_file_in_utf8() {
    let cases: [(&[u8], &str, &str); 6] = [
        (
            "/* © 2020 José */\nint a;\nchar *s = \"?\";\n".as_bytes(),
            "José",
            "int a;",
        ),
        ("# 🚀 Start ✅\ntext\nx?\n".as_bytes(), "Start ✅", "text"),
        ("name = \"日本\"\nraw = \"?\"\n".as_bytes(), "日本", "raw"),
        ("für\nweiter\n?\n".as_bytes(), "für", "weiter"),
        ("{\"lone\":\"?\", \"ok\":\"é\"}\n".as_bytes(), "é", "lone"),
        ("? привет\nтекст\n".as_bytes(), "привет", "текст"),
    ];
    let damage: [&[u8]; 6] = [
        b"\xff",
        b"\xfe",
        b"\xe9",
        b"\x80",
        b"\xed\xa0\xbd",
        b"\xe2\x82",
    ];
    for ((template, word, old), damage) in cases.iter().flat_map(|c| damage.map(|d| (c, d))) {
        let pieces = template.splitn(2, |b| *b == b'?').collect::<Vec<_>>();
        let before = pieces.join(damage);
        let shown = String::from_utf8_lossy(&before).into_owned();
        let ws = Workspace::new().file("f.txt", &before);
        let answer = ws.call("read_file", &json!({"absolute_path": ws.path("f.txt")}));
        let output = answer.output();
        answer.must_say(&output, &[word]);
        assert!(!output.contains("Decoded"), "{output}");
        let answer = ws.call("search_file_content", &json!({"pattern": word}));
        answer.must_say(&answer.output(), &[word]);
        let at = before.windows(old.len()).position(|w| w == old.as_bytes());
        let at = at.expect("the old text");
        let new = "für 日本 👋";
        let after = [&before[..at], new.as_bytes(), &before[at + old.len()..]].concat();
        for tool in ["replace", "smart_edit"] {
            fs::write(ws.path("f.txt"), &before).expect("written");
            edit(&ws, tool, old, new);
            assert_eq!(bytes(&ws), after, "{tool}: {shown}");
        }
        let arguments = json!({"file_path": ws.path("f.txt"), "content": "日本\n"});
        change(&ws, "write_file", &arguments);
        assert_eq!(bytes(&ws), "日本\n".as_bytes());
    }
}

fn write(ws: &Workspace, content: &str) -> String {
    let arguments = json!({"file_path": ws.path("f.txt"), "content": content});
    change(ws, "write_file", &arguments)
}

/// What `read_file` shows of the file, as a model gives it back.
fn shown(ws: &Workspace) -> String {
    let arguments = json!({"absolute_path": ws.path("f.txt")});
    let output = ws.call("read_file", &arguments).output();
    match output.strip_prefix("[Decoded from ") {
        Some(rest) => rest.split_once("]\n\n").expect("a note").1.to_owned(),
        None => output,
    }
}

#[test]
fn a_file_written_back_keeps_the_bytes_that_are_no_text() {
    let [.., (_, utf32), _] = wide("\u{feff}eine lange Zeile\nzweite\n");
    let cases: [&[u8]; 5] = [
        b"f\xc3\xbcr\r\nx\xff y \xfe\xe6\x97\xa5\r\n\r\nx\xfe y \xff\xe6\x97\xa5\r\nend \xed\xa0\xbd",
        b"\xef\xbb\xbf\xff\n\xe6\x97\xa5\n\xff\n\xfe\n",
        // Halves of pairs, which UTF-16 should not have.
        b"\xff\xfea\0\n\0\x3d\xd8b\0\n\0\x3d\xdc",
        &[&utf32[..], b"\0\xd8\0\0\n\0\0\0"].concat(),
        // Two spellings of one character in Shift_JIS.
        b"\x83\x52\x83\x93\x83\x70\x83\x43\x83\x8b\n\xee\xf9\xfa\x54\x81\xca\n\x82\xcd\x82\xa2\n",
    ];
    for before in cases {
        let ws = Workspace::new().file("f.txt", before);
        let text = shown(&ws);
        write(&ws, &text);
        assert_eq!(bytes(&ws), before, "{text:?}");
    }
}

#[test]
fn of_a_damaged_file_changed_lines_keep_what_they_still_show() {
    let before = b"f\xc3\xbcr\nx\xff y \xfe\xe6\x97\xa5\nb\nz\xfd\n";
    for (content, after) in [
        (
            "FÜR\nneu\nx� y �日\nb\nz�\n",
            &b"F\xc3\x9cR\nneu\nx\xff y \xfe\xe6\x97\xa5\nb\nz\xfd\n"[..],
        ),
        (
            "für\nX� Y �日!\nb\nz� c",
            b"f\xc3\xbcr\nX\xff Y \xfe\xe6\x97\xa5!\nb\nz\xfd c",
        ),
        (
            "z�\nfür\nx� y �日\nz�\n",
            b"z\xfd\nf\xc3\xbcr\nx\xff y \xfe\xe6\x97\xa5\nz\xfd\n",
        ),
        // Words that moved take their bytes with them.
        (
            "für\n�日 x�\nb\nz�\n",
            b"f\xc3\xbcr\n\xfe\xe6\x97\xa5 x\xff\nb\nz\xfd\n",
        ),
        ("für\n", b"f\xc3\xbcr\n"),
        ("für\n� 1 � 2\nb\nz�\n", b""),
        ("für\nx� y\n日\n", b""),
        ("neu �\n", b""),
    ] {
        let ws = Workspace::new().file("f.txt", before);
        if after.is_empty() {
            let arguments = json!({"file_path": ws.path("f.txt"), "content": content});
            let answer = ws.call("write_file", &arguments);
            let message = answer.error("file_write_failure", 1);
            let why = ["not clear which", "nothing was written", "replace"];
            answer.must_say(&message, &why);
        } else {
            write(&ws, content);
            assert_eq!(bytes(&ws), after, "{content:?}");
        }
    }
    // Where nothing is damaged, the character is one as others.
    let ws = Workspace::new().file("f.txt", "a �\n日\n");
    write(&ws, "� b\n日\n");
    assert_eq!(bytes(&ws), "� b\n日\n".as_bytes());
}

#[test]
fn an_edit_finds_and_keeps_the_bytes_that_are_shown_as_no_text() {
    let utf8 = b"f\xc3\xbcr\r\nx\xff y \xfe\xe6\x97\xa5\r\nx\xff y\r\n";
    let utf16 = b"\xff\xfex\0\x3d\xd8y\0\n\0";
    for (before, old, new, after) in [
        (
            &utf8[..],
            "x� y �日\n",
            "X� Y �日!\nneu\n",
            &b"f\xc3\xbcr\r\nX\xff Y \xfe\xe6\x97\xa5!\r\nneu\r\nx\xff y\r\n"[..],
        ),
        (utf8, "�日", "", b"f\xc3\xbcr\r\nx\xff y \r\nx\xff y\r\n"),
        (utf8, "x� y �", "x� y", b""),
        (utf16, "x�y", "x�z", b"\xff\xfex\0\x3d\xd8z\0\n\0"),
    ] {
        for tool in ["replace", "smart_edit"] {
            let ws = Workspace::new().file("f.txt", before);
            if after.is_empty() {
                let arguments = json!({
                    "file_path": "f.txt", "old_string": old, "new_string": new, "instruction": "x",
                });
                let message = ws.call(tool, &arguments).failure().message;
                assert!(message.contains("not clear which"), "{message}");
            } else {
                let said = edit(&ws, tool, old, new);
                assert!(said.contains("� in old_string stood for bytes"), "{said}");
                assert_eq!(bytes(&ws), after, "{tool} {old:?}");
            }
        }
    }
    let ws = Workspace::new().file("f.txt", utf8);
    let arguments = json!({
        "file_path": ws.path("f.txt"), "old_string": "x� y", "new_string": "�", "expected_replacements": 2,
    });
    change(&ws, "replace", &arguments);
    assert_eq!(
        bytes(&ws),
        b"f\xc3\xbcr\r\n\xff \xfe\xe6\x97\xa5\r\n\xff\r\n"
    );
}

#[test]
fn the_answer_says_where_new_letters_are_not_as_those_beside_them() {
    let ws = Workspace::new().file("f.txt", b"caf\xe9 d\xe9j\xe0 vu\nx \x01 y\nz\n");
    let said = edit(&ws, "replace", "z", "é");
    assert!(said.contains("the new text is in UTF-8"), "{said}");
    assert!(bytes(&ws).ends_with("\né\n".as_bytes()));
    assert!(!edit(&ws, "replace", "x ", "w ").contains("UTF-8"));
}

#[test]
fn a_large_file_is_in_one_encoding_for_all_however_late_that_shows() {
    let line = "plain line\n".repeat(30_000);
    let text = format!("{line}die größte Nadel, naïve café\nend\n");
    let before = encoding_rs::WINDOWS_1252.encode(&text).0.into_owned();
    let ws = Workspace::new().file("f.txt", &before);
    for pattern in ["größte Nadel", "(?<=gr)ößte"] {
        let answer = ws.call("search_file_content", &json!({"pattern": pattern}));
        answer.must_say(&answer.output(), &["L30001: die größte Nadel, naïve café"]);
    }
    let arguments = json!({"absolute_path": ws.path("f.txt"), "offset": 30_000});
    let output = ws.call("read_file", &arguments).output();
    assert!(
        output.contains("die größte Nadel, naïve café\nend"),
        "{output}"
    );
    edit(&ws, "replace", "größte", "schönste");
    let text = text.replace("größte", "schönste");
    assert!(bytes(&ws) == *encoding_rs::WINDOWS_1252.encode(&text).0);
    // A file in UTF-8 stays that.
    let ws = Workspace::new().file("f.txt", format!("{line}größte 日本\nx"));
    let answer = ws.call("search_file_content", &json!({"pattern": "größte 日"}));
    answer.must_say(&answer.output(), &["L30001: größte 日本"]);
}

fn media_type(answer: &Answer) -> Option<String> {
    let mut parts = answer.function_response().parts.into_iter();
    parts.next().map(|part| part.inline_data.mime_type)
}

#[test]
fn only_what_has_the_signature_is_sent_as_media() {
    // Bytes without order, among them zeros and control characters.
    let noise: Vec<u8> = (0..600_u32).map(|i| ((i * i * 7919) >> 5) as u8).collect();
    let icon = b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\x68\x04".to_vec();
    let tiff = b"II*\0\x08\0\0\0\x01\0\0\x01\x03\0".to_vec();
    let zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    let names = [
        "a.png", "a.jpg", "a.gif", "a.webp", "a.pdf", "a.mp3", "a.wav", "a.mp4", "a.heic", "a.ogg",
    ];
    for name in names {
        for (what, bytes) in [
            ("noise", &noise),
            ("icon", &icon),
            ("TIFF", &tiff),
            ("ZIP", &zip),
        ] {
            let ws = Workspace::new().file(name, bytes);
            let answer = ws.call("read_file", &json!({"absolute_path": ws.path(name)}));
            assert_eq!(media_type(&answer), None, "{what} as {name}");
            answer.must_say(answer.text(), &["[Binary file"]);
            let answer = ws.call("read_many_files", &json!({"paths": [name]}));
            assert!(!answer.text().contains("inlineData"), "{what} as {name}");
        }
        let ws = Workspace::new().file(name, "");
        let answer = ws.call("read_file", &json!({"absolute_path": ws.path(name)}));
        answer.must_say(&answer.output(), &["empty"]);
    }
    let real: [(&str, &[u8], &str); 5] = [
        ("cut.png", b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        ("cut.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
        ("late.pdf", b"\0\x01junk\n%PDF-1.7\n\0", "application/pdf"),
        ("frame.mp3", b"\xff\xfa\x90\0\0\0\0\0", "audio/mpeg"),
        ("brand.mp4", b"\0\0\0\x18ftypxyz1\0\0\0\0", "video/mp4"),
    ];
    for (name, bytes, expected) in real {
        let ws = Workspace::new().file(name, bytes);
        let answer = ws.call("read_file", &json!({"absolute_path": ws.path(name)}));
        assert_eq!(media_type(&answer).as_deref(), Some(expected), "{name}");
    }
}
