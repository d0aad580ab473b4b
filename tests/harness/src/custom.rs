//! Tools of a user, and calls of them.

use serde_json::Value;

use crate::{Answer, Call, Workspace};

/// Where catalogues are kept.
pub const KEPT: &[&str] = &[".gemini/tmp"];

/// A manifest that prints its arguments one by one, each in brackets.
pub const SHOW: &str = r#"
description = "Shows its arguments."
command = ["printf", "[%s]", "{text}", "--n={n}"]
[params.text]
type = "string"
required = true
description = "A text."
[params.n]
type = "integer"
default = 7
minimum = 1
description = "A number."
"#;

/// A script that prints what it was given.
pub const SCRIPT: &str = r#"#!/bin/sh
# /// tool
# description = "Tells what it got."
# [params.text]
# type = "string"
# default = "none"
# description = "A text."
# [params.list]
# type = "array"
# items = "integer"
# description = "Some numbers."
# ///
cat
echo
echo "$PARAM_TEXT ${PARAM_LIST-unset} $GEMINI_TOOL_NAME"
"#;

/// Starts to describe a call of a custom tool, which may keep a catalogue.
pub fn tool<'a>(ws: &'a Workspace, name: &str, arguments: &Value) -> Call<'a> {
    ws.tool(name).arguments(arguments).changing_at_home(KEPT)
}

/// Calls a custom tool.
#[track_caller]
pub fn call(ws: &Workspace, name: &str, arguments: &Value) -> Answer {
    tool(ws, name, arguments).run()
}

/// A workspace with a file among the user's tools.
pub fn with(name: &str, content: &str) -> Workspace {
    Workspace::new().home(format!(".gemini/tools/{name}").as_str(), content)
}

/// The names of the tools that are declared and are not built in.
pub fn declared(ws: &Workspace) -> Vec<String> {
    let built_in = Workspace::new().get_tools(&[]).run().json();
    let built_in: Vec<Value> = names(&built_in);
    let all = ws.get_tools(&[]).changing_at_home(KEPT).run().json();
    names(&all)
        .iter()
        .filter(|name| !built_in.contains(name))
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

/// The names in a list of declarations.
pub fn names(list: &Value) -> Vec<Value> {
    let list = list.as_array().expect("a list");
    list.iter().map(|tool| tool["name"].clone()).collect()
}
