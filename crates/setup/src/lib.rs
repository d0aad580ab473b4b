//! Setting up hosts, and checking them.
//!
//! # What it owns
//!
//! - [`init`]: `get_tools init`, which adds `get_tools` and `call_tool` to Gemini CLI's settings,
//!   or `serve_tools` to those of another host, and undoes that;
//! - [`doctor`]: `get_tools doctor`, which finds out why a host can't use them;
//! - [`hosts`]: the settings files of hosts that take the tools over MCP, and their behaviour.
//!
//! The meaning of settings, rules and tools is up to the crates that implement them. Asking the
//! user, and printing, is up to `get_tools`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_setup::init::{Allow, InitOptions, SetupPlace, SetupScope, plan};
//!
//! let dir = tempfile::tempdir()?;
//! let (home, root) = (dir.path().join("home"), dir.path().join("project"));
//! for directory in [&home, &root] {
//!     std::fs::create_dir(directory)?;
//! }
//! let (home, root) = (home.canonicalize()?, root.canonicalize()?);
//! let place = SetupPlace {
//!     home: &home,
//!     root: &root,
//!     scope: SetupScope::Project,
//! };
//! let plan = plan(place, &InitOptions {
//!     allow: Allow::Nothing,
//!     directory: None,
//!     tools: &[],
//!     trusts_folder: false,
//!     has_skill: false,
//! })?;
//! // A plan can be shown; nothing has been written yet.
//! let diff = plan.changes[0].diff();
//! assert!(diff.contains("\"discoveryCommand\": \"get_tools\""), "{diff}");
//! assert!(!root.join(".gemini").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod doctor;
pub mod hosts;
pub mod init;
mod syntax;
