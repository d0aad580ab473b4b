//! The model, or the file in its place, and where the model's side of the run is recorded.

use crate::bad_input;
use crate::input::Prompt;
use crate::options::RunAgentOptions;
use crate::setup::Setup;
use gemini_tools::agent::event::SessionError;
use gemini_tools::agent::replay::{Places, RecordedPrompt, Recorder, Recording, Replay};
use gemini_tools::agent::replay::{Source, script};
use gemini_tools::genai::{GeminiClient, Part};
use gemini_tools::text::visible;
use gemini_tools::tool::Cancellation;
use std::path::Path;

/// Maximum characters of a prompt that are shown.
const SHOWN_CHARS: usize = 200;

/// What takes the model's place.
pub(crate) struct Played {
    recording: Recording,
    places: Places,
}

/// Who answers, and what is written down of it.
pub(crate) struct Run {
    pub(crate) client: GeminiClient,
    pub(crate) model: String,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) replay: Option<Replay>,
}

impl Played {
    /// What the options name, where they name something.
    pub(crate) fn new(
        options: &RunAgentOptions,
        setup: &Setup,
    ) -> Result<Option<Self>, SessionError> {
        let read = match (&options.replay, &options.model_script) {
            (Some(path), _) => Recording::read(path),
            (None, Some(path)) => script::read(path),
            (None, None) => return Ok(None),
        };
        let places = setup.places();
        let recording = read
            .map_err(|e| bad_input(visible(&e.to_string())))?
            .at(&places);
        let played = options.replay.as_deref();
        if let (Some(record), Some(played)) = (&options.record, played)
            && is_same(record, played)
        {
            return Err(bad_input(
                "--record would replace the recording that is replayed. Name another file.",
            ));
        }
        Ok(Some(Self { recording, places }))
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    a == b || real(a).is_some_and(|a| Some(a) == real(b))
}

/// What the user says: as given, or as it was recorded. Text, and parts with what it names.
pub(crate) fn prompts(
    played: Option<&Played>,
    setup: &Setup,
    given: Prompt,
    cancel: &Cancellation,
) -> Result<Vec<(String, Vec<Part>)>, SessionError> {
    let is_given = !given.text.trim().is_empty();
    let said = |prompt: Prompt| -> Result<(String, Vec<Part>), SessionError> {
        let parts = setup.message(&prompt, cancel)?;
        Ok((prompt.text, parts))
    };
    let Some(Played { recording, .. }) = played else {
        return Ok(vec![said(given)?]);
    };
    // A run that went on without a word of the user has none to repeat.
    let has_said = |prompt: &&RecordedPrompt| !prompt.text.trim().is_empty();
    let recorded: Vec<&RecordedPrompt> = recording.prompts.iter().filter(has_said).collect();
    if recorded.is_empty() {
        return Ok(vec![said(given)?]);
    }
    if is_given && recording.source != Source::Script {
        check_given(&given.text, &recorded, &recording.name)?;
    } else if is_given {
        return Ok(vec![said(given)?]);
    }
    recorded
        .into_iter()
        .map(|prompt| match &prompt.parts {
            Some(parts) => Ok((prompt.text.clone(), parts.clone())),
            None => said(Prompt {
                text: prompt.text.clone(),
                written: String::new(),
            }),
        })
        .collect()
}

/// Refuses a prompt that is not the one of the recording: its answers are to another question.
fn check_given(given: &str, recorded: &[&RecordedPrompt], name: &str) -> Result<(), SessionError> {
    if let [only] = recorded
        && only.text.trim() == given.trim()
    {
        return Ok(());
    }
    let first = recorded.first().map_or("", |prompt| prompt.text.trim());
    let shown: String = first.chars().take(SHOWN_CHARS).collect();
    let more = if shown.len() < first.len() { "…" } else { "" };
    let shown = visible(&shown).into_owned();
    Err(bad_input(match recorded.len() {
        1 => format!(
            "The prompt is not the one that {name} has the answers to: {shown}{more} Leave it out: \
             the recorded one is taken."
        ),
        count => format!(
            "{name} has {count} prompts, which are said one after the other. Leave yours out."
        ),
    }))
}

/// Who answers in this run. `prompt` is what the user says, for the recording.
pub(crate) fn run(
    options: &RunAgentOptions,
    setup: &Setup,
    played: Option<Played>,
    prompt: &str,
) -> Result<Run, SessionError> {
    let (mut client, model, replay) = match played {
        None => (setup.client()?, setup.model(options, None), None),
        Some(Played { recording, places }) => {
            let model = setup.model(options, recording.model.clone());
            let replay = Replay::new(recording, places, options.replay_check);
            (replay.client(), model, Some(replay))
        }
    };
    let recorder = match &options.record {
        None => None,
        Some(path) => {
            let prompt = client.without_credential(prompt);
            let recorder = Recorder::create(path, setup.places(), &model, &prompt)
                .map_err(|e| bad_input(e.to_string()))?;
            let own = recorder.clone();
            client = client.recorded(Box::new(move |answer| own.response(answer)));
            Some(recorder)
        }
    };
    Ok(Run {
        client,
        model,
        recorder,
        replay,
    })
}
