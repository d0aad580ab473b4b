//! Syntax errors that an edit makes, and outlines of source files, by the grammars of tree-sitter.
//!
//! [`new_errors`] compares two versions of a text and names the changed lines that cause a syntax
//! error. [`outline`] lists what a text defines. Both give up after a time, [`BUDGET`] or
//! [`OUTLINE_BUDGET`], and return nothing, because a parser may take far longer on a text that was
//! made to be slow. Callers read files and settings. They also choose the process in which this
//! runs: the grammars are C code, which a crafted text may crash.
//!
//! # Example
//!
//! ```
//! use gemini_tools_syntax::{Language, new_errors, outline};
//!
//! let language = Language::of_name("src/main.rs").expect("Rust is known");
//! let old = "fn main() {\n    run();\n}\n";
//! let new = "fn main() {\n    run(;\n}\n";
//! let errors = new_errors(old, new, language);
//! assert_eq!((errors[0].line, errors[0].text.as_str()), (2, "run(;"));
//!
//! let symbols = outline(old, language).expect("short");
//! assert_eq!((symbols[0].name.as_str(), symbols[0].lines()), ("main", (1, 3)));
//! ```

mod answers;
#[cfg(feature = "grammars")]
mod change;
#[cfg(feature = "grammars")]
mod errors;
mod language;
#[cfg(feature = "grammars")]
mod outline;
#[cfg(feature = "grammars")]
mod parser;
#[cfg(all(test, feature = "grammars"))]
mod tests;

pub use answers::{Symbol, SyntaxError, outline_text};
#[cfg(feature = "grammars")]
pub use errors::new_errors;
pub use language::Language;
#[cfg(feature = "grammars")]
pub use outline::outline;

use std::time::Duration;

/// The processor time that parsing may take in one call of [`new_errors`], however many texts the
/// call parses. Each edit waits for it.
pub const BUDGET: Duration = Duration::from_millis(50);

/// The processor time that one call of [`outline`] may take: who has none reads the whole text.
pub const OUTLINE_BUDGET: Duration = Duration::from_millis(500);

/// The size in bytes of the largest text that is parsed.
pub const MAX_BYTES: usize = 1024 * 1024;
