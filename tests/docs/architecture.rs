//! The page on the architecture is true.

use std::fs;
use std::path::PathBuf;

/// The picture of a call in the book: each line has a file and a function of it, which calls that of the next line.
#[test]
fn each_function_of_the_picture_of_a_call_calls_the_next() {
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(checkout.join("docs/architecture.md")).expect("the page");
    let (_, after) = page
        .split_once("these eight functions")
        .expect("the picture");
    let (_, after) = after.split_once("```text\n").expect("its beginning");
    let (picture, _) = after.split_once("```").expect("its end");
    let steps: Vec<Vec<&str>> = picture
        .lines()
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(steps.len(), 8);
    for pair in steps.windows(2) {
        let [[file, name], [_, next]] = [&pair[0][..], &pair[1][..]] else {
            panic!("{pair:?}");
        };
        let text = fs::read_to_string(checkout.join(file)).expect(file);
        // A method's body ends with a brace as deep as its first line.
        let start = text
            .find(&format!("fn {name}("))
            .or_else(|| text.find(&format!("fn {name}<")));
        let line = text[..start.expect(name)]
            .rfind('\n')
            .expect("a line before")
            + 1;
        let indent: String = text[line..].chars().take_while(|c| *c == ' ').collect();
        let (body, _) = text[line..]
            .split_once(&format!("\n{indent}}}"))
            .expect("its end");
        let calls = [
            format!("{next}("),
            format!(", {next})"),
            format!("({next})"),
        ];
        // The start runs the function that it is given.
        let is_given = file == &"src/start.rs" && body.contains("AssertUnwindSafe(main)");
        let is_called = is_given || calls.iter().any(|call| body.contains(call));
        assert!(is_called, "{file}: {name} does not call {next}");
    }
}
