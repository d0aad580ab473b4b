//! The launchers of a checkout, `bin/*`: when they build, and what they start. The checkout is made for the test, and
//! its cargo is a script that counts how often it was called.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Workspace, copy_program, set_age, set_mode};

/// Makes an executable that prints its name and arguments, unless there is one that nothing is newer than.
const CARGO: &str = r#"#!/bin/sh
echo "$@" >> "$BUILDS"
names=
while [ $# -gt 0 ]; do
    case $1 in
        --target-dir) directory=$2 ;;
        --target) target=$2 ;;
        --bin) names="$names $2" ;;
    esac
    shift
done
release=$directory/${target:+$target/}release
mkdir -p "$release"
for name in $names; do
    [ ! -x "$release/$name" ] || [ -z "${NOTHING_TO_DO:-}" ] || continue
    printf '#!/bin/sh\necho %s "$@"\n' "$name" > "$release/$name"
    chmod +x "$release/$name"
done
"#;

/// Says where the standard libraries are.
const RUSTC: &str = r#"#!/bin/sh
[ "$*" = "--print sysroot" ] && echo "${0%/*}/sysroot"
"#;

struct Checkout {
    ws: Workspace,
    root: PathBuf,
}

impl Checkout {
    fn new() -> Self {
        let ws = Workspace::new();
        let root = ws.root().join("checkout with a space");
        for directory in [
            "bin",
            "scripts",
            "tools",
            "completions",
            "src/call_tool",
            "crates/process/src/tree/deep",
        ] {
            fs::create_dir_all(root.join(directory)).expect("a directory");
        }
        for name in [
            "bin/launch.sh",
            "bin/call_tool",
            "bin/get_tools",
            "bin/serve_tools",
            "scripts/build",
        ] {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            copy_program(&own, &root.join(name));
        }
        for name in ["Cargo.toml", "Cargo.lock", "build.rs", "src/lib.rs"] {
            fs::write(root.join(name), "").expect("a source");
        }
        let own = Self { ws, root };
        own.install("cargo", CARGO);
        own.install("rustc", RUSTC);
        // Comes before the one that this machine may have.
        own.install("musl-gcc", "#!/bin/sh\n");
        own.make_old("");
        own
    }

    fn install(&self, name: &str, script: &str) {
        let path = self.root.join("tools").join(name);
        fs::write(&path, script).expect("a script");
        set_mode(&path, 0o755);
    }

    /// Makes what is below this place older than the executable that is built next.
    fn make_old(&self, place: &str) {
        let path = self.root.join(place);
        for entry in fs::read_dir(&path).expect("a directory") {
            let entry = entry.expect("an entry");
            let name = Path::new(place).join(entry.file_name());
            if entry.file_type().expect("its type").is_dir() {
                self.make_old(&name.to_string_lossy());
            } else {
                set_age(&entry.path(), 3600);
            }
        }
        set_age(&path, 3600);
    }

    #[track_caller]
    fn call(&self, nothing_to_do: &str) {
        self.launch("call_tool", nothing_to_do);
    }

    #[track_caller]
    fn launch(&self, name: &str, nothing_to_do: &str) {
        self.launch_with(name, "glob", nothing_to_do);
    }

    #[track_caller]
    fn launch_with(&self, name: &str, tool: &str, nothing_to_do: &str) {
        let path = format!("{}:/usr/bin:/bin", self.root.join("tools").display());
        let builds = self.root.join("builds").display().to_string();
        let call = self.ws.program(&self.root.join("bin").join(name), &[tool]);
        let call = call.env("PATH", &path).env("BUILDS", &builds);
        let answer = call.env("NOTHING_TO_DO", nothing_to_do).unwatched().run();
        assert_eq!(
            answer.text(),
            format!("{name} {tool}\n"),
            "{}",
            answer.shown()
        );
    }

    fn builds(&self) -> usize {
        let log = fs::read_to_string(self.root.join("builds")).unwrap_or_default();
        log.lines().count()
    }
}

#[test]
fn an_executable_is_built_once() {
    let checkout = Checkout::new();
    for _ in 0..3 {
        checkout.call("");
        assert_eq!(checkout.builds(), 1);
    }
}

#[test]
fn only_what_is_called_for_is_built() {
    let checkout = Checkout::new();
    checkout.launch("call_tool", "");
    checkout.launch("get_tools", "");
    assert_eq!(checkout.builds(), 1, "they are built together");
    let release = checkout.root.join("target/release");
    assert!(!release.join("serve_tools").exists());
    checkout.launch("serve_tools", "");
    assert_eq!(checkout.builds(), 2);
    assert!(release.join("serve_tools").exists());
}

#[test]
fn what_reaches_the_network_is_built_before_a_call_that_needs_it() {
    let checkout = Checkout::new();
    let client = checkout.root.join("target/release/serve_tools");
    checkout.launch_with("call_tool", "glob", "");
    assert!(!client.exists());
    checkout.launch_with("call_tool", "web_fetch", "");
    assert!(client.exists());
    assert_eq!(checkout.builds(), 2);
    checkout.launch_with("call_tool", "server__tool", "");
    assert_eq!(checkout.builds(), 2);
}

#[test]
fn the_server_is_built_before_get_tools_becomes_it() {
    let checkout = Checkout::new();
    checkout.launch_with("get_tools", "serve", "");
    assert!(checkout.root.join("target/release/serve_tools").exists());
    assert_eq!(checkout.builds(), 2);
}

#[test]
fn what_reaches_mcp_servers_is_built_where_settings_have_some() {
    let checkout = Checkout::new();
    let settings = checkout.ws.dir().join(".gemini");
    fs::create_dir(&settings).expect("a directory");
    fs::write(settings.join("settings.json"), r#"{"mcpServers": {}}"#).expect("settings");
    checkout.launch("get_tools", "");
    let release = checkout.root.join("target/release");
    assert!(release.join("serve_tools").exists());
    assert!(release.join("get_tools").exists());
    assert_eq!(checkout.builds(), 2);
}

#[test]
fn sources_that_git_replaced_are_built_anew() {
    let checkout = Checkout::new();
    checkout.call("");
    let mut builds = 1;
    for name in [
        "src/lib.rs",
        "src/call_tool/mod.rs",
        "crates/new",
        "crates/process/Cargo.toml",
        "crates/process/src/lib.rs",
        "crates/process/src/tree/linux.rs",
        "crates/process/src/tree/deep/a.rs",
        "Cargo.lock",
    ] {
        set_age(&checkout.root.join("target/release/call_tool"), 60);
        // As git does: under another name first.
        let path = checkout.root.join(name);
        fs::write(path.with_extension("new"), "// changed").expect("a source");
        fs::rename(path.with_extension("new"), &path).expect("renamed");
        checkout.call("");
        builds += 1;
        assert_eq!(checkout.builds(), builds, "{name}");
        checkout.call("");
        assert_eq!(checkout.builds(), builds, "{name}");
    }
}

#[test]
fn a_build_with_nothing_to_do_is_not_repeated() {
    let checkout = Checkout::new();
    checkout.call("");
    set_age(&checkout.root.join("target/release/call_tool"), 60);
    fs::write(checkout.root.join("src/notes.txt"), "").expect("a file");
    for _ in 0..3 {
        checkout.call("yes");
        assert_eq!(checkout.builds(), 2);
    }
}

#[test]
fn the_executables_are_linked_to_musl_once_it_is_installed() {
    let checkout = Checkout::new();
    checkout.call("");
    let log = || fs::read_to_string(checkout.root.join("builds")).expect("the builds");
    assert!(!log().contains("musl"), "{}", log());
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let library = format!("tools/sysroot/lib/rustlib/{target}");
    fs::create_dir_all(checkout.root.join(library)).expect("a directory");
    // What was built for glibc counts until something changes.
    checkout.call("");
    assert_eq!(checkout.builds(), 1);
    set_age(&checkout.root.join("target/release/call_tool"), 60);
    fs::write(checkout.root.join("src/notes.txt"), "").expect("a file");
    for _ in 0..3 {
        checkout.call("");
        assert_eq!(checkout.builds(), 2);
    }
    assert!(log().contains(&format!("--target {target} ")), "{}", log());
    let built = checkout
        .root
        .join("target")
        .join(target)
        .join("release/call_tool");
    assert!(built.exists());
}

#[test]
fn without_musl_executables_that_resolve_no_names_are_linked_to_glibc_statically() {
    let checkout = Checkout::new();
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let rustc = format!("#!/bin/sh\n[ \"$1\" = -vV ] && echo 'host: {host}'\n");
    checkout.install("rustc", &rustc);
    checkout.install("cc", "#!/bin/sh\necho /usr/lib/libc.a\n");
    let log = "echo \"$(env | grep -c crt-static)\" \"$@\"";
    checkout.install("cargo", &CARGO.replace("echo \"$@\"", log));
    for _ in 0..2 {
        checkout.call("");
    }
    checkout.launch("serve_tools", "");
    let log = fs::read_to_string(checkout.root.join("builds")).expect("the builds");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    let target = format!("--target {host} ");
    for (line, is_static, name) in [
        (lines[0], "1 ", "call_tool"),
        (lines[1], "0 ", "serve_tools"),
    ] {
        assert!(
            line.starts_with(is_static) && line.contains(&target),
            "{log}"
        );
        assert!(line.contains(&format!("--bin {name}")), "{log}");
        let built = format!("target/{host}/release/{name}");
        assert!(checkout.root.join(built).exists());
    }
}
