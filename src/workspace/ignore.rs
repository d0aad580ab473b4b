//! Ignore rules: `.gitignore` at every level, `.git/info/exclude`, the user's own file for all
//! repositories, `.geminiignore`.
//!
//! Semantics are git's: within a file the last matching rule decides, a deeper file decides
//! before a higher one, `.git/info/exclude` after all of them and the user's own file last. What
//! lies below an ignored directory is ignored. Rules of files above the workspace count as far up
//! as the repository reaches.

use super::pattern::Pattern;
use std::sync::Arc;

/// Who asked for a path to be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// One of git's files.
    Git,
    /// `.geminiignore`.
    Gemini,
}

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    negated: bool,
    only_directories: bool,
}

/// The rules of one ignore file.
#[derive(Debug)]
pub struct RuleFile {
    rules: Vec<Rule>,
    /// For each last byte of a path the rules that can match it, the last rule first. With a
    /// hundred rules in a file this leaves a handful to try.
    by_last_byte: Vec<Box<[u16]>>,
}

impl RuleFile {
    /// Parses an ignore file. Lines that are not a valid pattern match nothing, as in git.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let rules: Vec<Rule> = text
            .split(|b| *b == b'\n')
            .filter_map(parse_rule)
            .take(usize::from(u16::MAX))
            .collect();
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
                None => by_last_byte.iter_mut().for_each(|list| list.push(index)),
            }
        }
        Self {
            rules,
            by_last_byte: by_last_byte.into_iter().map(Into::into).collect(),
        }
    }

    /// Whether the file may have more rules than are kept.
    pub(super) fn is_full(&self) -> bool {
        self.rules.len() == usize::from(u16::MAX)
    }

    /// What the file says of a path relative to its directory: ignored, kept, or nothing.
    #[inline]
    fn verdict(&self, path: &[u8], name_at: usize, is_dir: bool) -> Option<bool> {
        let last = *path.last()?;
        self.by_last_byte[usize::from(last)]
            .iter()
            .map(|index| &self.rules[usize::from(*index)])
            .find(|rule| (is_dir || !rule.only_directories) && rule.pattern.matches(path, name_at))
            .map(|rule| !rule.negated)
    }
}

fn parse_rule(line: &[u8]) -> Option<Rule> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.starts_with(b"#") {
        return None;
    }
    let line = trim_spaces(line);
    let (negated, line) = match line.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (only_directories, line) = match line.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let anchored = line.contains(&b'/');
    let pattern = line.strip_prefix(b"/").unwrap_or(line);
    if pattern.is_empty() {
        return None;
    }
    Some(Rule {
        pattern: Pattern::for_ignore_rule(pattern, anchored)?,
        negated,
        only_directories,
    })
}

/// Takes trailing spaces off, but for one that a backslash protects.
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

/// The rules that hold in a directory: its own files and those of the directories above.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    git: Option<Arc<Level>>,
    gemini: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    file: Arc<RuleFile>,
    base: Base,
    above: Option<Arc<Level>>,
}

/// Where the directory of a rule file lies, seen from the root of the walk.
#[derive(Debug)]
enum Base {
    /// Below it: so many bytes of a path belong to the directory and its slash.
    Below(usize),
    /// Above it: the root's path seen from there, with a slash.
    Above(Vec<u8>),
}

impl Rules {
    /// Adds a `.gitignore` (or an exclude file) of a directory below the root, `depth` being
    /// the length of the directory's path and its slash.
    #[must_use]
    pub fn with_git(&self, file: Arc<RuleFile>, depth: usize) -> Self {
        let level = Level::below(file, depth, self.git.as_ref());
        Self {
            git: Some(level),
            gemini: self.gemini.clone(),
        }
    }

    /// The same for a directory above the root; `root` is the root seen from there, with a
    /// slash. Higher directories must be added first.
    #[must_use]
    pub fn with_git_above(&self, file: Arc<RuleFile>, root: Vec<u8>) -> Self {
        let level = Level {
            file,
            base: Base::Above(root),
            above: self.git.clone(),
        };
        Self {
            git: Some(Arc::new(level)),
            gemini: self.gemini.clone(),
        }
    }

    /// Adds a `.geminiignore`.
    #[must_use]
    pub fn with_gemini(&self, file: RuleFile, depth: usize) -> Self {
        let level = Level::below(file.into(), depth, self.gemini.as_ref());
        Self {
            git: self.git.clone(),
            gemini: Some(level),
        }
    }

    /// Drops git's rules: another repository begins here.
    #[must_use]
    pub fn without_git(&self) -> Self {
        Self {
            git: None,
            gemini: self.gemini.clone(),
        }
    }

    /// Whether no rule exists.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.git.is_none() && self.gemini.is_none()
    }

    /// Who asks for a path to be left out. The directories above it must have been asked
    /// about before.
    #[inline]
    pub fn ignored(&self, path: &[u8], name_at: usize, is_dir: bool) -> Option<Ignored> {
        if Level::decides(self.git.as_deref(), path, name_at, is_dir) {
            Some(Ignored::Git)
        } else if Level::decides(self.gemini.as_deref(), path, name_at, is_dir) {
            Some(Ignored::Gemini)
        } else {
            None
        }
    }
}

impl Level {
    fn below(file: Arc<RuleFile>, depth: usize, above: Option<&Arc<Level>>) -> Arc<Level> {
        Arc::new(Level {
            file,
            base: Base::Below(depth),
            above: above.cloned(),
        })
    }

    fn decides(mut level: Option<&Level>, path: &[u8], name_at: usize, is_dir: bool) -> bool {
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
            if let Some(ignored) = verdict {
                return ignored;
            }
            level = here.above.as_deref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Ignored, RuleFile, Rules};

    fn ask(rules: &Rules, path: &str, is_dir: bool) -> bool {
        let name_at = path.rfind('/').map_or(0, |i| i + 1);
        rules.ignored(path.as_bytes(), name_at, is_dir) == Some(Ignored::Git)
    }

    #[test]
    fn rules_decide_as_in_git() {
        let text = b"*.o\n!keep.o\n/top\nd/e\nbuild/\n# no\n\\#yes\nspace\\ \ntrail  \nlib/**\n**/deep/x\n*.[ch]~\r\n\xef\n!\n/\n";
        let rules = Rules::default().with_git(RuleFile::parse(text).into(), 0);
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
        let rules = Rules::default()
            .with_git_above(
                RuleFile::parse(b"/sub/a.log\n*.tmp\n").into(),
                b"sub/".to_vec(),
            )
            .with_git(RuleFile::parse(b"!b.tmp\n").into(), 2);
        assert!(ask(&rules, "a.log", false));
        assert!(ask(&rules, "c.tmp", false));
        assert!(!ask(&rules, "p/b.tmp", false));
    }
}
