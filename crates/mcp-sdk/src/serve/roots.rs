//! Converts a client's roots to directories.

use gemini_tools_core::tool::ToolError;
use gemini_tools_workspace::real_root;
use std::path::PathBuf;
use url::Url;

/// Converts `file:` URIs to directories, and skips those that can't be opened. Links in a path are
/// kept: where they lead is checked each time a project is opened.
///
/// # Errors
///
/// Returns `execution_failed` if there are URIs but none can be opened. Working in another
/// directory instead is not what the client has asked for.
pub(super) fn directories<'a>(
    uris: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<PathBuf>, ToolError> {
    let (mut found, mut faults) = (Vec::<PathBuf>::new(), Vec::new());
    for uri in uris {
        match directory(uri) {
            Ok(path) if found.contains(&path) => {}
            Ok(path) => found.push(path),
            Err(fault) => faults.push(format!("{uri}: {}", fault.trim_end_matches('.'))),
        }
    }
    if found.is_empty() && !faults.is_empty() {
        return Err(ToolError::failed(format!(
            "None of the client's roots can be worked in: {}.",
            faults.join("; ")
        ))
        .with_hint("Name an existing directory there, or start serve_tools with --root."));
    }
    Ok(found)
}

fn directory(uri: &str) -> Result<PathBuf, String> {
    let path = path_of(uri)?;
    let real = real_root(&path, &[]).map_err(|e| e.message)?;
    if !real.is_dir() {
        return Err("it is not a directory".to_owned());
    }
    Ok(path)
}

pub(super) fn path_of(uri: &str) -> Result<PathBuf, String> {
    let mut url = Url::parse(uri).map_err(|e| e.to_string())?;
    if url.scheme() != "file" {
        return Err("it is not a file: address".to_owned());
    }
    if url.host_str().is_some_and(|host| host != "localhost") {
        return Err("it names another machine".to_owned());
    }
    let _ = url.set_host(None);
    let path = url.to_file_path();
    path.map_err(|()| "it is not the path of a file".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{directories, path_of};
    use url::Url;

    #[test]
    fn addresses_of_files_become_paths_and_others_do_not() {
        let here = std::env::current_dir().expect("a directory");
        let address = Url::from_directory_path(&here).expect("an absolute path");
        let below = address.path();
        for (uri, path) in [
            (format!("{address}b%20c"), here.join("b c")),
            (format!("file://localhost{below}a"), here.join("a")),
            (format!("{address}a/../b/%2e%2e/c"), here.join("c")),
        ] {
            assert_eq!(path_of(&uri), Ok(path), "{uri}");
        }
        for uri in ["http://a/b", "file://elsewhere/a", "/a", ""] {
            assert!(path_of(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn roots_that_are_not_there_are_left_out_but_not_all_of_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let here = format!("file://{}", dir.path().display());
        let found = directories([here.as_str(), "file:///no/such", here.as_str()]);
        assert_eq!(found.expect("one"), [dir.path()]);
        assert_eq!(
            directories([]).expect("none"),
            Vec::<std::path::PathBuf>::new()
        );
        let error = directories(["file:///no/such"]).expect_err("nothing is left");
        assert!(error.message.contains("file:///no/such"), "{error}");
    }
}
