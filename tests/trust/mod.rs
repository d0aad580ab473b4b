//! Who may do what: settings, rules, trust, and what is said beforehand.

mod explain;
mod faults;
mod guarded_files;
mod host_environment;
mod policy;
mod policy_cases;
mod settings;
mod tail_calls;
mod trusted;
mod untrusted;
