//! The network: an HTTP client that judges each address before it connects, the Gemini API, and
//! pages.
//!
//! | Module | Content |
//! |---|---|
//! | [`http_client`] | names, addresses, proxies, and HTTP/1.1 over TLS; checks every address |
//! | [`gemini_api`] | messages and credentials of the Gemini API, Vertex AI and Code Assist |
//! | [`web`] | the tasks of built-in tools: pages, Google Search, a model that corrects edits |
//!
//! `call_tool` and `get_tools` don't link this crate, which keeps them small: they run
//! `serve_tools --connect` for these tasks.

pub mod gemini_api;
pub mod http_client;
pub mod web;
