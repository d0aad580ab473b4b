//! The network: an HTTP client that reaches public addresses only, the Gemini API, and pages.
//!
//! | Module | Content |
//! |---|---|
//! | [`http_client`] | names, addresses, proxies, and HTTP/1.1 over TLS; judges every address before it connects |
//! | [`gemini_api`] | messages, credentials, requests and streams of the Gemini API, Vertex AI and Code Assist |
//! | [`web`] | the tasks of built-in tools: pages, Google's search, and a model that corrects edits |
//!
//! `call_tool` and `get_tools` don't link this crate, which keeps them small: they run
//! `serve_tools --connect` for these tasks.

pub mod gemini_api;
pub mod http_client;
pub mod web;
