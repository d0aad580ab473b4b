//! Google's Application Default Credentials: where they are looked for, and the files that they
//! are in.
//!
//! The order is Google's: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the file that
//! `gcloud auth application-default login` writes, the metadata server of a machine of Google's.
//! See <https://google.aip.dev/auth/4110>.

use super::credentials::{Secret, Variables};
use super::error::{ApiError, ApiErrorKind};
use super::external_account::{ALLOW, ExternalAccount, SubjectSource};
use super::tokens::TokenSource;
use gemini_tools_core::json;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::{Host, Url};

/// Address at which refresh tokens and assertions are exchanged.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";

/// The metadata server, by the address that every machine of Google's has it at.
const METADATA: &str = "169.254.169.254";

/// Variables that only Google's serverless platforms set.
const PLATFORMS: [&str; 3] = ["K_SERVICE", "FUNCTION_TARGET", "GAE_ENV"];

/// File in which Linux has the name of the machine's maker.
const PRODUCT: &str = "/sys/class/dmi/id/product_name";

/// The variable that names a file.
const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Lifetime of an impersonated account's tokens if the file does not name one.
const LIFETIME_SECS: u64 = 3600;

/// Time limit of a program if the file does not name one.
const PROGRAM_MS: u64 = 30_000;

/// Application Default Credentials.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) source: TokenSource,
    /// The project that the file is of.
    pub(super) project: Option<String>,
    /// The project that requests are counted for.
    pub(super) quota_project: Option<String>,
}

/// The files' forms.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CredentialsFile {
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        token_uri: Option<String>,
        quota_project_id: Option<String>,
    },
    ServiceAccount {
        client_email: String,
        private_key: String,
        private_key_id: Option<String>,
        token_uri: Option<String>,
        project_id: Option<String>,
        quota_project_id: Option<String>,
    },
    ExternalAccount(Box<ExternalAccountFile>),
    ImpersonatedServiceAccount {
        service_account_impersonation_url: String,
        source_credentials: Box<CredentialsFile>,
        #[serde(default)]
        delegates: Vec<String>,
        quota_project_id: Option<String>,
    },
}

#[derive(Deserialize)]
struct ExternalAccountFile {
    audience: String,
    subject_token_type: String,
    token_url: String,
    credential_source: SourceFile,
    service_account_impersonation_url: Option<String>,
    service_account_impersonation: Option<Impersonation>,
    client_id: Option<String>,
    client_secret: Option<String>,
    quota_project_id: Option<String>,
    workforce_pool_user_project: Option<String>,
}

#[derive(Deserialize)]
struct Impersonation {
    token_lifetime_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct SourceFile {
    file: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    format: Option<SourceFormat>,
    executable: Option<Executable>,
    environment_id: Option<String>,
}

#[derive(Deserialize)]
struct SourceFormat {
    #[serde(rename = "type")]
    kind: String,
    subject_token_field_name: Option<String>,
}

#[derive(Deserialize)]
struct Executable {
    command: String,
    timeout_millis: Option<u64>,
    output_file: Option<PathBuf>,
}

/// Returns the address at which refresh tokens are exchanged: Google's server unless a variable
/// names another.
pub(super) fn token_url(vars: &Variables<'_>) -> Result<Url, ApiError> {
    vars.base("GEMINI_TOOLS_TOKEN_URL", TOKEN_URL)
}

/// Looks for credentials; `None` where there are none.
///
/// # Errors
///
/// Where there are some that can't be used.
pub(super) fn find(vars: &Variables<'_>, home: Option<&Path>) -> Result<Option<Found>, ApiError> {
    if let Some(path) = vars.get(FILE) {
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            let hint = "A relative path would name another file in each project; write the \
                        absolute path.";
            let message = format!("{FILE} is not an absolute path.");
            return Err(ApiError::new(ApiErrorKind::BadRequest, message).with_hint(hint));
        }
        return read(&path, vars).map(Some);
    }
    let gcloud = vars
        .get("CLOUDSDK_CONFIG")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(vars.get("APPDATA")?).join("gcloud")))
        .or_else(|| Some(home?.join(".config").join("gcloud")));
    if let Some(directory) = gcloud.filter(|directory| directory.is_absolute()) {
        let path = directory.join("application_default_credentials.json");
        if path.is_file() {
            return read(&path, vars).map(Some);
        }
    }
    Ok(metadata(vars)?.map(|source| Found {
        source,
        project: None,
        quota_project: None,
    }))
}

/// The metadata server, where this is a machine of Google's or the user says so. Nothing is sent
/// to find out: elsewhere, the address may be anything's.
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
    Ok(Some(TokenSource::Metadata { base }))
}

fn read(path: &Path, vars: &Variables<'_>) -> Result<Found, ApiError> {
    let unusable = |why: String| {
        ApiError::new(
            ApiErrorKind::BadCredential,
            format!(
                "The credentials in {} can't be used: {why}.",
                path.display()
            ),
        )
        .with_hint(format!(
            "Name another file in {FILE}, or log in with: gcloud auth application-default login"
        ))
    };
    let text = std::fs::read(path).map_err(|e| unusable(e.to_string()))?;
    let value: Value = json::read(&text).map_err(|e| unusable(e.to_string()))?;
    let kind = value["type"]
        .as_str()
        .unwrap_or("without a type")
        .to_owned();
    // What is wrong is named without a value of the file: any could be the secret.
    let file: CredentialsFile = serde_json::from_value(value).map_err(|_| {
        unusable(format!(
            "keys are missing, or its type ({kind}) is not known"
        ))
    })?;
    source(file, vars).map_err(unusable)
}

fn source(file: CredentialsFile, vars: &Variables<'_>) -> Result<Found, String> {
    let default = token_url(vars).map_err(|e| e.to_string())?;
    let exchange = |text: Option<String>| match text {
        Some(text) => address(&text, "token_uri"),
        None => Ok(default.clone()),
    };
    Ok(match file {
        CredentialsFile::AuthorizedUser {
            client_id,
            client_secret,
            refresh_token,
            token_uri,
            quota_project_id,
        } => Found {
            source: TokenSource::AuthorizedUser {
                client_id,
                client_secret: Secret::new(client_secret),
                refresh_token: Secret::new(refresh_token),
                token_url: exchange(token_uri)?,
                hint: "Log in again: gcloud auth application-default login",
            },
            project: None,
            quota_project: quota_project_id,
        },
        CredentialsFile::ServiceAccount {
            client_email,
            private_key,
            private_key_id,
            token_uri,
            project_id,
            quota_project_id,
        } => Found {
            source: TokenSource::ServiceAccount {
                email: client_email,
                key_id: private_key_id,
                key: Secret::new(private_key),
                token_url: exchange(token_uri)?,
            },
            project: project_id,
            quota_project: quota_project_id,
        },
        CredentialsFile::ExternalAccount(file) => {
            let quota_project = file.quota_project_id.clone();
            Found {
                source: TokenSource::ExternalAccount(Box::new(external_account(*file, vars)?)),
                project: None,
                quota_project,
            }
        }
        CredentialsFile::ImpersonatedServiceAccount {
            service_account_impersonation_url,
            source_credentials,
            delegates,
            quota_project_id,
        } => {
            let found = source(*source_credentials, vars)?;
            let url = address(
                &service_account_impersonation_url,
                "service_account_impersonation_url",
            )?;
            Found {
                source: TokenSource::Impersonated {
                    url,
                    delegates,
                    source: Box::new(found.source),
                },
                project: found.project,
                quota_project: quota_project_id.or(found.quota_project),
            }
        }
    })
}

fn external_account(
    file: ExternalAccountFile,
    vars: &Variables<'_>,
) -> Result<ExternalAccount, String> {
    let given = file.credential_source;
    let field = match given.format {
        Some(format) if format.kind == "json" => Some(
            format
                .subject_token_field_name
                .ok_or("credential_source.format has no subject_token_field_name")?,
        ),
        _ => None,
    };
    let source = if let Some(program) = given.executable {
        SubjectSource::Program {
            command: program.command,
            limit: Duration::from_millis(program.timeout_millis.unwrap_or(PROGRAM_MS)),
            output_file: program.output_file,
            is_allowed: vars.get(ALLOW).as_deref() == Some("1"),
        }
    } else if let Some(path) = given.file {
        SubjectSource::File { path, field }
    } else if let Some(id) = given.environment_id {
        return Err(format!(
            "a credential_source of the environment {id} is not supported; use one with a file, \
             an address or a program"
        ));
    } else if let Some(url) = given.url {
        SubjectSource::Address {
            url: Url::parse(&url).map_err(|_| "credential_source.url is not a valid address")?,
            headers: given.headers.into_iter().collect(),
            field,
        }
    } else {
        return Err("credential_source has no file, url or executable".to_owned());
    };
    let lifetime = file
        .service_account_impersonation
        .and_then(|given| given.token_lifetime_seconds);
    Ok(ExternalAccount {
        audience: file.audience,
        subject_token_type: file.subject_token_type,
        token_url: address(&file.token_url, "token_url")?,
        source,
        impersonation_url: file
            .service_account_impersonation_url
            .map(|url| address(&url, "service_account_impersonation_url"))
            .transpose()?,
        impersonation_lifetime: Duration::from_secs(lifetime.unwrap_or(LIFETIME_SECS)),
        client: file
            .client_id
            .map(|id| (id, Secret::new(file.client_secret.unwrap_or_default()))),
        workforce_project: file.workforce_pool_user_project,
    })
}

/// An address that a secret may be sent to.
fn address(text: &str, key: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| format!("{key} is not a valid address"))?;
    let is_here = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() == "https" || (url.scheme() == "http" && is_here) {
        return Ok(url);
    }
    Err(format!("{key} is not an address of https"))
}
