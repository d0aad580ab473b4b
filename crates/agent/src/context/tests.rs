use super::{environment_message, line_of};
use gemini_tools_workspace::Workspace;
use std::path::{Path, PathBuf};

pub(super) struct Place {
    _dir: tempfile::TempDir,
    pub(super) home: PathBuf,
    pub(super) root: PathBuf,
    pub(super) names: Vec<String>,
}

impl Place {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().canonicalize().expect("exists").join("home");
        let root = home.join("project");
        std::fs::create_dir_all(root.join(".git")).expect("made");
        std::fs::create_dir_all(home.join(".gemini")).expect("made");
        Self {
            _dir: dir,
            home,
            root,
            names: Vec::new(),
        }
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.home.join(path);
        let dir = path.parent().expect("below home");
        std::fs::create_dir_all(dir).expect("made");
        std::fs::write(path, text).expect("written");
    }

    pub(super) fn workspace(&self, cwd: &str, more: &[&Path]) -> Workspace {
        let cwd = match cwd {
            "" => self.root.clone(),
            below => self.root.join(below),
        };
        let more: Vec<PathBuf> = more.iter().map(|p| (*p).to_owned()).collect();
        Workspace::open_at(&cwd, &more, Some(&self.home)).expect("opens")
    }
}

#[test]
fn the_environment_names_the_system_and_every_root() {
    let place = Place::new();
    place.write("project/main.rs", "");
    place.write("lib/lib.rs", "");
    let one = environment_message(&place.workspace("", &[]));
    let directory = format!("The working directory is {}\n", place.root.display());
    assert!(one.contains(&directory), "{one}");
    assert!(
        one.contains(&format!("system is {}.", std::env::consts::OS)),
        "{one}"
    );
    assert!(one.contains("\nmain.rs"), "{one}");
    let lib = place.home.join("lib");
    let two = environment_message(&place.workspace("", &[&lib]));
    let listed = format!("  - {}\n  - {}\n", place.root.display(), lib.display());
    assert!(two.contains(&listed), "{two}");
    assert!(
        two.contains(&format!("{}/\nlib.rs", lib.display())),
        "{two}"
    );
}

#[test]
fn control_characters_of_a_name_stay_on_its_line() {
    let path = Path::new("a\nb\u{1b}é");
    assert_eq!(line_of(path), "a\\nb\\u{1b}é");
}
