use super::super::tests::Place;
use super::{RULES, build};
use std::ffi::OsStr;
use std::os::unix::fs::symlink;

fn prompt(place: &Place, value: &str, memory: &str) -> Result<String, String> {
    let none = OsStr::new("");
    build(&place.workspace("", &[]), OsStr::new(value), none, memory)
}

#[test]
fn ours_ends_with_the_memory() {
    let place = Place::new();
    for off in ["", "0", " FALSE "] {
        let text = prompt(&place, off, "\n Be brief. \n").expect("ours");
        let expected = format!("{}\n\n---\n\nBe brief.", RULES.trim_end());
        assert_eq!(text, expected);
    }
    let text = prompt(&place, "", " \n").expect("ours");
    assert!(!text.contains("---"), "{text}");
    assert!(!place.root.join(".gemini").exists());
}

#[test]
fn a_file_takes_the_place_of_ours() {
    let place = Place::new();
    place.write("project/.gemini/system.md", "Project's.\n");
    place.write("own.md", "Own.\n");
    for (read, expected) in [
        ("1", "Project's.\n"),
        ("True", "Project's.\n"),
        (" ~/own.md ", "Own.\n"),
        ("../own.md", "Own.\n"),
    ] {
        assert_eq!(prompt(&place, read, "").as_deref(), Ok(expected), "{read}");
    }
    let absolute = place.home.join("own.md");
    let text = prompt(&place, absolute.to_str().expect("text"), "M");
    assert_eq!(text.as_deref(), Ok("Own.\n\n\n---\n\nM"));
}

#[test]
fn a_file_that_is_missing_or_no_prompt_is_an_error() {
    let place = Place::new();
    let error = prompt(&place, "1", "").expect_err("missing");
    assert!(
        error.contains("project/.gemini/system.md, which can't be used"),
        "{error}"
    );
    place.write("large.md", "x".repeat(1024 * 1024 + 1));
    place.write("outside.md", "x");
    let gemini = place.root.join(".gemini");
    std::fs::create_dir(&gemini).expect("made");
    symlink("../../outside.md", gemini.join("system.md")).expect("made");
    let made = std::process::Command::new("mkfifo")
        .arg(place.home.join("fifo"))
        .status();
    assert!(made.expect("mkfifo").success());
    for (read, why) in [
        ("~/none.md", "none.md"),
        ("~/large.md", "more than 524288 bytes"),
        ("~/fifo", "not a regular file"),
        ("~/project", "not a regular file"),
        ("1", "leads out of the project"),
    ] {
        let error = prompt(&place, read, "").expect_err("no prompt");
        assert!(error.contains(why), "{read}: {error}");
    }
}

#[test]
fn the_prompt_is_written_where_the_variable_says() {
    let place = Place::new();
    let write = |read: &str, written: &str| {
        let workspace = place.workspace("", &[]);
        build(
            &workspace,
            OsStr::new(read),
            OsStr::new(written),
            "Be brief.",
        )
        .expect("built")
    };
    for off in ["", "0", " FALSE "] {
        write("", off);
    }
    assert!(!place.root.join(".gemini").exists());
    for (written, file) in [
        ("1", place.root.join(".gemini/system.md")),
        ("TRUE", place.root.join(".gemini/system.md")),
        (" ~/new/own.md", place.home.join("new/own.md")),
        ("sub/own.md", place.root.join("sub/own.md")),
    ] {
        let text = write("", written);
        assert_eq!(std::fs::read_to_string(&file).expect("written"), RULES);
        assert!(text.ends_with("Be brief."), "{text}");
        std::fs::remove_file(&file).expect("there");
    }
    // If both variables are set, the file that replaces the built-in prompt is what is written, and
    // it can be read back unchanged.
    place.write("own.md", "Own.\n");
    write("~/own.md", "1");
    assert_eq!(prompt(&place, "1", "").as_deref(), Ok("Own.\n"));
    // A link in the project that leads out of it is not followed.
    let file = place.root.join(".gemini/system.md");
    std::fs::remove_file(&file).expect("there");
    symlink(place.home.join("own.md"), &file).expect("made");
    let workspace = place.workspace("", &[]);
    let error = build(&workspace, OsStr::new(""), OsStr::new("1"), "").expect_err("refused");
    assert!(error.contains("GEMINI_WRITE_SYSTEM_MD"), "{error}");
    assert_eq!(
        std::fs::read_to_string(place.home.join("own.md")).expect("there"),
        "Own.\n"
    );
}
