//! Every tool by name: registering, looking up, listing, running.

use crate::tail_call::{self, TailCalls};
use crate::tool::{Context, ErrorKind, Tool, ToolError, ToolInvocation, ToolResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// The prefix that Gemini CLI 0.61 adds to the name of a discovered tool.
pub const DISCOVERED_PREFIX: &str = "discovered_tool_";

/// Returns a tool's name without [`DISCOVERED_PREFIX`].
pub fn bare_name(name: &str) -> &str {
    name.strip_prefix(DISCOVERED_PREFIX).unwrap_or(name)
}

/// Tools outside of the registry that a caller may have meant by an unknown name.
#[derive(Debug, Default)]
pub struct Others {
    /// The name of each of these tools, with another spelling of that name.
    pub tools: Vec<(String, String)>,
    /// The names of the MCP servers to which such tools may belong.
    pub servers: Vec<String>,
}

/// The tools that can be called, by name. [The page of the crate](crate) has an example.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    sources: Vec<Arc<Source>>,
}

type Tools = Vec<Arc<dyn Tool>>;

/// Tools that are only searched for when they are needed: to list all tools, or to find a name that
/// neither the registered tools nor earlier sources have.
pub struct Source(LazyLock<Tools, Box<dyn FnOnce() -> Tools + Send>>);

impl Source {
    /// Makes a source whose tools `find` returns. It is called once at most; if it panics, the
    /// source has no tools.
    pub fn new(find: impl FnOnce() -> Tools + Send + 'static) -> Self {
        let find = || catch_unwind(AssertUnwindSafe(find)).unwrap_or_default();
        Self(LazyLock::new(Box::new(find)))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source(…)")
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

impl ToolRegistry {
    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params` where the name is taken, or as [`ToolRegistry::replace`].
    pub fn register(&mut self, tool: impl Tool + 'static) -> Result<(), ToolError> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(
                ToolError::invalid(format!("A tool named {name} is registered already."))
                    .with_hint("Unregister it first, or replace it."),
            );
        }
        self.replace(tool).map(drop)
    }

    /// Adds a tool or replaces the one with its name, which is returned.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` if the name is not valid for the Gemini API, or the schema is
    /// not one of objects.
    pub fn replace(
        &mut self,
        tool: impl Tool + 'static,
    ) -> Result<Option<Arc<dyn Tool>>, ToolError> {
        let name = tool.name().to_owned();
        check_name(&name)?;
        if !tool.parameters().is_of_objects() {
            let message = format!("The schema of the tool {name} is not one of objects.");
            return Err(ToolError::invalid(message));
        }
        Ok(self.tools.insert(name, Arc::new(tool)))
    }

    /// Adds a source of tools, which is only searched when its tools are needed (see [`Source`]).
    pub fn add_source(&mut self, source: Source) {
        self.sources.push(Arc::new(source));
    }

    /// Removes a registered tool and returns it; `None` if there is none with this name. Tools of a
    /// source can't be removed in this way.
    pub fn unregister(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.remove(name)
    }

    /// Finds a tool by its name or an alias, also with the prefix that Gemini CLI adds to discovered
    /// tools. With the feature `dialects` it also finds a tool by the name that it has for an API
    /// which refuses its own.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.find(name).map(AsRef::as_ref)
    }

    /// Finds a tool as [`ToolRegistry::get`] does, and returns the shared pointer to it.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let bare = name.strip_prefix(DISCOVERED_PREFIX);
        let own = |name: &str| {
            let tools = self.tools.values();
            self.tools.get(name).or_else(|| named(tools, name))
        };
        let found = own(name).or_else(|| own(bare?)).or_else(|| {
            self.sources.iter().find_map(|source| {
                let exact = |name: &str| named(source.0.iter(), name);
                exact(name).or_else(|| exact(bare?))
            })
        });
        #[cfg(feature = "dialects")]
        let found = found.or_else(|| self.mapped(name));
        found
    }

    #[cfg(feature = "dialects")]
    fn mapped(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        use crate::names::{is_mapped, may_be_mapped};
        let mut all = self.all().filter(|_| may_be_mapped(name));
        all.find(|tool| is_mapped(tool.name(), name))
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let later = self.sources.iter().flat_map(|source| source.0.iter());
        let later = later.filter(|tool| !self.tools.contains_key(tool.name()));
        self.tools.values().chain(later)
    }

    /// Returns the error for an unknown name. It names the nearest tools of the registry and of
    /// `others`.
    pub fn missing(&self, name: &str, others: &Others) -> ToolError {
        let tools = || {
            others
                .tools
                .iter()
                .map(|(own, other)| (own.as_str(), &**other))
        };
        let spellings = tools().flat_map(|(own, other)| [(own, own), (other, own)]);
        let near = nearest(name, self.spellings().chain(spellings));
        let all = self.all().map(|tool| tool.name());
        let hint = if near.is_empty() && name.contains("__") && !others.servers.is_empty() {
            format!("The MCP servers are: {}.", others.servers.join(", "))
        } else {
            hint(&near, all.chain(tools().map(|(own, _)| own)))
        };
        ToolError::new(
            ErrorKind::ToolNotRegistered,
            format!("There is no tool named {name:?}."),
        )
        .with_hint(hint)
    }

    fn spellings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().flat_map(|tool| {
            let (own, info) = (tool.name(), tool.info());
            std::iter::once(own)
                .chain(info.aliases.iter().copied())
                .chain(std::iter::once(info.display_name))
                .map(move |spelling| (spelling, own))
        })
    }

    /// Returns all tools: those that are registered, sorted by name, then those of the sources.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Tool> {
        self.all().map(|tool| &**tool)
    }

    /// Returns the function declarations of all tools, in the order of [`ToolRegistry::iter`].
    pub fn declarations(&self) -> Vec<Value> {
        self.iter().map(crate::tool::declaration).collect()
    }

    /// Keeps only the tools that `keep` accepts. This searches all sources, whose tools become
    /// registered ones.
    pub fn retain(&mut self, mut keep: impl FnMut(&dyn Tool) -> bool) {
        for source in std::mem::take(&mut self.sources) {
            for tool in source.0.iter() {
                let tools = &mut self.tools;
                tools
                    .entry(tool.name().to_owned())
                    .or_insert_with(|| Arc::clone(tool));
            }
        }
        self.tools.retain(|_, tool| keep(tool.as_ref()));
    }

    /// Checks and runs a call without asking anyone; the caller has decided that it may run. Nobody
    /// has decided about a tail call (a further call that the result asks for), so it only runs if
    /// it needs no approval. Its result replaces the first one. [`ToolRegistry::execute_judged`]
    /// judges every call.
    ///
    /// # Errors
    ///
    /// Returns the tool's errors, those of [`tail_call::execute`], and `policy_violation` for a
    /// tail call that needs approval.
    pub fn execute(&self, name: &str, args: Value, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut is_tail_call = false;
        self.execute_judged(name, args, cx, |tool, args| {
            if std::mem::replace(&mut is_tail_call, true) {
                return tail_call::unasked(tool, args, cx);
            }
            tail_call::unjudged(tool, args, cx)
        })
    }

    /// Runs a call like [`ToolRegistry::execute`], but asks `judge` before it and before each tail
    /// call. `judge` returns the call that it has judged, built by [`crate::tool::build`], and that
    /// is what runs. If it has judged a shell line in another notation than the given one, it sets
    /// that line by [`ToolInvocation::set_line`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ToolRegistry::execute`], and those of `judge`.
    pub fn execute_judged(
        &self,
        name: &str,
        args: Value,
        cx: &Context,
        judge: impl FnMut(&dyn Tool, Value) -> Result<Box<dyn ToolInvocation>, ToolError>,
    ) -> Result<ToolResult, ToolError> {
        let find = |name: &str| match self.find(name) {
            Some(tool) => Ok(Arc::clone(tool)),
            None => Err(self.missing(name, &Others::default())),
        };
        tail_call::execute(find(name)?, args, cx, TailCalls::Make, find, judge)
    }
}

fn named<'a>(
    mut tools: impl Iterator<Item = &'a Arc<dyn Tool>> + Clone,
    name: &str,
) -> Option<&'a Arc<dyn Tool>> {
    let mut aliased = tools.clone();
    tools
        .find(|tool| tool.name() == name)
        .or_else(|| aliased.find(|tool| tool.info().aliases.contains(&name)))
}

fn check_name(name: &str) -> Result<(), ToolError> {
    if is_valid_name(name) {
        return Ok(());
    }
    Err(
        ToolError::invalid(format!("{name:?} is not a valid tool name."))
            .with_hint("Use up to 63 of A-Z a-z 0-9 _ . - and begin with a letter or _."),
    )
}

/// Returns true if the Gemini API accepts a tool name: `[A-Za-z_][A-Za-z0-9_.-]{0,62}`.
pub fn is_valid_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 63
        && bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// How many characters of an unknown name are compared with the tools' names. The cost of a
/// comparison grows with the product of both lengths.
const COMPARED_CHARS: usize = 200;

/// Returns up to three tools that `name` may mean, the nearest first. `spellings` are names of
/// tools, each with the tool's main name.
pub fn nearest<'a>(
    name: &str,
    spellings: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<&'a str> {
    let start: String = bare_name(name).chars().take(COMPARED_CHARS).collect();
    let wanted = start.to_lowercase().replace('-', "_");
    let mut scored: Vec<(f64, &str)> = spellings
        .map(|(spelling, own)| (likeness(&wanted, &spelling.to_lowercase()), own))
        .filter(|(score, _)| *score >= 0.72)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let mut names: Vec<&str> = Vec::new();
    for (_, own) in scored {
        if !names.contains(&own) {
            names.push(own);
        }
    }
    names.truncate(3);
    names
}

/// Returns a hint for an unknown name: the nearest names, or all names if none is near.
pub fn hint<'a>(near: &[&str], all: impl Iterator<Item = &'a str>) -> String {
    if near.is_empty() {
        match all.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "There are no tools.".to_owned(),
            all => format!("The tools are: {all}."),
        }
    } else {
        format!("Did you mean {}?", near.join(" or "))
    }
}

/// Returns how similar two names are, from 0 to 1. Swapped or missing words reduce it only a
/// little.
fn likeness(a: &str, b: &str) -> f64 {
    let words = |s: &str| -> Vec<String> {
        let mut words: Vec<_> = s.split('_').map(str::to_owned).collect();
        words.sort();
        words
    };
    let (wa, wb) = (words(a), words(b));
    let shared = wa.iter().filter(|w| wb.contains(w)).count();
    let overlap = shared as f64 / wa.len().max(wb.len()) as f64;
    let sorted = strsim::normalized_damerau_levenshtein(&wa.join("_"), &wb.join("_"));
    strsim::normalized_damerau_levenshtein(a, b)
        .max(sorted)
        .max(likeness_of_first_word(a, b))
        .max(if shared > 0 { 0.5 + overlap / 2.0 } else { 0.0 })
}

/// Returns how similar a single word is to the first word of `b`, so that `serach` finds
/// `search_file_content`.
fn likeness_of_first_word(a: &str, b: &str) -> f64 {
    match b.split_once('_') {
        Some((first, _)) if first.len() >= 4 && !a.contains('_') => {
            0.9 * strsim::normalized_damerau_levenshtein(a, first)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
