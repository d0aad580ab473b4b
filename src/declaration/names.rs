//! Names that the API takes, and that every host has room for.

use super::Finding;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What is kept of a name that is too long, besides its hash.
pub(crate) const HASH_CHARS: usize = 8;

/// The names that were given so far, each with the name that it stands for.
#[derive(Debug, Clone)]
pub struct Names {
    longest: usize,
    taken: BTreeMap<String, String>,
}

impl Names {
    /// The longest name that fits with what Gemini CLI 0.61 puts before a discovered tool's.
    pub const LONGEST: usize = 47;

    /// For names of at most so many characters.
    pub fn new(longest: usize) -> Self {
        Self {
            longest,
            taken: BTreeMap::new(),
        }
    }

    /// The name for the model of the tool that is called `original` by who declares it. The
    /// same name always gives the same, whatever else is declared, unless another tool's
    /// name is in the way.
    ///
    /// # Errors
    ///
    /// Where the very same name was declared before.
    pub fn take(&mut self, original: &str, findings: &mut Vec<Finding>) -> Result<String, String> {
        let mut name = valid(original, self.longest);
        if let Some(other) = self.taken.get(&name) {
            if other == original {
                return Err("It is declared twice; the first counts.".to_owned());
            }
            name = hashed(&plain(original), original, self.longest);
            if self.taken.contains_key(&name) {
                return Err("Its name can't be told from another's; rename it.".to_owned());
            }
        }
        if name != original {
            findings.push(Finding::repair(
                "name",
                &original.escape_default().to_string(),
                "name",
                format!(
                    "The API takes letters, digits, _ . and -, at most {} of them: the model knows \
                     the tool as {name}, and its own name is used where it is called.",
                    self.longest
                ),
            ));
        }
        self.taken.insert(name.clone(), original.to_owned());
        Ok(name)
    }
}

/// A valid name of at most `longest` characters.
fn valid(original: &str, longest: usize) -> String {
    let name = plain(original);
    if name.len() <= longest {
        name
    } else {
        hashed(&name, original, longest)
    }
}

fn plain(original: &str) -> String {
    let mut name: String = original
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') => c,
            _ => '_',
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

/// A name of at most `longest` ASCII characters that only `original` has.
pub(crate) fn hashed(name: &str, original: &str, longest: usize) -> String {
    let hash = Sha256::digest(original.as_bytes());
    let hex = hash
        .iter()
        .take(HASH_CHARS / 2)
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let keep = name.len().min(longest - HASH_CHARS - 1);
    format!("{}_{hex}", &name[..keep])
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
}
