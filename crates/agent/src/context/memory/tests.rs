//! Tests which memory files are read, what they import, and what is left out.

use super::super::tests::Place;
use super::{Memory, memory, relative};
use std::os::unix::fs::symlink;
use std::path::Path;

fn read(place: &Place, cwd: &str) -> Memory {
    memory(&place.workspace(cwd, &[]), &place.names)
}

fn text(place: &Place, file: &str) -> String {
    place.write("project/GEMINI.md", file);
    let memory = read(place, "");
    assert_eq!(memory.problems, [""; 0]);
    let text = memory
        .text
        .strip_prefix("--- Context from: GEMINI.md ---\n");
    let text = text.and_then(|t| t.strip_suffix("\n--- End of Context from: GEMINI.md ---"));
    text.expect("one file").to_owned()
}

fn files(memory: &Memory) -> Vec<&str> {
    let lines = memory.text.lines();
    lines
        .filter_map(|l| l.strip_prefix("--- Context from: ")?.strip_suffix(" ---"))
        .collect()
}

fn failed(path: &str, why: &str) -> String {
    format!("<!-- Import failed: {path} - {why} -->")
}

#[test]
fn files_come_from_the_general_to_the_particular() {
    let place = Place::new();
    for path in [
        ".gemini/GEMINI.md",
        "GEMINI.md",
        "project/GEMINI.md",
        "project/a/GEMINI.md",
        "project/a/b/GEMINI.md",
        "project/a/b/z/GEMINI.md",
        "project/a/b/c/d/GEMINI.md",
        "project/other/GEMINI.md",
    ] {
        place.write(path, format!("\n{path}\n"));
    }
    let memory = read(&place, "a/b");
    assert_eq!(
        files(&memory),
        [
            "../../../.gemini/GEMINI.md",
            "../../GEMINI.md",
            "../GEMINI.md",
            "GEMINI.md",
        ]
    );
    assert_eq!(memory.problems.len(), 0);
    let first = "--- Context from: ../../../.gemini/GEMINI.md ---\n.gemini/GEMINI.md\n\
        --- End of Context from: ../../../.gemini/GEMINI.md ---\n\n--- Context from:";
    assert!(memory.text.starts_with(first), "{}", memory.text);
}

#[test]
fn without_any_file_there_is_no_memory() {
    let place = Place::new();
    assert_eq!(read(&place, ""), Memory::default());
    place.write("project/GEMINI.md", " \n");
    assert_eq!(read(&place, "").text, "");
}

#[test]
fn all_names_of_the_settings_count_but_those_of_other_directories() {
    let mut place = Place::new();
    place.names = vec![
        "A.md".into(),
        "../b.md".into(),
        "/c.md".into(),
        "D.md".into(),
    ];
    for path in [
        ".gemini/D.md",
        "b.md",
        "project/A.md",
        "project/D.md",
        "project/GEMINI.md",
    ] {
        place.write(path, path);
    }
    let memory = read(&place, "");
    assert_eq!(files(&memory), ["../.gemini/D.md", "A.md", "D.md"]);
    assert_eq!(memory.problems.len(), 2, "{:?}", memory.problems);
}

#[test]
fn files_that_geminiignore_closes_are_not_read_but_those_that_git_ignores_are() {
    let place = Place::new();
    place.write("project/.gitignore", "GEMINI.md\n");
    place.write("project/.geminiignore", "/x/GEMINI.md\n");
    place.write("project/GEMINI.md", "text");
    place.write("project/x/GEMINI.md", "text");
    assert_eq!(files(&read(&place, "x")), ["../GEMINI.md"]);
}

#[test]
fn a_file_by_several_names_is_read_once() {
    let mut place = Place::new();
    place.names = vec!["GEMINI.md".into(), "AGENTS.md".into()];
    place.write("project/GEMINI.md", "once");
    symlink("GEMINI.md", place.root.join("AGENTS.md")).expect("made");
    assert_eq!(files(&read(&place, "")), ["GEMINI.md"]);
}

#[test]
fn the_users_file_may_be_a_link_but_a_projects_must_not_lead_out() {
    let place = Place::new();
    place.write("dotfiles/g.md", "user's @./more.md");
    place.write(".gemini/more.md", "more");
    place.write("secret", "secret");
    symlink("../dotfiles/g.md", place.home.join(".gemini/GEMINI.md")).expect("made");
    symlink("../secret", place.root.join("GEMINI.md")).expect("made");
    let memory = read(&place, "");
    assert!(
        memory
            .text
            .contains("user's <!-- Imported from: ./more.md -->\nmore\n")
    );
    assert!(!memory.text.contains("secret"), "{}", memory.text);
    assert!(memory.text.contains("\n<!-- Not read: "), "{}", memory.text);
    assert_eq!(memory.problems.len(), 1);
}

#[test]
fn pipes_directories_and_binaries_are_not_read_and_nothing_waits_for_them() {
    let place = Place::new();
    let fifo = |path: &str| {
        let path = place.home.join(path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
    };
    fifo(".gemini/GEMINI.md");
    fifo("project/GEMINI.md");
    place.write("project/a/GEMINI.md/x", "");
    place.write("project/a/b/GEMINI.md", b"\x7fELF\0\0");
    let memory = read(&place, "a/b");
    assert_eq!(
        files(&memory),
        [
            "../../../.gemini/GEMINI.md",
            "../../GEMINI.md",
            "../GEMINI.md",
            "GEMINI.md"
        ]
    );
    assert_eq!(memory.problems.len(), 4);
    assert_eq!(
        memory.text.matches("named pipe").count(),
        2,
        "{}",
        memory.text
    );
    assert_eq!(memory.text.matches("it is not text").count(), 1);
    std::fs::remove_file(place.root.join("GEMINI.md")).expect("removed");
    fifo("project/pipe.md");
    place.write("project/GEMINI.md", "@pipe.md");
    let text = read(&place, "").text;
    assert!(text.contains("<!-- Import failed: pipe.md - "), "{text}");
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("project/GEMINI.md", "text");
    let path = place.root.join("GEMINI.md");
    let mode = std::fs::Permissions::from_mode(0o0);
    std::fs::set_permissions(&path, mode).expect("set");
    // The superuser can read the file whatever its mode is, so this is only checked for others.
    if std::fs::read(&path).is_err() {
        let memory = read(&place, "");
        assert!(memory.text.contains("<!-- Not read: "), "{}", memory.text);
    }
}

#[test]
fn imports_are_relative_to_their_file_and_may_be_nested() {
    let place = Place::new();
    let absolute = place.root.join("d/abs.md");
    place.write("project/d/abs.md", "absolute");
    place.write("project/d/a.md", "a, then @b.md");
    place.write("project/d/b.md", "b, then @../up.md.");
    place.write("project/up.md", "up");
    let text = text(&place, &format!("@./d/a.md\n@{}", absolute.display()));
    let imported = |path: &str, text: &str| {
        format!("<!-- Imported from: {path} -->\n{text}\n<!-- End of import from: {path} -->")
    };
    let up = imported("../up.md", "up") + ".";
    let b = imported("b.md", &format!("b, then {up}"));
    let a = imported("./d/a.md", &format!("a, then {b}"));
    let absolute = imported(&absolute.display().to_string(), "absolute");
    assert_eq!(text, format!("{a}\n{absolute}"));
}

#[test]
fn words_and_code_are_no_imports() {
    let place = Place::new();
    place.write("project/x.md", "x");
    place.write("project/dir/y", "y");
    let file = "@alice and me@x.md, `@x.md`\n\n    @x.md\n\n```\n@x.md\n```\n@dir";
    assert_eq!(text(&place, file), file);
    place.write("project/Makefile", "all:");
    assert!(text(&place, "@Makefile").contains("all:"));
}

#[test]
fn an_import_that_fails_leaves_a_comment() {
    let place = Place::new();
    place.write("project/.geminiignore", "closed.md\n");
    place.write("project/closed.md", "closed");
    place.write("project/dir.d/x", "");
    place.write("project/binary.o", b"\0\0\0");
    place.write("outside.md", "secret");
    symlink("../outside.md", place.root.join("link.md")).expect("made");
    symlink("/etc", place.root.join("etc")).expect("made");
    for (path, why) in [
        ("none.md", "none.md"),
        ("./", "directory"),
        ("dir.d", "directory"),
        ("closed.md", ".geminiignore closes it"),
        ("binary.o", "it is not text"),
        ("../outside.md", "it lies outside"),
        ("link.md", "link.md"),
        ("etc/passwd", "etc/passwd"),
        ("/etc/passwd", "it lies outside"),
        ("d/../../outside.md", "it lies outside"),
        ("https://example.org/x.md", "x.md"),
    ] {
        let text = text(&place, &format!("a @{path} b"));
        let reason = text.strip_prefix(&format!("a <!-- Import failed: {path} - "));
        let reason = reason.and_then(|rest| rest.strip_suffix(" --> b"));
        assert!(reason.is_some_and(|reason| reason.contains(why)), "{text}");
    }
}

#[test]
fn the_users_file_imports_from_its_own_directory_only() {
    let place = Place::new();
    place.write("project/GEMINI.md", "@../.gemini/own.md");
    place.write("project/x.md", "x");
    place.write(".gemini/own.md", "own");
    place.write(".gemini/GEMINI.md", "@own.md @../project/x.md @../.bashrc");
    let text = read(&place, "").text;
    assert!(
        text.contains("<!-- Imported from: own.md -->\nown\n"),
        "{text}"
    );
    assert_eq!(text.matches("it lies outside").count(), 3, "{text}");
}

#[test]
fn a_cycle_ends_where_it_closes() {
    let place = Place::new();
    place.write("project/a.md", "A @b.md");
    place.write("project/b.md", "B @./a.md @GEMINI.md");
    let text = text(&place, "@a.md @a.md");
    assert_eq!(
        text.matches(&failed("./a.md", "it would import itself"))
            .count(),
        2
    );
    assert_eq!(
        text.matches(&failed("GEMINI.md", "it would import itself"))
            .count(),
        2
    );
    assert_eq!(
        text.matches("A <!--").count(),
        2,
        "twice side by side is not a cycle"
    );
}

#[test]
fn imports_nest_five_deep_and_no_deeper() {
    let place = Place::new();
    for n in 1..9 {
        place.write(
            &format!("project/{n}.md"),
            format!("level {n} @{}.md", n + 1),
        );
    }
    let text = text(&place, "@1.md");
    assert!(
        text.contains("level 5 ") && !text.contains("level 6 "),
        "{text}"
    );
    assert!(
        text.contains(&failed("6.md", "imports are nested too deep")),
        "{text}"
    );
}

#[test]
fn of_a_large_file_the_beginning_is_taken_and_the_cut_is_told() {
    let place = Place::new();
    let line = "é".repeat(49) + "\n";
    let text = text(&place, &line.repeat(4000));
    let (shown, note) = text
        .split_once("\n\n<!-- Cut here: of 396000 bytes")
        .expect("cut");
    assert!(shown.len() <= 256 * 1024 && shown.len() > 256 * 1024 - 2 * line.len());
    assert!(shown.ends_with('é') && note.ends_with("were read. -->"));
    place.write("project/GEMINI.md", "é".repeat(200_000));
    let memory = read(&place, "");
    assert!(!memory.text.contains('\u{fffd}') && memory.text.contains("Cut here"));
}

#[test]
fn what_finds_no_room_is_counted() {
    let place = Place::new();
    let mut directory = "project".to_owned();
    for n in 0..6 {
        directory.push_str("/d");
        place.write(
            &format!("{directory}/GEMINI.md"),
            format!("{n}").repeat(250_000),
        );
    }
    let memory = read(&place, "d/d/d/d/d/d");
    assert_eq!((files(&memory).len(), memory.problems.len()), (5, 1));
    assert!(memory.text.len() < 1100 * 1024);
    assert!(
        memory
            .text
            .ends_with("<!-- The memory is too long: 1 of its files were left out -->")
    );
}

#[test]
fn many_imports_do_not_make_a_large_memory() {
    let place = Place::new();
    place.write("project/e.md", "");
    place.write("project/x.md", "@e.md @n.md ".repeat(20_000));
    place.write("project/GEMINI.md", "@x.md ".repeat(40_000));
    let memory = read(&place, "");
    assert!(memory.text.len() < 2 * 1024 * 1024, "{}", memory.text.len());
    assert_eq!(memory.problems.len(), 1);
}

#[test]
fn old_encodings_are_read() {
    let place = Place::new();
    assert_eq!(text(&place, "\u{feff}text"), "text");
    place.write("project/GEMINI.md", b"\xff\xfet\0e\0");
    assert!(read(&place, "").text.contains("\nte\n"));
}

#[test]
fn a_way_leads_up_and_down_again() {
    let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
    assert_eq!(way("/a/b", "/a/b/c"), Path::new("c"));
    assert_eq!(way("/a/b", "/a/c/d"), Path::new("../c/d"));
    assert_eq!(way("/", "/a"), Path::new("a"));
}

#[test]
fn blocks_and_spans_are_code() {
    let code = |text: &str| -> Vec<String> {
        let parts = super::code_ranges(text)
            .into_iter()
            .map(|range| text[range].trim().to_owned());
        parts.collect()
    };
    for (text, expected) in [
        ("a `b` c ``d ` e`` f", vec!["`b`", "``d ` e``"]),
        ("a `b\n\nc` d", vec![]),
        ("a\n```sh\nb\n```\nc `d`", vec!["```sh\nb\n```", "`d`"]),
        ("a\n\n    b\nd", vec!["b"]),
        ("a\n    b", vec![]),
    ] {
        assert_eq!(code(text), expected, "{text:?}");
    }
}

#[test]
fn imports_stand_apart_and_in_no_code() {
    let text = "@a.md @./b, x@c.d (@e.f) `@g.h` @/i/j.md.\n\n```\n@k.l\n```\n@_m @ @@ @(n) @~/o";
    let found: Vec<&str> = super::imports(text)
        .into_iter()
        .map(|at| &text[at])
        .collect();
    assert_eq!(found, ["@a.md", "@./b", "@/i/j.md", "@_m"]);
}
