//! The client that asks the API.

use super::credentials::{Credentials, Service};
use super::error::{ApiError, ApiErrorKind, UNSUPPORTED_CLIENT};
use super::id::unique_id;
use super::messages::{GenerateContentRequest, GenerateContentResponse};
use super::played::{AnswerSource, ApiMethod, without};
use super::retry::{self, FIRST_WAIT};
use super::stream::{ResponseStream, has_content};
use super::tokens::AccessToken;
use crate::http_client::{HttpClient, HttpRequest, HttpTimeouts, NetError, Response};
use gemini_tools_core::json::{self, MAX_WITH_MEDIA_BYTES};
use gemini_tools_core::tool::{Cancellation, ModelCall, ModelCallError};
use gemini_tools_process::network::addresses::AddressPolicy;
use http::Method;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use url::Url;

/// The model may think for minutes before it sends the first byte, hence the long `first_byte`.
const TIMEOUTS: HttpTimeouts = HttpTimeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(300),
    silence: Duration::from_secs(120),
    answer: Duration::from_secs(300),
};

/// How long the end of the connection is waited for once the answer has ended. Token counts may
/// come last.
const AFTER_END: Duration = Duration::from_secs(3);

const MAX_ERROR_BYTES: usize = 256 * 1024;

const PIECE_BYTES: usize = 16 * 1024;

const TICK: Duration = Duration::from_millis(50);

/// A client of the Gemini API, Vertex AI or Code Assist. It sends one request at a time, and reuses
/// the connection.
pub struct GeminiClient {
    credentials: Option<Credentials>,
    http: HttpClient,
    played: Option<AnswerSource>,
    first_wait: Duration,
    session: String,
    prompt: String,
}

impl std::fmt::Debug for GeminiClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeminiClient").finish_non_exhaustive()
    }
}

/// One attempt to have a request answered. A request that is retried has several.
#[derive(Debug, Clone)]
pub struct Attempt<'a> {
    /// The attempt as it is counted in statistics.
    pub call: ModelCall,
    /// The error, if there is no answer or only a part of it.
    pub error: Option<&'a ApiError>,
    /// How long the client waits before the next attempt; `None` if there is none. It is zero if the
    /// next follows at once with a new access token.
    pub wait: Option<Duration>,
}

fn count(call: &mut ModelCall, piece: &GenerateContentResponse) {
    if let Some(model) = &piece.model_version {
        call.model.clone_from(model);
    }
    call.tokens = piece.usage_metadata.unwrap_or(call.tokens);
}

impl GeminiClient {
    /// Creates a client for a credential. On Linux, the process writes no core dump from now on,
    /// since it would contain the credential.
    pub fn new(credentials: Credentials) -> Self {
        #[cfg(target_os = "linux")]
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        Self::with(Some(credentials), None)
    }

    /// Creates a client whose requests are answered by `answers` instead of the API. It needs
    /// neither a connection nor a credential, and waits before a retry only if an answer asks for
    /// it.
    pub fn played(answers: AnswerSource) -> Self {
        Self::with(None, Some(answers)).with_first_wait(Duration::ZERO)
    }

    fn with(credentials: Option<Credentials>, played: Option<AnswerSource>) -> Self {
        let session = unique_id();
        Self {
            credentials,
            http: HttpClient::new(AddressPolicy::Any, TIMEOUTS),
            played,
            first_wait: FIRST_WAIT,
            prompt: format!("{session}########1"),
            session,
        }
    }

    /// Creates a client from the environment and the user's files; returns `None` without a
    /// credential.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Credentials::find`].
    pub fn from_environment(home: Option<&Path>) -> Result<Option<Self>, ApiError> {
        let env = |name: &str| std::env::var(name).ok();
        Ok(Credentials::find(&env, home)?.map(Self::new))
    }

    /// Sets the wait after the first failed attempt. Each further wait is twice as long.
    #[must_use]
    pub fn with_first_wait(mut self, first_wait: Duration) -> Self {
        self.first_wait = first_wait;
        self
    }

    /// Removes the credential from a text.
    pub fn without_credential(&self, text: &str) -> String {
        without(text, self.secret())
    }

    fn secret(&self) -> &str {
        self.credentials
            .as_ref()
            .map_or("", |own| own.token.expose())
    }

    /// Sets the ids of the session and the prompt that the following requests belong to. Code
    /// Assist is sent both.
    pub fn set_prompt(&mut self, session: &str, prompt: &str) {
        session.clone_into(&mut self.session);
        prompt.clone_into(&mut self.prompt);
    }

    /// Requests a complete answer (`generateContent`). An answer that was withheld because of its
    /// content is not an error: see [`GenerateContentResponse::refusal`]. `on_attempt` is told of
    /// each attempt.
    ///
    /// # Errors
    ///
    /// Returns the last error of the API or the network, after all retries that make sense.
    pub fn generate(
        &mut self,
        model: &str,
        request: &GenerateContentRequest,
        cancel: &Cancellation,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
    ) -> Result<GenerateContentResponse, ApiError> {
        self.retrying(model, cancel, on_attempt, |client, call| {
            let method = ApiMethod::GenerateContent;
            client.exchange(method, model, request, cancel, |answer, is_wrapped| {
                let response = parsed(&whole(answer, model)?, is_wrapped)?;
                count(call, &response);
                Ok(response)
            })
        })
    }

    /// Requests an answer in pieces (`streamGenerateContent`). Each piece is passed to `on_piece`
    /// as it arrives, which may end the stream. A broken stream is retried only if the pieces so
    /// far hold thoughts at most, since a retry would repeat them. `on_attempt` is told of each
    /// attempt.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GeminiClient::generate`], and `Broken` if a stream broke and is not
    /// retried for that reason.
    pub fn stream(
        &mut self,
        model: &str,
        request: &GenerateContentRequest,
        cancel: &Cancellation,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
    ) -> Result<(), ApiError> {
        self.retrying(model, cancel, on_attempt, |client, call| {
            let method = ApiMethod::StreamGenerateContent;
            let mut is_used = false;
            let mut piece = |piece| {
                is_used |= has_content(&piece, false);
                count(call, &piece);
                on_piece(piece)
            };
            let read = client.exchange(method, model, request, cancel, |answer, is_wrapped| {
                read_stream(answer, model, is_wrapped, cancel, &mut piece)
            });
            read.map_err(|e| if is_used { e.after_use() } else { e })
        })
    }

    fn retrying<T>(
        &mut self,
        model: &str,
        cancel: &Cancellation,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
        mut attempt: impl FnMut(&mut Self, &mut ModelCall) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut failed = 0;
        let mut has_renewed = false;
        loop {
            let started = Instant::now();
            let mut call = ModelCall {
                model: model.to_owned(),
                ..ModelCall::default()
            };
            let attempted = match &mut self.credentials {
                Some(credentials) => credentials.token.prepare(&mut self.http, cancel),
                None => Ok(()),
            };
            let attempted = attempted.and_then(|()| attempt(self, &mut call));
            call.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let report = |error: Option<&ApiError>, wait| {
                call.error = error.map(|error| ModelCallError {
                    kind: format!("{:?}", error.kind),
                    status: error.status,
                    message: error.to_string(),
                });
                on_attempt(&Attempt { call, error, wait });
            };
            let mut error = match attempted {
                Ok(answer) => {
                    report(None, None);
                    return Ok(answer);
                }
                Err(e) => e.without(self.secret()),
            };
            // A token may be revoked before it expires. Renew it once; if the next is rejected as
            // well, retrying does not help.
            let token = self.credentials.as_mut().map(|own| &mut own.token);
            let is_ended = error.status == Some(401) && !has_renewed;
            if is_ended && token.is_some_and(AccessToken::drop_current) {
                has_renewed = true;
                report(Some(&error), Some(Duration::ZERO));
                continue;
            }
            failed += 1;
            let wait = retry::wait(self.first_wait, failed, error.retry_after);
            let wait = wait.filter(|wait| error.is_transient && ends_in_time(*wait, cancel));
            report(Some(&error), wait);
            if let Some(wait) = wait {
                wait_for(wait, cancel)?;
                continue;
            }
            if failed > 1 {
                error.message.push_str(&format!(" ({failed} attempts)"));
            }
            return Err(error);
        }
    }

    /// Sends a request to a method of the model and passes the response to `read`. The second
    /// argument of `read` is true if each response is wrapped in Code Assist's envelope.
    fn exchange<T>(
        &mut self,
        method: ApiMethod,
        model: &str,
        request: &GenerateContentRequest,
        cancel: &Cancellation,
        read: impl FnOnce(&mut Response<'_>, bool) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        if let Some(next) = &mut self.played {
            return read(&mut next(method)?.into_response(), false);
        }
        let credentials = self.credentials.as_ref();
        let credentials = credentials.ok_or_else(ApiError::no_credential)?;
        let mut url = credentials.address(model, method.name())?;
        if method == ApiMethod::StreamGenerateContent {
            url.set_query(Some("alt=sse"));
        }
        let is_wrapped = matches!(credentials.service, Service::CodeAssist { .. });
        let mut body = json!(request);
        if is_wrapped {
            body["session_id"] = self.session.as_str().into();
            body = json!({
                "model": model,
                "project": self.code_assist_project(model, cancel)?,
                "user_prompt_id": self.prompt,
                "request": body,
            });
        }
        read(&mut self.post(&url, &body, cancel)?, is_wrapped)
    }

    fn code_assist_project(
        &mut self,
        model: &str,
        cancel: &Cancellation,
    ) -> Result<String, ApiError> {
        let credentials = self.credentials.as_ref();
        let credentials = credentials.ok_or_else(ApiError::no_credential)?;
        if let Service::CodeAssist {
            project: Some(known),
        } = &credentials.service
        {
            return Ok(known.clone());
        }
        let body = json!({
            "metadata": {
                "ideType": "IDE_UNSPECIFIED",
                "platform": "PLATFORM_UNSPECIFIED",
                "pluginType": "GEMINI",
            }
        });
        let url = credentials.address(model, "loadCodeAssist")?;
        let answer = whole(&mut self.post(&url, &body, cancel)?, model)?;
        let value = document(&answer)?;
        let tiers = value["ineligibleTiers"].as_array().into_iter().flatten();
        let is_unsupported = tiers
            .clone()
            .any(|tier| tier["reasonCode"] == UNSUPPORTED_CLIENT);
        let project = value["cloudaicompanionProject"].as_str();
        if project.is_none() && is_unsupported {
            return Err(ApiError::unsupported_client());
        }
        let project = project.ok_or_else(|| {
            ApiError::new(
                ApiErrorKind::Forbidden,
                "Code Assist has no project for this account.",
            )
            .with_hint(
                "Start Gemini CLI once and let it set the account up, or set GOOGLE_CLOUD_PROJECT.",
            )
        })?;
        if let Some(credentials) = &mut self.credentials {
            let project = Some(project.to_owned());
            credentials.service = Service::CodeAssist { project };
        }
        Ok(project.to_owned())
    }

    fn post(
        &mut self,
        url: &Url,
        body: &Value,
        cancel: &Cancellation,
    ) -> Result<Response<'_>, NetError> {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        headers.extend(self.credentials.iter().flat_map(Credentials::headers));
        let request = HttpRequest {
            method: Method::POST,
            url,
            headers,
            body: body.to_string().into_bytes(),
        };
        self.http.send(request, cancel)
    }
}

fn whole(answer: &mut Response<'_>, model: &str) -> Result<Vec<u8>, ApiError> {
    if answer.status != 200 {
        return Err(refused(answer, model));
    }
    let (bytes, is_cut) = answer.body.read_up_to(MAX_WITH_MEDIA_BYTES)?;
    if is_cut {
        let what = format!("it has more than {MAX_WITH_MEDIA_BYTES} bytes");
        return Err(ApiError::endless(&what));
    }
    Ok(bytes)
}

fn read_stream(
    answer: &mut Response<'_>,
    model: &str,
    is_wrapped: bool,
    cancel: &Cancellation,
    on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
) -> Result<(), ApiError> {
    if answer.status != 200 {
        return Err(refused(answer, model));
    }
    let kind = answer.header("content-type").map(str::to_owned);
    if let Some(kind) = kind.filter(|kind| !is_stream(kind)) {
        let (start, _) = answer.body.read_up_to(4096)?;
        return Err(ApiError::unreadable(
            &format!("it is {kind}, not a stream"),
            &start,
        ));
    }
    let mut stream = ResponseStream::new(is_wrapped);
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        // A server that sends without a pause never blocks `read`, and cancellation is only noticed
        // while blocked.
        NetError::check(cancel)?;
        let n = match answer.body.read(&mut buffer) {
            // The answer is whole, however the connection ends.
            Err(e) if stream.is_finished() && e.is_transient() => 0,
            read => read?,
        };
        if n == 0 {
            return stream.finish(on_piece);
        }
        if stream.push(&buffer[..n], on_piece)?.is_break() {
            return Ok(());
        }
        if stream.is_finished() {
            answer.body.silence.set(AFTER_END);
        }
    }
}

fn is_stream(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("text/event-stream")
}

fn refused(answer: &mut Response<'_>, model: &str) -> ApiError {
    let body = match answer.body.read_up_to(MAX_ERROR_BYTES) {
        Ok((body, _)) => body,
        Err(e @ (NetError::Cancelled | NetError::OutOfTime)) => return e.into(),
        // The status is enough if the body of an error can't be read.
        Err(_) => Vec::new(),
    };
    ApiError::from_answer(answer.status, answer.header("retry-after"), &body, model)
}

fn document(data: &[u8]) -> Result<Value, ApiError> {
    json::read(data).map_err(|e| ApiError::unreadable(&e.to_string(), data))
}

pub(super) fn parsed(data: &[u8], is_wrapped: bool) -> Result<GenerateContentResponse, ApiError> {
    let mut value = document(data)?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let status = error["code"].as_u64().and_then(|c| u16::try_from(c).ok());
        return Err(ApiError::from_answer(status.unwrap_or(500), None, data, ""));
    }
    if is_wrapped {
        let inner = value.get_mut("response").map(Value::take);
        value = inner.unwrap_or_default();
    }
    if !value.is_object() {
        return Err(ApiError::unreadable("it is not a response", data));
    }
    json::from_value(value).map_err(|e| ApiError {
        // It is JSON, so the API itself has answered.
        hint: None,
        ..ApiError::unreadable(&e.to_string(), data)
    })
}

/// Returns true if the wait ends before the call's deadline: otherwise there can be no retry.
fn ends_in_time(wait: Duration, cancel: &Cancellation) -> bool {
    let until = Instant::now() + wait;
    cancel.deadline().is_none_or(|deadline| deadline > until)
}

fn wait_for(wait: Duration, cancel: &Cancellation) -> Result<(), NetError> {
    let until = Instant::now() + wait;
    loop {
        NetError::check(cancel)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(TICK));
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, GeminiClient};
    use crate::gemini_api::{ApiMethod, GenerateContentRequest, PlayedAnswer};
    use gemini_tools_core::tool::Cancellation;
    use std::ops::ControlFlow;
    use std::time::Duration;

    #[test]
    fn a_retry_that_the_deadline_forbids_is_not_announced() {
        let busy = |_: ApiMethod| {
            Ok(PlayedAnswer {
                status: 503,
                retry_after: Some("30".to_owned()),
                body: String::new(),
            })
        };
        let cancel = Cancellation::with_time_limit(Duration::from_secs(20));
        let mut waits = Vec::new();
        let mut on_attempt = |attempt: &Attempt<'_>| waits.push(attempt.wait);
        let mut on_piece = |_| ControlFlow::Continue(());
        let mut client = GeminiClient::played(Box::new(busy));
        let request = GenerateContentRequest::default();
        let ended = client.stream("m", &request, &cancel, &mut on_piece, &mut on_attempt);
        assert!(ended.is_err());
        assert_eq!(waits, [None]);
    }
}
