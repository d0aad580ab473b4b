//! What a tool's file says of its calls before they run: a description, the places that they
//! touch, and what a person who decides is asked.
//!
//! All of it is texts with places for the arguments of a call, as in a command. It changes what is
//! shown, and nothing of what is run.

use super::reader::{Reader, kind_of};
use super::words::{Bindings, Text};
use gemini_tools_core::tool::{ConfirmationDetails, Location, ToolError};
use gemini_tools_shell_analysis::analyse;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The keys of one place.
const PLACE_KEYS: [&str; 2] = ["path", "line"];

/// What the file says; what it leaves out is told as for every tool.
#[derive(Debug, Default)]
pub(super) struct Presentation {
    description: Option<Text>,
    locations: Option<Vec<Place>>,
    /// What is asked.
    pub(super) question: Option<Question>,
}

#[derive(Debug)]
struct Place {
    path: Text,
    line: Option<Text>,
}

/// What a person is asked.
#[derive(Debug)]
pub(super) struct Question {
    title: Option<Text>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A command is about to run.
    Exec {
        command: Option<Text>,
        programs: Vec<Text>,
    },
    /// Something else.
    Info {
        prompt: Option<Text>,
        urls: Vec<Text>,
    },
}

/// Takes the keys out of a file's; `parameters` are the names that places in texts may have.
pub(super) fn read(
    reader: &mut Reader<'_>,
    map: &mut Map<String, Value>,
    parameters: &[String],
) -> Presentation {
    let description = map.remove("call_description");
    let locations = map.remove("locations");
    let question = map.remove("confirmation");
    Presentation {
        description: description
            .and_then(|value| Text::read(reader, "call_description", &value, parameters)),
        locations: locations.and_then(|value| places(reader, &value, parameters)),
        question: question.and_then(|value| question_of(reader, value, parameters)),
    }
}

fn places(reader: &mut Reader<'_>, value: &Value, parameters: &[String]) -> Option<Vec<Place>> {
    let Value::Array(items) = value else {
        reader.report(
            "locations",
            format!(
                "It must be a list of paths such as [\"{{file}}\"], but it is {}.",
                kind_of(value)
            ),
        );
        return None;
    };
    let mut places = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let key = format!("locations[{i}]");
        let place = match item {
            Value::Object(table) => {
                let mut table = table.clone();
                let (path, line) = (table.remove("path"), table.remove("line"));
                reader.unknown(&table, &format!("{key}."), &PLACE_KEYS);
                let path = path.unwrap_or_default();
                let line = match line {
                    None => None,
                    // A number needs no quotes.
                    Some(Value::Number(n)) => Some(Value::from(n.to_string())),
                    other => other,
                };
                let line_key = format!("{key}.line");
                Place {
                    path: Text::read(reader, &format!("{key}.path"), &path, parameters)?,
                    line: match line {
                        None => None,
                        Some(line) => Some(Text::read(reader, &line_key, &line, parameters)?),
                    },
                }
            }
            item => Place {
                path: Text::read(reader, &key, item, parameters)?,
                line: None,
            },
        };
        places.push(place);
    }
    Some(places)
}

fn question_of(reader: &mut Reader<'_>, value: Value, parameters: &[String]) -> Option<Question> {
    let Value::Object(mut map) = value else {
        let what = kind_of(&value);
        reader.report(
            "confirmation",
            format!("It must be a table, but it is {what}."),
        );
        return None;
    };
    // As in Gemini CLI's own details.
    for (short, long) in [
        ("root_command", "rootCommand"),
        ("root_commands", "rootCommands"),
    ] {
        if let Some(value) = map.remove(long) {
            map.entry(short).or_insert(value);
        }
    }
    let is_info = map.contains_key("prompt") || map.contains_key("urls");
    let is_info = match map.remove("type") {
        None => is_info,
        Some(Value::String(name)) if name == "exec" => false,
        Some(Value::String(name)) if name == "info" => true,
        Some(other) => {
            let what = kind_of(&other);
            let message = format!("It must be \"exec\" or \"info\", but it is {what}.");
            reader.report("confirmation.type", message);
            return None;
        }
    };
    let mut text = |reader: &mut Reader<'_>, key: &str| {
        let value = map.remove(key)?;
        Text::read(reader, &format!("confirmation.{key}"), &value, parameters)
    };
    let title = text(reader, "title");
    let (kind, known) = if is_info {
        let prompt = text(reader, "prompt");
        let urls = texts(reader, &mut map, "urls", parameters);
        (
            Kind::Info { prompt, urls },
            ["type", "title", "prompt", "urls", ""],
        )
    } else {
        let command = text(reader, "command");
        let root = text(reader, "root_command");
        let mut programs: Vec<Text> = root.into_iter().collect();
        programs.extend(texts(reader, &mut map, "root_commands", parameters));
        let known = ["type", "title", "command", "root_command", "root_commands"];
        (Kind::Exec { command, programs }, known)
    };
    let known: Vec<&str> = known.into_iter().filter(|key| !key.is_empty()).collect();
    reader.unknown(&map, "confirmation.", &known);
    Some(Question { title, kind })
}

/// The texts of a list.
fn texts(
    reader: &mut Reader<'_>,
    map: &mut Map<String, Value>,
    key: &str,
    parameters: &[String],
) -> Vec<Text> {
    let place = format!("confirmation.{key}");
    match map.remove(key) {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .filter_map(|(i, item)| {
                    Text::read(reader, &format!("{place}[{i}]"), item, parameters)
                })
                .collect()
        }
        Some(other) => {
            let what = kind_of(&other);
            reader.report(
                &place,
                format!("It must be a list of texts, but it is {what}."),
            );
            Vec::new()
        }
    }
}

impl Presentation {
    /// The description of a call in one line; `None` where the file has none, or where nothing of
    /// it is left without the parameters that are missing.
    pub(super) fn description(&self, filling: Bindings<'_>) -> Result<Option<String>, ToolError> {
        let Some(text) = &self.description else {
            return Ok(None);
        };
        let text = text.fill(filling)?;
        Ok(text.map(|text| in_one_line(&text)))
    }

    /// The places that a call touches, those without a parameter that is missing; a relative one
    /// is seen from `directory`.
    pub(super) fn locations(
        &self,
        filling: Bindings<'_>,
        directory: &Path,
    ) -> Result<Option<Vec<Location>>, ToolError> {
        let Some(places) = &self.locations else {
            return Ok(None);
        };
        let mut locations = Vec::new();
        for place in places {
            let line = match &place.line {
                None => None,
                Some(line) => line
                    .fill(filling)?
                    .and_then(|line| line.trim().parse().ok()),
            };
            for path in place.path.all(filling)? {
                let path: PathBuf = directory.join(path).components().collect();
                locations.push(Location { path, line });
            }
        }
        Ok(Some(locations))
    }
}

impl Question {
    /// Puts what the file says in the place of what is asked of every tool. The command itself is
    /// still there beside the file's own words.
    pub(super) fn fill(
        &self,
        filling: Bindings<'_>,
        own_title: String,
        own_command: String,
        own_programs: impl FnOnce() -> (Vec<String>, Vec<String>),
    ) -> Result<ConfirmationDetails, ToolError> {
        let title = match &self.title {
            None => None,
            Some(title) => title.fill(filling)?.map(|title| in_one_line(&title)),
        };
        let title = title.unwrap_or(own_title);
        Ok(match &self.kind {
            Kind::Info { prompt, urls } => {
                let prompt = match prompt {
                    None => None,
                    Some(prompt) => prompt.fill(filling)?,
                };
                let (prompt, runs) = first_and_command(prompt, own_command);
                ConfirmationDetails::Info {
                    title,
                    prompt,
                    runs,
                    urls: all(urls, filling)?,
                }
            }
            Kind::Exec { command, programs } => {
                let command = match command {
                    None => None,
                    Some(command) => command.fill(filling)?,
                };
                let (mut root_commands, unresolved) = match &command {
                    None => own_programs(),
                    Some(command) => {
                        let analysis = analyse(command);
                        (analysis.root_commands(), analysis.unresolved_with_reason())
                    }
                };
                let said = all(programs, filling)?;
                if !said.is_empty() {
                    root_commands = said;
                }
                root_commands.dedup();
                let (command, runs) = first_and_command(command, own_command);
                ConfirmationDetails::Exec {
                    title,
                    command,
                    runs,
                    root_command: root_commands.first().cloned().unwrap_or_default(),
                    root_commands,
                    unresolved,
                }
            }
        })
    }
}

/// What is shown first, and the command itself where that is something else.
fn first_and_command(said: Option<String>, command: String) -> (String, Option<String>) {
    match said {
        Some(said) if said != command => (said, Some(command)),
        _ => (command, None),
    }
}

fn all(texts: &[Text], filling: Bindings<'_>) -> Result<Vec<String>, ToolError> {
    let mut filled = Vec::new();
    for text in texts {
        filled.extend(text.all(filling)?);
    }
    Ok(filled)
}

/// A text that stays one line wherever it is shown.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
