//! Whether a program that settings name is one of these executables.

use gemini_tools_process::command::find_program;
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::Path;

/// Whether `program`, as a command that runs in `root` names it, is `get_tools` or `call_tool` of
/// this installation: beside the running executable, or a launcher of the checkout that it was
/// built in. Others' programs may have the same names: Gemini CLI's documentation uses them. A
/// bare name that is not found is taken for ours: it may be on the `PATH` elsewhere.
pub fn is_this_installation(program: &str, root: &Path) -> bool {
    let is_bare = Path::new(program).parent() == Some(Path::new(""));
    let found = if is_bare {
        match find_program(OsStr::new(program)) {
            Some(found) => found,
            None => return is_own_name(Path::new(program)),
        }
    } else {
        root.join(program)
    };
    let Ok(file) = found.canonicalize() else {
        return false;
    };
    is_own_name(&file) && file.is_file() && file.parent().is_some_and(is_own_directory)
}

fn is_own_name(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let name = name.strip_suffix(EXE_SUFFIX).unwrap_or(name);
    name == "get_tools" || name == "call_tool"
}

/// Whether the launchers of `checkout` build `own`: in the checkout, or where cargo is told to.
fn is_built_in(checkout: &Path, own: &Path) -> bool {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").filter(|chosen| !chosen.is_empty());
    let target = chosen.and_then(|chosen| checkout.join(chosen).canonicalize().ok());
    own.starts_with(checkout) || target.is_some_and(|target| own.starts_with(target))
}

/// `directory` is without links.
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
