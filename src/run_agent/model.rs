//! Sets up the model, or the script that is played in its place, and the recording of a script.

use crate::run_agent::bad_input;
use crate::run_agent::input::Prompt;
use crate::run_agent::setup::Setup;
use gemini_tools::agent::event::SessionError;
use gemini_tools::agent::model_script::{ModelScript, Recorder, ScriptPlayer};
use gemini_tools::genai::GeminiClient;
use gemini_tools::session::Clock;
use gemini_tools::text::visible;
use gemini_tools::tool::Cancellation;
use std::path::Path;
use std::sync::Arc;

pub(crate) const STANDARD_INPUT: &str = "-";

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
        record == path || real(record).is_some_and(|record| Some(record) == real(path))
    };
    if setup.options.record.as_deref().is_some_and(is_same) {
        return Err(bad_input(
            "--record would replace the model script that is played. Name another file.",
        ));
    }
    let (path, places) = (path.clone(), setup.places());
    // Reading a pipe may never end, so it must be cancellable.
    let read = Arc::<Clock>::default().attend(cancel, move || {
        Ok(if path == Path::new(STANDARD_INPUT) {
            let name = Path::new("standard input");
            ModelScript::read_from(name, std::io::stdin(), &places)
        } else {
            ModelScript::read(&path, &places)
        })
    });
    let script = read.map_err(|e| bad_input(e.message))?;
    script.map(Some).map_err(|e| bad_input(visible(&e)))
}

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
    /// Creates the client, or starts to play the script. `prompt` is only used by a recording.
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
