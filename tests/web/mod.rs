//! Tools that reach the web, and the way to the Gemini API.

mod gemini_api;
mod google_web_search;
mod web_fetch;
mod web_fetch_addresses;
mod web_fetch_limits;
mod web_fetch_markup;
mod web_fetch_model;
mod web_fetch_names;
