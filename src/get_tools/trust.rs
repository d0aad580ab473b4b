//! `get_tools trust`: shows the user the files of a project that can run programs, and records the
//! project as trusted if the user agrees. Also lists and removes such records, and tells whether a
//! project is trusted.

use crate::get_tools::command::TrustOptions;
use crate::get_tools::confirm::confirm;
use crate::get_tools::print::{page, print};
use crate::start::warn;
use anyhow::{Context, anyhow, bail};
use gemini_tools::settings::home;
use gemini_tools::text::{counted, harmless_lines, show_name, show_path, visible};
use gemini_tools::trust::{Distrust, Fingerprint, Trust, TrustedBy, list, remove, save};
use std::path::{Path, PathBuf};

pub(crate) fn run(options: &TrustOptions) -> anyhow::Result<u8> {
    let home = home().context("There is no home directory to keep records in: HOME is not set.")?;
    if let Some(dir) = &options.remove {
        take_back(&home, dir)
    } else if options.list {
        print_list(&home)
    } else if options.status {
        let trust = Trust::judge(Some(&home), Path::new("."));
        print(format!("{}\n", visible(&trust.to_string())).as_bytes())?;
        Ok(u8::from(!trust.is_trusted()))
    } else {
        record(&home, !options.yes)
    }
}

fn record(home: &Path, asks: bool) -> anyhow::Result<u8> {
    let refused = |trust: &Trust| match trust.obstacle(Some(home)) {
        Some(obstacle) => anyhow!("{trust}. {obstacle}."),
        None => anyhow!("{trust}"),
    };
    let root = std::env::current_dir();
    let root = root.map_err(|e| anyhow!("The current directory is gone: {e}."))?;
    let trust = Trust::judge(Some(home), &root);
    match &trust {
        Trust::Trusted(TrustedBy::Home | TrustedBy::Record) => {
            return print(format!("{trust}\n").as_bytes());
        }
        // The environment and Gemini CLI's list of folders take precedence over a record of trust,
        // which would have no effect.
        Trust::Untrusted(Distrust::Environment(_) | Distrust::Folder(_)) => {
            return Err(refused(&trust));
        }
        _ => {}
    }
    let seen = Fingerprint::look(&root)?;
    if seen.is_empty() {
        return print(b"The project brings nothing that needs trust.\n");
    }
    let shown = describe(&root, &trust, &seen);
    if asks {
        page(&root, shown.as_bytes())?;
    } else {
        print(shown.as_bytes())?;
    }
    confirm(
        "Let all this run as you?",
        "--yes trusts what is shown",
        asks,
    )?;
    let changes = seen.changes(&root);
    if !changes.is_empty() {
        bail!("changed meanwhile, look again: {}", changes.join(", "));
    }
    save(home, &root, seen)?;
    // Another source, such as a malformed list of folders, may still take precedence.
    let trust = Trust::judge(Some(home), &root);
    if !trust.is_trusted() {
        return Err(refused(&trust));
    }
    print(b"Trusted, until one of these files changes.\n")
}

/// Describes what trust would put in force: the project's files that need trust, with their whole
/// text. Also names those that have changed since the project was trusted.
fn describe(root: &Path, trust: &Trust, seen: &Fingerprint) -> String {
    let mut text = format!("{} brings what can run:\n", visible(&show_path(root)));
    for file in seen.files() {
        text.push_str(&format!("\n  {}\n", visible(file)));
        text.push_str(&body(root, seen, file));
    }
    if let Trust::Untrusted(Distrust::Changed(files) | Distrust::ChangedByTool(files)) = trust {
        text.push_str("\n  Changed since it was trusted\n");
        for file in files {
            text.push_str(&format!("      {}\n", visible(file)));
        }
    }
    text.push('\n');
    text
}

fn body(root: &Path, seen: &Fingerprint, file: &str) -> String {
    let text = match seen.content(root, file) {
        Err(reason) => format!("(not read: {reason})"),
        Ok(bytes) if bytes.contains(&0) => {
            let size = counted(bytes.len(), "byte");
            format!("(a binary file of {size}, which can't be shown)")
        }
        Ok(bytes) => harmless_lines(&show_name(&bytes)),
    };
    let lines = text.lines().flat_map(|line| ["      ", line, "\n"]);
    lines.collect()
}

fn print_list(home: &Path) -> anyhow::Result<u8> {
    let (records, problems) = list(home);
    let mut text = String::new();
    for record in &records {
        let root = Path::new(&record.root);
        let state = if !root.is_dir() {
            "gone"
        } else if record.seen.changes(root).is_empty() {
            "unchanged"
        } else {
            "changed: no longer trusted"
        };
        let files = counted(record.seen.files().count(), "file");
        let root = visible(&record.root);
        text.push_str(&format!("{root}\n    {state}; {files}\n"));
    }
    for problem in &problems {
        warn(&visible(&problem.to_string()));
    }
    print(text.as_bytes())?;
    Ok(u8::from(!problems.is_empty()))
}

fn take_back(home: &Path, dir: &Path) -> anyhow::Result<u8> {
    let root = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    // A trailing slash must be removed here, since a missing directory can't be canonicalized.
    let root: PathBuf = root.components().collect();
    if !remove(home, &root)? {
        bail!(
            "There is no record of {}. get_tools trust --list shows them.",
            show_path(&root)
        );
    }
    let left = Trust::judge(Some(home), &root);
    if left.is_trusted() {
        print(format!("The record is removed, but the project is still {left}\n").as_bytes())
    } else {
        print(b"No longer trusted.\n")
    }
}
