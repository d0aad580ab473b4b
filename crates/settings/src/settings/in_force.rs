//! The settings in force, for display. Secrets are hidden.

use super::{McpServer, Scope, Settings, keys};
use gemini_tools_core::secrets::is_secret;
use serde_json::{Value, json};

const HIDDEN: &str = "(hidden)";

/// A value in force.
#[derive(Debug, Clone)]
pub struct EffectiveValue {
    /// The value's key, with dots.
    pub key: String,
    /// The value, without secrets.
    pub value: Value,
    /// The files that set the value: several if lists are joined.
    pub from: Vec<Scope>,
}

impl Settings {
    /// Returns all values that files have set and that count, with their sources. To display them,
    /// load the settings with [`Settings::load_unexpanded`], so that variables are shown by name.
    pub fn in_force(&self) -> Vec<EffectiveValue> {
        let mut all = Vec::new();
        for key in keys::ALL.iter().map(|key| key.name) {
            let origins: Vec<_> = self.origins.iter().filter(|o| o.key == key).collect();
            if !origins.is_empty() && key != keys::MCP_SERVERS.name {
                all.push(EffectiveValue {
                    key: key.to_owned(),
                    value: self.value_in_force(key, origins.iter().map(|o| &o.value)),
                    from: origins.iter().map(|o| o.scope).collect(),
                });
            }
        }
        for (name, server) in &self.mcp.servers {
            all.push(EffectiveValue {
                key: format!("{}.{name}", keys::MCP_SERVERS.name),
                value: server.without_secrets(),
                from: vec![server.source],
            });
        }
        all
    }

    fn value_in_force<'v>(&self, key: &str, mut values: impl Iterator<Item = &'v Value>) -> Value {
        // Of these two lists, only some names in the files count, so the result is taken and not
        // the files' values.
        if key == keys::MCP_ALLOWED.name {
            return json!(self.mcp.allowed);
        }
        if key == keys::FILE_NAME.name {
            return json!(self.context_file_names);
        }
        let joined = values.next().cloned().unwrap_or_default();
        let joined = values.fold(joined, |joined, value| match (joined, value) {
            (joined, value) if joined == *value => joined,
            (Value::Array(mut joined), Value::Array(more)) => {
                joined.extend(more.iter().cloned());
                Value::Array(joined)
            }
            (joined, value) => json!([joined, value]),
        });
        match joined {
            Value::String(line) if keys::COMMANDS.contains(&key) => {
                let mut quote = None;
                let words = line.split(|c| {
                    match quote {
                        None if matches!(c, '"' | '\'') => quote = Some(c),
                        Some(open) if open == c => quote = None,
                        _ => {}
                    }
                    c == ' ' && quote.is_none()
                });
                let words: Vec<String> = words.map(str::to_owned).collect();
                hide_arguments(&words).join(" ").into()
            }
            joined => joined,
        }
    }
}

impl McpServer {
    fn without_secrets(&self) -> Value {
        let mut shown = self.clone();
        shown.args = hide_arguments(&self.args);
        for secret in shown.env.values_mut().chain(shown.headers.values_mut()) {
            *secret = hide(secret);
        }
        for address in [&mut shown.url, &mut shown.http_url].into_iter().flatten() {
            *address = hide_in_address(address);
        }
        serde_json::to_value(shown).unwrap_or_default()
    }
}

/// Hides a secret, but shows the names of variables in it: the user needs to see where the value
/// comes from.
fn hide(secret: &str) -> String {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let names: Vec<String> = secret
        .split('$')
        .skip(1)
        .map(|rest| rest.trim_start_matches('{'))
        .map(|rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
        .filter(|name| !name.is_empty())
        .map(|name| format!("${name}"))
        .collect();
    if names.is_empty() {
        return HIDDEN.to_owned();
    }
    format!("(hidden, with {})", names.join(", "))
}

pub(crate) fn hide_in_address(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else {
        return HIDDEN.to_owned();
    };
    // Setting a password fails only for URLs that can't have one.
    if url.password().is_some() {
        let _ = url.set_password(Some("hidden"));
    }
    if url.query().is_some() {
        let pairs = url.query_pairs();
        let pairs = pairs.map(|(name, value)| format!("{name}={}", hide(&value)));
        let shown: Vec<String> = pairs.collect();
        url.set_query(None);
        return format!("{url}?{}", shown.join("&"));
    }
    url.into()
}

fn hide_arguments(args: &[String]) -> Vec<String> {
    let mut hides_next = false;
    args.iter()
        .map(|arg| {
            if std::mem::take(&mut hides_next) && !arg.starts_with('-') {
                return HIDDEN.to_owned();
            }
            let is_name = arg.starts_with('-') && !arg.contains(['=', ' ']);
            hides_next = is_name && (arg == "-H" || is_marked(arg));
            hide_in_argument(arg)
        })
        .collect()
}

/// Hides a header, a value such as that of `--api-key=…`, what looks like a credential, and secrets
/// in an address.
fn hide_in_argument(arg: &str) -> String {
    let lower = arg.to_ascii_lowercase();
    let has_scheme = ["bearer ", "basic "].iter().any(|at| lower.contains(at));
    if has_scheme || arg.starts_with("-H") && arg.len() > 2 {
        return HIDDEN.to_owned();
    }
    match arg.split_once('=') {
        _ if lower.starts_with("http") && arg.contains("://") => hide_in_address(arg),
        Some((name, _)) if name.contains([' ', ':']) && is_marked(name) => HIDDEN.to_owned(),
        Some((name, _)) if is_marked(name) => format!("{name}={HIDDEN}"),
        Some((name, value)) => format!("{name}={}", hide_in_argument(value)),
        None if is_secret("", arg) => HIDDEN.to_owned(),
        None => arg.to_owned(),
    }
}

fn is_marked(name: &str) -> bool {
    is_secret(name, "") || name.to_ascii_lowercase().contains("header")
}

#[cfg(test)]
mod tests {
    use super::{hide, hide_arguments, hide_in_address};

    #[test]
    fn secrets_in_arguments_and_addresses_are_hidden() {
        for (args, expected) in [
            (
                "-y pkg --api-key k1 --token=k2 KEY=k3 a=b --auth -v",
                "-y pkg --api-key (hidden) --token=(hidden) KEY=(hidden) a=b --auth -v",
            ),
            (
                "--header X-Own:k1 -H X-Own:k2",
                "--header (hidden) -H (hidden)",
            ),
            (
                "-HX-Own:k1 -d x --headers=k2",
                "(hidden) -d x --headers=(hidden)",
            ),
            ("--to Bearer~k1 -x=basic~k2=", "--to (hidden) (hidden)"),
            ("X-Api-Key:~k1=", "(hidden)"),
            (
                "ghp_k1 -x=ghp_k2 db://u:k3@h/x",
                "(hidden) -x=(hidden) (hidden)",
            ),
            (
                "--at=https://h/?a=k1&b=k2 https://u:k3@h/",
                "--at=https://h/?a=(hidden)&b=(hidden) https://u:hidden@h/",
            ),
        ] {
            let args: Vec<_> = args.split(' ').map(|arg| arg.replace('~', " ")).collect();
            assert_eq!(hide_arguments(&args).join(" "), expected);
        }
        let shown = hide_in_address("https://u:p@h/x?key=k${KEY}&b");
        assert_eq!(
            shown,
            "https://u:hidden@h/x?key=(hidden, with $KEY)&b=(hidden)"
        );
        assert_eq!(hide_in_address("https://h/x"), "https://h/x");
        assert_eq!(hide("Bearer ${A:-x}$B$"), "(hidden, with $A, $B)");
    }
}
