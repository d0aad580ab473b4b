//! The limits of the undo journal.

/// `tools.undo`, from the user's and the system's files. A project may not set it, since it could
/// prevent its own changes from being recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoSettings {
    /// `enabled`: whether changes are recorded.
    pub enabled: bool,
    /// `maxAgeDays`: older changes are deleted.
    pub max_age_days: u32,
    /// `maxMegabytes`, of 1024 × 1024 bytes: above this size the oldest changes are deleted.
    pub max_megabytes: u32,
    /// `exclude`: globs, as in `.gitignore`, of files whose changes are not recorded. All files'
    /// lists are joined.
    pub exclude: Vec<String>,
    /// `commands`: to what extent changes by commands are recorded. `GEMINI_TOOLS_UNDO_COMMANDS`
    /// overrides it.
    pub commands: Option<UndoCommands>,
}

/// The extent to which changes by commands are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoCommands {
    /// No changes.
    Off,
    /// Changes of files that git does not ignore.
    On,
    /// Changes of all files.
    All,
}

impl UndoCommands {
    /// The names, in the order of the variants.
    pub const NAMES: [&str; 3] = ["off", "on", "all"];

    /// Returns the variant with this name, which must be in lower case.
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
