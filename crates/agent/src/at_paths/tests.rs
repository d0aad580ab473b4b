use super::{find, looks_like_path, message_parts};
use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{LlmContent, PartOrText};

fn paths(prompt: &str) -> Vec<String> {
    find(prompt).into_iter().map(|at| at.path).collect()
}

#[test]
fn paths_end_at_white_space_and_give_punctuation_back() {
    for (prompt, expected) in [
        ("@a.rs", vec!["a.rs"]),
        (
            "Explain @src/a.rs, @b.rs; and @c/.",
            vec!["src/a.rs", "b.rs", "c/"],
        ),
        ("(see @a.rs) @b?!\n\t@c:", vec!["a.rs", "b", "c"]),
        (
            "@my\\ file.txt @tab\\\there",
            vec!["my file.txt", "tab\there"],
        ),
        ("@a\\, b @c\\\\ d @e\\f", vec!["a,", "c\\", "e\\f"]),
        ("@a/.. @./ @./. @../x", vec!["a/..", "./", "./", "../x"]),
        ("@é/日本.txt。", vec!["é/日本.txt。"]),
        ("a\u{a0}@b", vec!["b"]),
        ("@@x", vec!["@x"]),
    ] {
        assert_eq!(paths(prompt), expected, "{prompt:?}");
    }
}

#[test]
fn addresses_and_lone_signs_are_no_paths() {
    for prompt in [
        "",
        "@",
        "@ a",
        "me@example.org",
        "\\@a",
        "@.",
        "@...",
        "x (@a)",
        "a @, b",
    ] {
        assert_eq!(paths(prompt), [""; 0], "{prompt:?}");
    }
}

#[test]
fn a_word_looks_like_a_path_by_its_beginning_or_its_ending() {
    for word in [
        "nofile.txt",
        "src/a.rs",
        "./x",
        "../x",
        "/etc/x",
        "~/x",
        ".env",
        "a/.env",
        "été.md",
    ] {
        assert!(looks_like_path(word), "{word}");
    }
    for word in ["alice", "types/node", "Override", "a.", ".", "x.-", "café"] {
        assert!(!looks_like_path(word), "{word}");
    }
}

#[test]
fn a_range_covers_the_path_as_it_was_written() {
    let prompt = "é @my\\ file.txt, then @b";
    let found = find(prompt);
    assert_eq!(&prompt[found[0].range.clone()], "@my\\ file.txt");
    assert_eq!(&prompt[found[1].range.clone()], "@b");
}

fn texts(read: &LlmContent) -> Vec<String> {
    let parts = message_parts(" look at @a and @b \n", read);
    parts.into_iter().filter_map(|part| part.text).collect()
}

#[test]
fn the_files_follow_the_prompt_as_they_were_read() {
    let read = "[Skipped 1 file:\nc: binary\n]\n--- /p/a ---\n\nfn a() {}\n\n\n\
        --- /p/b ---\n\n\n\n--- End of content ---";
    assert_eq!(
        texts(&LlmContent::Text(read.to_owned())),
        [
            "look at @a and @b",
            "\n--- Content from referenced files ---",
            read
        ]
    );
}

#[test]
fn media_stay_parts_of_their_own() {
    let image = Part::inline_data("image/png", "aa==".to_owned());
    let read = LlmContent::List(vec![
        PartOrText::Text("[The following data is x.png, image/png.]\n".to_owned()),
        PartOrText::Part(Box::new(image.clone())),
        PartOrText::Text("--- /p/a ---\n\nx\n\n".to_owned()),
        PartOrText::Text("--- End of content ---".to_owned()),
    ]);
    let parts = message_parts("@x.png", &read);
    assert_eq!(parts.len(), 6);
    assert_eq!(parts[3], image);
    assert_eq!(
        message_parts("p", &LlmContent::Part(Box::new(image))).len(),
        3
    );
}

#[test]
fn without_contents_the_message_is_the_prompt_alone() {
    assert_eq!(texts(&LlmContent::default()), ["look at @a and @b"]);
}
