//! OAuth access tokens, and how each kind of Google credential obtains them.
//!
//! - An authorized user's refresh token is exchanged for an access token (RFC 6749, section 6).
//! - A service account signs an assertion, which is exchanged (RFC 7523).
//! - An external account's own token is exchanged at the Security Token Service (RFC 8693).
//! - A token of another source is used to request one for an impersonated service account.
//! - The metadata server of a Google Cloud machine is asked for one.

use super::credentials::SecretText;
use super::error::{ApiError, ApiErrorKind};
use super::external_account::ExternalAccount;
use super::login;
use crate::http_client::{HttpClient, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gemini_tools_core::json;
use gemini_tools_core::tool::Cancellation;
use http::Method;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;
use url::form_urlencoded::Serializer;

pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// A token is renewed this long before it expires, so that it does not expire during a request.
const MARGIN: Duration = Duration::from_secs(225);

pub(super) const LIFETIME_SECS: u64 = 3600;

const MAX_ANSWER_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AccessToken {
    /// How to obtain the next token; `None` for a key or token that the user has set directly, and
    /// for a log-in without a refresh token.
    pub(super) source: Option<TokenSource>,
    pub(super) current: Option<IssuedToken>,
    pub(super) login_file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssuedToken {
    pub(super) token: SecretText,
    pub(super) end: Option<SystemTime>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum TokenSource {
    AuthorizedUser(AuthorizedUser),
    ServiceAccount(ServiceAccount),
    ExternalAccount(Box<ExternalAccount>),
    ImpersonatedServiceAccount {
        service_account_impersonation_url: Url,
        source_credentials: Box<TokenSource>,
        #[serde(default)]
        delegates: Vec<String>,
    },
    #[serde(skip)]
    Metadata(Url),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct AuthorizedUser {
    pub(super) client_id: String,
    pub(super) client_secret: SecretText,
    pub(super) refresh_token: SecretText,
    pub(super) token_uri: Url,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ServiceAccount {
    client_email: String,
    private_key_id: Option<String>,
    private_key: SecretText,
    token_uri: Url,
}

impl AccessToken {
    pub(super) fn fixed(token: String) -> Self {
        Self {
            current: Some(IssuedToken {
                token: SecretText::new(token),
                end: None,
            }),
            ..Self::default()
        }
    }

    pub(super) fn from_source(source: TokenSource) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    pub(super) fn expose(&self) -> &str {
        self.current.as_ref().map_or("", |i| i.token.expose())
    }

    pub(super) fn prepare(
        &mut self,
        http: &mut HttpClient,
        cancel: &Cancellation,
    ) -> Result<(), ApiError> {
        let latest = SystemTime::now() + MARGIN;
        let lasts = |issued: &IssuedToken| issued.end.is_none_or(|end| end > latest);
        let Some(source) = &self.source else {
            return Ok(());
        };
        if self.current.as_ref().is_some_and(lasts) {
            return Ok(());
        }
        let answer = source.fetch(&mut TokenClient { http, cancel })?;
        let lifetime = answer["expires_in"].as_u64().map(Duration::from_secs);
        let issued = IssuedToken {
            token: SecretText::new(access_token(&answer)),
            end: lifetime.map(|lifetime| SystemTime::now() + lifetime),
        };
        if let Some(file) = &self.login_file {
            login::keep(file, &issued, &answer);
        }
        self.current = Some(issued);
        Ok(())
    }

    pub(super) fn drop_current(&mut self) -> bool {
        self.source.is_some() && self.current.take().is_some()
    }
}

impl TokenSource {
    pub(super) fn fetch(&self, client: &mut TokenClient<'_>) -> Result<Value, ApiError> {
        match self {
            TokenSource::AuthorizedUser(user) => user.fetch(client),
            TokenSource::ServiceAccount(account) => account.fetch(client),
            TokenSource::ExternalAccount(account) => account.fetch(client),
            TokenSource::ImpersonatedServiceAccount {
                service_account_impersonation_url: url,
                source_credentials,
                delegates,
            } => {
                let own = source_credentials.fetch(client)?;
                client.impersonate(url, delegates, LIFETIME_SECS, access_token(&own))
            }
            TokenSource::Metadata(base) => {
                let mut url = base.clone();
                url.set_path("/computeMetadata/v1/instance/service-accounts/default/token");
                url.set_query(Some(&format!("scopes={SCOPE}")));
                let headers = vec![("metadata-flavor", "Google".to_owned())];
                client.send(Method::GET, &url, headers, Vec::new())
            }
        }
    }
}

impl AuthorizedUser {
    fn fetch(&self, client: &mut TokenClient<'_>) -> Result<Value, ApiError> {
        let secrets = [self.client_secret.expose(), self.refresh_token.expose()];
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &self.client_id),
            ("client_secret", secrets[0]),
            ("refresh_token", secrets[1]),
        ];
        let hint = if self.client_id == login::CLIENT_ID {
            "Log in again with Gemini CLI."
        } else {
            "Log in again: gcloud auth application-default login"
        };
        client.exchange(&self.token_uri, &form, &secrets, hint)
    }
}

impl ServiceAccount {
    fn fetch(&self, client: &mut TokenClient<'_>) -> Result<Value, ApiError> {
        let assertion = self.assertion()?;
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", assertion.as_str()),
        ];
        let hint = "Check that the key of the service account still exists.";
        client.exchange(&self.token_uri, &form, &[&assertion], hint)
    }

    fn assertion(&self) -> Result<String, ApiError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(key_id) = &self.private_key_id {
            header["kid"] = key_id.as_str().into();
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.token_uri.as_str(),
            "iat": now,
            "exp": now + LIFETIME_SECS,
        });
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = self.sign(signed.as_bytes()).ok_or_else(|| {
            let email = &self.client_email;
            ApiError::new(
                ApiErrorKind::BadCredential,
                format!("The private key of {email} is not a valid RSA key in PEM."),
            )
            .with_hint("Download the service account's key file again.")
        })?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let pair = match PrivateKeyDer::from_pem_slice(self.private_key.expose().as_bytes()).ok()? {
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            _ => return None,
        };
        let pair = pair.ok()?;
        let mut signature = vec![0; pair.public().modulus_len()];
        let random = SystemRandom::new();
        pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)
            .ok()?;
        Some(signature)
    }
}

pub(super) struct TokenClient<'a> {
    pub(super) http: &'a mut HttpClient,
    pub(super) cancel: &'a Cancellation,
}

impl TokenClient<'_> {
    pub(super) fn impersonate(
        &mut self,
        url: &Url,
        delegates: &[String],
        lifetime_secs: u64,
        token: &str,
    ) -> Result<Value, ApiError> {
        let mut body = json!({ "scope": [SCOPE], "lifetime": format!("{lifetime_secs}s") });
        if !delegates.is_empty() {
            body["delegates"] = json!(delegates);
        }
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("authorization", format!("Bearer {token}")),
        ];
        let hint = "Check that the account may create tokens of the other one \
                    (roles/iam.serviceAccountTokenCreator).";
        let answer = self
            .send(Method::POST, url, headers, body.to_string().into_bytes())
            .map_err(|e| refused_with(e, &[token], hint))?;
        Ok(json!({ "access_token": access_token(&answer), "expires_in": lifetime_secs }))
    }

    /// Requests a token by posting a form. The error of a refusal contains none of the `secrets`,
    /// which the server may have echoed.
    pub(super) fn exchange(
        &mut self,
        url: &Url,
        form: &[(&str, &str)],
        secrets: &[&str],
        hint: &str,
    ) -> Result<Value, ApiError> {
        let body = Serializer::new(String::new()).extend_pairs(form).finish();
        let kind = "application/x-www-form-urlencoded".to_owned();
        let headers = vec![("content-type", kind)];
        self.send(Method::POST, url, headers, body.into_bytes())
            .map_err(|e| refused_with(e, secrets, hint))
    }

    fn send(
        &mut self,
        method: Method,
        url: &Url,
        headers: Vec<(&str, String)>,
        body: Vec<u8>,
    ) -> Result<Value, ApiError> {
        let is_metadata = headers.iter().any(|(name, _)| *name == "metadata-flavor");
        let request = HttpRequest {
            method,
            url,
            headers,
            body,
        };
        let host = url.host_str().unwrap_or_default();
        let mut response = self.http.send(request, self.cancel).map_err(|e| ApiError {
            message: format!("The token server {host} was not reached: {e}."),
            ..ApiError::from(e)
        })?;
        let status = response.status;
        let flavor = response.header("metadata-flavor") == Some("Google");
        let (bytes, is_cut) = response.body.read_up_to(MAX_ANSWER_BYTES)?;
        let value: Option<Value> = json::read(&bytes).ok().filter(|_| !is_cut);
        match value {
            // Outside of Google's network any host may answer at the metadata server's address. The
            // real server sends the header `Metadata-Flavor: Google`.
            Some(value) if status == 200 && (flavor || !is_metadata) => {
                if access_token(&value).is_empty() {
                    let message = format!("The token server {host} answered without a token.");
                    return Err(ApiError::new(ApiErrorKind::BadResponse, message));
                }
                Ok(value)
            }
            value => Err(refused(status, host, &value.unwrap_or_default())),
        }
    }
}

/// Returns the token of an answer in the form of RFC 6749, or of the service that impersonates.
pub(super) fn access_token(answer: &Value) -> &str {
    let token = answer["access_token"].as_str();
    token
        .or(answer["accessToken"].as_str())
        .unwrap_or_default()
        .trim()
}

/// Creates an error from a token server's refusal, which is either in the form of RFC 6749 or in
/// that of Google's APIs.
fn refused(status: u16, host: &str, answer: &Value) -> ApiError {
    let google = &answer["error"];
    let code = google.as_str().or_else(|| google["status"].as_str());
    let description = &answer["error_description"];
    let description = description.as_str().or_else(|| google["message"].as_str());
    let words = [code, description].into_iter().flatten();
    let words: Vec<String> = words.map(|word| format!(": {word}")).collect();
    let words = words.concat();
    let words = words.strip_suffix('.').unwrap_or(&words);
    let kind = match status {
        429 => ApiErrorKind::RateLimited,
        408 | 500..=599 => ApiErrorKind::Server,
        403 => ApiErrorKind::Forbidden,
        400 | 401 => ApiErrorKind::BadCredential,
        _ => ApiErrorKind::BadResponse,
    };
    ApiError::new(
        kind,
        format!("The token server {host} answered {status}{words}."),
    )
}

fn refused_with(error: ApiError, secrets: &[&str], hint: &str) -> ApiError {
    let error = secrets
        .iter()
        .fold(error, |error, secret| error.without(secret));
    match error.kind {
        ApiErrorKind::BadCredential | ApiErrorKind::Forbidden => error.with_hint(hint),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::refused;
    use serde_json::json;

    #[test]
    fn a_refusal_ends_as_the_server_has_ended_it() {
        for (description, end) in [("No", "No."), ("No.", "No."), ("Not yet...", "Not yet...")] {
            let answer = json!({"error": "e", "error_description": description});
            let message = refused(400, "h", &answer).message;
            assert_eq!(
                message,
                format!("The token server h answered 400: e: {end}")
            );
        }
    }
}
