//! Cursor. It was not tried: its manual says what is here.

use super::{Host, HostFacts, NOT_DOCUMENTED};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;

pub(super) static HOST: Host = Host {
    name: "cursor",
    title: "Cursor",
    seen: "cursor.com/docs/mcp, October 2026",
    program: "cursor",
    package: "cursor",
    scope: SetupScope::Project,
    user_file: ".cursor/mcp.json",
    moved: None,
    project_file: ".cursor/mcp.json",
    user_skills: |home| home.join(SKILLS),
    project_skills: SKILLS,
    servers: "mcpServers",
    syntax: Syntax::Lenient,
    needs: || vec![("type", "stdio".into())],
    facts: HostFacts {
        trust: "turned on in Customize",
        asks: "before each call",
        plan: NOT_DOCUMENTED,
        sandbox: NOT_DOCUMENTED,
        variables: NOT_DOCUMENTED,
        answers: NOT_DOCUMENTED,
    },
    next: "restart Cursor, and turn gemini-tools on in Customize",
    passes: |_| true,
    check: |_, _| {},
};
