//! Modes of the sandbox in which commands run.

/// Which files commands in a sandbox may change. Stricter modes compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SandboxMode {
    /// No sandbox.
    #[default]
    Off,
    /// Only files in the paths that are given to the sandbox may be changed.
    WorkspaceWrite,
    /// No file may be changed.
    ReadOnly,
}

impl SandboxMode {
    /// The names of the modes, from the least strict to the strictest.
    pub const NAMES: [&str; 3] = ["off", "workspace-write", "read-only"];

    /// Returns the mode with exactly this name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter();
        all.find(|mode| mode.name() == name)
    }

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
