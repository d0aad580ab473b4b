//! Workload identity federation: exchanges a token of another provider, such as a CI service or
//! another cloud, for one of Google's.
//!
//! The file, as written by `gcloud iam workload-identity-pools create-cred-config`, says where the
//! other provider's token is found: in a file or at an address. Google documents the exchange at
//! <https://google.aip.dev/auth/4117>.

use super::credentials::SecretText;
use super::error::{ApiError, ApiErrorKind};
use super::tokens::{LIFETIME_SECS, SCOPE, TokenClient, access_token};
use crate::http_client::HttpRequest;
use gemini_tools_core::json;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use url::Url;

const MAX_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ExternalAccount {
    audience: String,
    subject_token_type: String,
    token_url: Url,
    credential_source: SubjectSource,
    /// If set, the exchanged token is used to obtain one of this service account, whose permissions
    /// then apply.
    service_account_impersonation_url: Option<Url>,
    #[serde(default)]
    service_account_impersonation: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SubjectSource {
    file: Option<PathBuf>,
    url: Option<Url>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    format: Value,
}

impl ExternalAccount {
    pub(super) fn fetch(&self, client: &mut TokenClient<'_>) -> Result<Value, ApiError> {
        let subject = self.credential_source.read(client)?;
        let token_type = "urn:ietf:params:oauth:token-type:access_token";
        let grant_type = "urn:ietf:params:oauth:grant-type:token-exchange";
        let form = [
            ("grant_type", grant_type),
            ("audience", &self.audience),
            ("scope", SCOPE),
            ("requested_token_type", token_type),
            ("subject_token", subject.expose()),
            ("subject_token_type", &self.subject_token_type),
        ];
        let hint = "Check the provider of the workload identity pool, and its conditions.";
        let secrets = [subject.expose()];
        let answer = client.exchange(&self.token_url, &form, &secrets, hint)?;
        let Some(url) = &self.service_account_impersonation_url else {
            return Ok(answer);
        };
        let lifetime = self.service_account_impersonation["token_lifetime_seconds"].as_u64();
        let lifetime = lifetime.unwrap_or(LIFETIME_SECS);
        client.impersonate(url, &[], lifetime, access_token(&answer))
    }
}

impl SubjectSource {
    fn read(&self, client: &mut TokenClient<'_>) -> Result<SecretText, ApiError> {
        let (text, place) = match (&self.file, &self.url) {
            (Some(path), _) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| unusable(format!("{} can't be read: {e}", path.display())))?;
                (text, path.display().to_string())
            }
            (None, Some(url)) => {
                let host = url.host_str().unwrap_or_default().to_owned();
                (self.fetch_text(url, client)?, host)
            }
            (None, None) => return Err(unusable("credential_source has no file or url")),
        };
        let mut token = text.trim().to_owned();
        if self.format["type"] == "json" {
            let field = self.format["subject_token_field_name"].as_str();
            let why = "credential_source.format has no subject_token_field_name";
            let field = field.ok_or_else(|| unusable(why))?;
            let value: Value = json::read(text.as_bytes())
                .map_err(|e| unusable(format!("{place} is not valid JSON: {e}")))?;
            value[field]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut token);
        }
        if token.is_empty() {
            return Err(unusable(format!("{place} has no token")));
        }
        Ok(SecretText::new(token))
    }

    fn fetch_text(&self, url: &Url, client: &mut TokenClient<'_>) -> Result<String, ApiError> {
        let headers = self.headers.iter().map(|(n, v)| (&**n, v.clone()));
        let request = HttpRequest::get(url, headers.collect());
        let host = url.host_str().unwrap_or_default();
        let sent = client.http.send(request, client.cancel);
        let mut response = sent.map_err(|e| ApiError {
            message: format!("The provider {host} was not reached: {e}."),
            ..ApiError::from(e)
        })?;
        let (bytes, is_cut) = response.body.read_up_to(MAX_BYTES)?;
        if response.status != 200 {
            return Err(unusable(format!("{host} answered {}", response.status)));
        }
        if is_cut {
            return Err(unusable(format!(
                "{host} answered with more than {MAX_BYTES} bytes"
            )));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn unusable(reason: impl fmt::Display) -> ApiError {
    ApiError::new(
        ApiErrorKind::BadCredential,
        format!("The external account can't be used: {reason}."),
    )
}
