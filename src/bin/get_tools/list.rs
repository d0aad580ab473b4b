//! The declarations.

use crate::print::{complain, print};
use gemini_tools::builtin::{Surroundings, declarations};
use gemini_tools::custom;
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;
use gemini_tools::tool::ToolError;
use gemini_tools::workspace::Workspace;
use gemini_tools::workspace::pattern::PatternSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

/// What to print of them, and how.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) pretty: bool,
    pub(crate) wrap: bool,
    pub(crate) kinds: bool,
    /// Whether what is kept of custom tools doesn't count.
    pub(crate) refresh: bool,
    pub(crate) only: Option<PatternSet>,
    pub(crate) exclude: PatternSet,
}

/// Prints the declarations.
pub(crate) fn run(options: &Options) -> u8 {
    let settings = Settings::load(home().as_deref(), Path::new("."));
    if std::io::stderr().is_terminal() {
        for problem in &settings.problems {
            complain(&format!("get_tools: ignored {}", visible(problem)));
        }
        for note in &settings.notes {
            complain(&format!("get_tools: {}", visible(&note.to_string())));
        }
        if settings.notes.iter().any(|note| note.needs_trust) {
            complain("get_tools: get_tools trust shows what the project brings, and trusts it");
        }
    }
    let keep = |name: &str, aliases: &[&str]| {
        let names: Vec<&str> = std::iter::once(name)
            .chain(aliases.iter().copied())
            .collect();
        let listed = |set: &PatternSet| names.iter().any(|n| set.matches(n.as_bytes(), 0));
        settings.allows(&names)
            && options.only.as_ref().is_none_or(listed)
            && !listed(&options.exclude)
    };
    let mut list = declarations(keep, options.kinds);
    let root = std::env::current_dir().unwrap_or_default();
    let custom = custom::open(home().as_deref(), &root).declarations(
        |name| keep(name, &[]),
        options.kinds,
        options.refresh,
        || surroundings(&settings),
    );
    list.extend(custom.list);
    if std::io::stderr().is_terminal() {
        for note in custom.notes {
            complain(&format!("get_tools: {}", visible(&note)));
        }
    }
    let mut text = format!("[{}]", list.join(","));
    if options.wrap {
        text = format!(r#"[{{"functionDeclarations":{text}}}]"#);
    }
    if options.pretty
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(&text)
    {
        text = serde_json::to_string_pretty(&value).unwrap_or(text);
    }
    text.push('\n');
    print(text.as_bytes())
}

/// What the commands of pairs run in.
pub(crate) fn surroundings(settings: &Settings) -> Result<Surroundings, ToolError> {
    Ok(Surroundings {
        workspace: Arc::new(Workspace::open(&[], home().as_deref())?),
        settings: Arc::new(settings.clone()),
    })
}
