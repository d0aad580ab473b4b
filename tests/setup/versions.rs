//! `--version`, and the build script that finds the commit: it is compiled alone and run in checkouts made for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::harness::{Workspace, executable};

/// 2026-11-20 in the west of UTC, a day later in UTC.
const TIME: &str = "2026-11-20T23:30:00-02:00";

#[test]
fn every_executable_says_its_version_and_the_same_one() {
    let ws = Workspace::new();
    let mut versions = Vec::new();
    for name in ["get_tools", "call_tool", "run_agent", "serve_tools"] {
        let path = executable("get_tools").with_file_name(name);
        for flag in ["--version", "-V"] {
            let answer = ws.program(&path, &[flag]).run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
            let version = answer
                .text()
                .strip_prefix(name)
                .and_then(|v| v.strip_prefix(' '));
            versions.push(
                version
                    .unwrap_or_else(|| panic!("{}", answer.shown()))
                    .to_owned(),
            );
        }
    }
    let form =
        r"^[0-9]+\.[0-9]+\.[0-9]+( \([0-9a-f]{7}(-dirty)?(, [0-9]{4}-[0-9]{2}-[0-9]{2})?\))?\n$";
    let form = regex::Regex::new(form).expect("an expression");
    assert!(form.is_match(&versions[0]), "{}", versions[0]);
    assert!(versions.iter().all(|v| *v == versions[0]), "{versions:?}");
}

/// The build script as a program.
fn build_script() -> &'static Path {
    static PROGRAM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PROGRAM.get_or_init(|| {
        let dir = TempDir::new().expect("a directory");
        let path = dir.path().join("build");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let beside = Path::new(env!("CARGO")).with_file_name("rustc");
        let rustc = if beside.exists() {
            beside
        } else {
            "rustc".into()
        };
        let run = Command::new(rustc)
            .args(["--edition", "2024", "-o"])
            .args([&path, &source])
            .output();
        let run = run.expect("rustc runs");
        assert!(run.status.success(), "{run:?}");
        (dir, path)
    });
    path
}

/// What the build script finds in a directory of the workspace.
struct Found {
    version: String,
    watched: Vec<String>,
}

fn found(ws: &Workspace, dir: &str, env: &[(&str, &str)]) -> Found {
    let mut command = ws.program(build_script(), &[]).command();
    command.current_dir(ws.dir().join(dir));
    command.env("CARGO_CFG_TARGET_OS", "linux");
    command
        .env("CARGO_PKG_VERSION", "1.2.3")
        .envs(env.iter().copied());
    let run = command.output().expect("it runs");
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    let lines = String::from_utf8(run.stdout).expect("UTF-8");
    let values = |key: &str| -> Vec<String> {
        let lines = lines.lines().filter_map(|line| line.strip_prefix(key));
        lines.map(str::to_owned).collect()
    };
    let mut versions = values("cargo::rustc-env=GEMINI_TOOLS_VERSION=");
    assert_eq!(versions.len(), 1, "{lines}");
    Found {
        version: versions.remove(0),
        watched: values("cargo::rerun-if-changed="),
    }
}

fn version(ws: &Workspace, env: &[(&str, &str)]) -> String {
    found(ws, "", env).version
}

fn git(ws: &Workspace, args: &[&str]) -> String {
    let mut git = ws.program(Path::new("git"), args).command();
    git.env("GIT_COMMITTER_DATE", TIME)
        .env("GIT_AUTHOR_DATE", TIME);
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "o");
        git.env(format!("GIT_{role}_EMAIL"), "o@example.invalid");
    }
    let run = git.output().expect("git runs");
    assert!(run.status.success(), "git {args:?}: {run:?}");
    String::from_utf8(run.stdout)
        .expect("UTF-8")
        .trim()
        .to_owned()
}

/// A checkout with one commit, and the commit's first seven digits.
fn checkout() -> (Workspace, String) {
    let ws = Workspace::new()
        .file("src/lib.rs", "")
        .file("README.md", "")
        .git();
    for name in ["completions/a", "build.rs", "Cargo.toml", "Cargo.lock"] {
        crate::harness::write(&ws.dir().join(name), b"");
    }
    git(&ws, &["add", "."]);
    git(&ws, &["commit", "-q", "-m", "one"]);
    let commit = git(&ws, &["rev-parse", "HEAD"])[..7].to_owned();
    (ws, commit)
}

#[test]
fn a_build_of_a_checkout_has_its_commit_and_the_day_in_utc() {
    let (ws, commit) = checkout();
    assert_eq!(version(&ws, &[]), format!("1.2.3 ({commit}, 2026-11-21)"));
    // As in a hook of another repository.
    let other = [("GIT_DIR", "/nowhere"), ("GIT_WORK_TREE", "/nowhere")];
    assert_eq!(version(&ws, &other), version(&ws, &[]));
}

#[test]
fn changed_sources_show_in_a_release_build_only() {
    let (ws, commit) = checkout();
    let release = [("PROFILE", "release")];
    let clean = format!("1.2.3 ({commit}, 2026-11-21)");
    let ws = ws
        .file("README.md", "changed")
        .file("src/new.rs", "untracked");
    assert_eq!(version(&ws, &release), clean);
    let ws = ws.file("src/lib.rs", "changed");
    assert_eq!(version(&ws, &[("PROFILE", "debug")]), clean);
    assert_eq!(
        version(&ws, &release),
        format!("1.2.3 ({commit}-dirty, 2026-11-21)")
    );
    let watched = found(&ws, "", &release).watched;
    assert!(watched.contains(&"src".to_owned()), "{watched:?}");
}

/// Whether a change of what is watched is noticed: all of it is there, and some of it differs afterwards.
fn notices(ws: &Workspace, dir: &str, change: impl FnOnce()) {
    let watched = found(ws, dir, &[]).watched;
    let dir = ws.dir().join(dir);
    let state = || -> Vec<_> {
        let files = watched
            .iter()
            .filter(|f| *f != "build.rs")
            .map(|f| dir.join(f));
        let state = |f: PathBuf| {
            let meta = fs::metadata(&f).unwrap_or_else(|e| panic!("{}: {e}", f.display()));
            (meta.modified().expect("a time"), fs::read(&f).ok())
        };
        files.map(state).collect()
    };
    let before = state();
    assert!(!before.is_empty());
    change();
    assert!(before != state(), "{watched:?}");
}

#[test]
fn the_build_script_runs_again_when_head_moves() {
    let (ws, _) = checkout();
    let commit = || drop(git(&ws, &["commit", "-q", "--allow-empty", "-m", "more"]));
    notices(&ws, "", commit);
    notices(&ws, "", || drop(git(&ws, &["switch", "-q", "-c", "other"])));
    // Then the branch has no file of its own until the next commit.
    git(&ws, &["pack-refs", "--all"]);
    notices(&ws, "", commit);
    git(&ws, &["switch", "-q", "--detach"]);
    notices(&ws, "", commit);

    git(&ws, &["worktree", "add", "-q", "-b", "third", "tree"]);
    let in_tree = found(&ws, "tree", &[]).version;
    assert_eq!(in_tree, found(&ws, "", &[]).version);
    notices(&ws, "tree", || {
        git(
            &ws,
            &["-C", "tree", "commit", "-q", "--allow-empty", "-m", "there"],
        );
    });
    assert_ne!(in_tree, found(&ws, "tree", &[]).version);
}

#[test]
fn without_a_checkout_there_is_no_commit_and_what_cargo_packed_counts() {
    let ws = Workspace::new();
    assert_eq!(version(&ws, &[]), "1.2.3");
    let info = |dirty: &str| {
        format!(
            "{{\n  \"git\": {{\n    \"sha1\": \"0123456789abcdef0123456789abcdef01234567\"{dirty}\n  }},\n  \"path_in_vcs\": \"\"\n}}"
        )
    };
    let ws = ws.file(".cargo_vcs_info.json", info(""));
    assert_eq!(version(&ws, &[]), "1.2.3 (0123456)");
    let ws = ws.file(".cargo_vcs_info.json", info(",\n    \"dirty\": true"));
    assert_eq!(version(&ws, &[]), "1.2.3 (0123456-dirty)");
    let ws = ws.file(".cargo_vcs_info.json", "{\"git\":{\"sha1\":\"é\"}}");
    assert_eq!(version(&ws, &[]), "1.2.3");
}

#[test]
fn a_checkout_around_the_sources_is_somebody_elses() {
    let (ws, _) = checkout();
    assert_eq!(found(&ws, "src", &[]).version, "1.2.3");
}

#[test]
fn packagers_say_commit_and_date_themselves() {
    let (ws, commit) = checkout();
    let epoch = ("SOURCE_DATE_EPOCH", "951782400");
    assert_eq!(
        version(&ws, &[epoch]),
        format!("1.2.3 ({commit}, 2000-02-29)")
    );
    let own = ("GEMINI_TOOLS_COMMIT", "deb12");
    assert_eq!(version(&ws, &[own]), "1.2.3 (deb12)");
    assert_eq!(version(&ws, &[own, epoch]), "1.2.3 (deb12, 2000-02-29)");
    assert_eq!(version(&ws, &[("GEMINI_TOOLS_COMMIT", ""), epoch]), "1.2.3");
    for (time, day) in [
        ("0", "1970-01-01"),
        ("-1", "1969-12-31"),
        ("4107542399", "2100-02-28"),
        ("4107542400", "2100-03-01"),
    ] {
        let shown = version(&ws, &[own, ("SOURCE_DATE_EPOCH", time)]);
        assert_eq!(shown, format!("1.2.3 (deb12, {day})"));
    }
    // What can't be read says nothing.
    assert_eq!(
        version(&ws, &[own, ("SOURCE_DATE_EPOCH", "soon")]),
        "1.2.3 (deb12)"
    );
}

#[test]
fn a_build_for_another_system_is_refused_in_one_sentence() {
    let ws = Workspace::new();
    let lines = |env: &[(&str, &str)]| -> Vec<String> {
        let mut command = ws.program(build_script(), &[]).command();
        command.envs(env.iter().copied());
        let run = command.output().expect("it runs");
        let text = String::from_utf8(run.stdout).expect("UTF-8");
        let errors = text
            .lines()
            .filter(|line| line.starts_with("cargo::error="));
        errors.map(str::to_owned).collect()
    };
    let system = |name| ("CARGO_CFG_TARGET_OS", name);
    for name in ["freebsd", "illumos", ""] {
        let found = lines(&[system(name)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("Linux and macOS") && found[0].contains(name),
            "{found:?}"
        );
        let anyway = lines(&[system(name), ("GEMINI_TOOLS_ANY_TARGET", "1")]);
        assert!(anyway.is_empty(), "{anyway:?}");
    }
    for name in ["linux", "macos"] {
        assert!(lines(&[system(name)]).is_empty(), "{name}");
    }
}
