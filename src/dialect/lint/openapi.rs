//! The operations of an `OpenAPI` 3 description as functions.
//!
//! An operation with an `operationId` becomes a function of that name; its parameters become
//! arguments, the JSON of its request the argument `body`. References are followed within the
//! description; of its schemas a function gets those that it needs.

use super::Source;
use super::document::{Document, Item};
use crate::declaration::Finding;
use crate::declaration::position::Step;
use crate::tool::reference::decoded;
use serde_json::{Map, Value, json};

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

const SCHEMAS: &str = "components/schemas/";

/// References to references are followed so often.
const MOST_HOPS: usize = 16;

/// The functions of a description.
pub(super) fn read(value: &Value) -> Result<Document, String> {
    match &value["openapi"] {
        Value::String(version) if version.starts_with("3.") => {}
        Value::Number(number) => {
            return Err(format!(
                "\"openapi\" is the number {number}, but must be a text; write \"3.1.0\", in quotes."
            ));
        }
        other => {
            return Err(format!(
                "\"openapi\" is {other}; only OpenAPI 3 is known, such as \"3.1.0\"."
            ));
        }
    }
    let mut reader = Reader {
        root: value,
        document: Document {
            source: Source::OpenApi,
            items: Vec::new(),
            entries: Vec::new(),
            findings: Vec::new(),
        },
    };
    let paths = value["paths"].as_object();
    for (path, item) in paths.into_iter().flatten() {
        let steps = ["paths", path].map(|s| Step::Key(s.to_owned()));
        reader.path(
            path,
            &Place {
                value: item,
                steps: steps.into(),
            },
        );
    }
    Ok(reader.document)
}

/// A value of the description, and where it stands.
#[derive(Clone)]
struct Place<'a> {
    value: &'a Value,
    steps: Vec<Step>,
}

impl<'a> Place<'a> {
    fn key(&self, key: &str) -> Place<'a> {
        self.step(&self.value[key], Step::Key(key.to_owned()))
    }

    fn elements(&self) -> Vec<Place<'a>> {
        let items = self.value.as_array().into_iter().flatten();
        let items = items.enumerate();
        items
            .map(|(i, value)| self.step(value, Step::Index(i)))
            .collect()
    }

    fn step(&self, value: &'a Value, step: Step) -> Place<'a> {
        let mut steps = self.steps.clone();
        steps.push(step);
        Place { value, steps }
    }
}

struct Reader<'a> {
    root: &'a Value,
    document: Document,
}

/// An operation while it becomes a function.
#[derive(Default)]
struct Function {
    properties: Map<String, Value>,
    required: Vec<Value>,
    arguments: Vec<(String, Vec<Step>)>,
}

impl<'a> Reader<'a> {
    fn path(&mut self, path: &str, item: &Place<'a>) {
        let item = match self.followed(item) {
            Ok(item) => item,
            Err(message) => {
                let finding = Finding::refusal("reference", path, "$ref", message);
                return self.document.findings.push((item.steps.clone(), finding));
            }
        };
        for method in METHODS {
            let operation = item.key(method);
            if !operation.value.is_object() {
                continue;
            }
            let Some(id) = operation.value["operationId"]
                .as_str()
                .filter(|id| !id.is_empty())
            else {
                let finding = Finding::warning(
                    "operation-id",
                    &format!("{} {path}", method.to_uppercase()),
                    "operationId",
                    format!(
                        "It is missing: the operation can't become a function. {:?} would do.",
                        id_for(method, path)
                    ),
                );
                self.document.findings.push((operation.steps, finding));
                continue;
            };
            if let Some(function) = self.function(id, &item, &operation) {
                self.document.items.push(function);
            }
        }
    }

    /// An operation as a function; `None` where it could not be called.
    fn function(&mut self, id: &str, item: &Place<'a>, operation: &Place<'a>) -> Option<Item> {
        let mut function = Function::default();
        for parameter in self.parameters(id, item, operation)? {
            take_parameter(&mut function, &parameter);
        }
        self.take_body(id, operation, &mut function)?;
        let mut schema = json!({"type": "object", "properties": function.properties});
        if !function.required.is_empty() {
            schema["required"] = function.required.into();
        }
        bring_definitions(self.root, &mut schema);
        let texts = [&operation.value["description"], &operation.value["summary"]];
        let has_text = |text: &&Value| text.as_str().is_some_and(|t| !t.trim().is_empty());
        let declaration = json!({
            "name": id,
            "description": texts.into_iter().find(has_text).unwrap_or(&Value::Null),
            "parametersJsonSchema": schema,
        });
        let mut item = Item::new(operation.steps.clone(), declaration);
        item.arguments = function.arguments;
        Some(item)
    }

    /// The parameters of an operation and of its path, each with what it leads to. One is known
    /// by its name and where it is sent; an operation's own counts before the path's.
    fn parameters(
        &mut self,
        id: &str,
        item: &Place<'a>,
        operation: &Place<'a>,
    ) -> Option<Vec<Place<'a>>> {
        let mut all: Vec<Place<'a>> = Vec::new();
        let shared = item.key("parameters").elements();
        let own = operation.key("parameters").elements();
        for place in shared.into_iter().chain(own) {
            let parameter = self.followed_in(id, "parameters", &place)?;
            let identity = |p: &Place<'_>| (p.value["name"].clone(), p.value["in"].clone());
            let (name, sent) = identity(&parameter);
            let Some(text) = name.as_str() else {
                let message = "A parameter has no \"name\", so that nothing can be given for it.";
                let finding = Finding::warning("parameter", id, "parameters", message);
                self.document.findings.push((place.steps, finding));
                continue;
            };
            if let Some(other) = all
                .iter()
                .find(|p| p.value["name"] == name && p.value["in"] != sent)
            {
                let message = format!(
                    "There is another parameter of this name, sent in {} and not in {sent}; an \
                     argument is given once, for the latter.",
                    other.value["in"]
                );
                let finding = Finding::warning("parameter-clash", id, text, message);
                self.document.findings.push((place.steps.clone(), finding));
            }
            match all
                .iter_mut()
                .find(|p| identity(p) == (name.clone(), sent.clone()))
            {
                Some(known) => *known = parameter,
                None => all.push(parameter),
            }
        }
        Some(all)
    }

    fn take_body(
        &mut self,
        id: &str,
        operation: &Place<'a>,
        function: &mut Function,
    ) -> Option<()> {
        let place = operation.key("requestBody");
        if place.value.is_null() {
            return Some(());
        }
        let body = self.followed_in(id, "requestBody", &place)?;
        let content = body.key("content");
        let Some(media) = media_type(content.value) else {
            let types: Vec<&String> = content
                .value
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .collect();
            let message = format!(
                "None of the types of its request can be written as JSON ({types:?}): the function \
                 has no argument for it."
            );
            let finding = Finding::warning("request-body", id, "requestBody", message);
            self.document.findings.push((place.steps, finding));
            return Some(());
        };
        let schema = content.key(media).key("schema");
        // The name may be taken by a parameter.
        let taken = function.properties.contains_key("body");
        let name = if taken { "request_body" } else { "body" };
        let mut value = schema.value.clone();
        describe(&mut value, &body.value["description"]);
        if body.value["required"] == true {
            function.required.push(name.into());
        }
        function.properties.insert(name.to_owned(), value);
        function.arguments.push((name.to_owned(), schema.steps));
        Some(())
    }

    /// As [`Reader::followed`]; what leads nowhere is told, and the operation is left out.
    fn followed_in(&mut self, id: &str, key: &str, place: &Place<'a>) -> Option<Place<'a>> {
        match self.followed(place) {
            Ok(place) => Some(place),
            Err(message) => {
                let finding = Finding::refusal("reference", id, key, message);
                self.document.findings.push((place.steps.clone(), finding));
                None
            }
        }
    }

    /// What a reference leads to within the description, or the value itself.
    fn followed(&self, place: &Place<'a>) -> Result<Place<'a>, String> {
        let mut place = place.clone();
        for _ in 0..MOST_HOPS {
            let Some(target) = place.value["$ref"].as_str() else {
                return Ok(place);
            };
            let Some(pointer) = target.strip_prefix('#') else {
                return Err(format!(
                    "The reference {target:?} leads to another file; put that into this one first."
                ));
            };
            let pointer = decoded(pointer);
            let Some(value) = self.root.pointer(&pointer) else {
                return Err(format!("The reference {target:?} leads nowhere."));
            };
            let steps = steps_of(self.root, &pointer);
            place = Place { value, steps };
        }
        Err("Its reference leads to references without end.".to_owned())
    }
}

/// The steps of a pointer that leads somewhere.
fn steps_of(root: &Value, pointer: &str) -> Vec<Step> {
    let mut value = root;
    let tokens = pointer.split('/').skip(1);
    tokens
        .map(|token| {
            let name = token.replace("~1", "/").replace("~0", "~");
            if let (Value::Array(items), Ok(i)) = (value, name.parse::<usize>()) {
                value = items.get(i).unwrap_or(&Value::Null);
                Step::Index(i)
            } else {
                value = &value[&name];
                Step::Key(name)
            }
        })
        .collect()
}

fn take_parameter(function: &mut Function, parameter: &Place<'_>) {
    let value = parameter.value;
    let name = value["name"].as_str().unwrap_or_default();
    let content = parameter.key("content");
    let media = media_type(content.value).or_else(|| {
        let types = content.value.as_object()?;
        types.keys().next().map(String::as_str)
    });
    let mut schema = match (&value["schema"], media) {
        (Value::Null, Some(media)) => content.value[media]["schema"].clone(),
        (schema, _) => schema.clone(),
    };
    describe(&mut schema, &value["description"]);
    // An argument that was taken from elsewhere, too, is told of already.
    function.required.retain(|other| *other != name);
    function.arguments.retain(|(other, _)| other != name);
    if value["required"] == true {
        function.required.push(name.into());
    }
    function.properties.insert(name.to_owned(), schema);
    function
        .arguments
        .push((name.to_owned(), parameter.steps.clone()));
}

/// What is said of an argument counts before what is said of its type.
fn describe(schema: &mut Value, description: &Value) {
    if let (Some(map), Value::String(_)) = (schema.as_object_mut(), description) {
        map.insert("description".to_owned(), description.clone());
    }
}

/// Which of the types of a content can be written as JSON: JSON itself, what is JSON by another
/// name, anything, and forms, whose fields are those of an object.
fn media_type(content: &Value) -> Option<&str> {
    let rank = |media: &str| {
        let essence = media
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Some(0),
            other if other.ends_with("+json") => Some(1),
            "*/*" | "application/*" => Some(2),
            "application/x-www-form-urlencoded" => Some(3),
            "multipart/form-data" => Some(4),
            _ => None,
        }
    };
    let types = content.as_object()?.keys();
    let ranked = types.filter_map(|media| Some((rank(media)?, media.as_str())));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, media)| media)
}

/// A name for an operation that has none, such as `getPetsById` for `GET /pets/{id}`.
fn id_for(method: &str, path: &str) -> String {
    let mut id = method.to_owned();
    for segment in path.split('/').filter(|s| !s.is_empty()) {
        if segment.starts_with('{') {
            id.push_str("By");
        }
        for word in segment.split(|c: char| !c.is_ascii_alphanumeric()) {
            let mut letters = word.chars();
            id.extend(letters.next().map(|c| c.to_ascii_uppercase()));
            id.push_str(letters.as_str());
        }
    }
    id
}

/// Gives a schema the definitions that its references lead to, and theirs, under `$defs`.
/// References that lead nowhere or elsewhere stay as they are.
fn bring_definitions(root: &Value, schema: &mut Value) {
    let mut definitions = Map::new();
    let mut wanted = Vec::new();
    redirect(root, schema, &mut wanted);
    while let Some((key, pointer)) = wanted.pop() {
        if definitions.contains_key(&key) {
            continue;
        }
        let mut definition = root.pointer(&pointer).cloned().unwrap_or_default();
        redirect(root, &mut definition, &mut wanted);
        definitions.insert(key, definition);
    }
    if !definitions.is_empty() {
        schema["$defs"] = definitions.into();
    }
}

/// Makes references into the description ones into `$defs`, and tells what has to be there: its
/// name and the pointer to it.
fn redirect(root: &Value, value: &mut Value, wanted: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get_mut("$ref")
                && let Some(pointer) = target.strip_prefix('#').map(decoded)
                && root.pointer(&pointer).is_some()
            {
                let name = pointer.trim_start_matches('/');
                let schema = name
                    .strip_prefix(SCHEMAS)
                    .filter(|name| !name.contains('/'));
                let key = schema.unwrap_or(name).to_owned();
                *target = format!("#/$defs/{}", escaped(&key));
                wanted.push((key, pointer));
            }
            map.values_mut()
                .for_each(|value| redirect(root, value, wanted));
        }
        Value::Array(items) => {
            for item in items {
                redirect(root, item, wanted);
            }
        }
        _ => {}
    }
}

/// A key as it stands in a pointer that is a fragment of an address.
fn escaped(key: &str) -> String {
    key.replace('~', "~0")
        .replace('/', "~1")
        .replace('%', "%25")
}

#[cfg(test)]
mod tests {
    use super::id_for;

    #[test]
    fn an_operation_without_a_name_is_given_one() {
        for (method, path, wanted) in [
            ("get", "/pets", "getPets"),
            ("delete", "/pets/{petId}/photos", "deletePetsByPetIdPhotos"),
            ("post", "/v1/pet-shops/", "postV1PetShops"),
            ("get", "/", "get"),
        ] {
            assert_eq!(id_for(method, path), wanted);
        }
    }
}
