//! Access tokens, and what they are made from.
//!
//! An [`AccessToken`] is asked for before each request. Where it was made from something that lasts
//! longer ([`TokenSource`]), it is fetched at its first use, kept, and fetched anew some minutes
//! before it ends, or when the API says that it has ended. The sources and their requests are those
//! of Google's Application Default Credentials:
//!
//! - an authorized user's refresh token is exchanged (RFC 6749, section 6);
//! - a service account signs an assertion (RFC 7523), which is exchanged;
//! - an external account's own token is exchanged at the Security Token Service (RFC 8693);
//! - an impersonated service account's token is asked for by the token of another source;
//! - the metadata server of a machine of Google's gives one.

use super::credentials::Secret;
use super::error::{ApiError, ApiErrorKind};
use super::external_account::ExternalAccount;
use crate::http_client::{HttpClient, HttpRequest, Method};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gemini_tools_core::json;
use gemini_tools_core::tool::Cancellation;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;
use url::form_urlencoded::Serializer;

/// Scope of the tokens: all of Google Cloud, within the account's permissions.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// A token is not used in its last moments: a request may take a while.
const MARGIN: Duration = Duration::from_secs(225);

/// Lifetime of assertions and of tokens of impersonated accounts.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Maximum bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// An access token that may be renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    source: Option<TokenSource>,
    issued: Option<Issued>,
    /// Gemini CLI's file of a log-in, which a renewed token is written back to.
    kept_in: Option<PathBuf>,
}

/// A token, and its end where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issued {
    pub(super) token: Secret,
    pub(super) end: Option<SystemTime>,
}

/// The source of access tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// A refresh token.
    AuthorizedUser {
        /// The application that the user has logged in to.
        client_id: String,
        /// The secret of that application.
        client_secret: Secret,
        /// The refresh token.
        refresh_token: Secret,
        /// Address at which the refresh token is exchanged.
        token_url: Url,
        /// Command that logs in again, for an error.
        hint: &'static str,
    },
    /// The key of a service account.
    ServiceAccount {
        /// The account.
        email: String,
        /// The key's id.
        key_id: Option<String>,
        /// The key, in PEM.
        key: Secret,
        /// Address at which assertions are exchanged, and their audience.
        token_url: Url,
    },
    /// An identity of another provider.
    ExternalAccount(Box<ExternalAccount>),
    /// A service account that another source may act as.
    Impersonated {
        /// The address that gives its tokens.
        url: Url,
        /// Accounts on the way to it.
        delegates: Vec<String>,
        /// Source of the token that impersonates the account.
        source: Box<TokenSource>,
    },
    /// The metadata server.
    Metadata {
        /// The base address of the server.
        base: Url,
    },
}

impl AccessToken {
    /// A token as it is.
    pub fn given(token: Secret) -> Self {
        Self {
            source: None,
            issued: Some(Issued { token, end: None }),
            kept_in: None,
        }
    }

    /// A token that is made when it is needed.
    pub fn from_source(source: TokenSource) -> Self {
        Self {
            source: Some(source),
            issued: None,
            kept_in: None,
        }
    }

    /// The token of a log-in, where it is still good, the source of the next, and the file that the
    /// next is written to.
    pub(super) fn of_login(
        issued: Option<Issued>,
        source: Option<TokenSource>,
        kept_in: Option<PathBuf>,
    ) -> Self {
        Self {
            source,
            issued,
            kept_in,
        }
    }

    /// The token; empty before the first was made.
    pub(super) fn current(&self) -> &str {
        self.issued.as_ref().map_or("", |i| i.token.expose())
    }

    /// Makes sure that there is a token, and that it does not end at once.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(super) fn prepare(
        &mut self,
        http: &mut HttpClient,
        cancel: &Cancellation,
    ) -> Result<(), ApiError> {
        let is_good = |issued: &Issued| {
            let latest = SystemTime::now() + MARGIN;
            issued.end.is_none_or(|end| end > latest)
        };
        let Some(source) = &self.source else {
            return Ok(());
        };
        if self.issued.as_ref().is_some_and(is_good) {
            return Ok(());
        }
        let (issued, answer) = source.fetch(http, cancel)?;
        if let Some(file) = &self.kept_in {
            super::login::keep(file, &issued, &answer);
        }
        self.issued = Some(issued);
        Ok(())
    }

    /// Drops a token that the API no longer takes. Whether there will be another.
    pub(super) fn forget(&mut self) -> bool {
        let is_renewed = self.source.is_some();
        if is_renewed {
            self.issued = None;
        }
        is_renewed
    }
}

impl TokenSource {
    /// Asks for a token; gives the server's answer, too.
    pub(super) fn fetch(
        &self,
        http: &mut HttpClient,
        cancel: &Cancellation,
    ) -> Result<(Issued, Value), ApiError> {
        match self {
            TokenSource::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
                token_url,
                hint,
            } => {
                let secrets = [client_secret.expose(), refresh_token.expose()];
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client_id),
                    ("client_secret", secrets[0]),
                    ("refresh_token", secrets[1]),
                ];
                let answer = exchange(http, token_url, &form, vec![], cancel).map_err(|e| {
                    let e = e.without(secrets[0]).without(secrets[1]);
                    refused_with(e, hint)
                })?;
                issued(answer, token_url)
            }
            TokenSource::ServiceAccount {
                email,
                key_id,
                key,
                token_url,
            } => {
                let assertion = assertion(email, key_id.as_deref(), key, token_url)?;
                let form = [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", assertion.as_str()),
                ];
                let hint = "Check that the key of the service account still exists.";
                let answer = exchange(http, token_url, &form, vec![], cancel)
                    .map_err(|e| refused_with(e.without(&assertion), hint))?;
                issued(answer, token_url)
            }
            TokenSource::ExternalAccount(account) => account.fetch(http, cancel),
            TokenSource::Impersonated {
                url,
                delegates,
                source,
            } => {
                let (issued, _) = source.fetch(http, cancel)?;
                impersonated(http, url, delegates, LIFETIME, &issued.token, cancel)
            }
            TokenSource::Metadata { base } => {
                let mut url = base.clone();
                url.set_path("/computeMetadata/v1/instance/service-accounts/default/token");
                url.set_query(Some(&format!("scopes={SCOPE}")));
                let headers = vec![("metadata-flavor", "Google".to_owned())];
                let answer = ask(http, Method::Get, &url, headers, b"", cancel)?;
                issued(answer, &url)
            }
        }
    }
}

/// The token of an account that the owner of `token` may act as.
pub(super) fn impersonated(
    http: &mut HttpClient,
    url: &Url,
    delegates: &[String],
    lifetime: Duration,
    token: &Secret,
    cancel: &Cancellation,
) -> Result<(Issued, Value), ApiError> {
    let mut body = json!({
        "scope": [SCOPE],
        "lifetime": format!("{}s", lifetime.as_secs()),
    });
    if !delegates.is_empty() {
        body["delegates"] = json!(delegates);
    }
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("authorization", format!("Bearer {}", token.expose())),
    ];
    let body = body.to_string().into_bytes();
    let hint = "Check that the account may create tokens of the other one \
                (roles/iam.serviceAccountTokenCreator).";
    let answer = ask(http, Method::Post, url, headers, &body, cancel)
        .map_err(|e| refused_with(e.without(token.expose()), hint))?;
    let Some(text) = answer["accessToken"].as_str() else {
        return Err(no_token(url));
    };
    let issued = Issued {
        token: Secret::new(text),
        end: Some(SystemTime::now() + lifetime),
    };
    Ok((issued, answer))
}

/// Sends a form to a token server.
pub(super) fn exchange(
    http: &mut HttpClient,
    url: &Url,
    form: &[(&str, &str)],
    mut headers: Vec<(&str, String)>,
    cancel: &Cancellation,
) -> Result<Value, ApiError> {
    let body = Serializer::new(String::new()).extend_pairs(form).finish();
    headers.push(("content-type", "application/x-www-form-urlencoded".into()));
    ask(http, Method::Post, url, headers, body.as_bytes(), cancel)
}

/// Asks a server for JSON.
pub(super) fn ask(
    http: &mut HttpClient,
    method: Method,
    url: &Url,
    headers: Vec<(&str, String)>,
    body: &[u8],
    cancel: &Cancellation,
) -> Result<Value, ApiError> {
    let is_metadata = headers.iter().any(|(name, _)| *name == "metadata-flavor");
    let request = HttpRequest {
        method,
        url,
        headers,
        body: &[body],
    };
    let host = url.host_str().unwrap_or_default();
    let mut response = http.send(&request, cancel).map_err(|e| {
        let message = format!("The token server {host} was not reached: {e}.");
        ApiError {
            message,
            ..ApiError::from(e)
        }
    })?;
    let status = response.status;
    let flavor = response.header("metadata-flavor") == Some("Google");
    let (bytes, is_cut) = response.body.read_up_to(MAX_ANSWER_BYTES)?;
    let value: Option<Value> = json::read(&bytes).ok().filter(|_| !is_cut);
    match value {
        // Anything may answer at such an address; the header says that it is what was asked.
        Some(value) if status == 200 && (flavor || !is_metadata) => Ok(value),
        value => Err(refused(status, host, &value.unwrap_or_default())),
    }
}

/// The token in an answer of a token server, as RFC 6749 has it.
pub(super) fn issued(answer: Value, url: &Url) -> Result<(Issued, Value), ApiError> {
    let text = answer["access_token"].as_str().unwrap_or_default().trim();
    if text.is_empty() {
        return Err(no_token(url));
    }
    let lifetime = answer["expires_in"].as_u64().map(Duration::from_secs);
    let issued = Issued {
        token: Secret::new(text),
        end: lifetime.map(|lifetime| SystemTime::now() + lifetime),
    };
    Ok((issued, answer))
}

fn no_token(url: &Url) -> ApiError {
    let host = url.host_str().unwrap_or_default();
    ApiError::new(
        ApiErrorKind::BadResponse,
        format!("The token server {host} answered without a token."),
    )
}

/// Makes an error of a token server's refusal: `error` and `error_description` of RFC 6749, or an
/// error in the form of Google's APIs.
fn refused(status: u16, host: &str, answer: &Value) -> ApiError {
    let google = &answer["error"];
    let words = [
        google.as_str().or_else(|| google["status"].as_str()),
        answer["error_description"]
            .as_str()
            .or_else(|| google["message"].as_str()),
    ];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let words = match words.as_slice() {
        [] => String::new(),
        words => format!(": {}", words.join(": ")),
    };
    let kind = match status {
        429 => ApiErrorKind::RateLimited,
        408 | 500..=599 => ApiErrorKind::Server,
        403 => ApiErrorKind::Forbidden,
        400 | 401 => ApiErrorKind::BadCredential,
        _ => ApiErrorKind::BadResponse,
    };
    let message = format!("The token server {host} answered {status}{words}.");
    let mut error = ApiError::new(kind, message.replace("..", "."));
    error.is_transient = matches!(kind, ApiErrorKind::RateLimited | ApiErrorKind::Server);
    error
}

/// Says what to do about a credential that was refused.
pub(super) fn refused_with(error: ApiError, hint: &str) -> ApiError {
    match error.kind {
        ApiErrorKind::BadCredential | ApiErrorKind::Forbidden => error.with_hint(hint),
        _ => error,
    }
}

/// Makes a service account's assertion: issuer, audience and expiry, signed by its key.
fn assertion(
    email: &str,
    key_id: Option<&str>,
    key: &Secret,
    token_url: &Url,
) -> Result<String, ApiError> {
    let unusable = || {
        ApiError::new(
            ApiErrorKind::BadCredential,
            format!("The private key of {email} is not a valid RSA key in PEM."),
        )
        .with_hint("Download the service account's key file again.")
    };
    let der = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| unusable())?;
    let pair = match &der {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(unusable()),
    };
    let pair = pair.map_err(|_| unusable())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(key_id) = key_id {
        header["kid"] = key_id.into();
    }
    let claims = json!({
        "iss": email,
        "scope": SCOPE,
        "aud": token_url.as_str(),
        "iat": now,
        "exp": now + LIFETIME.as_secs(),
    });
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut signed = format!("{}.{}", encoded(&header), encoded(&claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        signed.as_bytes(),
        &mut signature,
    )
    .map_err(|_| unusable())?;
    signed.push('.');
    signed.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(signed)
}
