//! Who may do what: settings, rules, trust, and what is said beforehand.

use gemini_tools_test_harness as harness;

mod explain;
mod guarded_files;
mod host_environment;
mod policy;
mod policy_cases;
mod settings;
mod tail_calls;
mod trust;
mod untrusted;
