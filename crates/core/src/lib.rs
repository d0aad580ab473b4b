//! The tools API, and the registry of tools by name.
//!
//! # What it owns
//!
//! - [`tool`]: the contract between those who write tools and those who call them. A
//!   [`Tool`](tool::Tool) declares itself and checks arguments, a
//!   [`ToolInvocation`](tool::ToolInvocation) is a checked call, and a call gives a
//!   [`ToolResult`](tool::ToolResult) or the one [`ToolError`](tool::ToolError).
//! - [`registry`]: every tool by its name; running a call.
//! - [`tail_call`]: the further calls that results ask for.
//! - [`message`]: messages of the Gemini API, whose parts results become.
//! - [`json`]: reads JSON documents of other programs within limits.
//! - [`text`]: names and paths as text, and which characters deceive a reader.
//! - [`colours`]: whether output has colours, and which colour each kind of text gets.
//!
//! A program with a tool of its own needs no more, so that it compiles soon. With the feature
//! `hosts`:
//!
//! - `answer`: turns a result into the JSON that a host reads: its forms, the limit of its texts,
//!   and the exit status of `call_tool`.
//! - `parallel`: which calls of a message are made at the same time.
//! - `client_host`: what is known of each host that is an MCP client.
//! - `diagnostic`: a finding, such as a mistake in settings, for people and for CI.
//! - `position`: the line and column of a place in a document.
//! - `secrets`: masks credentials in texts.
//! - `javascript`: regular expressions of JavaScript, also with the feature `patterns` alone.
//! - `version`: the version of the build to which all executables belong.
//!
//! With the feature `dialects`:
//!
//! - `names`: turns tool names into those that hosts and APIs accept, and finds the tool of such a
//!   name.
//! - `declarations`: repairs tool declarations of other programs.
//!
//! Nothing here touches files, processes or the network, and nothing prints. Whether a call may run
//! is decided in `gemini-tools-policy`: [`registry::ToolRegistry::execute`] does not ask it.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::registry::ToolRegistry;
//! use gemini_tools_core::tool::*;
//! use serde_json::json;
//!
//! struct Shout(Schema);
//! struct Call(String);
//!
//! impl Tool for Shout {
//!     fn name(&self) -> &str { "shout" }
//!     fn description(&self) -> &str { "Gives the text in capitals." }
//!     fn parameters(&self) -> &Schema { &self.0 }
//!     fn info(&self) -> ToolInfo<'_> {
//!         ToolInfo::new("Shout", Kind::Think).on_this_machine().idempotent()
//!     }
//!     fn build(&self, args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
//!         #[derive(serde::Deserialize)]
//!         struct Params { text: String }
//!         Ok(Box::new(Call(args.parse::<Params>(&self.0)?.text)))
//!     }
//! }
//!
//! impl ToolInvocation for Call {
//!     fn describe(&self) -> String { format!("Shouts {:?}", self.0) }
//!     fn locations(&self) -> Vec<Location> { Vec::new() }
//!     fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
//!         Ok(Confirmation::NotNeeded)
//!     }
//!     fn run(self: Box<Self>, _: &Context) -> Result<ToolResult, ToolError> {
//!         Ok(ToolResult::text(self.0.to_uppercase()))
//!     }
//! }
//!
//! let mut registry = ToolRegistry::default();
//! let schema = json!({
//!     "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } },
//! });
//! registry.register(Shout(Schema::from_value(schema)))?;
//!
//! let result = registry.execute("shout", json!({ "text": "hi" }), &Context::default())?;
//! assert_eq!(serde_json::to_value(&result.llm_content).unwrap(), json!("HI"));
//!
//! let error = registry.execute("shout", json!({}), &Context::default()).unwrap_err();
//! assert_eq!(error.kind, ErrorKind::InvalidToolParams);
//! # Ok::<(), ToolError>(())
//! ```

#[cfg(feature = "hosts")]
pub mod answer;
#[cfg(feature = "hosts")]
pub mod client_host;
pub mod colours;
#[cfg(feature = "dialects")]
pub mod declarations;
#[cfg(feature = "hosts")]
pub mod diagnostic;
#[cfg(feature = "patterns")]
pub mod javascript;
pub mod json;
pub mod message;
#[cfg(feature = "dialects")]
pub mod names;
#[cfg(feature = "hosts")]
pub mod parallel;
#[cfg(feature = "hosts")]
pub mod position;
pub mod registry;
#[cfg(feature = "hosts")]
pub mod secrets;
pub mod tail_call;
pub mod text;
pub mod tool;
#[cfg(feature = "hosts")]
pub mod version;
