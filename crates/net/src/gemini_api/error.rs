//! Errors of the API, each with advice for the user.

use super::played::without;
use super::retry::{json_duration, retry_after};
use crate::http_client::NetError;
use gemini_tools_core::text::{excerpt, one_line};
use serde_json::Value;
use std::fmt;
use std::time::{Duration, SystemTime};

const SHOWN_CHARS: usize = 200;

const UNREACHED: &str = "The Gemini API was not reached: ";

/// The reason given by Code Assist when it has stopped serving a kind of account.
pub(super) const UNSUPPORTED_CLIENT: &str = "UNSUPPORTED_CLIENT";

/// The kind of an API error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// There is no credential.
    NoCredential,
    /// The credential is not accepted.
    BadCredential,
    /// The credential is valid, but does not allow this request.
    Forbidden,
    /// There is no such model, or no such address.
    NotFound,
    /// There were too many requests in a short time.
    RateLimited,
    /// The quota of the day is used up.
    QuotaExhausted,
    /// The request itself is refused.
    BadRequest,
    /// The API has failed internally.
    Server,
    /// The prompt or the answer was withheld because of its content.
    Blocked,
    /// The answer can't be parsed.
    BadResponse,
    /// A stream broke off after parts of it were passed on, so that it can't be retried.
    Broken,
    /// The API was not reached, or its answer broke off before any part of it was passed on.
    Network,
    /// A script replaces the API, and has no answer for this request.
    NotRecorded,
    /// The call was cancelled.
    Cancelled,
    /// The call's time limit has passed.
    OutOfTime,
}

/// Why a request to a model failed.
///
/// The message contains the status and the API's own words. It never contains a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// Kind of the error.
    pub kind: ApiErrorKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The error in one sentence.
    pub message: String,
    /// Advice to the user.
    pub hint: Option<String>,
    /// How long the API asks the client to wait before a retry; `None` if it does not say.
    pub retry_after: Option<Duration>,
    pub(super) is_transient: bool,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(hint) = &self.hint else {
            return Ok(());
        };
        // The API's own words may lack the full stop.
        let stop = if self.message.ends_with(['.', '!', '?']) {
            ""
        } else {
            "."
        };
        write!(f, "{stop} {hint}")
    }
}

impl std::error::Error for ApiError {}

impl From<NetError> for ApiError {
    fn from(error: NetError) -> Self {
        let kind = match error {
            NetError::Cancelled => ApiErrorKind::Cancelled,
            NetError::OutOfTime => ApiErrorKind::OutOfTime,
            _ => ApiErrorKind::Network,
        };
        let is_transient = error.is_transient();
        let message = match error {
            NetError::BadAnswer(_) => format!("The Gemini API gave no whole answer: {error}."),
            _ => format!("{UNREACHED}{error}."),
        };
        let mut own = Self::new(kind, message);
        own.is_transient = is_transient;
        match error {
            NetError::Tls { .. } => own.with_hint(
                "Where a proxy has a certificate of its own, name its file in SSL_CERT_FILE.",
            ),
            NetError::NoSuchName(_) | NetError::Names { .. } | NetError::Connect { .. } => own
                .with_hint(
                    "Check the network, a proxy in https_proxy, and the address in \
                     GOOGLE_GEMINI_BASE_URL if that is set.",
                ),
            _ => own,
        }
    }
}

impl ApiError {
    pub(super) fn new(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            hint: None,
            retry_after: None,
            is_transient: matches!(kind, ApiErrorKind::RateLimited | ApiErrorKind::Server),
        }
    }

    #[must_use]
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn transient(mut self) -> Self {
        self.is_transient = true;
        self
    }

    /// Creates the error for a request for which a script has no answer.
    pub fn not_recorded(why: impl Into<String>) -> Self {
        Self::new(ApiErrorKind::NotRecorded, why)
    }

    /// Creates the error for a request that got no response.
    pub fn unreached(why: &str) -> Self {
        Self::new(ApiErrorKind::Network, format!("{UNREACHED}{why}.")).transient()
    }

    /// Creates the error for a missing credential.
    pub fn no_credential() -> Self {
        Self::new(
            ApiErrorKind::NoCredential,
            "There is no credential for the Gemini API.",
        )
        .with_hint(
            "Set GEMINI_API_KEY to an API key; or GOOGLE_GENAI_USE_VERTEXAI=true with \
             GOOGLE_API_KEY; or log in with Gemini CLI.",
        )
    }

    pub(super) fn unsupported_client() -> Self {
        Self::new(
            ApiErrorKind::Forbidden,
            format!(
                "Code Assist no longer serves the log-in of an individual account \
                 ({UNSUPPORTED_CLIENT})."
            ),
        )
        .with_hint(
            "Set GEMINI_API_KEY; or use Vertex AI (GOOGLE_GENAI_USE_VERTEXAI=true with a project \
             or GOOGLE_API_KEY); or log in with an account that has Code Assist Standard or \
             Enterprise.",
        )
    }

    /// Returns true if a different request with the same credential may succeed.
    pub fn is_worth_asking_again(&self) -> bool {
        matches!(
            self.kind,
            ApiErrorKind::Blocked | ApiErrorKind::BadRequest | ApiErrorKind::BadResponse
        )
    }

    /// Returns true if the request was refused because the prompt has too many tokens.
    pub fn is_too_long(&self) -> bool {
        self.kind == ApiErrorKind::BadRequest
            && self
                .message
                .contains("exceeds the maximum number of tokens")
    }

    /// Creates the error for a prompt or an answer that was withheld; `why` is the value of
    /// [`super::GenerateContentResponse::refusal`].
    pub fn blocked(why: &str) -> Self {
        Self::new(
            ApiErrorKind::Blocked,
            format!("The Gemini API gave no answer: {why}."),
        )
        .with_hint("Rephrase the prompt.")
    }

    /// Creates the error for an answer that should be JSON but is not.
    pub fn invalid_json(error: &gemini_tools_core::json::JsonError, text: &str) -> Self {
        Self::new(
            ApiErrorKind::BadResponse,
            format!(
                "The model's answer is not the JSON that was asked for ({error}): {}",
                first_line(text.as_bytes())
            ),
        )
    }

    /// Creates an error from a response that is not a success. `body` is the response's body, or
    /// the error object that a stream contains.
    pub(super) fn from_answer(
        status: u16,
        retry_header: Option<&str>,
        body: &[u8],
        model: &str,
    ) -> Self {
        let value: Value = gemini_tools_core::json::read(body).unwrap_or(Value::Null);
        // The error of a streaming request may be wrapped in an array.
        let value = value.get(0).unwrap_or(&value);
        let error = &value["error"];
        let words = match error["message"].as_str() {
            Some(words) => readable(words),
            None => first_line(body),
        };
        let name = error["status"].as_str().unwrap_or_default();
        let details = error["details"].as_array().map_or(&[][..], Vec::as_slice);
        let asked = details
            .iter()
            .find_map(|d| json_duration(d["retryDelay"].as_str()?))
            .or_else(|| retry_after(retry_header?, SystemTime::now()));
        let reason = details.iter().find_map(|d| d["reason"].as_str());
        let is_daily = details.iter().any(|d| {
            let violations = d["violations"].as_array().into_iter().flatten();
            violations
                .filter_map(|v| v["quotaId"].as_str())
                .any(|id| id.contains("PerDay"))
        });
        if reason == Some(UNSUPPORTED_CLIENT) || words.contains(UNSUPPORTED_CLIENT) {
            let mut own = Self::unsupported_client();
            own.status = Some(status);
            return own;
        }
        let kind = match status {
            _ if reason == Some("API_KEY_INVALID") => ApiErrorKind::BadCredential,
            401 => ApiErrorKind::BadCredential,
            403 => ApiErrorKind::Forbidden,
            404 => ApiErrorKind::NotFound,
            429 if is_daily => ApiErrorKind::QuotaExhausted,
            429 => ApiErrorKind::RateLimited,
            408 | 500..=599 => ApiErrorKind::Server,
            300..=399 => ApiErrorKind::BadResponse,
            _ => ApiErrorKind::BadRequest,
        };
        let title = match name {
            "" => format!("HTTP status {status}"),
            name => format!("{status} {name}"),
        };
        let end = match words.as_str() {
            "" => ".".to_owned(),
            words => format!(": {words}"),
        };
        let mut own = Self::new(kind, format!("The Gemini API answered {title}{end}"));
        own.status = Some(status);
        own.retry_after = asked;
        own.hint = hint(kind, status, model, asked);
        own
    }

    pub(super) fn unreadable(what: &str, body: &[u8]) -> Self {
        let words = first_line(body);
        let message = format!("The Gemini API's answer can't be understood: {what}: {words}");
        Self::new(ApiErrorKind::BadResponse, message)
            .with_hint("Something between may have answered: check proxies and base addresses.")
            .transient()
    }

    pub(super) fn endless(why: &str) -> Self {
        Self::new(
            ApiErrorKind::BadResponse,
            format!("The Gemini API's answer was given up: {why}."),
        )
        .with_hint("Try again; check the base address if one is set (GOOGLE_GEMINI_BASE_URL).")
    }

    pub(super) fn cut(why: &str) -> Self {
        let message = format!("The Gemini API's answer was cut off: {why}.");
        Self::new(ApiErrorKind::Network, message).transient()
    }

    /// Marks an error of a stream as final: parts of the stream were passed on already, and a retry
    /// would repeat them.
    #[must_use]
    pub(super) fn after_use(mut self) -> Self {
        // An error with a status came inside the stream.
        if self.kind == ApiErrorKind::Network || self.status.is_some() {
            self.kind = ApiErrorKind::Broken;
        }
        self.is_transient = false;
        self
    }

    /// Removes a credential from the message and the hint, since a server may have echoed it.
    #[must_use]
    pub(super) fn without(mut self, secret: &str) -> Self {
        self.message = without(&self.message, secret);
        self.hint = self.hint.map(|hint| without(&hint, secret));
        self
    }
}

fn hint(kind: ApiErrorKind, status: u16, model: &str, asked: Option<Duration>) -> Option<String> {
    let later = match asked {
        Some(wait) => format!("Try again in {} s.", wait.as_secs_f64().ceil()),
        None => "Try again later.".to_owned(),
    };
    let hint = match kind {
        ApiErrorKind::BadCredential if status == 401 => {
            "Check the API key if one is set (GEMINI_API_KEY or GOOGLE_API_KEY); otherwise log in again."
        }
        ApiErrorKind::BadCredential => "Check the API key in GEMINI_API_KEY (or GOOGLE_API_KEY).",
        ApiErrorKind::Forbidden => {
            "Check that the API is enabled for the key's project, and that the key may use it."
        }
        ApiErrorKind::NotFound => {
            let name = if model.is_empty() { "asked for" } else { model };
            &format!("Check that the model {name} exists for this credential.")
        }
        ApiErrorKind::RateLimited => &later,
        ApiErrorKind::QuotaExhausted => "The quota of the day is used up. Try again later.",
        ApiErrorKind::Server => "The trouble is on the API's side; try again later.",
        ApiErrorKind::BadResponse if (300..400).contains(&status) => {
            "Redirects are not followed, because the credential would go with them; set the base \
             address (GOOGLE_GEMINI_BASE_URL and the like) to the final one."
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Returns the text of an API's message. Some messages are themselves JSON, with the real message
/// inside.
fn readable(words: &str) -> String {
    let inner: Option<Value> = serde_json::from_str(words).ok();
    let inner = inner.and_then(|v| v["error"]["message"].as_str().map(str::to_owned));
    let words = inner.unwrap_or_else(|| words.to_owned());
    one_line(&words)
}

fn first_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    excerpt(&one_line(&text), SHOWN_CHARS).into_owned()
}
