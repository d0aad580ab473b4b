//! The built-in tools: one file each, and the list.
//!
//! A tool's file holds its description, its arguments (`Params`), and the checked call
//! (`Call`). The JSON Schema of the arguments is generated from `Params` into
//! `declarations/`, so that a call need not make it; a test checks that it is current
//! (`UPDATE_DECLARATIONS=1 cargo test --workspace --lib declarations` writes it anew).

#[cfg(feature = "shell")]
mod confinement;
mod edit;
mod fact;
mod glob;
#[cfg(feature = "web")]
mod google_web_search;
#[cfg(feature = "shell")]
mod list_background_processes;
mod list_directory;
mod memory;
mod memory_hosts;
mod nearest;
mod needle;
#[cfg(all(test, feature = "shell", feature = "web"))]
mod pages;
mod placeholder;
#[cfg(feature = "shell")]
mod read_background_output;
mod read_file;
mod read_many_files;
mod replace;
#[cfg(feature = "shell")]
mod run_shell_command;
mod save_memory;
mod search;
mod search_file_content;
mod smart_edit;
#[cfg(feature = "shell")]
mod stop_background_process;
mod undeclared;
#[cfg(feature = "web")]
mod web_fetch;
mod words;
mod write_file;

#[cfg(feature = "shell")]
pub use confinement::sandbox;
pub use list_directory::push_collation_key;
pub use memory_hosts::MemoryHost;
#[cfg(feature = "settings")]
pub use save_memory::memory_files;

#[cfg(feature = "settings")]
use gemini_tools_config::settings::Settings;
use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_core::text::{counted, first_sentence};
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Args, Context, Kind, Schema, Tool, ToolError, ToolInfo, ToolInvocation, Undeclared, Usage,
};
#[cfg(feature = "web")]
use gemini_tools_network_link::{Helper, Network};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::keep::ChangeOrigin;
use gemini_tools_workspace::walk::WalkReport;
use gemini_tools_workspace::write::Target;
use std::sync::Arc;

/// The most characters that `read_file` and `read_many_files` answer.
const READ_LIMIT_CHARS: usize = 400_000;

/// What built-in tools work with. Which fields there are depends on the features.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolEnv {
    /// Where they work.
    pub workspace: Arc<Workspace>,
    /// What the user and the project want.
    #[cfg(feature = "settings")]
    pub settings: Arc<Settings>,
    /// The MCP client whose memory file `save_memory` writes; `None` for Gemini CLI's where no client is known.
    pub memory_host: Option<&'static MemoryHost>,
    /// What reaches the network for them.
    #[cfg(feature = "web")]
    pub network: Arc<dyn Network>,
}

impl ToolEnv {
    /// Tools without settings. With the feature `web`, they have the network reached by the
    /// executable beside this one.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            #[cfg(feature = "settings")]
            settings: Arc::default(),
            memory_host: None,
            #[cfg(feature = "web")]
            network: Arc::new(Helper::default()),
        }
    }

    /// The same tools, by these settings.
    #[cfg(feature = "settings")]
    #[must_use]
    pub fn with_settings(mut self, settings: Arc<Settings>) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the same tools, with facts kept in the memory file of this host.
    #[must_use]
    pub fn with_memory_host(mut self, host: &'static MemoryHost) -> Self {
        self.memory_host = Some(host);
        self
    }

    /// The same tools, with the network reached by something else.
    #[cfg(feature = "web")]
    #[must_use]
    pub fn with_network(mut self, network: Arc<dyn Network>) -> Self {
        self.network = network;
        self
    }
}

type Build = fn(Args, &Schema, &ToolEnv) -> Result<Box<dyn ToolInvocation>, ToolError>;

/// What is said about a built-in tool. Apart from [`Spec`], so that printing declarations
/// needs none of the code behind them.
pub(crate) struct Declaration {
    name: &'static str,
    /// What the tool does, in a list for people of 80 columns.
    summary: &'static str,
    description: &'static str,
    /// Compact JSON.
    schema: &'static str,
    /// Other names of the tool: those of later versions and of Gemini CLI's classes.
    aliases: &'static [&'static str],
    kind: Kind,
    /// Whether the same call once more changes nothing further.
    is_idempotent: bool,
    /// Whether calls reach beyond this machine, or may.
    is_open_world: bool,
    /// Other names of arguments, and what they are called in the declaration.
    renamed: &'static [(&'static str, &'static str)],
}

/// All that is fixed about a built-in tool.
struct Spec {
    declaration: &'static Declaration,
    display_name: &'static str,
    /// Whether calls report output while they run.
    can_update_output: bool,
    /// Arguments that are understood but not declared.
    undeclared: &'static [Undeclared],
    build: Build,
}

/// Every built-in tool, sorted by name.
const ALL: &[&Spec] = &[
    &glob::SPEC,
    #[cfg(feature = "web")]
    &google_web_search::SPEC,
    #[cfg(feature = "shell")]
    &list_background_processes::SPEC,
    &list_directory::SPEC,
    #[cfg(feature = "shell")]
    &read_background_output::SPEC,
    &read_file::SPEC,
    &read_many_files::SPEC,
    &replace::SPEC,
    #[cfg(feature = "shell")]
    &run_shell_command::SPEC,
    &save_memory::SPEC,
    &search_file_content::SPEC,
    &smart_edit::SPEC,
    #[cfg(feature = "shell")]
    &stop_background_process::SPEC,
    #[cfg(feature = "web")]
    &web_fetch::SPEC,
    &write_file::SPEC,
];

/// The declarations of [`ALL`]; a test checks that none is missing.
const DECLARATIONS: &[&Declaration] = &[
    &glob::DECLARATION,
    #[cfg(feature = "web")]
    &google_web_search::DECLARATION,
    #[cfg(feature = "shell")]
    &list_background_processes::DECLARATION,
    &list_directory::DECLARATION,
    #[cfg(feature = "shell")]
    &read_background_output::DECLARATION,
    &read_file::DECLARATION,
    &read_many_files::DECLARATION,
    &replace::DECLARATION,
    #[cfg(feature = "shell")]
    &run_shell_command::DECLARATION,
    &save_memory::DECLARATION,
    &search_file_content::DECLARATION,
    &smart_edit::DECLARATION,
    #[cfg(feature = "shell")]
    &stop_background_process::DECLARATION,
    #[cfg(feature = "web")]
    &web_fetch::DECLARATION,
    &write_file::DECLARATION,
];

/// The declarations of the built-in tools that `keep` wants by name and aliases, in the order
/// of their names, each as compact JSON; `with_kinds` adds each tool's kind, which the API does
/// not take. Needs no workspace.
pub fn declarations(mut keep: impl FnMut(&str, &[&str]) -> bool, with_kinds: bool) -> Vec<String> {
    DECLARATIONS
        .iter()
        .filter(|d| keep(d.name, d.aliases))
        .map(|d| {
            let kind = if with_kinds {
                format!(r#","kind":{}"#, serde_json::json!(d.kind))
            } else {
                String::new()
            };
            format!(
                r#"{{"name":{},"description":{},"parametersJsonSchema":{}{kind}}}"#,
                serde_json::Value::from(d.name),
                serde_json::Value::from(d.description),
                d.schema
            )
        })
        .collect()
}

/// Whether a built-in tool goes by this name.
pub fn is_reserved(name: &str) -> bool {
    DECLARATIONS
        .iter()
        .any(|d| d.name == name || d.aliases.contains(&name))
}

/// A built-in tool as rules know it.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The tool's name.
    pub name: &'static str,
    /// The tool's other names.
    pub aliases: &'static [&'static str],
    /// What it does to the world.
    pub kind: Kind,
    /// Other names of its arguments, and what they are called in the declaration.
    pub renamed: &'static [(&'static str, &'static str)],
}

/// What the built-in tool of this name does to the world. Needs none of the code behind it.
pub fn kind(name: &str) -> Option<Kind> {
    let declared = DECLARATIONS.iter().find(|d| d.name == name)?;
    Some(declared.kind)
}

/// Returns the names of the built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    DECLARATIONS.iter().map(|declared| declared.name)
}

/// What people call the built-in tool of this name.
pub fn display_name(name: &str) -> Option<&'static str> {
    let spec = ALL.iter().find(|spec| spec.declaration.name == name)?;
    Some(spec.display_name)
}

/// Returns what a list for people says of a tool: the summary of a built-in one, and the first
/// sentence of the description of any other.
pub fn summary(name: &str, description: &str) -> String {
    let declared = DECLARATIONS.iter().find(|d| d.name == name);
    declared.map_or_else(|| first_sentence(description), |d| d.summary.to_owned())
}

/// Whether the same call of the built-in tool of this name once more changes nothing further, and
/// whether calls reach beyond this machine. Needs none of the code behind it.
pub fn reach(name: &str) -> Option<(bool, bool)> {
    let declared = DECLARATIONS.iter().find(|d| d.name == name)?;
    Some((declared.is_idempotent, declared.is_open_world))
}

/// Whether the built-in tool of this name knows such an argument, declared or not. Needs no
/// workspace.
pub fn knows_argument(name: &str, argument: &str) -> bool {
    let Some(known) = known(name) else {
        return false;
    };
    let Some(spec) = ALL.iter().find(|spec| spec.declaration.name == known.name) else {
        return false;
    };
    let schema = Schema::from_static(spec.declaration.schema);
    known.renamed.iter().any(|(other, _)| *other == argument)
        || spec.undeclared.iter().any(|more| more.name == argument)
        || schema.value()["properties"].get(argument).is_some()
}

/// The built-in tool of this name, or that has it among its others. Needs none of the code
/// behind it.
pub fn known(name: &str) -> Option<Known> {
    let declared = DECLARATIONS
        .iter()
        .find(|d| d.name == name || d.aliases.contains(&name))?;
    Some(Known {
        name: declared.name,
        aliases: declared.aliases,
        kind: declared.kind,
        renamed: declared.renamed,
    })
}

/// Registers the built-in tools.
///
/// # Errors
///
/// Where a name is taken already.
pub fn register(registry: &mut ToolRegistry, tool_env: &ToolEnv) -> Result<(), ToolError> {
    for spec in ALL {
        registry.register(Builtin {
            spec,
            schema: Schema::from_static(spec.declaration.schema),
            tool_env: tool_env.clone(),
        })?;
    }
    Ok(())
}

struct Builtin {
    spec: &'static Spec,
    schema: Schema,
    tool_env: ToolEnv,
}

impl Tool for Builtin {
    fn name(&self) -> &str {
        self.spec.declaration.name
    }

    fn description(&self) -> &str {
        self.spec.declaration.description
    }

    fn parameters(&self) -> &Schema {
        &self.schema
    }

    fn info(&self) -> ToolInfo<'_> {
        let declaration = self.spec.declaration;
        ToolInfo {
            display_name: self.spec.display_name,
            aliases: declaration.aliases,
            kind: declaration.kind,
            is_read_only: declaration.kind.is_read_only(),
            is_idempotent: declaration.is_idempotent,
            is_open_world: declaration.is_open_world,
            can_update_output: self.spec.can_update_output,
            checks_arguments: true,
            server: None,
            annotations: None,
        }
    }

    fn usage(&self) -> Usage<'_> {
        let words = words::words(self.name());
        Usage {
            renamed: self.spec.declaration.renamed,
            undeclared: self.spec.undeclared,
            examples: words.examples,
            errors: words.errors,
            file: None,
        }
    }

    fn build(&self, mut args: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        args.rename(self.spec.declaration.renamed);
        (self.spec.build)(args, &self.schema, &self.tool_env)
    }
}

/// A note on what ignore rules left out, or nothing.
fn ignored_note(git: usize, gemini: usize) -> String {
    let part = |n: usize, who: &str| (n > 0).then(|| format!("{n} {who}-ignored"));
    let parts: Vec<_> = [part(git, "git"), part(gemini, "gemini")]
        .into_iter()
        .flatten()
        .collect();
    parts.join(", ")
}

/// Says that directories called `node_modules` were left out, where that was so.
fn node_modules_note(reports: &[WalkReport]) -> Option<String> {
    let count: usize = reports.iter().map(|r| r.node_modules).sum();
    let directories = if count == 1 {
        "directory"
    } else {
        "directories"
    };
    (count > 0).then(|| format!("{count} node_modules {directories} left out"))
}

/// Says that links were not followed, and why, where that was so.
fn more_links(reports: &[WalkReport]) -> Option<(&'static str, &'static str)> {
    const _: () = assert!(gemini_tools_workspace::walk::MAX_LINKS == 1_000);
    let is_so = reports.iter().any(|r| r.more_links);
    is_so.then_some((
        "some links were not followed",
        "the pattern names more than 1,000 links to directories",
    ))
}

/// Whose change a tool's write is, for who keeps what it takes away.
fn origin(declaration: &Declaration, cx: &Context) -> ChangeOrigin {
    ChangeOrigin {
        tool: declaration.name.to_owned(),
        call: cx.call_id.clone(),
        ..ChangeOrigin::default()
    }
}

/// Says that a change can't be undone, for the reason that a write gives, where it gives one.
fn not_kept(reason: Option<String>) -> Option<String> {
    reason.map(|reason| format!("call_tool --undo can't take this change back: {reason}."))
}

/// Says of a file that is to be replaced that it has other names, which keep the old content.
fn other_names(target: &Target) -> Option<String> {
    match target.other_names() {
        0 => None,
        1 => Some("It had one more name (a hard link), which keeps the old content.".to_owned()),
        n => Some(format!(
            "It had {n} more names (hard links), which keep the old content."
        )),
    }
}

/// Says that directories could not be read, where that was so.
fn push_unreadable(text: &mut NamedText, reports: &[WalkReport]) {
    let count: usize = reports.iter().map(|r| r.unreadable).sum();
    if let Some(example) = reports.iter().find_map(|r| r.unreadable_example.as_ref()) {
        text.push_str(&format!(
            "\n({} could not be read: {example})",
            counted(count, "directory")
        ));
    }
}

#[cfg(all(test, feature = "shell", feature = "web"))]
mod tests {
    use super::{ALL, DECLARATIONS, Schema, declarations};

    /// The longest summary, in characters: 80 columns less the longest name and kind.
    const SUMMARY_CHARS: usize = 44;

    #[test]
    fn a_summary_fits_a_line_of_a_terminal() {
        for declared in DECLARATIONS {
            let summary = declared.summary;
            assert!(summary.chars().count() <= SUMMARY_CHARS, "{summary}");
            let verb = summary.split(' ').next().unwrap_or_default();
            assert!(verb.ends_with('s'), "{summary}");
            assert!(!summary.ends_with('.'), "{summary}");
        }
    }

    use serde_json::Value;

    /// Returns the schema that `Params` gives. Built-in tools fill in their defaults themselves.
    fn generated<P: schemars::JsonSchema>() -> Value {
        let mut value = Schema::of::<P>().value().clone();
        drop_defaults(&mut value);
        value
    }

    fn drop_defaults(value: &mut Value) {
        let Some(map) = value.as_object_mut() else {
            return;
        };
        map.remove("default");
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.values_mut().for_each(drop_defaults);
        }
        if let Some(items) = map.get_mut("items") {
            drop_defaults(items);
        }
    }

    #[test]
    fn declarations_are_those_that_the_parameters_give() {
        let schemas = [
            ("glob", generated::<super::glob::Params>()),
            (
                "google_web_search",
                generated::<super::google_web_search::Params>(),
            ),
            (
                "list_background_processes",
                generated::<super::list_background_processes::Params>(),
            ),
            (
                "list_directory",
                generated::<super::list_directory::Params>(),
            ),
            (
                "read_background_output",
                generated::<super::read_background_output::Params>(),
            ),
            ("read_file", generated::<super::read_file::Params>()),
            (
                "read_many_files",
                generated::<super::read_many_files::Params>(),
            ),
            ("replace", generated::<super::replace::Params>()),
            (
                "run_shell_command",
                generated::<super::run_shell_command::Params>(),
            ),
            ("save_memory", generated::<super::save_memory::Params>()),
            (
                "search_file_content",
                generated::<super::search_file_content::Params>(),
            ),
            ("smart_edit", generated::<super::smart_edit::Params>()),
            (
                "stop_background_process",
                generated::<super::stop_background_process::Params>(),
            ),
            ("web_fetch", generated::<super::web_fetch::Params>()),
            ("write_file", generated::<super::write_file::Params>()),
        ];
        assert_eq!(schemas.len(), ALL.len());
        assert_eq!(schemas.len(), DECLARATIONS.len());
        for ((spec, declared), (name, mut schema)) in ALL.iter().zip(DECLARATIONS).zip(schemas) {
            assert_eq!(spec.declaration.name, name, "the list is sorted by name");
            assert_eq!(declared.name, name, "the lists are the same");
            if let Some(map) = schema.as_object_mut() {
                map.remove("description");
                // Hosts look for it, also where there is none.
                map.entry("properties")
                    .or_insert_with(|| Value::Object(serde_json::Map::new()));
            }
            let text = schema.to_string();
            if std::env::var_os("UPDATE_DECLARATIONS").is_some() {
                let path = format!(
                    "{}/src/builtin/declarations/{name}.json",
                    env!("CARGO_MANIFEST_DIR")
                );
                std::fs::write(path, &text).expect("written");
            } else {
                assert_eq!(
                    declared.schema, text,
                    "UPDATE_DECLARATIONS=1 cargo test --workspace --lib declarations"
                );
            }
        }
    }

    #[test]
    fn every_tool_is_described_and_every_parameter_too() {
        for declaration in declarations(|_, _| true, false) {
            let value: Value = serde_json::from_str(&declaration).expect("JSON");
            let name = value["name"].as_str().expect("a name");
            assert!(name.len() <= 47, "{name} must fit with the host's prefix");
            let file = format!("{}/src/builtin/{name}.rs", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&file).exists(), "{file}");
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
