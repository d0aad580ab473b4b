//! The options of `serve_tools`, read from its command line.

use crate::serve_tools::command::ServeToolsOptions;
use crate::start::{Failure, refuse, warn};
use clap::Parser;
use gemini_tools::serve::{Http, ServeOptions};
use std::path::PathBuf;

pub(crate) fn options() -> anyhow::Result<ServeOptions> {
    let options = ServeToolsOptions::try_parse().map_err(|e| refuse(e, 2))?;
    let http = options
        .http
        .map(|address| Http::new(&address, options.hosts, options.allow_remote));
    let http = http.transpose();
    let http = http.map_err(|problem| Failure(2, problem.to_string()))?;
    let mut serve = ServeOptions::new(warn);
    serve.rules.approval = options.approval_mode;
    serve.rules.policy = options.policy.iter().map(PathBuf::from).collect();
    serve.with_servers = options.mcp;
    serve.roots = options.roots;
    serve.structured_content = options.structured_content;
    serve.http = http;
    Ok(serve)
}
