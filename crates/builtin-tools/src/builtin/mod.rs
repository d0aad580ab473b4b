//! The built-in tools: one file each, and the list.
//!
//! A tool's file holds everything about it: the names, the description and the help (`TOOL`), the
//! arguments (`Params`), and the checked call (`Call`). The JSON Schemas of the arguments are
//! generated from `Params` into `schemas.json`, so that they are not made at run time; a test
//! checks that they are current, and `scripts/generate` writes them anew.

#![expect(
    clippy::needless_pass_by_value,
    reason = "each tool's `build` is given its parameters, whether it keeps them or not"
)]

mod candidates;
#[cfg(feature = "full")]
mod confinement;
mod definitions;
mod edit;
#[cfg(all(test, feature = "full"))]
mod example;
mod fact;
pub mod line_pattern;
mod memory;
mod near_names;
mod nearest;
#[cfg(all(test, feature = "full"))]
mod pages_tests;
mod patched;
mod placeholder;
mod query;
mod scope;
mod search;
mod search_outline;
mod syntax;
mod unseen;

#[cfg(feature = "full")]
pub use confinement::{changes, sandbox, undo_note};
#[cfg(feature = "full")]
pub use save_memory::memory_files;

use gemini_tools_core::client_host::{AnswerLimit, ClientHost, SizeUnit};
use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_core::text::{counted, first_sentence};
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Args, Confirmation, ConfirmationDetails, Context, ErrorKind, ExtraArgument, FileDiff, Location,
    Schema, Tool, ToolError, ToolInfo, ToolInvocation, Usage,
};
#[cfg(feature = "full")]
use gemini_tools_process::kept_answers;
#[cfg(feature = "full")]
use gemini_tools_process::network::Network;
#[cfg(feature = "full")]
use gemini_tools_process::network::link::Link;
#[cfg(feature = "full")]
use gemini_tools_process::network::wire::{WebAnswer, WebTask};
#[cfg(feature = "full")]
use gemini_tools_settings::settings::Settings;
use gemini_tools_workspace::edit::{SHOWN_BYTES, diff_texts};
use gemini_tools_workspace::journal::ChangeOrigin;
use gemini_tools_workspace::text::{Encoding, Unwritable};
use gemini_tools_workspace::write::Target;
use gemini_tools_workspace::{Workspace, WorkspacePath, show_path};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
#[cfg(feature = "full")]
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Declares the modules of the tools and lists the tools. `cargo fmt` does not see modules that a
/// macro declares, so `rustfmt` is given their files by path.
macro_rules! tools {
    ($($(#[$feature:meta])? $name:ident,)*) => {
        $($(#[$feature])? mod $name;)*

        /// Every built-in tool of the enabled features, sorted by name.
        pub static TOOLS: &[&BuiltinTool] = &[$($(#[$feature])? &$name::TOOL),*];

        /// How a call of each tool of [`TOOLS`] is built, in the same order. It is not in the
        /// tools themselves, so that a program that only describes tools, like `get_tools`, does
        /// not contain all that they do.
        static BUILDS: &[BuildFn] = &[$(
            $(#[$feature])? |args, schema, env| make_call($name::build, args, schema, env)
        ),*];

        #[cfg(all(test, feature = "full"))]
        fn generated_schemas() -> Vec<(&'static str, Schema)> {
            vec![$((stringify!($name), Schema::of::<$name::Params>())),*]
        }
    };
}

tools! {
    apply_patch,
    glob,
    #[cfg(feature = "full")]
    google_web_search,
    #[cfg(feature = "full")]
    list_background_processes,
    list_directory,
    #[cfg(feature = "full")]
    read_background_output,
    read_file,
    read_many_files,
    replace,
    #[cfg(feature = "full")]
    run_shell_command,
    save_memory,
    search_file_content,
    smart_edit,
    #[cfg(feature = "full")]
    stop_background_process,
    #[cfg(feature = "full")]
    web_fetch,
    write_file,
}

/// Suffix of the key under which `SCHEMAS` has the arguments that a tool accepts but does not
/// declare to models: those with `#[schemars(extend("undeclared" = true))]`.
const UNDECLARED: &str = " undeclared";

const SCHEMAS: &str = include_str!("schemas.json");

const OUTSIDE: (ErrorKind, &str) =
    ErrorKind::PathNotInWorkspace.when("the path, or a link on it, leads outside");

const READ_LIMIT_CHARS: usize = 400_000;

/// How much of an answer is left free for notes, such as that only a part of a file is shown. The
/// unit is that of the host's limit.
const NOTES: usize = 500;

/// Returns how much of files an answer may hold: less than the host passes on, so that nothing is
/// cut from it. An eighth is left for an outline, or for the names of files that are not read.
fn room_to_read(cx: &Context) -> AnswerLimit {
    let most = AnswerLimit::new(READ_LIMIT_CHARS, SizeUnit::Chars);
    let within = |limit: AnswerLimit| AnswerLimit {
        size: (limit.size - limit.size / 8).saturating_sub(NOTES),
        lines: limit.lines.map(|lines| lines - lines / 8),
        ..limit
    };
    let limit = cx.view.host_limit.map(within);
    limit.filter(|limit| limit.size < most.size).unwrap_or(most)
}

/// What the built-in tools work with. Which fields exist depends on the features.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolEnv {
    /// The files that the tools can reach.
    pub workspace: Arc<Workspace>,
    /// The settings of the user and the project.
    #[cfg(feature = "full")]
    pub settings: Arc<Settings>,
    /// The application that calls the tools as an MCP client; `None` if there is none or it is
    /// unknown. `save_memory` writes to its memory file, and `read_file` may read long answers that
    /// it has stored.
    pub client_host: Option<&'static ClientHost>,
    /// How tools reach the network.
    #[cfg(feature = "full")]
    pub network: Arc<dyn Network>,
    /// The process that parses source files. It is not the process for the network, because a
    /// crafted file may crash the parser.
    #[cfg(feature = "full")]
    parser: Arc<Link>,
}

impl ToolEnv {
    /// Makes an environment without settings. With the feature `full`, the network is reached
    /// through `serve_tools`, which must be in the directory of the running executable.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            #[cfg(feature = "full")]
            settings: Arc::default(),
            client_host: None,
            #[cfg(feature = "full")]
            network: Arc::new(Link::default()),
            #[cfg(feature = "full")]
            parser: Arc::default(),
        }
    }

    /// Returns the environment with the host of an MCP client.
    #[must_use]
    pub fn with_client_host(mut self, host: &'static ClientHost) -> Self {
        self.client_host = Some(host);
        self
    }
}

#[cfg(feature = "full")]
impl ToolEnv {
    /// Makes an environment for the current directory, with these settings. `home` is the user's
    /// home directory, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be opened.
    pub fn open(settings: &Settings, home: Option<&Path>) -> Result<Self, ToolError> {
        let workspace = Arc::new(Workspace::open(&[], home)?);
        Ok(Self::new(workspace).with_settings(Arc::new(settings.clone())))
    }

    /// Returns the same environment with these settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Arc<Settings>) -> Self {
        self.settings = settings;
        self
    }

    fn ask_network(&self, task: &WebTask, cx: &Context) -> Result<WebAnswer, ToolError> {
        self.network.run(task, self.workspace.home(), cx)
    }

    /// Stores a long answer of `tool` in a file, for later calls to read. Returns the file's path,
    /// or `None` if the answer can't be stored.
    pub fn keep(&self, tool: &str, text: &str) -> Option<PathBuf> {
        kept_answers::keep(&self.workspace.overflow_dir()?, tool, text)
    }
}

fn make_call<P: DeserializeOwned, C: ToolInvocation + 'static>(
    build: fn(P, &ToolEnv) -> Result<C, ToolError>,
    args: Args,
    schema: &Schema,
    env: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    Ok(Box::new(build(args.parse(schema)?, env)?))
}

/// Returns what an answer quotes of a file; `None` if `.geminiignore` names the file, because its
/// content must not be shown then.
fn quoted<T>(workspace: &Workspace, place: &WorkspacePath, quote: impl FnOnce() -> T) -> Option<T> {
    (!workspace.is_gemini_ignored(place)).then(quote)
}

type BuildFn = fn(Args, &Schema, &ToolEnv) -> Result<Box<dyn ToolInvocation>, ToolError>;

/// A built-in tool: its names, and its texts for people and models.
#[derive(Debug)]
pub struct BuiltinTool {
    /// The name in declarations and calls, which is also that of the tool's source file.
    pub name: &'static str,
    /// What the tool does, for lists that people read; at most 44 characters long.
    pub summary: &'static str,
    /// The description for the model.
    pub description: &'static str,
    /// Kind, aliases, hints and other facts that callers need to know about the tool.
    pub info: ToolInfo<'static>,
    /// Other names of arguments, limits, examples and errors, for help texts.
    pub usage: Usage<'static>,
}

impl BuiltinTool {
    /// Returns true if `name` is the tool's name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.info.aliases.contains(&name)
    }

    /// Returns true if the tool knows an argument of this name, declared or not.
    pub fn knows_argument(&self, argument: &str) -> bool {
        let schema = Schema::from_static(self.schema());
        self.usage
            .renamed
            .iter()
            .any(|(other, _)| *other == argument)
            || self.undeclared().iter().any(|more| more.name == argument)
            || schema.value()["properties"].get(argument).is_some()
    }

    /// Returns the declaration as compact JSON. `with_kind` adds the kind, which the Gemini API
    /// does not accept.
    pub fn declaration(&self, with_kind: bool) -> String {
        self.declaration_as(self.name, with_kind)
    }

    /// Returns [`BuiltinTool::declaration`] with `name` in place of the tool's own.
    pub fn declaration_as(&self, name: &str, with_kind: bool) -> String {
        let kind = if with_kind {
            format!(r#","kind":{}"#, json!(self.info.kind))
        } else {
            String::new()
        };
        format!(
            r#"{{"name":{},"description":{},"parametersJsonSchema":{}{kind}}}"#,
            Value::from(name),
            Value::from(self.description),
            self.schema()
        )
    }

    fn schema(&self) -> &'static str {
        self.generated("").unwrap_or("{}")
    }

    fn undeclared(&self) -> Vec<ExtraArgument> {
        let text = self.generated(UNDECLARED).unwrap_or("{}");
        let arguments: BTreeMap<&str, ExtraArgument> =
            serde_json::from_str(text).unwrap_or_default();
        let named = |(name, argument)| ExtraArgument { name, ..argument };
        arguments.into_iter().map(named).collect()
    }

    fn generated(&self, suffix: &str) -> Option<&'static str> {
        let mut lines = SCHEMAS.lines().filter_map(|line| {
            let line = line.strip_prefix('"')?.strip_prefix(self.name)?;
            line.strip_prefix(suffix)?.strip_prefix("\": ")
        });
        lines.next().map(|line| line.trim_end_matches(','))
    }
}

/// Finds a built-in tool by its name or one of its aliases.
pub fn find(name: &str) -> Option<&'static BuiltinTool> {
    TOOLS.iter().copied().find(|tool| tool.is_called(name))
}

/// Finds a built-in tool by its name, without regard to aliases.
pub fn find_exactly(name: &str) -> Option<&'static BuiltinTool> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}

/// Returns a tool's text for lists that people read: the summary of a built-in tool, or the first
/// sentence of the description of any other tool.
pub fn summary(name: &str, description: &str) -> String {
    find_exactly(name).map_or_else(
        || first_sentence(description),
        |tool| tool.summary.to_owned(),
    )
}

/// Registers the built-in tools.
///
/// # Errors
///
/// Returns an error if a name is taken already.
pub fn register(registry: &mut ToolRegistry, tool_env: &ToolEnv) -> Result<(), ToolError> {
    let mut tools = TOOLS.iter().zip(BUILDS);
    tools.try_for_each(|(tool, build)| register_tool(registry, tool, *build, tool_env))
}

/// Registers the built-in tools such that they can be found and described, but not called.
///
/// # Errors
///
/// Returns an error if a name is taken already.
pub fn declare(registry: &mut ToolRegistry, tool_env: &ToolEnv) -> Result<(), ToolError> {
    let build: BuildFn = |_, _, _| Err(ToolError::failed("This program only describes tools."));
    let mut tools = TOOLS.iter();
    tools.try_for_each(|tool| register_tool(registry, tool, build, tool_env))
}

fn register_tool(
    registry: &mut ToolRegistry,
    tool: &'static BuiltinTool,
    build: BuildFn,
    tool_env: &ToolEnv,
) -> Result<(), ToolError> {
    registry.register(BoundTool {
        tool,
        build,
        schema: Schema::from_static(tool.schema()),
        undeclared: OnceLock::new(),
        tool_env: tool_env.clone(),
    })
}

struct BoundTool {
    tool: &'static BuiltinTool,
    build: BuildFn,
    schema: Schema,
    undeclared: OnceLock<Vec<ExtraArgument>>,
    tool_env: ToolEnv,
}

impl Tool for BoundTool {
    fn name(&self) -> &str {
        self.tool.name
    }

    fn description(&self) -> &str {
        self.tool.description
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn info(&self) -> ToolInfo<'_> {
        self.tool.info.checking_arguments()
    }

    fn usage(&self) -> Usage<'_> {
        Usage {
            undeclared: self.undeclared.get_or_init(|| self.tool.undeclared()),
            ..self.tool.usage
        }
    }

    fn build(&self, mut args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        args.rename(self.tool.usage.renamed);
        (self.build)(args, &self.schema, &self.tool_env)
    }
}

fn locations(place: &WorkspacePath) -> Vec<Location> {
    vec![place.path().into()]
}

fn text_diff(file_name: String, old: Option<&str>, new: &str) -> FileDiff {
    let (file_diff, diff_stat) = diff_texts(old.unwrap_or_default(), new, &file_name);
    FileDiff {
        file_diff,
        file_name,
        original_content: old.map(str::to_owned),
        new_content: (new.len() <= SHOWN_BYTES).then(|| new.to_owned()),
        diff_stat,
    }
}

fn ask_about_edit(title: String, path: &Path, diff: FileDiff, new: &str) -> Confirmation {
    Confirmation::Ask(ConfirmationDetails::Edit {
        title,
        file_name: diff.file_name,
        file_path: path.display().to_string(),
        file_diff: diff.file_diff,
        original_content: diff.original_content,
        new_content: diff.new_content.unwrap_or_else(|| new.to_owned()),
        files: Vec::new(),
    })
}

fn about_path(before: &str, path: &Path, after: &str) -> NamedText {
    let mut text = NamedText::default();
    text.push_str(before);
    text.push_path(path);
    text.push_str(after);
    text
}

fn origin(tool: &BuiltinTool, cx: &Context) -> ChangeOrigin {
    ChangeOrigin {
        tool: tool.name.to_owned(),
        call: cx.view.call_id.clone(),
        is_remembered: cx.view.remembers,
        ..ChangeOrigin::default()
    }
}

/// Says why a text can't be written into a file. `what` names the text.
fn unwritable(
    why: Unwritable,
    path: &Path,
    encoding: Encoding,
    kind: ErrorKind,
    what: &str,
) -> ToolError {
    let (path, name) = (show_path(path), encoding.name());
    let (message, hint) = match why {
        Unwritable::Character(c) => (
            format!("{path} is encoded in {name}, which has no character {c:?} of {what}"),
            "Use characters that the file's encoding has, or convert the file to UTF-8 first.",
        ),
        Unwritable::Unclear(line) => (
            format!(
                "{path} has bytes that are not {name}, which are shown as \u{fffd}, and it is not clear which of \
                 them the one in line {line} of {what} stands for"
            ),
            "Use replace for shorter texts around these bytes: it keeps all others.",
        ),
    };
    let message = format!("{message}; nothing was written.");
    ToolError::new(kind, message).with_hint(hint)
}

fn hard_links_note(target: &Target) -> String {
    match target.other_names() {
        0 => String::new(),
        1 => " It had one more name (a hard link), which keeps the old content.".to_owned(),
        n => format!(" It had {n} more names (hard links), which keep the old content."),
    }
}

/// Writes a file, and records the change for undo. Returns notes for the answer, each with a
/// leading space.
fn commit(
    target: Target,
    workspace: &Workspace,
    place: &WorkspacePath,
    origin: ChangeOrigin,
    write: impl FnMut(&mut File) -> io::Result<()>,
) -> Result<String, ToolError> {
    let mut notes = hard_links_note(&target);
    let target = target.recorded(workspace, place, origin);
    if let Some(reason) = target.commit(place, write)? {
        notes += &format!(" call_tool --undo can't take this change back: {reason}.");
    }
    Ok(notes)
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::{
        BuildFn, Context, TOOLS, ToolEnv, ToolRegistry, UNDECLARED, Workspace, example,
        generated_schemas, json, make_call, register_tool,
    };
    use gemini_tools_test_harness::hold_generated;
    use serde_json::{Map, Value};
    use std::sync::Arc;

    /// Maximum length of a summary, in characters: 80 columns less the longest name and kind.
    const SUMMARY_CHARS: usize = 44;

    #[test]
    fn a_summary_fits_a_line_of_a_terminal() {
        for tool in TOOLS {
            let summary = tool.summary;
            assert!(summary.chars().count() <= SUMMARY_CHARS, "{summary}");
            let verb = summary.split(' ').next().unwrap_or_default();
            assert!(verb.ends_with('s'), "{summary}");
            assert!(!summary.ends_with('.'), "{summary}");
        }
    }

    #[test]
    fn tools_are_sorted_by_name_and_no_name_or_alias_is_used_twice() {
        assert!(TOOLS.is_sorted_by(|a, b| a.name < b.name));
        for tool in TOOLS {
            for name in tool.info.aliases.iter().chain([&tool.name]) {
                let same = TOOLS.iter().filter(|tool| tool.is_called(name));
                assert_eq!(same.count(), 1, "{name}");
            }
        }
    }

    fn drop_defaults(value: &mut Value) {
        let Some(map) = value.as_object_mut() else {
            return;
        };
        // The schemas declare no defaults, because built-in tools fill them in themselves.
        map.remove("default");
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.values_mut().for_each(drop_defaults);
        }
        if let Some(items) = map.get_mut("items") {
            drop_defaults(items);
        }
    }

    fn take_undeclared(schema: &mut Value) -> Map<String, Value> {
        let mut undeclared = Map::new();
        let properties = schema["properties"].as_object_mut().expect("an object");
        properties.retain(|name, property| {
            let is_undeclared = property["undeclared"] == true;
            if is_undeclared {
                let facts = json!({
                    "type": property["type"],
                    "description": property["description"],
                });
                undeclared.insert(name.clone(), facts);
            }
            !is_undeclared
        });
        undeclared
    }

    #[test]
    fn generated_declarations_are_those_of_the_parameters() {
        let mut lines = Vec::new();
        for (tool, (name, schema)) in TOOLS.iter().zip(generated_schemas()) {
            assert_eq!(tool.name, name, "a tool has the name of its file");
            let mut schema = schema.value().clone();
            drop_defaults(&mut schema);
            if let Some(map) = schema.as_object_mut() {
                map.remove("description");
                // Hosts look for this key even if a tool has no arguments.
                map.entry("properties")
                    .or_insert_with(|| Value::Object(Map::new()));
            }
            let undeclared = take_undeclared(&mut schema);
            lines.push(format!("\"{name}\": {schema}"));
            if !undeclared.is_empty() {
                let undeclared = Value::Object(undeclared);
                lines.push(format!("\"{name}{UNDECLARED}\": {undeclared}"));
            }
        }
        let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
        hold_generated("crates/builtin-tools/src/builtin/schemas.json", &text);
    }

    #[test]
    fn the_example_of_a_tool_works_and_is_shown_in_contributing() {
        let text = include_str!("../../../../CONTRIBUTING.md");
        assert!(text.contains(include_str!("example.rs")));
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("its real path");
        std::fs::write(root.join("a"), "four").expect("a file");
        let workspace = Workspace::open_at(&root, &[], None).expect("a workspace");
        let mut registry = ToolRegistry::default();
        let tool_env = ToolEnv::new(Arc::new(workspace));
        let build: BuildFn = |args, schema, env| make_call(example::build, args, schema, env);
        register_tool(&mut registry, &example::TOOL, build, &tool_env).expect("registered");
        let result = registry.execute("file_size", json!({"path": "a"}), &Context::default());
        assert_eq!(json!(result.expect("a size").llm_content), "4 bytes");
    }

    #[test]
    fn every_tool_is_described_and_every_parameter_too() {
        for tool in TOOLS {
            let declaration = tool.declaration(false);
            let value: Value = serde_json::from_str(&declaration).expect("JSON");
            let name = tool.name;
            assert!(name.len() <= 47, "{name} must fit with the host's prefix");
            let description = value["description"].as_str().expect("a description");
            assert!(
                (40..700).contains(&description.len()),
                "{name}: {}",
                description.len()
            );
            let schema = &value["parametersJsonSchema"];
            assert_eq!(schema["type"], "object", "{name}");
            check_types(schema, name);
        }
    }

    fn check_types(schema: &Value, path: &str) {
        assert!(schema["type"].is_string(), "{path} has a type");
        for (key, sub) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(
                sub["description"].as_str().is_some_and(|d| d.len() > 8),
                "{path}"
            );
            check_types(sub, &path);
        }
        if schema["type"] == "array" {
            check_types(&schema["items"], &format!("{path}[]"));
        }
    }
}
