//! The way to the network: names, addresses, proxies, connections, HTTP/1.1 over TLS.
//!
//! `HttpClient` sends one request at a time and gives the answer as it comes. Who may be reached
//! is decided where connections are made: a name is resolved once, the addresses are judged
//! by an `AddressPolicy`, and the connection goes to the very address that was judged. Redirects
//! are not followed here; every hop is a request of its own.
//!
//! Names are resolved by this process itself, from the system's `resolv.conf` and `hosts`: the
//! executables are linked statically, and a static C library can't load the system's resolver
//! modules. Nothing here knows the Gemini API or any tool: what is asked for, and what becomes of
//! the answer, is up to the callers.

mod client;
mod connect;
mod error;
mod names;
mod proxy;

pub(crate) use client::{Body, HttpClient, HttpRequest, HttpTimeouts, Response};
pub use client::{tls_config, user_agent};
pub use error::NetError;
pub use proxy::check_proxy_variables;
