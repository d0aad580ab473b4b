//! What is handed to others: the crates, and what `scripts/package` makes. The executables are those that the other tests
//! use, or small ones in their place where only names and bytes matter. Without `dpkg-deb` or the pinned cargo-deb the
//! Debian package is not looked at, but in CI it is.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Workspace, copy_program, executable, place_executable, skipped};

const NAMES: [&str; 4] = ["get_tools", "call_tool", "run_agent", "serve_tools"];

/// The largest is Cargo.lock.
const LARGEST_FILE_BYTES: u64 = 200_000;

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a command prints; panics where it fails.
#[track_caller]
fn output(command: &mut Command) -> String {
    let run = command.output();
    let run = run.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{command:?}: {errors}");
    String::from_utf8(run.stdout).expect("UTF-8")
}

fn script() -> Command {
    let mut script = Command::new(checkout().join("scripts/package"));
    script.env("SOURCE_DATE_EPOCH", "1700000000");
    script
}

/// The directories of the crates that the executables' own is made of.
fn crates() -> Vec<PathBuf> {
    let entries = fs::read_dir(checkout().join("crates")).expect("crates");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The files of all crates, by their paths in the checkout.
fn crate_files() -> BTreeSet<String> {
    let list = |package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        let list = ["package", "--list", "--allow-dirty", "--offline", "-p"];
        output(cargo.args(list).arg(package).current_dir(checkout()))
    };
    let mut files: BTreeSet<_> = list("gemini-tools").lines().map(str::to_owned).collect();
    for dir in crates() {
        let inside = dir.strip_prefix(checkout()).expect("in the checkout");
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        files.extend(
            list(&format!("gemini-tools-{name}"))
                .lines()
                .map(|file| inside.join(file).to_string_lossy().into_owned()),
        );
    }
    files
}

/// What the compiler has read for an executable and for our crates, included files too, by its own newest account.
fn compiled_from(name: &str) -> BTreeSet<String> {
    let deps = Path::new(env!("CARGO_BIN_EXE_get_tools")).with_file_name("deps");
    let mut files = BTreeSet::new();
    let own = crates().into_iter().map(|dir| {
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .replace('-', "_");
        match &*name {
            "library" => "gemini_tools".to_owned(),
            _ => format!("gemini_tools_{name}"),
        }
    });
    for of in own.chain([name.to_owned(), "gemini_tools_executables".to_owned()]) {
        let entries = fs::read_dir(&deps).expect("what was compiled").flatten();
        let is_account = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let hash = file
                .strip_prefix(&*of)
                .and_then(|rest| rest.strip_prefix('-'));
            hash.is_some() && path.extension().is_some_and(|e| e == "d")
        };
        let newest = entries
            .map(|entry| entry.path())
            .filter(is_account)
            .max_by_key(|file| fs::metadata(file).and_then(|m| m.modified()).ok());
        let account = newest.unwrap_or_else(|| panic!("no account of {of}"));
        let text = fs::read_to_string(&account).expect("an account");
        let (_, line) = text.split_once(": ").expect("a rule of make");
        let line = line.lines().next().unwrap_or_default().replace("\\ ", "\0");
        for file in line.split_whitespace() {
            let path = checkout().join(file.replace('\0', " "));
            let Ok(path) = path.canonicalize() else {
                continue;
            };
            if let Ok(inside) = path.strip_prefix(checkout())
                && !inside.starts_with("target")
                && !inside.starts_with(".git")
            {
                files.insert(inside.to_string_lossy().into_owned());
            }
        }
    }
    files
}

#[test]
fn the_crates_have_every_file_that_is_compiled_and_nothing_large() {
    let files = crate_files();
    let needed = compiled_from("get_tools");
    for known in [
        "src/lib.rs",
        "crates/library/src/lib.rs",
        "crates/builtin-tools/src/builtin/schemas.json",
        "completions/_get_tools",
    ] {
        assert!(needed.contains(known), "{known} is not in {needed:?}");
    }
    for name in NAMES {
        let missing: Vec<_> = compiled_from(name).difference(&files).cloned().collect();
        assert!(missing.is_empty(), "{name} needs {missing:?}");
    }
    for name in [
        "build.rs",
        "Cargo.lock",
        "packaging/crate/README.md",
        "man/get_tools.1",
    ] {
        assert!(files.contains(name), "{name}");
    }
    for name in &files {
        let top = name.split('/').next().expect("a name");
        assert!(
            !["docs", "evals", "fuzz", "scripts", "target", "tests"].contains(&top),
            "{name}"
        );
        // Some are made for the crate and are not in the checkout.
        let bytes = fs::metadata(checkout().join(name)).map_or(0, |m| m.len());
        assert!(bytes <= LARGEST_FILE_BYTES, "{name} has {bytes} bytes");
    }
}

#[test]
fn every_crate_says_where_it_comes_from_and_has_its_licences_and_a_page_of_its_own() {
    let packages = metadata();
    let published = |one: &&Value| one["publish"].is_null();
    let published: Vec<&Value> = packages.iter().filter(published).collect();
    // The executables, and each crate.
    assert_eq!(published.len(), 1 + crates().len());
    let files = crate_files();
    for package in published {
        let name = package["name"].as_str().expect("a name");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        assert_eq!(package["repository"], published_at(), "{name}");
        let page = package["documentation"].as_str().expect(name);
        assert!(page.starts_with("https://docs.rs/gemini-tools"), "{name}");
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let dir = manifest.parent().expect("a directory");
        let inside = dir.strip_prefix(checkout()).expect("in the checkout");
        let readme = package["readme"].as_str().expect(name);
        for file in ["LICENSE-MIT", "LICENSE-APACHE", readme] {
            let file = inside.join(file).to_string_lossy().into_owned();
            assert!(files.contains(&file), "{file}");
        }
        let text = fs::read_to_string(dir.join(readme)).expect(name);
        assert!(text.starts_with(&format!("# {name}\n")), "{name}");
        // What is beside it in the checkout is not beside it in a registry.
        let mut links = text.split("](").skip(1);
        assert!(links.all(|link| link.starts_with("https://")), "{name}");
    }
}

/// The packages of the workspace, by cargo.
fn metadata() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    let metadata = ["metadata", "--format-version=1", "--no-deps", "--offline"];
    let metadata = output(cargo.args(metadata).current_dir(checkout()));
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// The address that all packages and listings have from Cargo.toml.
fn published_at() -> String {
    let manifest = fs::read_to_string(checkout().join("Cargo.toml")).expect("Cargo.toml");
    let manifest: Value = toml::from_str(&manifest).expect("TOML");
    let repository = &manifest["workspace"]["package"]["repository"];
    repository.as_str().expect("an address").to_owned()
}

/// A directory with a small program under each of our names.
fn small_ones() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for name in NAMES {
        copy_program(Path::new("/bin/true"), &dir.path().join(name));
    }
    dir
}

/// The same with those that two tests start.
fn real_ones() -> TempDir {
    let dir = small_ones();
    for name in ["get_tools", "call_tool"] {
        let copy = dir.path().join(name);
        copy_program(&executable(name), &copy);
        // Smaller ones are packed sooner.
        let _ = Command::new("strip").arg(copy).output();
    }
    dir
}

/// The packages of small executables by two runs, and those of the real ones. They take seconds, so that tests that run
/// at the same time share them, and change none; with the last of these tests they are gone.
static SMALL: [Mutex<Weak<Packages>>; 2] = [const { Mutex::new(Weak::new()) }; 2];
static REAL: Mutex<Weak<Packages>> = Mutex::new(Weak::new());

/// A directory with packages, and those by name.
type Packages = (TempDir, BTreeMap<String, PathBuf>);

/// The packages of the executables in the directory that `from` makes: those that another test has just now, or else
/// made for this one.
#[track_caller]
fn shared(of: &Mutex<Weak<Packages>>, from: fn() -> TempDir) -> Arc<Packages> {
    // Where another test has failed to make them, this one tries by itself.
    let mut of = of.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = of.upgrade() {
        return made;
    }
    let made = Arc::new(packages(from().path()));
    *of = Arc::downgrade(&made);
    made
}

/// Makes packages of the executables in a directory, of Debian too where that can be, and gives them by name.
#[track_caller]
fn packages(from: &Path) -> Packages {
    let out = TempDir::new().expect("a directory");
    let mut script = script();
    script.arg("--from").arg(from).arg("--out").arg(out.path());
    if !can_make_deb() {
        script.arg("--no-deb");
    }
    output(script.arg("--fast"));
    let files = fs::read_dir(out.path()).expect("the directory");
    let files = files.map(|entry| entry.expect("its entry").path());
    let name = |path: &Path| {
        path.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let files = files.map(|path| (name(&path), path)).collect();
    (out, files)
}

#[track_caller]
fn ending<'a>(files: &'a BTreeMap<String, PathBuf>, end: &str) -> &'a Path {
    let found = files.iter().find(|(name, _)| name.ends_with(end));
    found.unwrap_or_else(|| panic!("no {end} in {files:?}")).1
}

#[test]
fn the_archive_works_below_an_empty_prefix() {
    let made = shared(&REAL, real_ones);
    let files = &made.1;
    let prefix = TempDir::new().expect("a directory");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(ending(files, "-linux.tar.gz"));
    output(tar.arg("--strip-components=1").arg("-C").arg(prefix.path()));
    for file in [
        "bin/serve_tools",
        "share/bash-completion/completions/call_tool",
        "share/doc/gemini-tools/CHANGELOG.md",
        "share/doc/gemini-tools/LICENSE-APACHE",
        "share/fish/vendor_completions.d/run_agent.fish",
        "share/man/man1/serve_tools.1",
        "share/zsh/site-functions/_get_tools",
    ] {
        assert!(prefix.path().join(file).is_file(), "{file}");
    }
    let ws = Workspace::new().file("a.txt", "from the archive\n");
    let bin = prefix.path().join("bin");
    let names = ws
        .program(&bin.join("get_tools"), &["--format", "names"])
        .run();
    assert!(
        names.text().lines().any(|name| name == "read_file"),
        "{}",
        names.shown()
    );
    let call = ws.program(&bin.join("call_tool"), &["read_file"]);
    let answer = call
        .arguments(&json!({"absolute_path": ws.path("a.txt")}))
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert!(
        answer.text().contains("from the archive"),
        "{}",
        answer.shown()
    );
}

#[test]
fn the_licences_are_those_beside_the_executable_and_a_missing_file_is_named() {
    let prefix = TempDir::new().expect("a directory");
    let bin = prefix.path().join("bin");
    let doc = prefix.path().join("share/doc/gemini-tools");
    fs::create_dir_all(&bin).expect("a directory");
    fs::create_dir_all(&doc).expect("a directory");
    place_executable("get_tools", &bin.join("get_tools"));
    let ws = Workspace::new();
    let licences = || ws.program(&bin.join("get_tools"), &["--licenses"]).run();
    let missing = licences();
    assert_eq!(missing.status(), 1, "{}", missing.shown());
    let name = "share/doc/gemini-tools/THIRD-PARTY-LICENSES.txt";
    assert!(missing.shown().contains(name), "{}", missing.shown());
    fs::write(doc.join("THIRD-PARTY-LICENSES.txt"), "all of them\n").expect("written");
    assert_eq!(licences().text(), "all of them\n");
}

#[test]
fn cargo_binstall_is_told_the_archive_of_each_platform_and_where_its_executables_are() {
    let all = metadata();
    let own = all.iter().find(|package| package["name"] == "gemini-tools");
    let binstall = &own.expect("our package")["metadata"]["binstall"];
    for (platform, target) in [
        ("linux-x64", "x86_64-unknown-linux-musl"),
        ("linux-arm64", "aarch64-unknown-linux-gnu"),
        ("darwin-x64", "x86_64-apple-darwin"),
        ("darwin-arm64", "aarch64-apple-darwin"),
    ] {
        // What is said of a target goes before what is said of all.
        let said = |key: &str| {
            let value = binstall["overrides"][target].get(key);
            let text = value.unwrap_or(&binstall[key]).as_str().expect("a text");
            text.replace("{ repo }", "https://host.invalid")
                .replace("{ version }", env!("CARGO_PKG_VERSION"))
                .replace("{ target-arch }", target.split('-').next().expect("one"))
                .replace("{ bin }", "call_tool")
                .replace("{ binary-ext }", "")
        };
        let tree = TempDir::new().expect("a directory");
        let bin = tree.path().join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        let doc = tree.path().join("share/doc/gemini-tools");
        fs::create_dir_all(&doc).expect("a directory");
        for name in NAMES {
            fs::write(bin.join(name), "x").expect("written");
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt"] {
            fs::write(doc.join(name), "x").expect("written");
        }
        let out = TempDir::new().expect("a directory");
        let mut bundles = Command::new("python3");
        bundles
            .arg(checkout().join("scripts/package.d/bundles.py"))
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .arg("--tree")
            .arg(tree.path())
            .arg("--out")
            .arg(out.path())
            .arg("--checkout")
            .arg(checkout())
            .args(["--version", env!("CARGO_PKG_VERSION")])
            .args(["--repository", "https://host.invalid"])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(["--platform", platform, "--level", "1"]);
        let made = output(&mut bundles);
        let url = said("pkg-url");
        let (place, archive) = url.rsplit_once('/').expect("a path");
        let release = concat!(
            "https://host.invalid/releases/download/v",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(place, release, "{platform}");
        assert!(
            made.lines().any(|name| name == archive),
            "{archive} is not in {made}"
        );
        let file = out.path().join(archive);
        assert_eq!(said("pkg-fmt"), "tgz");
        let listed = output(Command::new("tar").arg("-tzf").arg(file));
        let inside = said("bin-dir");
        let names = listed.lines().filter_map(|line| line.split(' ').next());
        assert!(
            names.into_iter().any(|name| name == inside),
            "{inside} is not in {listed}"
        );
    }
}

#[test]
fn the_extension_has_a_skill_and_a_policy_about_all_that_changes_something_and_asks_nothing() {
    let made = shared(&SMALL[0], small_ones);
    let archive = ending(&made.1, ".gemini-tools.tar.gz");
    let inside = |name: &str| output(Command::new("tar").arg("-xOzf").arg(archive).arg(name));
    let manifest: Value = serde_json::from_str(&inside("gemini-extension.json")).expect("JSON");
    // The host asks for each at installation, and waits for ever where no one can answer.
    assert_eq!(manifest["settings"], Value::Null);
    let skill = inside("skills/gemini-tools/SKILL.md");
    assert!(skill.starts_with("---\nname: gemini-tools\n"), "{skill}");

    let policy: Value = toml::from_str(&inside("policies/plan-mode.toml")).expect("TOML");
    let [rule] = policy["rule"].as_array().expect("rules").as_slice() else {
        panic!("{policy}");
    };
    // Gemini CLI ignores an extension's rule that allows, or that is for yolo.
    assert_eq!(
        (&rule["decision"], &rule["modes"]),
        (&json!("deny"), &json!(["plan"]))
    );
    let declared = Workspace::new().get_tools(&["--kinds"]).run().json();
    let changes = |tool: &&Value| {
        !["read", "search", "fetch"].contains(&tool["kind"].as_str().expect("a kind"))
    };
    let tools = declared.as_array().expect("tools").iter().filter(changes);
    let changing: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
    let denied: Vec<&Value> = rule["toolName"].as_array().expect("names").iter().collect();
    assert_eq!(denied, changing);
}

#[test]
fn two_runs_make_the_same_bytes_and_the_checksums_hold() {
    let [first, second] = SMALL.each_ref().map(|run| shared(run, small_ones));
    let (first, second) = (&first.1, &second.1);
    // Of each kind one, and the checksums.
    let is_deb = |path: &PathBuf| path.extension().is_some_and(|e| e == "deb");
    let with_deb = first.values().filter(|path| is_deb(path)).count();
    assert_eq!(first.len(), 14 + with_deb, "{first:?}");
    let own = TempDir::new().expect("a directory");
    for (name, path) in first {
        let bytes = fs::read(path).expect("a file");
        assert!(bytes == fs::read(&second[name]).expect("a file"), "{name}");
        fs::write(own.path().join(name), bytes).expect("written");
    }
    let mut check = Command::new("sha256sum");
    check
        .args(["-c", "--strict", "SHA256SUMS"])
        .current_dir(own.path());
    assert_eq!(output(&mut check).lines().count(), 13 + with_deb);
    let archive = ending(first, "-linux.tar.gz").file_name();
    let archive = own.path().join(archive.expect("a name"));
    fs::write(archive, "something else").expect("written");
    assert!(!check.output().expect("it runs").status.success());
}

/// Whether a Debian package can be made without installing anything; in CI it must.
fn can_make_deb() -> bool {
    let has_dpkg = Command::new("dpkg-deb").arg("--version").output().is_ok();
    let has_cargo_deb = script()
        .args(["--cargo-deb", "--installed"])
        .output()
        .is_ok_and(|run| run.status.success());
    for (has, what) in [
        (has_dpkg, "dpkg-deb"),
        (has_cargo_deb, "cargo-deb of scripts/package"),
    ] {
        if !has {
            skipped(what);
            return false;
        }
    }
    true
}

#[test]
fn the_debian_package_has_everything_in_its_place_and_is_the_same_twice() {
    if !can_make_deb() {
        return;
    }
    let [made, again] = SMALL.each_ref().map(|run| shared(run, small_ones));
    let deb = ending(&made.1, ".deb");
    assert!(fs::read(deb).expect("a file") == fs::read(ending(&again.1, ".deb")).expect("a file"));

    let field = |name: &str| {
        let mut dpkg = Command::new("dpkg-deb");
        output(dpkg.arg("-f").arg(deb).arg(name))
            .trim_end()
            .to_owned()
    };
    assert_eq!(field("Package"), "gemini-tools");
    assert_eq!(field("Version"), concat!(env!("CARGO_PKG_VERSION"), "-1"));
    assert_eq!(field("Section"), "devel");
    assert!(field("Depends").contains("libc6"), "{}", field("Depends"));
    let description = field("Description");
    let (first, more) = description.split_once('\n').expect("more lines");
    assert!(
        first.ends_with("agent") && more.contains("Model Context Protocol"),
        "{description}"
    );

    let listed = output(Command::new("dpkg-deb").arg("-c").arg(deb));
    let mut expected: Vec<String> = NAMES.map(|n| format!("-rwxr-xr-x ./usr/bin/{n}")).into();
    let doc = "./usr/share/doc/gemini-tools";
    for file in [
        "README.md",
        "changelog.gz",
        "changelog.Debian.gz",
        "copyright",
    ] {
        expected.push(format!("-rw-r--r-- {doc}/{file}"));
    }
    for name in &NAMES[..4] {
        for file in [
            format!("man/man1/{name}.1.gz"),
            format!("bash-completion/completions/{name}"),
            format!("zsh/vendor-completions/_{name}"),
            format!("fish/vendor_completions.d/{name}.fish"),
        ] {
            expected.push(format!("-rw-r--r-- ./usr/share/{file}"));
        }
    }
    let lines: BTreeSet<String> = listed
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(["root/root", "0/0"].contains(&words[1]), "{line}");
            format!("{} {}", words[0], words[5])
        })
        .collect();
    for line in expected {
        assert!(lines.contains(&line), "{line} is not in {lines:#?}");
    }

    let root = TempDir::new().expect("a directory");
    output(Command::new("dpkg-deb").arg("-x").arg(deb).arg(root.path()));
    let changelog = root
        .path()
        .join("usr/share/doc/gemini-tools/changelog.Debian.gz");
    let changelog = output(Command::new("gzip").arg("-dc").arg(changelog));
    let version = concat!("gemini-tools (", env!("CARGO_PKG_VERSION"), "-1) ");
    assert!(
        changelog.starts_with(version),
        "packaging/changelog: {changelog}"
    );
}

/// Everything below a directory, without what dpkg itself keeps there.
fn below(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("its entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below it")
                .to_string_lossy()
                .into_owned();
            if name == "var" {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            }
            found.insert(name);
        }
    }
    found
}

#[test]
fn the_debian_package_is_installed_and_removed_without_a_trace() {
    let is_root = rustix::process::geteuid().is_root();
    // Another user is root in a namespace of their own, where the system lets them have one.
    let unshare = || {
        Command::new("unshare")
            .args(["--map-root-user", "true"])
            .status()
    };
    if !is_root && !unshare().is_ok_and(|status| status.success()) {
        return skipped("root, or a user namespace, to install packages");
    }
    if !can_make_deb() {
        return;
    }
    let made = shared(&REAL, real_ones);
    let files = &made.1;
    // A system of its own, of which the machine's knows nothing.
    let root = TempDir::new().expect("a directory");
    fs::create_dir_all(root.path().join("var/lib/dpkg/info")).expect("a directory");
    fs::create_dir_all(root.path().join("var/lib/dpkg/updates")).expect("a directory");
    fs::write(root.path().join("var/lib/dpkg/status"), "").expect("a file");
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = Command::new(if is_root { "dpkg" } else { "unshare" });
        if !is_root {
            dpkg.args(["--map-root-user", "dpkg"]);
        }
        dpkg.arg(format!("--root={}", root.path().display()));
        // What it depends on is not in there.
        dpkg.args(["--force-depends", "--log=/dev/null"])
            .args(arguments);
        output(&mut dpkg)
    };
    dpkg(&["--install", &ending(files, ".deb").to_string_lossy()]);
    let ws = Workspace::new();
    let bin = root.path().join("usr/bin");
    let version = ws.program(&bin.join("call_tool"), &["--version"]).run();
    assert!(
        version.text().starts_with("call_tool "),
        "{}",
        version.shown()
    );
    let names = ws
        .program(&bin.join("get_tools"), &["--format", "names"])
        .run();
    assert!(names.text().contains("read_file"), "{}", names.shown());
    let there = below(root.path());
    for file in [
        "usr/bin/serve_tools",
        "usr/share/man/man1/get_tools.1.gz",
        "usr/share/bash-completion/completions/run_agent",
        "usr/share/zsh/vendor-completions/_call_tool",
        "usr/share/fish/vendor_completions.d/get_tools.fish",
    ] {
        assert!(there.contains(file), "{file} is not in {there:#?}");
    }
    dpkg(&["--remove", "gemini-tools"]);
    let left = below(root.path());
    assert!(left.is_empty(), "{left:?}");
    let status = dpkg(&["--list"]);
    assert!(!status.contains("\nii  gemini-tools"), "{status}");
}

#[test]
fn what_is_installed_below_a_prefix_is_that_of_the_archive() {
    let from = small_ones();
    let prefix = TempDir::new().expect("a directory");
    let mut install = Command::new(checkout().join("scripts/install"));
    install.arg("--from").arg(from.path());
    let said = output(install.env("PREFIX", prefix.path()));
    assert_eq!(said.lines().count(), NAMES.len(), "{said}");
    let made = shared(&SMALL[0], small_ones);
    let files = &made.1;
    let unpacked = TempDir::new().expect("a directory");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(ending(files, "-linux.tar.gz"));
    output(
        tar.arg("--strip-components=1")
            .arg("-C")
            .arg(unpacked.path()),
    );
    assert_eq!(below(prefix.path()), below(unpacked.path()));
}

#[test]
fn packaging_says_what_is_missing() {
    let dir = TempDir::new().expect("a directory");
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--from", "/nowhere"], 1, "--from needs a directory"),
        (&["--from"], 1, "--from needs a directory"),
        (&["--form"], 2, "Usage: scripts/package"),
        (&["--for"], 1, "--for needs a platform"),
        (&["--for", "plan9-x64"], 1, "the platform \"plan9-x64\""),
        (&["--target"], 1, "--target needs a name"),
        (
            &["--target", "riscv64gc-unknown-linux-gnu"],
            1,
            "does not know riscv64gc",
        ),
        (
            &["--target", "aarch64-apple-darwin", "--for", "darwin-arm64"],
            1,
            "leave --for out",
        ),
        (
            &["--from", ".", "--no-deb", "--out", "."],
            1,
            "get_tools is missing",
        ),
    ];
    for (arguments, status, message) in cases {
        let run = script().args(arguments).current_dir(dir.path()).output();
        let run = run.expect("it runs");
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {errors}");
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
}

#[test]
fn an_installation_that_is_not_understood_installs_nothing() {
    let dir = TempDir::new().expect("a directory");
    let missing = dir.path().join("missing").display().to_string();
    let here = dir.path().display().to_string();
    for (arguments, said) in [
        (&["--from"][..], "--from needs a directory"),
        (&["--from", &missing], "--from needs a directory"),
        (&["--from", &here, "more"], "unknown argument more"),
        (&["more"], "unknown argument more"),
        (&["--from", &here, "--frm"], "unknown argument --frm"),
    ] {
        let mut install = Command::new(checkout().join("scripts/install"));
        install.env("PREFIX", dir.path().join("prefix"));
        let run = install.args(arguments).output().expect("it runs");
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{errors}");
        assert!(errors.contains(said), "{errors}");
    }
    assert!(!dir.path().join("prefix").exists());
}
