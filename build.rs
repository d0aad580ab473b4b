//! Tells the executables which version they are.
//!
//! `GEMINI_TOOLS_VERSION` is what `--version` prints after the name: the package's version, the
//! commit and its date. The commit is that of the checkout, or that of the file which `cargo
//! package` leaves in a crate, or what `GEMINI_TOOLS_COMMIT` says at build time (nothing, where that
//! is empty). The date is the commit's, or `SOURCE_DATE_EPOCH`; both in UTC, so that a build can be
//! repeated. A release build of sources that were changed since says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What goes into the executables, for telling whether they are those of the commit.
const SOURCES: [&str; 6] = [
    "src",
    "crates",
    "completions",
    "build.rs",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=GEMINI_TOOLS_VERSION={}", version());
    check_target();
}

/// The systems that there are code paths for.
const SYSTEMS: [&str; 2] = ["linux", "macos"];

/// Ends the build with one sentence instead of some hundred errors of the compiler.
fn check_target() {
    println!("cargo::rerun-if-env-changed=GEMINI_TOOLS_ANY_TARGET");
    let target = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if !SYSTEMS.contains(&&*target) && env::var_os("GEMINI_TOOLS_ANY_TARGET").is_none() {
        println!(
            "cargo::error=gemini-tools is written for Linux and macOS, not for {target}. \
             CONTRIBUTING.md says what a port would need."
        );
    }
}

fn version() -> String {
    println!("cargo::rerun-if-env-changed=GEMINI_TOOLS_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let package = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let (commit, time) = match env::var("GEMINI_TOOLS_COMMIT") {
        Ok(commit) => (commit, None),
        Err(_) => checkout().or_else(packaged).unwrap_or_default(),
    };
    let epoch = env::var("SOURCE_DATE_EPOCH").ok();
    let time = epoch.and_then(|e| e.trim().parse().ok()).or(time);
    match (commit.trim(), time) {
        ("", _) => package,
        (commit, None) => format!("{package} ({commit})"),
        (commit, Some(time)) => format!("{package} ({commit}, {})", date(time)),
    }
}

/// The commit of the checkout that this is, and its time in seconds since 1970.
fn checkout() -> Option<(String, Option<i64>)> {
    // Sources may have been unpacked inside of another checkout.
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    let head = git(&["show", "--no-patch", "--format=%H %ct", "HEAD"])?;
    let (hash, time) = head.split_once(' ')?;
    watch_head();
    let mut commit = short(hash)?.to_owned();
    // A build for development would be made anew as a whole after each change.
    if env::var("PROFILE").is_ok_and(|p| p == "release") {
        for source in SOURCES {
            println!("cargo::rerun-if-changed={source}");
        }
        let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
        status.extend(SOURCES);
        if !git(&status)?.is_empty() {
            commit.push_str("-dirty");
        }
    }
    Some((commit, time.parse().ok()))
}

/// Has this run again when `HEAD` names another branch or the branch another commit.
fn watch_head() {
    let path = |name: &str| git(&["rev-parse", "--git-path", name]).map(PathBuf::from);
    let mut watched = vec![path("HEAD"), path("reftable")];
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"])
        && let Some(file) = path(&branch)
    {
        // A branch without a file of its own gets one at its next commit.
        watched.push(file.ancestors().find(|p| p.exists()).map(Path::to_path_buf));
        watched.push(path("packed-refs"));
    }
    // Of a file that isn't there cargo believes that it has changed each time.
    for file in watched.into_iter().flatten().filter(|file| file.exists()) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// What git says; `None` where it fails or isn't there.
fn git(args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("--no-optional-locks").args(args);
    // Hooks set them, and mean another repository perhaps.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    let out = git.output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
}

/// The commit that `cargo package` has made the crate from.
fn packaged() -> Option<(String, Option<i64>)> {
    let file = Path::new(".cargo_vcs_info.json");
    let text = fs::read_to_string(file).ok()?;
    println!("cargo::rerun-if-changed={}", file.display());
    let (_, rest) = text.split_once("\"sha1\"")?;
    let mut commit = short(rest.split('"').nth(1)?)?.to_owned();
    let is_dirty = text.split_once("\"dirty\"");
    if is_dirty.is_some_and(|(_, rest)| rest.trim_start_matches([':', ' ']).starts_with("true")) {
        commit.push_str("-dirty");
    }
    Some((commit, None))
}

/// As many digits in every clone: git's own choice depends on how much there is.
fn short(hash: &str) -> Option<&str> {
    let is_hash = hash.bytes().all(|b| b.is_ascii_hexdigit());
    hash.get(..7).filter(|_| is_hash)
}

/// The day in UTC, by the Gregorian calendar, of seconds since 1970.
fn date(time: i64) -> String {
    // Years are counted from March, so that a leap day is a year's last.
    let days = time.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
