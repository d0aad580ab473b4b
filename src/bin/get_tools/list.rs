//! The declarations.

use crate::print::{complain, print};
use gemini_tools::builtin::declarations;
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;
use gemini_tools::workspace::pattern::PatternSet;
use std::io::IsTerminal;
use std::path::Path;

/// What to print of them, and how.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) pretty: bool,
    pub(crate) wrap: bool,
    pub(crate) kinds: bool,
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
    let list = declarations(keep, options.kinds);
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
