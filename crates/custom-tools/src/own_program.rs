//! Recognises the executables of this installation among the programs that settings name.

use gemini_tools_process::command::find_program;
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::Path;

/// Returns true if `program`, as named by a command that runs in `root`, is `get_tools` or
/// `call_tool` of this installation: next to the running executable, or a launcher in the checkout
/// from which it was built. Other programs may have the same names, which Gemini CLI's
/// documentation uses as examples. A bare name that is not found is assumed to be of this
/// installation, since another process may have a `PATH` on which it is found.
pub fn is_this_installation(program: &str, root: &Path) -> bool {
    own_name(program, root).is_some()
}

/// Returns which of `get_tools` and `call_tool` of this installation the program is; `None` if it
/// is neither.
pub fn own_name(program: &str, root: &Path) -> Option<&'static str> {
    own_among(&["get_tools", "call_tool"], program, root)
}

/// Returns true if the program is `serve_tools` of this installation.
pub fn is_own_server(program: &str, root: &Path) -> bool {
    own_among(&["serve_tools"], program, root).is_some()
}

fn own_among(names: &[&'static str], program: &str, root: &Path) -> Option<&'static str> {
    let is_bare = Path::new(program).parent() == Some(Path::new(""));
    let found = if is_bare {
        match find_program(OsStr::new(program)) {
            Some(found) => found,
            None => return name_of(names, Path::new(program)),
        }
    } else {
        root.join(program)
    };
    let file = found.canonicalize().ok()?;
    let name = name_of(names, &file)?;
    (file.is_file() && file.parent().is_some_and(is_own_directory)).then_some(name)
}

/// Returns true if the names of both executables are found on the `PATH` and lead to this
/// installation, whatever the working directory. A relative entry of the `PATH` does not count,
/// because it names another directory in each working directory.
pub fn are_on_path(root: &Path) -> bool {
    ["get_tools", "call_tool"].into_iter().all(|name| {
        let found = find_program(OsStr::new(name));
        found.is_some_and(|path| path.is_absolute()) && own_name(name, root) == Some(name)
    })
}

fn name_of(names: &[&'static str], path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let name = name.strip_suffix(EXE_SUFFIX).unwrap_or(name);
    names.iter().copied().find(|own| name == *own)
}

fn is_built_in(checkout: &Path, own: &Path) -> bool {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").filter(|chosen| !chosen.is_empty());
    let target = chosen.and_then(|chosen| checkout.join(chosen).canonicalize().ok());
    own.starts_with(checkout) || target.is_some_and(|target| own.starts_with(target))
}

fn is_own_directory(directory: &Path) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    let Ok(own) = own else {
        return false;
    };
    let is_launchers = || {
        directory.file_name() == Some(OsStr::new("bin"))
            && directory.join("launch.sh").is_file()
            && directory
                .parent()
                .is_some_and(|checkout| is_built_in(checkout, &own))
    };
    own.parent() == Some(directory) || is_launchers()
}
