//! Arguments that tools understand and declarations don't name: a model would pay for them in
//! every request. People and other hosts use them.

use gemini_tools_core::tool::Undeclared;

macro_rules! undeclared {
    ($($(#[$only:meta])? $name:ident: $key:literal, $kind:literal, $meaning:literal;)*) => {
        $($(#[$only])? pub(super) const $name: Undeclared = Undeclared {
            name: $key,
            kind: $kind,
            meaning: $meaning,
        };)*
    };
}

undeclared! {
    AFTER: "after", "number", "How many lines to show after each match.";
    ALLOW_MULTIPLE: "allow_multiple", "boolean",
        "Replaces all occurrences, however many there are.";
    BEFORE: "before", "number", "How many lines to show before each match.";
    CASE_SENSITIVE: "case_sensitive", "boolean",
        "Whether upper and lower case differ. Default: false.";
    CONTEXT: "context", "number", "How many lines to show before and after each match.";
    COUNT: "count", "boolean", "Only counts the matches of each file.";
    COUNT_LINES: "count_lines", "boolean",
        "Whether all lines are counted, also those of a very large file.";
    #[cfg(feature = "shell")]
    DELAY_MS: "delay_ms", "number",
        "A time to watch or wait, in milliseconds, as Gemini CLI 0.61 says it.";
    END_LINE: "end_line", "number", "The last line, counted from 1, inclusive.";
    EXCLUDE_PATTERN: "exclude_pattern", "string",
        "A regular expression; a line that matches it as well is left out, as in Gemini CLI 0.61.";
    FIXED_STRINGS: "fixed_strings", "boolean", "Takes the pattern literally.";
    INSTRUCTION: "instruction", "string", "Ignored; Gemini CLI 0.61 sends one.";
    MAX_MATCHES_PER_FILE: "max_matches_per_file", "number",
        "The most matching lines of one file.";
    NAMES_ONLY: "names_only", "boolean", "Only names the files that match.";
    NO_IGNORE: "no_ignore", "boolean",
        "Searches `node_modules` and what git's ignore files name, too.";
    START_LINE: "start_line", "number", "The first line, counted from 1.";
    TOTAL_MAX_MATCHES: "total_max_matches", "number", "The most matching lines of the call.";
}
