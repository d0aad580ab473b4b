//! Ranks the tools of MCP servers by what a query says.
//!
//! The ranking is BM25 over fields (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework", 3.6): a word in a tool's name counts more than one in the description of a
//! parameter. Two words that follow each other in the query and in a tool count as a further,
//! rarer word, which tells "board game" from a game with a board (Metzler and Croft, "A Markov
//! Random Field Model for Term Dependencies"). The weights were chosen on one half of BFCL's
//! functions and hold on the other (`evals/many-tools`). The existing crates for BM25 rank plain
//! texts, and find the right one of these functions less often.

use super::session::McpDeclaration;
use rust_stemmers::{Algorithm, Stemmer};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Indices of the parts of a declaration in arrays such as [`WEIGHTS`].
const NAME: usize = 0;
const DESCRIPTION: usize = 1;
const PARAMETER: usize = 2;
const PARAMETER_DESCRIPTION: usize = 3;
const CHOICE: usize = 4;

/// How tools are ranked. A word counts as much as `WEIGHTS` says for the part of the declaration
/// that has it. `LENGTH` says how much the length of that part lowers this: with 0 it does not, and
/// with 1 in proportion to the length. Two words that follow each other count `PAIR` besides. Each
/// argument that a tool requires lowers its score by `REQUIRED`: of two tools that fit a query as
/// well, the one that needs less of what the query may not say is the better guess.
const WEIGHTS: [f64; 5] = [3.0, 1.0, 1.0, 0.5, 2.0];

const LENGTH: f64 = 0.5;

const PAIR: f64 = 0.25;

const REQUIRED: f64 = 0.1;

/// Words that don't tell what a tool does, and are not searched.
const STOP_WORDS: &str = "a all am an and any are as at be been but by can could did do does for from had has have how i if in is it its \
    me my need not of on or our please so some tell than that the their them then there these they this to use want was we \
    were what when where which who will with would you your";

/// The most words, and pairs of words, of a query that are searched. Each is looked for in every
/// tool, and a query is a sentence or two.
const MAX_TERMS: usize = 1000;

/// The declarations of tools, taken apart into words once for all searches among them.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The tools of the catalogue.
    pub tools: Vec<Arc<McpDeclaration>>,
    searched: Vec<SearchedTool>,
    stems: Stems,
}

/// A tool's declaration as it is searched: its words, each with the part that it stands in, and
/// [`END`] after each text. `gains` has for each part how much a word in it counts, which is the
/// weight of the part, lowered by its length.
#[derive(Debug, Default)]
struct SearchedTool {
    words: Vec<(usize, Stem)>,
    gains: [f64; WEIGHTS.len()],
    required: f64,
}

type Stem = usize;

/// Stands in place of a stem's number for the end of a text, and for a word of a query that no tool
/// has.
const END: Stem = 0;

#[derive(Debug, Default)]
struct Stems {
    of_words: HashMap<String, Stem>,
    numbers: HashMap<String, Stem>,
}

/// What is searched for: a word, or two that follow each other. For a word, `after` is [`END`].
#[derive(PartialEq)]
struct Term {
    after: Stem,
    word: Stem,
}

impl Catalogue {
    /// Takes `tools` apart.
    pub fn new(tools: Vec<Arc<McpDeclaration>>) -> Self {
        let mut stems = Stems::default();
        let snowball = stemmer();
        let searched = tools
            .iter()
            .map(|tool| SearchedTool::new(tool, &mut |word| stems.add(&snowball, word)));
        let mut searched: Vec<SearchedTool> = searched.collect();
        let lengths: Vec<_> = searched.iter().map(SearchedTool::lengths).collect();
        for part in 0..WEIGHTS.len() {
            let sum: f64 = lengths.iter().map(|lengths| lengths[part]).sum();
            let average = sum.max(1.0) / tools.len() as f64;
            for (tool, lengths) in searched.iter_mut().zip(&lengths) {
                let length = 1.0 - LENGTH + LENGTH * lengths[part] / average;
                tool.gains[part] = WEIGHTS[part] / length;
            }
        }
        Self {
            tools,
            searched,
            stems,
        }
    }

    pub(super) fn ranked(&self, query: &str) -> Vec<&McpDeclaration> {
        let terms = self.stems.terms(query);
        let mut ending_with = vec![Vec::new(); self.stems.numbers.len() + 1];
        for (at, term) in terms.iter().enumerate() {
            ending_with[term.word].push((at, term.after));
        }
        let weigh = |tool: &SearchedTool| tool.weigh(&ending_with, terms.len());
        let weighed: Vec<Vec<f64>> = self.searched.iter().map(weigh).collect();
        let all = self.tools.len() as f64;
        let importance = |(at, term): (usize, &Term)| {
            let with = weighed.iter().filter(|weights| weights[at] > 0.0).count() as f64;
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            rarity * if term.after == END { 1.0 } else { PAIR }
        };
        let importance: Vec<f64> = terms.iter().enumerate().map(importance).collect();
        let score = |(weights, tool): (&Vec<f64>, &SearchedTool)| {
            let of_terms = weights.iter().zip(&importance);
            let sum: f64 = of_terms
                .map(|(weight, term)| term * weight / (1.0 + weight))
                .sum();
            sum / (1.0 + REQUIRED * tool.required)
        };
        let scores = weighed.iter().zip(&self.searched).map(score);
        let tools = self.tools.iter().map(|tool| &**tool);
        let mut found: Vec<(f64, &McpDeclaration)> = scores.zip(tools).collect();
        found.retain(|(score, _)| *score > 0.0);
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.into_iter().map(|(_, tool)| tool).collect()
    }
}

fn stemmer() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

impl Stems {
    fn add(&mut self, snowball: &Stemmer, word: &str) -> Stem {
        let word = lower(word);
        if let Some(known) = self.of_words.get(&*word) {
            return *known;
        }
        let next = END + 1 + self.numbers.len();
        let stem = snowball.stem(&word).into_owned();
        let number = *self.numbers.entry(stem).or_insert(next);
        self.of_words.insert(word.into_owned(), number);
        number
    }

    fn terms(&self, query: &str) -> Vec<Term> {
        let snowball = stemmer();
        let mut terms = Vec::new();
        let (mut after, mut after_tells) = (END, false);
        each_word(query, |word| {
            if terms.len() >= MAX_TERMS {
                return;
            }
            let lower = lower(word);
            let tells = !STOP_WORDS.split(' ').any(|stop| stop == lower);
            let stem = self.numbers.get(&*snowball.stem(&lower));
            let word = stem.copied().unwrap_or(END);
            let single = tells.then_some(Term { after: END, word });
            let is_pair = after != END && (tells || after_tells);
            let pair = is_pair.then_some(Term { after, word });
            for term in single.into_iter().chain(pair) {
                if word != END && !terms.contains(&term) {
                    terms.push(term);
                }
            }
            (after, after_tells) = (word, tells);
        });
        terms
    }
}

#[derive(Deserialize, Default)]
struct Declared<'a> {
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow, default, rename = "parametersJsonSchema")]
    parameters: DeclaredSchema<'a>,
}

#[derive(Deserialize, Default)]
struct DeclaredSchema<'a> {
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow, default)]
    properties: BTreeMap<Cow<'a, str>, DeclaredSchema<'a>>,
    #[serde(borrow)]
    items: Option<Box<DeclaredSchema<'a>>>,
    #[serde(default, rename = "enum")]
    choices: Vec<Value>,
    /// The names of required arguments: a list, or in older drafts of JSON Schema a truth value.
    #[serde(default)]
    required: Value,
}

impl SearchedTool {
    fn new(tool: &McpDeclaration, number: &mut impl FnMut(&str) -> Stem) -> Self {
        let mut searched = Self::default();
        let name = tool.origin.as_ref().map_or(&tool.name, |(_, name)| name);
        searched.add(NAME, name, number);
        // A schema of an unexpected form is not searched; the tool is still found by its name.
        let text = format!("{}}}", tool.text);
        let declared: Declared = serde_json::from_str(&text).unwrap_or_default();
        searched.add(DESCRIPTION, &declared.description, number);
        searched.add_parameters(&declared.parameters, number);
        let required = declared.parameters.required.as_array();
        searched.required = required.map_or(0, Vec::len) as f64;
        searched
    }

    fn add_parameters(
        &mut self,
        schema: &DeclaredSchema<'_>,
        number: &mut impl FnMut(&str) -> Stem,
    ) {
        for (name, parameter) in &schema.properties {
            self.add(PARAMETER, name, number);
            self.add(PARAMETER_DESCRIPTION, &parameter.description, number);
            for choice in parameter.choices.iter().filter_map(Value::as_str) {
                self.add(CHOICE, choice, number);
            }
            self.add_parameters(parameter, number);
        }
        if let Some(items) = &schema.items {
            self.add_parameters(items, number);
        }
    }

    fn add(&mut self, part: usize, text: &str, number: &mut impl FnMut(&str) -> Stem) {
        each_word(text, |word| self.words.push((part, number(word))));
        self.words.push((part, END));
    }

    fn lengths(&self) -> [f64; WEIGHTS.len()] {
        let mut lengths = [0.0; WEIGHTS.len()];
        for (part, _) in self.words.iter().filter(|(_, stem)| *stem != END) {
            lengths[*part] += 1.0;
        }
        lengths
    }

    /// Returns how much each of `count` searched terms occurs in the tool. For each stem,
    /// `ending_with` lists the terms that end with it, each with the stem that must stand before
    /// it.
    fn weigh(&self, ending_with: &[Vec<(usize, Stem)>], count: usize) -> Vec<f64> {
        let mut weights = vec![0.0; count];
        let mut last = END;
        for (part, stem) in &self.words {
            for (term, after) in &ending_with[*stem] {
                if *after == END || *after == last {
                    weights[*term] += self.gains[*part];
                }
            }
            last = *stem;
        }
        weights
    }
}

/// Calls `each` with each word of a text. Names such as `getUser2` or `get_user` are split into
/// words, with letters apart from digits.
fn each_word<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let (mut start, mut at, mut last) = (0, 0, ' ');
    while let Some(character) = text[at..].chars().next() {
        let next = at + character.len_utf8();
        let is_part = character.is_alphanumeric();
        let begins = !is_part
            || !last.is_alphanumeric()
            || character.is_numeric() != last.is_numeric()
            || character.is_uppercase()
                && (!last.is_uppercase() || text[next..].starts_with(char::is_lowercase));
        if begins {
            if last.is_alphanumeric() {
                each(&text[start..at]);
            }
            start = at;
        }
        (at, last) = (next, character);
        if last.is_ascii_lowercase() {
            let rest = text.as_bytes()[at..].iter();
            at += rest.take_while(|byte| byte.is_ascii_lowercase()).count();
        }
    }
    if last.is_alphanumeric() {
        each(&text[start..]);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Catalogue, McpDeclaration, each_word};
    use serde_json::json;
    use std::sync::Arc;

    pub(crate) fn tool(name: &str, description: &str, required: &[&str]) -> Arc<McpDeclaration> {
        let schema = json!({
            "type": "object",
            "required": required,
            "properties": {"unit": {"type": "string", "required": true, "enum": ["kilometre", "mile"]}},
        });
        Arc::new(McpDeclaration {
            name: format!("s__{name}"),
            alias: format!("mcp_s_{name}"),
            origin: Some(("s".to_owned(), name.to_owned())),
            text: format!(
                r#"{{"name":"s__{name}","description":{},"parametersJsonSchema":{schema}"#,
                json!(description)
            ),
            annotations: None,
            is_read_only: false,
        })
    }

    fn names(catalogue: &Catalogue, query: &str) -> Vec<String> {
        let ranked = catalogue.ranked(query);
        ranked.iter().map(|tool| tool.name.clone()).collect()
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
        let tools = Catalogue::new(vec![
            tool("a", "Issues a refund.", &[]),
            tool("listIssues", "Lists what is open.", &[]),
            tool("b", "Draws a line.", &[]),
        ]);
        assert_eq!(names(&tools, "listing an issue"), ["s__listIssues", "s__a"]);
        assert_eq!(names(&tools, "miles").len(), 3);
        assert_eq!(names(&tools, "the of xyz"), [""; 0]);
        assert_eq!(names(&Catalogue::new(Vec::new()), "a line"), [""; 0]);
    }

    #[test]
    fn words_that_follow_each_other_and_fewer_arguments_are_better() {
        let tools = Catalogue::new(vec![
            tool("a", "A game on a board.", &[]),
            tool("b", "A board game.", &["unit", "more"]),
            tool("c", "A board game.", &["unit"]),
        ]);
        assert_eq!(names(&tools, "board games"), ["s__c", "s__b", "s__a"]);
        assert_eq!(names(&tools, "a game is on"), ["s__a", "s__c", "s__b"]);
        assert_eq!(names(&tools, "is a"), [""; 0]);
    }
}
