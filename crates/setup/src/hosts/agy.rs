//! Antigravity CLI. It was not tried: what is here is documented by others.

use super::{Host, HostFacts, NOT_DOCUMENTED};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;

pub(super) static HOST: Host = Host {
    name: "agy",
    title: "Antigravity CLI",
    seen: "antigravity.google/docs/mcp, 2026",
    program: "agy",
    package: "antigravity-cli",
    scope: SetupScope::User,
    user_file: ".gemini/config/mcp_config.json",
    moved: None,
    project_file: ".agents/mcp_config.json",
    user_skills: |home| home.join(".gemini/config/skills"),
    project_skills: SKILLS,
    servers: "mcpServers",
    syntax: Syntax::Lenient,
    needs: Vec::new,
    facts: HostFacts {
        trust: NOT_DOCUMENTED,
        asks: "as `toolPermission` says",
        plan: NOT_DOCUMENTED,
        sandbox: NOT_DOCUMENTED,
        variables: NOT_DOCUMENTED,
        answers: NOT_DOCUMENTED,
    },
    next: "restart agy; /mcp shows the server",
    passes: |_| true,
    check: |_, _| {},
};
