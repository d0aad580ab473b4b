//! A tool made of a function.

use super::{
    Args, Confirmation, ConfirmationDetails, Context, Kind, Schema, Tool, ToolError, ToolInfo,
    ToolInvocation, ToolResult,
};
use serde::de::DeserializeOwned;
use std::sync::Arc;

type Run<P> = dyn Fn(P, &Context) -> Result<ToolResult, ToolError> + Send + Sync;

/// A tool whose calls run a function, which gets the arguments as a value of `P`. A tool that says
/// more about a call, such as the paths that it touches, implements [`Tool`] itself.
pub struct FunctionTool<P> {
    name: String,
    description: String,
    schema: Schema,
    /// The kind of a call that may change something; `None` if calls of this tool only read.
    changes: Option<Kind>,
    run: Arc<Run<P>>,
}

impl<P> std::fmt::Debug for FunctionTool<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("FunctionTool");
        debug.field("name", &self.name).finish_non_exhaustive()
    }
}

impl<P> FunctionTool<P> {
    /// Makes a tool whose calls change nothing, don't reach beyond this machine and ask for no
    /// approval. A tool that only reads, but elsewhere, implements [`Tool`] itself.
    pub fn read_only(
        name: &str,
        description: &str,
        schema: Schema,
        run: impl Fn(P, &Context) -> Result<ToolResult, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            changes: None,
            run: Arc::new(run),
        }
    }

    /// Makes a tool of the kind `kind` that may change something. Each call asks for approval.
    pub fn changing(
        name: &str,
        description: &str,
        kind: Kind,
        schema: Schema,
        run: impl Fn(P, &Context) -> Result<ToolResult, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            changes: Some(kind),
            ..Self::read_only(name, description, schema, run)
        }
    }
}

impl<P: DeserializeOwned + Send + 'static> Tool for FunctionTool<P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn info(&self) -> ToolInfo<'_> {
        match self.changes {
            None => ToolInfo::new(&self.name, Kind::Read).on_this_machine(),
            Some(kind) => ToolInfo {
                is_read_only: false,
                is_idempotent: false,
                ..ToolInfo::new(&self.name, kind)
            },
        }
    }

    fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let description = format!("{} `{}`", self.name, args.clone().into_value());
        let confirmation = match self.changes {
            None => Confirmation::NotNeeded,
            Some(_) => Confirmation::Ask(ConfirmationDetails::Info {
                title: format!("Confirm {}", self.name),
                prompt: description.clone(),
                urls: Vec::new(),
            }),
        };
        Ok(Box::new(Call {
            args: args.parse(&self.schema)?,
            description,
            confirmation,
            run: Arc::clone(&self.run),
        }))
    }
}

struct Call<P> {
    args: P,
    description: String,
    confirmation: Confirmation,
    run: Arc<Run<P>>,
}

impl<P: Send> ToolInvocation for Call<P> {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(self.confirmation.clone())
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        (self.run)(self.args, cx)
    }
}
