//! Starting programs under a supervisor.

use super::command::{ProgramCommand, ShellCommand, changes_bash, find_program, variables};
use super::piped::Program;
use super::supervisor::Supervised;
use gemini_tools_platform::fd::{AsFd, BorrowedFd, OwnedFd};
use gemini_tools_platform::fs::{Mode, OFlags};
use gemini_tools_platform::io::Errno;
use gemini_tools_platform::raw::{self, Confine, Descriptors, Prepared};
use gemini_tools_sandbox::Sandbox;
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a program is started with.
struct Start<'a> {
    program: &'a Path,
    arguments: Vec<CString>,
    environment: &'a BTreeMap<OsString, OsString>,
    directory: BorrowedFd<'a>,
    /// `None` for nothing.
    input: Option<BorrowedFd<'a>>,
    sandbox: Option<&'a Sandbox>,
    /// Whether standard error is kept apart.
    apart: bool,
}

impl Start<'_> {
    fn start(self) -> io::Result<Supervised> {
        let program = CString::new(self.program.as_os_str().as_bytes())?;
        let environment = self.environment.iter().filter_map(|(name, value)| {
            let both = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(both).ok()
        });
        let environment = environment.collect();
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = gemini_tools_platform::fs::open("/dev/null", flags, Mode::empty())?;
        let sandbox = self.sandbox;
        let confine = sandbox.map(|sandbox| move || sandbox.apply());
        let confine = confine.as_ref().map(|confine| confine as &Confine<'_>);
        let watched = Supervised::start(
            self.apart,
            |output, errors| {
                let descriptors = Descriptors {
                    directory: self.directory,
                    input: self.input,
                    output,
                    errors,
                };
                Prepared::new(&program, self.arguments, environment, &descriptors, confine)
            },
            null.as_fd(),
        )?;
        Ok(watched)
    }
}

/// A program's name as it is told it, and its arguments.
fn words<'a>(
    name: &'a OsStr,
    arguments: impl Iterator<Item = &'a OsStr>,
) -> io::Result<Vec<CString>> {
    let words = std::iter::once(name).chain(arguments);
    Ok(words
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<_, _>>()?)
}

impl ShellCommand<'_> {
    /// Starts the command under a supervisor.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no bash, otherwise what the system says.
    pub fn start(&self) -> io::Result<Supervised> {
        let bash = OsStr::new("bash");
        // What comes after `--` is the line, whatever it begins with.
        let arguments = ["--norc", "--noprofile", "-c", "--", self.line].map(OsStr::new);
        let mut environment = variables(self.path, &[]);
        environment.retain(|name, _| !changes_bash(name));
        let start = Start {
            program: &find_program(bash).ok_or(io::ErrorKind::NotFound)?,
            arguments: words(bash, arguments.into_iter())?,
            environment: &environment,
            directory: self.directory,
            input: None,
            sandbox: self.sandbox,
            apart: false,
        };
        start.start()
    }
}

impl ProgramCommand<'_> {
    /// Starts the program under a supervisor, its standard error apart from its output.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such program, otherwise what the system says.
    pub fn start(&self) -> io::Result<Supervised> {
        let has_directory = self.program.as_bytes().contains(&b'/');
        let program = if has_directory {
            PathBuf::from(self.program)
        } else {
            find_program(self.program).ok_or(io::ErrorKind::NotFound)?
        };
        let input = in_memory(self.input)?;
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        let start = Start {
            program: &program,
            arguments: words(self.program, arguments)?,
            environment: &variables(self.path, self.environment),
            directory: self.directory,
            input: input.as_ref().map(AsFd::as_fd),
            sandbox: self.sandbox,
            apart: true,
        };
        start.start()
    }
}

/// A file without a name that holds `bytes`: it need not be fed to a program, and one that
/// does not read it is not waited for. `None` where there is nothing to hold.
fn in_memory(bytes: &[u8]) -> io::Result<Option<File>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut file = raw::file_in_memory()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Some(file))
}

/// Starts a program in a session of its own. Gives what is written to for it to read, too.
pub(super) fn start_piped(program: &Program<'_>) -> io::Result<(Supervised, OwnedFd)> {
    // A path is passed to exec unchanged, so that the error is the system's and a script sees its
    // path as written.
    let path = if program.name.as_bytes().contains(&b'/') {
        PathBuf::from(program.name)
    } else {
        program.find().ok_or(Errno::NOENT)?
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = gemini_tools_platform::fs::open(program.directory, flags, Mode::empty())?;
    let (reads, input) = raw::pipe()?;
    let start = Start {
        program: &path,
        arguments: words(program.name, program.arguments.iter().map(OsStr::new))?,
        environment: program.environment,
        directory: directory.as_fd(),
        input: Some(reads.as_fd()),
        sandbox: None,
        apart: true,
    };
    Ok((start.start()?, input))
}
