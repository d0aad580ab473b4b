//! `get_tools trust`: shows the user the files of a project that can run programs, and records the
//! project as trusted if the user agrees. Also lists and removes such records, and tells whether a
//! project is trusted.

use crate::get_tools::command::TrustOptions;
use crate::get_tools::confirm::confirm;
use crate::get_tools::print::{fail, page, print, warn};
use gemini_tools::settings::home;
use gemini_tools::text::{counted, harmless_lines, show_name, show_path, visible};
use gemini_tools::trust::{Distrust, Fingerprint, Trust, TrustedBy, list, remove, save};
use std::path::{Path, PathBuf};

pub(crate) fn run(options: &TrustOptions) -> u8 {
    let Some(home) = home() else {
        let reason = "There is no home directory to keep records in: HOME is not set.";
        return fail(1, reason);
    };
    if let Some(dir) = &options.remove {
        take_back(&home, dir)
    } else if options.list {
        print_list(&home)
    } else if options.status {
        let trust = Trust::judge(Some(&home), Path::new("."));
        let status = print(format!("{}\n", visible(&trust.to_string())).as_bytes());
        status.max(u8::from(!trust.is_trusted()))
    } else {
        record(&home, !options.yes).unwrap_or_else(|status| status)
    }
}

fn record(home: &Path, asks: bool) -> Result<u8, u8> {
    let fail = |message: &str| fail(1, &visible(message));
    let refused = |trust: &Trust| {
        let obstacle = trust.obstacle(Some(home));
        fail(&match obstacle {
            Some(obstacle) => format!("{trust}. {obstacle}."),
            None => trust.to_string(),
        })
    };
    let root = std::env::current_dir()
        .map_err(|e| fail(&format!("The current directory is gone: {e}.")))?;
    let trust = Trust::judge(Some(home), &root);
    match &trust {
        Trust::Trusted(TrustedBy::Home | TrustedBy::Record) => {
            return Ok(print(format!("{trust}\n").as_bytes()));
        }
        // The environment and Gemini CLI's list of folders take precedence over a record of trust,
        // which would have no effect.
        Trust::Untrusted(Distrust::Environment(_) | Distrust::Folder(_)) => {
            return Err(refused(&trust));
        }
        _ => {}
    }
    let seen = Fingerprint::look(&root).map_err(|e| fail(&e.to_string()))?;
    if seen.is_empty() {
        return Ok(print(b"The project brings nothing that needs trust.\n"));
    }
    let shown = describe(&root, &trust, &seen);
    let status = if asks {
        page(&root, shown.as_bytes())
    } else {
        print(shown.as_bytes())
    };
    if status != 0 {
        return Err(status);
    }
    confirm(
        "Let all this run as you?",
        "--yes trusts what is shown",
        asks,
    )?;
    let changes = seen.changes(&root);
    if !changes.is_empty() {
        let files = changes.join(", ");
        return Err(fail(&format!("changed meanwhile, look again: {files}")));
    }
    save(home, &root, seen).map_err(|e| fail(&e.to_string()))?;
    // Another source, such as a malformed list of folders, may still take precedence.
    let trust = Trust::judge(Some(home), &root);
    if !trust.is_trusted() {
        return Err(refused(&trust));
    }
    Ok(print(b"Trusted, until one of these files changes.\n"))
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

fn print_list(home: &Path) -> u8 {
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
    print(text.as_bytes()).max(u8::from(!problems.is_empty()))
}

fn take_back(home: &Path, dir: &Path) -> u8 {
    let root = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    // A trailing slash must be removed here, since a missing directory can't be canonicalized.
    let root: PathBuf = root.components().collect();
    match remove(home, &root) {
        Err(e) => fail(1, &visible(&e.to_string())),
        Ok(false) => {
            let root = show_path(&root);
            let reason = format!(
                "There is no record of {}. get_tools trust --list shows them.",
                visible(&root)
            );
            fail(1, &reason)
        }
        Ok(true) => {
            let left = Trust::judge(Some(home), &root);
            let text = if left.is_trusted() {
                format!("The record is removed, but the project is still {left}\n")
            } else {
                "No longer trusted.\n".to_owned()
            };
            print(text.as_bytes())
        }
    }
}
