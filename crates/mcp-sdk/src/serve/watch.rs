//! Detects changes of the files that decide about tools: settings, trust, rules, custom tools.

use gemini_tools_session::{PolicyOptions, Project};
use gemini_tools_settings::settings::{Scope, system_directory};
use gemini_tools_settings::trust::{Fingerprint, TrustRecord, TrustWatch};
use gemini_tools_workspace::stamp::Stamp;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The watched files. The project's are those that a trust record covers; they are compared by
/// content, so that no change is missed. The others are compared by metadata, such as size and
/// time.
#[derive(Debug)]
pub(super) struct WatchedFiles {
    root: PathBuf,
    paths: Vec<PathBuf>,
    extensions: Option<PathBuf>,
}

impl WatchedFiles {
    pub(super) fn new(project: &Project, rules: &PolicyOptions) -> Self {
        let (home, root) = (project.home.as_deref(), &*project.root);
        let settings = &project.settings;
        let scopes = [Scope::SystemDefaults, Scope::User, Scope::System];
        let files = scopes.iter().filter_map(|scope| scope.file(home, root));
        let mut paths: Vec<PathBuf> = files.collect();
        paths.push(system_directory().join("policies"));
        if let Some(home) = home {
            paths.push(TrustRecord::path(home, root));
            paths.push(TrustWatch::path(home, root));
            let own = ["trustedFolders.json", "policies", "tools"];
            paths.extend(own.map(|name| home.join(".gemini").join(name)));
        }
        paths.extend(std::env::var_os("GEMINI_CLI_TRUSTED_FOLDERS_PATH").map(PathBuf::from));
        paths.extend(rules.paths().0);
        paths.extend(settings.policy_paths.iter().cloned());
        paths.extend(settings.admin_policy_paths.iter().cloned());
        Self {
            root: root.to_owned(),
            paths,
            extensions: home.map(|home| home.join(".gemini/extensions")),
        }
    }

    pub(super) fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Fingerprint::state(&self.root).hash(&mut hasher);
        for path in &self.paths {
            look_into(path, &mut hasher);
        }
        for extension in entries(self.extensions.as_deref()) {
            look_into(&extension.join("policies"), &mut hasher);
        }
        hasher.finish()
    }
}

fn entries(directory: Option<&Path>) -> Vec<PathBuf> {
    let listed = directory.and_then(|directory| std::fs::read_dir(directory).ok());
    let listed = listed.into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn look_into(path: &Path, hasher: &mut DefaultHasher) {
    // This runs for each call, and most of the paths do not exist.
    if !look_at(path, hasher) {
        return;
    }
    for path in entries(Some(path)) {
        path.hash(hasher);
        look_at(&path, hasher);
    }
}

fn look_at(path: &Path, hasher: &mut DefaultHasher) -> bool {
    let Ok(meta) = std::fs::metadata(path) else {
        false.hash(hasher);
        return false;
    };
    Stamp::from_path(path).map(Stamp::to_text).hash(hasher);
    meta.is_dir()
}

#[cfg(test)]
mod tests {
    use super::WatchedFiles;
    use gemini_tools_session::{PolicyOptions, Project};
    use std::fs;
    use std::sync::Arc;

    #[test]
    fn a_change_of_settings_rules_or_tools_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let (home, root) = (dir.path().join("home"), dir.path().join("root"));
        let project = Project {
            home: Some(home),
            root,
            settings: Arc::default(),
            seen: Arc::default(),
        };
        let watched = WatchedFiles::new(&project, &PolicyOptions::default());
        let mut before = watched.state();
        assert_eq!(watched.state(), before);
        for name in [
            "root/.gemini/tools/a.toml",
            "root/.gemini/tools/lib/deep/k.sh",
            "root/.gemini/settings.json",
            "home/.gemini/policies/p.toml",
            "home/.gemini/extensions/e/policies/p.toml",
            "home/.gemini/trustedFolders.json",
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            for text in ["a", "more"] {
                fs::write(&path, text).expect("written");
                let after = watched.state();
                assert_ne!(after, before, "{name}");
                before = after;
            }
        }
    }
}
