//! Variables that a line assigns to. An assignment can run programs: `GIT_SSH_COMMAND=rm git
//! fetch`.

use super::Walk;
use super::words::{Word, is_among};
use std::collections::BTreeSet;

/// Variables in upper case whose values no known program runs as a command or loads as code.
const HARMLESS: &str = "\
    CARGO_INCREMENTAL CARGO_TERM_COLOR CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS \
    DEBIAN_FRONTEND DO_NOT_TRACK FORCE_COLOR GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME \
    GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME GIT_TERMINAL_PROMPT HOSTNAME LANG \
    LANGUAGE LINES LOGNAME NODE_ENV NODE_NO_WARNINGS NO_COLOR OMP_NUM_THREADS \
    PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUNBUFFERED PYTHONUTF8 \
    REPLY RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS SOURCE_DATE_EPOCH TERM TZ USER";

/// Variables that change how bash parses text or finds files, or whose values bash evaluates. Names
/// that begin with `BASH` are treated the same.
const READ_BY_BASH: &str = "\
    CDPATH ENV EXECIGNORE FCEDIT GLOBIGNORE HISTCMD HISTFILE HOME IFS INPUTRC LINENO OLDPWD OPTIND \
    POSIXLY_CORRECT PPID PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SRANDOM";

pub(super) fn is_read_by_bash(name: &str) -> bool {
    name.starts_with("BASH") || is_among(name, READ_BY_BASH)
}

/// Returns true if no known program runs the variable's value as a command. Names in lower case are
/// taken for variables that only the script uses, except for proxies (`http_proxy`) and the
/// settings of npm, pnpm and yarn.
fn is_harmless(name: &str) -> bool {
    let is_programs = ["npm_", "pnpm_", "yarn_"]
        .iter()
        .any(|start| name.starts_with(start));
    let is_own = !name.contains(|c: char| c.is_ascii_uppercase())
        && !name.ends_with("_proxy")
        && !is_programs;
    is_own || is_among(name, HARMLESS) || name.starts_with("LC_")
}

/// Adds an assignment; `value` is `None` if it can't be known. An assignment through which a
/// program may start another counts as a command named `PATH=`, which no rule that allows a program
/// matches.
pub(super) fn assign(walk: &mut Walk<'_>, name: &str, value: Option<&str>, text: &str) {
    if is_read_by_bash(name) {
        walk.unresolved(text);
    } else if !is_harmless(name) {
        let word = |value, written: &str| Word {
            value,
            written: written.to_owned(),
            ..Word::default()
        };
        let name = word(Some(format!("{name}=")), "");
        walk.push(&[name, word(value.map(str::to_owned), text)], text);
    }
}

/// Arrays that bash itself has or makes. Those whose names begin with `BASH` are unresolved anyway.
const ARRAYS_OF_BASH: &str = "COPROC DIRSTACK FUNCNAME GROUPS MAPFILE PIPESTATUS";

/// What a line tells about arrays. If a name is that of an array, `declare name='($(rm x))'` and
/// its like evaluate the value as a list of elements, in spite of the quotes. The line may make the
/// array only later, and a loop may lead back to the declaration. So arrays and declarations are
/// both collected until the line ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arrays {
    names: BTreeSet<String>,
    lists: Vec<(String, String)>,
}

impl Arrays {
    pub(super) fn name(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    pub(super) fn declare(&mut self, name: &str, value: Option<&str>, text: &str) {
        if value.is_none_or(|value| value.starts_with('(')) {
            self.lists.push((name.to_owned(), text.to_owned()));
        }
    }

    pub(super) fn take_evaluated(&mut self) -> Vec<String> {
        let Self { names, lists } = std::mem::take(self);
        let lists = lists.into_iter();
        lists
            .filter(|(name, _)| names.contains(name) || is_among(name, ARRAYS_OF_BASH))
            .map(|(_, text)| text)
            .collect()
    }
}
