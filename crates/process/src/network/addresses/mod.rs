//! Addresses of web pages: where a text names them, and which of them may be reached.
//!
//! This module finds addresses in a prompt ([`find`]), tells public addresses from private ones
//! ([`is_public`]), and has the policy of which addresses a client may reach ([`AddressPolicy`]).
//! It opens no connection and asks no name server; `gemini-tools-net` does, and follows the policy.
//!
//! # Example
//!
//! ```
//! use gemini_tools_process::network::addresses::{AddressPolicy, find, known_addresses};
//!
//! let found = find("Compare https://example.com/a with http://127.0.0.1/b, please.");
//! assert_eq!(found.usable.len(), 2);
//!
//! let policy = AddressPolicy::Public { allowed: Vec::new() };
//! let host = found.usable[1].host().expect("a host");
//! let addresses = known_addresses(&host).expect("it is an address");
//! let refused = policy.filter_allowed("127.0.0.1", 80, addresses).expect_err("it is not public");
//! assert_eq!(refused, "127.0.0.1 is loopback");
//! ```

mod policy;
mod prompt;
mod public;

pub use policy::{ALLOWING, AddressPolicy, HostRule, refusal};
pub use prompt::{ExtractedUrls, check, display_url, find, is_local, target, usable};
pub use public::{is_public, known_addresses, why_not_public};
