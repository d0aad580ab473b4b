//! The syntax of the files in which hosts keep their settings.

use gemini_tools_settings::settings::strict_jsonc;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::Deserialize;
use serde_json::Value;

pub(crate) const MARK: char = '\u{feff}';

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Syntax {
    Json,
    /// JSON with comments, but without trailing commas.
    Comments,
    /// JSON with comments and trailing commas.
    Lenient,
    Toml,
    Yaml,
}

impl Syntax {
    /// Parses a text as the host would. A blank text is null.
    ///
    /// # Errors
    ///
    /// Returns the error with its line.
    pub(crate) fn value(self, text: &str) -> Result<Value, String> {
        let body = text.strip_prefix(MARK).unwrap_or(text);
        match self {
            Self::Json if text.trim().is_empty() => Ok(Value::Null),
            Self::Json => serde_json::from_str(text).map_err(|e| e.to_string()),
            Self::Comments => strict_jsonc(text),
            Self::Lenient => {
                let options = ParseOptions {
                    allow_missing_commas: false,
                    ..ParseOptions::default()
                };
                parse_to_serde_value(body, &options).map_err(|e| e.to_string())
            }
            Self::Toml => toml::from_str(body).map_err(|e| {
                let start = e.span().map_or(0, |span| span.start);
                let line = body[..start].matches('\n').count() + 1;
                format!("line {line}: {}", e.message().trim().replace('\n', "; "))
            }),
            Self::Yaml => serde_saphyr::from_str(body)
                .map_err(|e: serde_saphyr::Error| e.without_snippet().to_string()),
        }
    }

    pub(crate) fn check(self, host: &str, text: &str) -> Result<(), String> {
        self.value(text).map(drop).map_err(|e| {
            let fault = e.trim_end_matches(['.', '\n']);
            format!(
                "{host} can't read it: {fault}. Correct that line, then run get_tools init again"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Syntax;

    #[test]
    fn only_what_gemini_cli_reads_is_strict() {
        let check = |text| Syntax::Comments.check("Gemini CLI", text);
        for good in [
            "",
            " // nothing\n",
            "{} // end",
            "/* a\n*/ {\"//\": \"/*\", \"\\\\\": \"\\\"//\"} /* end */",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, line) in [
            ("\u{feff}{}", "line 1"),
            ("{\n\"a\": 1, // last\n}", "line 2"),
            ("{\n'a': 1}", "line 2"),
            ("{/*\n*/ a: 1}", "line 2"),
        ] {
            let error = check(bad).expect_err("refused");
            assert!(error.contains(line), "{bad}: {error}");
        }
    }
}
