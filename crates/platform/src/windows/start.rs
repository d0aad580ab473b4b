//! Starting programs: suspended, so that they are in the job before they can start others.

use super::fd::OwnedFd;
use super::job::{self, Job};
use super::supervisor::Supervised;
use crate::supervisor::Start;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_DELETE_ON_CLOSE,
};
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

impl Start<'_> {
    /// Starts the program in a job object.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it is to have a sandbox, otherwise what the system says.
    pub fn start(self) -> io::Result<Supervised> {
        if self.confine.is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (output, writer) = io::pipe()?;
        let (errors, error_writer) = if self.apart {
            let (errors, writer) = io::pipe()?;
            (Some(OwnedFd::from(errors)), writer)
        } else {
            (None, writer.try_clone()?)
        };
        let job = Job::new()?;
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env_clear()
            .envs(self.environment)
            .current_dir(self.path)
            .stdin(self.input.map_or_else(Stdio::null, Stdio::from))
            .stdout(writer)
            .stderr(error_writer)
            .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
        let mut child = command.spawn()?;
        // Our ends for writing are closed with it, or the output would never end.
        drop(command);
        let begun = job
            .take(child.as_raw_handle())
            .and_then(|()| job::resume(child.id()));
        if let Err(errno) = begun {
            // It has not run yet, and must not run outside of the job.
            let _ = child.kill();
            return Err(errno.into());
        }
        let pid = child.id();
        Ok(Supervised::new(
            job,
            child.into(),
            pid,
            output.into(),
            errors,
        ))
    }
}

/// A file that holds `bytes`, is read from its beginning, and is gone when the last has closed it:
/// it need not be fed to a program, and one that does not read it is not waited for.
///
/// # Errors
///
/// What the system says.
pub fn file_with(bytes: &[u8]) -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("gemini-tools-{}-{number}.json", std::process::id());
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    options.attributes(FILE_ATTRIBUTE_TEMPORARY);
    let mut file = options.open(std::env::temp_dir().join(name))?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
