//! Checks the output of the discovery command as Gemini CLI and the API would.

use super::calls::HARMLESS;
use super::{DoctorReport, State};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::declarations::{self as declaration, Names};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::json;
use gemini_tools_core::text::counted;
use serde_json::Value;

const PAIR: &str =
    "Fix the declaration, or name the pair in .gemini/tools, where get_tools repairs it.";

#[derive(Debug, Default)]
pub(super) struct DeclaredNames {
    pub(super) names: Vec<String>,
    /// Set if [`HARMLESS`] is declared with our schema. Whichever program declares it, it is then
    /// called as if it were ours.
    pub(super) has_harmless: bool,
}

pub(super) fn check(text: &[u8], report: &mut DoctorReport) -> DeclaredNames {
    let Ok(outcome) = declaration::read(text, &mut Names::new(Names::LONGEST)) else {
        // The output was parsed before this is called, so parsing can't fail.
        return DeclaredNames::default();
    };
    let items: Vec<Value> = json::read_unlimited(text).unwrap_or_default();
    let findings = outcome.findings.into_iter().map(as_the_host_takes_it);
    report.findings.extend(findings);
    let tools = counted(outcome.tools.len(), "tool");
    report.fact("declarations", tools, State::Works);
    if items.iter().any(|item| item["function"].is_object()) {
        let what = "Some are in the wrapper of another API, which Gemini CLI does not know.";
        let why = "Gemini CLI takes none of these tools.";
        report.error("foreign-wrapper", "the declarations", what, why, PAIR);
        return DeclaredNames::default();
    }
    let names = outcome.tools.into_iter().map(|tool| tool.original);
    DeclaredNames {
        names: names.collect(),
        has_harmless: has_harmless(&items),
    }
}

fn has_harmless(items: &[Value]) -> bool {
    let own = builtin::find_exactly(HARMLESS).map(|tool| tool.declaration(false));
    let own: Value = serde_json::from_str(&own.unwrap_or_default()).unwrap_or_default();
    let is_own = |item: &Value| {
        let keys = ["name", "parametersJsonSchema"];
        keys.iter().all(|key| own[key] == item[key])
    };
    items.iter().any(is_own)
}

/// Rephrases a finding about a declaration for Gemini CLI, which repairs no declarations. What
/// `get_tools` would repair becomes an error, or a warning if it does no harm in Gemini CLI.
fn as_the_host_takes_it(mut finding: Diagnostic) -> Diagnostic {
    if finding.place.tool.is_empty() {
        finding.place.origin = Some("a declaration".into());
    }
    let is_repair = finding.severity == Severity::Repair;
    let is_harmless = matches!(&*finding.code, "keyword" | "parameters-unused");
    let why = match &*finding.code {
        "keyword" => "Gemini CLI passes a schema on unchanged.",
        "parameters-unused" => "Gemini CLI looks at \"parametersJsonSchema\" alone.",
        "duplicate-name" => "In Gemini CLI the last declaration of a name counts.",
        _ if finding.severity == Severity::Warning => {
            "The model chooses tools by what it is told of them."
        }
        _ => {
            "Gemini CLI puts nothing right: it or the API drops the tool, or the whole request fails."
        }
    };
    if is_repair && is_harmless {
        finding.severity = Severity::Warning;
    } else if is_repair {
        finding.severity = Severity::Error;
        finding.message = format!("get_tools would put it right: {}", finding.message);
    }
    finding.advise(why, PAIR)
}
