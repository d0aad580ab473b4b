//! Our tools for clients of the Model Context Protocol, by the official SDK.
//!
//! `stdio` and `http` are the two ways in, `connection` is what one client sees, `server` what
//! all of them share. `registry` is what the client of a program sees
//! that serves tools of its own. A call runs on a thread of its own (`call`), so that calls run side by
//! side; `ask` lets a client's user decide about it, by `rounds` where the protocol has no requests
//! to clients. `changes` tells clients of other tools. `declare` and `content` turn
//! tools and results into what the protocol calls by these names. `watch` tells when
//! settings, rules or tools have changed on disk.
//!
//! What the tools do, and whether a call may run, is up to the
//! [session](gemini_tools_session) that a client's calls are made in; a program's own
//! [registry](registry()) makes every call.
//!
//! # Example
//!
//! ```
//! use gemini_tools_mcp_sdk::serve::{Http, HttpError};
//!
//! // A server is reached from this machine only, unless more is said.
//! let refused = Http::new("0.0.0.0:0", Vec::new(), false);
//! assert!(matches!(refused, Err(HttpError::Remote(_))));
//! # // The environment may have a token that can't be used.
//! # if std::env::var_os("GEMINI_TOOLS_SERVE_TOKEN").is_none() {
//! assert!(Http::new("127.0.0.1:0", Vec::new(), false).is_ok());
//! # }
//! ```

mod ask;
mod call;
mod changes;
mod codex;
mod connection;
mod content;
mod declare;
mod fault;
mod http;
mod long_answer;
mod registry;
mod roots;
mod rounds;
mod server;
mod stdio;
mod watch;

pub use http::{DEFAULT_ADDRESS, Http, HttpError};
pub use registry::ServerInfo;

use connection::Connection;
use gemini_tools_core::registry::ToolRegistry;
use gemini_tools_session::PolicyOptions;
use registry::RegistryConnection;
use server::Server;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Maximum calls at once; more wait for others to end, or are refused.
const MAX_CALLS: usize = 256;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Rules that calls are judged by.
    pub rules: PolicyOptions,
    /// True if the tools of the MCP servers in the settings are served too.
    pub with_servers: bool,
    /// The workspace, whatever a client says; where it is empty, the client's roots, or else
    /// the current directory.
    pub roots: Vec<PathBuf>,
    /// True if answers have their data, or the kind of an error, as `structuredContent` beside the text. Many clients
    /// show it to their model, which then reads everything twice, or nothing else.
    pub structured_content: bool,
    /// Over HTTP instead of the standard streams.
    pub http: Option<Http>,
    /// Function that shows a message to a person: standard output is the protocol's.
    pub log: fn(&str),
}

/// Serves until the client is gone or a signal comes, and ends everything that it has started.
/// Returns the exit status: 0, 1 if it can't serve, or 128 and the signal's number.
pub fn run(options: ServeOptions) -> u8 {
    let log = options.log;
    let http = options.http.clone();
    let (runtime, server) = match (runtime(), Server::new(options)) {
        (Ok(runtime), Ok(server)) => (runtime, Arc::new(server)),
        (Err(e), _) | (_, Err(e)) => return cant_serve(&log, &e),
    };
    let attended = async {
        match http {
            None => {
                let connection = Connection::new(Arc::clone(&server), true);
                stdio::serve(connection, Arc::clone(&server.clock), &log).await
            }
            Some(http) => http::serve(&server, http).await,
        }
    };
    run_until_end(runtime, attended, server.end())
}

/// Serves the tools of a program of your own, and no others, on the standard streams, until the
/// client is gone or a signal comes. Returns the exit status as [`run`] does.
///
/// The client approves calls: it asks its user by the hints that it gets of each tool, and every
/// call that it sends is made. No settings, policy or trust files are read. A call ends when it is
/// done or the client cancels it; no time limit applies, and its answer is not cut. `log` gets
/// messages for a person: standard output is the protocol's.
///
/// # Example
///
/// ```no_run
/// use gemini_tools_core::registry::ToolRegistry;
/// use gemini_tools_mcp_sdk::serve::{ServerInfo, registry};
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     let tools = ToolRegistry::default();
///     let info = ServerInfo::new("counter", env!("CARGO_PKG_VERSION"));
///     registry(tools, info, |message| eprintln!("counter: {message}")).into()
/// }
/// ```
pub fn registry(registry: ToolRegistry, info: ServerInfo, log: fn(&str)) -> u8 {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return cant_serve(&log, &e),
    };
    let connection = RegistryConnection::new(registry, info);
    let clock = Arc::clone(&connection.clock);
    let attended = stdio::serve(connection, Arc::clone(&clock), &log);
    run_until_end(runtime, attended, server::end(&clock))
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_CALLS)
        .build()
}

/// Logs why nothing can be served, and returns the exit status.
fn cant_serve(log: &dyn Fn(&str), error: &io::Error) -> u8 {
    log(&format!("nothing can be served: {error}"));
    1
}

/// Serves until the client is gone or a signal comes, then ends all calls. Returns the exit status.
fn run_until_end(
    runtime: Runtime,
    attended: impl Future<Output = u8>,
    end: impl Future<Output = ()>,
) -> u8 {
    let status = runtime.block_on(async {
        let status = tokio::select! {
            status = attended => status,
            signal = gemini_tools_process::runtime::end_signal() => u8::try_from(128 + signal).unwrap_or(1),
        };
        end.await;
        status
    });
    // A name that is still being looked up is not waited for.
    runtime.shutdown_timeout(Duration::ZERO);
    status
}
