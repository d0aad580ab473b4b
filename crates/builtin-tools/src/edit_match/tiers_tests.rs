//! The number of cases of `tests/edits` that each tier decides.
//!
//! The table in `docs/tools/smart_edit.md` is made here: `UPDATE_TOOL_PAGES=1 cargo test --workspace
//! --lib tool_pages` writes it anew.

use super::{MatchTier, Outcome, find_place, place_behind, unit_of};
use gemini_tools_core::tool::Cancellation;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Returns the file after the edit of a case, by these tiers; unchanged if the edit is refused.
fn edited<'c>(case: &'c Value, tiers: &[MatchTier]) -> Cow<'c, str> {
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    let (before, old, new) = (text("before"), text("old_string"), text("new_string"));
    let put = |start: usize, end: usize, new: &str| {
        Cow::Owned(format!("{}{new}{}", &before[..start], &before[end..]))
    };
    let starts: Vec<usize> = before.match_indices(old).map(|(at, _)| at).collect();
    match starts.as_slice() {
        [] => {
            let found = find_place(before, old, new, tiers, &Cancellation::default());
            match found.expect("not interrupted") {
                (_, Outcome::One(place, new)) => put(place.start, place.end, &new),
                _ => Cow::Borrowed(before),
            }
        }
        [at] => {
            let line = before[..*at].rsplit('\n').next().unwrap_or_default();
            match place_behind(line, old, new, || unit_of(before.lines())) {
                Ok(new) => put(*at, at + old.len(), &new),
                Err(_) => Cow::Borrowed(before),
            }
        }
        _ => Cow::Borrowed(before),
    }
}

fn is_right(case: &Value, tiers: &[MatchTier]) -> bool {
    let after = case["after"].as_array().expect("the results");
    after.iter().any(|after| *after == *edited(case, tiers))
}

/// Returns the table of the page.
fn table(cases: &[Value]) -> String {
    let without = |left_out: &[MatchTier]| {
        let mut tiers = MatchTier::ALL.to_vec();
        tiers.retain(|tier| !left_out.contains(tier));
        cases.iter().filter(|case| is_right(case, &tiers)).count()
    };
    let all = without(&[]);
    let mut table =
        "| Left out | Its difference | Edits that are no longer right |\n|---|---|--:|\n"
            .to_owned();
    for tier in MatchTier::ALL {
        let (name, difference) = (tier.name(), tier.describe());
        let lost = all - without(&[tier]);
        writeln!(table, "| `{name}` | {difference} | {lost} |").expect("a row");
    }
    table
}

#[test]
fn tool_pages_say_what_each_tier_decides() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("tests/edits/cases.jsonl")).expect("the cases");
    let cases: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    let table = table(&cases);
    let path = root.join("docs/tools/smart_edit.md");
    let mut page = std::fs::read_to_string(&path).expect("the page");
    let start = page.find("| Left out |").expect("a table");
    let end = page[start..].find("\n\n").expect("its end") + start + 1;
    if std::env::var_os("UPDATE_TOOL_PAGES").is_some() {
        page.replace_range(start..end, &table);
        std::fs::write(&path, &page).expect("written");
    }
    assert!(
        page.contains(&table),
        "UPDATE_TOOL_PAGES=1 cargo test --workspace --lib tool_pages writes it anew"
    );
}
