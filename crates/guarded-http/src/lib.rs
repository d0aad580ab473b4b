//! The way to the network: names, addresses, proxies, connections, HTTP/1.1 over TLS.
//!
//! [`HttpClient`] sends one request at a time and gives the answer as it comes. Who may be reached
//! is decided where connections are made: a name is resolved once, the addresses are judged
//! by an [`AddressPolicy`](gemini_tools_web_addresses::AddressPolicy), and the connection goes to the very address that was judged. Redirects
//! are not followed here; every hop is a request of its own.
//!
//! Names are resolved by this process itself, from the system's `resolv.conf` and `hosts`: the
//! executables are linked statically, and a static C library can't load the system's resolver
//! modules. Nothing here knows the Gemini API or any tool.

mod client;
mod connect;
mod content_encoding;
mod error;
mod names;
mod proxy;
mod sockets;

pub use client::user_agent;
pub use client::{Body, HttpClient, HttpRequest, HttpTimeouts, Method, Response};
pub use error::NetError;
pub use gemini_tools_web_addresses::{AddressPolicy, HostRule, NotPublic};
pub use proxy::address_for as proxy_address;
