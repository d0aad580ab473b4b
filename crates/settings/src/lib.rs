//! Gemini CLI's settings, and whether a project is trusted.
//!
//! # What it owns
//!
//! - [`settings`]: the settings that tools use, from the four `settings.json` files in Gemini CLI's
//!   order, and what a project may set in them;
//! - [`trust`]: whether a project's files may run programs or use credentials.
//!
//! What a setting does is up to the crates that use it. Settings are written by
//! `gemini-tools-setup` only.
//!
//! # Example
//!
//! The settings of an untrusted project can restrict tools, but can't give them more rights:
//!
//! ```
//! use gemini_tools_settings::settings::Settings;
//! use gemini_tools_settings::trust::{ProjectTrust, Trust, Distrust};
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::create_dir(root.join(".gemini"))?;
//! let text = r#"{"tools": {"exclude": ["web_fetch"], "callCommand": "./run-me"}}"#;
//! std::fs::write(root.join(".gemini/settings.json"), text)?;
//!
//! let trust = ProjectTrust::known(Trust::Untrusted(Distrust::Unknown));
//! let settings = Settings::load_trusting(None, &root, trust);
//! assert_eq!(settings.exclude, ["web_fetch"]);
//! assert_eq!(settings.commands.projects, None);
//! // A note names the setting that is ignored.
//! assert!(settings.notes.iter().any(|note| note.place.key.contains("callCommand")));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod settings;
pub mod trust;
