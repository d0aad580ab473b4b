//! `get_tools serve`: becomes `serve_tools`, so that `npx gemini-tools serve` starts the server.
//! npx and uvx run the command that has the package's name, and the package installs `get_tools`
//! under that name.

use anyhow::{anyhow, bail};
use gemini_tools::network::link::helper;
use gemini_tools::text::show_path;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Replaces this process by `serve_tools` with these arguments. Returns only if that is not
/// possible.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<u8> {
    let program = helper().map_err(|e| anyhow!("Can't serve: {e}."))?;
    let error = Command::new(&program)
        .arg0("serve_tools")
        .args(arguments)
        .exec();
    bail!("Can't start {}: {error}.", show_path(&program))
}
