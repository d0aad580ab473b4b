//! Pages: from an address to text that a model can read.
//!
//! `addresses` finds addresses in a text, `fetch` gets one through its redirects,
//! `content` turns what came into text. What a tool makes of it is in [`crate::builtin`].

pub(crate) mod addresses;
pub(crate) mod content;
pub(crate) mod fetch;
mod html;
