//! What is local works where the kernel refuses to make a socket, or has no `openat2`.

use crate::harness::Workspace;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

/// Has the kernel refuse some calls to this thread and to all that it starts.
fn refuse<const N: usize>(calls: [libc::c_long; N], errno: i32) {
    let filter = SeccompFilter::new(
        calls.map(|call| (call, Vec::new())).into(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH
            .try_into()
            .expect("a known processor"),
    );
    let program = BpfProgram::try_from(filter.expect("a filter")).expect("a program");
    seccompiler::apply_filter(&program).expect("applied");
}

fn local_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"absolute_path": "a.txt"})),
        ("read_many_files", json!({"paths": ["*.txt"]})),
        ("list_directory", json!({"path": "."})),
        ("glob", json!({"pattern": "*.txt"})),
        ("search_file_content", json!({"pattern": "hel+o"})),
        (
            "write_file",
            json!({"file_path": "new.txt", "content": "new\n"}),
        ),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "hello", "new_string": "bye"}),
        ),
        (
            "smart_edit",
            json!({"file_path": "b.txt", "instruction": "Say bye.", "old_string": "hello", "new_string": "bye"}),
        ),
        ("save_memory", json!({"fact": "The sky is blue."})),
        ("run_shell_command", json!({"command": "echo ran"})),
        ("list_background_processes", json!({})),
    ]
}

/// Makes each of the local calls in a new workspace.
fn make_local_calls() -> Workspace {
    let ws = Workspace::new()
        .file("a.txt", "hello\n")
        .file("b.txt", "hello\n");
    for (tool, args) in local_calls() {
        let answer = ws.tool(tool).arguments(&args).unwatched().run();
        assert_eq!(answer.status(), 0, "{tool}: {}", answer.shown());
    }
    ws
}

#[test]
fn everything_local_works_without_openat2_and_no_root_is_reached_through_a_link() {
    let checked = std::thread::spawn(|| {
        refuse([libc::SYS_openat2], libc::ENOSYS);
        let ws = make_local_calls();
        let (real, link) = (ws.dir().join("real/below"), ws.dir().join("link"));
        std::fs::create_dir_all(&real).expect("made");
        std::os::unix::fs::symlink("real", &link).expect("a link");
        let open = |root: &Path| gemini_tools::workspace::Workspace::open_at(root, &[], None);
        assert!(open(&real).is_ok());
        let error = open(&link.join("below")).expect_err("a link that was put there since");
        assert!(error.message.contains("link/below"), "{error}");
    });
    checked.join().expect("the walk by steps does as well");
}

#[test]
fn everything_local_works_where_the_kernel_refuses_sockets() {
    let checked = std::thread::spawn(|| {
        refuse(
            [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind],
            libc::EPERM,
        );
        let error = TcpListener::bind("127.0.0.1:0").expect_err("no socket");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let ws = make_local_calls();
        let names = ws.get_tools(&["--format", "names"]).run();
        assert!(names.text().contains("web_fetch"), "{}", names.shown());

        let args = json!({"prompt": "Read https://example.com/."});
        let answer = ws.call("web_fetch", &args);
        answer.error("web_fetch_fallback_failed", 1);
    });
    checked.join().expect("no socket is needed");
}
