//! Offers custom tools as prompts or resources as well, if their files say so: finds the call for a
//! request, and converts the call's answer.

use super::server::Project;
use gemini_tools_core::tool::Tool;
use rmcp::model::{
    ArgumentInfo, CallToolResult, CompletionInfo, ContentBlock, GetPromptResult, Prompt,
    PromptArgument, PromptMessage, Reference, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Map, Value};
use url::form_urlencoded;

fn own(project: &Project, can_ask: bool) -> impl Iterator<Item = &dyn Tool> {
    project.session.visible_tools(can_ask).into_iter()
}

pub(super) fn prompts(project: &Project, can_ask: bool) -> Vec<Prompt> {
    own(project, can_ask)
        .filter(|tool| tool.info().is_prompt)
        .map(|tool| {
            let arguments = arguments(tool);
            let arguments = (!arguments.is_empty()).then_some(arguments);
            Prompt::new(tool.name(), Some(tool.description()), arguments)
                .with_title(tool.info().display_name)
        })
        .collect()
}

fn arguments(tool: &dyn Tool) -> Vec<PromptArgument> {
    let schema = tool.parameters().value();
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object();
    let argument = |(name, property): (&String, &Value)| {
        let argument = PromptArgument::new(name).with_required(is_required(name));
        match property["description"].as_str() {
            Some(description) => argument.with_description(description),
            None => argument,
        }
    };
    properties.into_iter().flatten().map(argument).collect()
}

pub(super) fn resources(project: &Project, can_ask: bool) -> Vec<Resource> {
    own(project, can_ask)
        .filter_map(|tool| {
            let uri = tool.info().resource.filter(|uri| !uri.contains('{'))?;
            Some(Resource::new(uri, tool.name()).with_description(tool.description()))
        })
        .collect()
}

pub(super) fn templates(project: &Project, can_ask: bool) -> Vec<ResourceTemplate> {
    own(project, can_ask)
        .filter_map(|tool| {
            let uri = tool.info().resource.filter(|uri| uri.contains('{'))?;
            Some(ResourceTemplate::new(uri, tool.name()).with_description(tool.description()))
        })
        .collect()
}

pub(super) fn call_for(
    project: &Project,
    can_ask: bool,
    uri: &str,
) -> Option<(String, Map<String, Value>)> {
    own(project, can_ask).find_map(|tool| {
        let args = values(tool.info().resource?, uri)?;
        Some((tool.name().to_owned(), args))
    })
}

/// Matches a URI with a template, and returns the decoded values of the names in braces. A value is
/// not empty and contains no slash.
fn values(template: &str, uri: &str) -> Option<Map<String, Value>> {
    let mut parts = template.split('{');
    let mut rest = uri.strip_prefix(parts.next()?)?;
    let mut values = Map::new();
    for part in parts {
        let (name, after) = part.split_once('}')?;
        let length = match after.chars().next() {
            Some(_) => rest.find(after)?,
            None => rest.len(),
        };
        let value = &rest[..length];
        if value.is_empty() || value.contains('/') {
            return None;
        }
        // The decoder is for forms, in which `+` stands for a space and `&` ends a value.
        let form = format!("value={}", value.replace('+', "%2B").replace('&', "%26"));
        let (_, value) = form_urlencoded::parse(form.as_bytes()).next()?;
        values.insert(name.to_owned(), value.into_owned().into());
        rest = &rest[length + after.len()..];
    }
    rest.is_empty().then_some(values)
}

pub(super) fn completions(
    project: &Project,
    can_ask: bool,
    reference: &Reference,
    argument: &ArgumentInfo,
) -> Vec<String> {
    let is_meant = |tool: &&dyn Tool| match reference {
        Reference::Prompt(prompt) => tool.info().is_prompt && tool.name() == prompt.name,
        Reference::Resource(resource) => tool.info().resource == Some(&*resource.uri),
        _ => false,
    };
    let Some(tool) = own(project, can_ask).find(is_meant) else {
        return Vec::new();
    };
    let listed = tool.parameters().value()["properties"][&argument.name]["enum"].as_array();
    let texts = listed.into_iter().flatten().filter_map(Value::as_str);
    let found = texts.filter(|value| value.starts_with(&argument.value));
    found
        .take(CompletionInfo::MAX_VALUES)
        .map(str::to_owned)
        .collect()
}

pub(super) fn prompt(result: CallToolResult) -> GetPromptResult {
    let message = |content| PromptMessage::new(Role::User, content);
    GetPromptResult::new(result.content.into_iter().map(message).collect())
}

pub(super) fn contents(result: CallToolResult, uri: &str) -> Vec<ResourceContents> {
    let content = |block| match block {
        ContentBlock::Text(text) => ResourceContents::text(text.text, uri),
        ContentBlock::Image(image) => {
            ResourceContents::blob(image.data, uri).with_mime_type(image.mime_type)
        }
        ContentBlock::Audio(audio) => {
            ResourceContents::blob(audio.data, uri).with_mime_type(audio.mime_type)
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::BlobResourceContents {
                blob, mime_type, ..
            } => {
                let mime_type = mime_type.unwrap_or_default();
                ResourceContents::blob(blob, uri).with_mime_type(mime_type)
            }
            other => other,
        },
        other => {
            let text = serde_json::to_string(&other).unwrap_or_default();
            ResourceContents::text(text, uri).with_mime_type("application/json")
        }
    };
    result.content.into_iter().map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn a_uri_gives_the_values_of_its_template() {
        for (template, uri, expected) in [
            ("a://b", "a://b", Some("{}")),
            ("a://b", "a://bc", None),
            ("a://{x}/c", "a://b%20+/c", Some(r#"{"x":"b +"}"#)),
            ("a://{x}/c", "a://b/d/c", None),
            ("a://{x}/c", "a:///c", None),
            ("a://{x}-{y}", "a://1-2", Some(r#"{"x":"1","y":"2"}"#)),
            ("a://{x}", "a://1/2", None),
        ] {
            let found = values(template, uri).map(|found| serde_json::json!(found).to_string());
            assert_eq!(found.as_deref(), expected, "{template} {uri}");
        }
    }
}
