//! The sandbox of commands: what must be refused, and the ordinary work that must go on. One test per attack.

use std::env;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Answer, Workspace, skipped};

/// Runs a command in the sandbox that the variable names; the temporary directory is one of the test's own.
fn run(ws: &Workspace, mode: &str, command: &str) -> Answer {
    let temporary = ws.root().join("tmp");
    fs::create_dir_all(&temporary).expect("a temporary directory");
    ws.tool("run_shell_command")
        .arguments(&json!({"command": command, "timeout": 25}))
        .env("GEMINI_TOOLS_SANDBOX", mode)
        .env("TMPDIR", temporary.to_str().expect("UTF-8"))
        .unwatched()
        .run()
}

fn in_workspace(ws: &Workspace, command: &str) -> String {
    run(ws, "workspace-write", command).output()
}

/// What the exit code line says.
fn exit_code(output: &str) -> &str {
    let line = output.lines().find_map(|l| l.strip_prefix("Exit Code: "));
    line.expect("an exit code")
}

fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|out| out.status.success());
    if !found {
        skipped(program);
    }
    found
}

/// Whether this kernel can confine commands at all.
fn can_confine() -> bool {
    let answer = run(&Workspace::new(), "read-only", "true");
    let text = answer.text();
    let can = !text.contains("The sandbox needs ");
    if !can {
        skipped("Landlock of Linux 6.2 or later");
    }
    can
}

#[test]
fn nothing_outside_is_written_by_any_means() {
    if !can_confine() {
        return;
    }
    let attacks = [
        "echo x > ../out/keep",
        "echo x >> ../out/keep",
        "echo x > ../out/new",
        "truncate -s 0 ../out/keep",
        "rm -f ../out/keep",
        "mv ../out/keep .",
        "mv in ../out/keep",
        "ln ../out/keep inside; echo x > inside",
        "ln -s ../out/keep inside; echo x > inside",
        "ln -s ../out there; echo x > there/keep; mkdir there/d",
        "mkdir ../out/d",
        "mkfifo ../out/p",
        "cp in ../out/keep",
        "dd if=in of=../out/keep",
        "echo x > /proc/self/root$PWD/../out/keep",
        "echo x > /proc/self/cwd/../out/keep",
        "exec 3<../out/keep; echo x > /proc/self/fd/3",
        "cd ../out && echo x > keep",
        "bash -c 'bash -c \"echo x > ../out/keep\"'",
        "(setsid bash -c '(echo x > ../out/keep) & ' &) ; sleep 0.3",
        "mount --bind . ../out",
        "mount -t tmpfs x ../out",
        "unshare -rm mount --bind . ../out",
        "unshare -r bash -c 'echo x > ../out/keep'",
        "chroot / bash -c \"echo x > $PWD/../out/keep\"",
        "mknod device b 8 0",
        "nsenter -t 1 -m bash -c 'echo x > /x'",
    ];
    for attack in attacks {
        let ws = Workspace::new()
            .file("in", "in\n")
            .outside("keep", "kept\n");
        let output = in_workspace(&ws, attack);
        let out = ws.root().join("out");
        assert_eq!(
            fs::read_to_string(out.join("keep")).ok().as_deref(),
            Some("kept\n"),
            "{attack}\n{output}"
        );
        let names: Vec<_> = fs::read_dir(&out).expect("out").collect();
        assert_eq!(names.len(), 1, "{attack}\n{output}");
        assert!(!ws.dir().join("device").exists(), "{attack}");
    }
}

#[test]
fn the_workspace_the_temporary_directory_and_the_streams_can_be_written() {
    if !can_confine() {
        return;
    }
    let ws = Workspace::new();
    let output = in_workspace(
        &ws,
        "set -e; echo a > a; mkdir d; mv a d/b; ln -s d/b l; echo c >> l; cp l e; chmod 600 e; echo t > $TMPDIR/t; \
         cat d/b; echo n > /dev/null; echo o > /dev/stdout; echo p > /proc/self/fd/2",
    );
    assert!(output.contains("Output: a\nc\no\np\n"), "{output}");
    assert_eq!(exit_code(&output), "0");
}

#[test]
fn declared_paths_can_be_written_and_only_the_user_declares_them() {
    if !can_confine() {
        return;
    }
    let settings = |ws: &Workspace| {
        let out = ws.outside_path("");
        format!(
            r#"{{"tools": {{"commandSandbox": "workspace-write", "sandboxAllowedPaths": ["{out}"]}}}}"#
        )
    };
    let command = json!({"command": "echo x > ../out/new"});
    for (is_users, allowed) in [(true, true), (false, false)] {
        let ws = Workspace::new();
        let text = settings(&ws);
        let ws = if is_users {
            ws.home(".gemini/settings.json", text)
        } else {
            ws.file(".gemini/settings.json", text)
        };
        let call = ws
            .tool("run_shell_command")
            .arguments(&command)
            .unwatched()
            .env("TMPDIR", "/nonexistent");
        let output = call.run().output();
        assert_eq!(ws.root().join("out/new").exists(), allowed, "{output}");
    }
}

#[test]
fn a_root_that_a_command_makes_a_link_opens_nothing_to_the_next() {
    if !can_confine() {
        return;
    }
    let settings = r#"{"context": {"includeDirectories": ["docs"]}}"#;
    let ws = Workspace::new()
        .directory("docs")
        .home(".gemini/settings.json", settings)
        .outside("keep", "kept\n");
    let before = in_workspace(&ws, "mv docs d2; ln -s ../out docs; echo x > docs/new");
    assert!(!ws.root().join("out/new").exists(), "{before}");
    let refused = run(&ws, "workspace-write", "echo x > docs/new; touch ran");
    let message = refused.error("policy_violation", 3);
    refused.must_say(&message, &["ws/docs", "symbolic link"]);
    let path = ws.outside_path("new");
    let call = ws
        .tool("write_file")
        .arguments(&json!({"file_path": path, "content": "x"}));
    call.run().error("path_not_in_workspace", 1);
    assert!(!ws.root().join("out/new").exists() && !ws.dir().join("ran").exists());
}

#[test]
fn read_only_writes_nothing_and_reads_everything() {
    if !can_confine() {
        return;
    }
    let ws = Workspace::new().file("in", "seen\n");
    let output = run(
        &ws,
        "read-only",
        "cat in; echo x > new; echo y > $TMPDIR/t; rm in",
    )
    .output();
    assert!(output.contains("Output: seen"), "{output}");
    assert!(!ws.dir().join("new").exists() && ws.dir().join("in").exists());
    assert!(!ws.root().join("tmp/t").exists());
}

#[test]
fn the_network_is_out_of_reach_in_every_form() {
    if !can_confine() || !has("python3") || !has("curl") {
        return;
    }
    let ws = Workspace::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let name = format!("gemini-tools-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let hidden = UnixListener::bind_addr(&address).expect("an abstract socket");
    let path = ws.dir().join("sock");
    let named = UnixListener::bind(&path).expect("a socket in the workspace");
    let datagrams = UnixDatagram::bind(ws.dir().join("dgram")).expect("a datagram socket");
    let ports = (
        tcp.local_addr().expect("an address").port(),
        udp.local_addr().expect("an address").port(),
    );
    let script = format!(
        "import socket, os\n\
         def attempt(what, f):\n\
         \x20   try:\n        f()\n        print('REACHED', what)\n    except OSError as e:\n        print('refused', what, e)\n\
         attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {tcp})))\n\
         attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp})))\n\
         attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))\n\
         attempt('path', lambda: socket.socket(socket.AF_UNIX).connect('sock'))\n\
         attempt('unix dgram', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'dgram'))\n\
         attempt('pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', 'dgram'))\n\
         attempt('raw pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendmsg([b'x'], [], 0, 'dgram'))\n\
         attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15))\n\
         attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))\n\
         attempt('vsock', lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))\n\
         a, b = socket.socketpair()\n\
         a.send(b'fine')\n\
         print('pair', b.recv(9))\n",
        tcp = ports.0,
        udp = ports.1,
    );
    fs::write(ws.dir().join("net.py"), script).expect("written");
    let output = in_workspace(
        &ws,
        &format!(
            "curl -sS http://127.0.0.1:{}/; python3 net.py; (exec 3<>/dev/tcp/127.0.0.1/{0}) && echo REACH''ED",
            ports.0
        ),
    );
    assert!(!output.contains("REACHED"), "{output}");
    assert!(
        output.contains("curl: (7)") && output.contains("pair b'fine'"),
        "{output}"
    );
    assert_eq!(output.matches("refused").count(), 10, "{output}");
    for (name, quiet) in [
        (
            "tcp",
            tcp.set_nonblocking(true)
                .and_then(|()| tcp.accept())
                .is_err(),
        ),
        (
            "abstract",
            hidden
                .set_nonblocking(true)
                .and_then(|()| hidden.accept())
                .is_err(),
        ),
        (
            "path",
            named
                .set_nonblocking(true)
                .and_then(|()| named.accept())
                .is_err(),
        ),
        (
            "udp",
            udp.set_nonblocking(true)
                .and_then(|()| udp.recv(&mut [0; 9]))
                .is_err(),
        ),
        (
            "dgram",
            datagrams
                .set_nonblocking(true)
                .and_then(|()| datagrams.recv(&mut [0; 9]))
                .is_err(),
        ),
    ] {
        assert!(quiet, "{name} was reached");
    }
}

#[test]
fn the_network_can_be_allowed_by_the_user() {
    if !can_confine() || !has("curl") {
        return;
    }
    let settings = r#"{"tools": {"commandSandbox": "read-only", "sandboxNetworkAccess": true}}"#;
    for (user, project, reached) in [(settings, "{}", true), ("{}", settings, false)] {
        let ws = Workspace::new()
            .home(".gemini/settings.json", user)
            .file(".gemini/settings.json", project);
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = tcp.local_addr().expect("an address").port();
        let command = json!({"command": format!("curl -sS -m 1 http://127.0.0.1:{port}/")});
        let call = ws.tool("run_shell_command").arguments(&command).unwatched();
        let output = call.run().output();
        tcp.set_nonblocking(true).expect("a socket");
        assert_eq!(tcp.accept().is_ok(), reached, "{output}");
    }
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    if !can_confine() || !has("python3") {
        return;
    }
    let script = "import os, fcntl\n\
        m = os.open('/dev/ptmx', os.O_RDONLY)\n\
        try:\n    fcntl.ioctl(m, 0x5412, b'x')\n    print('TYPED')\n\
        except OSError as e:\n    print('refused', e)\n\
        try:\n    os.open('/dev/ptmx', os.O_RDWR)\n    print('OPENED')\n\
        except OSError as e:\n    print('refused', e)\n";
    let ws = Workspace::new().file("type.py", script);
    let output = in_workspace(&ws, "python3 type.py");
    assert_eq!(output.matches("refused").count(), 2, "{output}");
}

#[test]
fn processes_outside_are_out_of_reach() {
    if !can_confine() {
        return;
    }
    let ws = Workspace::new();
    let mut outside = Command::new("sleep").arg("60").spawn().expect("sleep");
    let output = in_workspace(
        &ws,
        &format!(
            "kill {0}; kill -9 {0}; echo x > /proc/{0}/mem; head -c 1 /proc/{0}/environ",
            outside.id()
        ),
    );
    std::thread::sleep(Duration::from_millis(50));
    let lives = outside.try_wait().expect("a child").is_none();
    outside.kill().expect("a child");
    outside.wait().expect("a child");
    assert!(lives || !scopes_signals(), "{output}");
    assert!(!output.contains("HOME="), "{output}");
}

/// Signals are kept inside by Landlock of Linux 6.12 and later.
fn scopes_signals() -> bool {
    let mut text = String::new();
    let mut file = fs::File::open("/proc/sys/kernel/osrelease").expect("Linux");
    file.read_to_string(&mut text).expect("a version");
    let mut numbers = text
        .split(['.', '-'])
        .map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

#[test]
fn git_cargo_and_npm_do_their_ordinary_work() {
    if !can_confine() {
        return;
    }
    let ws = Workspace::new()
        .file("app/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file("app/src/main.rs", "fn main() {}\n")
        .file(
            "np/package.json",
            r#"{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 'require(\"fs\").writeFileSync(\"ran\", \"\")'"}}"#,
        );
    let git = "git init -q . && git add np && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline";
    let output = in_workspace(&ws, git);
    assert_eq!(exit_code(&output), "0", "{output}");
    assert!(output.contains(" first"), "{output}");
    let cargo_home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|h| h + "/.cargo"));
    let rustup_home = env::var("RUSTUP_HOME").or_else(|_| env::var("HOME").map(|h| h + "/.rustup"));
    if let (Ok(cargo_home), Ok(rustup_home)) = (cargo_home, rustup_home)
        && has("cargo")
    {
        let output = in_workspace(
            &ws,
            &format!(
                "export CARGO_HOME='{cargo_home}' RUSTUP_HOME='{rustup_home}'; cd app && cargo build --offline && ls target/debug/app"
            ),
        );
        assert!(output.contains("\ntarget/debug/app\n"), "{output}");
    }
    if has("npm") {
        let output = in_workspace(&ws, "cd np && npm test && ls");
        assert!(output.contains("\nran\n"), "{output}");
    }
}

#[test]
fn what_is_not_understood_runs_nothing() {
    for (mode, settings) in [
        ("on", "{}"),
        ("", r#"{"tools": {"sandbox": "docker"}}"#),
        ("", r#"{"tools": {"sandbox": 1}}"#),
        ("", r#"{"tools": {"commandSandbox": "docker"}}"#),
        ("", r#"{"tools": {"sandbox": "off"}"#),
    ] {
        let ws = Workspace::new().home(".gemini/settings.json", settings);
        let answer = run(&ws, mode, "echo x > ran");
        answer.error("policy_violation", 3);
        assert!(!ws.dir().join("ran").exists());
    }
}

#[test]
fn a_background_process_stays_in_the_sandbox() {
    if !can_confine() {
        return;
    }
    let ws = Workspace::new().outside("keep", "kept\n");
    let output = in_workspace(
        &ws,
        "(sleep 0.4; echo x > ../out/keep; echo y > ../out/new; touch done) >/dev/null 2>&1 &",
    );
    assert!(output.contains("Background PIDs: "), "{output}");
    for _ in 0..100 {
        if ws.dir().join("done").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(ws.dir().join("done").exists());
    assert_eq!(
        fs::read_to_string(ws.root().join("out/keep")).expect("kept"),
        "kept\n"
    );
    assert!(!ws.root().join("out/new").exists());
}
