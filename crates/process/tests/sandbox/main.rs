//! Tests of what commands in the sandbox can't do.
//!
//! Every attempt is made twice: without a sandbox, where it must succeed, so that it is known to be
//! a real one; and in the sandbox, where it must fail and leave everything outside as it was. If
//! the tests run as root, all of this is also done as an ordinary user. Missing programs are
//! reported and skipped.

#![cfg(target_os = "linux")]

mod sockets;

use gemini_tools_core::tool::SandboxMode;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use gemini_tools_process::sandbox::{Sandbox, SandboxPolicy};
use tempfile::TempDir;

const NOBODY: u32 = 65534;

/// The users to test as; `None` is the user that the tests run as.
fn users() -> Vec<Option<u32>> {
    if rustix::process::geteuid().is_root() {
        vec![None, Some(NOBODY)]
    } else {
        vec![None]
    }
}

/// Directories `ws` and `tmp`, which may be written in the sandbox, `out` with files, which may
/// not, and a process outside the sandbox.
struct Scene {
    dir: PathBuf,
    user: Option<u32>,
    victim: Child,
    _dir: TempDir,
}

impl Scene {
    fn new(user: Option<u32>) -> Self {
        let temp = TempDir::with_prefix("sandbox-").expect("a temporary directory");
        let dir = temp.path().canonicalize().expect("its real path");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("open to all");
        let made = ["ws", "tmp", "out", "out/dir", "out/empty"];
        for name in made {
            fs::create_dir(dir.join(name)).expect("a directory");
        }
        let files = ["ws/ours", "out/kept", "out/dir/inner"];
        for name in files {
            fs::write(dir.join(name), "kept\n").expect("a file");
        }
        if user.is_some() {
            for name in made.iter().chain(&files) {
                chown(dir.join(name), user, user).expect("given to the user");
            }
        }
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null());
        as_user(&mut sleep, user);
        let victim = sleep.spawn().expect("a process outside");
        Self {
            dir,
            user,
            victim,
            _dir: temp,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn policy(&self, mode: SandboxMode) -> SandboxPolicy {
        SandboxPolicy {
            mode,
            writable: vec![self.path("ws"), self.path("tmp")],
            network: false,
        }
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(["-c", script])
            .current_dir(self.path("ws"))
            .env("PATH", format!("/usr/bin:/bin:{path}"))
            .env("TMPDIR", self.path("tmp"))
            .env("WS", self.path("ws"))
            .env("OUT", self.path("out"))
            .env("VICTIM", self.victim.id().to_string())
            .stdin(Stdio::null());
        as_user(&mut command, self.user);
        command
    }

    fn free(&self, script: &str) -> Output {
        self.command(script).output().expect("bash runs")
    }

    fn confined_by(&self, policy: &SandboxPolicy, script: &str) -> Output {
        let mut command = self.command(script);
        let sandbox = Sandbox::prepare(policy).expect("a sandbox is to be had");
        sandbox.expect("it is wanted").confine(&mut command);
        command.output().expect("bash runs in the sandbox")
    }

    fn confined(&self, script: &str) -> Output {
        self.confined_by(&self.policy(SandboxMode::WorkspaceWrite), script)
    }

    fn outside(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut dirs = vec![self.path("out")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).expect("listed") {
                let entry = entry.expect("an entry");
                let is_file = entry.file_type().expect("its type").is_file();
                if entry.file_type().expect("its type").is_dir() {
                    dirs.push(entry.path());
                }
                let text = is_file.then(|| fs::read_to_string(entry.path()).expect("read"));
                found.push((entry.path(), text.unwrap_or_default()));
            }
        }
        found.sort();
        found
    }

    fn victim_lives(&mut self) -> bool {
        self.victim.try_wait().expect("asked").is_none()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn as_user(command: &mut Command, user: Option<u32>) {
    if let Some(user) = user {
        command.uid(user).gid(user).env("HOME", "/nonexistent");
    }
}

fn has(program: &str) -> bool {
    let script = format!("command -v {program}");
    let found = Command::new("bash")
        .args(["-c", &script])
        .stdout(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        let mut err = std::io::stderr();
        let _ = writeln!(err, "passed over: there is no {program}");
    }
    found
}

fn told(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Asserts that each script succeeds without a sandbox, and fails in one without a trace outside.
fn assert_refused(scripts: &[&str], mode: SandboxMode) {
    for user in users() {
        for script in scripts {
            if script.contains("python3 ") && !has("python3") {
                continue;
            }
            let output = Scene::new(user).free(script);
            assert!(
                output.status.success(),
                "no real attempt: {script}: {}",
                told(&output)
            );

            let mut scene = Scene::new(user);
            let before = scene.outside();
            let output = scene.confined_by(&scene.policy(mode), script);
            assert!(
                !output.status.success(),
                "{user:?} {script}: {}",
                told(&output)
            );
            assert_eq!(output.status.signal(), None, "refused, not ended: {script}");
            assert_eq!(scene.outside(), before, "{user:?} {script}");
            assert!(scene.victim_lives(), "{user:?} {script}");
        }
    }
}

#[test]
fn nothing_outside_is_changed() {
    assert_refused(
        &[
            r#"echo x > "$OUT/kept""#,
            r#"echo x >> "$OUT/kept""#,
            r#": > "$OUT/kept""#,
            r#"echo x > "$OUT/new""#,
            r#"truncate -s 1 "$OUT/kept""#,
            r#"python3 -c 'import os; os.truncate(os.environ["OUT"] + "/kept", 1)'"#,
            r#"python3 -c 'import os; os.open(os.environ["OUT"] + "/kept", os.O_RDONLY | os.O_TRUNC)'"#,
            r#"mv ours "$OUT/""#,
            r#"mv "$OUT/kept" ."#,
            r#"mv "$OUT/kept" "$OUT/dir/""#,
            r#"mv "$OUT/dir" ."#,
            r#"ln "$OUT/kept" here && echo x > here"#,
            r#"ln ours "$OUT/link""#,
            r#"ln -s "$WS/ours" "$OUT/link""#,
            r#"mkdir "$OUT/new""#,
            r#"rmdir "$OUT/empty""#,
            r#"rm "$OUT/kept""#,
            r#"mkfifo "$OUT/pipe""#,
            r#"sed -i s/kept/changed/ "$OUT/kept""#,
            r#"cp ours "$OUT/new""#,
            r#"dd if=ours of="$OUT/kept" conv=notrunc status=none"#,
        ],
        SandboxMode::WorkspaceWrite,
    );
}

#[test]
fn no_detour_leads_outside() {
    assert_refused(
        &[
            r#"ln -s "$OUT" way && echo x > way/kept"#,
            r#"ln -s "$OUT/kept" way && echo x > way"#,
            r"ln -s ../out/kept way && : >> way && echo x > way",
            r#"echo x > "/proc/self/root$OUT/kept""#,
            "echo x > /proc/self/cwd/../out/kept",
            r#"exec 3< "$OUT/kept"; echo x > /proc/self/fd/3"#,
            r#"exec 3< "$OUT"; echo x > /proc/self/fd/3/kept"#,
            r#"cd "$OUT" && echo x > kept"#,
            r#"bash -c 'bash -c "echo x > $OUT/kept"'"#,
            r#"setsid --wait bash -c 'echo x > "$OUT/kept"'"#,
            r#"python3 -c '
import os, sys
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        try:
            open(os.environ["OUT"] + "/kept", "w").write("x")
            os.write(w, b"y")
        except OSError:
            os.write(w, b"n")
    os._exit(0)
sys.exit(os.read(r, 1) != b"y")'"#,
            // Through `/proc`, a process could write to memory that it has mapped read-only.
            r#"python3 -c '
import ctypes
b = ctypes.create_string_buffer(b"old")
with open("/proc/self/mem", "r+b", buffering=0) as m:
    m.seek(ctypes.addressof(b)); m.write(b"new")'"#,
        ],
        SandboxMode::WorkspaceWrite,
    );
}

#[test]
fn processes_outside_are_out_of_reach() {
    assert_refused(
        &[
            r#"kill -TERM "$VICTIM""#,
            r#"kill -0 "$VICTIM""#,
            r#"cat "/proc/$VICTIM/environ" > /dev/null"#,
            r#"ls "/proc/$VICTIM/root/" > /dev/null"#,
            r#"prlimit --pid "$VICTIM" --nofile=10:10"#,
            r#"renice -n 19 -p "$VICTIM""#,
            r#"ionice -c 3 -p "$VICTIM""#,
            r#"taskset -cp 0 "$VICTIM""#,
            r#"chrt --batch -p 0 "$VICTIM""#,
            r#"python3 -c '
import os, signal
signal.pidfd_send_signal(os.pidfd_open(int(os.environ["VICTIM"])), signal.SIGKILL)'"#,
        ],
        SandboxMode::WorkspaceWrite,
    );
    // A debugger's attaching stops a process. Yama may refuse it even without a sandbox.
    for user in users() {
        if !has("python3") {
            continue;
        }
        let scene = Scene::new(user);
        let output = scene.confined(
            r#"python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
r = c.ptrace(16, int(os.environ["VICTIM"]), 0, 0)
print(r, ctypes.get_errno())'"#,
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "-1 1");
    }
}

#[test]
fn a_command_still_chooses_how_it_is_scheduled_itself() {
    for user in users() {
        let output = Scene::new(user).confined(
            "set -e
            [ \"$(nice -n 39 nice)\" = 19 ]
            ionice -c 3 true && taskset -c 0 true && chrt --batch 0 true && flock ours true",
        );
        assert!(output.status.success(), "{user:?} {}", told(&output));
    }
}

#[test]
fn root_loses_what_builds_do_not_need() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for script in [
        "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname",
        r#"mknod "$WS/disk" b 7 0"#,
        r#"mknod "$WS/null" c 1 3"#,
        "unshare --mount true",
        "nsenter --net=/proc/self/ns/net true",
        r#"mount --bind "$OUT" "$WS""#,
        r#"hostname "$(hostname)""#,
        "command -v ip && ip link set lo mtu 1500",
        "cd / && ls -d /dev/vda /dev/sda 2>/dev/null | head -1 | grep . | { read -r d && : >> \"$d\"; }",
    ] {
        let scene = Scene::new(None);
        let before = scene.outside();
        let output = scene.confined(script);
        assert!(!output.status.success(), "{script}: {}", told(&output));
        assert_eq!(scene.outside(), before, "{script}");
    }
}

/// Numbers of system calls, their arguments in Python, and the error that each must end with.
const REFUSED_CALLS: &[(libc::c_long, &str, i32)] = &[
    (libc::SYS_clone3, "0, 0", libc::ENOSYS),
    (libc::SYS_io_uring_setup, "1, 0", libc::ENOSYS),
    (libc::SYS_shmget, "0, 4096, 0o1600", libc::ENOSYS),
    (libc::SYS_msgget, "0, 0o1600", libc::ENOSYS),
    (libc::SYS_mq_open, "b'x', 0o102, 0o600, 0", libc::ENOSYS),
    // A call number of a later kernel, and one of the x32 ABI.
    (470, "0", libc::ENOSYS),
    (0x4000_0027, "0", libc::ENOSYS),
    (libc::SYS_unshare, "0x10000000", libc::EPERM),
    (libc::SYS_unshare, "0x40000000", libc::EPERM),
    (libc::SYS_setns, "0, 0", libc::EPERM),
    (libc::SYS_clone, "0x10000011, 0, 0, 0, 0", libc::EPERM),
    (libc::SYS_open_by_handle_at, "0, 0, 0", libc::EPERM),
    (libc::SYS_pidfd_getfd, "0, 0, 0", libc::EPERM),
    (libc::SYS_bpf, "0, 0, 0", libc::EPERM),
    (libc::SYS_perf_event_open, "0, 0, 0, 0, 0", libc::EPERM),
    (libc::SYS_userfaultfd, "1", libc::EPERM),
    (libc::SYS_keyctl, "0, 0, 0", libc::EPERM),
    (libc::SYS_ioctl, "0, 0x5412, b'x'", libc::EPERM),
    (libc::SYS_ioctl, "0, 0x541c, b'x'", libc::EPERM),
    // The kernel looks at the lower 32 bits only, so the rest must not hide a request.
    (libc::SYS_ioctl, "0, c_long(0x100005412), b'x'", libc::EPERM),
    (libc::SYS_ioctl, "0, 0x40086602, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_ioctl, "0, 0x5000940e, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_ioctl, "0, 0x40087602, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_ioctl, "0, 0x40046604, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_ioctl, "0, 0x6609, 0", libc::EOPNOTSUPP),
    (libc::SYS_ioctl, "0, 0x660c, 0", libc::EOPNOTSUPP),
    (libc::SYS_fcntl, "0, 1024, 0", libc::EOPNOTSUPP),
    (libc::SYS_fcntl, "0, 1036, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_fcntl, "0, 1038, b'x'", libc::EOPNOTSUPP),
    (libc::SYS_setpriority, "0, 1, 5", libc::EPERM),
    (libc::SYS_setpriority, "1, 1, 5", libc::EPERM),
    (libc::SYS_setpriority, "2, 0, 5", libc::EPERM),
    (libc::SYS_ioprio_set, "1, 1, 0", libc::EPERM),
    (libc::SYS_ioprio_set, "3, 0, 0", libc::EPERM),
    (
        libc::SYS_sched_setaffinity,
        "1, 8, b'xxxxxxxx'",
        libc::EPERM,
    ),
    (libc::SYS_sched_setscheduler, "1, 0, b'xxxx'", libc::EPERM),
    (libc::SYS_sched_setparam, "1, b'xxxx'", libc::EPERM),
    (libc::SYS_sched_setattr, "1, b'xxxx', 0", libc::EPERM),
    (
        libc::SYS_setxattr,
        "b'ours', b'user.x', b'y', 1, 0",
        libc::EOPNOTSUPP,
    ),
    (libc::SYS_socket, "2, 1, 0", libc::EACCES),
    (libc::SYS_socket, "10, 2, 0", libc::EACCES),
    (libc::SYS_socket, "c_long(0x100000002), 1, 0", libc::EACCES),
    (libc::SYS_socket, "1, 2, 0", libc::EACCES),
    (libc::SYS_socket, "1, 3, 0", libc::EACCES),
    (libc::SYS_socket, "1, 0x80802, 0", libc::EACCES),
    (libc::SYS_socket, "16, 3, 15", libc::EACCES),
    (libc::SYS_socket, "17, 3, 0", libc::EACCES),
    (libc::SYS_socket, "38, 5, 0", libc::EACCES),
    (libc::SYS_socket, "40, 1, 0", libc::EACCES),
    (libc::SYS_socketpair, "1, 2, 0, 0", libc::EACCES),
    (libc::SYS_socketpair, "1, 0x80002, 0, 0", libc::EACCES),
    (libc::SYS_connect, "0, 0, 0", libc::EACCES),
    (libc::SYS_listen, "0, 0", libc::EACCES),
];

#[test]
fn system_calls_round_the_sandbox_are_refused() {
    if !has("python3") {
        return;
    }
    let tried: Vec<String> = REFUSED_CALLS
        .iter()
        .map(|(call, arguments, _)| format!("({call}, {arguments})"))
        .collect();
    let script = format!(
        "python3 -c \"
import ctypes
from ctypes import c_long
c = ctypes.CDLL(None, use_errno=True)
for call in [{}]:
    r = c.syscall(*[c_long(a) if isinstance(a, int) else a for a in call])
    print(ctypes.get_errno() if r == -1 else 0)\"",
        tried.join(", ")
    );
    for user in users() {
        let output = Scene::new(user).confined(&script);
        let answers = String::from_utf8_lossy(&output.stdout);
        let answers: Vec<_> = answers.lines().collect();
        assert_eq!(answers.len(), REFUSED_CALLS.len(), "{}", told(&output));
        for ((call, arguments, errno), answer) in REFUSED_CALLS.iter().zip(answers) {
            assert_eq!(answer, errno.to_string(), "{user:?} {call}({arguments})");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_another_architecture_end_the_process() {
    if !has("gcc") {
        return;
    }
    let scene = Scene::new(None);
    let source = r#"int main(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r <= 0; }"#;
    fs::write(scene.path("ws/old.c"), source).expect("written");
    let built = scene.free("gcc -o old old.c");
    assert!(built.status.success(), "{}", told(&built));
    // Some kernels refuse the 32-bit system calls that it makes.
    if scene.free("exec ./old").status.success() {
        assert_eq!(
            scene.confined("exec ./old").status.signal(),
            Some(libc::SIGSYS)
        );
    }
}

#[test]
fn read_only_changes_nothing_at_all() {
    assert_refused(
        &[
            "echo x > ours",
            "echo x > new",
            r#"echo x > "$TMPDIR/new""#,
            r#"echo x > "$OUT/kept""#,
            "rm ours",
            "mkdir new",
            "mv ours theirs",
            "chmod 600 ours",
            r#"chmod 600 "$OUT/kept""#,
            "touch -d 2001-01-01 ours",
            "flock ours true",
            r#"flock "$OUT/kept" true"#,
            r#"chown "$(id -u)" ours"#,
        ],
        SandboxMode::ReadOnly,
    );
    let scene = Scene::new(None);
    let output = scene.confined_by(
        &scene.policy(SandboxMode::ReadOnly),
        "cat ours && ls -l / > /dev/null && echo done | tr a-z A-Z",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "kept\nDONE\n");
}

#[test]
fn the_workspace_and_the_temporary_directory_can_be_used_in_full() {
    for user in users() {
        let scene = Scene::new(user);
        let output = scene.confined(
            r#"set -e
            mkdir -p a/b && echo 1 > a/b/c && mv a/b/c "$TMPDIR/c" && cp "$TMPDIR/c" d && ln d e
            ln -s d f && echo 2 >> f && chmod 755 d && touch -d 2001-01-01 d && rm -r a && mkfifo p
            [ "$(cat e)" = "$(printf '1\n2')" ]
            mv ours theirs && truncate -s 0 theirs && [ ! -s theirs ]
            f=$(mktemp) && echo x > "$f" && cat <<< here > "$TMPDIR/there"
            echo x > /dev/null && : > /dev/null && head -c 3 /dev/zero > z && head -c 3 /dev/urandom > z
            sleep 600 & kill "$!" && ! wait "$!"
            (exit 3) || [ $? = 3 ]
            exec 3> fd && echo 1 >&3 && [ "$(cat fd)" = 1 ]"#,
        );
        assert!(output.status.success(), "{user:?} {}", told(&output));
    }
}

#[test]
fn output_can_be_opened_by_name() {
    // With one user only: an ordinary user may not open root's pipes, sandbox or not.
    let scene = Scene::new(None);
    for mode in [SandboxMode::WorkspaceWrite, SandboxMode::ReadOnly] {
        let output = scene.confined_by(
            &scene.policy(mode),
            "echo out > /dev/stdout && echo err > /dev/stderr && echo fd > /proc/self/fd/1",
        );
        assert!(output.status.success(), "{}", told(&output));
        assert_eq!(output.stdout, b"out\nfd\n");
        assert_eq!(output.stderr, b"err\n");
    }
}

#[test]
fn descriptors_of_the_caller_are_not_inherited() {
    let scene = Scene::new(None);
    let opened = fs::OpenOptions::new()
        .append(true)
        .open(scene.path("out/kept"))
        .expect("opened");
    // A descriptor without close-on-exec, as a careless host leaves its files.
    let leaked = rustix::io::dup(&opened).expect("a copy");
    let number = std::os::fd::AsRawFd::as_raw_fd(&leaked);
    let script = format!("echo x >&{number}");
    assert!(scene.free(&script).status.success(), "no real attempt");
    let before = scene.outside();
    assert!(!scene.confined(&script).status.success());
    assert_eq!(scene.outside(), before);
}

#[test]
fn git_works_in_the_workspace() {
    if !has("git") {
        return;
    }
    for user in users() {
        let output = Scene::new(user).confined(
            r"set -e
            export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
            export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c
            git init -q . && git add ours && git commit -qm first
            echo more >> ours && git commit -qam second && git checkout -qb side HEAD~1
            git stash list && git gc -q && git clone -q . copy && git -C copy log --format=%s",
        );
        assert!(output.status.success(), "{user:?} {}", told(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "first\n");
    }
}

#[test]
fn cargo_builds_offline_with_the_users_own_home() {
    if !has("cargo") {
        return;
    }
    // The toolchain belongs to the user that runs the tests; others may not be able to reach it.
    let scene = Scene::new(None);
    let output = scene.confined(
        r#"set -e
        mkdir -p crate/src other/src
        printf '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nother = { path = "../other" }\n' > crate/Cargo.toml
        printf '[package]\nname = "other"\nversion = "0.1.0"\nedition = "2021"\n' > other/Cargo.toml
        echo 'pub fn word() -> &'"'"'static str { "built" }' > other/src/lib.rs
        echo 'fn main() { println!("{}", other::word()); }
        #[test] fn t() {}' > crate/src/main.rs
        cd crate && unset CARGO_TARGET_DIR && cargo build -q --offline && ./target/debug/tiny && cargo test -q --offline"#,
    );
    assert!(output.status.success(), "{}", told(&output));
    assert!(output.stdout.starts_with(b"built\n"), "{}", told(&output));
}

#[test]
fn npm_tests_run_in_the_workspace() {
    if !has("npm") {
        return;
    }
    for user in users() {
        let scene = Scene::new(user);
        let package =
            r#"{"name": "tiny", "version": "1.0.0", "scripts": {"test": "node test.js"}}"#;
        fs::write(scene.path("ws/package.json"), package).expect("written");
        // Test runners use children with pipes, workers, files, and look at the network interfaces.
        let test = r"
const { execFileSync, fork } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const fs = require('node:fs'), os = require('node:os');
if (process.argv[2]) { process.send('child'); return; }
fs.writeFileSync(os.tmpdir() + '/made', 'x');
fs.writeFileSync('made', execFileSync('echo', ['ran']));
os.networkInterfaces();
new Worker('require(`node:worker_threads`).parentPort.postMessage(1)', { eval: true })
  .on('message', () => fork(__filename, ['child']).on('message', m => console.log('ok', m)));
";
        fs::write(scene.path("ws/test.js"), test).expect("written");
        let output = scene.confined("npm test");
        assert!(output.status.success(), "{user:?} {}", told(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("ok child"), "{}", told(&output));
        assert_eq!(fs::read(scene.path("ws/made")).expect("read"), b"ran\n");
    }
}

fn refusal(policy: &SandboxPolicy) -> String {
    let error = Sandbox::prepare(policy).expect_err("refused");
    format!("{error} {error:?}")
}

#[test]
fn a_link_that_commands_could_change_grants_nothing() {
    let scene = Scene::new(None);
    let mut policy = scene.policy(SandboxMode::WorkspaceWrite);
    std::os::unix::fs::symlink(scene.path("out"), scene.path("ws/way")).expect("linked");
    policy.writable.push(scene.path("ws/way/dir"));
    let said = refusal(&policy);
    let real = scene.path("out/dir");
    assert!(
        said.contains("ws/way/dir") && said.contains(&format!("instead: {}.", real.display())),
        "{said}"
    );

    // A link outside the writable directories is the user's own, and is followed.
    policy.writable.pop();
    std::os::unix::fs::symlink("out/dir", scene.path("alias")).expect("linked");
    policy.writable.push(scene.path("alias"));
    let output = scene.confined_by(&policy, r#"echo x > "$OUT/dir/new""#);
    assert!(output.status.success(), "{}", told(&output));
    let output = scene.confined_by(&policy, r#"echo x > "$OUT/new""#);
    assert!(!output.status.success());

    std::os::unix::fs::symlink("round", scene.path("round")).expect("linked");
    policy.writable = vec![scene.path("round")];
    let said = refusal(&policy);
    assert!(
        said.contains("round writable") && said.contains("tools.sandboxAllowedPaths"),
        "{said}"
    );
}

#[test]
fn declared_paths_are_files_devices_or_directories_and_may_be_missing() {
    let scene = Scene::new(None);
    let mut policy = scene.policy(SandboxMode::WorkspaceWrite);
    policy.writable.push(scene.path("out/kept"));
    policy.writable.push(scene.path("out/later"));
    policy.writable.push(PathBuf::from("/dev/ptmx"));
    policy.writable.push(PathBuf::from("/dev/pts"));
    let output = scene.confined_by(&policy, r#"echo x > "$OUT/kept" && : >> /dev/ptmx"#);
    assert!(output.status.success(), "{}", told(&output));
    let output = scene.confined_by(&policy, r#"echo x > "$OUT/later""#);
    assert!(
        !output.status.success(),
        "what is missing stays out of reach"
    );

    policy.writable = vec![PathBuf::from("relative")];
    let said = refusal(&policy);
    assert!(
        said.contains("relative writable") && said.contains("absolute path"),
        "{said}"
    );
    policy.writable = vec![PathBuf::from("a\nb")];
    assert!(refusal(&policy).contains(r"make a\nb writable"));
}

#[test]
fn no_sandbox_is_no_sandbox() {
    let policy = SandboxPolicy {
        mode: SandboxMode::Off,
        writable: vec![PathBuf::from("relative")],
        network: false,
    };
    assert!(
        Sandbox::prepare(&policy)
            .expect("nothing to fail")
            .is_none()
    );
}

#[test]
fn one_that_can_not_be_put_on_keeps_the_command_from_running() {
    let scene = Scene::new(None);
    let prepare = || {
        Sandbox::prepare(&scene.policy(SandboxMode::WorkspaceWrite))
            .expect("prepared")
            .expect("wanted")
    };
    // The kernel stacks at most 16 rulesets.
    let mut command = scene.command("echo ran > ran");
    for _ in 0..20 {
        prepare().confine(&mut command);
    }
    let error = command.spawn().expect_err("not started");
    assert!(!scene.path("ws/ran").exists());
    let said = format!("{:?}", Sandbox::not_applied(&error));
    assert!(said.contains("Nothing was run"), "{said}");
    assert!(
        Path::new("/proc/self").exists(),
        "the caller is not confined"
    );
    fs::write(scene.path("out/kept"), "x").expect("the caller may write");
}

/// Makes a system call fail for this thread and its children, as on a kernel without it.
fn take_away(call: i64, errno: i32) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let filter = SeccompFilter::new(
        [(call, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into().expect("known"),
    );
    let program = BpfProgram::try_from(filter.expect("a filter")).expect("a program");
    seccompiler::apply_filter(&program).expect("installed");
}

#[test]
fn without_landlock_or_seccomp_nothing_is_run() {
    for errno in [libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM] {
        let said = std::thread::spawn(move || {
            let scene = Scene::new(None);
            take_away(libc::SYS_landlock_create_ruleset, errno);
            refusal(&scene.policy(SandboxMode::ReadOnly))
        });
        let said = said.join().expect("an error and no panic");
        assert!(
            said.contains("Linux 6.2") && said.contains("GEMINI_TOOLS_SANDBOX=off"),
            "{said}"
        );
    }
    for call in [
        libc::SYS_seccomp,
        libc::SYS_landlock_restrict_self,
        libc::SYS_close_range,
        libc::SYS_capset,
        libc::SYS_prctl,
    ] {
        let ran = std::thread::spawn(move || {
            let scene = Scene::new(None);
            let mut command = scene.command("echo ran > ran");
            let sandbox = Sandbox::prepare(&scene.policy(SandboxMode::WorkspaceWrite));
            sandbox
                .expect("prepared")
                .expect("wanted")
                .confine(&mut command);
            take_away(call, libc::EPERM);
            let error = command.spawn().expect_err("not started");
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            scene.path("ws/ran").exists()
        });
        assert!(!ran.join().expect("an error and no panic"), "{call}");
    }
}
