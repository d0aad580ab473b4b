//! Setting up a project for Gemini CLI, and checking it.

pub mod doctor;
pub mod init;
pub mod own_program;
