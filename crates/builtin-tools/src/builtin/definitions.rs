//! Finds definitions for `search_file_content`: symbols whose names the pattern matches, in the
//! files that have matching lines.

use super::counted;
use super::query::Query;
use super::syntax::Parser;
use gemini_tools_core::colours::Look;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{Context, FoundPlace, ResultPlaces, ToolResult};
use gemini_tools_syntax::Symbol;
use gemini_tools_workspace::Workspace;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit for all files together. Files whose turn has not come by then are not parsed, and the
/// answer says so.
const LIMIT: Duration = Duration::from_secs(2);

/// The definitions whose names match the pattern, by file. `is_cut` is set if some may be missing,
/// because the time was up or a file of a known language could not be parsed.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    files: Vec<(Vec<u8>, Vec<Symbol>)>,
    is_cut: bool,
}

impl Definitions {
    pub(super) fn find<'n>(
        parser: &Parser,
        workspace: &Workspace,
        query: &Query,
        names: impl Iterator<Item = &'n Vec<u8>>,
    ) -> Self {
        let until = Instant::now() + LIMIT;
        let is_wanted = |symbol: &Symbol| query.is_match(symbol.name.as_bytes()) == Ok(true);
        let mut found = Self::default();
        for name in names.filter(|name| parser.can_parse(&String::from_utf8_lossy(name))) {
            let is_in_time = Instant::now() < until;
            let symbols = is_in_time
                .then(|| symbols(parser, workspace, name))
                .flatten();
            found.is_cut |= symbols.is_none();
            let mut symbols = symbols.unwrap_or_default();
            symbols.retain(is_wanted);
            if !symbols.is_empty() {
                found.files.push((name.clone(), symbols));
            }
        }
        found
    }

    /// Returns the answer of the search, or `None` if no definition was found. The answer also says
    /// how many `lines` match. `is_cut` is set if files with further matching lines were left out.
    pub(super) fn answer(
        self,
        pattern: &str,
        lines: u64,
        is_cut: bool,
        cx: &Context,
    ) -> Option<ToolResult> {
        let is_cut = is_cut || self.is_cut;
        let count: usize = self.files.iter().map(|(_, symbols)| symbols.len()).sum();
        if count == 0 {
            return None;
        }
        let mut text = NamedText::answering(cx);
        let found = format!("Found {}", counted(count, "definition"));
        text.push_str(&format!("{found} for pattern \"{pattern}\":\n---\n"));
        let mut places = Vec::new();
        for (name, symbols) in self.files {
            text.push_str("File: ");
            text.push_name(&name);
            text.push_str("\n");
            let file: Arc<[u8]> = name.into();
            for symbol in symbols {
                let (first, last) = symbol.lines();
                text.push_str("L");
                text.push_looking(&format!("{first}-{last}"), Look::LineNumber);
                text.push_str(&format!(": {} {}\n", symbol.kind, symbol.name));
                places.push(FoundPlace {
                    line: Some(first as u64),
                    ..FoundPlace::file(Arc::clone(&file))
                });
            }
            text.push_str("---\n");
        }
        let lines = counted(lines as usize, "matching line");
        text.push_str(&format!(
            "\n({lines} in all: leave \"definitions\" out to see them. read_file with start_line and end_line reads a \
             definition.)"
        ));
        if is_cut {
            text.push_str(
                "\n(Not all files were looked at. Narrow the search with \"path\" or \"include\" to see other definitions.)",
            );
        }
        let mut result = ToolResult::named(text)
            .with_display(found)
            .with_data("definitions", count)
            .with_data("matches", count)
            .with_data("limited", is_cut);
        result.locations = (cx.view.places != ResultPlaces::Unwanted).then_some(places);
        Some(result)
    }
}

fn symbols(parser: &Parser, workspace: &Workspace, name: &[u8]) -> Option<Vec<Symbol>> {
    let place = workspace.locate(std::str::from_utf8(name).ok()?).ok()?;
    let open = workspace.open_file(&place).ok()?;
    parser.outline_of(&place, &open, None).ok()?
}
