//! Google's credentials for Vertex AI, and Gemini CLI's log-in, against a server on loopback that checks what Google's
//! servers check: signatures, audiences, expiry, secrets, and whether a token is still good.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gemini_tools::genai::{
    ApiError, ApiErrorKind, Content, Credentials, GeminiClient, GenerateContentRequest,
};
use gemini_tools::tool::Cancellation;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::form_urlencoded;

use crate::harness::skipped;
use crate::harness::web_server::{Asked, WebServer, answer};

const ACCOUNT: &str = "agent@project.iam.gserviceaccount.com";
const AUDIENCE: &str =
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/ci";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// What the server knows.
#[derive(Default)]
struct Known {
    /// The base address of the server itself.
    base: String,
    /// The key that the service account has at Google.
    public_key: Vec<u8>,
    /// How long tokens last, in seconds.
    lifetime: u64,
    /// The tokens that are good.
    tokens: Vec<String>,
    /// How many were given.
    given: usize,
    /// What requests must be counted for.
    quota_project: Option<String>,
}

impl Known {
    fn give(&mut self) -> String {
        self.given += 1;
        let token = format!("ya29.token-{}", self.given);
        self.tokens.push(token.clone());
        token
    }
}

struct Google {
    server: WebServer,
    known: Arc<Mutex<Known>>,
    files: TempDir,
}

impl Google {
    fn new() -> Self {
        let known = Arc::new(Mutex::new(Known {
            lifetime: 3600,
            ..Known::default()
        }));
        let of_server = Arc::clone(&known);
        let server = WebServer::new(move |asked, line| {
            let (status, body) = respond(asked, &mut of_server.lock().expect("known"));
            let flavor = [
                ("Content-Type", "application/json"),
                ("Metadata-Flavor", "Google"),
            ];
            line.send(answer(status, &flavor, body.to_string().as_bytes()))
        });
        known.lock().expect("known").base = server.url("");
        let files = tempfile::tempdir().expect("a directory");
        Google {
            server,
            known,
            files,
        }
    }

    fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().expect("known")
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.files.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    /// A client of Vertex AI by the credentials in a file.
    fn by_file(
        &self,
        credentials: &Value,
        more: &[(&str, &str)],
    ) -> Result<GeminiClient, ApiError> {
        let path = self.file("credentials.json", &credentials.to_string());
        let path = path.to_str().expect("text").to_owned();
        let named = ("GOOGLE_APPLICATION_CREDENTIALS", path.as_str());
        self.vertex(&[&[named], more].concat(), None)
    }

    fn vertex(&self, more: &[(&str, &str)], home: Option<&Path>) -> Result<GeminiClient, ApiError> {
        let base = self.url("");
        let vertex = [
            ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
            ("GOOGLE_CLOUD_PROJECT", "project"),
            ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
            ("GOOGLE_VERTEX_BASE_URL", &base),
        ];
        client(&[&vertex, more].concat(), home)
    }
}

fn client(variables: &[(&str, &str)], home: Option<&Path>) -> Result<GeminiClient, ApiError> {
    let env = |name: &str| {
        let found = variables.iter().rev().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let credentials = Credentials::find(&env, home)?.expect("a credential");
    Ok(GeminiClient::new(credentials).with_first_wait(Duration::from_millis(10)))
}

fn ask(client: &mut GeminiClient) -> Result<String, ApiError> {
    let request = GenerateContentRequest {
        contents: vec![Content::user("hi")],
        ..GenerateContentRequest::default()
    };
    let cancel = Cancellation::default();
    let response = client.generate("gemini-2.5-flash", &request, &cancel, &mut |_| {})?;
    Ok(response.text())
}

fn form(asked: &Asked) -> impl Fn(&str) -> String + use<> {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(&asked.body).into_owned().collect();
    move |key| {
        let found = pairs.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

fn refusal(status: u16, what: &str, why: &str) -> (u16, Value) {
    (status, json!({"error": what, "error_description": why}))
}

fn respond(asked: &Asked, known: &mut Known) -> (u16, Value) {
    let bearer = asked
        .header("authorization")
        .and_then(|v| v.strip_prefix("Bearer "));
    let is_known = bearer.is_some_and(|bearer| known.tokens.iter().any(|token| token == bearer));
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let lifetime = known.lifetime;
    let token = |known: &mut Known| {
        let token = known.give();
        let answer = json!({"access_token": token, "expires_in": lifetime, "token_type": "Bearer", "id_token": "new-id"});
        (200, answer)
    };
    match path {
        "/token" => {
            let form = form(asked);
            match form("grant_type").as_str() {
                "refresh_token" if form("refresh_token") != "refresh-good" => {
                    refusal(400, "invalid_grant", "Token has been expired or revoked.")
                }
                "refresh_token"
                    if !form("client_secret").contains("GOCSPX")
                        && form("client_secret") != "hush-hush" =>
                {
                    refusal(401, "invalid_client", "Unauthorized")
                }
                "refresh_token" => token(known),
                "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                    match check_assertion(&form("assertion"), known) {
                        Ok(()) => token(known),
                        Err(why) => refusal(400, "invalid_grant", why),
                    }
                }
                _ => refusal(400, "unsupported_grant_type", ""),
            }
        }
        "/sts" => {
            let form = form(asked);
            let is_right = form("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange"
                && form("requested_token_type") == "urn:ietf:params:oauth:token-type:access_token"
                && form("subject_token_type") == "urn:ietf:params:oauth:token-type:jwt"
                && form("scope") == SCOPE;
            if !is_right || form("audience") != AUDIENCE {
                return refusal(400, "invalid_request", "Invalid audience.");
            }
            if form("subject_token") != "subject-good" {
                return refusal(400, "invalid_grant", "The token is not from the provider.");
            }
            token(known)
        }
        "/impersonate/agent@x:generateAccessToken" if is_known => {
            let asked: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            if asked["scope"] != json!([SCOPE]) || asked["lifetime"] != "3600s" {
                return (400, json!({"error": {"message": "a wrong request"}}));
            }
            let token = known.give();
            (
                200,
                json!({"accessToken": token, "expireTime": "2999-01-01T00:00:00Z"}),
            )
        }
        "/subject" if asked.header("x-from") == Some("here") => {
            (200, json!({"value": "subject-good"}))
        }
        "/large" => (200, json!({"value": "x".repeat(2 << 20)})),
        "/computeMetadata/v1/instance/service-accounts/default/token"
            if asked.header("metadata-flavor") == Some("Google") && query.contains(SCOPE) =>
        {
            token(known)
        }
        "/v1beta1/projects/project/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent"
        | "/v1internal:generateContent"
            if is_known =>
        {
            if asked.header("x-goog-user-project") != known.quota_project.as_deref() {
                return (
                    403,
                    json!({"error": {"message": "the wrong project is charged", "status": "PERMISSION_DENIED"}}),
                );
            }
            let response = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "All is well."}]}, "finishReason": "STOP"}]});
            let is_wrapped = path.starts_with("/v1internal");
            (
                200,
                if is_wrapped {
                    json!({"response": response})
                } else {
                    response
                },
            )
        }
        _ => (
            401,
            json!({"error": {"code": 401, "message": format!("bad token {}", bearer.unwrap_or("?")), "status": "UNAUTHENTICATED"}}),
        ),
    }
}

/// As Google's server checks it.
fn check_assertion(assertion: &str, known: &Known) -> Result<(), &'static str> {
    let (signed, signature) = assertion.rsplit_once('.').ok_or("Invalid JWT.")?;
    let (header, claims) = signed.split_once('.').ok_or("Invalid JWT.")?;
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| "Invalid JWT.");
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &known.public_key);
    key.verify(signed.as_bytes(), &decoded(signature)?)
        .map_err(|_| "Invalid JWT Signature.")?;
    let json = |text: &str| -> Result<Value, &'static str> {
        serde_json::from_slice(&decoded(text)?).map_err(|_| "Invalid JWT.")
    };
    let (header, claims) = (json(header)?, json(claims)?);
    if header != json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}) {
        return Err("Invalid JWT header.");
    }
    if claims["iss"] != ACCOUNT || claims["scope"] != SCOPE {
        return Err("Invalid issuer or scope.");
    }
    if claims["aud"] != format!("{}/token", known.base) {
        return Err("Invalid audience.");
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time")
        .as_secs();
    let (from, until) = (
        claims["iat"].as_u64().unwrap_or(0),
        claims["exp"].as_u64().unwrap_or(0),
    );
    if from > now + 5 || until <= now || until > from + 3600 {
        return Err("Invalid time.");
    }
    Ok(())
}

/// A key in PEM, and its public half; nothing where openssl is missing.
fn rsa_key() -> Option<(String, Vec<u8>)> {
    let made = Command::new("openssl")
        .args([
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
        ])
        .output();
    let Ok(made) = made else {
        skipped("openssl");
        return None;
    };
    let pem = String::from_utf8(made.stdout).expect("PEM");
    let inner: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(inner).expect("base64");
    let pair = RsaKeyPair::from_pkcs8(&der).expect("a key");
    Some((pem, pair.public_key().as_ref().to_vec()))
}

fn authorized_user(google: &Google) -> Value {
    json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "hush-hush",
        "refresh_token": "refresh-good", "token_uri": google.url("/token"),
    })
}

fn service_account(google: &Google, key: &str) -> Value {
    json!({
        "type": "service_account", "client_email": ACCOUNT, "private_key": key,
        "private_key_id": "key-1", "token_uri": google.url("/token"), "project_id": "project",
    })
}

fn external_account(google: &Google, source: &Value) -> Value {
    json!({
        "type": "external_account", "audience": AUDIENCE, "token_url": google.url("/sts"),
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": source,
    })
}

#[test]
fn every_kind_of_credential_gets_one_token_for_all_requests() {
    let google = Google::new();
    let mut kinds = vec![
        ("an authorized user", authorized_user(&google), 1),
        (
            "an impersonated account",
            json!({
                "type": "impersonated_service_account",
                "service_account_impersonation_url": google.url("/impersonate/agent@x:generateAccessToken"),
                "source_credentials": authorized_user(&google),
            }),
            2,
        ),
        (
            "a token in a file",
            external_account(
                &google,
                &json!({"file": google.file("subject", "subject-good\n")}),
            ),
            1,
        ),
        (
            "a token in a file of JSON",
            external_account(
                &google,
                &json!({
                    "file": google.file("subject.json", r#"{"token": "subject-good"}"#),
                    "format": {"type": "json", "subject_token_field_name": "token"},
                }),
            ),
            1,
        ),
        (
            "a token behind an address",
            external_account(
                &google,
                &json!({
                    "url": google.url("/subject"), "headers": {"x-from": "here"},
                    "format": {"type": "json", "subject_token_field_name": "value"},
                }),
            ),
            1,
        ),
    ];
    let mut acting = external_account(&google, &json!({"file": google.file("s", "subject-good")}));
    acting["service_account_impersonation_url"] = google
        .url("/impersonate/agent@x:generateAccessToken")
        .into();
    kinds.push((
        "a token of another provider that acts as an account",
        acting,
        2,
    ));
    if let Some((pem, public_key)) = rsa_key() {
        google.known().public_key = public_key;
        kinds.push(("a service account", service_account(&google, &pem), 1));
    }
    for (kind, file, tokens) in kinds {
        let before = google.known().given;
        let mut client = google.by_file(&file, &[]).expect(kind);
        for _ in 0..3 {
            let said = ask(&mut client).unwrap_or_else(|e| panic!("{kind}: {e}"));
            assert_eq!(said, "All is well.", "{kind}");
        }
        assert_eq!(google.known().given - before, tokens, "{kind}");
    }
}

#[test]
fn credentials_are_looked_for_where_google_keeps_them() {
    let google = Google::new();
    let file = authorized_user(&google).to_string();
    let home = google.files.path().join("home");
    google.file(
        "home/.config/gcloud/application_default_credentials.json",
        &file,
    );
    google.file("sdk/application_default_credentials.json", &file);
    let sdk = google.files.path().join("sdk");
    let sdk = sdk.to_str().expect("text");
    let metadata = google.url("");
    let host = metadata.trim_start_matches("http://");
    for (vars, home) in [
        (vec![], Some(home.as_path())),
        (vec![("CLOUDSDK_CONFIG", sdk)], None),
        (vec![("GCE_METADATA_HOST", host)], None),
        (
            vec![
                ("GCE_METADATA_HOST", host),
                ("METADATA_SERVER_DETECTION", "assume-present"),
            ],
            None,
        ),
    ] {
        let mut client = google
            .vertex(&vars, home)
            .unwrap_or_else(|e| panic!("{vars:?}: {e}"));
        assert_eq!(
            ask(&mut client).expect("an answer"),
            "All is well.",
            "{vars:?}"
        );
    }
    // A key or a token that is given goes first.
    let mut client = google
        .vertex(&[("GOOGLE_CLOUD_ACCESS_TOKEN", "given")], Some(&home))
        .expect("one");
    assert_eq!(
        ask(&mut client).expect_err("not good").kind,
        ApiErrorKind::BadCredential
    );
    let off = [
        ("GCE_METADATA_HOST", host),
        ("METADATA_SERVER_DETECTION", "none"),
    ];
    let error = google.vertex(&off, None).map(|_| ()).expect_err("none");
    assert_eq!(error.kind, ApiErrorKind::NoCredential, "{error}");
}

#[test]
fn wrong_credentials_are_refused_with_what_to_do_and_without_a_secret() {
    let google = Google::new();
    let mut cases = Vec::new();
    let with = |mut file: Value, key: &str, value: &str| {
        file[key] = value.into();
        file
    };
    let user = || authorized_user(&google);
    cases.push((
        with(user(), "refresh_token", "refresh-bad"),
        "revoked. Log in again: gcloud",
    ));
    cases.push((
        with(user(), "client_secret", "hush-wrong"),
        "invalid_client",
    ));
    let subject = google.file("bad-subject", "subject-bad");
    let external = external_account(&google, &json!({"file": subject}));
    cases.push((
        external.clone(),
        "not from the provider. Check the provider",
    ));
    cases.push((with(external, "audience", "//other"), "Invalid audience."));
    let source = json!({"file": google.file("s", "{}"), "format": {"type": "json"}});
    cases.push((
        external_account(&google, &source),
        "has no subject_token_field_name",
    ));
    let source = json!({"url": google.url("/elsewhere")});
    cases.push((external_account(&google, &source), "answered 401"));
    let source = json!({"url": google.url("/large")});
    cases.push((
        external_account(&google, &source),
        "answered with more than 1048576 bytes",
    ));
    if let Some((pem, _)) = rsa_key() {
        // Google has another key for the account.
        cases.push((
            service_account(&google, &pem),
            "Invalid JWT Signature. Check that the key",
        ));
    }
    cases.push((service_account(&google, "no key"), "is not a valid RSA key"));
    for (file, why) in cases {
        let mut client = google.by_file(&file, &[]).expect("well-formed");
        let error = ask(&mut client).expect_err(why).to_string();
        assert!(error.contains(why), "{why}: {error}");
        for secret in ["refresh-bad", "hush", "subject-bad"] {
            assert!(!error.contains(secret), "{error}");
        }
    }
    assert_eq!(google.known().given, 0);
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let google = Google::new();
    let with = |key: &str, value: Value| {
        let mut file = authorized_user(&google);
        file[key] = value;
        file
    };
    let program = json!({"executable": {"command": "/bin/token"}});
    let aws = json!({"environment_id": "aws1", "url": "http://169.254.169.254/"});
    for (file, why) in [
        (
            with("type", "gdch_service_account".into()),
            "its type (gdch_service_account) is not known",
        ),
        (with("refresh_token", Value::Null), "keys are missing"),
        (
            with("token_uri", "http://evil.example/token".into()),
            "token_uri is not an address of https",
        ),
        (
            external_account(&google, &aws),
            "credential_source is neither a file nor an address",
        ),
        (
            external_account(&google, &json!({})),
            "credential_source is neither a file nor an address",
        ),
        (
            external_account(&google, &program),
            "set GOOGLE_CLOUD_ACCESS_TOKEN",
        ),
    ] {
        let error = google
            .by_file(&file, &[])
            .map(|_| ())
            .expect_err(why)
            .to_string();
        assert!(
            error.contains(why) && error.contains("credentials.json"),
            "{why}: {error}"
        );
    }
    for (path, why) in [
        (
            "credentials.json",
            "GOOGLE_APPLICATION_CREDENTIALS is not an absolute path",
        ),
        ("/no/such/file.json", "/no/such/file.json can't be used"),
    ] {
        let vars = [("GOOGLE_APPLICATION_CREDENTIALS", path)];
        let error = google
            .vertex(&vars, None)
            .map(|_| ())
            .expect_err(why)
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_token_is_renewed_before_it_ends_and_when_the_api_no_longer_takes_it() {
    let google = Google::new();
    google.known().lifetime = 60;
    let mut client = google
        .by_file(&authorized_user(&google), &[])
        .expect("well-formed");
    for given in 1..=3 {
        ask(&mut client).expect("an answer");
        assert_eq!(google.known().given, given);
    }
    google.known().lifetime = 3600;
    let mut client = google
        .by_file(&authorized_user(&google), &[])
        .expect("well-formed");
    ask(&mut client).expect("an answer");
    google.known().tokens.clear();
    ask(&mut client).expect("an answer with another token");
    assert_eq!(google.known().given, 5);
}

#[test]
fn requests_name_the_project_that_they_are_counted_for() {
    let google = Google::new();
    google.known().quota_project = Some("payer".to_owned());
    let mut file = authorized_user(&google);
    file["quota_project_id"] = "payer".into();
    ask(&mut google.by_file(&file, &[]).expect("one")).expect("an answer");
    let other = [("GOOGLE_CLOUD_QUOTA_PROJECT", "other")];
    let error = ask(&mut google.by_file(&file, &other).expect("one")).expect_err("another");
    assert_eq!(error.kind, ApiErrorKind::Forbidden);
}

#[test]
fn a_log_in_of_gemini_cli_is_renewed_and_kept_for_it() {
    for (keyring, is_kept) in [("", true), ("true", false)] {
        let google = Google::new();
        let old = json!({
            "access_token": "old", "refresh_token": "refresh-good", "expiry_date": 1, "scope": "s",
            "token_type": "Bearer", "id_token": "old-id", "other": 7,
        });
        let file = google.file(".gemini/oauth_creds.json", &old.to_string());
        let (base, token_url) = (google.url(""), google.url("/token"));
        let vars = [
            ("GOOGLE_GENAI_USE_GCA", "true"),
            ("GOOGLE_CLOUD_PROJECT", "project"),
            ("CODE_ASSIST_ENDPOINT", base.as_str()),
            ("GEMINI_TOOLS_TOKEN_URL", token_url.as_str()),
            ("GEMINI_FORCE_ENCRYPTED_FILE_STORAGE", keyring),
        ];
        let home = google.files.path();
        let mut client = client(&vars, Some(home)).expect("a log-in");
        for _ in 0..2 {
            assert_eq!(ask(&mut client).expect("an answer"), "All is well.");
        }
        assert_eq!(google.known().given, 1);
        let kept: Value =
            serde_json::from_str(&fs::read_to_string(&file).expect("kept")).expect("JSON");
        if !is_kept {
            assert_eq!(kept, old);
            continue;
        }
        let mut expected = old;
        expected["access_token"] = "ya29.token-1".into();
        expected["id_token"] = "new-id".into();
        expected["expiry_date"] = kept["expiry_date"].clone();
        assert_eq!(kept, expected);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time")
            .as_millis();
        assert!(u128::from(kept["expiry_date"].as_u64().expect("a time")) > now);
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // The next process has no need to renew it.
        let mut next = self::client(&vars, Some(home)).expect("a log-in");
        ask(&mut next).expect("an answer");
        assert_eq!(google.known().given, 1);
    }
}
