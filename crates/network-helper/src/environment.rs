//! What the environment of a server holds.
//!
//! A server gets ours without what looks like a credential, and what its configuration names. A
//! tool that needs a key is given it there: `"env": {"GITHUB_TOKEN": "$GITHUB_TOKEN"}`. Gemini
//! CLI 0.61 does the same; 0.8 passes everything on.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Names with these words are those of credentials.
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

/// Names that say where something is or whose it is, and have no other meaning.
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

/// Names with one of the words that are only paths of certificates, which are public.
const HARMLESS: [&str; 5] = [
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Beginnings of values that are credentials under any name.
const BEGINNINGS: [&str; 12] = [
    "-----BEGIN",
    "AIzaSy",
    "AKIA",
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

/// The environment of a server that is configured with `own`.
pub(super) fn of_server(own: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, value)| !is_secret(&name.to_string_lossy(), &value.to_string_lossy()))
        .collect();
    all.insert("GEMINI_CLI".into(), "1".into());
    for (name, value) in own {
        all.insert(name.into(), value.into());
    }
    all
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if has_password(value) || BEGINNINGS.iter().any(|b| value.starts_with(b)) || is_jwt(value) {
        return true;
    }
    let is_harmless = HARMLESS.contains(&name.as_str()) || name.starts_with("GIT_CONFIG_");
    !is_harmless && (NAMES.contains(&name.as_str()) || WORDS.iter().any(|word| name.contains(word)))
}

/// Whether it is an address with user and password.
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

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn credentials_are_told_by_name_and_by_value() {
        for (name, value) in [
            ("GEMINI_API_KEY", "x"),
            ("github_token", "x"),
            ("DATABASE_URL", "x"),
            ("ANY", "ghp_0123"),
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
        ] {
            assert!(!is_secret(name, value), "{name}={value}");
        }
    }
}
