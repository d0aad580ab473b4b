//! The `.env` files that Gemini CLI reads at its start.
//!
//! Gemini CLI (0.8.2 and 0.61) reads only one: the first that it finds on the way from the
//! project's root up, and then in the home directory. Processes that Gemini CLI starts, such as
//! `call_tool`, inherit the variables in that file, unless the environment has them already.

pub use gemini_tools_environment::variables::{parse as variables, user_file as of_user};
use std::path::{Path, PathBuf};

/// Returns the `.env` file that Gemini CLI reads when it is started in `root`, an absolute path;
/// `None` if there is none.
pub fn in_force(home: Option<&Path>, root: &Path) -> Option<PathBuf> {
    root.ancestors()
        .chain(home)
        .flat_map(|directory| [directory.join(".gemini/.env"), directory.join(".env")])
        .find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::in_force;

    #[test]
    fn the_nearest_file_is_the_one_that_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let (home, root) = (dir.path().join("home"), dir.path().join("work/project"));
        for directory in [home.join(".gemini"), root.join(".gemini")] {
            std::fs::create_dir_all(directory).expect("made");
        }
        let found = || in_force(Some(&home), &root);
        assert_eq!(found(), None);
        let files = [
            home.join(".env"),
            home.join(".gemini/.env"),
            dir.path().join("work/.env"),
            root.join(".env"),
            root.join(".gemini/.env"),
        ];
        for file in files {
            std::fs::write(&file, "A=b\n").expect("written");
            assert_eq!(found(), Some(file));
        }
    }
}
