//! `get_tools --licenses`: the licences of everything linked into the executables. The text is in a
//! file next to them and not in them, because it is long and seldom read.

use crate::get_tools::print::print;
use anyhow::{Context, anyhow};
use gemini_tools::text::show_path;
use std::path::PathBuf;

const PLACE: &str = "share/doc/gemini-tools/THIRD-PARTY-LICENSES.txt";

pub(crate) fn run() -> anyhow::Result<u8> {
    let unknown = "Can't find the licences, because the path of this executable is unknown.";
    let file = file().context(unknown)?;
    let text = std::fs::read(&file).map_err(|e| {
        anyhow!(
            "Can't read {}: {e}. Packages have this file; in a checkout, scripts/third-party prints it.",
            show_path(&file)
        )
    })?;
    print(&text)
}

fn file() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let own = std::fs::canonicalize(&own).ok()?;
    Some(own.parent()?.parent()?.join(PLACE))
}
