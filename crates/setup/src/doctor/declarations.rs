//! The output of the discovery command, as Gemini CLI and the API see it.

use super::{DoctorReport, Setup, State};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::declarations::{self as declaration, Names};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::counted;
use serde_json::Value;
use std::collections::BTreeSet;

/// Number of tokens from which the cost of all declarations is felt.
const MANY_TOKENS: usize = 20_000;

/// Rough, for JSON in English.
const BYTES_PER_TOKEN: usize = 4;

const PAIR: &str =
    "Fix the declaration, or name the pair in .gemini/tools, where get_tools repairs it.";

/// The names of the tools that are declared.
#[derive(Debug, Default)]
pub(super) struct DeclaredNames {
    pub(super) names: Vec<String>,
    /// The built-in tools of ours among them, whatever program declares them.
    pub(super) ours: Vec<String>,
}

/// Looks at each declaration.
pub(super) fn check(setup: &Setup<'_>, text: &[u8], report: &mut DoctorReport) -> DeclaredNames {
    let Ok(outcome) = declaration::read(text, &mut Names::new(Names::LONGEST)) else {
        // It was read before.
        return DeclaredNames::default();
    };
    let items: Vec<Value> = serde_json::from_slice(text).unwrap_or_default();
    let findings = outcome.findings.into_iter().map(as_the_host_takes_it);
    report.findings.extend(findings);
    let tokens = text.len() / BYTES_PER_TOKEN;
    let tools = counted(outcome.tools.len(), "tool");
    let what = format!("{tools}, about {tokens} tokens in each request");
    report.note("declarations", what, State::Works);
    if tokens > MANY_TOKENS {
        let what = format!("They take about {tokens} tokens.");
        let why = "They are paid for with each request, and with many tools models choose worse.";
        let help = "Leave some out (get_tools --only, tools.exclude), or shorten descriptions.";
        report.warn("many-tokens", "the declarations", what, why, help);
    }
    let originals: BTreeSet<&str> = outcome.tools.iter().map(|t| t.original.as_str()).collect();
    let ours = ours(&items);
    warn_of_left_out(setup, &ours, report);
    if setup.host_may_be(..(0, 61)) {
        let is_foreign =
            |name: &&&str| builtin::find(name).is_some() && !ours.iter().any(|own| own == *name);
        for name in originals.iter().filter(is_foreign) {
            let what = "It has the name of a tool of Gemini CLI's own.";
            let why = "Before 0.61 it takes that one's place, without a word.";
            let help = "Rename it, unless that is meant.";
            report.warn("replaces-built-in", *name, what, why, help);
        }
    }
    if !items.iter().any(|item| item["function"].is_object()) {
        let names = originals.into_iter().map(str::to_owned).collect();
        return DeclaredNames { names, ours };
    }
    let why =
        "Gemini CLI knows its own wrappers, functionDeclarations and function_declarations, only.";
    let what = "Some are in the wrapper of another API.";
    report.error("foreign-wrapper", "the declarations", what, why, PAIR);
    DeclaredNames::default()
}

/// Warns of tools of ours that the settings take away from `get_tools`.
fn warn_of_left_out(setup: &Setup<'_>, ours: &[String], report: &mut DoctorReport) {
    let has_lists = setup.settings.core.is_some() || !setup.settings.exclude.is_empty();
    let all = builtin::TOOLS.iter().map(|tool| tool.name);
    let left_out: Vec<&str> = all
        .filter(|name| !ours.iter().any(|own| own == name))
        .collect();
    if !has_lists || ours.is_empty() || left_out.is_empty() {
        return;
    }
    let what = format!(
        "tools.exclude or tools.core leaves out: {}.",
        left_out.join(", ")
    );
    let why = "The model is not told of these tools.";
    let help = "Change the list, if you want them: get_tools config names its file.";
    report.warn("tools-left-out", "the declarations", what, why, help);
}

/// Returns the names of the declarations that are those of our built-in tools.
fn ours(items: &[Value]) -> Vec<String> {
    let own: Vec<Value> = builtin::TOOLS
        .iter()
        .filter_map(|tool| serde_json::from_str(&tool.declaration(false)).ok())
        .collect();
    let is_own = |item: &&Value| {
        let keys = ["name", "parametersJsonSchema"];
        own.iter()
            .any(|own| keys.iter().all(|key| own[key] == item[key]))
    };
    let names = items.iter().filter(is_own);
    names
        .filter_map(|item| item["name"].as_str().map(str::to_owned))
        .collect()
}

/// Returns a finding as what Gemini CLI makes of it, which puts nothing right.
fn as_the_host_takes_it(mut finding: Diagnostic) -> Diagnostic {
    if finding.place.tool.is_empty() {
        finding.place.origin = Some("a declaration".into());
    }
    let (severity, why, help) = match (&*finding.code, finding.severity) {
        (_, Severity::Warning) => (
            Severity::Warning,
            "The model chooses tools by what it is told of them.",
            "Change what the discovery command prints.",
        ),
        ("duplicate-name", _) => {
            finding.message = "It is declared twice, or its name is another's.".into();
            (
                Severity::Error,
                "In Gemini CLI the last declaration of a name counts; the others are lost.",
                "Rename one, or print each once.",
            )
        }
        ("parameters-unused", _) => {
            finding.message =
                "It is beside \"parametersJsonSchema\", which alone Gemini CLI looks at.".into();
            let why = "What is there is told to no model.";
            (Severity::Warning, why, "Take it out.")
        }
        ("keyword", _) => {
            let why = "Gemini CLI passes a schema on unchanged.";
            (Severity::Warning, why, PAIR)
        }
        (code, Severity::Repair) if code != "parameters-key" => {
            finding.message = format!("get_tools would put it right: {}", finding.message);
            let why =
                "Gemini CLI does not: it or the API drops the tool, or the whole request fails.";
            (Severity::Error, why, PAIR)
        }
        _ => {
            let why = "Gemini CLI or the API drops it, or the whole request fails.";
            (Severity::Error, why, PAIR)
        }
    };
    finding.severity = severity;
    finding.advise(why, help)
}
