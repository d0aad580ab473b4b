//! A person at a pseudo-terminal: the program in it leads a session of its own, with the terminal as its controlling
//! one, as a login shell would have it.
//!
//! `setsid` of util-linux makes the session, since the standard library offers no way to. It becomes the program, so
//! that process ids and exit statuses are the program's own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use super::{Call, Workspace};

/// How long something may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(120);

/// How long is waited for output before it is looked whether the program is still there.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The end of the line of keys: a call was shown, and keys are taken.
pub const ASKED: &str = "[q]uit ";

/// Ctrl-C as a terminal gets it.
pub const CTRL_C: &[u8] = b"\x03";

/// Ctrl-D as a terminal gets it.
pub const CTRL_D: &[u8] = b"\x04";

/// The user at the terminal in which a program runs. The program does not outlive this value.
pub struct Person {
    master: File,
    /// The other side, to look at its modes also after the end.
    tty: File,
    modes: String,
    child: Child,
    seen: String,
    /// All that was ever shown, for messages.
    shown: String,
}

impl Call<'_> {
    /// Starts the call in a terminal of its own.
    #[track_caller]
    pub fn at_a_terminal(self) -> Person {
        self.at_a_terminal_of(200)
    }

    /// Starts the call in a terminal of its own that is so many columns wide.
    #[track_caller]
    pub fn at_a_terminal_of(self, columns: u16) -> Person {
        let (master, tty) = pair(columns);
        let modes = modes(&tty);
        let mut command = in_own_session(&self);
        let handle = || Stdio::from(tty.try_clone().expect("another handle"));
        command.stdin(handle()).stdout(handle()).stderr(handle());
        let child = command.spawn().expect("setsid is installed");
        Person {
            master,
            tty,
            modes,
            child,
            seen: String::new(),
            shown: String::new(),
        }
    }

    /// Lets the call have no controlling terminal, however the tests are run.
    pub fn without_a_terminal(mut self) -> Self {
        let inner = std::mem::replace(&mut self.program, "setsid".into());
        self.args.insert(0, inner.into());
        self
    }
}

/// The command behind `setsid`, which makes its standard input the controlling terminal.
fn in_own_session(call: &Call<'_>) -> Command {
    let inner = call.command();
    let words: Vec<OsString> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(OsString::from)
        .collect();
    // Under `nohup`, tests ignore a signal that their programs must not ignore.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", "setsid", "--ctty"]);
    command.args(words);
    command.env_clear();
    command.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.current_dir(inner.get_current_dir().expect("a workspace"));
    command
}

impl Person {
    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads until a text has been shown; gives all up to its end, and forgets that.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let has_ended = self.child.try_wait().expect("a child of ours").is_some();
            let is_hung = Instant::now() > deadline;
            // What it said last may still be on its way.
            if !self.reads() && (has_ended || is_hung) {
                let ended = self.child.try_wait().expect("a child of ours");
                self.fail(&format!("{text:?} is not shown ({ended:?})"));
            }
        }
    }

    pub fn types(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("keys");
    }

    /// Waits for the end by this status, and looks whether the terminal is as it was. Gives the rest of what was shown.
    #[track_caller]
    pub fn sees_it_end(&mut self, code: i32) -> String {
        let status = self.waits();
        if status.code() != Some(code) {
            self.fail(&format!("{status:?} is not the status {code}"));
        }
        std::mem::take(&mut self.seen)
    }

    /// Waits for the end, and looks whether the terminal is as it was.
    #[track_caller]
    fn waits(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            let ended = self.child.try_wait().expect("a child of ours");
            let is_quiet = !self.reads();
            if let Some(status) = ended.filter(|_| is_quiet) {
                break status;
            }
            if Instant::now() > deadline {
                self.fail("it does not end");
            }
        };
        let modes = modes(&self.tty);
        if modes != self.modes {
            self.fail(&format!("the terminal was left as {modes}"));
        }
        status
    }

    /// Goes away with the terminal.
    pub fn goes_away(&mut self) {
        let (other, _) = pair(200);
        // The last handle of the person's side.
        self.master = other;
    }

    /// Goes away with the terminal, and waits until the program has ended. Gives its status.
    #[track_caller]
    pub fn hangs_up(mut self) -> Option<i32> {
        self.goes_away();
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status.code();
            }
            if Instant::now() > deadline {
                self.fail("it does not end");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Takes in what is there; false where nothing came for a moment.
    fn reads(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut fds, Some(&TICK)).unwrap_or(0) == 0 {
            return false;
        }
        let mut buffer = [0; 4096];
        let count = self.master.read(&mut buffer).unwrap_or(0);
        let text = String::from_utf8_lossy(&buffer[..count]);
        self.seen.push_str(&text);
        self.shown.push_str(&text);
        count > 0
    }

    #[track_caller]
    fn fail(&mut self, what: &str) -> ! {
        panic!(
            "{what}. All that was shown:\n{}\n{:?}",
            self.shown, self.shown
        );
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A new terminal of so many columns: the person's side, and that of programs.
fn pair(columns: u16) -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC).expect("kept private");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let tty = rustix::fs::open(name, flags, Mode::empty()).expect("its other side");
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&tty, size).expect("a size");
    (master.into(), tty.into())
}

fn modes(tty: &File) -> String {
    format!("{:?}", tcgetattr(tty).expect("modes"))
}

/// A workspace with an editor that does as these lines of shell say; `$1` is the file.
pub fn with_editor(lines: &str) -> Workspace {
    Workspace::new().outside("editor", format!("#!/bin/bash\n{lines}\n"))
}
