//! The options of `serve_tools`, read from its command line.

use crate::command::command;
use crate::log;
use clap::ArgMatches;
use gemini_tools::output::write_status;
use gemini_tools::serve::{Http, HttpError, ServeOptions};
use gemini_tools::session::PolicyOptions;
use gemini_tools::start::usage_message;
use gemini_tools::tool::ApprovalMode;
use std::io::Write;
use std::path::PathBuf;

/// Reads the command line; `Err` is the status to exit with.
pub(crate) fn options() -> Result<ServeOptions, u8> {
    let matches = command().try_get_matches().map_err(|e| {
        if e.use_stderr() {
            // Where standard error is gone, there is no reader.
            let message = usage_message("serve_tools", &e.to_string());
            let _ = writeln!(std::io::stderr(), "{message}");
            return 2;
        }
        write_status(e.print())
    })?;
    let http = http(&matches).map_err(|problem| {
        log(&problem.to_string());
        2
    })?;
    let mode = matches.get_one::<String>("approval-mode");
    let policy = matches.get_many::<String>("policy").into_iter().flatten();
    let roots = matches.get_many::<PathBuf>("root").into_iter().flatten();
    Ok(ServeOptions {
        rules: PolicyOptions {
            approval: mode.and_then(|name| ApprovalMode::from_name(name)),
            policy: policy.cloned().collect(),
        },
        with_servers: matches.get_flag("mcp"),
        roots: roots.cloned().collect(),
        http,
        log,
    })
}

fn http(matches: &ArgMatches) -> Result<Option<Http>, HttpError> {
    let Some(address) = matches.get_one::<String>("http") else {
        return Ok(None);
    };
    let hosts = matches.get_many::<String>("host").into_iter().flatten();
    let allows_remote = matches.get_flag("allow-remote");
    Http::new(address, hosts.cloned().collect(), allows_remote).map(Some)
}
