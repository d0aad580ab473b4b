//! Changes values in the text of a settings file, and takes the changes back, without touching
//! anything else.

use super::splice::{Page, Splice, cuts};
use crate::syntax::{MARK, Syntax};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A value that a settings file is to have. The keys `at` lead to it, outermost first; if `value`
/// is `None`, the last key is removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    pub(super) at: Vec<String>,
    pub(super) value: Option<Value>,
}

impl Set {
    pub(super) fn new<K: AsRef<str>>(at: &[K], value: Option<Value>) -> Self {
        Self {
            at: at.iter().map(|key| key.as_ref().to_owned()).collect(),
            value,
        }
    }
}

/// A change of a settings file, as it is recorded for an undo. The keys `at` lead to the changed
/// value, outermost first; `made` of them, besides the last, were added with it. In the file's
/// text, `added` was put at `start` in place of `instead`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) at: Vec<String>,
    made: usize,
    start: usize,
    pub(super) added: String,
    pub(super) instead: String,
}

fn value(syntax: Syntax, text: &str) -> Result<Value, String> {
    match syntax.value(text)? {
        Value::Null => Ok(Value::Object(Map::new())),
        value => Ok(value),
    }
}

fn get<'a>(document: &'a Value, at: &[String]) -> Option<&'a Value> {
    at.iter().try_fold(document, |value, key| value.get(key))
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Removes a key, and the objects around it that are then empty.
fn without(mut document: Value, at: &[String]) -> Value {
    if let (Some((first, rest)), Some(map)) = (at.split_first(), document.as_object_mut())
        && let Some(below) = map.remove(first)
        && !rest.is_empty()
    {
        let below = without(below, rest);
        if !is_empty(&below) {
            map.insert(first.clone(), below);
        }
    }
    document
}

/// Tries splices in turn. Returns the first after which the value at the keys is right and
/// everything else in the text has the same value as before.
fn proved(
    (syntax, text): (Syntax, &str),
    at: &[String],
    is_right: impl Fn(Option<&Value>) -> bool,
    splices: impl IntoIterator<Item = Splice>,
) -> Option<(String, Splice)> {
    let rest = without(value(syntax, text).ok()?, at);
    splices.into_iter().find_map(|splice| {
        let after = splice.apply(text);
        let document = value(syntax, &after).ok()?;
        let is_proved = is_right(get(&document, at)) && without(document, at) == rest;
        is_proved.then_some((after, splice))
    })
}

fn opened(syntax: Syntax, text: &str) -> (&str, &str, Syntax) {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches(MARK).len());
    let is_strict = syntax == Syntax::Lenient && Syntax::Comments.value(body).is_ok();
    (
        mark,
        body,
        if is_strict { Syntax::Comments } else { syntax },
    )
}

/// Applies a change to a file's text. Returns the new text, and what [`take_out`] needs to take it
/// back; `None` if the text already has the value. A result in which anything else has another
/// meaning than before is refused.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn set(syntax: Syntax, text: &str, set: &Set) -> Result<Option<(String, Edit)>, String> {
    const BY_HAND: &str = "nothing else may change with it, but would, as where a key is there twice or another value refers to this one: make the change by hand";
    let (mark, body, syntax) = opened(syntax, text);
    let (at, new) = (&*set.at, set.value.as_ref());
    let document = value(syntax, body)?;
    let (now, page) = (get(&document, at), Page::new(syntax, body));
    if now == new {
        return Ok(None);
    }
    let (splices, made) = match (now, new) {
        (None, Some(new)) => {
            let (depth, above) = deepest(&document, at)?;
            let made = at.len() - depth - 1;
            (page.insertions(at, (depth, above), new), made)
        }
        (Some(_), Some(new)) => (page.in_place(at, new), 0),
        (_, None) => (cuts(body, at), 0),
    };
    let (after, splice) =
        proved((syntax, body), at, |value| value == new, splices).ok_or(BY_HAND)?;
    let edit = Edit {
        at: at.to_vec(),
        made,
        start: splice.range.start,
        instead: body[splice.range].to_owned(),
        added: splice.new,
    };
    Ok(Some((format!("{mark}{after}"), edit)))
}

/// Follows keys into a document. Returns how many of them exist, and the value of the last one that
/// does.
///
/// # Errors
///
/// Returns which value would have to be an object and is none.
fn deepest<'a>(document: &'a Value, at: &[String]) -> Result<(usize, &'a Value), String> {
    let mut depths = (0..at.len()).rev();
    let deepest = depths.find_map(|depth| Some((depth, get(document, &at[..depth])?)));
    let (depth, above) = deepest.unwrap_or((0, document));
    if above.is_object() || above.is_null() {
        return Ok((depth, above));
    }
    let must = match depth {
        0 => "it must hold".to_owned(),
        _ => format!("{} must be", at[..depth].join(".")),
    };
    Err(format!(
        "{must} an object: correct that, then run get_tools init again"
    ))
}

/// Takes a change back. What was added is replaced by what was there before, wherever it is now. If
/// the host has written the file anew, an added key is taken out in whatever form it has, if its
/// value `is_ours`.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn take_out(
    syntax: Syntax,
    text: &str,
    edit: &Edit,
    is_ours: impl FnOnce(&Value) -> bool,
) -> Result<String, String> {
    let (mark, body, syntax) = opened(syntax, text);
    let Edit {
        at, added, instead, ..
    } = edit;
    let document = value(syntax, body)?;
    let now = get(&document, at);
    let is_added = ["", "~"].contains(&&**instead) || instead.eq_ignore_ascii_case("null");
    let is_former = now.map(Value::to_string).as_ref() == Some(instead);
    if is_former || is_added && now.is_none() {
        return Ok(text.to_owned());
    }
    let elsewhere = body.match_indices(&**added).map(|(start, _)| start);
    let elsewhere = elsewhere.filter(|_| !added.is_empty());
    let starts = std::iter::once(edit.start).chain(elsewhere);
    let starts = starts.filter(|start| {
        let rest = body.get(*start..);
        rest.is_some_and(|rest| rest.starts_with(&**added))
    });
    let exact = starts.map(|start| Splice {
        range: start..start + added.len(),
        new: instead.clone(),
    });
    // Others may have put keys of their own into the object that was added. If the object is cut
    // out around them, these keys make no sense, so what is left then is checked.
    let is_restored =
        |value: Option<&Value>| value.is_none_or(Value::is_null) || !is_added && value != now;
    let restored = proved((syntax, body), at, is_restored, exact);
    let restored = restored.map(|(after, _)| after);
    let may_be_cut = is_added && now.is_some_and(is_ours);
    let after = restored
        .or_else(|| taken_out_anew(syntax, body, at, edit.made).filter(|_| may_be_cut))
        .ok_or_else(|| {
            let key = at.join(".");
            format!("{key} is not as init wrote it")
        })?;
    Ok(format!("{mark}{after}"))
}

/// Cuts a key out, and up to `made` of the keys above it if nothing else is left in them. Comments
/// stay.
fn taken_out_anew(syntax: Syntax, text: &str, at: &[String], made: usize) -> Option<String> {
    let document = value(syntax, text).ok()?;
    let (_, above) = at.split_last()?;
    let own = get(&document, at)?.to_string();
    let has_no_comment = |cut: &Splice| {
        let count = |text: &str, sign| text.matches(sign).count();
        let mut signs = ["#", "//", "/*"].into_iter();
        signs.all(|sign| count(&text[cut.range.clone()], sign) <= count(&own, sign))
    };
    let cuts = cuts(text, at).into_iter().filter(has_no_comment);
    let (after, _) = proved((syntax, text), at, |value| value.is_none(), cuts)?;
    let document = value(syntax, &after).ok()?;
    let is_left = made > 0 && get(&document, above).is_some_and(is_empty);
    let rest = is_left.then(|| taken_out_anew(syntax, &after, above, made - 1));
    Some(rest.flatten().unwrap_or(after))
}

#[cfg(test)]
mod tests {
    use super::{Edit, Set, set};
    use crate::syntax::Syntax;
    use serde_json::{Value, json};

    fn take_out(syntax: Syntax, text: &str, edit: &Edit) -> Result<String, String> {
        super::take_out(syntax, text, edit, |_| true)
    }

    /// Texts of each syntax. When a key is added to one, all its lines stay as they are. When the
    /// key is removed again, even without a record of what was added, the text is as it was, byte
    /// for byte.
    const TEXTS: &[(Syntax, &[&str])] = &[
        (
            Syntax::Lenient,
            &[
                "",
                "{}",
                "{\n}\n",
                "// nothing",
                "{\"a\":1}",
                "{ \"a\": 1, // why\n}",
                "\u{feff}{ \"s\": { } }\r\n",
                "{\r\n\t\"a\": [1,\r\n2],\r\n\r\n}\r\n",
                "{\n  \"s\": {\n    // \"x\": {} // off\n  }\n}\n",
                "{\n  \"s\": { /* off\n */ \"x\": {} }\n}\n",
                "{ /* a\n b */ \"s\": {\n\n  \"x\": {}\n} }\n",
                "{\n  \"s\": null\n}\n",
                "{'a': 1\n}",
                "{\"s\": {\"x\": 1,\n}} // s: {",
                "{\n// \"s\": {\n\"s\": {\"x\": {\"s\": {}}}\n}",
            ],
        ),
        (
            Syntax::Toml,
            &[
                "",
                "# mine",
                "\u{feff}m = \"m\" # why\r\n\r\n[p.\"/a\"]\r\nt = '''\r\n\n'''\r\n# end\r\n",
                "[s] # mine\n",
                "[\"s\".'z.z']\nc=1\n",
                "[s]\nx = { c = 1 }\n",
                "s = { x = { c = 1 } } # y\n",
                "s.x.c = 1\n[[t]]\n",
            ],
        ),
        (
            Syntax::Yaml,
            &[
                "",
                "# mine",
                "A: b",
                "A: b # why\ns: # mine\n  # off\n\n# end\nB: |\n  text\n",
                "s:\n    # x\n    x:\n        y: z\n    # last\nB: c",
                "A: b\r\ns:\r\n  x:\r\n    y: z\r\n",
                "s: {x: {y: z}} # flow\n",
                "s: {} # mine\n",
                "---\ns: &all\n  x: &x {y: z}\n  w: *x\n...\n",
                "--- # d\nA: b\n...\n# end\n",
                "B: |+\n  text\n\n",
                "s: ~ # off\n",
                "s:",
            ],
        ),
    ];

    fn entry() -> Value {
        json!({"args": [], "cmd": "/a b/#c/serve_tools", "e": {"A": "yes"}, "t": 600})
    }

    #[test]
    fn a_key_goes_in_and_out_and_every_other_byte_stays() {
        for (syntax, texts) in TEXTS {
            for before in *texts {
                let own = Set::new(&["s", "own"], Some(entry()));
                let done = set(*syntax, before, &own).expect(before);
                let (after, edit) = done.expect("changed");
                let again = set(*syntax, &after, &own);
                assert_eq!(again, Ok(None), "twice is once: {after}");
                let back = |text: &str, edit: &Edit| take_out(*syntax, text, edit);
                assert_eq!(back(&after, &edit).as_deref(), Ok(*before), "{after}");
                assert_eq!(back(before, &edit).as_deref(), Ok(*before));
                // As after a host has written the file anew, so that the added text is not in it.
                let added = "?".to_owned();
                let back = back(&after, &Edit { added, ..edit }).expect(&after);
                let bare = |text: &str| {
                    let words: String = text.split_whitespace().collect();
                    let words = words.replace("null", "{}").replace('~', "{}");
                    words.trim_end_matches("{}").to_owned()
                };
                assert_eq!(bare(&back), bare(before), "{after}");
            }
        }
    }

    #[test]
    fn of_many_keys_of_a_name_the_one_at_its_place_is_found() {
        let projects = r#""/a": {"s": {"x": 1, "y": [{}]}, "s.own": {"own": {}}}, "#;
        let projects = projects.repeat(300).replace(", ", ",\n");
        let before =
            format!("{{\"p\": {{{projects} \"s\": 1}}, \"s\": {{\"z\": 1}}, \"t\": {{}}}}");
        let own = Set::new(&["s", "own"], Some(entry()));
        let done = set(Syntax::Json, &before, &own).expect("edited");
        let (after, edit) = done.expect("changed");
        let value: Value = serde_json::from_str(&after).expect("JSON");
        assert_eq!(value["s"]["own"], entry());
        for added in [edit.added.clone(), "?".to_owned()] {
            let edit = Edit {
                added,
                ..edit.clone()
            };
            let back = take_out(Syntax::Json, &after, &edit);
            assert_eq!(back.as_ref(), Ok(&before));
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands_and_a_key_joins_its_table() {
        for (syntax, before, value, expected) in [
            (
                Syntax::Toml,
                "[s]\nown = 'x' # mine\n",
                json!("y"),
                "[s]\nown = \"y\" # mine\n",
            ),
            (
                Syntax::Toml,
                "[s] # mine\nz = 1\n",
                json!(["y"]),
                "[s] # mine\nown = [\"y\"]\nz = 1\n",
            ),
            (
                Syntax::Yaml,
                "s:\n  own: x # mine\n",
                json!("z"),
                "s:\n  own: \"z\" # mine\n",
            ),
            (
                Syntax::Yaml,
                "s:\n  own:\n    - x\n",
                json!(["z"]),
                "s:\n  own:\n    [\"z\"]\n",
            ),
            (
                Syntax::Lenient,
                "{'s': {own: 'x' /* mine */}}",
                json!("y"),
                "{'s': {own: \"y\" /* mine */}}",
            ),
            (
                Syntax::Lenient,
                "{\"s\": 1, \"s\": {}}",
                json!("y"),
                "{\"s\": 1, \"s\": {\"own\": \"y\"}}",
            ),
        ] {
            let own = Set::new(&["s", "own"], Some(value));
            let (after, edit) = set(syntax, before, &own).expect(before).expect("changed");
            assert_eq!(after, expected);
            let back = take_out(syntax, &after, &edit);
            assert_eq!(back.as_deref(), Ok(before));
        }
    }

    #[test]
    fn a_key_goes_and_a_comment_about_it_stays() {
        let own = Set::new(&["s", "own"], None);
        for (syntax, before, expected) in [
            (
                Syntax::Lenient,
                "{\n\"s\": {\n// \"own\": off\n\"own\": {\"c\": [1]} },\n}",
                "{\n\"s\": {\n// \"own\": off\n},\n}",
            ),
            (
                Syntax::Json,
                "{\"own\": 1, \"s\": {\"a\": \"own\", \"own\": \"}\"}}",
                "{\"own\": 1, \"s\": {\"a\": \"own\"}}",
            ),
            (
                Syntax::Toml,
                "# own = 1\n[s.own]\nc = 1\n\n# z\n[z]\n",
                "# own = 1\n\n# z\n[z]\n",
            ),
            (
                Syntax::Yaml,
                "s:\n  # own: off\n  own:\n    c: [1]\n\n# z\nz: 1\n",
                "s:\n  # own: off\n\n# z\nz: 1\n",
            ),
        ] {
            let (after, edit) = set(syntax, before, &own).expect(before).expect("changed");
            assert_eq!(after, expected);
            let back = take_out(syntax, &after, &edit);
            assert_eq!(back.as_deref(), Ok(before));
        }
    }

    #[test]
    fn what_the_host_has_written_around_it_stays() {
        for (syntax, before, made, expected) in [
            (
                Syntax::Lenient,
                "{\"a\": 1, \"s\": {\"own\": {}}}",
                1,
                Some("{\"a\": 1}"),
            ),
            (
                Syntax::Lenient,
                "{\n  \"a\": 1,\n  \"s\": {\"own\": {}} // y\n}",
                1,
                Some("{\n  \"a\": 1// y\n}"),
            ),
            (
                Syntax::Lenient,
                "{\"s\": {\"own\": {} /* z */, \"b\": 1,}}",
                1,
                None,
            ),
            (
                Syntax::Lenient,
                "{\"s\": { // mine\n\"own\": {}\n}}",
                1,
                Some("{\"s\": { // mine\n}}"),
            ),
            (
                Syntax::Yaml,
                "s: # mine\n  own:\n    a: |\n      b\n# c\nd: 1\n",
                1,
                Some("# mine\n# c\nd: 1\n"),
            ),
            (
                Syntax::Yaml,
                "s:\n  own:\n    a: 1\n# c\nd: 1\n",
                1,
                Some("# c\nd: 1\n"),
            ),
            (
                Syntax::Toml,
                "[s.own]\nc = 1\n[s.own.e]\nd = 1 # x\n[z]\n",
                0,
                Some("# x\n[z]\n"),
            ),
            (Syntax::Toml, "[s.own]\nc = 1\n[z]\n[s.own.e]\n", 0, None),
        ] {
            let at = ["s".to_owned(), "own".to_owned()].to_vec();
            let edit = Edit {
                at,
                made,
                start: 0,
                added: "?".to_owned(),
                instead: String::new(),
            };
            let after = take_out(syntax, before, &edit);
            assert_eq!(after.as_deref().ok(), expected, "{before}");
        }
    }

    #[test]
    fn what_cannot_hold_the_key_is_refused_with_its_line() {
        let own = Set::new(&["s", "own"], Some(entry()));
        for (syntax, text, reason) in [
            (
                Syntax::Lenient,
                "[]",
                "it must hold an object: correct that",
            ),
            (Syntax::Lenient, "{\n\"s\": [] }", "s must be an object"),
            (Syntax::Lenient, "{", "line 1"),
            (Syntax::Toml, "\ns = 1", "s must be an object"),
            (Syntax::Toml, "\na = \n", "line 2"),
            (Syntax::Toml, "[[s]]", "s must be an object"),
            (Syntax::Yaml, "- a\n", "it must hold an object"),
            (Syntax::Yaml, "s: 1\n", "s must be an object"),
            (
                Syntax::Yaml,
                "b: &b {}\ns: *b\n",
                "another value refers to this one",
            ),
            (Syntax::Yaml, "a: [\n", "line"),
        ] {
            let error = set(syntax, text, &own).expect_err(text);
            assert!(
                error.contains(reason) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
