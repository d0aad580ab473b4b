//! The skill for hosts: its form, its tables, which are those of the book, and its examples, which are run.

use regex::Regex;

use crate::harness::hold_generated;
use crate::harness::page::Page;

const SKILL: &str = "crates/builtin-tools/src/SKILL.md";

#[test]
fn it_has_the_form_of_agentskills_io() {
    let skill = Page::read(SKILL);
    let rest = skill.text().strip_prefix("---\n").expect("a head");
    let (head, body) = rest.split_once("\n---\n").expect("the end of its head");
    let keys: Vec<(&str, &str)> = head
        .lines()
        .map(|line| line.split_once(": ").expect("a key"))
        .collect();
    let [("name", "gemini-tools"), ("description", description)] = keys[..] else {
        panic!("{keys:?}");
    };
    assert!(description.len() <= 1024, "{}", description.len());
    // YAML would take these for the beginning of something else.
    assert!(!description.contains(": ") && !description.contains(" #"));
    assert!(body.lines().count() < 500);
}

#[test]
fn its_examples_print_what_it_says() {
    assert_eq!(Page::read(SKILL).run_examples(), 2);
}

/// `<!-- PAGE: CELL -->` stands above the table of that page whose head begins with that cell.
#[test]
fn generated_tables_are_those_of_the_book() {
    let skill = Page::read(SKILL);
    let mark = Regex::new(r"^<!-- (\S+): (.+) -->$").expect("a pattern");
    let mut expected = String::new();
    let mut lines = skill.text().lines().peekable();
    let mut tables = 0;
    while let Some(line) = lines.next() {
        expected += &format!("{line}\n");
        let Some(found) = mark.captures(line) else {
            continue;
        };
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
        expected += &table(&Page::read(&found[1]), &found[2]);
        tables += 1;
    }
    assert_eq!(tables, 4);
    hold_generated(SKILL, &expected);
}

/// A table of a page, without links, which would lead nowhere elsewhere.
#[track_caller]
fn table(page: &Page, cell: &str) -> String {
    let head = format!("| {cell} |");
    let lines = page.text().lines().skip_while(|l| !l.starts_with(&head));
    let table: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    assert!(table.len() > 2, "{} has no table {cell}", page.name());
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    link.replace_all(&(table.join("\n") + "\n"), "$1")
        .into_owned()
}
