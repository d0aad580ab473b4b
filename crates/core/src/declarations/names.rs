//! Gives tools names that the API accepts and that every host has room for.

use crate::diagnostic::Diagnostic;
use crate::names::{api_name, hashed};
use std::collections::BTreeMap;

/// The names given to tools so far, each with the tool's original name.
#[derive(Debug, Clone)]
pub struct Names {
    longest: usize,
    has_servers: bool,
    taken: BTreeMap<String, String>,
}

impl Names {
    /// The longest name, in characters, that still fits after the prefix that Gemini CLI 0.61 adds
    /// to discovered tools.
    pub const LONGEST: usize = 47;

    /// Makes an empty list for names of at most `longest` characters.
    pub fn new(longest: usize) -> Self {
        Self {
            longest,
            has_servers: true,
            taken: BTreeMap::new(),
        }
    }

    /// Replaces `__` by `_` in names from now on, for tools that don't come from MCP servers. `__`
    /// separates the name of a server from that of its tool, and a policy rule for a server must
    /// not match other tools.
    #[must_use]
    pub fn without_servers(mut self) -> Self {
        self.has_servers = false;
        self
    }

    /// Returns the name by which the model knows the tool called `original`, and adds a finding if
    /// they differ. The result does not depend on what else is declared, unless another tool has
    /// taken that name.
    ///
    /// # Errors
    ///
    /// Returns the reason if the same name was declared before, or if another tool has taken both
    /// the name and the name with a hash.
    pub fn take(
        &mut self,
        original: &str,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<String, &'static str> {
        let plain = self.plain(original);
        let hashed = || hashed(&plain, original, self.longest);
        let mut name = if plain.len() <= self.longest {
            plain.clone()
        } else {
            hashed()
        };
        if let Some(other) = self.taken.get(&name) {
            if other == original {
                return Err("It is declared twice; the first counts.");
            }
            name = hashed();
            if self.taken.contains_key(&name) {
                return Err("Its name can't be told from another's; rename it.");
            }
        }
        if name != original {
            findings.push(Diagnostic::repair(
                "name",
                &original.escape_default().to_string(),
                "name",
                format!(
                    "{}: the model knows the tool as {name}; a call uses its own name.",
                    self.reason(original)
                ),
            ));
        }
        self.taken.insert(name.clone(), original.to_owned());
        Ok(name)
    }

    fn plain(&self, original: &str) -> String {
        let mut name = api_name(original);
        if !self.has_servers {
            while name.contains("__") {
                name = name.replace("__", "_");
            }
        }
        name
    }

    fn reason(&self, original: &str) -> String {
        if original.len() <= self.longest && api_name(original) == original {
            return "__ stands between the names of an MCP server and its tool".to_owned();
        }
        format!(
            "The API takes letters, digits, _ . and -, at most {} of them",
            self.longest
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_made_valid_and_stay_apart() {
        let mut names = Names::new(Names::LONGEST);
        let mut findings = Vec::new();
        let mut take = |name: &str| names.take(name, &mut findings);
        assert_eq!(take("plain-name_1.x").as_deref(), Ok("plain-name_1.x"));
        assert_eq!(take("with spaces").as_deref(), Ok("with_spaces"));
        assert_eq!(take("9lives").as_deref(), Ok("_9lives"));
        let other = take("with/spaces").expect("another");
        assert!(
            other.starts_with("with_spaces_") && other.len() == 20,
            "{other}"
        );
        let long = take(&"x".repeat(64)).expect("cut");
        assert_eq!(long.len(), 47);
        assert_ne!(take(&"x".repeat(65)).expect("cut"), long);
        assert!(take("with spaces").is_err());
        assert_eq!(findings.len(), 5);
    }

    #[test]
    fn two_underscores_stay_where_servers_have_tools_and_become_one_elsewhere() {
        let mut findings = Vec::new();
        let with = Names::new(Names::LONGEST).take("server__tool", &mut findings);
        assert_eq!(with.as_deref(), Ok("server__tool"));
        let mut names = Names::new(Names::LONGEST).without_servers();
        let mut take = |name: &str| names.take(name, &mut findings);
        assert_eq!(take("server__tool").as_deref(), Ok("server_tool"));
        assert_eq!(take("a  b").as_deref(), Ok("a_b"));
        assert_eq!(take("_____x").as_deref(), Ok("_x"));
        let other = take("server_tool").expect("another name");
        assert!(other.starts_with("server_tool_"), "{other}");
        let cut = take(&format!("{}_{}", "x".repeat(37), "y".repeat(20))).expect("cut");
        assert!(cut.len() == 46 && !cut.contains("__"), "{cut}");
        let why = |i: usize| findings[i].text();
        assert!(why(0).contains("__ stands between"), "{}", why(0));
        assert!(why(1).contains("The API takes"), "{}", why(1));
    }
}
