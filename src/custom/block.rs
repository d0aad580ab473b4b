//! Scripts that describe themselves: a comment block in the manner of inline script metadata.
//!
//! ```text
//! # /// tool
//! # description = "Says hello."
//! # ///
//! ```
//!
//! The comments may begin with `#`, `//`, `--` or `;`. The block is read, never executed.

use crate::settings::open_regular;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// So much of a script is looked at, in bytes.
const LOOKED_AT: u64 = 32 * 1024;

const PREFIXES: [&str; 4] = ["#", "//", "--", ";"];

/// The keys in a script's block, as TOML; `None` where it has none. The inner error is a fault
/// of the block.
pub(super) fn read(path: &Path) -> io::Result<Option<Result<String, String>>> {
    let Some(opened) = open_regular(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let is_whole = opened.metadata.len() <= LOOKED_AT;
    opened.file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    let Some(found) = find(&String::from_utf8_lossy(&bytes), is_whole) else {
        return Ok(None);
    };
    if opened.metadata.mode() & 0o111 == 0 {
        let fault = "it has a tool's block but is not executable: run chmod +x on it.";
        return Ok(Some(Err(fault.to_owned())));
    }
    Ok(Some(found))
}

fn find(text: &str, is_whole: bool) -> Option<Result<String, String>> {
    let mut lines = text.lines().enumerate();
    let (start, prefix) = lines.find_map(|(at, line)| {
        let is_start = |prefix: &&&str| {
            let rest = line.strip_prefix(**prefix);
            rest.is_some_and(|rest| rest.trim_end() == " /// tool")
        };
        PREFIXES.iter().find(is_start).map(|prefix| (at, *prefix))
    })?;
    // Line numbers in faults are those of the file.
    let mut toml = "\n".repeat(start + 1);
    for (at, line) in lines {
        let Some(rest) = line.strip_prefix(prefix) else {
            return Some(Err(format!(
                "line {}: the tool's block that begins in line {} is interrupted: begin each of \
                 its lines with {prefix} and end it with \"{prefix} ///\".",
                at + 1,
                start + 1
            )));
        };
        let rest = rest.trim_end();
        if rest == " ///" {
            return Some(Ok(toml));
        }
        toml.push_str(rest.strip_prefix(' ').unwrap_or(rest));
        toml.push('\n');
    }
    let why = if is_whole {
        "has no end"
    } else {
        "does not end within the first 32 KiB of the file"
    };
    Some(Err(format!(
        "the tool's block that begins in line {} {why}: end it with \"{prefix} ///\".",
        start + 1
    )))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_block_is_found_behind_every_kind_of_comment() {
        for prefix in super::PREFIXES {
            let text = format!(
                "#!/bin/x\n{prefix} /// tool\n{prefix} a = 1\n{prefix}\n{prefix} b = 2\r\n{prefix} ///\nrest"
            );
            let toml = find(&text, true).expect("found").expect("whole");
            assert_eq!(toml, "\n\na = 1\n\nb = 2\n", "{prefix}");
        }
    }

    #[test]
    fn other_blocks_are_none_and_broken_ones_are_told() {
        assert!(find("# /// script\n# ///\n", true).is_none());
        assert!(find("echo '# /// tool'\n", true).is_none());
        let open = find("# /// tool\n# a = 1\n", true).expect("found");
        assert!(open.expect_err("open").contains("has no end"));
        let late = find("# /// tool\n# a = 1\n", false).expect("found");
        assert!(late.expect_err("open").contains("32 KiB"));
        let cut = find("# /// tool\nx = 1\n# ///\n", true).expect("found");
        assert!(cut.expect_err("cut").starts_with("line 2: "));
    }
}
