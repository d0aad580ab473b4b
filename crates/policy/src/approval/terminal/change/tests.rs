use super::{EditOutcome, changed_lines, proposal};
use crate::approval::ApprovalReply;
use crate::approval::terminal::tests::{call, edit, exec, explained};
use serde_json::{Value, json};

fn changed(edited: EditOutcome) -> (Value, u64, u64) {
    match edited {
        EditOutcome::Change(ApprovalReply::Change(changed)) => {
            (Value::Object(changed.args), changed.added, changed.removed)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_are_counted_as_a_diff_has_them() {
    for (proposed, edited, want) in [
        ("", "", (0, 0)),
        ("a\nb\n", "a\nb\n", (0, 0)),
        ("a\nb\n", "a\nc\n", (1, 1)),
        ("a\n", "a\nb\nc\n", (2, 0)),
        ("a\nb\n", "", (0, 2)),
        ("a", "a\n", (1, 1)),
    ] {
        assert_eq!(
            changed_lines(proposed, edited),
            want,
            "{proposed:?} {edited:?}"
        );
    }
}

#[test]
fn a_written_file_is_edited_as_its_content() {
    let details = explained(Some(edit("a.py", Some("old\n"), "new\n", "")));
    let call = call(
        "write_file",
        json!({"file_path": "a.py", "content": "new\n"}),
    );
    let question = call.asked(&details);
    let proposal = proposal(&question);
    assert_eq!((&*proposal.name, &*proposal.text), ("a.py", "new\n"));
    assert_eq!(
        changed(proposal.applied(&question, "new\nmore\n")),
        (json!({"file_path": "a.py", "content": "new\nmore\n"}), 1, 0)
    );
    assert!(matches!(
        proposal.applied(&question, "new\n"),
        EditOutcome::Unchanged(_)
    ));
}

#[test]
fn a_replacement_is_edited_as_the_whole_file() {
    let details = explained(Some(edit("a", Some("x\nx\n"), "y\nx\n", "")));
    for (name, given, want) in [
        (
            "replace",
            json!({"path": "a", "old_string": "x", "new_string": "y", "allow_multiple": true}),
            json!({"path": "a", "old_string": "x\nx\n", "new_string": "z\nx\n",
                   "expected_replacements": 1}),
        ),
        (
            "discovered_tool_smart_edit",
            json!({"path": "a", "instruction": "i", "old_string": "x", "new_string": "y"}),
            json!({"path": "a", "instruction": "i", "old_string": "x\nx\n",
                   "new_string": "z\nx\n"}),
        ),
    ] {
        let call = call(name, given);
        let question = call.asked(&details);
        let proposal = proposal(&question);
        assert_eq!(proposal.text, "y\nx\n");
        assert_eq!(changed(proposal.applied(&question, "z\nx\n")), (want, 1, 1));
        assert!(matches!(
            proposal.applied(&question, "x\nx\n"),
            EditOutcome::Unchanged(_)
        ));
    }
}

#[test]
fn anything_else_is_edited_as_its_arguments() {
    let args = json!({"old_string": "", "new_string": "a\nb\n"});
    for (name, details) in [
        ("replace", Some(edit("a", None, "a\nb\n", ""))),
        ("replace", Some(edit("a", Some(""), "a\nb\n", ""))),
        ("save_memory", Some(edit("a", Some("x"), "y", ""))),
        ("run_shell_command", Some(exec("make", &["make"]))),
        ("other", None),
    ] {
        let (call, details) = (call(name, args.clone()), explained(details));
        let question = call.asked(&details);
        let proposal = proposal(&question);
        assert_eq!(proposal.name, format!("{name}.json"));
        let edited = proposal.text.replace("a\\nb", "a\\nc\\nd");
        assert_eq!(
            changed(proposal.applied(&question, &edited)),
            (json!({"old_string": "", "new_string": "a\nc\nd\n"}), 0, 0)
        );
        let respaced = proposal.text.replace('\n', "");
        let applied = proposal.applied(&question, &respaced);
        assert!(matches!(applied, EditOutcome::Unchanged(_)), "{applied:?}");
    }
}

#[test]
fn broken_json_is_shown_with_its_line() {
    let (call, details) = (call("other", json!({"a": 1})), explained(None));
    let question = call.asked(&details);
    let proposal = proposal(&question);
    let EditOutcome::Invalid(why) = proposal.applied(&question, "{\n  \"a\" 2\n}\n") else {
        panic!("a call");
    };
    assert!(why.contains("line 2") && why.ends_with("\"a\" 2"), "{why}");
    let list = proposal.applied(&question, "[1]");
    assert!(matches!(list, EditOutcome::Invalid(_)), "{list:?}");
}
