//! A line in the user's `.env` file, which Gemini CLI reads.
//!
//! The file may contain secrets. Nothing but the line is therefore shown or copied, and the rest
//! stays as it is, byte for byte.

pub(super) const OUTPUT: &str = "GEMINI_TOOLS_OUTPUT";

/// Makes `call_tool` answer Gemini CLI in text instead of JSON.
pub(super) const HOST_FORM: &str = "GEMINI_TOOLS_OUTPUT=host";

/// Returns what must be appended to `text` to add a line, with the text's own kind of line ends.
pub(super) fn appended(text: &str, line: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let start = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        end
    };
    format!("{start}{line}{end}")
}

/// Removes what [`appended`] has added. If the text was edited since, the line is removed wherever
/// it is. Returns `None` if it is not there.
pub(super) fn without(text: &str, appended: &str) -> Option<String> {
    if let Some(before) = text.strip_suffix(appended) {
        return Some(before.to_owned());
    }
    let line = appended.trim();
    let mut is_found = false;
    let kept = text.split_inclusive('\n').filter(|one| {
        let is_it = !is_found && one.trim_end_matches(['\r', '\n']) == line;
        is_found |= is_it;
        !is_it
    });
    let kept: String = kept.collect();
    is_found.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::{HOST_FORM, appended, without};

    #[test]
    fn what_is_put_in_is_taken_out_and_the_rest_stays_byte_for_byte() {
        for before in ["", "A=b\n", "A=b", "A=b\r\nC=d\r\n", "A=b\r\nC=d"] {
            let added = appended(before, HOST_FORM);
            let text = format!("{before}{added}");
            assert_eq!(without(&text, &added).as_deref(), Some(before));
            // The user has added a line after ours.
            let edited = without(&format!("{text}E=f\n"), &added).expect("found");
            assert!(
                edited.starts_with(before) && edited.ends_with("E=f\n"),
                "{edited:?}"
            );
            assert!(!edited.contains(HOST_FORM), "{edited:?}");
        }
        assert_eq!(
            without(
                "A=b\nGEMINI_TOOLS_OUTPUT=text\n",
                "GEMINI_TOOLS_OUTPUT=host\n"
            ),
            None
        );
    }
}
