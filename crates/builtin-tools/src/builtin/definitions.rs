//! Finds definitions for `search_file_content`: symbols whose names the pattern matches, in the
//! files that have matching lines.

use super::counted;
use super::query::Query;
use super::syntax::Parser;
use gemini_tools_core::colours::Look;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{Context, FoundPlace, ResultPlaces, ToolResult};
use gemini_tools_syntax::{MAX_BYTES, Symbol};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::lines::{beginning, encoding_of};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit for all files together. Files that are left then count as having no definitions.
const LIMIT: Duration = Duration::from_secs(2);

/// The symbols that were found, with the name of the file that defines them.
#[derive(Debug, Default)]
pub(super) struct Definitions(Vec<(Vec<u8>, Vec<Symbol>)>);

impl Definitions {
    /// Looks for definitions in files, given by names relative to the first root or absolute.
    pub(super) fn find<'n>(
        parser: &Parser,
        workspace: &Workspace,
        query: &Query,
        names: impl Iterator<Item = &'n Vec<u8>>,
    ) -> Self {
        let until = Instant::now() + LIMIT;
        let is_wanted = |symbol: &Symbol| query.is_match(symbol.name.as_bytes()) == Ok(true);
        let mut files = Vec::new();
        for name in names.take_while(|_| Instant::now() < until) {
            let mut symbols = symbols(parser, workspace, name).unwrap_or_default();
            symbols.retain(is_wanted);
            if !symbols.is_empty() {
                files.push((name.clone(), symbols));
            }
        }
        Self(files)
    }

    /// Returns the answer of the search, which also says that there are `lines` matching lines.
    /// Returns `None` if there is no definition.
    pub(super) fn answer(self, pattern: &str, lines: u64, cx: &Context) -> Option<ToolResult> {
        let count: usize = self.0.iter().map(|(_, symbols)| symbols.len()).sum();
        if count == 0 {
            return None;
        }
        let mut text = NamedText::answering(cx);
        let found = format!("Found {}", counted(count, "definition"));
        text.push_str(&format!("{found} for pattern \"{pattern}\":\n---\n"));
        let mut places = Vec::new();
        for (name, symbols) in self.0 {
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
        let mut result = ToolResult::named(text)
            .with_display(found)
            .with_data("definitions", count);
        result.locations = (cx.view.places != ResultPlaces::Unwanted).then_some(places);
        Some(result)
    }
}

fn symbols(parser: &Parser, workspace: &Workspace, name: &[u8]) -> Option<Vec<Symbol>> {
    let path = Path::new(OsStr::from_bytes(name));
    if !parser.knows(&path.file_name()?.to_string_lossy()) {
        return None;
    }
    let place = workspace.locate(path.to_str()?).ok()?;
    let open = workspace.open_file(&place).ok()?;
    if open.size() > MAX_BYTES as u64 {
        return None;
    }
    let encoding = encoding_of(&open).ok()??;
    let text = encoding
        .decode(&beginning(&open, MAX_BYTES).ok()?)
        .into_owned();
    parser.outline(&place.name().to_string_lossy(), text)
}
