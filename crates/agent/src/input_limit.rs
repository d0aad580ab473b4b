//! The input limits of models, by their names. Gemini CLI goes by names, too: Vertex AI and Code
//! Assist don't report a limit.

const USUAL: u64 = 1_048_576;

/// Prefixes of model names with their input limits in tokens, from Google's list of models. The
/// first match wins.
const LIMITS: [(&str, u64); 8] = [
    ("gemini-1.0", 32_768),
    ("gemini-pro", 32_768),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-2.5-flash-image", 32_768),
    ("gemini-2.0-flash-preview-image", 32_768),
    ("gemini-3-pro-image", 65_536),
    ("gemma-3-1b", 32_768),
    ("gemma", 131_072),
];

pub(super) fn by_name(model: &str) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let known = LIMITS.iter().find(|(start, _)| name.starts_with(start));
    known.map_or(USUAL, |(_, limit)| *limit)
}

#[cfg(test)]
mod tests {
    use super::by_name;

    #[test]
    fn each_model_has_its_own_limit() {
        for (model, limit) in [
            ("gemini-2.5-pro", 1_048_576),
            ("models/gemini-1.5-pro-002", 2_097_152),
            ("gemini-2.5-flash-image-preview", 32_768),
            ("gemma-3-1b-it", 32_768),
            ("gemma-3-27b-it", 131_072),
            ("another", 1_048_576),
        ] {
            assert_eq!(by_name(model), limit, "{model}");
        }
    }
}
