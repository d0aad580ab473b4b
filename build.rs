//! Links the executables statically where that is possible: on Linux with glibc
//! and its static archive at hand.
//!
//! They run once per call, and loading shared libraries is a third of the time that a small
//! call takes. The compiler's own switch for this (`target-feature=+crt-static`) can't be used
//! without naming a target, because it holds for procedural macros too and breaks those. So
//! the executables alone are given linker arguments, and a directory where the names of
//! the shared libraries that the compiler asks for stand for the static archives.
//! `GEMINI_TOOLS_DYNAMIC=1` at build time switches it off.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// `mcp_client` is not among them: the SDK asks the C library for the addresses of names, which a
/// static one can do only with the help of shared libraries.
const EXECUTABLES: [&str; 3] = ["get_tools", "call_tool", "run_agent"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GEMINI_TOOLS_DYNAMIC");
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    if !wanted() {
        return;
    }
    let stubs = out.join("static");
    if let Err(e) = write_stubs(&stubs) {
        println!(
            "cargo::warning=linking dynamically: {}: {e}",
            stubs.display()
        );
        return;
    }
    for executable in EXECUTABLES {
        for argument in ["-static", "-no-pie", &format!("-L{}", stubs.display())] {
            println!("cargo::rustc-link-arg-bin={executable}={argument}");
        }
    }
}

fn wanted() -> bool {
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|v| v == value);
    is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var("HOST").ok() == env::var("TARGET").ok()
        // The compiler's own switch does all of it.
        && !env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|f| f.split(',').any(|f| f == "crt-static"))
        && env::var_os("GEMINI_TOOLS_DYNAMIC").is_none()
        && ["libc.a", "libm.a", "libgcc_eh.a"].iter().all(|name| has_archive(name))
}

/// Whether the C compiler, which links, finds an archive: it prints a path then.
fn has_archive(name: &str) -> bool {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    Command::new(compiler)
        .arg(format!("-print-file-name={name}"))
        .output()
        .is_ok_and(|out| Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_absolute())
}

fn write_stubs(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for library in ["c", "m", "util", "rt", "pthread", "dl"] {
        fs::write(
            dir.join(format!("lib{library}.so")),
            format!("INPUT(-l:lib{library}.a)\n"),
        )?;
    }
    fs::write(
        dir.join("libgcc_s.so"),
        "INPUT(-l:libgcc_eh.a -l:libgcc.a -l:libc.a)\n",
    )
}
