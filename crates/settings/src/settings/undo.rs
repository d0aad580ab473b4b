//! Limits of the journal of changed files.

/// `tools.undo` of the user's and the system's files. A project has no say in it: it could have
/// its own changes not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoSettings {
    /// `enabled`: whether anything is kept.
    pub enabled: bool,
    /// `maxAgeDays`: what is older goes.
    pub max_age_days: u32,
    /// `maxMegabytes`, of 1024 × 1024 bytes: where more is kept, the oldest goes.
    pub max_megabytes: u32,
    /// `exclude`: globs, as in `.gitignore`, of files that are not kept. All files' lists count.
    pub exclude: Vec<String>,
}

impl Default for UndoSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_age_days: 7,
            max_megabytes: 256,
            exclude: Vec::new(),
        }
    }
}
