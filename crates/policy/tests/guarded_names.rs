//! Names of guarded files, written in all the ways that bash knows, in lines that a rule allows:
//! bash never writes such a file without a question. bash itself says what a name means. Each run
//! has a seed of its own, which is printed; `GEMINI_TOOLS_SEED` repeats one, and
//! `GEMINI_TOOLS_TRIALS` multiplies the number of lines.

#[path = "../../../fuzz/shell/lines.rs"]
#[expect(dead_code, reason = "only the generator of numbers is used here")]
mod lines;
mod trials;

use gemini_tools_policy::{Policy, Tier};
use gemini_tools_settings::settings::Settings;
use lines::Random;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trials::{number, seed, unasked};

const LINES: u64 = 1_000;

const ALLOW: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 900\nallowRedirection = true\n";

const GUARDED: [&str; 7] = [
    ".envrc",
    ".git/hooks/pre-commit",
    ".github/workflows/ci.yml",
    "package.json",
    "src/Makefile",
    "src/.mcp.json",
    "Dockerfile.dev",
];

const FREE: [&str; 4] = ["notes.txt", "src/main.rs", "src/lib/a.rs", "packages.md"];

fn make(root: &Path) {
    for name in GUARDED.iter().chain(&FREE) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("its directory")).expect("made");
        fs::write(path, "as before\n").expect("written");
    }
    fs::write(root.join("new"), "new\n").expect("written");
}

/// Returns the contents of the guarded files, and of all files below guarded directories.
fn guarded(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("its entries").flatten() {
            let path = entry.path();
            let name = path
                .strip_prefix(root)
                .expect("below it")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                pending.push(path);
            } else if GUARDED.contains(&name.as_str()) || name.starts_with(".git") {
                found.insert(name, fs::read(&path).expect("its content"));
            }
        }
    }
    found
}

/// Writes one character of a name in one of the ways that bash knows.
fn spelled(c: char, random: &mut Random) -> String {
    match random.below(18) {
        0 => format!("'{c}'"),
        1 => format!("\"{c}\""),
        2 if c != '/' => format!("\\{c}"),
        3 if c != '/' => "?".to_owned(),
        4 if c != '/' => format!("[{c}]"),
        5 if c != '/' => "*".to_owned(),
        6 => format!("{{{c},zz}}"),
        7 => format!("$'\\x{:02x}'", u32::from(c)),
        8 => format!("{{zz,'{c}'}}"),
        9 if random.below(3) == 0 => format!("$(echo {c})"),
        10 if random.below(3) == 0 => format!("${{x:-{c}}}"),
        11 if random.below(3) == 0 => format!("$'{c}'\"\""),
        _ => c.to_string(),
    }
}

/// Returns a line that writes to a file of this name, somehow.
fn line(name: &str, random: &mut Random) -> String {
    let words = |name: &str, random: &mut Random| -> String {
        name.chars().map(|c| spelled(c, random)).collect()
    };
    let (directory, base) = name.rsplit_once('/').unwrap_or((".", name));
    let (whole, directory, base) = (
        words(name, random),
        words(directory, random),
        words(base, random),
    );
    match random.below(12) {
        0 => format!("echo x > {whole}"),
        1 => format!("echo x >> {whole}"),
        2 => format!("echo x | tee {whole}"),
        3 => format!("cp new {whole}"),
        4 => format!("c'p' new {whole}"),
        5 => format!("cd {directory} && echo x > {base}"),
        6 => format!("dd status=none if=new of={whole}"),
        7 => format!("env cp new {whole}"),
        8 if !whole.contains('\'') => format!("bash -c 'cp new {whole}'"),
        9 => format!("for f in {whole}; do cp new $f; done"),
        10 => format!("sed -i s/before/after/ {whole}"),
        _ => format!("true; (mv new {whole}) 2>&1 | cat"),
    }
}

fn run(root: &Path, line: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", line])
        .current_dir(root)
        .stdin(Stdio::null());
    let _ = bash.output().expect("bash");
}

#[test]
fn no_spelling_of_a_guarded_name_is_written_without_a_question() {
    let seed = seed("guarded_names");
    let mut random = Random(seed);
    let rules = [(Tier::User, PathBuf::from("own.toml"), ALLOW.to_owned())];
    let (mut free, mut guards) = (0, 0);
    let place = TempDir::new().expect("a directory");
    let root = place
        .path()
        .canonicalize()
        .expect("its name")
        .join("project");
    make(&root);
    for _ in 0..LINES * number("GEMINI_TOOLS_TRIALS").unwrap_or(1) {
        let policy = Policy::from_texts(&rules, &Settings::default(), &root);
        let is_guarded = random.below(2) == 0;
        let names = if is_guarded { &GUARDED[..] } else { &FREE[..] };
        let line = line(names[random.below(names.len())], &mut random);
        let Some(runs) = unasked(&policy, &line) else {
            guards += usize::from(is_guarded);
            continue;
        };
        let before = guarded(&root);
        run(&root, &runs);
        free += usize::from(!is_guarded);
        assert!(guarded(&root) == before, "seed {seed}: {line}");
        fs::remove_dir_all(&root).expect("removed");
        make(&root);
    }
    let _ = writeln!(
        std::io::stderr(),
        "guarded_names: {guards} lines asked, {free} of other files ran"
    );
    assert!(
        free > 50 && guards > 50,
        "one kind of line hardly occurs: {free}, {guards}"
    );
}
