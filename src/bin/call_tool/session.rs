//! What calls need: settings, workspace and tools, opened once.

use crate::options::Options;
use gemini_tools::ToolRegistry;
use gemini_tools::answer::to_line;
use gemini_tools::builtin::{self, Surroundings};
use gemini_tools::custom;
use gemini_tools::settings::{Settings, home};
use gemini_tools::tool::{Args, Confirmation, Context, ErrorKind, ToolError, ToolResult};
use gemini_tools::workspace::Workspace;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) struct Session {
    pub(crate) settings: Arc<Settings>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) registry: ToolRegistry,
}

impl Session {
    /// Opens everything for the current directory.
    pub(crate) fn open() -> Result<Self, ToolError> {
        let home = home();
        let root = std::env::current_dir().unwrap_or_default();
        let settings = Arc::new(Settings::load(home.as_deref(), &root));
        let mut roots = settings.include_directories.clone();
        if let Some(more) = std::env::var_os("GEMINI_TOOLS_ROOTS") {
            roots.extend(std::env::split_paths(&more).filter(|p| !p.as_os_str().is_empty()));
        }
        let workspace = Arc::new(Workspace::open(&roots, home.as_deref())?);
        let mut registry = ToolRegistry::default();
        let surroundings = Surroundings {
            workspace: Arc::clone(&workspace),
            settings: Arc::clone(&settings),
        };
        builtin::register(&mut registry, &surroundings)?;
        for source in custom::sources(&surroundings) {
            registry.add_source(source);
        }
        Ok(Self {
            settings,
            workspace,
            registry,
        })
    }

    /// Says so where the project has tools that don't count.
    fn explain_missing(&self, mut error: ToolError) -> ToolError {
        let custom = custom::open(self.workspace.home(), self.workspace.root());
        if let Some(dir) = custom.left_out() {
            let hint = error.hint.unwrap_or_default();
            error.hint = Some(format!("{hint} {}", custom::untrusted(dir)).trim().to_owned());
        }
        error
    }

    /// Runs or explains a call.
    pub(crate) fn call(
        &self,
        options: &Options,
        name: &str,
        args: Value,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let tool = self.registry.require(name).map_err(|e| self.explain_missing(e))?;
        let names: Vec<&str> = std::iter::once(tool.name())
            .chain(tool.aliases().iter().copied())
            .collect();
        if !self.settings.allows(&names) {
            return Err(ToolError::new(
                ErrorKind::PolicyViolation,
                format!(
                    "The tool {} is excluded by .gemini/settings.json.",
                    tool.name()
                ),
            )
            .with_hint("See tools.core and tools.exclude there, and in the user's own settings."));
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
        if !options.explain {
            return self.registry.execute(name, args, cx);
        }
        let invocation = self.registry.build(name, Args::from_value(args)?, cx)?;
        let confirmation = invocation.confirmation(cx)?;
        if let Confirmation::Forbidden(reason) = confirmation {
            return Err(ToolError::new(ErrorKind::PolicyViolation, reason));
        }
        let explanation = json!({
            "description": invocation.describe(),
            "locations": invocation.locations(),
            "confirmation": confirmation.to_json(),
        });
        let line = to_line(&explanation);
        Ok(ToolResult::text(String::from_utf8_lossy(&line)))
    }
}
