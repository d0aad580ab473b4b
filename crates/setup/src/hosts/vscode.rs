//! Visual Studio Code. It was not tried: its manual says what is here.

use super::{Host, HostFacts, NOT_DOCUMENTED};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;

pub(super) static HOST: Host = Host {
    name: "vscode",
    title: "VS Code",
    seen: "code.visualstudio.com, MCP reference, 2026",
    program: "code",
    package: "vscode",
    scope: SetupScope::Project,
    user_file: if cfg!(target_os = "macos") {
        "Library/Application Support/Code/User/mcp.json"
    } else {
        ".config/Code/User/mcp.json"
    },
    moved: None,
    project_file: ".vscode/mcp.json",
    user_skills: |home| home.join(SKILLS),
    project_skills: SKILLS,
    servers: "servers",
    syntax: Syntax::Lenient,
    needs: || vec![("type", "stdio".into())],
    facts: HostFacts {
        trust: "asks once",
        asks: "before each call",
        plan: NOT_DOCUMENTED,
        sandbox: "with `\"sandboxEnabled\": true`",
        variables: NOT_DOCUMENTED,
        answers: NOT_DOCUMENTED,
    },
    next: "MCP: List Servers in the Command Palette starts gemini-tools",
    passes: |_| true,
    check: |_, _| {},
};
