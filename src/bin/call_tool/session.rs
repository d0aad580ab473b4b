//! What calls need: settings, workspace and tools, opened once.

use crate::judge::Judge;
use crate::options::Options;
use crate::print::complain;
use gemini_tools::ToolRegistry;
use gemini_tools::answer::to_line;
use gemini_tools::builtin::{self, Surroundings};
use gemini_tools::custom;
use gemini_tools::dialect::restore;
use gemini_tools::mcp::Mcp;
use gemini_tools::policy::Decision;
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;
use gemini_tools::tool::{
    Args, Confirmation, Context, ErrorKind, ResultError, ToolError, ToolResult,
};
use gemini_tools::workspace::Workspace;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub(crate) struct Session {
    pub(crate) surroundings: Surroundings,
    registry: ToolRegistry,
    mcp: OnceLock<Option<Arc<Mcp>>>,
    judge: Judge,
}

impl Session {
    /// Opens everything for the current directory.
    pub(crate) fn open(options: &Options) -> Result<Self, ToolError> {
        let home = home();
        let root = std::env::current_dir().unwrap_or_default();
        let settings = Arc::new(Settings::load(home.as_deref(), &root));
        let judge = Judge::new(options, &settings, home.as_deref(), &root);
        let mut roots = settings.include_directories.clone();
        if let Some(more) = std::env::var_os("GEMINI_TOOLS_ROOTS") {
            roots.extend(std::env::split_paths(&more).filter(|p| !p.as_os_str().is_empty()));
        }
        let workspace = Arc::new(Workspace::open(&roots, home.as_deref())?);
        let mut registry = ToolRegistry::default();
        let surroundings = Surroundings {
            workspace,
            settings,
        };
        builtin::register(&mut registry, &surroundings)?;
        for source in custom::sources(&surroundings) {
            registry.add_source(source);
        }
        Ok(Self {
            surroundings,
            registry,
            mcp: OnceLock::new(),
            judge,
        })
    }

    /// MCP servers, where the settings name any. No call of another tool needs them.
    fn mcp(&self) -> Option<&Arc<Mcp>> {
        let open = || {
            let Surroundings {
                workspace,
                settings,
            } = &self.surroundings;
            let told: Vec<_> = workspace.roots().map(Path::to_owned).collect();
            Mcp::open(settings, workspace.home(), workspace.root(), &told)
        };
        self.mcp.get_or_init(open).as_ref()
    }

    /// Whether a call of this name leaves the world as it was, or fails at once.
    pub(crate) fn only_reads(&self, name: &str) -> bool {
        match self.registry.get(name) {
            Some(tool) => tool.is_read_only(),
            None => self.mcp().is_none_or(|mcp| mcp.is_read_only(name)),
        }
    }

    /// The tools among which `name` is looked for, and the tool's own name: those of MCP servers
    /// are made when they are first asked for.
    fn tools(
        &self,
        name: &str,
        cx: &Context,
    ) -> Result<(Cow<'_, ToolRegistry>, String), ToolError> {
        let ours = || Ok((Cow::Borrowed(&self.registry), name.to_owned()));
        if self.registry.get(name).is_some() {
            return ours();
        }
        let Some(mcp) = self.mcp() else {
            return ours();
        };
        let found = mcp.find(name, cx);
        if std::io::stderr().is_terminal() {
            for note in mcp.take_notes() {
                complain(&format!("call_tool: {}", visible(&note)));
            }
        }
        let Some(tool) = found? else {
            return ours();
        };
        let own = tool.name().to_owned();
        let mut all = self.registry.clone();
        all.share(tool)?;
        Ok((Cow::Owned(all), own))
    }

    /// Runs or explains a call.
    pub(crate) fn call(
        &self,
        options: &Options,
        name: &str,
        mut args: Value,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let (registry, name) = self.tools(name, cx)?;
        let name = name.as_str();
        let tool = registry
            .require(name)
            .map_err(|e| custom::explain_missing(&self.surroundings, name, e))?;
        if options.from.is_some() {
            restore(tool.parameters().value(), &mut args);
        }
        if options.strict {
            let unknown = tool.unknown_arguments(&Args::from_value(args.clone())?);
            if !unknown.is_empty() {
                return Err(ToolError::invalid(format!(
                    "The tool {} has no argument \"{}\".",
                    tool.name(),
                    unknown.join("\", \"")
                ))
                .with_hint("Without --strict it is ignored."));
            }
        }
        if options.explain {
            return self.explain(&registry, name, args, cx);
        }
        registry.execute_judged(name, args, cx, |tool, args| {
            self.judge.judge(tool, args, cx)
        })
    }

    /// What a call would do, and what the policy says of it.
    fn explain(
        &self,
        registry: &ToolRegistry,
        name: &str,
        args: Value,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let args = Args::from_value(args)?;
        let verdict = self.judge.verdict(registry.require(name)?, args.as_map());
        let is_denied = verdict.decision == Decision::Deny;
        let invocation = match registry.build(name, args, cx) {
            Ok(invocation) => invocation,
            Err(_) if is_denied => return Err(verdict.to_error()),
            Err(e) => return Err(e),
        };
        let confirmation = if is_denied {
            Confirmation::Forbidden(verdict.to_error().to_string())
        } else {
            invocation.confirmation(cx)?
        };
        if let (false, Confirmation::Forbidden(reason)) = (is_denied, &confirmation) {
            return Err(ToolError::new(ErrorKind::PolicyViolation, reason.clone()));
        }
        let explanation = json!({
            "description": invocation.describe(),
            "locations": invocation.locations(),
            "confirmation": confirmation.to_json(),
            "policy": verdict.to_json(),
        });
        let line = to_line(&explanation);
        let mut result = ToolResult::text(String::from_utf8_lossy(&line));
        if is_denied {
            result.error = Some(ResultError {
                kind: Some(ErrorKind::PolicyViolation),
                message: verdict.to_error().to_string(),
            });
        }
        Ok(result)
    }
}
