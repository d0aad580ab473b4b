//! What can make `get_tools trust` useless, and how the user can remove it.

use super::{Distrust, Trust, folders_path};
use gemini_tools_core::text::show_path;
use std::path::Path;

impl Trust {
    /// Returns what the user must change before `get_tools trust` can help, as a sentence without
    /// its full stop; `None` if nothing has to change. `home` is the user's home directory.
    pub fn obstacle(&self, home: Option<&Path>) -> Option<String> {
        let Self::Untrusted(why) = self else {
            return None;
        };
        match why {
            Distrust::Unknown | Distrust::Changed(_) | Distrust::ChangedByTool(_) => None,
            Distrust::Environment(name) => Some(format!(
                "Unset {name} in the environment; get_tools trust can do nothing while it is there"
            )),
            Distrust::Folder(rule) => {
                let file = folders_path(home).ok().flatten();
                let file = file.map_or_else(
                    || "trustedFolders.json".to_owned(),
                    |file| show_path(&file).into_owned(),
                );
                Some(format!(
                    "Change the entry \"{}\" in {file} to \"TRUST_FOLDER\", or in Gemini CLI with \
                     /permissions; get_tools trust can do nothing while it says \"DO_NOT_TRUST\"",
                    show_path(rule)
                ))
            }
            Distrust::Unreadable(reason) => Some(format!(
                "Fix what can't be read ({reason}); get_tools trust can do nothing before that"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Distrust, Trust};
    use std::path::{Path, PathBuf};

    #[test]
    fn what_get_tools_trust_can_not_change_is_named() {
        let home = Some(Path::new("/home/you"));
        let of = |why| Trust::Untrusted(why).obstacle(home);
        assert_eq!(of(Distrust::Unknown), None);
        assert_eq!(of(Distrust::Changed(vec!["a".to_owned()])), None);
        let variable = of(Distrust::Environment("GEMINI_RESTRICTED_MODE"));
        assert!(variable.is_some_and(|text| text.starts_with("Unset GEMINI_RESTRICTED_MODE")));
        let folder = of(Distrust::Folder(PathBuf::from("/work"))).expect("an obstacle");
        let named = ["\"/work\"", "/home/you/.gemini/", "DO_NOT_TRUST"];
        assert!(named.iter().all(|word| folder.contains(word)), "{folder}");
        let broken = of(Distrust::Unreadable("x.json: broken".to_owned()));
        assert!(broken.is_some_and(|text| text.contains("x.json: broken")));
    }
}
