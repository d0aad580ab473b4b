//! Checks of a project's files for CI: many rules, one walk, one report.
//!
//! # What it owns
//!
//! - [`rules`]: rules, and the TOML files that they are written in, with the place of each fault;
//! - [`run`]: all rules over the files of a workspace, each of which is read once;
//! - [`changed`]: the files and lines that differ from a git commit;
//! - [`baseline`]: findings that are known and may stay for now;
//! - [`report`]: the findings, for people and as a document;
//! - [`ci`]: the formats that CI services read, for findings of any origin.
//!
//! What a pattern matches is up to `gemini-tools-builtin-tools`, as for the tool
//! `search_file_content`; which files a walk comes to is up to `gemini-tools-workspace`. Nothing
//! here prints.
//!
//! # Example
//!
//! ```
//! use gemini_tools_checks::{rules, run};
//! use gemini_tools_core::tool::Cancellation;
//! use gemini_tools_workspace::Workspace;
//! use std::path::Path;
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! std::fs::write(root.join("main.rs"), "fn main() { todo!() }\n")?;
//!
//! let text = "[[rule]]\nid = 'no-todo'\npattern = 'todo!'\ninclude = '*.rs'\n";
//! let file = Path::new("checks.toml");
//! let checks = rules::RuleFile::read(file, text).map_err(|faults| faults[0].text())?;
//! let workspace = Workspace::open_at(&root, &[], None)?;
//! let (all, cancel) = (run::Selection::default(), Cancellation::default());
//! let outcome = run::run(&checks.rules, &workspace, &all, None, &cancel)?;
//! assert_eq!(outcome.findings[0].line, Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod baseline;
pub mod changed;
pub mod ci;
mod git;
pub mod report;
pub mod rules;
pub mod run;
