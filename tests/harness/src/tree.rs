//! What is on disk below a workspace's temporary directory, and what a call changed there.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, ReadDir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Up to this size a file is compared by its content, beyond it by size and time of modification.
const COMPARED_BYTES: u64 = 8 * 1024 * 1024;

/// The scratch directory and the journals that the tools keep for themselves, and git's configuration places.
const HOUSEKEEPING: [&str; 7] = [
    "home/.gemini/tmp",
    "home/.gemini/tools_journal",
    "home/.gemini/tools_seen",
    "home/.gemini/tools_calls",
    "home/.config",
    "home/.cache",
    "home/.local",
];

/// One thing on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Directory {
        mode: u32,
    },
    /// A directory whose entries we may not list.
    Closed {
        mode: u32,
    },
    File {
        mode: u32,
        content: Vec<u8>,
    },
    Large {
        mode: u32,
        bytes: u64,
        modified: SystemTime,
    },
    Link {
        target: PathBuf,
    },
    Special,
}

/// Everything below a directory, by path relative to it (lossy where a name is not UTF-8).
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub nodes: BTreeMap<String, Node>,
}

/// One difference between two trees.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: String,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

impl Tree {
    /// Reads what is below `root` now. Not by recursion: a test's thread has a small stack, and a tree may be deep.
    pub fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        let mut waiting = vec![(root.to_owned(), String::new())];
        while let Some((dir, label)) = waiting.pop() {
            match fs::read_dir(&dir) {
                Ok(entries) => tree.read(entries, &label, &mut waiting),
                Err(_) => tree.close(&label),
            }
        }
        tree
    }

    fn read(&mut self, entries: ReadDir, dir: &str, waiting: &mut Vec<(PathBuf, String)>) {
        // An entry may vanish while we look, as a temporary file of a call that still runs does.
        for entry in entries.flatten() {
            let name = entry.file_name();
            let separator = if dir.is_empty() { "" } else { "/" };
            let label = format!("{dir}{separator}{}", name.to_string_lossy());
            let path = entry.path();
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if HOUSEKEEPING.contains(&label.as_str()) {
                continue;
            }
            let node = node(&path, &metadata);
            if matches!(node, Node::Directory { .. }) {
                waiting.push((path, label.clone()));
            }
            // Made for the scratch directory if need be; what else is in it counts.
            if label != "home/.gemini" {
                self.nodes.insert(label, node);
            }
        }
    }

    /// Notes that a directory may not be listed.
    fn close(&mut self, label: &str) {
        if let Some(node) = self.nodes.get_mut(label)
            && let Node::Directory { mode } = *node
        {
            *node = Node::Closed { mode };
        }
    }

    /// All differences, in the order of the paths.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let mut paths: Vec<&String> = self.nodes.keys().chain(after.nodes.keys()).collect();
        paths.sort();
        paths.dedup();
        paths
            .into_iter()
            .map(|path| Change {
                path: path.clone(),
                before: self.nodes.get(path).cloned(),
                after: after.nodes.get(path).cloned(),
            })
            .filter(|change| change.before != change.after)
            .collect()
    }
}

impl Change {
    pub fn is_at_or_below(&self, name: &str) -> bool {
        let rest = self.path.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || name.ends_with('/'))
    }
}

fn node(path: &Path, metadata: &Metadata) -> Node {
    let mode = metadata.mode() & 0o7777;
    let kind = metadata.file_type();
    if kind.is_dir() {
        Node::Directory { mode }
    } else if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        Node::Link { target }
    } else if !kind.is_file() {
        Node::Special
    } else if metadata.len() > COMPARED_BYTES {
        Node::Large {
            mode,
            bytes: metadata.len(),
            modified: metadata.modified().expect("a file system with times"),
        }
    } else {
        let content = fs::read(path).unwrap_or_default();
        Node::File { mode, content }
    }
}
