//! Replaces text in tools' answers that differs between runs, such as times and process ids.
//!
//! Each kind is replaced by a placeholder such as `<time>`. The patterns are narrow: a wide one
//! would also hide a real change. Hashes of commits and files, and numbers without a unit, are
//! therefore kept.

use regex::Regex;
use std::sync::LazyLock;

const MONTH: &str = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const DAY: &str = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";

/// The patterns, applied in this order. Order matters: a date with a time must be replaced before a
/// pattern for times alone sees it.
#[expect(clippy::unwrap_used, reason = "constants, which a test compiles")]
static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let rules = [
        // A path in Gemini CLI's temporary directory, where each project's directory is named by a
        // hash of the project's path.
        (r"(\{\{home\}\}/\.gemini/tmp/)[^\s'\x22)\]]+", "${1}<kept>"),
        // The random name of a temporary file or directory. Names below it are kept, to tell them
        // apart.
        (
            r"(^|[^\w.{}/-])(?:/private)?(?:/tmp|/var/tmp|/var/folders/\w+/\w+/T)/[^\s/'\x22:;,)\]]+",
            "${1}<tmp>",
        ),
        (
            r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
            "<id>",
        ),
        (
            r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z\b| ?[+-]\d\d:?\d\d\b)?",
            "<time>",
        ),
        (
            r"\bDAY, \d\d? MONTH \d{4} \d\d:\d\d:\d\d(?: (?:GMT|UTC|[+-]\d{4}))?",
            "<time>",
        ),
        (
            r"\bDAY MONTH [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{3,5}| [AP]M)* \d{4}(?: [+-]\d{4})?",
            "<time>",
        ),
        // Month, day, and time or year, as `ls -l` prints them.
        (r"\bMONTH [ \d]\d +(?:\d\d:\d\d|\d{4})\b", "<time>"),
        (r"\b\d{4}-\d\d-\d\d\b", "<date>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b\d+m ?\d+(?:\.\d+)?s\b", "<duration>"),
        (
            r"\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?|minutes?)\b",
            "<duration>",
        ),
        (
            r"(?i)\b((?:process group )?(?:pgid|ppid|pid)|background pids|process id)(s?\x22?[:=]? ?\[?)\d+(?:, ?\d+)*",
            "${1}${2}<pid>",
        ),
    ];
    let named = |rule: &str| rule.replace("MONTH", MONTH).replace("DAY", DAY);
    let rules = rules.map(|(rule, name)| (Regex::new(&named(rule)).unwrap(), name));
    rules.into()
});

pub(super) fn stable(text: &str) -> String {
    let mut own = text.to_owned();
    for (rule, name) in &*RULES {
        if rule.is_match(&own) {
            own = rule.replace_all(&own, *name).into_owned();
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::stable;

    #[test]
    fn what_differs_from_run_to_run_is_made_stable() {
        for (text, want) in [
            ("at 2026-11-23T20:03:20.123Z.", "at <time>."),
            ("2026-11-23 20:03:20 +0100", "<time>"),
            ("Date: Mon, 23 Nov 2026 20:03:20 GMT", "Date: <time>"),
            ("Mon Nov 23 20:03:20 UTC 2026", "<time>"),
            ("Mon Nov  2 20:03:20 2026 +0100", "<time>"),
            (
                "-rw-r--r-- 1 ada ada 5 Nov 23 20:03 a.txt",
                "-rw-r--r-- 1 ada ada 5 <time> a.txt",
            ),
            ("finished in 0.36s", "finished in <duration>"),
            ("real\t0m0.003s", "real\t<duration>"),
            (
                "took 12 ms, then 3 seconds",
                "took <duration>, then <duration>",
            ),
            ("Background PIDs: 123, 456", "Background PIDs: <pid>"),
            ("Process Group PGID: 4711", "Process Group PGID: <pid>"),
            ("pid=12 (pid 13)", "pid=<pid> (pid <pid>)"),
            ("{\"pid\": 12}", "{\"pid\": <pid>}"),
            ("id 0b0e7a4c-5f4e-4d55-9c3b-2f0e4cbb8f11", "id <id>"),
            (
                "wrote /tmp/tmp.Xa8/x.txt and '/var/tmp/b'",
                "wrote <tmp>/x.txt and '<tmp>'",
            ),
            (
                "see {{home}}/.gemini/tmp/ab12/tool-outputs/x-1.txt",
                "see {{home}}/.gemini/tmp/<kept>",
            ),
        ] {
            assert_eq!(stable(text), want, "{text}");
            assert_eq!(stable(want), want, "stable for good");
        }
    }

    #[test]
    fn what_a_change_would_show_in_stays() {
        for text in [
            "3 files changed",
            "version 1.2.3",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "exit status 2",
            "src/tmp/a.rs:12:3",
            "{{workspace}}/tmp/a",
            "5 Nov",
            "port 8080",
        ] {
            assert_eq!(stable(text), text);
        }
    }
}
