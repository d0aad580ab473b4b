//! Groups of processes, and how processes end.

use std::process::{Command, ExitStatus};
use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

/// Starting processes.
pub trait CommandExt {
    /// Keeps keys of the console, such as Ctrl-C, from the process.
    fn process_group(&mut self, group: i32) -> &mut Self;
}

impl CommandExt for Command {
    fn process_group(&mut self, _group: i32) -> &mut Self {
        std::os::windows::process::CommandExt::creation_flags(self, CREATE_NEW_PROCESS_GROUP)
    }
}

/// How a process has ended.
pub trait ExitStatusExt {
    /// By which signal: by none.
    fn signal(&self) -> Option<i32>;
}

impl ExitStatusExt for ExitStatus {
    fn signal(&self) -> Option<i32> {
        None
    }
}
