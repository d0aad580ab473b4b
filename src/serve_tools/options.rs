//! The options of `serve_tools`, read from its command line.

use crate::serve_tools::command::ServeToolsOptions;
use crate::serve_tools::log;
use crate::start::refuse;
use clap::Parser;
use gemini_tools::serve::{Http, ServeOptions};
use std::path::PathBuf;

pub(crate) fn options() -> Result<ServeOptions, u8> {
    let options = ServeToolsOptions::try_parse().map_err(|e| refuse("serve_tools", &e, 2))?;
    let http = options
        .http
        .map(|address| Http::new(&address, options.hosts, options.allow_remote));
    let http = http.transpose().map_err(|problem| {
        log(&problem.to_string());
        2
    })?;
    let mut serve = ServeOptions::new(log);
    serve.rules.approval = options.approval_mode;
    serve.rules.policy = options.policy.iter().map(PathBuf::from).collect();
    serve.with_servers = options.mcp;
    serve.roots = options.roots;
    serve.structured_content = options.structured_content;
    serve.http = http;
    Ok(serve)
}
