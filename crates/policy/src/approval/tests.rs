//! Tests of the gate, with a call and a list of answers.

use super::{
    ApprovalReply, ArgumentChange, Explanation, Gate, GateError, GatedCall, MAX_CHANGES, Pass,
};
use crate::{Mode, Policy, PolicyCall, Tier};
use gemini_tools_core::tool::{Cancellation, ConfirmationDetails, Kind, ServerTool};
use gemini_tools_settings::settings::Settings;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

struct ScriptedCall {
    name: &'static str,
    kind: Kind,
    args: Map<String, Value>,
    confirmation: Option<ConfirmationDetails>,
    replies: Option<VecDeque<ApprovalReply>>,
    cancel: Cancellation,
    questions: usize,
    explanations: usize,
    ends_meanwhile: bool,
}

impl ScriptedCall {
    fn new(name: &'static str, kind: Kind, replies: &[ApprovalReply]) -> Self {
        Self {
            name,
            kind,
            args: Map::new(),
            confirmation: Some(ConfirmationDetails::Info {
                title: String::new(),
                prompt: String::new(),
                urls: Vec::new(),
            }),
            replies: Some(replies.iter().cloned().collect()),
            cancel: Cancellation::default(),
            questions: 0,
            explanations: 0,
            ends_meanwhile: false,
        }
    }

    fn shell(line: &str, replies: &[ApprovalReply]) -> Self {
        let programs = line.split(' ').take(1).map(str::to_owned);
        let mut asked = Self::new("run_shell_command", Kind::Execute, replies);
        asked.args.insert("command".to_owned(), Value::from(line));
        asked.confirmation = Some(ConfirmationDetails::Exec {
            title: String::new(),
            command: line.to_owned(),
            root_command: String::new(),
            root_commands: programs.collect(),
            unresolved: Vec::new(),
        });
        asked
    }
}

impl GatedCall for ScriptedCall {
    type Error = &'static str;

    fn call(&self) -> PolicyCall<'_> {
        PolicyCall {
            kind: self.kind,
            is_built_in: self.name == "run_shell_command",
            ..PolicyCall::of_tool(self.name, &[], &self.args)
        }
    }

    fn validate(&self) -> Result<(), &'static str> {
        if self.args.contains_key("wrong") {
            Err("wrong")
        } else {
            Ok(())
        }
    }

    fn can_ask(&self) -> bool {
        self.replies.is_some()
    }

    fn cancel(&self) -> &Cancellation {
        &self.cancel
    }

    fn explain(&mut self) -> Result<Explanation, &'static str> {
        self.explanations += 1;
        Ok(Explanation {
            confirmation: self.confirmation.clone(),
            ..Explanation::default()
        })
    }

    fn ask(&mut self, _: &Explanation) -> Option<ApprovalReply> {
        self.questions += 1;
        if self.ends_meanwhile {
            self.cancel.cancel();
        }
        self.replies.as_mut()?.pop_front()
    }

    fn change(&mut self, changed: ArgumentChange) -> Result<(), &'static str> {
        self.args = changed.args;
        if self.args.contains_key("wrong") {
            return Err("wrong");
        }
        Ok(())
    }
}

fn gate(mode: Option<Mode>, allowed: &[&str], excluded: &[&str]) -> Gate {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let mut settings = Settings::default();
    settings.allowed.users = own(allowed);
    settings.exclude = own(excluded);
    Gate::new(Policy::from_texts(&[], &settings, Path::new("/")), mode)
}

fn policy(rules: &[&str]) -> Policy {
    let file = |rule: &&str| (Tier::User, PathBuf::from("/rules.toml"), (*rule).to_owned());
    let files: Vec<_> = rules.iter().map(file).collect();
    Policy::from_texts(&files, &Settings::default(), Path::new("/"))
}

/// Returns `rule` or `person`, whichever lets the call pass, or else the reason of the refusal.
fn outcome(gate: &Gate, asked: &mut ScriptedCall) -> &'static str {
    match gate.pass(asked) {
        Ok(Pass { is_by_person, .. }) => ["rule", "person"][usize::from(is_by_person)],
        Err(GateError::Denied(_)) => "denied",
        Err(GateError::NoAnswer(_)) => "not asked",
        Err(GateError::No { stops }) => ["no", "stop"][usize::from(stops)],
        Err(GateError::NotShown(_)) => "not shown",
        Err(GateError::ChangedTooOften) => "changed too often",
        Err(GateError::Cancelled) => "cancelled",
        Err(GateError::Failed(why)) => why,
    }
}

fn changed(args: Value) -> ApprovalReply {
    let Value::Object(args) = args else {
        unreachable!("arguments are objects");
    };
    ApprovalReply::Change(ArgumentChange {
        args,
        added: 0,
        removed: 0,
    })
}

#[test]
fn modes_ask_for_what_they_say() {
    use Mode as M;
    for (mode, kind, want) in [
        (M::Default, Kind::Read, "rule"),
        (M::Default, Kind::Edit, "person"),
        (M::Default, Kind::Execute, "person"),
        (M::Default, Kind::Other, "person"),
        (M::AutoEdit, Kind::Edit, "rule"),
        (M::AutoEdit, Kind::Execute, "person"),
        (M::Yolo, Kind::Execute, "rule"),
        (M::Plan, Kind::Search, "rule"),
        (M::Plan, Kind::Edit, "denied"),
        (M::Plan, Kind::Execute, "denied"),
        (M::Plan, Kind::Other, "denied"),
        (M::Plan, Kind::Think, "denied"),
    ] {
        let mut asked = ScriptedCall::new("t", kind, &[ApprovalReply::Once]);
        let gate = gate(Some(mode), &[], &[]);
        assert_eq!(outcome(&gate, &mut asked), want, "{mode:?} {kind:?}");
        assert_eq!(asked.questions, usize::from(want == "person"));
    }
}

#[test]
fn rules_for_commands_count_for_every_command_of_a_line() {
    let gate = gate(
        Some(Mode::Default),
        &["run_shell_command(git)", "ShellTool(ls)"],
        &["run_shell_command(git push)"],
    );
    for (line, want) in [
        ("git status && ls -l", "rule"),
        ("git status; make", "no"),
        ("git status $(make)", "no"),
        ("git push", "denied"),
        ("ls; git push origin", "denied"),
        ("bash -c 'git push'", "denied"),
    ] {
        let mut asked = ScriptedCall::shell(line, &[ApprovalReply::No]);
        assert_eq!(outcome(&gate, &mut asked), want, "{line}");
    }
}

#[test]
fn a_rule_that_asks_is_not_outvoted_and_what_needs_no_question_is_not_asked_about() {
    let rule = "[[rule]]\ntoolName = \"t\"\ndecision = \"ask_user\"\npriority = 10\n";
    for (rules, want) in [(&[][..], "rule"), (&[rule][..], "person")] {
        let policy = policy(rules);
        let gate = Gate::new(policy, Some(Mode::Default));
        let mut asked = ScriptedCall::new("t", Kind::Other, &[ApprovalReply::Once]);
        asked.confirmation = None;
        assert_eq!(outcome(&gate, &mut asked), want, "{rules:?}");
    }
}

#[test]
fn what_is_excluded_stays_so_in_every_mode() {
    let gate = gate(Some(Mode::Yolo), &["t"], &["discovered_tool_t"]);
    let mut asked = ScriptedCall::new("t", Kind::Read, &[]);
    assert!(!gate.shows(&asked.call(), true));
    assert_eq!(outcome(&gate, &mut asked), "denied");
}

#[test]
fn what_a_person_agreed_to_is_not_asked_again() {
    let gate = gate(Some(Mode::Default), &[], &[]);
    for (line, reply, want) in [
        ("make", ApprovalReply::Once, "person"),
        ("make", ApprovalReply::Always, "person"),
        ("make all", ApprovalReply::No, "rule"),
        ("make; rm x", ApprovalReply::No, "no"),
        ("make; rm x", ApprovalReply::AlwaysTool, "person"),
        ("rm x", ApprovalReply::No, "rule"),
    ] {
        let mut asked = ScriptedCall::shell(line, std::slice::from_ref(&reply));
        assert_eq!(outcome(&gate, &mut asked), want, "{line} {reply:?}");
    }
}

#[test]
fn a_yes_to_all_edits_is_for_every_tool_that_edits_and_for_no_other() {
    let gate = gate(Some(Mode::Default), &[], &[]);
    let edit = |name, replies: &[ApprovalReply]| {
        let mut asked = ScriptedCall::new(name, Kind::Edit, replies);
        asked.confirmation = Some(ConfirmationDetails::Edit {
            title: String::new(),
            file_name: "a".to_owned(),
            file_path: "/a".to_owned(),
            file_diff: String::new(),
            original_content: None,
            new_content: String::new(),
            files: Vec::new(),
        });
        asked
    };
    let built_in = |gate: &Gate, name| {
        let args = Map::new();
        let call = PolicyCall {
            kind: Kind::Edit,
            is_built_in: true,
            ..PolicyCall::of_tool(name, &[], &args)
        };
        gate.verdict(&call, true).decision.name()
    };
    assert_eq!(built_in(&gate, "replace"), "ask_user");
    let mut asked = edit("write_file", &[ApprovalReply::Always]);
    assert_eq!(outcome(&gate, &mut asked), "person");
    assert_eq!(built_in(&gate, "replace"), "allow");
    let mut stranger = edit("t", &[ApprovalReply::No]);
    assert_eq!(outcome(&gate, &mut stranger), "no");
}

#[test]
fn changed_arguments_are_judged_again() {
    let gate = gate(Some(Mode::Default), &[], &["run_shell_command(git push)"]);
    for (to, want) in [
        (json!({"command": "git push"}), "denied"),
        (json!({"command": "make all"}), "stop"),
        (json!({"wrong": true}), "wrong"),
    ] {
        let mut asked = ScriptedCall::shell("make", &[changed(to.clone()), ApprovalReply::Stop]);
        assert_eq!(outcome(&gate, &mut asked), want, "{to}");
    }
    let endless = vec![changed(json!({"command": "make"})); MAX_CHANGES + 1];
    let mut asked = ScriptedCall::shell("make", &endless);
    assert_eq!(outcome(&gate, &mut asked), "changed too often");
    assert_eq!(asked.questions, MAX_CHANGES);
}

#[test]
fn without_a_person_or_an_answer_nothing_passes_that_must_be_asked_about() {
    let gate = gate(Some(Mode::Default), &[], &[]);
    let mut asked = ScriptedCall::shell("make", &[]);
    assert_eq!(outcome(&gate, &mut asked), "not asked");
    asked.replies = None;
    assert_eq!(outcome(&gate, &mut asked), "denied");
    asked.replies = Some([ApprovalReply::NotShown("too long".to_owned())].into());
    assert_eq!(outcome(&gate, &mut asked), "not shown");
}

#[test]
fn a_call_is_not_looked_into_where_nobody_can_be_asked_about_it() {
    let rule = "[[rule]]\ntoolName = \"t\"\ndecision = \"ask_user\"\npriority = 10\n";
    let gate = Gate::new(policy(&[rule]), Some(Mode::Default));
    let mut asked = ScriptedCall::new("t", Kind::Edit, &[]);
    asked.replies = None;
    assert_eq!(outcome(&gate, &mut asked), "not asked");
    assert_eq!(asked.explanations, 0);
}

#[test]
fn a_question_that_ends_with_the_call_is_no_answer() {
    let gate = gate(Some(Mode::Default), &[], &[]);
    let mut asked = ScriptedCall::shell("make", &[ApprovalReply::Stop]);
    asked.ends_meanwhile = true;
    assert_eq!(outcome(&gate, &mut asked), "cancelled");
    assert_eq!(asked.questions, 1);
    asked.replies = Some([ApprovalReply::Once].into());
    assert_eq!(outcome(&gate, &mut asked), "cancelled");
    assert_eq!(asked.questions, 1);
}

#[test]
fn where_the_host_has_asked_only_rules_that_deny_count() {
    let gate = gate(None, &[], &["run_shell_command(git push)"]);
    for (line, want) in [("make", "rule"), ("git push", "denied")] {
        let mut asked = ScriptedCall::shell(line, &[]);
        asked.replies = None;
        assert_eq!(outcome(&gate, &mut asked), want, "{line}");
    }
}

#[test]
fn whose_a_tool_is_may_be_known_only_once_it_is_explained() {
    let deny = "[[rule]]\nmcpName = \"docs\"\ndecision = \"deny\"\npriority = 10\n";
    let ask = "[[rule]]\ntoolName = \"find\"\ndecision = \"ask_user\"\npriority = 5\n";
    for rules in [&[deny][..], &[deny, ask]] {
        let gate = Gate::new(policy(rules), Some(Mode::Default));
        let mut asked = ScriptedCall::new("find", Kind::Other, &[ApprovalReply::Once]);
        asked.confirmation = Some(ConfirmationDetails::Mcp {
            title: String::new(),
            server_name: "docs".to_owned(),
            tool_name: "find".to_owned(),
            tool_display_name: "find".to_owned(),
        });
        assert_eq!(outcome(&gate, &mut asked), "denied");
        assert_eq!(asked.questions, 0);
        assert!(!shows_of_docs(&gate, &asked));
    }
}

fn shows_of_docs(gate: &Gate, asked: &ScriptedCall) -> bool {
    let server = ServerTool {
        name: "docs",
        tool: "find",
    };
    let server = Some(server);
    let call = PolicyCall {
        server,
        ..asked.call()
    };
    gate.shows(&call, true)
}
