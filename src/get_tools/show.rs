//! `get_tools show NAME`: help for one tool, as `call_tool NAME --help` prints it.

use crate::get_tools::print::print;
use crate::start;
use gemini_tools::session::Session;

pub(crate) fn run(name: &str) -> anyhow::Result<u8> {
    let root = std::env::current_dir().unwrap_or_default();
    let help = start::tool_help(&Session::describing(&root)?, name)?;
    print(help.as_bytes())
}
