//! An MCP server for our tools, by means of the official SDK.
//!
//! `stdio` and `http` are the transports, `connection` handles one client's requests, and `server`
//! is the state that all clients share. `registry` handles the requests to a program that serves
//! tools of its own. Each call runs on a thread of its own (`call`), so that calls run
//! concurrently. `ask` lets a client's user approve a call; `rounds` does so for protocol versions
//! in which a server can't send requests. `changes` notifies clients of changed tools, which
//! `watch` detects by looking at settings, rules and tools on disk. `declare` and `content` convert
//! tools and results to those of the protocol.
//!
//! What the tools do, and whether a call may run, is decided by the [session](gemini_tools_session)
//! in which the client's calls are made. A program's own [registry](registry()) runs every call.
//!
//! # Example
//!
//! ```
//! use gemini_tools_mcp_sdk::serve::{Http, HttpError};
//!
//! // Only this machine can reach the server, unless the caller allows more.
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
mod log;
mod long_answer;
mod offers;
mod registry;
mod roots;
mod rounds;
mod server;
mod skills;
mod stdio;
mod tasks;
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

/// The options of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The rules by which calls are allowed or refused.
    pub rules: PolicyOptions,
    /// True if the tools of the MCP servers in the settings are served too.
    pub with_servers: bool,
    /// The workspace, if it is not empty; clients can't change it. Otherwise it is given by the
    /// client's roots, or else by the current directory.
    pub roots: Vec<PathBuf>,
    /// True if results carry their data, or an error's kind, as `structuredContent` in addition to
    /// the text. Many clients pass both to their model, which then reads everything twice, or only
    /// the structured content.
    pub structured_content: bool,
    /// The address and the clients of a server over HTTP; `None` serves on the standard streams.
    pub http: Option<Http>,
    /// Shows a message to a person. It must not write to standard output, which belongs to the
    /// protocol.
    pub log: fn(&str),
}

impl ServeOptions {
    /// Creates the options of a server on the standard streams that shows messages with `log` and
    /// has nothing else set.
    pub fn new(log: fn(&str)) -> Self {
        Self {
            rules: PolicyOptions::default(),
            with_servers: false,
            roots: Vec::new(),
            structured_content: false,
            http: None,
            log,
        }
    }
}

/// Serves until the client disconnects or a signal arrives, then ends everything that was started.
/// Returns the exit status: 0, 1 if it can't serve, or 128 plus the signal's number.
pub fn run(options: ServeOptions) -> u8 {
    let log = options.log;
    let http = options.http.clone();
    let (runtime, server) = match (runtime(), Server::new(options)) {
        (Ok(runtime), Ok(server)) => (runtime, Arc::new(server)),
        (Err(e), _) | (_, Err(e)) => return cant_serve(log, &e),
    };
    let attended = async {
        match http {
            None => {
                let connection = Connection::new(Arc::clone(&server), true);
                stdio::serve(connection, Arc::clone(&server.clock), log).await
            }
            Some(http) => http::serve(&server, http).await,
        }
    };
    run_until_end(runtime, attended, server.end())
}

/// Serves a program's own tools, and no others, on the standard streams, until the client
/// disconnects or a signal arrives. Returns the exit status as [`run`] does.
///
/// Approving calls is left to the client: every call that it sends is run. The hints that each tool
/// declares tell the client when to ask its user. No settings, policies or trust files are read. A
/// call ends when it is done or the client cancels it; it has no time limit, and its result is not
/// cut. `log` shows a message to a person. It must not write to standard output, which belongs to
/// the protocol.
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
        Err(e) => return cant_serve(log, &e),
    };
    let connection = RegistryConnection::new(registry, info);
    let clock = Arc::clone(&connection.clock);
    let attended = stdio::serve(connection, Arc::clone(&clock), log);
    run_until_end(runtime, attended, server::end(&clock))
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

fn cant_serve(log: fn(&str), error: &io::Error) -> u8 {
    log(&format!("nothing can be served: {error}"));
    1
}

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
    // A pending DNS lookup would otherwise delay the exit.
    runtime.shutdown_timeout(Duration::ZERO);
    status
}
