//! Sets up the model, or the script that is played in its place, and the recording of a script.

use crate::run_agent::bad_input;
use crate::run_agent::input::Prompt;
use crate::run_agent::setup::Setup;
use gemini_tools::agent::event::SessionError;
use gemini_tools::agent::model_script::{ModelScript, Recorder, ScriptPlayer};
use gemini_tools::genai::GeminiClient;
use gemini_tools::process::{read_named, read_stdin};
use gemini_tools::text::visible;
use gemini_tools::tool::Cancellation;
use std::path::Path;

const MAX_BYTES: usize = 64 * 1024 * 1024;

pub(crate) struct Model {
    pub(crate) client: GeminiClient,
    pub(crate) name: String,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) player: Option<ScriptPlayer>,
}

pub(crate) fn script(
    setup: &Setup<'_>,
    cancel: &Cancellation,
) -> Result<Option<ModelScript>, SessionError> {
    let Some(path) = &setup.options.model_script else {
        return Ok(None);
    };
    let is_same = |record: &Path| {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        real(record).is_some_and(|record| Some(record) == real(path))
    };
    if setup.options.record.as_deref().is_some_and(is_same) {
        return Err(bad_input(
            "--record would replace the model script that is played. Name another file.",
        ));
    }
    let (name, read) = if path == Path::new("-") {
        (Path::new("standard input"), read_stdin(MAX_BYTES, cancel))
    } else {
        (path.as_path(), read_named(path, MAX_BYTES, cancel))
    };
    let script = read
        .map_err(|e| format!("The model script {}: {e}.", name.display()))
        .and_then(|text| ModelScript::parse(name, text, &setup.places()));
    script.map(Some).map_err(|e| bad_input(visible(&e)))
}

pub(crate) fn prompt(given: Prompt, script: Option<&ModelScript>) -> Prompt {
    let is_needed = given.text.trim().is_empty();
    let scripted = script.and_then(|script| script.prompt.clone());
    let written = String::new();
    let scripted = scripted
        .filter(|_| is_needed)
        .map(|text| Prompt { text, written });
    scripted.unwrap_or(given)
}

impl Model {
    pub(crate) fn new(
        setup: &Setup<'_>,
        script: Option<ModelScript>,
        prompt: &str,
    ) -> Result<Self, SessionError> {
        let record = setup.options.record.as_deref();
        let (client, name, player) = match script {
            None => (setup.client()?, setup.model(None), None),
            Some(script) => {
                let name = setup.model(script.model.clone());
                // A recording stores today's answers as the new expectations, so the script's old
                // ones are not checked.
                let player = ScriptPlayer::new(script, setup.places(), record.is_none());
                (player.client(), name, Some(player))
            }
        };
        let hide = |text: &str| client.without_credential(text);
        let recorder = record
            .map(|path| Recorder::create(path, setup.places(), &name, prompt, &hide))
            .transpose()
            .map_err(bad_input)?;
        Ok(Self {
            client,
            name,
            recorder,
            player,
        })
    }
}
