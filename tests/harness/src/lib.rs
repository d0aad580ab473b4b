//! What the tests of the executables build on: a [`Workspace`] of its own, a [`Call`] of one of our executables in it,
//! and the [`Answer`] that came.
//!
//! Owned here: temporary directories, the cleared environment, feeding and draining the child, its time limit, and the
//! promise that a call leaves the file tree as it was unless the test says otherwise. What an answer must look like is
//! in [`answer`], what counts as a change on disk in [`tree`].
//!
//! The executables are those that cargo has built, or those of the directory named by `GEMINI_TOOLS_TEST_BIN_DIR`
//! (to run the same tests against an installed or a release build).

#![expect(
    missing_docs,
    missing_debug_implementations,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    reason = "only the tests of this checkout use it: most names say enough, and a panic is how a test fails"
)]

pub mod agent;
pub mod answer;
pub mod client;
pub mod custom;
pub mod mcp;
pub mod name_server;
pub mod page;
pub mod random;
pub mod stand_in;
pub mod steered;
pub mod terminal;
pub mod tree;
pub mod web_server;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, Permissions};
use std::io::{self, Read, Write};
use std::iter;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

pub use answer::Answer;
use tree::Tree;

/// The executables that tests start.
const EXECUTABLES: [&str; 4] = ["call_tool", "get_tools", "run_agent", "serve_tools"];

/// How long a call may take before it counts as hung.
const LIMIT_SECS: u64 = 180;

/// Runs a call and writes the largest resident set of it and of all that it has waited for. A process of little memory
/// of its own does it, because what is started counts the memory of the process that has started it.
const MEASURED: &str = r#"exec python3 -c '
import os, resource, sys
child = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status if status >= 0 else 128 - status)' "$PEAK" "$@""#;

/// One black pixel.
pub const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The user and group of a call by [`Workspace::unprivileged`]: `nobody` on every system we know.
const NOBODY: u32 = 65534;

/// A temporary directory with `ws` (the root, and the working directory of every call), `ws-sibling`, `out` and `home`.
pub struct Workspace {
    root: PathBuf,
    unprivileged: bool,
    /// Removes everything at the end.
    _dir: TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("gemini-tools-").expect("a temporary directory");
        let root = dir.path().canonicalize().expect("its real path");
        for name in ["ws", "ws-sibling", "out", "home"] {
            fs::create_dir(root.join(name)).expect("a directory of the workspace");
        }
        Self {
            root,
            unprivileged: false,
            _dir: dir,
        }
    }

    /// The directory that holds `ws`, `ws-sibling`, `out` and `home`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace root itself.
    pub fn dir(&self) -> PathBuf {
        self.root.join("ws")
    }

    /// The absolute path of a name in the workspace, as an argument of a call.
    pub fn path(&self, name: &str) -> String {
        text_of(&self.dir().join(name))
    }

    /// The absolute path of a name in `out`, which is outside the workspace.
    pub fn outside_path(&self, name: &str) -> String {
        text_of(&self.root.join("out").join(name))
    }

    /// Adds a file, with the directories above it.
    pub fn file(self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        write(&self.dir().join(name), content.as_ref());
        self
    }

    /// Adds a file outside the workspace.
    pub fn outside(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        write(&self.root.join("out").join(name), content.as_ref());
        self
    }

    /// Adds a file in the directory whose name begins with the workspace's.
    pub fn sibling(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        write(&self.root.join("ws-sibling").join(name), content.as_ref());
        self
    }

    /// Adds a file in the home directory.
    pub fn home(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        write(&self.root.join("home").join(name), content.as_ref());
        self
    }

    pub fn directory(self, name: &str) -> Self {
        fs::create_dir_all(self.dir().join(name)).expect("a directory");
        self
    }

    /// Adds a symbolic link; `target` is taken as it is, so a relative one counts from the link.
    pub fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        let link = self.dir().join(name);
        make_parents(&link);
        symlink(target, link).expect("a symbolic link");
        self
    }

    pub fn fifo(self, name: &str) -> Self {
        make_fifo(&self.dir().join(name));
        self
    }

    /// Adds a file of that many zero bytes that occupies no space.
    pub fn sparse(self, name: &str, bytes: u64) -> Self {
        let path = self.dir().join(name);
        make_parents(&path);
        let file = File::create(path).expect("a sparse file");
        file.set_len(bytes).expect("its length");
        self
    }

    pub fn mode(self, name: &str, mode: u32) -> Self {
        set_mode(&self.dir().join(name), mode);
        self
    }

    /// Makes a file that many seconds old.
    pub fn age(self, name: &str, secs: u64) -> Self {
        set_age(&self.dir().join(name), secs);
        self
    }

    /// Makes the workspace a git repository without commits.
    pub fn git(self) -> Self {
        self.git_command(&["init", "-q", "."]);
        self
    }

    /// Runs git in the workspace, apart from the configuration of the user who runs the tests.
    pub fn git_command(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.dir());
        git.env_clear().envs(self.environment());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "o");
            git.env(format!("GIT_{role}_EMAIL"), "o@example.invalid");
        }
        let run = git.output().expect("git is installed");
        assert!(run.status.success(), "git {args:?}: {run:?}");
    }

    /// Gives everything to `nobody` and makes the calls as that user, if the tests run as root, for whom no file mode
    /// is a hindrance. Comes last when a workspace is built.
    pub fn unprivileged(mut self) -> Self {
        if running_as_root() {
            give_away(&self.root);
            self.unprivileged = true;
        }
        self
    }

    /// Starts to describe a call of the tool of this name.
    pub fn tool(&self, name: &str) -> Call<'_> {
        let mut call = self.call_tool(&[name]);
        call.tool = Some(name.to_owned());
        call.env("GEMINI_TOOLS_SESSION", &new_session())
    }

    /// Calls a tool with these arguments, on standard input as a host does it.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.tool(tool).arguments(arguments).run()
    }

    /// Starts to describe a run of `call_tool` with these command line arguments.
    pub fn call_tool(&self, args: &[&str]) -> Call<'_> {
        self.program(&executable("call_tool"), args)
    }

    /// Starts to describe a run of `get_tools` with these command line arguments.
    pub fn get_tools(&self, args: &[&str]) -> Call<'_> {
        self.program(&executable("get_tools"), args)
    }

    /// Starts to describe a run of another program in the same environment.
    pub fn program(&self, program: &Path, args: &[&str]) -> Call<'_> {
        Call {
            workspace: self,
            program: program.to_owned(),
            args: args.iter().map(OsString::from).collect(),
            tool: None,
            input: Input::Bytes(Vec::new()),
            env: BTreeMap::new(),
            changing: Some(Vec::new()),
        }
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let path = search_path().to_owned();
        let home = self.root.join("home").into_os_string();
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ];
        fixed
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .chain([("PATH".into(), path), ("HOME".into(), home)])
            .collect()
    }
}

/// A session of its own for each call, unless a test names one: tests change files between their calls, which would be
/// taken for the work of somebody else.
fn new_session() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "test-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// What a call finds on its standard input.
enum Input {
    Bytes(Vec<u8>),
    /// Nothing, and no end either until the call has answered.
    HeldOpen,
}

/// One run of an executable, described step by step and then [`run`](Call::run).
#[must_use = "a call that is not run tests nothing"]
pub struct Call<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    args: Vec<OsString>,
    tool: Option<String>,
    input: Input,
    env: BTreeMap<OsString, OsString>,
    /// What may change on disk; `None` when no test looks.
    changing: Option<Vec<String>>,
}

impl Call<'_> {
    /// Feeds these arguments as one JSON object on standard input.
    pub fn arguments(self, arguments: &Value) -> Self {
        self.input(arguments.to_string())
    }

    /// Feeds these bytes on standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Leaves standard input open and empty until the call has answered.
    pub fn input_held_open(mut self) -> Self {
        self.input = Input::HeldOpen;
        self
    }

    /// Adds command line arguments.
    pub fn flags<S: AsRef<OsStr>>(mut self, flags: &[S]) -> Self {
        self.args
            .extend(flags.iter().map(|f| f.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Allows these names in the workspace, and what is below them, to change on disk.
    pub fn changing(mut self, names: &[&str]) -> Self {
        self.changing = Some(names.iter().map(|n| format!("ws/{n}")).collect());
        self
    }

    /// Allows these names in the home directory, and what is below them, to change on disk.
    pub fn changing_at_home(mut self, names: &[&str]) -> Self {
        self.changing = Some(names.iter().map(|n| format!("home/{n}")).collect());
        self
    }

    /// Does not compare the file tree: for tests that change it themselves meanwhile, or that make very many calls.
    pub fn unwatched(mut self) -> Self {
        self.changing = None;
        self
    }

    /// Takes another program in the place of the call's own.
    pub fn by(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// Lets `bash` run this script with the call as `"$@"`.
    pub fn in_bash(mut self, script: &str) -> Self {
        let inner = std::mem::replace(&mut self.program, "bash".into());
        let mut args: Vec<OsString> = vec!["-c".into(), script.into(), "bash".into(), inner.into()];
        args.append(&mut self.args);
        self.args = args;
        self
    }

    /// Ends the call by a signal when it has used more than this processor time: for work that must not grow with its
    /// input. The time of day says nothing on a loaded machine.
    pub fn within_cpu_seconds(self, seconds: u32) -> Self {
        self.in_bash(&format!("ulimit -t {seconds}; exec \"$@\""))
    }

    /// Runs the call to its end. Panics if it hangs, if it does not read its input, or if a file changed unexpectedly.
    #[track_caller]
    pub fn run(self) -> Answer {
        let root = self.workspace.root.clone();
        let before = self.changing.as_ref().map(|_| Tree::of(&root));
        let changing = self.changing.clone().unwrap_or_default();
        let answer = self.start().finish();
        if let Err(e) = &answer.input_taken {
            answer.fail(&format!("standard input was not read to its end: {e}"));
        }
        if let Some(before) = before {
            let unexpected: Vec<_> = before
                .changes(&Tree::of(&root))
                .into_iter()
                .filter(|c| !changing.iter().any(|name| c.is_at_or_below(name)))
                .collect();
            if !unexpected.is_empty() {
                answer.fail(&format!("files changed unexpectedly: {unexpected:#?}"));
            }
        }
        answer
    }

    /// [`run`](Call::run), and the most memory that the call or a process that it waited for had resident, in MiB.
    #[track_caller]
    pub fn run_measured(self) -> (Answer, u64) {
        let dir = TempDir::with_prefix("gemini-tools-").expect("a temporary directory");
        let peak = dir.path().join("peak");
        let call = self.env("PEAK", &text_of(&peak)).in_bash(MEASURED);
        let answer = call.run();
        let kib = fs::read_to_string(&peak).expect("what python3 has written");
        (answer, kib.parse::<u64>().expect("a number").div_ceil(1024))
    }

    /// The command, ready to be started by a test that needs other pipes than [`start`](Call::start) gives it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(self.workspace.dir());
        command.env_clear().envs(self.workspace.environment());
        command.envs(&self.env);
        if self.workspace.unprivileged {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts the call and returns at once.
    #[track_caller]
    pub fn start(self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut tries = 0;
        let mut child = loop {
            match command.spawn() {
                Ok(child) => break child,
                // A script that a test has just written is open in each child of another test, until that starts its
                // program.
                Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && tries < 1000 => {
                    tries += 1;
                    thread::sleep(Duration::from_millis(1));
                }
                Err(e) => panic!("cannot start {command:?}: {e}"),
            }
        };
        let stdin = child.stdin.take().expect("piped");
        let stdout = collect(child.stdout.take().expect("piped"));
        let stderr = collect(child.stderr.take().expect("piped"));
        let (shown_input, feeder) = match self.input {
            Input::Bytes(bytes) => (bytes.clone(), Feeder::Writing(feed(stdin, bytes))),
            Input::HeldOpen => (Vec::new(), Feeder::Holding(stdin)),
        };
        Running {
            child,
            started,
            feeder,
            stdout,
            stderr,
            command: format!("{command:?}"),
            input: shown_input,
            tool: self.tool,
        }
    }
}

/// Who holds the writing end of a child's standard input.
enum Feeder {
    Writing(JoinHandle<io::Result<()>>),
    Holding(ChildStdin),
}

/// A call that has been started.
pub struct Running {
    child: Child,
    started: Instant,
    feeder: Feeder,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    command: String,
    input: Vec<u8>,
    tool: Option<String>,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the call as `kill -9` does and waits until it is gone.
    pub fn kill(mut self) {
        self.child.kill().expect("a child of ours");
        self.child.wait().expect("a child of ours");
        if let Feeder::Writing(thread) = self.feeder {
            drop(thread.join().expect("the feeding thread"));
        }
    }

    /// Waits for the end, and kills the child if that does not come in time.
    #[track_caller]
    pub fn finish(mut self) -> Answer {
        let deadline = self.started + Duration::from_secs(LIMIT_SECS);
        let outputs = receive(&self.stdout, deadline)
            .and_then(|out| Ok((out, receive(&self.stderr, deadline)?)))
            .and_then(|(out, err)| Ok((out, err, wait(&mut self.child, deadline)?)));
        let Ok((stdout, stderr, status)) = outputs else {
            self.child.kill().expect("a child of ours");
            let (command, input) = (self.command, answer::excerpt(&self.input));
            panic!("no answer within {LIMIT_SECS} s, killed\ncommand: {command}\nstdin: {input}");
        };
        let elapsed = self.started.elapsed();
        let input_taken = match self.feeder {
            Feeder::Writing(thread) => thread.join().expect("the feeding thread"),
            Feeder::Holding(stdin) => {
                drop(stdin);
                Ok(())
            }
        };
        let answer = Answer {
            status,
            stdout,
            stderr,
            elapsed,
            input_taken,
            command: self.command,
            input: self.input,
            tool: self.tool,
        };
        // The executables answer even then, with an error like any other.
        if answer.says_of_a_panic() {
            answer.fail("something panicked");
        }
        answer
    }
}

/// The executable of this name, see the module's documentation.
pub fn executable(name: &str) -> PathBuf {
    if let Some(dir) = env::var_os("GEMINI_TOOLS_TEST_BIN_DIR") {
        return Path::new(&dir).join(name);
    }
    assert!(
        EXECUTABLES.contains(&name),
        "this crate has no executable {name}"
    );
    // Older versions of cargo don't set it, nor does a debugger.
    if let Some(path) = env::var_os(format!("CARGO_BIN_EXE_{name}")) {
        return path.into();
    }
    build_directory().join(name)
}

/// The directory that cargo has put this test's executables in.
fn build_directory() -> PathBuf {
    let test = env::current_exe().expect("this test");
    let built = test.ancestors().nth(2).expect("the directory above deps");
    built.to_owned()
}

/// The interpreter that `python3` leads to, and the prefix of its installation. Where `python3` is the script of a version
/// manager (pyenv), which looks for the version to start, a start through it takes ten times as long.
fn installed_python() -> Option<&'static (PathBuf, PathBuf)> {
    static PYTHON: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let mut python = Command::new("python3");
        let said = python.args([
            "-c",
            "import sys; print(sys.executable, sys.base_prefix, sep='\\n')",
        ]);
        let said = String::from_utf8(said.output().ok()?.stdout).ok()?;
        let (interpreter, prefix) = said.trim_end().split_once('\n')?;
        Some((interpreter.into(), prefix.into()))
    });
    found.as_ref()
}

/// The interpreter that `python3` leads to, with the modules that it has on this machine.
pub fn python() -> Option<&'static Path> {
    installed_python().map(|(interpreter, _)| &**interpreter)
}

/// The `PATH` of calls: that of the tests, but a python comes first that has no modules besides its own. What others do
/// at each of its starts may take four times as long as the start.
pub fn search_path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let python = installed_python();
        let Some(bare) = python.and_then(|(_, prefix)| bare_python(prefix).ok()) else {
            return path;
        };
        let dirs = iter::once(bare).chain(env::split_paths(&path));
        env::join_paths(dirs).unwrap_or(path)
    })
}

/// Makes an environment (`venv`) without modules, and returns its directory of programs.
fn bare_python(prefix: &Path) -> io::Result<PathBuf> {
    let environment = build_directory().join("python");
    let programs = environment.join("bin");
    fs::create_dir_all(&programs)?;
    let home = prefix.join("bin");
    // Another test may use it at the same time.
    let own = TempDir::new_in(&environment)?;
    let place = |name: &str, at: &Path| fs::rename(own.path().join(name), at.join(name));
    fs::write(
        own.path().join("pyvenv.cfg"),
        format!(
            "home = {}\ninclude-system-site-packages = false\n",
            home.display()
        ),
    )?;
    place("pyvenv.cfg", &environment)?;
    symlink(home.join("python3"), own.path().join("python3"))?;
    place("python3", &programs)?;
    Ok(programs)
}

/// Puts an executable of ours at a path: as a hard link where the file system has both.
pub fn place_executable(name: &str, path: &Path) {
    let from = executable(name);
    if fs::hard_link(&from, path).is_err() {
        copy_program(&from, path);
    }
}

/// Copies a program. Another process does it: a file that this one has open for writing would be open in what other
/// tests start meanwhile, too, and could not be started until that has ended ("Text file busy").
pub fn copy_program(from: &Path, to: &Path) {
    let done = Command::new("cp").arg(from).arg(to).status();
    assert!(done.expect("cp").success(), "{} is copied", from.display());
}

/// The directory of the workspace's root package.
pub fn checkout() -> &'static Path {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    harness.ancestors().nth(2).expect("the checkout")
}

/// Holds a file of the checkout that is made from the code: it has this text. `scripts/generate` sets the variable by
/// which the file is written instead.
#[track_caller]
pub fn hold_generated(file: &str, wanted: &str) {
    let path = checkout().join(file);
    let present = fs::read_to_string(&path).unwrap_or_default();
    if present == wanted {
        return;
    }
    assert!(
        std::env::var_os("GENERATE").is_some(),
        "{file} is not current: scripts/generate writes it anew"
    );
    fs::write(&path, wanted).unwrap_or_else(|e| panic!("{file}: {e}"));
}

/// By how much the tests that try something very often do more of it: `GEMINI_TOOLS_TRIALS`, where 1 is a tenth of
/// what is meant to be tried before a release, and 10 is all of it.
pub fn trials() -> u32 {
    static TRIALS: OnceLock<u32> = OnceLock::new();
    *TRIALS.get_or_init(|| match env::var("GEMINI_TOOLS_TRIALS") {
        Ok(factor) => factor
            .parse()
            .expect("GEMINI_TOOLS_TRIALS is a whole number"),
        Err(_) => 1,
    })
}

/// Whether file modes mean nothing to us.
pub fn running_as_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| {
        let own = fs::metadata("/proc/self").expect("/proc is mounted");
        own.uid() == 0
    })
}

/// `count` lines, counted from 0.
pub fn lines(count: usize, line: impl FnMut(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Writes a file and the directories above it.
pub fn write(path: &Path, content: &[u8]) {
    make_parents(path);
    if let Err(e) = fs::write(path, content) {
        panic!("cannot write {}: {e}", path.display());
    }
}

/// Makes a file that many seconds old.
pub fn set_age(path: &Path, secs: u64) {
    let then = SystemTime::now() - Duration::from_secs(secs);
    let times = FileTimes::new().set_accessed(then).set_modified(then);
    let file = File::open(path).expect("a file to age");
    file.set_times(times).expect("its times");
}

/// Sets a file's mode. A script that becomes executable is copied first, for the reason that [`copy_program`] has.
pub fn set_mode(path: &Path, mode: u32) {
    let is_plain = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if mode & 0o111 != 0 && is_plain && fs::read(path).is_ok_and(|text| text.starts_with(b"#!")) {
        let copy = path.with_extension("copied");
        copy_program(path, &copy);
        fs::rename(&copy, path).expect("a copy in its place");
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file's mode");
}

pub fn make_fifo(path: &Path) {
    make_parents(path);
    let run = Command::new("mkfifo").arg(path).status();
    assert!(run.expect("mkfifo is installed").success());
}

/// Says that a test is skipped because something is missing: past the test runner, which shows nothing of a test that
/// passes. In CI nothing is skipped, so that this fails there.
#[track_caller]
pub fn skipped(missing: &str) {
    assert_ne!(
        env::var("CI").as_deref(),
        Ok("true"),
        "{missing} is missing, and CI skips no test"
    );
    writeln!(io::stderr(), "skipped: {missing} is missing").expect("standard error");
    // `scripts/check` counts them.
    if let Some(list) = env::var_os("GEMINI_TOOLS_TEST_SKIPS") {
        let list = File::options().append(true).create(true).open(list);
        writeln!(
            list.expect("the list of what skips"),
            "{missing} is missing"
        )
        .expect("a line");
    }
}

fn make_parents(path: &Path) {
    let parent = path.parent().expect("a path below the root");
    fs::create_dir_all(parent).expect("the directories above");
}

fn give_away(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may give a file away");
    let metadata = path.symlink_metadata().expect("a file just given away");
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            give_away(&entry.expect("its entry").path());
        }
    }
}

fn text_of(path: &Path) -> String {
    let text = path
        .to_str()
        .expect("a temporary directory with a UTF-8 name");
    text.to_owned()
}

/// Feeds a child from a thread, since it may answer before it has read everything.
fn feed(mut stdin: ChildStdin, bytes: Vec<u8>) -> JoinHandle<io::Result<()>> {
    thread::spawn(move || stdin.write_all(&bytes))
}

/// Drains a pipe on a thread, since a child that fills one of two pipes waits until it is read.
fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A read that fails shows as what was read before it; a receiver that is gone has given up on this child.
        drop(pipe.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    receiver
}

fn receive(from: &Receiver<Vec<u8>>, deadline: Instant) -> Result<Vec<u8>, RecvTimeoutError> {
    from.recv_timeout(deadline.saturating_duration_since(Instant::now()))
}

/// Waits for a child that has already closed its output.
fn wait(child: &mut Child, deadline: Instant) -> Result<ExitStatus, RecvTimeoutError> {
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(RecvTimeoutError::Timeout);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The living processes whose environment has this variable with this value: id and command line.
pub fn marked_processes(name: &str, value: &str) -> Vec<(u32, String)> {
    let marker = format!("{name}={value}");
    let entries = fs::read_dir("/proc").expect("the processes").flatten();
    let ids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let is_marked = |id: &u32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment
            .split(|b| *b == 0)
            .any(|v| v == marker.as_bytes())
    };
    ids.filter(is_marked)
        .map(|id| (id, command_line(id)))
        .collect()
}

/// Whether a signal is in a set of a process, a line of `/proc/PID/status` such as `SigCgt:`, those that it handles.
pub fn has_signal(id: u32, set: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(set));
    let bits = line.map_or(0, |bits| u64::from_str_radix(bits.trim(), 16).expect("hex"));
    bits & (1 << (signal.as_raw() - 1)) != 0
}

/// Waits for something, however busy the machine is.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(LIMIT_SECS);
    while !is_so() {
        assert!(Instant::now() < deadline, "not seen: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn command_line(id: u32) -> String {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// All living processes below one, with their command lines. An unprivileged user can read these,
/// but not the environment of our executables.
pub fn processes_below(id: u32) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").expect("the processes").flatten();
    let ids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: u32| {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is in parentheses, and may hold others.
        let (_, fields) = text.rsplit_once(") ")?;
        fields.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let parents: BTreeMap<u32, u32> = ids.filter_map(|id| Some((id, parent(id)?))).collect();
    let is_below = |of: &u32| {
        let above = |id: &u32| parents.get(id).copied();
        std::iter::successors(above(of), above).any(|above| above == id)
    };
    let found = parents.keys().copied().filter(is_below);
    found.map(|id| (id, command_line(id))).collect()
}
