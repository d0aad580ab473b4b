//! Asking the API.

use super::Credentials;
use super::body::Body;
use super::error::{ApiError, ApiErrorKind, UNSUPPORTED_CLIENT};
use super::id::unique_id;
use super::messages::{
    GenerateContentRequest, GenerateContentResponse, ModelRequest, UsageMetadata,
};
use super::played::{Answer, ApiMethod, Player, without};
use super::retry::RetryPolicy;
use super::stream::ResponseStream;
use super::tokens::AccessToken;
use crate::http_client::{self as net, AddressPolicy, HttpRequest, HttpTimeouts, Method, NetError};
use gemini_tools_core::json;
use gemini_tools_core::tool::{Cancellation, Interruption, ModelCall, ModelCallError, TokenCounts};
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use url::Url;

/// Time limits of the API. A model may think for minutes before it says anything.
const TIMEOUTS: HttpTimeouts = HttpTimeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(300),
    silence: Duration::from_secs(120),
    answer: Duration::from_secs(300),
};

/// Time that the description of a model may take.
const MODEL_LIMIT: Duration = Duration::from_secs(10);

/// Maximum bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = gemini_tools_core::json::MAX_WITH_MEDIA_BYTES;

/// Maximum bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 256 * 1024;

/// Pieces in which a stream is read.
const PIECE_BYTES: usize = 16 * 1024;

/// Interval at which a wait checks for the end of the call.
const TICK: Duration = Duration::from_millis(50);

/// Asks models, in one of the three ways. One request at a time; a connection is kept for the
/// next.
pub struct GeminiClient {
    way: Way,
    policy: RetryPolicy,
    /// The session, and the prompt in it that requests are for.
    session: String,
    prompt: String,
}

/// The source of answers.
enum Way {
    Api(Box<Api>),
    Played(Player),
}

/// The API, and how it lets in.
struct Api {
    credentials: Credentials,
    http: net::HttpClient,
    /// The project that Code Assist has given, once it was asked.
    project: Option<String>,
}

/// A request as it is sent.
struct Prepared<'a> {
    url: Url,
    body: Body<'a>,
}

impl std::fmt::Debug for GeminiClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let credentials = match &self.way {
            Way::Api(api) => Some(&api.credentials),
            Way::Played(_) => None,
        };
        f.debug_struct("GeminiClient")
            .field("credentials", &credentials)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// An attempt to have a model answer.
#[derive(Debug, Clone)]
pub struct Attempt<'a> {
    /// The request as statistics count it.
    pub call: ModelCall,
    /// Reason why there is no answer, or only a part of it.
    pub error: Option<&'a ApiError>,
    /// Time until the next attempt, if there is one after a wait.
    pub wait: Option<Duration>,
}

/// Model and tokens that the pieces of an answer have named.
#[derive(Default)]
struct Used {
    model: Option<String>,
    usage: Option<UsageMetadata>,
}

impl Used {
    /// Notes a piece. The last one that names something knows it best.
    fn add(&mut self, piece: &GenerateContentResponse) {
        if let Some(model) = &piece.model_version {
            self.model = Some(model.clone());
        }
        if let Some(usage) = &piece.usage_metadata {
            self.usage = Some(usage.clone());
        }
    }

    fn to_call(&self, asked: &str, took: Duration, error: Option<&ApiError>) -> ModelCall {
        let tokens = self.usage.as_ref().map(TokenCounts::from);
        ModelCall {
            model: self.model.as_deref().unwrap_or(asked).to_owned(),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            tokens: tokens.unwrap_or_default(),
            error: error.map(|error| ModelCallError {
                kind: format!("{:?}", error.kind),
                status: error.status,
                message: error.to_string(),
            }),
        }
    }
}

/// Code Assist's wrapper of a request.
#[derive(Serialize)]
struct Enveloped<'a, Q> {
    model: &'a str,
    project: &'a str,
    user_prompt_id: &'a str,
    request: WithSession<'a, Q>,
}

#[derive(Serialize)]
struct WithSession<'a, Q> {
    #[serde(flatten)]
    request: &'a Q,
    session_id: &'a str,
}

impl GeminiClient {
    /// A client for a credential. From now on the process leaves no core file: it would hold the
    /// credential.
    pub fn new(credentials: Credentials) -> Self {
        #[cfg(target_os = "linux")]
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let project = match &credentials {
            Credentials::CodeAssist { project, .. } => project.clone(),
            _ => None,
        };
        Self::by(Way::Api(Box::new(Api {
            credentials,
            http: net::HttpClient::new(AddressPolicy::Any, TIMEOUTS),
            project,
        })))
    }

    /// Makes a client that opens no connection and needs no credential: a player gives the answers.
    /// It waits before a request only as long as the answer before asks for.
    pub fn played(player: Player) -> Self {
        Self::by(Way::Played(player)).with_retry(RetryPolicy {
            first_wait: Duration::ZERO,
            ..RetryPolicy::default()
        })
    }

    fn by(way: Way) -> Self {
        let session = unique_id();
        Self {
            way,
            policy: RetryPolicy::default(),
            prompt: format!("{session}########1"),
            session,
        }
    }

    /// The client that the environment and the user's files give; `None` without a credential.
    ///
    /// # Errors
    ///
    /// As [`Credentials::find`].
    pub fn from_environment(home: Option<&Path>) -> Result<Option<Self>, ApiError> {
        let env = |name: &str| std::env::var(name).ok();
        Ok(Credentials::find(&env, home)?.map(Self::new))
    }

    /// Sends requests again by other rules.
    #[must_use]
    pub fn with_retry(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Returns true if a player gives the answers.
    pub fn is_played(&self) -> bool {
        matches!(self.way, Way::Played(_))
    }

    /// A text in which the credential does not show.
    pub fn without_credential(&self, text: &str) -> String {
        without(text, self.way.secret())
    }

    /// Names the session, and the prompt in it, that requests are for from now on. Code Assist is
    /// told of both.
    pub fn set_prompt(&mut self, session: &str, prompt: &str) {
        session.clone_into(&mut self.session);
        prompt.clone_into(&mut self.prompt);
    }

    /// Asks for a whole answer (`generateContent`). An answer that was held back for what it
    /// says is an answer too: see [`GenerateContentResponse::refusal`].
    ///
    /// # Errors
    ///
    /// What the API or the way to it says no with, after every try that made sense.
    pub fn generate(
        &mut self,
        model: &str,
        request: &impl ModelRequest,
        cancel: &Cancellation,
    ) -> Result<GenerateContentResponse, ApiError> {
        self.generate_telling(model, request, cancel, &mut |_| {})
    }

    /// As [`GeminiClient::generate`]; `on_attempt` is told of each attempt.
    ///
    /// # Errors
    ///
    /// As [`GeminiClient::generate`].
    pub fn generate_telling(
        &mut self,
        model: &str,
        request: &impl ModelRequest,
        cancel: &Cancellation,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
    ) -> Result<GenerateContentResponse, ApiError> {
        self.retrying(model, cancel, on_attempt, |client, used| {
            let method = ApiMethod::GenerateContent;
            let prepared = client.prepared(method, model, request, cancel)?;
            client.exchange(method, prepared.as_ref(), cancel, |answer, is_wrapped| {
                let response = parsed(&whole(answer, model)?, is_wrapped)?;
                used.add(&response);
                Ok(response)
            })
        })
    }

    /// Asks for an answer in pieces (`streamGenerateContent`), which `on_piece` gets as they
    /// come; it may end the stream. A stream that breaks is begun again only as long as no
    /// piece was handed out.
    ///
    /// # Errors
    ///
    /// As [`GeminiClient::generate`]; `Broken` where a stream broke after pieces were handed out.
    pub fn stream(
        &mut self,
        model: &str,
        request: &impl ModelRequest,
        cancel: &Cancellation,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> Result<(), ApiError> {
        self.stream_telling(model, request, cancel, on_piece, &mut |_| {})
    }

    /// As [`GeminiClient::stream`]; `on_attempt` is told of each attempt.
    ///
    /// # Errors
    ///
    /// As [`GeminiClient::stream`].
    pub fn stream_telling(
        &mut self,
        model: &str,
        request: &impl ModelRequest,
        cancel: &Cancellation,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
    ) -> Result<(), ApiError> {
        self.retrying(model, cancel, on_attempt, |client, used| {
            let method = ApiMethod::StreamGenerateContent;
            let mut prepared = client.prepared(method, model, request, cancel)?;
            if let Some(prepared) = &mut prepared {
                prepared.url.set_query(Some("alt=sse"));
            }
            let mut is_used = false;
            let mut piece = |piece| {
                is_used = true;
                used.add(&piece);
                on_piece(piece)
            };
            let read = client.exchange(method, prepared.as_ref(), cancel, |answer, is_wrapped| {
                read_stream(answer, model, is_wrapped, cancel, &mut piece)
            });
            read.map_err(|e| if is_used { e.after_use() } else { e })
        })
    }

    /// Counts the tokens of a conversation.
    ///
    /// # Errors
    ///
    /// As [`GeminiClient::generate`].
    pub fn count_tokens(
        &mut self,
        model: &str,
        request: &GenerateContentRequest,
        cancel: &Cancellation,
    ) -> Result<u64, ApiError> {
        self.retrying(model, cancel, &mut |_| {}, |client, _| {
            let method = ApiMethod::CountTokens;
            let prepared = match &client.way {
                Way::Played(_) => None,
                Way::Api(api) => {
                    let contents = json!(request.contents);
                    let body = if api.is_wrapped() {
                        let model = format!("models/{model}");
                        json!({ "request": { "model": model, "contents": contents } })
                    } else {
                        json!({ "contents": contents })
                    };
                    let url = api.credentials.address(model, method.name())?;
                    let body = Body::whole(to_bytes(&body));
                    Some(Prepared { url, body })
                }
            };
            let answer = client.exchange(method, prepared.as_ref(), cancel, |answer, _| {
                whole(answer, model)
            })?;
            let value: Value =
                json::read(&answer).map_err(|e| ApiError::unreadable(&e.to_string(), &answer))?;
            value["totalTokens"]
                .as_u64()
                .ok_or_else(|| ApiError::unreadable("there is no totalTokens", &answer))
        })
    }

    /// Asks the API how many tokens a model takes in. Returns `None` where the API does not say, such
    /// as Vertex AI and Code Assist, and where it does not answer at once.
    pub fn input_token_limit(&mut self, model: &str, cancel: &Cancellation) -> Option<u64> {
        let Way::Api(api) = &mut self.way else {
            return None;
        };
        let url = api.credentials.model_address(model)?;
        let cancel = cancel.restarted(MODEL_LIMIT);
        let request = HttpRequest {
            method: Method::Get,
            url: &url,
            headers: vec![api.credentials.header()],
            body: &[],
        };
        let response = api.http.send(&request, &cancel).ok()?;
        let answer = whole(&mut Answer::sent(response), model).ok()?;
        let value: Value = json::read(&answer).ok()?;
        value["inputTokenLimit"].as_u64().filter(|limit| *limit > 0)
    }

    /// Tries until there is an answer, or no further try makes sense.
    fn retrying<T>(
        &mut self,
        model: &str,
        cancel: &Cancellation,
        on_attempt: &mut dyn FnMut(&Attempt<'_>),
        mut attempt: impl FnMut(&mut Self, &mut Used) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut failed = 0;
        let mut has_renewed = false;
        loop {
            let started = Instant::now();
            let mut used = Used::default();
            let attempted = match &mut self.way {
                Way::Api(api) => match api.credentials.token() {
                    Some(token) => token.prepare(&mut api.http, cancel),
                    None => Ok(()),
                },
                Way::Played(_) => Ok(()),
            };
            let attempted = attempted.and_then(|()| attempt(self, &mut used));
            let mut tell = |error, wait| {
                on_attempt(&Attempt {
                    call: used.to_call(model, started.elapsed(), error),
                    error,
                    wait,
                });
            };
            let error = match attempted {
                Ok(answer) => {
                    tell(None, None);
                    return Ok(answer);
                }
                Err(e) => e.without(self.way.secret()),
            };
            // A token may end before its time; the next one is good, or nothing helps.
            let is_ended = error.status == Some(401) && !has_renewed;
            if is_ended
                && let Way::Api(api) = &mut self.way
                && api.credentials.token().is_some_and(AccessToken::forget)
            {
                has_renewed = true;
                tell(Some(&error), None);
                continue;
            }
            failed += 1;
            let wait = self
                .policy
                .wait(failed, error.retry_after)
                .filter(|_| error.is_transient);
            tell(Some(&error), wait);
            match wait {
                Some(wait) if wait_for(wait, cancel)? => {}
                _ if failed > 1 => {
                    let mut error = error;
                    error.message.push_str(&format!(" ({failed} attempts)"));
                    return Err(error);
                }
                _ => return Err(error),
            }
        }
    }

    /// The request in the shape that the way in wants; nothing where answers are played.
    fn prepared<'r>(
        &mut self,
        method: ApiMethod,
        model: &str,
        request: &'r impl ModelRequest,
        cancel: &Cancellation,
    ) -> Result<Option<Prepared<'r>>, ApiError> {
        let Way::Api(api) = &mut self.way else {
            return Ok(None);
        };
        let url = api.credentials.address(model, method.name())?;
        let body = if api.is_wrapped() {
            let project = api.code_assist_project(model, cancel)?;
            let enveloped = Enveloped {
                model,
                project: &project,
                user_prompt_id: &self.prompt,
                request: WithSession {
                    request,
                    session_id: &self.session,
                },
            };
            Body::new(request, &enveloped)?
        } else {
            Body::new(request, request)?
        };
        Ok(Some(Prepared { url, body }))
    }

    /// Has a request answered, by the API or a player. `read` is also told if responses are in the
    /// wrapper of Code Assist.
    fn exchange<T>(
        &mut self,
        method: ApiMethod,
        prepared: Option<&Prepared<'_>>,
        cancel: &Cancellation,
        read: impl FnOnce(&mut Answer<'_>, bool) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        match (&mut self.way, prepared) {
            (Way::Api(api), Some(prepared)) => {
                let is_wrapped = api.is_wrapped();
                let response = api.send(prepared, cancel)?;
                read(&mut Answer::sent(response), is_wrapped)
            }
            (Way::Played(player), _) => {
                let mut answer = Answer::played(player(method)?)?;
                read(&mut answer, false)
            }
            (Way::Api(_), None) => Err(ApiError::new(
                ApiErrorKind::BadRequest,
                "There is no request to send.",
            )),
        }
    }
}

impl Way {
    /// The credential; empty where there is none.
    fn secret(&self) -> &str {
        match self {
            Way::Api(api) => api.credentials.secret(),
            Way::Played(_) => "",
        }
    }
}

impl Api {
    /// Returns true if requests and responses are in the wrapper of Code Assist.
    fn is_wrapped(&self) -> bool {
        matches!(self.credentials, Credentials::CodeAssist { .. })
    }

    /// Asks Code Assist which project it has for the user.
    fn code_assist_project(
        &mut self,
        model: &str,
        cancel: &Cancellation,
    ) -> Result<String, ApiError> {
        if let Some(project) = &self.project {
            return Ok(project.clone());
        }
        let body = json!({
            "metadata": {
                "ideType": "IDE_UNSPECIFIED",
                "platform": "PLATFORM_UNSPECIFIED",
                "pluginType": "GEMINI",
            }
        });
        let url = self.credentials.address(model, "loadCodeAssist")?;
        let body = Body::whole(to_bytes(&body));
        let response = self.send(&Prepared { url, body }, cancel)?;
        let answer = whole(&mut Answer::sent(response), model)?;
        let value: Value =
            json::read(&answer).map_err(|e| ApiError::unreadable(&e.to_string(), &answer))?;
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
        self.project = Some(project.to_owned());
        Ok(project.to_owned())
    }

    fn send(
        &mut self,
        prepared: &Prepared<'_>,
        cancel: &Cancellation,
    ) -> Result<net::Response<'_>, NetError> {
        let headers = [
            ("content-type", "application/json".to_owned()),
            self.credentials.header(),
        ];
        let request = HttpRequest {
            method: Method::Post,
            url: &prepared.url,
            headers: headers
                .into_iter()
                .chain(self.credentials.quota_header())
                .collect(),
            body: &prepared.body.pieces(),
        };
        self.http.send(&request, cancel)
    }
}

/// Reads a whole answer.
fn whole(answer: &mut Answer<'_>, model: &str) -> Result<Vec<u8>, ApiError> {
    if answer.status != 200 {
        return Err(refused(answer, model));
    }
    let (bytes, is_cut) = answer.read_up_to(MAX_ANSWER_BYTES)?;
    if is_cut {
        return Err(ApiError::new(
            ApiErrorKind::BadResponse,
            format!("The Gemini API's answer has more than {MAX_ANSWER_BYTES} bytes."),
        ));
    }
    Ok(bytes)
}

/// Reads an answer in pieces.
fn read_stream(
    answer: &mut Answer<'_>,
    model: &str,
    is_wrapped: bool,
    cancel: &Cancellation,
    on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
) -> Result<(), ApiError> {
    if answer.status != 200 {
        return Err(refused(answer, model));
    }
    if let Some(kind) = &answer.content_type
        && !kind.starts_with("text/event-stream")
    {
        let kind = kind.clone();
        let (start, _) = answer.read_up_to(4096)?;
        return Err(ApiError::unreadable(
            &format!("it is {kind}, not a stream"),
            &start,
        ));
    }
    let mut stream = ResponseStream::new(is_wrapped);
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        // A server that never pauses is not waited for, which is where this is looked at otherwise.
        check(cancel)?;
        let n = answer.read(&mut buffer)?;
        if n == 0 {
            return stream.finish(on_piece);
        }
        if stream.push(&buffer[..n], on_piece)?.is_break() {
            return Ok(());
        }
    }
}

fn refused(answer: &mut Answer<'_>, model: &str) -> ApiError {
    let body = match answer.read_up_to(MAX_ERROR_BYTES) {
        Ok((body, _)) => body,
        Err(e) if matches!(e.kind, ApiErrorKind::Cancelled | ApiErrorKind::OutOfTime) => return e,
        // What can't be read of an error doesn't matter.
        Err(_) => Vec::new(),
    };
    let retry_after = answer.retry_after.as_deref();
    ApiError::from_answer(answer.status, retry_after, &body, model)
}

/// Parses a response and takes Code Assist's wrapper off.
pub(super) fn parsed(data: &[u8], is_wrapped: bool) -> Result<GenerateContentResponse, ApiError> {
    let unreadable = |e: json::JsonError| ApiError::unreadable(&e.to_string(), data);
    let mut value: Value = json::read(data).map_err(unreadable)?;
    if let Some(error) = value.get("error") {
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
    json::from_value(value).map_err(unreadable)
}

fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn check(cancel: &Cancellation) -> Result<(), ApiError> {
    match cancel.interruption() {
        None => Ok(()),
        Some(Interruption::Cancelled(_)) => Err(NetError::Cancelled.into()),
        Some(Interruption::TimedOut) => Err(NetError::OutOfTime.into()),
    }
}

/// Waits; false where the call's time does not last so long.
fn wait_for(wait: Duration, cancel: &Cancellation) -> Result<bool, ApiError> {
    let until = Instant::now() + wait;
    if cancel.deadline().is_some_and(|deadline| deadline <= until) {
        return Ok(false);
    }
    loop {
        check(cancel)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(true);
        }
        std::thread::sleep(left.min(TICK));
    }
}
