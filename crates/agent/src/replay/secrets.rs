//! Credentials, which no recording has.
//!
//! The client takes the credential of the run out of what it records (`gemini-tools-gemini-api`).
//! Tools may print others: what variables of the environment hold whose names say so, and what
//! looks like a credential of Google's.

use regex::Regex;
use std::sync::LazyLock;

/// What is shown in the place of a credential.
const HIDDEN: &str = "***";

/// How the names of variables end that hold a secret.
const NAMES: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"];

/// The shortest value of a variable that is looked for: a shorter one would be found everywhere.
const SHORTEST_BYTES: usize = 8;

/// What Google's credentials look like: API keys, access and refresh tokens, private keys.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?s)AIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_.-]{10,}|\b1//0[0-9A-Za-z_-]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    )
    .unwrap()
});

/// The secrets of an environment.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Secrets {
    /// The secrets among variables, such as those of this process's environment.
    pub fn among(variables: impl Iterator<Item = (String, String)>) -> Self {
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            NAMES.iter().any(|end| name.ends_with(end))
        };
        let values = variables.filter(|(name, _)| is_secret(name));
        let mut own: Vec<String> = values
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST_BYTES)
            .collect();
        // One that is in another goes last.
        own.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(own)
    }

    /// The secrets of this process's environment.
    pub fn of_environment() -> Self {
        let text = |word: std::ffi::OsString| word.into_string().ok();
        Self::among(
            std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))),
        )
    }

    /// A text in which no secret shows.
    pub fn hidden(&self, text: &str) -> String {
        let mut own = text.to_owned();
        for secret in &self.0 {
            if own.contains(secret.as_str()) {
                own = own.replace(secret.as_str(), HIDDEN);
            }
        }
        if CREDENTIAL.is_match(&own) {
            own = CREDENTIAL.replace_all(&own, HIDDEN).into_owned();
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn secrets_of_the_environment_and_credentials_of_google_do_not_show() {
        let variables = [
            ("CI_JOB_TOKEN", " long-enough\n"),
            ("OTHER_TOKEN", "long-enough-too"),
            ("PIN_KEY", "1234"),
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
            ("-----BEGIN RSA PRIVATE KEY-----\ncut", "***"),
        ] {
            assert_eq!(secrets.hidden(text), hidden);
        }
        assert!(!format!("{secrets:?}").contains("long"));
    }
}
