//! The command of a manifest: words with placeholders, and the words that a call makes of them.
//!
//! No shell is involved: a placeholder's value is one word, or part of one, whatever is in it.
//! What remains is a value that the program itself takes for a flag: one that begins with `-` is
//! refused where it would be a word of its own, unless a word `--` stands before it.

use crate::tool::ToolError;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The placeholder for the directory of the tool's own file.
pub(super) const TOOL_DIR: &str = "tool_dir";

/// Programs that take a word for a program text.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];

/// The command of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Item>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Word(Word),
    /// Left out as a whole where something in it is missing.
    Group(Vec<Word>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Param(String),
    /// `{?name}`: nothing, but its group is there only where the parameter is true or given.
    Condition(String),
    ToolDir,
}

impl Template {
    /// Reads the words; an array among them is a group.
    pub(super) fn parse(list: &[toml::Value]) -> Result<Self, String> {
        let mut items = Vec::new();
        for value in list {
            items.push(match value {
                toml::Value::String(text) => {
                    let word = Word::parse(text)?;
                    if word.0.iter().any(|p| matches!(p, Piece::Condition(_))) {
                        return Err(format!(
                            "{text:?} is a condition: put it into a group such as [\"--all\", {text:?}]."
                        ));
                    }
                    Item::Word(word)
                }
                toml::Value::Array(words) => Item::Group(
                    words
                        .iter()
                        .map(|word| match word {
                            toml::Value::String(text) => Word::parse(text),
                            _ => Err("a group holds strings only.".to_owned()),
                        })
                        .collect::<Result<_, _>>()?,
                ),
                _ => {
                    return Err(
                        "each element must be a string, or an array of strings that belong together."
                            .to_owned(),
                    );
                }
            });
        }
        let template = Self(items);
        template.check()?;
        Ok(template)
    }

    fn check(&self) -> Result<(), String> {
        let Some(Item::Word(program)) = self.0.first() else {
            return Err("the first element must be the program.".to_owned());
        };
        if program.params().next().is_some() {
            return Err("the program itself can't be a parameter.".to_owned());
        }
        if matches!(&*program.0, [] | [Piece::Text(_)])
            && program.literal().is_none_or(str::is_empty)
        {
            return Err("the first element must be the program.".to_owned());
        }
        let words: Vec<_> = self.words().collect();
        for (at, word) in words.iter().enumerate() {
            let name = word.literal().and_then(|text| text.rsplit('/').next());
            if !name.is_some_and(|name| SHELLS.contains(&name)) {
                continue;
            }
            let mut rest = words[at + 1..].iter().skip_while(|word| {
                !word.literal().is_some_and(|text| {
                    is_flag(text) && !text.starts_with("--") && text.contains('c')
                })
            });
            rest.next();
            if rest
                .next()
                .is_some_and(|word| word.params().next().is_some())
            {
                return Err(
                    "a parameter can't be part of a shell's text, where it could be any command: \
                     use script, or pass it after the text and use \"$1\"."
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    fn words(&self) -> impl Iterator<Item = &Word> {
        self.0.iter().flat_map(|item| match item {
            Item::Word(word) => std::slice::from_ref(word),
            Item::Group(words) => words.as_slice(),
        })
    }

    /// The parameters that are used.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        self.words().flat_map(|word| {
            word.0.iter().filter_map(|piece| match piece {
                Piece::Param(name) | Piece::Condition(name) => Some(name.as_str()),
                _ => None,
            })
        })
    }

    /// The words of a call.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params` for a value that would be taken for a flag.
    pub(super) fn expand(
        &self,
        args: &Map<String, Value>,
        tool_dir: &Path,
    ) -> Result<Vec<OsString>, ToolError> {
        let mut out = Expansion {
            args,
            tool_dir,
            words: Vec::new(),
            flags_ended: false,
        };
        let mut items = self.0.iter().peekable();
        while let Some(item) = items.next() {
            match item {
                Item::Group(words) => {
                    if words.iter().all(|word| word.is_there(args)) {
                        words.iter().try_for_each(|word| out.push(word))?;
                    }
                }
                Item::Word(word) => {
                    if word.literal().is_some_and(is_flag)
                        && let Some(Item::Word(next)) = items.peek()
                        && matches!(&*next.0, [Piece::Param(_)])
                        && !next.is_there(args)
                    {
                        items.next();
                    } else if word.is_there(args) {
                        out.push(word)?;
                    }
                }
            }
        }
        Ok(out.words)
    }
}

fn is_flag(text: &str) -> bool {
    text.starts_with('-') && !text.trim_start_matches('-').is_empty()
}

struct Expansion<'a> {
    args: &'a Map<String, Value>,
    tool_dir: &'a Path,
    words: Vec<OsString>,
    /// Whether a word `--` has come.
    flags_ended: bool,
}

impl Expansion<'_> {
    fn push(&mut self, word: &Word) -> Result<(), ToolError> {
        let list = word.0.iter().find_map(|piece| match piece {
            Piece::Param(name) => self.args.get(name).and_then(Value::as_array),
            _ => None,
        });
        match list {
            Some(list) => list
                .iter()
                .try_for_each(|item| self.push_one(word, Some(item))),
            None => self.push_one(word, None),
        }
    }

    /// One word, with `item` in the place of the list in it.
    fn push_one(&mut self, word: &Word, item: Option<&Value>) -> Result<(), ToolError> {
        let mut text = Vec::new();
        for piece in &word.0 {
            match piece {
                Piece::Text(piece) => text.extend(piece.as_bytes()),
                Piece::ToolDir => text.extend(self.tool_dir.as_os_str().as_bytes()),
                Piece::Condition(_) => return Ok(()),
                Piece::Param(name) => {
                    let value = self.args.get(name).unwrap_or(&Value::Null);
                    let value = match (value, item) {
                        (Value::Array(_), Some(item)) => item,
                        _ => value,
                    };
                    text.extend(text_of(value).as_bytes());
                }
            }
        }
        if let Some(Piece::Param(name)) = word.0.first()
            && text.first() == Some(&b'-')
            && !self.flags_ended
        {
            return Err(ToolError::invalid(format!(
                "\"{name}\" must not begin with \"-\" here, because the program would take it for \
                 one of its flags; it is {:?}.",
                String::from_utf8_lossy(&text)
            ))
            .with_hint("For a file, put ./ before it."));
        }
        self.flags_ended |= text == b"--" && word.literal().is_some();
        self.words.push(OsString::from_vec(text));
        Ok(())
    }
}

/// A value as a word or as an environment variable: texts as they are, all else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Word {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            Err(format!(
                "{text:?} {what}: write {{name}} for a parameter, and {{{{ and }}}} for braces."
            ))
        };
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return wrong("has a } without its {");
            }
            let Some((name, after)) = rest.split_once('}') else {
                return wrong("has a { without its }");
            };
            rest = after;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            let (is_condition, name) = match name.strip_prefix('?') {
                Some(name) => (true, name),
                None => (false, name),
            };
            if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '{') {
                return wrong("has no name between { and }");
            }
            pieces.push(match (is_condition, name) {
                (true, name) => Piece::Condition(name.to_owned()),
                (false, TOOL_DIR) => Piece::ToolDir,
                (false, name) => Piece::Param(name.to_owned()),
            });
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if pieces.len() > 1 && pieces.iter().any(|p| matches!(p, Piece::Condition(_))) {
            return wrong("has a condition and something else");
        }
        Ok(Self(pieces))
    }

    /// The text of a word without placeholders.
    fn literal(&self) -> Option<&str> {
        match &*self.0 {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn params(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Param(name) | Piece::Condition(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether all of its parameters are given, and its condition holds.
    fn is_there(&self, args: &Map<String, Value>) -> bool {
        self.0.iter().all(|piece| match piece {
            Piece::Text(_) | Piece::ToolDir => true,
            Piece::Param(name) => is_given(args.get(name)),
            Piece::Condition(name) => {
                is_given(args.get(name)) && args.get(name) != Some(&Value::Bool(false))
            }
        })
    }
}

/// An empty list is as good as none.
fn is_given(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::Template;
    use serde_json::{Value, json};
    use std::path::Path;

    fn template(words: &str) -> Result<Template, String> {
        let table: toml::Table = toml::from_str(&format!("c = {words}")).expect("TOML");
        Template::parse(table["c"].as_array().expect("an array"))
    }

    fn expand(words: &str, args: Value) -> Result<Vec<String>, String> {
        let Value::Object(args) = args else {
            panic!("an object")
        };
        let words = template(words)?.expand(&args, Path::new("/t"));
        let words = words.map_err(|e| e.to_string())?;
        Ok(words
            .into_iter()
            .map(|word| word.into_string().expect("UTF-8"))
            .collect())
    }

    #[test]
    fn a_value_is_one_word_whatever_it_holds() {
        for odd in ["", "a b", "'\"", "a\nb", "; rm -rf /", "$(id)", "{x}", "*"] {
            let words = expand(r#"["p", "{x}", "a{x}b"]"#, json!({"x": odd})).expect("expands");
            assert_eq!(words, ["p", odd, &format!("a{odd}b")]);
        }
    }

    #[test]
    fn lists_spread_also_within_a_word() {
        let args = json!({"x": ["a b", 2]});
        let words = expand(r#"["p", "{x}", "--i={x}"]"#, args).expect("expands");
        assert_eq!(words, ["p", "a b", "2", "--i=a b", "--i=2"]);
    }

    #[test]
    fn what_is_missing_takes_its_flag_or_group_along() {
        let words =
            r#"["p", "-n", "{n}", ["--in", "{d}", "x"], "--y={y}", ["-a", "{?all}"], "-q", "lit"]"#;
        assert_eq!(
            expand(words, json!({})).expect("expands"),
            ["p", "-q", "lit"]
        );
        let all = json!({"n": 1, "d": "d", "y": true, "all": true});
        assert_eq!(
            expand(words, all).expect("expands"),
            [
                "p", "-n", "1", "--in", "d", "x", "--y=true", "-a", "-q", "lit"
            ]
        );
        let none = json!({"all": false, "n": null, "d": []});
        assert_eq!(expand(words, none).expect("expands"), ["p", "-q", "lit"]);
    }

    #[test]
    fn a_value_is_never_a_flag() {
        let error = |words: &str| expand(words, json!({"x": "-rf"})).expect_err("refused");
        assert!(error(r#"["p", "{x}"]"#).contains("\"x\" must not begin with \"-\""));
        assert!(error(r#"["p", "{x}/y"]"#).contains("must not begin"));
        assert!(expand(r#"["p", "{x}"]"#, json!({"x": ["a", "-b"]})).is_err());
        for fine in [
            r#"["p", "--", "{x}"]"#,
            r#"["p", "--x={x}"]"#,
            r#"["p", "./{x}"]"#,
        ] {
            assert!(expand(fine, json!({"x": "-rf"})).is_ok(), "{fine}");
        }
        // A value is no "--" of the manifest.
        assert!(expand(r#"["p", "--", "{x}"]"#, json!({"x": ["--", "-a"]})).is_ok());
    }

    #[test]
    fn braces_and_the_directory_have_their_signs() {
        assert_eq!(
            expand(r#"["p", "{{x}}", "{tool_dir}/y"]"#, json!({})).expect("expands"),
            ["p", "{x}", "/t/y"]
        );
    }

    #[test]
    fn what_can_not_be_meant_is_told() {
        for bad in [
            "[]",
            r#"[""]"#,
            r#"["{x}"]"#,
            r#"[["p"]]"#,
            r#"["p", 1]"#,
            r#"["p", ["a", ["b"]]]"#,
            r#"["p", "{x"]"#,
            r#"["p", "x}"]"#,
            r#"["p", "{}"]"#,
            r#"["p", "{?x}"]"#,
            r#"["bash", "-c", "echo {x}"]"#,
            r#"["env", "/bin/sh", "-ec", "{x}"]"#,
        ] {
            assert!(template(bad).is_err(), "{bad}");
        }
        assert!(template(r#"["bash", "-c", "echo \"$1\"", "x", "{x}"]"#).is_ok());
    }
}
