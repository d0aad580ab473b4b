//! The gate that every call passes, and what calls need.

pub mod approval;
pub mod session;
