//! Chooses the credential and the base address for one of three authentication methods.
//!
//! Everything comes from the environment and from the user's own files (`~/.gemini/.env`,
//! `~/.gemini/settings.json`, `~/.gemini/oauth_creds.json`, gcloud's files and the one that
//! `GOOGLE_APPLICATION_CREDENTIALS` names), never from the project: a project that could set the
//! base address would be sent the user's key.

use super::default_credentials::{self, DefaultCredentials};
use super::tokens::AccessToken;
use super::{ApiError, ApiErrorKind, login};
use gemini_tools_environment::variables;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::Deserialize;
use std::fmt;
use std::path::Path;
use url::Url;

const GEMINI: &str = "https://generativelanguage.googleapis.com";

const VERTEX: &str = "https://aiplatform.googleapis.com";

const CODE_ASSIST: &str = "https://cloudcode-pa.googleapis.com";

const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A secret. Its `Debug` form does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, to be put into a request.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// A credential, and the service for which it is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(super) service: Service,
    pub(super) token: AccessToken,
    base: Url,
    /// The Google Cloud project that is billed for the quota; `None` if it is the credential's own
    /// project.
    quota_project: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Service {
    GeminiApi,
    /// Vertex AI with an API key instead of a project and a location.
    VertexExpress,
    Vertex {
        project: String,
        location: String,
    },
    CodeAssist {
        /// The user's project; `None` until Code Assist has named it.
        project: Option<String>,
    },
}

pub(super) struct Variables<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    file: Vec<(String, String)>,
}

impl Variables<'_> {
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let own = (self.env)(name).or_else(|| {
            let found = self.file.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        });
        own.map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "true" | "1"))
    }

    pub(super) fn base(&self, variable: &str, default: &str) -> Result<Url, ApiError> {
        let chosen = self.get(variable);
        let text = chosen.as_deref().unwrap_or(default);
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
            _ => Err(ApiError::new(
                ApiErrorKind::BadRequest,
                format!("{variable} is not a valid address."),
            )
            .with_hint("It must begin with https:// (or http://) and name a host.")),
        }
    }
}

impl Credentials {
    /// Finds the credential in the environment and the files below `home`. The method is the one
    /// that the user's settings select (`security.auth.selectedType`) if it has a credential,
    /// otherwise the first that is configured, in Gemini CLI's order. Returns `None` if there is no
    /// credential at all.
    ///
    /// # Errors
    ///
    /// Returns an error if Vertex AI is selected, or `GOOGLE_GENAI_USE_GCA` is set, and there is no
    /// credential for it, or if a base address or the file of Google's default credentials is
    /// malformed.
    pub fn find(
        env: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Result<Option<Self>, ApiError> {
        let read = |name: &str| home.and_then(|home| read(&home.join(".gemini").join(name)));
        let vars = Variables {
            env,
            file: read(".env")
                .map(|text| variables::parse(&text))
                .unwrap_or_default(),
        };
        let logged_in = || match (home, read("oauth_creds.json")) {
            (Some(home), Some(text)) => {
                let file = home.join(".gemini").join("oauth_creds.json");
                login::read(&text, &file, &vars)
            }
            _ => Ok(None),
        };
        let selected = read("settings.json").and_then(|text| selected_type(&text));
        let token = || match vars.get("GOOGLE_CLOUD_ACCESS_TOKEN") {
            Some(token) => Ok(Some(AccessToken::fixed(token))),
            None => logged_in(),
        };
        match selected.as_deref() {
            Some("oauth-personal" | "login-with-google" | "cloud-shell") => {
                if let Some(token) = token()? {
                    return code_assist(&vars, token).map(Some);
                }
            }
            Some("vertex-ai") => return vertex(&vars, home).map(Some),
            Some("gemini-api-key") if vars.get("GEMINI_API_KEY").is_some() => {
                return api_key(&vars);
            }
            _ => {}
        }
        if vars.is_set("GOOGLE_GENAI_USE_GCA") {
            let Some(token) = token()? else {
                return Err(ApiError::new(
                    ApiErrorKind::NoCredential,
                    "GOOGLE_GENAI_USE_GCA is set, but there is no access token.",
                )
                .with_hint("Set GOOGLE_CLOUD_ACCESS_TOKEN, or log in with Gemini CLI."));
            };
            return code_assist(&vars, token).map(Some);
        }
        if vars.is_set("GOOGLE_GENAI_USE_VERTEXAI") {
            return vertex(&vars, home).map(Some);
        }
        if let Some(found) = api_key(&vars)? {
            return Ok(Some(found));
        }
        let found = logged_in()?;
        found.map(|token| code_assist(&vars, token)).transpose()
    }

    fn by_key(service: Service, key: String, base: Url) -> Self {
        Self {
            service,
            token: AccessToken::fixed(key),
            base,
            quota_project: None,
        }
    }

    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let token = self.token.expose();
        let mut headers = vec![match &self.service {
            Service::GeminiApi | Service::VertexExpress => ("x-goog-api-key", token.to_owned()),
            _ => ("authorization", format!("Bearer {token}")),
        }];
        let project = self.quota_project.iter();
        headers.extend(project.map(|project| ("x-goog-user-project", project.clone())));
        headers
    }

    /// Returns the URL of a model's method.
    ///
    /// # Errors
    ///
    /// Returns an error if `model` contains a slash or another character by which it could lead to
    /// a different path of the API.
    pub(super) fn address(&self, model: &str, method: &str) -> Result<Url, ApiError> {
        let called = format!("{}:{method}", model_name(model)?);
        let google = ["publishers", "google", "models", called.as_str()];
        Ok(match &self.service {
            Service::GeminiApi => self.below(&["v1beta", "models", &called]),
            Service::VertexExpress => self.below(&[&["v1beta1"][..], &google].concat()),
            Service::Vertex { project, location } => {
                let project = ["v1beta1", "projects", project, "locations", location];
                self.below(&[&project[..], &google].concat())
            }
            Service::CodeAssist { .. } => self.below(&[&format!("v1internal:{method}")]),
        })
    }

    /// Appends path segments to the base URL, percent-encoded. The base may have a path of its own,
    /// as a gateway's often has.
    fn below(&self, names: &[&str]) -> Url {
        let mut url = self.base.clone();
        // This can't fail for an HTTP URL.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(names);
        }
        url
    }
}

fn model_name(model: &str) -> Result<&str, ApiError> {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let is_name = name.chars().any(|c| c != '.')
        && !name.contains(|c: char| matches!(c, '/' | '\\') || c.is_control());
    if is_name {
        return Ok(name);
    }
    Err(ApiError::new(
        ApiErrorKind::BadRequest,
        format!("{model:?} is not a valid name of a model."),
    )
    .with_hint("Such a name holds no slash: gemini-2.5-flash, for example."))
}

fn api_key(vars: &Variables<'_>) -> Result<Option<Credentials>, ApiError> {
    let Some(key) = vars.get("GEMINI_API_KEY") else {
        return Ok(None);
    };
    let base = vars.base("GOOGLE_GEMINI_BASE_URL", GEMINI)?;
    Ok(Some(Credentials::by_key(Service::GeminiApi, key, base)))
}

fn vertex(vars: &Variables<'_>, home: Option<&Path>) -> Result<Credentials, ApiError> {
    if let Some(key) = vars.get("GOOGLE_API_KEY") {
        let base = vars.base("GOOGLE_VERTEX_BASE_URL", VERTEX)?;
        return Ok(Credentials::by_key(Service::VertexExpress, key, base));
    }
    let found = match vars.get("GOOGLE_CLOUD_ACCESS_TOKEN") {
        Some(token) => DefaultCredentials {
            token: Some(AccessToken::fixed(token)),
            ..DefaultCredentials::default()
        },
        None => default_credentials::find(vars, home)?,
    };
    let project = named(vars, "GOOGLE_CLOUD_PROJECT", found.project)?;
    let quota_project = named(vars, "GOOGLE_CLOUD_QUOTA_PROJECT", found.quota_project)?;
    let location = named(vars, "GOOGLE_CLOUD_LOCATION", None)?;
    let (Some(token), Some(project), Some(location)) = (found.token, project, location) else {
        return Err(ApiError::new(
            ApiErrorKind::NoCredential,
            "Vertex AI is chosen, but there is no credential for it.",
        )
        .with_hint(
            "Set GOOGLE_API_KEY; or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and \
             GOOGLE_APPLICATION_CREDENTIALS (or GOOGLE_CLOUD_ACCESS_TOKEN, or log in by gcloud \
             auth application-default login).",
        ));
    };
    let regional = match location.as_str() {
        "global" => VERTEX.to_owned(),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    };
    Ok(Credentials {
        service: Service::Vertex { project, location },
        token,
        base: vars.base("GOOGLE_VERTEX_BASE_URL", &regional)?,
        quota_project,
    })
}

fn named(
    vars: &Variables<'_>,
    variable: &str,
    other: Option<String>,
) -> Result<Option<String>, ApiError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    match vars.get(variable).or(other) {
        Some(name) if !name.chars().all(is_part) => Err(ApiError::new(
            ApiErrorKind::BadRequest,
            format!("{variable} has characters that no such name has."),
        )),
        name => Ok(name),
    }
}

fn code_assist(vars: &Variables<'_>, token: AccessToken) -> Result<Credentials, ApiError> {
    let project = vars.get("GOOGLE_CLOUD_PROJECT");
    Ok(Credentials {
        service: Service::CodeAssist { project },
        token,
        base: vars.base("CODE_ASSIST_ENDPOINT", CODE_ASSIST)?,
        quota_project: None,
    })
}

fn read(path: &Path) -> Option<String> {
    let bytes = FileOwner::Users.beginning(path, MAX_FILE_BYTES).ok()??;
    String::from_utf8(bytes).ok()
}

fn selected_type(text: &str) -> Option<String> {
    let value = gemini_tools_settings::settings::jsonc(text).ok()?;
    let new = &value["security"]["auth"]["selectedType"];
    let old = &value["selectedAuthType"];
    new.as_str().or_else(|| old.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
