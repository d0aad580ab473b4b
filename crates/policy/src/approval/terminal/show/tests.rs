use super::{escape_controls, keys, page, question};
use crate::approval::terminal::tests::{call, edit, exec, explained, mcp};
use gemini_tools_core::tool::ConfirmationDetails;
use serde_json::json;

#[test]
fn nothing_gets_through_that_a_terminal_would_obey() {
    let text = "a\x1b[2Jb\u{202e}c\u{9b}1m\x07\r\n\td\u{200b}\u{e0041}é\x7f";
    assert_eq!(
        escape_controls(text, false),
        "a\\u{1b}[2Jb\\u{202e}c\\u{9b}1m\\u{7}\\r\\n\td\\u{200b}\\u{e0041}é\\u{7f}"
    );
}

#[test]
fn every_field_of_every_kind_is_made_harmless() {
    let odd = "x\x1b]0;title\x07\u{202e}";
    let own = || odd.to_owned();
    let kinds = [
        edit(odd, None, odd, odd),
        edit(odd, None, odd, ""),
        ConfirmationDetails::Exec {
            title: own(),
            command: own(),
            root_command: own(),
            root_commands: vec![own()],
            unresolved: vec![own()],
        },
        ConfirmationDetails::Info {
            title: own(),
            prompt: own(),
            urls: vec![own()],
        },
        ConfirmationDetails::Mcp {
            title: own(),
            server_name: own(),
            tool_name: own(),
            tool_display_name: own(),
        },
    ];
    for details in kinds.into_iter().map(Some).chain([None]) {
        let mut explanation = explained(details);
        explanation.description = own();
        let call = call(odd, json!({ odd: odd }));
        for whole in [false, true] {
            let text = page(&call.asked(&explanation), false, whole).text;
            assert!(
                text.chars().all(|c| c == '\n' || !super::is_deceptive(c)),
                "{text:?}"
            );
            assert!(text.contains("\\u{1b}]0;title"), "{text}");
        }
    }
}

#[test]
fn a_diff_has_colours_where_they_are_wanted() {
    let diff = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\x1b[0m\n--- x\n";
    let explanation = explained(Some(edit("a", Some("old\n"), "new\n", diff)));
    let call = call("write_file", json!({}));
    let plain = page(&call.asked(&explanation), false, false).text;
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let coloured = page(&call.asked(&explanation), true, false).text;
    for want in [
        "\x1b[1m--- a\x1b[0m\n",
        "\x1b[36m@@ -1 +1 @@\x1b[0m\n",
        "\x1b[31m-old\x1b[0m\n",
        "\x1b[32m+new\x1b[7m\\u{1b}\x1b[27m[0m\x1b[0m\n",
        "\x1b[31m--- x\x1b[0m\n",
    ] {
        assert!(coloured.contains(want), "{want:?} in {coloured:?}");
    }
}

#[test]
fn what_is_long_is_cut_until_all_of_it_is_wanted() {
    let diff: Vec<String> = (0..200).map(|i| format!("+line {i}\n")).collect();
    let diff = diff.concat();
    let explanation = explained(Some(edit("a", None, "", &diff)));
    let call = call("write_file", json!({}));
    let short = page(&call.asked(&explanation), false, false);
    assert!(short.is_cut);
    assert!(short.text.contains("… 150 lines more …"), "{}", short.text);
    assert!(short.text.contains("+line 34\n") && short.text.contains("+line 185\n"));
    assert!(!short.text.contains("+line 35\n") && !short.text.contains("+line 184\n"));
    let whole = page(&call.asked(&explanation), false, true);
    assert!(!whole.is_cut && whole.text.contains("+line 100\n"));

    let line = format!("{}; rm -rf ~", "é".repeat(1500));
    let wide = explained(Some(exec(&line, &["x"])));
    let short = page(&call.asked(&wide), false, false);
    let last = format!("é … 610 characters … {}; rm -rf ~\n", "é".repeat(190));
    assert!(short.is_cut && short.text.contains(&last), "{}", short.text);
    assert!(
        page(&call.asked(&wide), false, true)
            .text
            .contains(&"é".repeat(1500))
    );
}

#[test]
fn blanks_push_nothing_out_of_sight() {
    let hidden = format!(
        "echo hi{}; rm x{}y\n{}z",
        " ".repeat(5000),
        "\t".repeat(80),
        "\n".repeat(300)
    );
    let explanation = explained(Some(exec(&hidden, &["echo", "rm"])));
    let question = question(&call("run_shell_command", json!({})).asked(&explanation));
    let expected = format!(
        "May run_shell_command run?\n\n  echo hi[5000 blanks]; rm x{}y\n  … 300 blank lines …\n  z\n  Programs: echo, rm\n",
        "\t".repeat(80)
    );
    assert!(question.starts_with(&expected), "{question}");
}

#[test]
fn a_command_comes_before_the_words_about_it() {
    let mut explanation = explained(Some(exec("make", &["make"])));
    for (description, rest) in [
        ("`make` [in a] (builds)", "  [in a] (builds)"),
        ("`make`", "  Programs: make"),
        ("make", "  Programs: make"),
        ("`maker`", "  `maker`"),
    ] {
        explanation.description = description.to_owned();
        let question = question(&call("t", json!({})).asked(&explanation));
        assert!(question.starts_with("May t run?\n\n  make\n"), "{question}");
        assert_eq!(question.lines().last(), Some(rest));
    }
}

#[test]
fn the_keys_say_what_always_means() {
    let shell = call("run_shell_command", json!({}));
    let line = |details: &ConfirmationDetails| {
        keys(&shell.asked(&explained(Some(details.clone()))), false)
    };
    assert_eq!(
        line(&exec("git status", &["git"])),
        "[y]es  [a]lways (these programs)  [t]ool always  [e]dit  [n]o  [q]uit "
    );
    assert!(!line(&exec("$x", &[])).contains("[a]lways"));
    assert!(line(&edit("a", None, "", "")).contains("[a]lways (all edits)"));
    let other = call("t", json!({}));
    for details in [None, Some(exec("git status", &["git"]))] {
        let keys = keys(&other.asked(&explained(details)), true);
        assert!(keys.starts_with("[y]es  [a]lways (this tool)  [v]iew all"));
    }
    for details in [None, Some(exec("git status", &["git"])), Some(mcp())] {
        let mut explanation = explained(details);
        explanation.is_for_once = true;
        let keys = keys(&shell.asked(&explanation), true);
        assert_eq!(keys, "[y]es  [v]iew all  [e]dit  [n]o  [q]uit ");
    }
}
