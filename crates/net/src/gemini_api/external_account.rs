//! Workload identity: a token of another provider (a CI service, another cloud) is exchanged for
//! one of Google's.
//!
//! The file that `gcloud iam workload-identity-pools create-cred-config` writes says where the
//! other token is: in a file, behind an address, or what a program prints. Google documents the
//! exchange and the program's answer at <https://google.aip.dev/auth/4117>.

use super::credentials::Secret;
use super::error::{ApiError, ApiErrorKind};
use super::tokens::{Issued, SCOPE, exchange, impersonated, issued, refused_with};
use crate::http_client::{HttpClient, HttpRequest, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gemini_tools_core::json;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, RunOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;

/// The user's consent to programs: `1`.
pub(super) const ALLOW: &str = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";

/// Maximum bytes of another provider's answer that are read.
const MAX_BYTES: usize = 1024 * 1024;

/// The content of an external account's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// The provider, as the Security Token Service knows it.
    pub audience: String,
    /// The kind of the provider's tokens.
    pub subject_token_type: String,
    /// Address at which subject tokens are exchanged.
    pub token_url: Url,
    /// Source of the subject tokens.
    pub source: SubjectSource,
    /// The service account to act as: the address that gives its tokens.
    pub impersonation_url: Option<Url>,
    /// Lifetime that is requested for the impersonated account's tokens.
    pub impersonation_lifetime: Duration,
    /// An application's id and secret, where the exchange wants them.
    pub client: Option<(String, Secret)>,
    /// The project that a workforce pool's requests are counted for.
    pub workforce_project: Option<String>,
}

/// The place of another provider's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectSource {
    /// In a file.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The key that has the token, where the file is JSON.
        field: Option<String>,
    },
    /// Behind an address.
    Address {
        /// The address.
        url: Url,
        /// Headers of the request.
        headers: Vec<(String, String)>,
        /// The key that has the token, where the answer is JSON.
        field: Option<String>,
    },
    /// The output of a program.
    Program {
        /// The program and its arguments, as a shell would part them.
        command: String,
        /// Time limit of the program.
        limit: Duration,
        /// A file with an earlier answer.
        output_file: Option<PathBuf>,
        /// True if the user has allowed the program to run.
        is_allowed: bool,
    },
}

impl ExternalAccount {
    /// Asks for a token of Google's.
    pub(super) fn fetch(
        &self,
        http: &mut HttpClient,
        cancel: &Cancellation,
    ) -> Result<(Issued, Value), ApiError> {
        let subject = self.subject(http, cancel)?;
        let mut form = vec![
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            ("audience", &self.audience),
            ("scope", SCOPE),
            (
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:access_token",
            ),
            ("subject_token", subject.expose()),
            ("subject_token_type", &self.subject_token_type),
        ];
        let options = self.workforce_project.as_ref();
        let options = options.map(|project| json!({"userProject": project}).to_string());
        if let Some(options) = &options {
            form.push(("options", options));
        }
        let headers = self.client.iter().map(|(id, secret)| {
            let pair = STANDARD.encode(format!("{id}:{}", secret.expose()));
            ("authorization", format!("Basic {pair}"))
        });
        let hint = "Check the provider of the workload identity pool, and its conditions.";
        let answer = exchange(http, &self.token_url, &form, headers.collect(), cancel)
            .map_err(|e| refused_with(e.without(subject.expose()), hint))?;
        let (token, answer) = issued(answer, &self.token_url)?;
        match &self.impersonation_url {
            None => Ok((token, answer)),
            Some(url) => {
                let lifetime = self.impersonation_lifetime;
                impersonated(http, url, &[], lifetime, &token.token, cancel)
            }
        }
    }

    /// The other provider's token.
    fn subject(&self, http: &mut HttpClient, cancel: &Cancellation) -> Result<Secret, ApiError> {
        match &self.source {
            SubjectSource::File { path, field } => {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| unusable(format!("{} can't be read: {e}", path.display())))?;
                token_in(&text, field.as_deref(), &path.display().to_string())
            }
            SubjectSource::Address {
                url,
                headers,
                field,
            } => {
                let text = text_behind(url, headers, http, cancel)?;
                let place = url.host_str().unwrap_or_default();
                token_in(&text, field.as_deref(), place)
            }
            SubjectSource::Program {
                command,
                limit,
                output_file,
                is_allowed,
            } => {
                let earlier = output_file.as_ref().and_then(|file| {
                    let text = std::fs::read(file).ok()?;
                    token_of_answer(&text, true).ok()
                });
                match earlier {
                    Some(token) => Ok(token),
                    None if *is_allowed => self.run(command, *limit, output_file.as_ref(), cancel),
                    None => {
                        let message = "it runs a program, which is not allowed";
                        let hint = format!("Set {ALLOW}=1 if you trust the file that names it.");
                        Err(unusable(message).with_hint(hint))
                    }
                }
            }
        }
    }

    /// Runs the program that prints the token.
    fn run(
        &self,
        command: &str,
        limit: Duration,
        output_file: Option<&PathBuf>,
        cancel: &Cancellation,
    ) -> Result<Secret, ApiError> {
        let words = shlex::split(command).unwrap_or_default();
        let Some((program, arguments)) = words.split_first() else {
            return Err(unusable(format!("{command:?} is not a valid command")));
        };
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let email = self.impersonation_url.as_ref().and_then(|url| {
            let name = url.path_segments()?.next_back()?;
            name.strip_suffix(":generateAccessToken").map(str::to_owned)
        });
        for (name, value) in [
            ("AUDIENCE", Some(self.audience.clone().into())),
            ("TOKEN_TYPE", Some(self.subject_token_type.clone().into())),
            ("INTERACTIVE", Some(OsString::from("0"))),
            ("IMPERSONATED_EMAIL", email.map(OsString::from)),
            ("OUTPUT_FILE", output_file.map(|f| f.clone().into())),
        ] {
            if let Some(value) = value {
                environment.insert(format!("GOOGLE_EXTERNAL_ACCOUNT_{name}").into(), value);
            }
        }
        let directory = std::env::current_dir().unwrap_or_default();
        let program = Program {
            name: OsStr::new(program),
            arguments,
            environment: &environment,
            directory: &directory,
        };
        let options = RunOptions {
            input: Input::Bytes(b""),
            limit,
            hold: Duration::ZERO,
            leaves: false,
        };
        let run = program
            .run(options, cancel)
            .map_err(|e| unusable(format!("{command} can't be started: {e}")))?;
        match run.ending {
            Ok(ProcessEnd::Code(0)) => token_of_answer(&run.stdout, false),
            Ok(ending) => Err(unusable(format!("{command} ended with {ending}"))),
            Err(_) => Err(unusable(format!("{command} was ended after {limit:?}"))),
        }
    }
}

/// Fetches a text from an address.
fn text_behind(
    url: &Url,
    headers: &[(String, String)],
    http: &mut HttpClient,
    cancel: &Cancellation,
) -> Result<String, ApiError> {
    let request = HttpRequest {
        method: Method::Get,
        url,
        headers: headers.iter().map(|(n, v)| (&**n, v.clone())).collect(),
        body: &[],
    };
    let host = url.host_str().unwrap_or_default();
    let mut response = http.send(&request, cancel).map_err(|e| {
        let message = format!("The provider {host} was not reached: {e}.");
        ApiError {
            message,
            ..ApiError::from(e)
        }
    })?;
    let (bytes, _) = response.body.read_up_to(MAX_BYTES)?;
    if response.status != 200 {
        return Err(unusable(format!("{host} answered {}", response.status)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The token in a program's answer; an earlier answer must still be good.
fn token_of_answer(answer: &[u8], is_earlier: bool) -> Result<Secret, ApiError> {
    let answer: Value = json::read(answer)
        .map_err(|e| unusable(format!("the program's answer is not valid JSON: {e}")))?;
    if answer["success"] != true {
        let words = [&answer["code"], &answer["message"]].map(|w| w.as_str().unwrap_or("?"));
        return Err(unusable(format!(
            "the program failed: {}",
            words.join(": ")
        )));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    match answer["expiration_time"].as_u64() {
        Some(end) if end <= now => {
            return Err(unusable("the program's token has ended"));
        }
        None if is_earlier => return Err(unusable("it does not say its end")),
        _ => {}
    }
    let key = match answer["token_type"].as_str() {
        Some("urn:ietf:params:oauth:token-type:saml2") => "saml_response",
        _ => "id_token",
    };
    match answer[key].as_str() {
        Some(token) if !token.is_empty() => Ok(Secret::new(token)),
        _ => Err(unusable(format!("the program's answer has no {key}"))),
    }
}

/// The token in a text, which is that itself or JSON with a key for it.
fn token_in(text: &str, field: Option<&str>, place: &str) -> Result<Secret, ApiError> {
    let token = match field {
        None => text.trim().to_owned(),
        Some(field) => {
            let value: Value = json::read(text.as_bytes())
                .map_err(|e| unusable(format!("{place} is not valid JSON: {e}")))?;
            value[field].as_str().unwrap_or_default().to_owned()
        }
    };
    if token.is_empty() {
        return Err(unusable(format!("{place} has no token")));
    }
    Ok(Secret::new(token))
}

fn unusable(what: impl fmt::Display) -> ApiError {
    ApiError::new(
        ApiErrorKind::BadCredential,
        format!("The external account can't be used: {what}."),
    )
}
