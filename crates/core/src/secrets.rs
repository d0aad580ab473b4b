//! Credentials: which environment variables hold one, and how to mask them in a text.

use fancy_regex::Regex;
use std::sync::LazyLock;

const HIDDEN: &str = "***";

/// Shortest value that is masked, in bytes. A shorter one would occur by chance in many texts.
const SHORTEST_BYTES: usize = 8;

const WORDS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "KEY",
    "AUTH",
    "CREDENTIAL",
    "CREDS",
    "PRIVATE",
    "CERT",
];

/// Names of variables that are masked although they contain none of `WORDS`: their values reveal an
/// address or an account.
const NAMES: [&str; 8] = [
    "AZURE_CLIENT_ID",
    "AZURE_TENANT_ID",
    "CLIENT_ID",
    "CONNECTION_STRING",
    "DATABASE_URL",
    "DB_URI",
    "SLACK_WEBHOOK_URL",
    "TWILIO_ACCOUNT_SID",
];

/// Names that do not make a variable secret, whatever words they contain: these variables only hold
/// paths of public certificates.
const HARMLESS: [&str; 3] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE"];

const HARMLESS_STARTS: [&str; 2] = ["GIT_AUTHOR_", "GIT_CONFIG_"];

const BEGINNINGS: [&str; 15] = [
    "-----BEGIN",
    "AIzaSy",
    "AKIA",
    "ASIA",
    "ya29.",
    "1//0",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "sk_live_",
    "rk_live_",
    "xox",
];

#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)AIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_.-]{10,}|\b1//0[0-9A-Za-z_-]{20,}",
        r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{20,}|\bgithub_pat_[0-9A-Za-z_]{20,}",
        r"|\b[sr]k_live_[0-9A-Za-z]{10,}|\bxox[a-z]-[0-9A-Za-z-]{10,}",
        r"|\beyJ[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_-]+",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ))
    .unwrap()
});

#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(://[^\s/?#:@"'<>]*:)[^\s/?#@"'<>]+@"#).unwrap());

/// The secrets of an environment, which can be masked in texts.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Secrets {
    /// Collects the values of those variables that hold a credential, except very short ones.
    pub fn among(variables: impl Iterator<Item = (String, String)>) -> Self {
        let values = variables.filter(|(name, value)| is_secret(name, value));
        let mut own: Vec<String> = values
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST_BYTES)
            .collect();
        // If a secret contains another one, the longer must be masked first, or its rest would
        // show.
        own.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(own)
    }

    /// Collects the secrets of this process's environment.
    pub fn from_environment() -> Self {
        let text = |word: std::ffi::OsString| word.into_string().ok();
        Self::among(
            std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))),
        )
    }

    /// Returns the text with these secrets masked, as well as all passwords in URLs and everything
    /// that looks like a well-known kind of credential.
    pub fn hidden(&self, text: &str) -> String {
        let mut own = text.to_owned();
        for secret in &self.0 {
            if own.contains(secret.as_str()) {
                own = own.replace(secret.as_str(), HIDDEN);
            }
        }
        let own = CREDENTIAL.replace_all(&own, HIDDEN);
        PASSWORD.replace_all(&own, "${1}***@").into_owned()
    }
}

/// Returns true if an environment variable holds a credential, judged by its name or value.
pub fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if has_password(value)
        || BEGINNINGS.iter().any(|b| value.starts_with(b))
        || is_jwt(value)
        || is_authorization(value)
    {
        return true;
    }
    let is_harmless = HARMLESS.contains(&name.as_str())
        || HARMLESS_STARTS.iter().any(|start| name.starts_with(start));
    !is_harmless && (NAMES.contains(&name.as_str()) || WORDS.iter().any(|word| name.contains(word)))
}

fn has_password(value: &str) -> bool {
    value.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
    })
}

fn is_jwt(value: &str) -> bool {
    value.starts_with("eyJ") && value.len() > 40 && value.matches('.').count() == 2
}

/// Returns true for an HTTP header with a credential, as git's setting `http.extraHeader` has it.
/// Git also takes the value of a setting from a variable such as `GIT_CONFIG_VALUE_0`, whose name
/// does not show that it is secret.
fn is_authorization(value: &str) -> bool {
    let name = value.split(':').next().unwrap_or_default();
    name.len() < value.len() && name.to_ascii_lowercase().ends_with("authorization")
}

#[cfg(test)]
mod tests {
    use super::{Secrets, is_secret};

    #[test]
    fn secrets_of_the_environment_and_what_looks_like_one_do_not_show() {
        let variables = [
            ("CI_JOB_TOKEN", " long-enough\n"),
            ("OTHER_TOKEN", "long-enough-too"),
            ("PIN_KEY", "1234"),
            ("SMTP_AUTH", "let-me-through"),
            ("GIT_AUTHOR_NAME", "Ada Lovelace"),
            ("HOME", "/home/ada-the-first"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::among(variables.into_iter());
        let key = format!("AIza{}", "x".repeat(35));
        let refresh = format!("1//0{}", "e".repeat(30));
        let pem = "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----";
        for (text, hidden) in [
            ("is long-enough-too, long-enough", "is ***, ***"),
            ("1234 /home/ada-the-first", "1234 /home/ada-the-first"),
            (key.as_str(), "***"),
            ("ya29.a0AfH6SMBx_y.z", "***"),
            (refresh.as_str(), "***"),
            (pem, "***"),
            ("let-me-through, Ada Lovelace", "***, Ada Lovelace"),
            ("id AKIAIOSFODNN7EXAMPLE.", "id ***."),
            ("ghp_0123456789abcdefghij and ghp_x", "*** and ghp_x"),
            ("xoxb-0123456789-ab", "***"),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
                "***",
            ),
            (
                "postgres://me:pw@db/x http://a:80/b@c",
                "postgres://me:***@db/x http://a:80/b@c",
            ),
            ("-----BEGIN RSA PRIVATE KEY-----\ncut", "***"),
        ] {
            assert_eq!(secrets.hidden(text), hidden);
        }
        assert!(!format!("{secrets:?}").contains("long"));
    }

    #[test]
    fn credentials_are_told_by_name_and_by_value() {
        for (name, value) in [
            ("GEMINI_API_KEY", "x"),
            ("github_token", "x"),
            ("DATABASE_URL", "x"),
            ("ANY", "ghp_0123"),
            ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic eDp5"),
            ("GIT_CONFIG_VALUE_1", "Proxy-Authorization:Bearer x"),
            ("https_proxy", "http://me:pw@proxy:1"),
            (
                "ANY",
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
            ),
        ] {
            assert!(is_secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("PATH", "/bin"),
            ("SSL_CERT_FILE", "/etc/ssl/ca.pem"),
            ("https_proxy", "http://proxy:1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "authorization"),
        ] {
            assert!(!is_secret(name, value), "{name}={value}");
        }
    }
}
