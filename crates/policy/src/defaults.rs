//! Decisions without a rule: the effect of the policies that Gemini CLI ships, by the kind of a
//! tool.

use super::{Decision, Inquiry, Mode, PolicyCall, Tier, Verdict};
use gemini_tools_core::tool::Kind;
use std::path::{Component, Path};

/// Names of files that say what a build runs (Gemini CLI 0.61 guards the same).
const BUILD_FILES: &str = "\
    .bazelrc .blazerc BUILD BUILD.bazel CMakeLists.txt Cargo.lock Cargo.toml Containerfile \
    Dockerfile GNUmakefile MODULE.bazel Makefile WORKSPACE WORKSPACE.bazel build.gradle \
    build.gradle.kts bun.lockb go.mod go.sum makefile package-lock.json package.json \
    pnpm-lock.yaml pom.xml pyproject.toml settings.gradle settings.gradle.kts setup.cfg setup.py \
    yarn.lock";

/// Endings of such files.
const BUILD_ENDINGS: [&str; 5] = ["bzl", "bazel", "bzlmod", "mk", "cmake"];

/// Words in the names of tools that change files.
const EDIT_WORDS: [&str; 8] = [
    "write", "edit", "replace", "patch", "update", "create", "append", "save",
];

/// Arguments that name the file that is changed.
const PATH_ARGUMENTS: [&str; 5] = ["file_path", "absolute_path", "path", "filePath", "file"];

/// Tools that read, and that are not among those with which Gemini CLI makes plans.
const NOT_FOR_PLANS: [&str; 3] = [
    "list_background_processes",
    "read_background_output",
    "read_many_files",
];

fn built_in(decision: Decision, priority: u16, rule: &str, reason: String) -> Verdict {
    Verdict {
        decision,
        rule: rule.to_owned(),
        file: None,
        tier: Tier::Default,
        priority,
        is_default: true,
        reason,
        understood: None,
    }
}

fn allow(priority: u16, rule: &str) -> Verdict {
    built_in(Decision::Allow, priority, rule, String::new())
}

/// Returns true if the tool only looks at what is here, or searches the web.
fn only_looks(call: &PolicyCall<'_>) -> bool {
    matches!(call.kind, Kind::Read | Kind::Search) && call.server.is_none()
}

fn says_it_only_reads(call: &PolicyCall<'_>) -> bool {
    let hint = call.annotations.and_then(|a| a.get("readOnlyHint"));
    call.server.is_some() && hint == Some(&serde_json::Value::Bool(true))
}

/// Returns true if a plan can be made with the tool.
pub(super) fn is_for_plans(call: &PolicyCall<'_>) -> bool {
    only_looks(call) && !NOT_FOR_PLANS.contains(&call.name)
        || call.kind == Kind::Fetch
        || says_it_only_reads(call)
}

/// Returns the built-in rules, the highest first. `edits_are_agreed` is whether a person has agreed to
/// all edits of the session.
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

/// Asks where there is a user to ask, and else denies.
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

/// Asks about changes of files that say what a build runs. In the mode yolo commands run as they like, and
/// the guard would stop nothing.
pub(super) fn guard_build_files(asked: Inquiry<'_>, verdict: Verdict, root: &Path) -> Verdict {
    let call = asked.call;
    if verdict.decision != Decision::Allow || asked.mode == Mode::Yolo {
        return verdict;
    }
    let edits = call.kind == Kind::Edit
        || call
            .name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| EDIT_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    let path = || {
        let mut paths = PATH_ARGUMENTS
            .iter()
            .filter_map(|key| call.args.get(*key)?.as_str());
        paths.find(|path| is_build_file(path) || is_build_file(&opened(path, root)))
    };
    if !edits || path().is_none() {
        return verdict;
    }
    ask(
        asked,
        999,
        "built in: files that say what a build runs change with the user's approval",
    )
}

/// Returns the path of the file that an edit opens: links are followed, also one that leads to a file that is not there.
fn opened(path: &str, root: &Path) -> String {
    /// The number of links that Linux follows.
    const MAX_LINKS: usize = 40;
    let mut path = root.join(path.trim());
    for _ in 0..MAX_LINKS {
        if let Ok(real) = std::fs::canonicalize(&path) {
            return real.to_string_lossy().into_owned();
        }
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(root).join(target),
            Err(_) => break,
        }
    }
    path.to_string_lossy().into_owned()
}

fn is_build_file(path: &str) -> bool {
    let path = path.trim().replace('\0', "").replace('\\', "/");
    let path = Path::new(&path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    // Git runs what its settings and hooks say.
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    BUILD_FILES.split(' ').any(|file| file == name)
        || path.components().any(is_git)
        || name.starts_with("Dockerfile.")
        || name.starts_with("Containerfile.")
        || BUILD_ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}
