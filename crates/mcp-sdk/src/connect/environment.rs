//! The environment variables of a server that is a child process.
//!
//! A server inherits variables that programs need to find their files, each other and the network,
//! and those that its configuration names: `"env": {"GITHUB_TOKEN": "$GITHUB_TOKEN"}`. The
//! inherited variables are an allowlist, because a list of the names of credentials would never be
//! complete. The official SDKs do the same with a shorter list; Gemini CLI 0.61 leaves out what
//! looks like a credential, and 0.8 passes everything on.

use gemini_tools_core::secrets::is_secret;
use std::collections::BTreeMap;
use std::ffi::OsString;

const NAMES: [&str; 32] = [
    "ALL_PROXY",
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "FORCE_COLOR",
    "FTP_PROXY",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "NO_COLOR",
    "NO_PROXY",
    "PATH",
    "PNPM_HOME",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

const PREFIXES: [&str; 16] = [
    "ASDF_",
    "BUN_",
    "CARGO_",
    "CONDA_",
    "DENO_",
    "LC_",
    "MISE_",
    "NIX_",
    "NODE_",
    "NPM_CONFIG_",
    "NVM_",
    "PYTHON",
    "RUSTUP_",
    "UV_",
    "VOLTA_",
    "XDG_",
];

pub(super) fn server_environment(own: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, value)| {
            let name = name.to_string_lossy();
            is_handed_on(&name) && !is_secret(&name, &value.to_string_lossy())
        })
        .collect();
    all.insert("GEMINI_CLI".into(), "1".into());
    for (name, value) in own {
        all.insert(name.into(), value.into());
    }
    all
}

fn is_handed_on(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_handed_on;

    #[test]
    fn what_programs_need_is_handed_on_and_nothing_else() {
        for name in [
            "PATH",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "npm_config_cache",
            "https_proxy",
        ] {
            assert!(is_handed_on(name), "{name}");
        }
        for name in [
            "MYSQL_PWD",
            "BORG_PASSPHRASE",
            "SMTP_PASS",
            "AZURE_DEVOPS_EXT_PAT",
            "CI_JOB_JWT",
            "SENTRY_DSN",
        ] {
            assert!(!is_handed_on(name), "{name}");
        }
    }
}
