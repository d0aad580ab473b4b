//! Rules, and the TOML files that they are written in.
//!
//! A file that is valid TOML is read to its end whatever is wrong with its rules, so that one run
//! names faults of all rules, each with its line and column.

use gemini_tools_builtin_tools::builtin::line_pattern::LinePattern;
use gemini_tools_core::diagnostic::{Diagnostic, Place, Severity};
use gemini_tools_core::position::LineIndex;
use gemini_tools_core::registry::nearest;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_process::read_named;
use gemini_tools_workspace::pattern::{PatternSet, excluded, fault, split_list};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// Maximum size of a rule file in bytes.
pub const MAX_RULE_FILE_BYTES: usize = 4 * 1024 * 1024;

const HAS_MATCH: &str = "The file has a match.";

const MAX_RULES: usize = 1_000;

/// What a rule demands of the files that it applies to.
#[derive(Debug)]
pub enum Demand {
    /// No line may match.
    NoMatch(LineRule),
    /// In each file, at least one line must match.
    Match(LineRule),
    /// No file that the rule applies to may exist.
    NoFile,
    /// At least one file that the rule applies to must exist.
    File,
    /// The name of each file, without its directory, must match.
    Name(LinePattern),
}

/// The lines that a rule is about.
#[derive(Debug)]
pub struct LineRule {
    /// The pattern that matches the lines.
    pub pattern: LinePattern,
    /// Lines that also match this pattern do not count.
    pub except: Option<LinePattern>,
}

/// A rule of a rule file, checked and compiled.
#[derive(Debug)]
pub struct Rule {
    /// The rule's name in reports.
    pub id: String,
    /// What the rule demands of its files.
    pub demand: Demand,
    /// Patterns of the files that the rule applies to; those with an exclamation mark are of files
    /// that it does not apply to. If there are no others, it applies to all files.
    pub include: Vec<String>,
    /// Patterns of files that the rule does not apply to, even if `include` matches them.
    pub exclude: Vec<String>,
    /// The severity of a finding.
    pub level: Severity,
    /// The message of a finding, in which `{text}` stands for the line and `{1}` for a group; if it
    /// is empty, a message that says what was found is used.
    pub message: String,
    /// What to do about a finding; may be empty.
    pub help: String,
    /// The address of a page about the rule; may be empty.
    pub url: String,
    /// If a run has at most this many findings of the rule, they are not reported.
    pub max: u64,
    /// Where the rule stands: the place of a finding about a file that is missing.
    pub place: Box<Place>,
}

impl LineRule {
    /// Compiles a pattern and the one of lines that do not count, which is never literal. Errors
    /// name the argument or key.
    pub fn new(
        pattern: &str,
        except: Option<&str>,
        ignores_case: bool,
        fixed: bool,
    ) -> Result<Self, ToolError> {
        let except = except.map(|e| LinePattern::new("exclude_pattern", e, ignores_case, false));
        Ok(Self {
            pattern: LinePattern::new("pattern", pattern, ignores_case, fixed)?,
            except: except.transpose()?,
        })
    }
}

impl Rule {
    /// Returns the patterns of the files that the rule applies to.
    pub fn included(&self) -> impl Iterator<Item = &str> {
        let all = self.include.iter().map(String::as_str);
        all.filter(|pattern| excluded(pattern).is_none())
    }

    /// Returns the message of a finding. `shown` is the line or the file's name that the finding is
    /// about; it is empty if a line or a file is missing, or if the file is not text. `line` is the
    /// whole line, of which `shown` may be a piece.
    pub fn message(&self, shown: &str, line: &str) -> String {
        let text = match (&self.demand, shown.trim()) {
            (Demand::NoMatch(_), "") => HAS_MATCH,
            (_, text) => text,
        };
        let mut groups = None;
        let (mut out, mut done) = (String::new(), 0);
        for (place, name) in placeholders(&self.message) {
            out.push_str(&self.message[done..place.start]);
            out.push_str(match (&self.demand, name.parse::<usize>()) {
                (Demand::NoMatch(rule), Ok(group)) => {
                    let groups = groups.get_or_insert_with(|| rule.pattern.groups(line));
                    groups.get(group).copied().flatten().unwrap_or_default()
                }
                _ => text,
            });
            done = place.end;
        }
        out.push_str(&self.message[done..]);
        // A group may have taken no part in the match.
        if !out.trim().is_empty() {
            return out;
        }
        match self.demand {
            Demand::NoMatch(_) if text == HAS_MATCH => HAS_MATCH.to_owned(),
            Demand::NoMatch(_) => format!("Found: {text}"),
            Demand::Match(_) => "The file has no match.".to_owned(),
            Demand::NoFile => "There must be no such file.".to_owned(),
            Demand::File => {
                let wanted: Vec<&str> = self.included().collect();
                format!("There is no file {}.", wanted.join(" or "))
            }
            Demand::Name(_) => format!("The name {text} does not fit."),
        }
    }

    /// Returns true if the message of a finding contains what was found, so that a report need not
    /// repeat it.
    pub fn tells_text(&self) -> bool {
        self.message.is_empty() || placeholders(&self.message).next().is_some()
    }
}

/// Finds the placeholders in a message: `{text}`, and `{1}` and so on for groups. Returns the byte
/// range of each, with its braces, and the name within them.
fn placeholders(message: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    message.match_indices('{').filter_map(|(at, _)| {
        let (name, _) = message[at + 1..].split_once('}')?;
        let is_group = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        (is_group || name == "text").then_some((at..at + name.len() + 2, name))
    })
}

/// The content of a rule file.
#[derive(Debug, Default)]
pub struct RuleFile {
    /// The rules, in their order.
    pub rules: Vec<Rule>,
    /// The lowest level at which a finding fails a run; `None` if the file does not say.
    pub fail_level: Option<Severity>,
    /// The baseline file, relative to the directory of the rule file; `None` for none.
    pub baseline: Option<PathBuf>,
}

fn text_of(file: &Path, cancel: &Cancellation) -> Result<String, Diagnostic> {
    let fault = |message: String| Diagnostic::error("rule-file", "", "", message).in_file(file);
    let bytes = read_named(file, MAX_RULE_FILE_BYTES, cancel)
        .map_err(|e| fault(format!("The file can't be read: {e}.")))?;
    String::from_utf8(bytes).map_err(|e| {
        let before =
            String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]).into_owned();
        let mut fault = fault("The file is not text in UTF-8.".to_owned());
        fault.put_at(LineIndex::new(&before).position(before.len()));
        fault
    })
}

impl RuleFile {
    /// Returns true if a text looks like a rule file, even if it is malformed.
    pub fn is_one(text: &str) -> bool {
        let (top, _) = DeTable::parse_recoverable(text);
        let top = top.get_ref();
        ["rule", "rules", "fail_level"]
            .iter()
            .any(|key| top.contains_key(*key))
    }

    /// Opens and reads a rule file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file can't be opened, is too large or is not text, or if the call
    /// was interrupted, and the errors of [`RuleFile::read`].
    pub fn load(file: &Path, cancel: &Cancellation) -> Result<Self, Vec<Diagnostic>> {
        let text = text_of(file, cancel).map_err(|fault| vec![fault])?;
        Self::read(file, &text)
    }

    /// Reads the text of a rule file.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the file, in the order of its lines.
    pub fn read(file: &Path, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader {
            file,
            lines: LineIndex::new(text),
            faults: Vec::new(),
        };
        let read = match DeTable::parse(text) {
            Ok(top) => reader.file(top),
            Err(error) => {
                reader.unread(&error, 0);
                Self::default()
            }
        };
        let mut faults = reader.faults;
        faults.sort_by_key(|fault| (fault.place.line, fault.place.column));
        if faults.is_empty() {
            Ok(read)
        } else {
            Err(faults)
        }
    }

    /// Adds the rules of another file. Of two fail levels the stricter one is kept, of two
    /// baselines the first.
    ///
    /// # Errors
    ///
    /// Returns a message if both have a rule of the same name, or if there are too many rules.
    pub fn add(&mut self, other: Self) -> Result<(), String> {
        let has = |id: &str| self.rules.iter().any(|rule| rule.id == id);
        if let Some(twice) = other.rules.iter().find(|rule| has(&rule.id)) {
            return Err(format!("Two of the rule files have a rule {:?}.", twice.id));
        }
        self.rules.extend(other.rules);
        if self.rules.len() > MAX_RULES {
            return Err(format!("There are more than {MAX_RULES} rules."));
        }
        self.fail_level = self.fail_level.max(other.fail_level);
        self.baseline = self.baseline.take().or(other.baseline);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Top {
    fail_level: Option<Level>,
    baseline: Option<PathBuf>,
    #[serde(rename = "rule")]
    _rules: Option<IgnoredAny>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
    Note,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warning => Self::Warning,
            Level::Note => Self::Repair,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct WrittenRule {
    id: Spanned<String>,
    pattern: Option<Spanned<String>>,
    glob: Option<Spanned<Patterns>>,
    name: Option<Spanned<String>>,
    require: Option<Spanned<bool>>,
    case_sensitive: Option<Spanned<bool>>,
    fixed_strings: Option<Spanned<bool>>,
    exclude_pattern: Option<Spanned<String>>,
    include: Option<Spanned<Patterns>>,
    exclude: Option<Spanned<Patterns>>,
    level: Option<Level>,
    message: Option<Spanned<String>>,
    help: Option<String>,
    url: Option<Spanned<String>>,
    max: Option<Spanned<u64>>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a pattern or a list of patterns was expected")]
enum Patterns {
    Text(String),
    List(Vec<String>),
}

struct Reader<'a> {
    file: &'a Path,
    lines: LineIndex<'a>,
    faults: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn fault(&mut self, at: usize, message: impl Into<String>) {
        let mut fault = Diagnostic::error("rule-file", "", "", message).in_file(self.file);
        fault.put_at(self.lines.position(at));
        self.faults.push(fault);
    }

    /// Records an error of the TOML parser. If it has no position, `start` is used, a byte offset.
    fn unread(&mut self, error: &toml::de::Error, start: usize) {
        let said = error.message().trim();
        let mut names = said.split('`').skip(1).step_by(2);
        let message = match names.next().filter(|_| said.starts_with("unknown field")) {
            Some(name) => {
                let near = nearest(name, names.map(|key| (key, key)));
                let near = near.first().map(|near| format!(" Did you mean {near:?}?"));
                format!("{name:?} is no key here.{}", near.unwrap_or_default())
            }
            None => format!("The file can't be read: {said}."),
        };
        self.fault(error.span().map_or(start, |span| span.start), message);
    }

    fn file(&mut self, top: Spanned<DeTable<'_>>) -> RuleFile {
        let rules = match top.get_ref().get("rule").map(Spanned::get_ref) {
            Some(DeValue::Array(rules)) => rules.iter().cloned().collect(),
            _ => Vec::new(),
        };
        if rules.is_empty() {
            self.fault(0, "The file has no rule: each begins with [[rule]].");
        }
        if let Some(first) = rules.get(MAX_RULES) {
            let what = format!("There are more than {MAX_RULES} rules.");
            self.fault(first.span().start, what);
        }
        let mut file = RuleFile::default();
        match Top::deserialize(toml::de::Deserializer::from(top)) {
            Ok(top) => {
                file.fail_level = top.fail_level.map(Severity::from);
                file.baseline = top.baseline;
            }
            Err(error) => self.unread(&error, 0),
        }
        for rule in rules.into_iter().take(MAX_RULES) {
            let start = rule.span().start;
            match WrittenRule::deserialize(ValueDeserializer::from(rule)) {
                Ok(rule) => {
                    if file
                        .rules
                        .iter()
                        .any(|other| other.id == *rule.id.get_ref())
                    {
                        let what = format!("Another rule has the id {:?}.", rule.id.get_ref());
                        self.fault(rule.id.span().start, what);
                    }
                    file.rules.extend(self.rule(rule, start));
                }
                Err(error) => self.unread(&error, start),
            }
        }
        file
    }

    fn rule(&mut self, rule: WrittenRule, start: usize) -> Option<Rule> {
        let id = rule.id.get_ref();
        let fits = |c: char| c.is_alphanumeric() || "-_./".contains(c);
        if id.is_empty() || !id.chars().all(fits) {
            let what = format!("{id:?} can't be an id: it takes letters, digits and - _ . /");
            self.fault(rule.id.span().start, what);
        }
        let texts = [
            ("pattern", &rule.pattern),
            ("name", &rule.name),
            ("exclude_pattern", &rule.exclude_pattern),
            ("message", &rule.message),
        ];
        for (key, text) in texts {
            if let Some(empty) = text
                .as_ref()
                .filter(|text| text.get_ref().trim().is_empty())
            {
                self.fault(empty.span().start, format!("{key:?} must not be empty."));
            }
        }
        let web = ["https://", "http://"];
        if let Some(url) = &rule.url
            && !(web.iter().any(|scheme| url.get_ref().starts_with(scheme))
                && url
                    .get_ref()
                    .chars()
                    .all(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c)))
        {
            let what = "\"url\" must begin with https:// or http:// and have no blanks.";
            self.fault(url.span().start, what);
        }
        let demand = self.demand(&rule, start);
        let mut rule_file = Diagnostic::error("", "", "", "").in_file(self.file);
        rule_file.put_at(self.lines.position(rule.id.span().start));
        let place = rule_file.place;
        if let (Some(message), Some(demand)) = (&rule.message, &demand) {
            self.check_groups(message, demand);
        }
        let include = self.patterns("include", rule.include);
        let glob = self.patterns("glob", rule.glob);
        Some(Rule {
            demand: demand?,
            include: if glob.is_empty() { include } else { glob },
            exclude: self.patterns("exclude", rule.exclude),
            id: rule.id.into_inner(),
            level: rule.level.map_or(Severity::Error, Severity::from),
            message: rule.message.map(Spanned::into_inner).unwrap_or_default(),
            help: rule.help.unwrap_or_default(),
            url: rule.url.map(Spanned::into_inner).unwrap_or_default(),
            max: rule.max.map(Spanned::into_inner).unwrap_or_default(),
            place,
        })
    }

    fn demand(&mut self, rule: &WrittenRule, start: usize) -> Option<Demand> {
        let require = rule
            .require
            .as_ref()
            .is_some_and(|require| *require.get_ref());
        let glob = rule.glob.as_ref().map(Spanned::span);
        let (name, pattern) = match (&rule.pattern, &rule.name, &glob) {
            (Some(pattern), None, None) => ("pattern", pattern),
            (None, Some(pattern), None) => ("name", pattern),
            (None, None, Some(_)) => {
                self.misplaced(rule, require);
                return Some(if require {
                    Demand::File
                } else {
                    Demand::NoFile
                });
            }
            _ => {
                let kinds =
                    "\"pattern\" for lines, \"glob\" for files, or \"name\" for names of files";
                self.fault(start, format!("A rule has one of these: {kinds}."));
                return None;
            }
        };
        self.misplaced(rule, require);
        let flag = |flag: &Option<Spanned<bool>>| flag.as_ref().is_some_and(|flag| *flag.get_ref());
        let except = rule.exclude_pattern.as_ref();
        let except = except.map(|text| text.get_ref().as_str());
        // Rules about names are mostly about their case.
        let minds_case = rule.case_sensitive.as_ref();
        let minds_case = minds_case.map_or(name == "name", |flag| *flag.get_ref());
        let (ignores_case, fixed) = (!minds_case, flag(&rule.fixed_strings));
        let written = pattern.get_ref().as_str();
        let read = if name == "name" {
            let compile = |text: &str| LinePattern::new(name, text, ignores_case, fixed);
            // A name is no line: `^` and `$` are its edges, also where it has line feeds. What is
            // wrong with the pattern is told as it was written.
            let plain = compile(written);
            let whole = || compile(&["(?-m)", written].concat());
            let read = plain.and_then(|plain| if fixed { Ok(plain) } else { whole() });
            read.map(Demand::Name)
        } else {
            let demand = if require {
                Demand::Match
            } else {
                Demand::NoMatch
            };
            LineRule::new(written, except, ignores_case, fixed).map(demand)
        };
        let refused = |error: ToolError| {
            let except = rule.exclude_pattern.as_ref();
            let except = except.filter(|_| error.message.starts_with("\"exclude_pattern\""));
            self.fault(except.unwrap_or(pattern).span().start, error.message);
        };
        read.map_err(refused).ok()
    }

    /// Reports keys that have no effect in a rule of this kind.
    fn misplaced(&mut self, rule: &WrittenRule, require: bool) {
        let is_glob = rule.glob.is_some();
        self.misplaced_key("include", rule.include.as_ref(), is_glob);
        self.misplaced_key("case_sensitive", rule.case_sensitive.as_ref(), is_glob);
        self.misplaced_key("fixed_strings", rule.fixed_strings.as_ref(), is_glob);
        let except = rule.exclude_pattern.as_ref();
        self.misplaced_key("exclude_pattern", except, rule.pattern.is_none());
        self.misplaced_key("require", rule.require.as_ref(), rule.name.is_some());
        self.misplaced_key("max", rule.max.as_ref(), is_glob && require);
    }

    fn misplaced_key<T>(&mut self, key: &str, value: Option<&Spanned<T>>, is_misplaced: bool) {
        if let Some(value) = value.filter(|_| is_misplaced) {
            let what = format!("{key:?} says nothing for this kind of rule.");
            self.fault(value.span().start, what);
        }
    }

    fn check_groups(&mut self, message: &Spanned<String>, demand: &Demand) {
        let (count, why) = match demand {
            Demand::NoMatch(rule) => (
                rule.pattern.groups("").len(),
                "the pattern has no such group",
            ),
            _ => (0, "only a rule against a \"pattern\" finds groups"),
        };
        let mut names = placeholders(message.get_ref()).map(|(_, name)| name);
        let is_none = |name: &str| name.parse().map_or(true, |n: usize| n >= count);
        if let Some(name) = names.find(|name| *name != "text" && is_none(name)) {
            let what = format!("The message has {{{name}}}, but {why}.");
            self.fault(message.span().start, what);
        }
    }

    fn patterns(&mut self, key: &str, patterns: Option<Spanned<Patterns>>) -> Vec<String> {
        let Some(patterns) = patterns else {
            return Vec::new();
        };
        let at = patterns.span().start;
        let patterns = match patterns.into_inner() {
            Patterns::Text(text) => split_list(&text).into_iter().map(str::to_owned).collect(),
            Patterns::List(list) => list,
        };
        let meant = patterns.iter().map(|one| excluded(one).unwrap_or(one));
        if patterns.is_empty() || meant.clone().any(|pattern| pattern.trim().is_empty()) {
            self.fault(at, format!("{key:?} has an empty pattern."));
        }
        let wrong = meant.clone().find_map(|one| Some((one, fault(one)?)));
        if let Some((pattern, why)) = wrong {
            self.fault(at, format!("{key:?}: {pattern:?} is no pattern: {why}."));
        }
        if let Some(taken_in) = patterns
            .iter()
            .find_map(|one| excluded(one))
            .filter(|_| key == "exclude")
        {
            let what = format!("\"exclude\": {taken_in:?} can't be taken in again by \"!\".");
            self.fault(
                at,
                format!("{what} Name it in \"include\", or exclude less."),
            );
        }
        if let Err(error) = PatternSet::for_names_or_paths(meant, false) {
            self.fault(at, format!("{key:?}: {}", error.message));
        }
        patterns
    }
}
