//! Finds Google's Application Default Credentials.
//!
//! The order is Google's: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the file that
//! `gcloud auth application-default login` writes, the metadata server of a Google Cloud machine.
//! See <https://google.aip.dev/auth/4110>.

use super::credentials::Variables;
use super::error::{ApiError, ApiErrorKind};
use super::tokens::{AccessToken, TokenSource};
use crate::http_client::is_this_machine;
use gemini_tools_core::json;
use serde_json::Value;
use std::path::{Path, PathBuf};
use url::Url;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";

/// The link-local address of the metadata server on every Google Cloud machine.
const METADATA: &str = "169.254.169.254";

/// Machines of Google are recognised by the firmware's product name in the file `PRODUCT`, which
/// begins with `Google` on Compute Engine, or by one of these variables, since that file does not
/// name Google on its serverless platforms.
const PLATFORMS: [&str; 3] = ["K_SERVICE", "FUNCTION_TARGET", "GAE_ENV"];

const PRODUCT: &str = "/sys/class/dmi/id/product_name";

const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

#[derive(Debug, Default)]
pub(super) struct DefaultCredentials {
    pub(super) token: Option<AccessToken>,
    pub(super) project: Option<String>,
    pub(super) quota_project: Option<String>,
}

pub(super) fn token_url(vars: &Variables<'_>) -> Result<Url, ApiError> {
    vars.base("GEMINI_TOOLS_TOKEN_URL", TOKEN_URL)
}

pub(super) fn find(
    vars: &Variables<'_>,
    home: Option<&Path>,
) -> Result<DefaultCredentials, ApiError> {
    if let Some(path) = vars.get(FILE) {
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            let hint = "A relative path would name another file in each project; write the \
                        absolute path.";
            let message = format!("{FILE} is not an absolute path.");
            return Err(ApiError::new(ApiErrorKind::BadRequest, message).with_hint(hint));
        }
        return read(&path, vars);
    }
    let gcloud = vars
        .get("CLOUDSDK_CONFIG")
        .map(PathBuf::from)
        .or_else(|| Some(home?.join(".config").join("gcloud")));
    if let Some(directory) = gcloud.filter(|directory| directory.is_absolute()) {
        let path = directory.join("application_default_credentials.json");
        if path.is_file() {
            return read(&path, vars);
        }
    }
    Ok(DefaultCredentials {
        token: metadata(vars)?.map(AccessToken::from_source),
        ..DefaultCredentials::default()
    })
}

/// Returns the metadata server if this machine is known to be Google's, or if a variable says so.
/// No request is sent to find out, because outside Google's network the address may belong to
/// anyone.
fn metadata(vars: &Variables<'_>) -> Result<Option<TokenSource>, ApiError> {
    let detection = vars.get("METADATA_SERVER_DETECTION");
    let host = vars.get("GCE_METADATA_HOST");
    let is_there = match detection.as_deref() {
        Some("none") => false,
        Some("assume-present") => true,
        _ => {
            host.is_some()
                || PLATFORMS.iter().any(|name| vars.get(name).is_some())
                || std::fs::read_to_string(PRODUCT).is_ok_and(|name| name.starts_with("Google"))
        }
    };
    if !is_there {
        return Ok(None);
    }
    let host = host.unwrap_or_else(|| METADATA.to_owned());
    let base = Url::parse(&format!("http://{host}"))
        .ok()
        .filter(|url| url.has_host() && url.path() == "/")
        .ok_or_else(|| {
            let message = "GCE_METADATA_HOST is not a valid host.";
            ApiError::new(ApiErrorKind::BadRequest, message)
        })?;
    Ok(Some(TokenSource::Metadata(base)))
}

fn read(path: &Path, vars: &Variables<'_>) -> Result<DefaultCredentials, ApiError> {
    let unusable = |why: String| {
        let path = path.display();
        ApiError::new(
            ApiErrorKind::BadCredential,
            format!("The credentials in {path} can't be used: {why}."),
        )
        .with_hint(format!(
            "Name another file in {FILE}, or log in with: gcloud auth application-default login"
        ))
    };
    let text = std::fs::read(path).map_err(|e| unusable(e.to_string()))?;
    let mut value: Value = json::read(&text).map_err(|e| unusable(e.to_string()))?;
    complete(&mut value, token_url(vars)?.as_str()).map_err(unusable)?;
    let word = |key: &str| {
        let word = value[key].as_str();
        let word = word.or_else(|| value["source_credentials"][key].as_str());
        word.map(str::to_owned)
    };
    let kind = word("type").unwrap_or_else(|| "without a type".to_owned());
    let (project, quota_project) = (word("project_id"), word("quota_project_id"));
    // The parser's message is not shown, since it may quote a value that is secret.
    let source = serde_json::from_value(value).map_err(|_| {
        unusable(format!(
            "keys are missing, or its type ({kind}) is not known"
        ))
    })?;
    Ok(DefaultCredentials {
        token: Some(AccessToken::from_source(source)),
        project,
        quota_project,
    })
}

/// Sets the default token server in a credential file that names none, and in its nested
/// credentials. Checks that a secret may be sent to the token servers that they name, and that the
/// source of an external token is supported.
fn complete(file: &mut Value, token_url: &str) -> Result<(), String> {
    let Some(fields) = file.as_object_mut() else {
        return Err("it is not an object".to_owned());
    };
    if let Some(inner) = fields.get_mut("source_credentials") {
        complete(inner, token_url)?;
    }
    let server = fields.entry("token_uri").or_insert(Value::Null);
    if server.is_null() {
        *server = token_url.into();
    }
    for key in [
        "token_uri",
        "token_url",
        "service_account_impersonation_url",
    ] {
        if let Some(text) = fields.get(key).and_then(Value::as_str) {
            check_address(text, key)?;
        }
    }
    let Some(source) = fields.get("credential_source") else {
        return Ok(());
    };
    let has_place = !source["file"].is_null() || !source["url"].is_null();
    if has_place && source["environment_id"].is_null() {
        return Ok(());
    }
    Err(
        "its credential_source is neither a file nor an address; get an access token in another \
         way and set GOOGLE_CLOUD_ACCESS_TOKEN to it"
            .to_owned(),
    )
}

/// Checks that an address may receive a secret: only HTTPS, or plain HTTP to this machine.
fn check_address(text: &str, key: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| format!("{key} is not a valid address"))?;
    if url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(&url)) {
        return Ok(());
    }
    Err(format!("{key} is not an address of https"))
}
