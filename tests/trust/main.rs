//! Who may do what: settings, rules, trust, and what is said beforehand.

use gemini_tools_test_harness as harness;

mod explain;
mod host_environment;
mod policy;
mod policy_cases;
mod settings;
mod trust;
mod untrusted;
