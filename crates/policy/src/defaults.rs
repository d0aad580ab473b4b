//! The decision if no rule matches. It depends on the tool's kind and on the mode, and has the
//! effect of the policies that Gemini CLI ships.

use super::{Decision, Inquiry, Mode, PolicyCall, Verdict};
use gemini_tools_core::tool::Kind;

/// Tools that only read, but that Gemini CLI does not offer in plan mode.
const NOT_FOR_PLANS: [&str; 3] = [
    "list_background_processes",
    "read_background_output",
    "read_many_files",
];

fn built_in(decision: Decision, priority: u16, rule: &str, reason: String) -> Verdict {
    Verdict {
        decision,
        rule: rule.to_owned(),
        priority,
        is_default: true,
        reason,
        ..Verdict::default()
    }
}

fn allow(priority: u16, rule: &str) -> Verdict {
    built_in(Decision::Allow, priority, rule, String::new())
}

fn only_looks(call: &PolicyCall<'_>) -> bool {
    matches!(call.kind, Kind::Read | Kind::Search) && call.server.is_none()
}

fn says_it_only_reads(call: &PolicyCall<'_>) -> bool {
    let hint = call.annotations.and_then(|a| a.get("readOnlyHint"));
    call.server.is_some() && hint == Some(&serde_json::Value::Bool(true))
}

pub(super) fn is_for_plans(call: &PolicyCall<'_>) -> bool {
    only_looks(call) && !NOT_FOR_PLANS.contains(&call.name)
        || call.kind == Kind::Fetch
        || says_it_only_reads(call)
}

pub(super) fn verdict(asked: Inquiry<'_>, edits_are_agreed: bool) -> Verdict {
    let Inquiry { call, mode, .. } = asked;
    let name = call.name;
    if mode == Mode::Yolo {
        return allow(998, "built in: in the mode yolo nothing asks");
    }
    if only_looks(call) && (mode != Mode::Plan || is_for_plans(call)) {
        return allow(50, "built in: reading and searching needs no approval");
    }
    if mode == Mode::Plan && !is_for_plans(call) {
        return built_in(
            Decision::Deny,
            40,
            "built in: plans are made with tools that read",
            format!("{name} may not run. Plans are made with read_file and its like only."),
        );
    }
    if mode == Mode::AutoEdit
        && matches!(call.kind, Kind::Edit | Kind::Fetch)
        && call.server.is_none()
    {
        return allow(
            15,
            "built in: in the mode auto_edit edits and pages need no approval",
        );
    }
    if edits_are_agreed && call.kind == Kind::Edit && call.is_built_in {
        return allow(15, "agreed to for the session: all edits");
    }
    ask(
        asked,
        10,
        "built in: every other call needs the user's approval",
    )
}

pub(super) fn ask(asked: Inquiry<'_>, priority: u16, rule: &str) -> Verdict {
    let need = format!("{} needs the user's approval", asked.call.name);
    let (decision, reason) = if asked.interactive {
        (Decision::AskUser, format!("{need}."))
    } else {
        let advice = "Go on without it, or say what it would have done.";
        let reason = format!("{need}, and no user can be asked. {advice}");
        (Decision::Deny, reason)
    };
    built_in(decision, priority, rule, reason)
}
