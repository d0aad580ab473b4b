//! The model that the web tools and `smart_edit` ask.

use crate::gemini_api::{
    ApiError, ApiErrorKind, Content, GeminiClient, GenerateContentRequest, GenerateContentResponse,
    RequestTool, deterministic,
};
use gemini_tools_core::tool::{Cancellation, Context, ErrorKind, OutputUpdate, ToolError};
use std::path::Path;

const DEFAULT_MODEL: &str = "gemini-2.5-flash";

const MODEL_VARIABLE: &str = "GEMINI_TOOLS_MODEL";

pub(super) struct Model {
    client: GeminiClient,
    name: String,
}

impl Model {
    pub(super) fn find(home: Option<&Path>) -> Result<Option<Self>, ApiError> {
        let name = gemini_tools_environment::variables::value(MODEL_VARIABLE);
        let name = name.and_then(|name| name.into_string().ok());
        let name = name.filter(|name| !name.trim().is_empty());
        let client = GeminiClient::from_environment(home)?;
        Ok(client.map(|client| Self {
            client,
            name: name.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
        }))
    }

    pub(super) fn require(home: Option<&Path>) -> Result<Self, ApiError> {
        Self::find(home)?.ok_or_else(ApiError::no_credential)
    }

    pub(super) fn ask(
        &mut self,
        instruction: &str,
        prompt: &str,
        tools: Vec<RequestTool>,
        cx: &Context,
    ) -> Result<GenerateContentResponse, ApiError> {
        self.send(instruction, prompt, tools, deterministic(), cx)
    }

    pub(super) fn ask_json(
        &mut self,
        instruction: &str,
        prompt: &str,
        schema: serde_json::Value,
        cx: &Context,
    ) -> Result<serde_json::Value, ApiError> {
        let mut config = deterministic();
        config["responseMimeType"] = "application/json".into();
        config["responseJsonSchema"] = schema;
        let response = self.send(instruction, prompt, Vec::new(), config, cx)?;
        let text = response.text();
        gemini_tools_core::json::read_unlimited(text.trim().as_bytes())
            .map_err(|e| ApiError::invalid_json(&e, &text))
    }

    fn send(
        &mut self,
        instruction: &str,
        prompt: &str,
        tools: Vec<RequestTool>,
        config: serde_json::Value,
        cx: &Context,
    ) -> Result<GenerateContentResponse, ApiError> {
        let request = GenerateContentRequest {
            contents: vec![Content::user(prompt)],
            system_instruction: Some(Content::user(instruction)),
            tools,
            generation_config: Some(config),
        };
        let response = self
            .client
            .generate(&self.name, &request, &cx.cancel, &mut |attempt| {
                cx.update_output(OutputUpdate::ModelCall(attempt.call.clone()));
            })?;
        match response.refusal() {
            None => Ok(response),
            Some(why) => Err(ApiError::blocked(&why)),
        }
    }
}

/// Converts an error of the API into one of a tool. If the call was interrupted, returns the
/// interruption as the error.
pub(super) fn tool_error(error: ApiError, kind: ErrorKind, cancel: &Cancellation) -> ToolError {
    if let Err(interrupted) = cancel.check() {
        return interrupted;
    }
    let mut own = ToolError::new(kind, error.message.clone());
    own.hint.clone_from(&error.hint);
    if error.kind == ApiErrorKind::NotFound
        && let Some(hint) = &mut own.hint
    {
        *hint += &format!(" {MODEL_VARIABLE} names another.");
    }
    own.with_source(error)
}
