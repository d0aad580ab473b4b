//! Ignore rules: `.gitignore` at every level, `.git/info/exclude`, the user's own file for all
//! repositories, and `.geminiignore`.
//!
//! The semantics are git's. Within a file the last matching rule decides. A deeper file decides
//! before a higher one, then `.git/info/exclude`, and the user's own file last. Everything below an
//! ignored directory is ignored. `.geminiignore` decides before all of git's files. Git's files
//! above the workspace count, up to the top of the repository.

mod pattern;

pub(crate) use pattern::BytePattern;
use std::sync::Arc;

/// Maximum size in bytes of all rules that apply in a directory. If a file exceeds it, together
/// with those of higher directories, everything below the file's directory is ignored.
pub const MAX_RULES_BYTES: usize = 8 * 1024 * 1024;

pub(super) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

const MAX_LINE_BYTES: usize = 64 * 1024;

/// The kind of ignore file whose rule excludes a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreSource {
    /// `.gitignore` or one of git's exclude files.
    Git,
    /// `.geminiignore`.
    Gemini,
}

#[derive(Debug)]
struct Rule {
    pattern: BytePattern,
    negated: bool,
    only_directories: bool,
}

/// The rules of one ignore file.
#[derive(Debug, Default)]
pub struct RuleFile {
    rules: Vec<Rule>,
    /// For each byte, the indices of the rules that match only paths which end in that byte, the
    /// last rule first. Of a hundred rules, this leaves a handful to try.
    by_last_byte: Vec<Box<[u16]>>,
    by_any_byte: Box<[u16]>,
    size: usize,
    /// True if the file is too large, so that its rules are unknown and everything is ignored.
    is_closed: bool,
}

impl RuleFile {
    /// Parses an ignore file. Lines that are not a valid pattern match nothing, as in git. A file
    /// that is too large ignores everything.
    pub fn parse(text: &[u8]) -> Self {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Self::closed();
        }
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut rules: Vec<Rule> = Vec::new();
        let mut size = 0;
        for line in text.split(|b| *b == b'\n') {
            if line.len() > MAX_LINE_BYTES {
                return Self::closed();
            }
            let Some(rule) = parse_rule(line) else {
                continue;
            };
            size += size_of::<Rule>() + rule.pattern.size();
            if size > MAX_RULES_BYTES || rules.len() == usize::from(u16::MAX) {
                return Self::closed();
            }
            rules.push(rule);
        }
        let mut by_any_byte = Vec::new();
        let mut by_last_byte: Vec<Vec<u16>> = vec![Vec::new(); 256];
        for (index, rule) in rules.iter().enumerate().rev() {
            let index = index as u16;
            match rule.pattern.last_bytes() {
                Some(bytes) => {
                    for byte in bytes {
                        let list = &mut by_last_byte[usize::from(byte)];
                        if list.last() != Some(&index) {
                            list.push(index);
                        }
                    }
                }
                None => by_any_byte.push(index),
            }
        }
        Self {
            rules,
            by_last_byte: by_last_byte.into_iter().map(Into::into).collect(),
            by_any_byte: by_any_byte.into(),
            size,
            is_closed: false,
        }
    }

    /// Returns rules that ignore everything, for a file whose rules can't be known.
    pub fn closed() -> Self {
        Self {
            is_closed: true,
            ..Self::default()
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns true if the file ignores a path relative to its directory, false if a rule with `!`
    /// includes it, and `None` if no rule matches. `name_at` is the offset of the last component.
    #[inline]
    fn verdict(&self, path: &[u8], name_at: usize, is_dir: bool) -> Option<bool> {
        let last = *path.last()?;
        if self.is_closed {
            return Some(true);
        }
        let decides = |index: &&u16| {
            let rule = &self.rules[usize::from(**index)];
            (is_dir || !rule.only_directories) && rule.pattern.matches(path, name_at)
        };
        let by_last = self.by_last_byte[usize::from(last)].iter().find(decides);
        let mut later = self
            .by_any_byte
            .iter()
            .take_while(|index| by_last < Some(*index));
        let index = later.find(decides).or(by_last)?;
        Some(!self.rules[usize::from(*index)].negated)
    }
}

fn parse_rule(line: &[u8]) -> Option<Rule> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.starts_with(b"#") {
        return None;
    }
    let line = trim_spaces(line);
    let negated = line.starts_with(b"!");
    let line = line.strip_prefix(b"!").unwrap_or(line);
    let only_directories = line.ends_with(b"/");
    let line = line.strip_suffix(b"/").unwrap_or(line);
    let anchored = line.contains(&b'/');
    let pattern = line.strip_prefix(b"/").unwrap_or(line);
    if pattern.is_empty() {
        return None;
    }
    Some(Rule {
        pattern: BytePattern::new(pattern, anchored)?,
        negated,
        only_directories,
    })
}

fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while line[..end].ends_with(b" ") {
        let before = line[..end - 1].iter().rev();
        if before.take_while(|b| **b == b'\\').count() % 2 == 1 {
            break;
        }
        end -= 1;
    }
    &line[..end]
}

/// The rules that apply in a directory: those of its own files, and of the directories above it.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    git: Option<Arc<Level>>,
    gemini: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    file: Arc<RuleFile>,
    base: Base,
    above: Option<Arc<Level>>,
    size: usize,
}

/// Where the directory of a rule file is, relative to the root of the walk.
#[derive(Debug)]
pub enum Base {
    /// Below the root: this many bytes of a path are the directory and the slash after it.
    Below(usize),
    /// Above the root: this is the root's path relative to the directory, with a slash at the end.
    Above(Vec<u8>),
}

impl IgnoreRules {
    /// Adds the rules of a `.gitignore` or an exclude file. Files of lower precedence, such as
    /// those of higher directories, must be added first.
    pub fn add_git(&mut self, file: Arc<RuleFile>, base: Base) {
        self.git = Some(Level::new(file, base, self.git.take()));
    }

    /// Adds the rules of a `.geminiignore` in a directory below the root. `depth` is the length in
    /// bytes of the directory's path and its slash, 0 for the root.
    pub fn add_gemini(&mut self, file: RuleFile, depth: usize) {
        let base = Base::Below(depth);
        self.gemini = Some(Level::new(file.into(), base, self.gemini.take()));
    }

    /// Returns the rules without git's, for a directory in which another repository begins.
    #[must_use]
    pub fn without_git(&self) -> Self {
        Self {
            git: None,
            gemini: self.gemini.clone(),
        }
    }

    /// Returns true if there is no rule.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.git.is_none() && self.gemini.is_none()
    }

    /// Returns which rules exclude a path, or `None` if none does. `name_at` is the offset of its
    /// last component. The caller has to ask for each directory above it separately.
    #[inline]
    pub fn ignored(&self, path: &[u8], name_at: usize, is_dir: bool) -> Option<IgnoreSource> {
        let gemini = Level::verdict(self.gemini.as_deref(), path, name_at, is_dir);
        // As in Gemini CLI, `.geminiignore` comes after git's rules, so its rules with `!` include
        // what git's rules exclude.
        if gemini == Some(false) {
            return None;
        }
        match Level::verdict(self.git.as_deref(), path, name_at, is_dir) {
            Some(true) => Some(IgnoreSource::Git),
            _ => gemini.map(|_| IgnoreSource::Gemini),
        }
    }
}

impl Level {
    fn new(file: Arc<RuleFile>, base: Base, above: Option<Arc<Level>>) -> Arc<Level> {
        let size_above = above.as_ref().map_or(0, |above| above.size);
        let size = size_above + file.size;
        let is_within = size <= MAX_RULES_BYTES;
        Arc::new(Level {
            file: if is_within {
                file
            } else {
                RuleFile::closed().into()
            },
            base,
            above,
            size: if is_within { size } else { size_above },
        })
    }

    fn verdict(
        mut level: Option<&Level>,
        path: &[u8],
        name_at: usize,
        is_dir: bool,
    ) -> Option<bool> {
        while let Some(here) = level {
            let verdict = match &here.base {
                Base::Below(depth) => path.get(*depth..).and_then(|rest| {
                    here.file
                        .verdict(rest, name_at.saturating_sub(*depth), is_dir)
                }),
                Base::Above(root) => {
                    let mut full = root.clone();
                    full.extend_from_slice(path);
                    here.file.verdict(&full, root.len() + name_at, is_dir)
                }
            };
            if verdict.is_some() {
                return verdict;
            }
            level = here.above.as_deref();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, IgnoreRules, IgnoreSource, RuleFile};

    fn ask(rules: &IgnoreRules, path: &str, is_dir: bool) -> bool {
        let name_at = path.rfind('/').map_or(0, |i| i + 1);
        rules.ignored(path.as_bytes(), name_at, is_dir) == Some(IgnoreSource::Git)
    }

    #[test]
    fn rules_decide_as_in_git() {
        let text = b"*.o\n!keep.o\n/top\nd/e\nbuild/\n# no\n\\#yes\nspace\\ \ntrail  \nlib/**\n**/deep/x\n*.[ch]~\r\n\xef\n!\n/\n";
        let mut rules = IgnoreRules::default();
        rules.add_git(RuleFile::parse(text).into(), Base::Below(0));
        let cases = [
            ("a.o", false, true),
            ("k/keep.o", false, false),
            ("top", false, true),
            ("k/top", false, false),
            ("d/e", false, true),
            ("k/d/e", false, false),
            ("build", false, false),
            ("k/build", true, true),
            ("#yes", false, true),
            ("space ", false, true),
            ("trail", false, true),
            ("lib/a/b", false, true),
            ("lib", true, false),
            ("q/deep/x", false, true),
            ("m.c~", false, true),
            ("m.x~", false, false),
        ];
        for (path, is_dir, expected) in cases {
            assert_eq!(ask(&rules, path, is_dir), expected, "{path}");
        }
    }

    #[test]
    fn a_deeper_file_decides_first_and_a_higher_one_sees_the_whole_path() {
        let mut rules = IgnoreRules::default();
        let higher = RuleFile::parse(b"/sub/a.log\n*.tmp\n");
        rules.add_git(higher.into(), Base::Above(b"sub/".to_vec()));
        rules.add_git(RuleFile::parse(b"!b.tmp\n").into(), Base::Below(2));
        assert!(ask(&rules, "a.log", false));
        assert!(ask(&rules, "c.tmp", false));
        assert!(!ask(&rules, "p/b.tmp", false));
    }
}
