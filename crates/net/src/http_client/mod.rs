//! The way to the network: names, addresses, proxies, connections, HTTP/1.1 over TLS.
//!
//! [`HttpClient`] sends one request at a time and gives the answer as it comes. Who may be reached
//! is decided where connections are made: a name is resolved once, the addresses are judged
//! by an [`AddressPolicy`], and the connection goes to the very address that was judged. Redirects
//! are not followed here; every hop is a request of its own.
//!
//! Names are resolved by this process itself, from the system's `resolv.conf` and `hosts`: the
//! executables are linked statically, and a static C library can't load the system's resolver
//! modules. Nothing here knows the Gemini API or any tool: what is asked for, and what becomes of
//! the answer, is up to the callers.
//!
//! # Example
//!
//! ```
//! use gemini_tools_net::http_client::{AddressPolicy, HostRule, HttpClient, HttpTimeouts};
//! use gemini_tools_process::network::addresses::{is_public, why_not_public};
//! use std::time::Duration;
//!
//! // Addresses of a machine's own network are not for a model, in whatever form they come.
//! assert!(is_public("1.1.1.1".parse()?));
//! assert!(!is_public("169.254.169.254".parse()?));
//! assert!(why_not_public("::ffff:127.0.0.1".parse()?).is_some());
//!
//! // A user may allow some.
//! let rule = HostRule::parse("10.0.0.0/8:8080").expect("a rule");
//! assert!(rule.covers("build.example", "10.1.2.3".parse()?, 8080));
//! assert!(!rule.covers("build.example", "10.1.2.3".parse()?, 22));
//!
//! // Such a client reaches these and public addresses, and no others.
//! let policy = AddressPolicy::Public { allowed: vec![rule] };
//! let timeouts = HttpTimeouts {
//!     connect: Duration::from_secs(10),
//!     first_byte: Duration::from_secs(30),
//!     silence: Duration::from_secs(30),
//!     answer: Duration::from_secs(120),
//! };
//! let client = HttpClient::new(policy, timeouts);
//! # drop(client);
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

mod client;
mod connect;
mod error;
mod names;
mod proxy;

pub use client::{Body, HttpClient, HttpRequest, HttpTimeouts, Response};
pub use client::{tls_config, user_agent};
pub use error::NetError;
pub use gemini_tools_process::network::addresses::{AddressPolicy, HostRule, NotPublic};
pub use http::Method;
pub use proxy::check_proxy_variables;
