use super::super::tests::Place;
use super::structure;
use std::os::unix::fs::symlink;

fn listed(place: &Place) -> Vec<String> {
    let text = structure(&place.workspace("", &[]));
    let root = format!("\n\n{}/\n", place.root.display());
    let list = text.split_once(&root).expect("the root's line").1;
    list.lines().map(str::to_owned).collect()
}

#[test]
fn files_come_before_directories_and_some_are_not_entered() {
    let place = Place::new();
    for file in [
        "b.rs",
        "A.rs",
        "b_c.rs",
        "src/x/y.rs",
        "src/z.rs",
        "dist/d",
        "node_modules/m/m.js",
    ] {
        place.write(&format!("project/{file}"), "");
    }
    assert_eq!(
        listed(&place),
        [
            "A.rs",
            "b_c.rs",
            "b.rs",
            ".git/...",
            "dist/...",
            "node_modules/...",
            "src/",
            "src/z.rs",
            "src/x/",
            "src/x/y.rs"
        ]
    );
}

#[test]
fn ignore_rules_are_obeyed() {
    let place = Place::new();
    place.write("project/.gitignore", "target/\n*.log\n");
    place.write("project/.geminiignore", "secret/\n");
    for file in ["target/t", "secret/s", "a.log", "k/b.log", "k/c"] {
        place.write(&format!("project/{file}"), "");
    }
    assert_eq!(
        listed(&place),
        [
            ".geminiignore",
            ".gitignore",
            ".git/...",
            "k/",
            "target/...",
            "k/c"
        ]
    );
}

#[test]
fn links_are_shown_but_not_followed_and_names_stay_on_their_line() {
    let place = Place::new();
    std::fs::remove_dir(place.root.join(".git")).expect("removed");
    place.write("project/d/f\ng", "");
    symlink("..", place.root.join("d/up")).expect("made");
    symlink("/etc", place.root.join("out")).expect("made");
    assert_eq!(listed(&place), ["out", "d/", "d/f\\ng", "d/up/..."]);
}

#[test]
fn a_list_that_is_too_long_ends_with_a_mark() {
    let place = Place::new();
    for n in 0..150 {
        place.write(&format!("project/a/{n:03}"), "");
        place.write(&format!("project/b/{n:03}"), "");
    }
    let lines = listed(&place);
    assert_eq!(lines.len(), 201);
    assert_eq!(lines[..3], [".git/...", "a/", "b/"]);
    assert_eq!(lines[199..], ["b/046", "..."]);
}

#[test]
fn roots_share_the_room() {
    let place = Place::new();
    for n in 0..300 {
        place.write(&format!("project/{n:03}"), "");
        place.write(&format!("lib/{n:03}"), "");
    }
    let lib = place.home.join("lib");
    let text = structure(&place.workspace("", &[&lib]));
    assert_eq!(text.matches("\n0").count(), 199, "{text}");
    let empty = place.home.join("empty");
    std::fs::create_dir(&empty).expect("made");
    let text = structure(&place.workspace("", &[&empty]));
    assert!(text.ends_with(&format!("{}/", empty.display())), "{text}");
}
