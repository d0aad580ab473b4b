//! Addresses of pages: where a text names them, and which of them may be reached.
//!
//! Owned here: finding addresses in a prompt ([`find`]), telling public from private ones
//! ([`is_public`]), and the policy of whom a client may reach ([`AddressPolicy`]). Nothing here opens a
//! connection or asks a name server; `gemini-tools-guarded-http` does, and holds itself to the policy.

mod known;
mod policy;
mod prompt;
mod public;

pub use known::{known_addresses, without_asking};
pub use policy::{AddressPolicy, HostRule, NotPublic, refusal};
pub use prompt::{ExtractedUrls, check, find, is_local, raw_of_blob, shown, usable};
pub use public::{is_public, why_not_public};
