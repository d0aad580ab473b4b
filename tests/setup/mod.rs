//! What is installed and set up, what is declared, and the formats of others.

mod checks;
mod checks_ci;
mod checks_input;
mod checks_random;
mod dialects;
mod doctor;
mod formats;
mod get_tools;
mod host_faults;
mod host_files;
mod host_gemini;
mod hosts;
mod init;
mod launchers;
mod lint_files;
mod packages;
mod sarif;
mod versions;
