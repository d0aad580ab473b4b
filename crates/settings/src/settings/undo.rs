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
    /// `commands`: the commands whose changes are kept, unless `GEMINI_TOOLS_UNDO_COMMANDS` says otherwise.
    pub commands: Option<UndoCommands>,
}

/// The extent to which changes by commands are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoCommands {
    /// Nothing is kept.
    Off,
    /// All is kept but what git ignores.
    On,
    /// What git ignores is kept, too.
    All,
}

impl UndoCommands {
    /// The names, in their order.
    pub const NAMES: [&str; 3] = ["off", "on", "all"];

    /// Returns the extent of that name, written exactly so.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Off, Self::On, Self::All].into_iter();
        all.find(|extent| Self::NAMES[*extent as usize] == name)
    }
}

impl Default for UndoSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_age_days: 7,
            max_megabytes: 256,
            exclude: Vec::new(),
            commands: None,
        }
    }
}
