//! Names and paths as text, and back.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Names that are no UTF-8 are shown to callers with `\x{ff}` for each odd byte; see
/// [`show_name`].
pub(crate) fn path_from_argument(argument: &str) -> PathBuf {
    if !argument.contains("\\x{") {
        return PathBuf::from(argument);
    }
    let bytes = argument.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = bytes[i..]
            .strip_prefix(b"\\x{")
            .filter(|rest| rest.get(2) == Some(&b'}'))
            .and_then(|rest| std::str::from_utf8(&rest[..2]).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|byte| *byte >= 0x80);
        if let Some(byte) = escaped {
            out.push(byte);
            i += 6;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// A name or path as text: bytes that are no UTF-8 appear as `\x{ff}`, which path arguments
/// understand, so that such a file stays reachable.
pub fn show_name(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) => text.into(),
        Err(_) => name
            .utf8_chunks()
            .flat_map(|chunk| {
                let odd = chunk.invalid().iter().map(|b| format!("\\x{{{b:02x}}}"));
                std::iter::once(chunk.valid().to_owned()).chain(odd)
            })
            .collect::<String>()
            .into(),
    }
}

/// [`show_name`] of a path.
pub fn show_path(path: &Path) -> Cow<'_, str> {
    show_name(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{path_from_argument, show_name};
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_name_that_is_no_utf8_survives_being_shown() {
        let name = b"caf\xe9 \\x{41}.txt";
        let shown = show_name(name);
        assert_eq!(shown, "caf\\x{e9} \\x{41}.txt");
        assert_eq!(path_from_argument(&shown).as_os_str().as_bytes(), name);
    }
}
