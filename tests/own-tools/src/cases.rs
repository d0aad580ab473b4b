//! What a program may do to sessions and calls besides one call, each by its name; the result says what came of it.

use super::{Person, mark};
use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_core::tool::{ApprovalMode, Cancellation, Context, ToolError};
use gemini_tools_session::{CallOptions, PolicyOptions, Project, Session, SharedPrompt};
use gemini_tools_workspace::seen::UnseenChanges;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

pub(super) fn play(case: &str, root: &Path) -> Option<Result<String, ToolError>> {
    Some(match case {
        "agents" => agents(root),
        "home" => homes(root, false),
        "later_home" => homes(root, true),
        "gone" => gone(root),
        "names" => names(root),
        "registry_cancelled" => cancelled_before(),
        _ => return cancelled(case.strip_prefix("cancelled_")?, root),
    })
}

fn made(session: &Session, name: &str, args: Value) -> Result<String, ToolError> {
    let call = session.run(name, args, CallOptions::default(), &mut Context::default());
    Ok(json!(call.outcome?.llm_content).to_string())
}

/// Of three sessions the last opened does not look for unseen changes, and only the second reads what somebody else has
/// written. Then the first writes.
fn agents(root: &Path) -> Result<String, ToolError> {
    let open = |unseen| {
        let mut project = Project::open(root);
        Arc::make_mut(&mut project.settings).unseen_changes = unseen;
        Session::of_project(project, &[], &PolicyOptions::default())
    };
    let own = open(UnseenChanges::Refuse)?;
    let (other, _last) = (open(UnseenChanges::Refuse)?, open(UnseenChanges::Off)?);
    let read = |session| made(session, "read_file", json!({"absolute_path": "a.txt"}));
    write(&root.join("a.txt"), "first")?;
    read(&own)?;
    thread::sleep(Duration::from_millis(100));
    write(&root.join("a.txt"), "somebody's")?;
    read(&other)?;
    made(
        &own,
        "write_file",
        json!({"file_path": "a.txt", "content": "own"}),
    )
}

/// A session with another home directory than the first of the process, in the project or in the environment.
#[expect(unsafe_code, reason = "no other thread runs yet")]
fn homes(root: &Path, is_later: bool) -> Result<String, ToolError> {
    let rules = PolicyOptions::default();
    Session::open(root, &[], &rules)?;
    let home = root.join("another");
    let mut project = Project::open(root);
    if is_later {
        unsafe { std::env::set_var("GEMINI_CLI_HOME", &home) };
        project = Project::open(root);
    } else {
        project.home = Some(home);
    }
    let session = Session::of_project(project, &[], &rules)?;
    made(
        &session,
        "run_shell_command",
        json!({"command": "touch made"}),
    )
}

fn gone(root: &Path) -> Result<String, ToolError> {
    let session = Session::open(root, &[], &PolicyOptions::default())?;
    fs::remove_dir_all(root).map_err(|e| ToolError::failed(e.to_string()))?;
    made(
        &session,
        "write_file",
        json!({"file_path": "a/b.txt", "content": ""}),
    )
}

fn names(root: &Path) -> Result<String, ToolError> {
    let mut session = Session::open(root, &[], &PolicyOptions::default())?;
    session.add_tool(mark("srv__shout"))?;
    let ours = session.visible_tools(true).into_iter();
    let ours = ours.map(|tool| tool.name().to_owned());
    let theirs = session.visible_server_tools(true, &Cancellation::default());
    let all: Vec<String> = ours
        .chain(theirs.iter().map(|tool| tool.name.clone()))
        .collect();
    Ok(all.join("\n"))
}

fn cancelled_before() -> Result<String, ToolError> {
    let mut tools = ToolRegistry::default();
    tools.register(mark("mark"))?;
    let cx = Context::default();
    cx.cancel.cancel();
    tools.execute("mark", json!({}), &cx).map(|_| String::new())
}

/// Cancels a call before it begins, while a person is asked, or while it waits to ask.
fn cancelled(when: &str, root: &Path) -> Option<Result<String, ToolError>> {
    let mut cx = Context::default();
    let cancel = cx.cancel.clone();
    let mut rules = PolicyOptions::default();
    rules.approval = (when != "unjudged").then_some(ApprovalMode::Default);
    let mut session = Session::open(root, &[], &rules).ok()?;
    session.add_tool(mark("mark")).ok()?;
    let mut asked = Person::default();
    match when {
        "asked" => asked.cancels = Some(cancel.clone()),
        "before" | "unjudged" => cancel.cancel(),
        _ => {}
    }
    let person: SharedPrompt = SharedPrompt::new(Box::new(asked));
    let another = person.lock().unwrap_or_else(PoisonError::into_inner);
    Some(thread::scope(|scope| {
        let call = scope.spawn(|| {
            let mut options = CallOptions::default();
            options.person = Some(&person);
            let call = session.run("mark", json!({}), options, &mut cx);
            call.outcome.map(|_| String::new())
        });
        if when == "waiting" {
            thread::sleep(Duration::from_millis(500));
            cancel.cancel();
        }
        drop(another);
        call.join().expect("no panic")
    }))
}

fn write(path: &Path, text: &str) -> Result<(), ToolError> {
    fs::write(path, text).map_err(|e| ToolError::failed(e.to_string()))
}
