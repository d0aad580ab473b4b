//! `get_tools --format`: the declarations in other formats, for APIs and people.

use crate::get_tools::command::GetToolsOptions;
use crate::get_tools::table::table;
use gemini_tools::builtin;
use gemini_tools::dialect::{Dialect, GeminiDeclaration};
use gemini_tools::output::width;
use gemini_tools::text::visible;
use gemini_tools::tool::{Kind, parameters};
use serde_json::Value;
use std::io::IsTerminal;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Dialect(Dialect),
    Markdown,
    List,
    Names,
}

impl Default for Format {
    fn default() -> Self {
        Format::Dialect(Dialect::Gemini)
    }
}

impl Format {
    pub(crate) fn for_stdout() -> Self {
        if std::io::stdout().is_terminal() {
            Format::List
        } else {
            Format::default()
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "markdown" => Format::Markdown,
            "list" => Format::List,
            "names" => Format::Names,
            dialect => Format::Dialect(Dialect::from_name(dialect).unwrap_or_default()),
        }
    }

    pub(crate) fn is_json(self) -> bool {
        matches!(self, Format::Dialect(_))
    }

    pub(crate) fn is_gemini(self) -> bool {
        self == Format::default()
    }

    /// Returns true if the format has a place for a tool's kind. Other APIs reject unknown keys.
    pub(crate) fn has_kinds(self) -> bool {
        !self.is_json() || self.is_gemini()
    }

    pub(crate) fn write(self, list: &[String], options: &GetToolsOptions) -> String {
        let declared = || {
            let read = |text: &String| serde_json::from_str::<GeminiDeclaration>(text).ok();
            list.iter().filter_map(read)
        };
        match self {
            Format::Dialect(Dialect::Gemini) => {
                json(list, "[{\"functionDeclarations\":", "}]", options)
            }
            Format::Dialect(dialect) => {
                let list: Vec<String> = declared()
                    .map(|d| d.to_json(dialect, options.kinds))
                    .collect();
                json(&list, "{\"tools\":", "}", options)
            }
            Format::Markdown => markdown(&declared().collect::<Vec<_>>()),
            Format::List => overview(&declared().collect::<Vec<_>>(), options),
            Format::Names => declared()
                .map(|d| match kind_of(&d) {
                    kind if options.kinds => format!("{}\t{kind}\n", d.name),
                    _ => format!("{}\n", d.name),
                })
                .collect(),
        }
    }
}

fn json(list: &[String], before: &str, after: &str, options: &GetToolsOptions) -> String {
    let mut text = format!("[{}]", list.join(","));
    if options.wrap {
        text = format!("{before}{text}{after}");
    }
    if options.pretty
        && let Ok(value) = serde_json::from_str::<Value>(&text)
    {
        text = serde_json::to_string_pretty(&value).unwrap_or(text);
    }
    text.push('\n');
    text
}

fn kind_of(declared: &GeminiDeclaration) -> String {
    let kind = declared.kind.unwrap_or(Kind::Other);
    let name = serde_json::to_value(kind).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" ")).into_owned()
}

fn markdown(list: &[GeminiDeclaration]) -> String {
    let mut text = String::new();
    for declared in list {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!(
            "## `{}`\n\n{}\n\nKind: {}\n",
            declared.name,
            one_line(&declared.description),
            kind_of(declared)
        ));
        let schema = declared.schema();
        let parameters = parameters(&schema);
        if parameters.is_empty() {
            continue;
        }
        text.push_str("\n| Parameter | Type | | Description |\n|---|---|---|---|\n");
        for parameter in parameters {
            let cell = |text: &str| one_line(text).replace('|', "\\|");
            text.push_str(&format!(
                "| `{}` | {} | {} | {} |\n",
                cell(&parameter.name),
                cell(&parameter.kind),
                if parameter.is_required {
                    "required"
                } else {
                    ""
                },
                cell(parameter.description)
            ));
        }
    }
    text
}

fn summary(declared: &GeminiDeclaration) -> String {
    one_line(&builtin::summary(&declared.name, &declared.description))
}

fn overview(list: &[GeminiDeclaration], options: &GetToolsOptions) -> String {
    let headings = ["TOOL", "KIND", "WHAT IT DOES"].map(str::to_owned);
    let rows = list
        .iter()
        .map(|d| [d.name.clone(), kind_of(d), summary(d)]);
    let rows: Vec<_> = std::iter::once(headings).chain(rows).collect();
    let has_colours = options.colours.shows_on(std::io::stdout().is_terminal());
    table(&rows, width(), has_colours)
}
