//! Modes of the sandbox for commands.

/// The extent to which commands in a sandbox may change files. The order is from the widest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SandboxMode {
    /// No sandbox.
    #[default]
    Off,
    /// Only files in the paths that the sandbox is given may be changed.
    WorkspaceWrite,
    /// No file may be changed.
    ReadOnly,
}

impl SandboxMode {
    /// The names of the modes, from the widest to the strictest.
    pub const NAMES: [&str; 3] = ["off", "workspace-write", "read-only"];

    /// Returns the mode of that name, written exactly so.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter();
        all.find(|mode| mode.name() == name)
    }

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
