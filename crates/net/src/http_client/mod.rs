//! HTTP/1.1 over TLS, with a policy for which addresses may be reached.
//!
//! `HttpClient` sends one request at a time, and returns the answer as a stream. The policy is
//! applied where connections are opened: a name is resolved once, the addresses are judged by an
//! `AddressPolicy`, and the connection goes to an address that was judged. If the name were
//! resolved again for connecting, it could then yield an internal address. Redirects are not
//! followed here, so that each hop is judged as a request of its own.
//!
//! Names are resolved in this process, from the system's `resolv.conf` and `hosts`: the executables
//! are linked statically, and a static C library can't load the system's resolver modules. Nothing
//! here knows the Gemini API or any tool.

mod client;
mod connect;
mod error;
mod names;
mod proxy;

pub(crate) use client::{Body, HttpClient, HttpRequest, HttpTimeouts, Response};
pub use client::{tls_config, user_agent};
pub use connect::is_this_machine;
pub use error::NetError;
pub use proxy::check_proxy_variables;
