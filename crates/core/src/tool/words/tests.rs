use super::{from_words, obvious_parameter};
use crate::tool::usage::tests::{Taking, reader, taking};
use crate::tool::{Schema, Tool, ToolError};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn typed(tool: &Taking, words: &[&(impl AsRef<OsStr> + ?Sized)]) -> Result<Value, String> {
    let words: Vec<OsString> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    let read = |word: &str, file: &Path| match file.as_os_str().as_bytes() {
        b"-" => Ok("[3]".to_owned()),
        b"f" => Ok("@text\n".to_owned()),
        b"n" => Ok("17\n".to_owned()),
        b"\xe9" => Ok(word.to_owned()),
        _ => Err(ToolError::invalid(format!("There is no file {file:?}."))),
    };
    from_words(tool, &words, &read).map_err(|e| e.to_string())
}

fn all_kinds() -> Taking {
    taking(json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "is_set": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "unknown": {"$ref": "#/$defs/x"},
    }}))
}

#[test]
fn a_value_takes_the_type_of_its_parameter() {
    for (words, args) in [
        (&["text=5"][..], json!({"text": "5"})),
        (&["text="], json!({"text": ""})),
        (&["count=5"], json!({"count": 5})),
        (&["ratio=0.5"], json!({"ratio": 0.5})),
        (&["is_set=false"], json!({"is_set": false})),
        (&["names=a"], json!({"names": ["a"]})),
        (&["names=a", "names=b"], json!({"names": ["a", "b"]})),
        (&["numbers=1", "numbers=2"], json!({"numbers": [1, 2]})),
        (&["names:=[\"a\"]"], json!({"names": ["a"]})),
        (&["options={\"depth\":1}"], json!({"options": {"depth": 1}})),
        (&["maybe=5"], json!({"maybe": 5})),
        (&["maybe=null"], json!({"maybe": null})),
        (&["either=5"], json!({"either": "5"})),
        (&["unknown=5"], json!({"unknown": "5"})),
    ] {
        assert_eq!(typed(&all_kinds(), words), Ok(args), "{words:?}");
    }
    // Values of undeclared and renamed arguments are converted too.
    let undeclared = typed(&reader(), &["a", "no_ignore=true"]);
    let args = json!({"absolute_path": "a", "no_ignore": true});
    assert_eq!(undeclared, Ok(args));
    let renamed = taking(json!({"type": "object", "properties": {
        "absolute_path": {"type": "integer"}}}));
    assert_eq!(
        typed(&renamed, &["file_path=1"]),
        Ok(json!({"file_path": 1}))
    );
}

#[test]
fn a_value_comes_from_a_file_after_an_at_sign() {
    for (words, args) in [
        (&["text=@f"][..], json!({"text": "@text\n"})),
        (&["text=@@f"], json!({"text": "@f"})),
        (&["text=a@f"], json!({"text": "a@f"})),
        (&["count=@n"], json!({"count": 17})),
        (&["names=@f"], json!({"names": ["@text\n"]})),
        (&["numbers:=@-"], json!({"numbers": [3]})),
        (&["text:=\"@f\""], json!({"text": "@f"})),
    ] {
        assert_eq!(typed(&all_kinds(), words), Ok(args), "{words:?}");
    }
    assert_eq!(
        typed(&reader(), &["@f"]),
        Ok(json!({"absolute_path": "@f"}))
    );
    let error = typed(&all_kinds(), &["text=@none"]).expect_err("refused");
    assert_eq!(
        error,
        "There is no file \"none\". For the text '@none' itself, write text='@@none'."
    );
}

#[test]
fn only_a_path_may_be_other_bytes_than_utf8() {
    let with = |before: &str| OsStr::from_bytes(&[before.as_bytes(), b"\xe9"].concat()).to_owned();
    for (before, args) in [
        ("absolute_path=", json!({"absolute_path": "\\x{e9}"})),
        ("file_path=", json!({"file_path": "\\x{e9}"})),
        ("", json!({"absolute_path": "\\x{e9}"})),
        ("=", json!({"absolute_path": "=\\x{e9}"})),
    ] {
        assert_eq!(typed(&reader(), &[&with(before)]), Ok(args), "{before}");
    }
    let kinds = all_kinds();
    let read = typed(&kinds, &[&with("text=@")]);
    assert_eq!(read, Ok(json!({"text": "text=@\\x{e9}"})));
    let names = kinds.parameters().value()["properties"]
        .as_object()
        .expect("an object");
    for key in names.keys() {
        for before in ["=", "=@@", ":="] {
            let error = typed(&kinds, &[&with(&format!("{key}{before}"))]).expect_err("refused");
            let said = format!("{key} takes text in UTF-8, not \"{key}{before}\\x{{e9}}\".");
            assert!(error.contains(&said), "{error}");
        }
    }
}

#[test]
fn an_error_shows_what_to_type() {
    for (word, said) in [
        (
            "count=x",
            "type integer, not \"x\". Write a number, such as count=1.",
        ),
        ("count=", "such as count=1."),
        ("is_set=yes", "Write is_set=true or is_set=false."),
        ("numbers=x", "Write JSON, such as numbers:='[1]'."),
        ("options=x", "Write JSON, such as options:='{\"depth\":1}'."),
        ("names:=x", "Without the colon it is: names=x."),
        ("text:=it's", "Without the colon it is: text='it'\\''s'."),
        ("count:=x", "such as count=1."),
    ] {
        let error = typed(&all_kinds(), &[word]).expect_err("refused");
        assert!(error.contains(said), "{word}: {error}");
    }
    let error = typed(&all_kinds(), &["count=1", "count=2"]).expect_err("refused");
    assert!(error.contains("count is given twice"), "{error}");
}

#[test]
fn a_bare_value_fills_the_only_required_parameter() {
    for (words, args) in [
        (&["a.md"][..], json!({"absolute_path": "a.md"})),
        (
            &["a.md", "limit=2"],
            json!({"absolute_path": "a.md", "limit": 2}),
        ),
        (
            &["limit:=2", "a.md"],
            json!({"absolute_path": "a.md", "limit": 2}),
        ),
        (&["=a"], json!({"absolute_path": "=a"})),
        (&["x y=z"], json!({"absolute_path": "x y=z"})),
        (
            &["http://a/?b=c"],
            json!({"absolute_path": "http://a/?b=c"}),
        ),
        (&["absolute_path=a=b"], json!({"absolute_path": "a=b"})),
        (
            &["file_path=a", "no_ignore:=true"],
            json!({"file_path": "a", "no_ignore": true}),
        ),
    ] {
        assert_eq!(typed(&reader(), words), Ok(args), "{words:?}");
    }
    let lists = taking(
        json!({"type": "object", "required": ["paths"], "properties": {
        "paths": {"type": "array", "items": {"type": "string"}}}}),
    );
    assert_eq!(typed(&lists, &["a", "b"]), Ok(json!({"paths": ["a", "b"]})));
    let counts = taking(json!({"type": "object", "properties": {"pid": {"type": "integer"}}}));
    assert_eq!(typed(&counts, &["17"]), Ok(json!({"pid": 17})));
    assert!(typed(&counts, &["x"]).is_err_and(|e| e.contains("integer")));
}

#[test]
fn a_word_without_a_place_is_refused() {
    for (words, said) in [
        (
            &["a", "b"][..],
            "Unexpected \"b\": taking takes one bare value, its absolute_path.",
        ),
        (&["a", "absolute_path=b"], "given as absolute_path= already"),
        (&["a", "file_path=b"], "given as file_path= already"),
        (
            &["file=a"],
            "no argument \"file\". Did you mean absolute_path?",
        ),
        (
            &["FOO=make it"],
            "Did you mean absolute_path='make it', or absolute_path='FOO=make it' for all",
        ),
        (&["a=b"], "or absolute_path='a=b' for all of it?"),
        (
            &["absolute_path=a", "lmit:=2"],
            "no argument \"lmit\". Did you mean limit?",
        ),
        (
            &["absolute_path=a", "zzz=1"],
            "It takes absolute_path, limit, no_ignore.",
        ),
        (
            &["fil=a", "lmit:=2"],
            "\"fil\" or \"lmit\". Did you mean limit by \"lmit\"?",
        ),
    ] {
        let error = typed(&reader(), words).expect_err("refused");
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let search = taking(
        json!({"type": "object", "required": ["pattern"], "properties": {
        "pattern": {"type": "string"}, "path": {"type": "string"}}}),
    );
    let error = typed(&search, &["todo", "lib"]).expect_err("refused");
    assert!(
        error.contains("Unexpected \"lib\"") && error.contains("Did you mean path=lib?"),
        "{error}"
    );
    let two = taking(
        json!({"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "string"}, "b": {"type": "string"}}}),
    );
    let error = typed(&two, &["x"]).expect_err("refused");
    assert!(error.contains("no single parameter"), "{error}");
    let none = taking(json!({"type": "object", "properties": {}}));
    let error = typed(&none, &["x=1"]).expect_err("refused");
    assert!(error.contains("no argument \"x\""), "{error}");
}

#[test]
fn an_object_or_a_list_of_objects_is_not_obvious() {
    for property in [
        json!({"type": "object"}),
        json!({"type": "array", "items": {"type": "object"}}),
    ] {
        let schema = json!({"required": ["a"], "properties": {"a": property}});
        assert_eq!(obvious_parameter(&Schema::from_value(schema)), None);
    }
}
