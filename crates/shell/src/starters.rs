//! Programs that work on data, with the options through which they start another program.
//!
//! A rule that allows `tar` must not allow `tar -I ./evil`. So such an option makes a line
//! unresolved, unless its value is one of the few that everybody uses. Programs that are languages,
//! such as `awk`, `sed`, `vim` or `make`, are not listed: whoever allows one allows its scripts.

use super::words::{Word, is_among};

/// The options of some programs through which they may start another program. `short` has the
/// letters of the short options whose value is a program, and `long` the names of the long ones, any
/// beginning of which the programs accept. `ends` has the letters of other options with a value:
/// what follows such a letter in a cluster is its value, and not further options. The values in
/// `harmless` start nothing but the programs they are meant for; one that ends in `=` is the
/// beginning of a value.
struct Starter {
    short: &'static str,
    ends: &'static str,
    long: &'static str,
    harmless: &'static str,
}

const COMPRESSORS: &str = "bzip2 gzip lz4 lzip lzma lzop pbzip2 pigz xz zstd zstdmt";

/// The programs, each line with what a [`Starter`] has. In the place of harmless values, the word
/// `COMPRESSORS` stands for that list.
const STARTERS: &str = "\
    cpio mt | | | --rsh-command |
    git | | | --access-hook --authors-prog --browser --cc-cmd --config --exec --extcmd --header-cmd \
        --httpd --open-files-in-pager --program --receive-pack --sendmail-cmd --smtp-server \
        --strategy --template --to-cmd --upload-pack | octopus ort ours recursive resolve subtree
    install | | | --strip-program |
    ar nm ranlib | | | --plugin |
    man | C H P T | LMRSm | --config-file --html --pager --troff-device | cat
    rg | | | --hostname-bin --pre |
    rsync | e | Mf | --rsh --rsync-path | ssh
    scriptlive | c | BITdmt | --command |
    scp sftp | D F S b o | JPXcil | | BatchMode= ConnectTimeout= StrictHostKeyChecking= \
        UserKnownHostsFile=
    diff3 sdiff | | | --diff-program |
    sort | | | --compress-program | COMPRESSORS
    split | | | --filter |
    bsdtar gtar tar | F I | Cf | --checkpoint-action --info-script --new-volume-script \
        --rmt-command --rsh-command --to-command --use-compress-program | COMPRESSORS
    wget | e | AODPRUaio | --config --execute --use-askpass | robots=
    zip | TT | | --unzip-command | unzip";

fn starter(program: &str) -> Option<Starter> {
    STARTERS.lines().find_map(|line| {
        let mut parts = line.split('|').map(str::trim);
        let is_it = is_among(program, parts.next()?);
        let mut part = || parts.next().unwrap_or_default();
        let own = Starter {
            short: part(),
            ends: part(),
            long: part(),
            harmless: match part() {
                "COMPRESSORS" => COMPRESSORS,
                harmless => harmless,
            },
        };
        is_it.then_some(own)
    })
}

/// Long options whose value is a command in any program that has them.
const LONG: &str = "\
    --cc-cmd --checkpoint-action --compress-program --diff-program --exec --exec-batch --header-cmd \
    --open-files-in-pager --pager --post-invoke --pre-invoke --receive-pack --rsh --sendmail-cmd \
    --smtp-server --strip-program --to-cmd --to-command --upload-pack --use-compress-program";

/// Options whose name is also the beginning of a longer option's name. They stand for themselves
/// and are no abbreviation of it.
const WHOLE: &str = "--author --cc --checkpoint --strip --to";

pub(super) fn starts_another(program: &str, rest: &[Word]) -> bool {
    let own = starter(program);
    let own = own.as_ref();
    let is_bundle = |word: &Word| {
        // `tar cIf ./evil x` is the old form of `tar -c -I ./evil -f x`.
        let is_old = program.ends_with("tar") && !word.known.starts_with('-');
        let has_input = || rest.iter().any(|word| word.is_input);
        is_old && (word.known.contains(['F', 'I']) || word.value.is_none() || has_input())
    };
    let is_started = |(i, word): (usize, &Word)| {
        let Some(attached) = named_by_long(own, word).or_else(|| named_by_short(own?, word)) else {
            return false;
        };
        let is_known = |word: &&Word| word.value.is_some() && !word.is_expanded;
        let value = if attached.is_empty() {
            rest.get(i + 1)
                .filter(is_known)
                .map(|next| next.known.as_str())
        } else {
            Some(word).filter(is_known).map(|_| attached)
        };
        let is_harmless = |value| own.is_some_and(|own| is_harmless(own, value));
        !(is_known(&word) && value.is_some_and(is_harmless))
    };
    own.is_some() && rest.first().is_some_and(is_bundle)
        || own.is_some() && program != "git" && may_get_options(rest)
        || rest.iter().enumerate().any(is_started)
}

/// Returns true if words that `xargs` reads may become options of the program. A `--` ends the
/// options, so what follows it can't. But directly behind another option, the `--` may be that
/// option's value, which ends nothing.
pub(super) fn may_get_options(rest: &[Word]) -> bool {
    let may_take_value = |word: &Word| word.value.is_none() || word.known.starts_with('-');
    let ends_options = |i: usize| rest[i].is("--") && (i == 0 || !may_take_value(&rest[i - 1]));
    let end = (0..rest.len()).find(|i| ends_options(*i));
    rest[..end.unwrap_or(rest.len())]
        .iter()
        .any(|word| word.is_input)
}

/// Returns the value that is attached to a long option; `named_by_short` does the same for a short
/// one. The text is empty if no value is attached.
fn named_by_long<'w>(own: Option<&Starter>, word: &'w Word) -> Option<&'w str> {
    let known = word.option();
    let (name, attached) = known.split_once('=').unwrap_or((known, ""));
    let may_go_on = word.value.is_none() && name == known && name.starts_with('-');
    let is_beginning = may_go_on || name.len() > 2 && !is_among(name, WHOLE);
    let begins = |option: &str| is_beginning && option.starts_with(name);
    let is_own = || own.is_some_and(|own| own.long.split_whitespace().any(begins));
    (is_among(name, LONG) || is_own()).then_some(attached)
}

fn named_by_short<'w>(own: &Starter, word: &'w Word) -> Option<&'w str> {
    let cluster = word.option().strip_prefix('-')?;
    if cluster.starts_with('-') {
        return None;
    }
    for (at, letter) in cluster.char_indices() {
        let mut short = own.short.split_whitespace();
        if let Some(attached) = short.find_map(|option| cluster[at..].strip_prefix(option)) {
            return Some(attached);
        }
        if own.ends.contains(letter) {
            return None;
        }
    }
    (word.may_go_on() && !own.short.is_empty()).then_some("")
}

fn is_harmless(own: &Starter, value: &str) -> bool {
    let mut words = value.split(' ');
    let first = words.next().unwrap_or_default();
    let is_first = own.harmless.split_whitespace().any(|known| {
        let rest = first.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || known.ends_with('=') && is_path(rest))
    });
    // Levels and numbers of threads, as in `zstd -19 -T0`, start nothing.
    let is_level = |word: &str| {
        let level = word.strip_prefix('-');
        level.is_some_and(|level| level.bytes().all(|b| b.is_ascii_digit() || b == b'T'))
    };
    is_first && words.all(is_level)
}

fn is_path(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._/".contains(&b);
    text.bytes().all(fits)
}
