//! All that uses the official SDK of the Model Context Protocol.
//!
//! [`connect`] holds the connections to servers, for `serve_tools --connect`; [`serve`] is the
//! server that `serve_tools` is.

#[cfg(feature = "connect")]
pub mod connect;
pub mod serve;
