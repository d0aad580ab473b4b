//! Tests of reading scripts, and of the messages about mistakes in them.

use super::{ModelScript, ScriptPlaces};
use serde_json::{Value, json};
use std::path::Path;

fn parse(text: &str) -> Result<ModelScript, String> {
    ModelScript::parse(Path::new("s.yaml"), text.into(), &ScriptPlaces::default())
}

fn script(text: &str) -> ModelScript {
    parse(text).expect("a script")
}

fn chunks(script: &ModelScript, n: usize) -> Vec<Value> {
    let body = script.turns[n].answer(&mut 0).expect("an answer").body;
    let chunks = body
        .split("\n\n")
        .filter_map(|line| line.strip_prefix("data: "));
    chunks
        .map(|chunk| serde_json::from_str(chunk).unwrap_or_default())
        .collect()
}

#[test]
fn turns_are_text_calls_and_faults() {
    let own = script(
        "prompt: Go\nturns:\n\
         - thought: Hm\n  text: I look.\n  calls:\n\
         \x20 - name: read_file\n    args: {absolute_path: a.txt, limit: 3, x: [1.5, true, null]}\n\
         - status: 429\n  retry_after: 0.05\n\
         - fault: cut\n  text: Half\n\
         - fault: malformed\n\
         - fault: unreachable\n\
         - text: Bye\n  finish: MAX_TOKENS\n  repeat: 2\n",
    );
    assert_eq!(own.prompt.as_deref(), Some("Go"));
    assert_eq!(own.turns.len(), 7);
    let first = chunks(&own, 0);
    assert_eq!(first.len(), 3);
    let last = &first[2]["candidates"][0];
    assert_eq!(last["finishReason"], "STOP");
    assert_eq!(
        last["content"]["parts"][0]["functionCall"],
        json!({"id": "call-1", "name": "read_file",
            "args": {"absolute_path": "a.txt", "limit": 3, "x": [1.5, true, null]}})
    );
    let refusal = own.turns[1].answer(&mut 0).expect("an answer");
    assert_eq!(refusal.status, 429);
    assert_eq!(refusal.retry_after.as_deref(), Some("0.05"));
    let cut = &chunks(&own, 2)[0]["candidates"][0];
    assert!(cut["content"].is_object() && cut.get("finishReason").is_none());
    assert_eq!(chunks(&own, 3), [Value::Null]);
    assert!(own.turns[4].answer(&mut 0).is_err());
    assert_eq!(own.turns[5], own.turns[6]);
}

#[test]
fn json_is_read_too() {
    let own = script(r#"{"turns": [{"calls": [{"name": "t"}], "repeat": 3}, {"text": ""}]}"#);
    assert_eq!(own.turns.len(), 4);
    let mut calls = 0;
    let bodies: Vec<String> = own
        .turns
        .iter()
        .map(|turn| turn.answer(&mut calls).expect("an answer").body)
        .collect();
    assert!(bodies[0].contains("call-1") && bodies[2].contains("call-3"));
}

const MISTAKES: &[(&str, &str)] = &[
    (
        "turns:\n- text: a\n- txet: b\n",
        "s.yaml, line 3: A model script has no key \"txet\" here. Did you mean text?",
    ),
    (
        "turn:\n- text: a\n",
        "line 1: A model script has no key \"turn\" here. Did you mean turns?",
    ),
    (
        "turns:\n- call: x\n",
        "line 2: A model script has no key \"call\" here. Did you mean calls?",
    ),
    (
        "turns:\n- calls:\n  - args: {}\n",
        "line 3: It is not a valid model script: missing field `name`.",
    ),
    ("prompt: x\n", "missing field `turns`."),
    (
        "turns:\n- fault: cutt\n",
        "line 2: \"cutt\" is not a valid value here. Did you mean cut?",
    ),
    (
        "turns:\n- fault: burn\n",
        "There are: cut, malformed, unreachable.",
    ),
    (
        "turns:\n- text: [a]\n",
        "line 2: It is not a valid model script: ",
    ),
    ("turns:\n- text: \"a\n", "line "),
    ("turns: []\n", "s.yaml: The script has no turns."),
    ("turns:\n- {}\n", "line 2: The turn is empty."),
    (
        "turns:\n- text: a\n- status: 200\n",
        "line 3: The status is not one of a failure",
    ),
    (
        "turns:\n- status: 429\n  text: a\n",
        "line 2: Some keys don't go together",
    ),
    (
        "turns:\n- text: a\n  retry_after: 1\n",
        "line 2: Some keys don't go together",
    ),
    (
        "turns:\n- status: 429\n  retry_after: -1\n",
        "a number of seconds from 0",
    ),
    (
        "turns:\n- fault: unreachable\n  text: a\n",
        "line 2: Some keys don't go together",
    ),
    (
        "turns:\n- fault: cut\n  text: a\n  finish: STOP\n",
        "line 2: Some keys don't go together",
    ),
    ("turns:\n- text: a\n  repeat: 0\n", "from 1 to 1000"),
    (
        "turns:\n- calls:\n  - name: t\n    expect: {state: succes}\n",
        "line 4: \"succes\" is not a valid value here. Did you mean success?",
    ),
    (
        "turns:\n- calls:\n  - name: t\n    expect: {contain: a}\n",
        "Did you mean contains?",
    ),
    (
        "turns:\n- text: a\n  text: b\n",
        "line 3: It is not a valid model script: ",
    ),
    ("", "s.yaml"),
];

#[test]
fn a_mistake_is_named_with_its_line_and_what_was_meant() {
    for (text, said) in MISTAKES {
        let e = parse(text).expect_err(text);
        assert!(e.contains(said), "{text}\n{e}");
        assert!(e.starts_with("s.yaml") && !e.contains('\n'), "{e}");
    }
}

#[test]
fn words_for_yes_and_no_are_texts_as_in_yaml_1_2() {
    let words = ["no", "No", "NO", "yes", "on", "Off", "y", "n"];
    for word in words {
        let own = script(&format!(
            "prompt: {word}\nturns:\n- text: {word}\n  calls:\n  - {{name: t, args: {{a: {word}, b: [{word}]}}}}\n"
        ));
        assert_eq!(own.prompt.as_deref(), Some(word));
        assert_eq!(own.turns[0].text.as_deref(), Some(word));
        let args = json!({"a": word, "b": [word]});
        assert_eq!(Value::Object(own.turns[0].calls[0].args.clone()), args);
    }
    let own =
        script("turns:\n- calls:\n  - {name: t, args: {a: true, b: False, c: ~, d: 'true'}}\n");
    let args = json!({"a": true, "b": false, "c": null, "d": "true"});
    assert_eq!(Value::Object(own.turns[0].calls[0].args.clone()), args);
}
