//! The processes above this one: the command lines and environment variables with which they were
//! started.
//!
//! On Linux they can be read of processes of the same user, unless a process has forbidden it. On
//! other systems this module reads nothing.

use std::fs::File;
use std::io::Read;

/// True on systems on which this module can read the command lines and variables of processes.
pub const ARE_VISIBLE: bool = cfg!(target_os = "linux");

const MAX_ANCESTORS: usize = 8;

const MAX_BYTES: u64 = 1024 * 1024;

const USUAL_BYTES: usize = 8192;

/// A process above this one: its parent, or a parent of that.
#[derive(Debug, Clone, Copy)]
pub struct Ancestor {
    pid: u32,
}

impl Ancestor {
    /// Returns the words of the process's command line; none if it can't be read.
    pub fn words(&self) -> Vec<Vec<u8>> {
        self.lines("cmdline")
    }

    /// Returns the variables with which the process was started, as `NAME=VALUE`; none if they can't
    /// be read.
    pub fn variables(&self) -> Vec<Vec<u8>> {
        self.lines("environ")
    }

    fn lines(self, name: &str) -> Vec<Vec<u8>> {
        lines(&self.read(name).unwrap_or_default())
    }

    fn read(self, name: &str) -> Option<Vec<u8>> {
        if !ARE_VISIBLE {
            return None;
        }
        let mut content = Vec::with_capacity(USUAL_BYTES);
        let file = File::open(format!("/proc/{}/{name}", self.pid)).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut content).ok()?;
        Some(content)
    }

    fn above(self) -> Option<Self> {
        let pid = parent(&self.read("stat")?)?;
        (pid != 0).then_some(Self { pid })
    }
}

/// Returns up to eight processes above this one, the nearest first.
pub fn all() -> impl Iterator<Item = Ancestor> {
    let first = Ancestor {
        pid: std::os::unix::process::parent_id(),
    };
    std::iter::successors(Some(first), |one| one.above()).take(MAX_ANCESTORS)
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split_inclusive(|byte| *byte == 0);
    lines
        .map(|line| line.strip_suffix(b"\0").unwrap_or(line).to_vec())
        .collect()
}

fn parent(stat: &[u8]) -> Option<u32> {
    // The second field is the program's name in parentheses. It may contain parentheses itself, so
    // the fields after it are counted from the last one.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{ARE_VISIBLE, all, lines, parent};

    #[test]
    fn each_line_has_an_end_and_a_text_without_one_has_none() {
        for (text, expected) in [
            ("", &[][..]),
            ("\0", &[""]),
            ("a\0\0b\0", &["a", "", "b"]),
            ("a\0cut", &["a", "cut"]),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .map(|line| line.as_bytes().to_vec())
                .collect();
            assert_eq!(lines(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        assert_eq!(parent(b"7 (a) b (c) S 41 7 7 0"), Some(41));
        assert_eq!(parent(b"7"), None);
    }

    #[test]
    fn the_nearest_process_is_the_parent_with_its_words() {
        let nearest = all().next().expect("a parent");
        assert_eq!(nearest.pid, std::os::unix::process::parent_id());
        assert!(!ARE_VISIBLE || nearest.words().iter().any(|word| !word.is_empty()));
    }
}
