//! Starting programs under a supervisor.

use super::{Start, SupervisedProgram};
use crate::raw::{self, Descriptors, PreparedProgram};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;

impl Start<'_> {
    /// Starts the program in a session of its own, under a supervisor.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn start(self) -> io::Result<SupervisedProgram> {
        let program = CString::new(self.program.as_os_str().as_bytes())?;
        let words = std::iter::once(&self.name).chain(self.arguments);
        let arguments = words
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<_, _>>()?;
        let environment = self.environment.iter().filter_map(|(name, value)| {
            let both = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(both).ok()
        });
        let environment = environment.collect();
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, Mode::empty())?;
        let watched = SupervisedProgram::start(
            self.apart,
            |output, errors| {
                let descriptors = Descriptors {
                    directory: self.directory,
                    input: self.input.as_ref().map(AsFd::as_fd),
                    output,
                    errors,
                };
                PreparedProgram::new(&program, arguments, environment, &descriptors, self.confine)
            },
            null.as_fd(),
            self.keeper,
        )?;
        Ok(watched)
    }
}

/// Returns a file without a name that holds `bytes` and is read from its beginning: it need not be fed to
/// a program, and one that does not read it is not waited for.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn file_with(bytes: &[u8]) -> io::Result<File> {
    let mut file = raw::file_in_memory()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
