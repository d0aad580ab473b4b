//! The model, or the script in its place, and the script that is recorded of the run.

use crate::bad_input;
use crate::input::Prompt;
use crate::options::RunAgentOptions;
use crate::setup::Setup;
use gemini_tools::agent::event::SessionError;
use gemini_tools::agent::model_script::{ModelScript, Recorder, ScriptPlayer};
use gemini_tools::genai::GeminiClient;
use gemini_tools::text::visible;
use std::path::Path;

/// The model of a run.
pub(crate) struct Model {
    pub(crate) client: GeminiClient,
    pub(crate) name: String,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) player: Option<ScriptPlayer>,
}

/// Reads the script that takes the model's place, where one is named.
pub(crate) fn script(
    options: &RunAgentOptions,
    setup: &Setup,
) -> Result<Option<ModelScript>, SessionError> {
    let Some(path) = &options.model_script else {
        return Ok(None);
    };
    let is_same = |record: &Path| {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        record == path || real(record).is_some_and(|record| Some(record) == real(path))
    };
    if options.record.as_deref().is_some_and(is_same) {
        return Err(bad_input(
            "--record would replace the model script that is played. Name another file.",
        ));
    }
    let script = ModelScript::read(path, &setup.places());
    script.map(Some).map_err(|e| bad_input(visible(&e)))
}

/// Returns the prompt: as given, or that of the script.
pub(crate) fn prompt(given: Prompt, script: Option<&ModelScript>) -> Prompt {
    let scripted = script.and_then(|script| script.prompt.as_ref());
    match scripted {
        Some(text) if given.text.trim().is_empty() => Prompt {
            text: text.clone(),
            written: String::new(),
        },
        _ => given,
    }
}

impl Model {
    /// Opens the way to the model, or begins to play the script. `prompt` is for the script that is
    /// recorded.
    pub(crate) fn new(
        options: &RunAgentOptions,
        setup: &Setup,
        script: Option<ModelScript>,
        prompt: &str,
    ) -> Result<Self, SessionError> {
        let (client, name, player) = match script {
            None => (setup.client()?, setup.model(options, None), None),
            Some(script) => {
                let name = setup.model(options, script.model.clone());
                // What is recorded has the answers of today.
                let player = ScriptPlayer::new(script, setup.places(), options.record.is_none());
                (player.client(), name, Some(player))
            }
        };
        let recorder = match options.record.as_deref() {
            Some(path) => {
                let hide = |text: &str| client.without_credential(text);
                let recorder = Recorder::create(path, setup.places());
                let begun = recorder.and_then(|mut recorder| {
                    recorder.begin(&name, prompt, &hide)?;
                    Ok(recorder)
                });
                Some(begun.map_err(bad_input)?)
            }
            None => None,
        };
        Ok(Self {
            client,
            name,
            recorder,
            player,
        })
    }
}
