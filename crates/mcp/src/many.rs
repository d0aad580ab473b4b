//! Too many tools: instead of all declarations, a model gets one tool that searches them and one
//! that calls a tool that was found.
//!
//! Declarations are part of every request to a model. Those of two hundred tools cost tens of
//! thousands of tokens, and a model chooses among them worse than among few.
//!
//! The search ranks by BM25 over fields (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework", 3.6): a word in a tool's name counts more than one in the description of a
//! parameter. The existing crates for BM25 rank plain texts: with them the right one of BFCL's
//! functions is among the first five for 83 of 100 questions, with this code for 88 (measured by
//! `evals/many-tools`). There is no index: one of a thousand declarations would have to be kept
//! current, and takes as long to read as the declarations.

use super::session::McpDeclaration;
use gemini_tools_core::tool::{
    Args, FunctionTool, Kind, Schema, TailToolCallRequest, Tool, ToolError, ToolResult, convert,
};
use rust_stemmers::{Algorithm, Stemmer};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The name of the tool that searches the tools of MCP servers.
pub const SEARCH: &str = "search_mcp_tools";

/// The name of the tool that calls a tool of an MCP server.
pub const CALL: &str = "call_mcp_tool";

/// Maximum number of tools whose declarations a search returns.
const DESCRIBED: usize = 5;

/// Maximum number of further tools whose names a search returns.
const NAMED: usize = 10;

/// Maximum number of servers that the declaration of the search tool names.
const NAMED_SERVERS: usize = 20;

/// Indices of the parts of a declaration in arrays such as [`WEIGHTS`].
const NAME: usize = 0;
const DESCRIPTION: usize = 1;
const PARAMETER: usize = 2;
const PARAMETER_DESCRIPTION: usize = 3;
const CHOICE: usize = 4;

/// How much a word in each part of a declaration counts.
const WEIGHTS: [f64; 5] = [3.0, 1.0, 1.0, 0.5, 2.0];

/// How much the length of a part lowers its words' weight: from 0, not at all, to 1, in proportion.
const LENGTH: f64 = 0.5;

/// Words that don't tell what a tool does, and are not searched.
const STOP_WORDS: &str = "a all am an and any are as at be been but by can could did do does for from had has have how i if in is it its \
    me my need not of on or our please so some tell than that the their them then there these they this to use want was we \
    were what when where which who will with would you your";

/// Returns the declarations for a model. If more than `limit` of `tools` are of MCP servers, the
/// search tool and the call tool stand for those.
pub fn offered(tools: Vec<McpDeclaration>, limit: usize) -> Vec<McpDeclaration> {
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for (server, _) in tools.iter().filter_map(|tool| tool.origin.as_ref()) {
        *servers.entry(server).or_default() += 1;
    }
    let count: usize = servers.values().sum();
    if count <= limit {
        return tools;
    }
    let shown = servers.iter().take(NAMED_SERVERS);
    let shown: Vec<String> = shown
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    let more = if servers.len() > NAMED_SERVERS {
        " and others"
    } else {
        ""
    };
    let servers = format!("{}{more}", shown.join(", "));
    let counts = format!(" The servers, and how many tools each has: {servers}.");
    let own = [
        declaration(&search_tool(Vec::new()), &counts),
        declaration(&call_tool(), ""),
    ];
    let mut offered: Vec<_> = tools
        .into_iter()
        .filter(|tool| tool.origin.is_none())
        .chain(own)
        .collect();
    offered.sort_by(|a, b| a.name.cmp(&b.name));
    offered
}

fn declaration(tool: &dyn Tool, more: &str) -> McpDeclaration {
    let description = format!("{}{more}", tool.description());
    let is_read_only = tool.info().is_read_only;
    let schema = tool.parameters().value();
    McpDeclaration::of_no_server(tool.name(), &description, schema, is_read_only)
}

#[derive(Deserialize)]
struct Query {
    query: String,
}

/// Makes the tool that searches `tools`.
pub fn search_tool(tools: Vec<McpDeclaration>) -> impl Tool {
    let schema = Schema::from_static(
        r#"{"type":"object","required":["query"],"properties":{"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words, or its name."}}}"#,
    );
    FunctionTool::read_only(
        SEARCH,
        "Searches the tools of MCP servers, which are too many to be declared. Answers with the declarations of the \
         best, which call_mcp_tool calls.",
        schema,
        move |Query { query }, _| Ok(found(&tools, &query)),
    )
}

fn found(tools: &[McpDeclaration], query: &str) -> ToolResult {
    let best = ranked(tools, query);
    let (described, named) = best.split_at(best.len().min(DESCRIBED));
    let mut lines: Vec<String> = described
        .iter()
        .map(|tool| format!("{}}}", tool.text))
        .collect();
    let named: Vec<&str> = named.iter().take(NAMED).map(|tool| &*tool.name).collect();
    if !named.is_empty() {
        lines.push(format!("Less likely: {}", named.join(", ")));
    }
    let text = if lines.is_empty() {
        format!(
            "None of the {} tools of MCP servers has any of these words. Try others.",
            tools.len()
        )
    } else {
        lines.join("\n")
    };
    ToolResult::text(&text).with_display(text)
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Makes the tool whose result asks for a call of a server's tool, which is judged like any other.
pub fn call_tool() -> impl Tool {
    let schema = Schema::from_static(
        r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string","minLength":1,"description":"The tool's name, as search_mcp_tools gives it."},"arguments":{"type":"object","description":"The tool's arguments, as its declaration has them."}}}"#,
    );
    FunctionTool::changing(
        CALL,
        "Calls a tool of an MCP server, which search_mcp_tools has found.",
        Kind::Other,
        schema,
        |Wanted { name, arguments }, _| {
            let mut result = ToolResult::text("");
            result.tail_tool_call_request = Some(TailToolCallRequest {
                name,
                args: arguments,
            });
            Ok(result)
        },
    )
}

/// Returns the name and the arguments of the server's tool that a call of [`CALL`] asks for.
///
/// # Errors
///
/// Returns `invalid_tool_params` if the arguments don't fit the schema.
pub fn wanted(mut args: Value) -> Result<(String, Value), ToolError> {
    let tool = call_tool();
    convert(&tool, &mut args);
    let Wanted { name, arguments } = Args::from_value(args)?.parse(tool.parameters())?;
    Ok((name, Value::Object(arguments)))
}

fn ranked<'t>(tools: &'t [McpDeclaration], query: &str) -> Vec<&'t McpDeclaration> {
    let mut words = Words::of_query(query);
    let parts: Vec<Parts> = tools.iter().map(|tool| words.count(tool)).collect();
    let all = tools.len().max(1) as f64;
    let mut averages = [0.0; WEIGHTS.len()];
    for (at, average) in averages.iter_mut().enumerate() {
        *average = parts.iter().map(|parts| parts.lengths[at]).sum::<f64>() / all;
    }
    let rarity = |word: usize| {
        let with = parts
            .iter()
            .filter(|parts| parts.counts[word].iter().any(|count| *count > 0.0))
            .count() as f64;
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    };
    let rarities: Vec<f64> = (0..words.stems.len()).map(rarity).collect();
    let score = |parts: &Parts| -> f64 {
        let of_word = |(counts, rarity): (&[f64; WEIGHTS.len()], &f64)| {
            let weighed = (0..WEIGHTS.len()).filter(|at| counts[*at] > 0.0).map(|at| {
                let length = 1.0 - LENGTH + LENGTH * parts.lengths[at] / averages[at];
                WEIGHTS[at] * counts[at] / length
            });
            let weighed: f64 = weighed.sum();
            rarity * weighed / (1.0 + weighed)
        };
        parts.counts.iter().zip(&rarities).map(of_word).sum()
    };
    let mut scored: Vec<(f64, &McpDeclaration)> = parts.iter().map(score).zip(tools).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, tool)| tool).collect()
}

/// How often each word of a query is in each part of a declaration, and how many words a part has.
struct Parts {
    counts: Vec<[f64; WEIGHTS.len()]>,
    lengths: [f64; WEIGHTS.len()],
}

#[derive(Deserialize, Default)]
struct Searched<'a> {
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow, default, rename = "parametersJsonSchema")]
    parameters: SearchedSchema<'a>,
}

#[derive(Deserialize, Default)]
struct SearchedSchema<'a> {
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow, default)]
    properties: BTreeMap<Cow<'a, str>, SearchedSchema<'a>>,
    #[serde(borrow)]
    items: Option<Box<SearchedSchema<'a>>>,
    #[serde(default, rename = "enum")]
    choices: Vec<Value>,
}

struct Words {
    stemmer: Stemmer,
    stems: Vec<String>,
    /// The first two bytes of the words and of their stems. Nearly all words of a declaration begin
    /// otherwise and need not be stemmed.
    beginnings: Vec<[u8; 2]>,
    /// Words met in declarations that begin like one in `beginnings`, with the index of their stem
    /// in `stems`; `None` if it is not there.
    met: HashMap<String, Option<usize>>,
}

impl Words {
    fn of_query(query: &str) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let (mut stems, mut beginnings) = (Vec::new(), Vec::new());
        each_word(query, |word| {
            let word = word.to_lowercase();
            let stem = stemmer.stem(&word).into_owned();
            if !STOP_WORDS.split(' ').any(|stop| stop == word) && !stems.contains(&stem) {
                // A word and its stem may begin differently: the stem of "lying" is "lie".
                beginnings.extend([beginning(&word), beginning(&stem)]);
                stems.push(stem);
            }
        });
        Self {
            stemmer,
            stems,
            beginnings,
            met: HashMap::new(),
        }
    }

    fn find(&mut self, word: &str) -> Option<usize> {
        if !self.beginnings.contains(&beginning(word)) {
            return None;
        }
        let word = word.to_lowercase();
        if let Some(known) = self.met.get(&word) {
            return *known;
        }
        let stem = self.stemmer.stem(&word);
        let place = self.stems.iter().position(|asked| *asked == *stem);
        self.met.insert(word, place);
        place
    }

    fn count(&mut self, tool: &McpDeclaration) -> Parts {
        let mut parts = Parts {
            counts: vec![[0.0; WEIGHTS.len()]; self.stems.len()],
            lengths: [0.0; WEIGHTS.len()],
        };
        let name = tool.origin.as_ref().map_or(&tool.name, |(_, name)| name);
        self.add(&mut parts, NAME, name);
        // A schema of an unexpected form is not searched; the tool is still found by its name.
        let text = format!("{}}}", tool.text);
        let searched: Searched = serde_json::from_str(&text).unwrap_or_default();
        self.add(&mut parts, DESCRIPTION, &searched.description);
        self.add_parameters(&mut parts, &searched.parameters);
        parts
    }

    fn add_parameters(&mut self, parts: &mut Parts, schema: &SearchedSchema<'_>) {
        for (name, parameter) in &schema.properties {
            self.add(parts, PARAMETER, name);
            self.add(parts, PARAMETER_DESCRIPTION, &parameter.description);
            for choice in parameter.choices.iter().filter_map(Value::as_str) {
                self.add(parts, CHOICE, choice);
            }
            self.add_parameters(parts, parameter);
        }
        if let Some(items) = &schema.items {
            self.add_parameters(parts, items);
        }
    }

    fn add(&mut self, parts: &mut Parts, part: usize, text: &str) {
        each_word(text, |word| {
            parts.lengths[part] += 1.0;
            if let Some(at) = self.find(word) {
                parts.counts[at][part] += 1.0;
            }
        });
    }
}

/// Returns the first two bytes of a word in lower case; zeros if they are not ASCII, where lower
/// case may have other bytes.
fn beginning(word: &str) -> [u8; 2] {
    let byte = |at: usize| word.as_bytes().get(at).copied().unwrap_or_default();
    let bytes = [byte(0), byte(1)];
    if bytes.is_ascii() {
        bytes.map(|byte| byte.to_ascii_lowercase())
    } else {
        [0; 2]
    }
}

/// Calls `each` with each word of a text. Names such as `getUser2` or `get_user` are split into
/// words, with letters apart from digits.
fn each_word<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let (mut start, mut last) = (0, ' ');
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        if character.is_ascii_lowercase() && last.is_ascii_lowercase() {
            continue;
        }
        let is_part = character.is_alphanumeric();
        let begins = !is_part
            || !last.is_alphanumeric()
            || character.is_numeric() != last.is_numeric()
            || character.is_uppercase()
                && (!last.is_uppercase()
                    || rest.peek().is_some_and(|(_, next)| next.is_lowercase()));
        if begins {
            if last.is_alphanumeric() {
                each(&text[start..at]);
            }
            start = at;
        }
        last = character;
    }
    if last.is_alphanumeric() {
        each(&text[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::{McpDeclaration, each_word, offered, ranked};
    use serde_json::json;

    fn tool(name: &str, description: &str) -> McpDeclaration {
        let schema = json!({"type": "object", "properties": {"unit": {"type": "string", "enum": ["kilometre", "mile"]}}});
        McpDeclaration {
            name: format!("s__{name}"),
            alias: format!("mcp_s_{name}"),
            origin: Some(("s".to_owned(), name.to_owned())),
            text: format!(
                r#"{{"name":"s__{name}","description":{},"parametersJsonSchema":{schema}"#,
                json!(description)
            ),
            annotations: None,
            is_read_only: false,
        }
    }

    #[test]
    fn names_are_split_as_programs_write_them() {
        for (text, expected) in [
            ("getHTTPServer2Status", "get http server 2 status"),
            ("list-open_issues.v3", "list open issues v 3"),
            ("What's Übung?", "what s übung"),
            ("", ""),
        ] {
            let mut words = Vec::new();
            each_word(text, |word| words.push(word.to_lowercase()));
            assert_eq!(words.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_name_says_more_than_a_description_and_a_stem_is_enough() {
        let tools = [
            tool("a", "Issues a refund."),
            tool("listIssues", "Lists what is open."),
            tool("b", "Draws a line."),
        ];
        let names = |query: &str| -> Vec<String> {
            ranked(&tools, query)
                .iter()
                .map(|tool| tool.name.clone())
                .collect()
        };
        assert_eq!(names("listing an issue"), ["s__listIssues", "s__a"]);
        assert_eq!(names("miles").len(), 3);
        assert_eq!(names("the of xyz"), [""; 0]);
    }

    #[test]
    fn few_tools_are_declared_themselves() {
        let two = || vec![tool("a", "A."), tool("b", "B.")];
        assert_eq!(offered(two(), 2), two());
        let offered = offered(two(), 1);
        let names: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, [super::CALL, super::SEARCH]);
        assert!(
            offered[1].description().contains("s (2)"),
            "{:?}",
            offered[1]
        );
    }
}
