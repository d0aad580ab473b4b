use super::insertion;
use crate::builtin::fact::Fact;
use proptest::prelude::{Strategy, proptest};
use proptest::{collection, sample};

fn with(file: &str, fact: &str) -> Option<String> {
    let fact = Fact::new(fact).expect("a fact");
    let (at, text) = insertion(file.as_bytes(), &fact)?;
    let mut file = file.to_owned();
    file.insert_str(at, &text);
    Some(file)
}

#[test]
fn a_fact_goes_to_the_end_of_the_section() {
    const H: &str = "## Gemini Added Memories";
    let cases = [
        ("", format!("{H}\n- x\n")),
        ("\u{feff}", format!("\u{feff}{H}\n- x\n")),
        ("a", format!("a\n\n{H}\n- x\n")),
        ("a\n", format!("a\n\n{H}\n- x\n")),
        ("a\n\n", format!("a\n\n{H}\n- x\n")),
        ("a\r\n", format!("a\r\n\r\n{H}\r\n- x\r\n")),
        ("a\r\n\r\n", format!("a\r\n\r\n{H}\r\n- x\r\n")),
        ("## Gemini Added Memories", format!("{H}\n- x\n")),
        (
            "\u{feff}## Gemini Added Memories ##\n",
            format!("\u{feff}{H} ##\n- x\n"),
        ),
        (
            "## Gemini Added Memories\n\n\n## B\n",
            format!("{H}\n- x\n\n\n## B\n"),
        ),
        (
            "## Gemini Added Memories\n\n- a\n\n\n\n",
            format!("{H}\n\n- a\n- x\n\n\n\n"),
        ),
        (
            "## Gemini Added Memories\r\n- a\r\n## B",
            format!("{H}\r\n- a\r\n- x\r\n\r\n## B"),
        ),
        (
            "# T\r\n## Gemini Added Memories\n- a",
            format!("# T\r\n{H}\n- a\r\n- x\r\n"),
        ),
        (
            "## Gemini Added Memories\n- a\n# B\n",
            format!("{H}\n- a\n- x\n\n# B\n"),
        ),
        (
            "## Gemini Added Memories\n- a\n\n---\nb\n",
            format!("{H}\n- a\n\n---\nb\n- x\n"),
        ),
        (
            "### Gemini Added Memories\n",
            format!("### Gemini Added Memories\n\n{H}\n- x\n"),
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(with(file, "x").as_deref(), Some(&*expected), "{file:?}");
    }
}

#[test]
fn a_fact_that_is_there_is_not_added_again() {
    for (file, fact) in [
        ("## Gemini Added Memories\n- x\n", "x"),
        ("## Gemini Added Memories\r\n- a\r\n-  x \r\n", "- x\n"),
        ("## Gemini Added Memories\n- @a.md\n", "@a.md"),
        ("## Gemini Added Memories\n* \\@a.md", "@a.md"),
        (
            "## Gemini Added Memories\n- a\n## B\n## Gemini Added Memories\n- x\n",
            "x",
        ),
    ] {
        assert_eq!(with(file, fact), None, "{file:?}");
    }
    for file in [
        "- x\n## Gemini Added Memories\n",
        "## Gemini Added Memories\n- X\n- x y\n-x\n## B\n- x\n",
    ] {
        assert!(with(file, "x").is_some(), "{file:?}");
    }
}

fn file() -> impl Strategy<Value = String> {
    let pieces = vec![
        "## Gemini Added Memories",
        "## Gemini Added Memories\n",
        "# T\n",
        "### S\r\n",
        "- x",
        "- y\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "```",
        "~~~~\n",
        "```\n",
        "<!--",
        "-->\n",
        "text",
        "text\n",
        "===\n",
        "---\n",
        "\u{feff}",
        "é",
    ];
    collection::vec(sample::select(pieces), 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn only_lines_are_put_in_and_the_fact_is_found_again(file in file(), fact in "[-a@`# ]{0,6}[a-z]") {
        let fact = Fact::new(&fact).expect("a fact");
        if let Some((at, text)) = insertion(file.as_bytes(), &fact) {
            let (before, after) = file.split_at(at);
            let item = format!("- {}", fact.stored);
            assert_eq!(text.lines().filter(|line| *line == item).count(), 1);
            assert!(text.lines().all(|l| l.is_empty() || l == item || l == "## Gemini Added Memories"));
            assert!(text.ends_with('\n'));
            assert!(before.is_empty() || before.ends_with(['\n', '\u{feff}']) || text.starts_with(['\n', '\r']));
            let new = format!("{before}{text}{after}");
            assert_eq!(insertion(new.as_bytes(), &fact), None, "{file:?} -> {new:?}");
        }
    }
}
