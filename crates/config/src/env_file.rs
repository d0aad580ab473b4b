//! Files of variables that Gemini CLI reads at its start (`.env`).
//!
//! Gemini CLI (0.8.2 and 0.61) reads one file only: the first that it finds on the way from the
//! project's root up, and then in the home directory. What it starts, `call_tool` for example,
//! inherits what is in there, unless the environment has it already.

use std::path::{Path, PathBuf};

/// The user's file for all projects.
pub fn of_user(home: &Path) -> PathBuf {
    home.join(".gemini/.env")
}

/// The file that Gemini CLI reads in `root`, an absolute path; `None` where there is none.
pub fn in_force(home: Option<&Path>, root: &Path) -> Option<PathBuf> {
    root.ancestors()
        .chain(home)
        .flat_map(|directory| [directory.join(".gemini/.env"), directory.join(".env")])
        .find(|file| file.exists())
}

/// The lines `KEY=VALUE` of such a file, as Gemini CLI reads them: with `export`, quotes and
/// comments. Of several with one key the last one counts.
pub fn variables(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (key, value) = line.split_once('=')?;
            let key = key.trim();
            if key.is_empty() || key.starts_with('#') {
                return None;
            }
            let value = value.trim();
            let quoted = ['"', '\'', '`'].into_iter().find_map(|quote| {
                let inner = value.strip_prefix(quote)?;
                inner.find(quote).map(|end| &inner[..end])
            });
            let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or("").trim());
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{in_force, variables};

    #[test]
    fn an_env_file_has_quotes_and_comments() {
        let found = variables("A=1\n #B=2\nC='x # y'\nexport D = z # w\n=5\nE\nF=\"\"");
        let expected = [("A", "1"), ("C", "x # y"), ("D", "z"), ("F", "")];
        let found: Vec<_> = found.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(found, expected);
    }

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
