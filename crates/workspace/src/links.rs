//! Resolves a path and records the links in it, because whoever may change a directory can redirect
//! the links in that directory.

use super::resolve::MAX_LINKS;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Component;
use std::path::{Path, PathBuf};

/// Where a path leads.
#[derive(Debug)]
pub struct ResolvedPath {
    /// The path without links.
    pub real: PathBuf,
    links: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Returns true if a link below `dir` takes the path out of `dir`, which is a path without
    /// links. Then whoever may write in `dir` decides where the path leads.
    pub fn leaves(&self, dir: &Path) -> bool {
        !self.real.starts_with(dir) && self.links.iter().any(|link| link.starts_with(dir))
    }

    /// Returns true if no link was followed.
    pub fn is_plain(&self) -> bool {
        self.links.is_empty()
    }
}

/// Follows an absolute path and all links in it.
///
/// # Errors
///
/// Returns `INVAL` for a path that is not absolute, or the operating system's error.
#[doc(hidden)]
pub fn resolve(path: &Path) -> Result<ResolvedPath, Errno> {
    use std::os::unix::ffi::OsStringExt;
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    let steps = |path: &Path| -> Vec<OsString> {
        path.components()
            .map(|step| step.as_os_str().to_owned())
            .collect()
    };
    let mut ahead: VecDeque<OsString> = steps(path).into();
    let mut resolved = ResolvedPath {
        real: PathBuf::from("/"),
        links: Vec::new(),
    };
    while let Some(step) = ahead.pop_front() {
        match Path::new(&step).components().next() {
            Some(Component::Normal(name)) => {
                let next = resolved.real.join(name);
                match rustix::fs::readlink(&next, Vec::new()) {
                    Ok(target) => {
                        if resolved.links.len() == MAX_LINKS {
                            return Err(Errno::LOOP);
                        }
                        resolved.links.push(resolved.real.clone());
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        for step in steps(&target).into_iter().rev() {
                            ahead.push_front(step);
                        }
                    }
                    // The file of this name is not a link.
                    Err(Errno::INVAL) => resolved.real = next,
                    Err(e) => return Err(e),
                }
            }
            Some(Component::ParentDir) => {
                resolved.real.pop();
            }
            Some(Component::RootDir) => resolved.real = PathBuf::from("/"),
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leaves_a_directory_only_through_a_link_in_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        for name in ["in/real", "out/real"] {
            std::fs::create_dir_all(top.join(name)).expect("made");
        }
        let (inside, outside) = (top.join("in"), top.join("out"));
        symlink("../out", inside.join("away")).expect("a link");
        symlink("real", inside.join("here")).expect("a link");
        symlink(&inside, top.join("way")).expect("a link");
        let of = |path: &str| resolve(&top.join(path)).expect("exists");
        let away = of("in/away/real");
        assert_eq!(away.real, outside.join("real"));
        assert!(away.leaves(&inside) && !away.leaves(&outside) && !away.leaves(&top));
        assert!(!of("in/here").leaves(&inside), "it stays");
        assert!(!of("way/real").leaves(&inside), "the link lies above");
        assert!(of("way/away/../out").leaves(&inside));
        assert!(of("in/real").is_plain() && !of("way").is_plain());
        assert!(resolve(&top.join("none")).is_err());
    }
}
