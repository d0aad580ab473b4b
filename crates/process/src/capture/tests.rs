use super::Capture;
use crate::command::OutputSink;

fn captured(limit: usize, pieces: &[&[u8]]) -> super::CapturedOutput {
    let mut capture = Capture::new(limit, true, false, || None);
    for piece in pieces {
        capture.push(piece);
    }
    capture.finish()
}

#[test]
fn short_output_is_whole_and_long_output_keeps_both_ends() {
    assert_eq!(captured(100, &[b"\n\n  padded \t\n\n"]).text, "  padded \t");
    let lines = (1..=5000).fold(String::new(), |all, i| all + &format!("línea {i}\n"));
    for pieces in [1, 7, 1000, 100_000] {
        let cut: Vec<&[u8]> = lines.as_bytes().chunks(pieces).collect();
        let text = captured(1000, &cut).text;
        assert!(
            text.starts_with("línea 1\n") && text.ends_with("línea 5000"),
            "{text}"
        );
        assert!(
            text.contains("[Truncated: ") && text.chars().count() < 1100,
            "{text}"
        );
        let shown = text.lines().filter(|l| l.starts_with("línea")).count();
        assert!(
            text.contains(&format!(" in {} lines are left out", 5000 - shown)),
            "{text}"
        );
        assert!(!text.contains('\u{fffd}'));
    }
}

#[test]
fn one_endless_line_is_cut_as_well() {
    let text = captured(1000, &["👍".repeat(1_000_000).as_bytes()]).text;
    assert!(text.chars().count() < 1100, "{}", text.chars().count());
    assert!(text.contains("999000 characters are left out"), "{text}");
}

fn condensed(text: &str, file: Option<&std::path::Path>) -> super::CapturedOutput {
    let mut capture =
        Capture::new(40_000, true, false, || file.map(ToOwned::to_owned)).condensed(true);
    for piece in text.as_bytes().chunks(1000) {
        capture.push(piece);
    }
    capture.finish()
}

fn log(lines: usize) -> String {
    (1..=lines).fold(String::new(), |all, n| {
        all + &format!("\x1b[32mCopying\x1b[0m file number {n} to /srv/{n}\r\n")
    })
}

#[test]
fn condensed_output_names_the_file_that_holds_every_byte() {
    let dir = tempfile::tempdir().expect("a directory");
    for lines in [100, 20_000] {
        let path = dir.path().join(lines.to_string());
        let all = log(lines);
        let output = condensed(&all, Some(&path));
        assert_eq!(std::fs::read_to_string(&path).expect("kept"), all);
        assert_eq!(output.file.as_ref(), Some(&path));
        let count = lines - 10;
        let expected = [
            format!(
                "Copying file number 1 to /srv/1\n… {count} lines like this (2-{}",
                count + 1
            ),
            format!(
                "{lines}\n[Condensed: {count} lines are left out. The whole output is in {}",
                path.display()
            ),
        ];
        for part in expected {
            assert!(output.text.contains(&part), "{}", output.text);
        }
        assert!(
            output
                .coloured
                .is_some_and(|text| text.contains("number 9 "))
        );
    }
}

#[test]
fn numbers_that_are_not_those_of_the_file_are_said_to_be_others() {
    let dir = tempfile::tempdir().expect("a directory");
    for (start, note) in [
        ("", "Line 1 is at offset 0.]"),
        ("start\x1b[2A", "not those of the file.]"),
        ("\x1b]title\n", "not those of the file.]"),
    ] {
        let path = dir.path().join(start.len().to_string());
        let text = condensed(&format!("{start}{}", log(200)), Some(&path)).text;
        assert!(text.ends_with(note), "{text}");
    }
}

#[test]
fn what_is_still_too_long_is_cut_between_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("output");
    let names = (0..300).fold(String::new(), |all, n| all + &format!("src/name{n}/\n"));
    let all = log(200) + &names;
    let mut capture = Capture::new(1_000, false, false, || Some(path.clone())).condensed(true);
    capture.push(all.as_bytes());
    let text = capture.finish().text;
    let (start, rest) = text.split_once("\n[Truncated: ").expect("cut");
    assert!(
        start.starts_with("Copying file number 1 to /srv/1\n… 198 lines like this (2-199)\n")
            && start.ends_with('/'),
        "{text}"
    );
    let (_, end) = rest.split_once("]\n").expect("a line");
    assert!(
        end.starts_with("src/name") && end.contains("src/name299/\n[Condensed: 198 lines"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("kept"), all);
}

#[test]
fn output_is_whole_if_it_is_short_or_would_be_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("output");
    let short = log(50);
    assert!(condensed(&short, Some(&path)).text.contains("number 25 "));
    assert!(!path.exists());
    let long = condensed(&log(500), None);
    assert!(long.text.contains("number 250 ") && long.file.is_none());
}

#[test]
fn binary_data_is_named_instead_of_printed() {
    assert!(
        captured(100, &[b"ab\0\x01\x02cd"])
            .text
            .contains("7 bytes, is not shown")
    );
    let png = captured(100, &[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"]);
    assert!(png.text.contains("image/png"), "{}", png.text);
    assert_eq!(
        captured(100, &[b"a b\0c d\0"]).text,
        "a b\u{2400}c d\u{2400}"
    );
    let tar = captured(1000, &[b"BM25.txt", &[0; 249], b"ustar\x0000", &[0; 248]]);
    assert!(tar.text.contains("application/x-tar"), "{}", tar.text);
    let cpio = captured(1000, &[b"070701", &[b'0'; 104], b"name.txt\0\0text"]);
    assert!(cpio.text.contains("application/x-cpio"), "{}", cpio.text);
    let pdf = captured(1000, &[b"%PDF-1.4\n%\x93\x8c\x8b\x9e ReportLab\n"]);
    assert!(pdf.text.contains("application/pdf"), "{}", pdf.text);
    let noise: Vec<u8> = (0..100_000_u32).map(|i| (i * 7919 % 251) as u8).collect();
    let late = captured(1_000_000, &[b"text first\n", &[b'x'; 9000], &noise]);
    assert!(
        late.text.starts_with("[Binary output"),
        "{}",
        &late.text[..80]
    );
}

#[test]
fn text_that_begins_like_a_binary_format_is_text() {
    for text in [
        "BMW",
        "MZ",
        "ID3 tags",
        "GIF89a is a format",
        "BZh",
        "CWS report",
        "!<arch>",
        "%PDF-1.4",
        "src/pdf.rs:8: const MAGIC: &[u8] = b\"%PDF\";",
        "{\\rtf1 text}",
    ] {
        assert_eq!(captured(100, &[text.as_bytes()]).text, text);
    }
    assert_eq!(captured(100, &[b"BM\0BZh\0"]).text, "BM\u{2400}BZh\u{2400}");
}

#[test]
fn colours_are_kept_for_a_terminal_only() {
    let both = captured(100, &[b"\x1b[31mred\x1b[0m\n"]);
    assert_eq!(both.text, "red");
    assert_eq!(both.coloured.as_deref(), Some("\x1b[31mred\x1b[0m\n"));
}

#[test]
fn output_that_could_not_be_stored_leaves_its_beginning_and_a_gap_that_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("log");
    let mut capture = Capture::new(100, false, false, || None);
    capture.push(b"first\n");
    capture.push(&vec![b'x'; 512 * 1024]);
    capture.write_whole(&path).expect("written");
    let log = std::fs::read_to_string(&path).expect("read");
    assert!(
        log.starts_with("first\n") && log.contains("missing here"),
        "{log}"
    );
}
