//! Respects the sandbox mode and the answer limit of Codex.
//!
//! Codex runs MCP servers outside of its sandbox. An approved call could therefore write although
//! the user has started Codex with `--sandbox read-only`. Each call names the sandbox mode of its
//! turn (seen in Codex 0.171), and commands that our tools run get at least that sandbox. The mode
//! is ignored if the user has not chosen it: in an untrusted folder it is `read-only` by default,
//! but tools that the user approves must work there.

use gemini_tools_core::client_host::{AnswerLimit, ClientHost};
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_environment::ancestors;
use rmcp::model::RequestMetaObject;
use std::sync::LazyLock;

const HEAD_BYTES: usize = 100;

pub(super) fn chosen_sandbox(meta: &RequestMetaObject) -> Option<SandboxMode> {
    static IS_CHOSEN: LazyLock<bool> =
        LazyLock::new(|| ancestors::all().any(|process| chooses_sandbox(&process.words())));
    let turn = meta.get("x-codex-turn-metadata")?;
    let mode = SandboxMode::from_name(turn.get("sandbox_mode")?.as_str()?)?;
    IS_CHOSEN.then_some(mode)
}

/// Returns the longest answer that Codex passes to its model uncut. It depends on the model, which
/// the call names, or on the user's `tool_output_token_limit`; Codex counts four bytes per token
/// and allows a fifth more. There is no limit for calls made by a script of the model, because
/// Codex limits the script's output instead.
pub(super) fn answer_limit(host: &ClientHost, meta: &RequestMetaObject) -> Option<AnswerLimit> {
    let id = meta.get("callId").and_then(|id| id.as_str());
    if id.is_some_and(|id| id.starts_with("exec-")) {
        return None;
    }
    let turn = meta.get("x-codex-turn-metadata");
    let model = turn.and_then(|turn| turn.get("model")?.as_str());
    let limit = host.answer_limit(model.unwrap_or_default())?;
    let Some(tokens) = turn.and_then(|_| configured_tokens(host)) else {
        return Some(limit);
    };
    let size = (tokens.saturating_mul(24) / 5).saturating_sub(HEAD_BYTES);
    Some(AnswerLimit { size, ..limit })
}

fn configured_tokens(host: &ClientHost) -> Option<usize> {
    let file = host.directory(None)?.join("config.toml");
    let settings: toml::Table = std::fs::read_to_string(file).ok()?.parse().ok()?;
    usize::try_from(settings.get("tool_output_token_limit")?.as_integer()?).ok()
}

fn chooses_sandbox(words: &[Vec<u8>]) -> bool {
    let texts = words.iter().map(|word| String::from_utf8_lossy(word));
    let options = texts.take_while(|word| word != "--");
    let mut options = options.skip_while(|word| !word.rsplit('/').next().is_some_and(is_codex));
    let mut has_config = false;
    options.any(|word| {
        let is_config = std::mem::replace(&mut has_config, matches!(&*word, "-c" | "--config"));
        let chooses_config = |text: &str| text.trim_start().starts_with("sandbox_mode");
        matches!(&*word, "-s" | "--sandbox" | "--full-auto")
            || word.starts_with("--sandbox=")
            || is_config && chooses_config(&word)
            || word.strip_prefix("--config=").is_some_and(chooses_config)
    })
}

fn is_codex(name: &str) -> bool {
    matches!(name, "codex" | "codex.js")
}

#[cfg(test)]
mod tests {
    use super::chooses_sandbox;

    #[test]
    fn a_sandbox_is_chosen_by_an_option_of_codex() {
        for (line, expected) in [
            ("codex exec -s read-only go", true),
            ("/opt/codex exec --sandbox=read-only go", true),
            ("node /usr/bin/codex.js --sandbox workspace-write", true),
            ("codex --full-auto", true),
            ("codex -c sandbox_mode=\"read-only\" exec go", true),
            ("codex --config=sandbox_mode=read-only", true),
            ("codex exec go", false),
            ("codex -c model=sandbox_mode", false),
            ("codex exec -- -s", false),
            ("grep -s codex", false),
        ] {
            let words: Vec<_> = line
                .split(' ')
                .map(|word| word.as_bytes().to_vec())
                .collect();
            assert_eq!(chooses_sandbox(&words), expected, "{line}");
        }
    }
}
