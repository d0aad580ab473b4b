//! The names of a file in the lines of a unified diff.

/// The two names in a line `diff --git`, which nothing separates but a space, as names may have
/// themselves.
///
/// If both mean one name, with prefixes such as `a/` and `b/` or without, that is `name`, and
/// `full` has both as they are written. In a rename, they mean none. `end` is the line up to its
/// end, or only the second name if either has quotes; a name that is known otherwise is compared
/// with it.
#[derive(Default)]
pub(super) struct Header {
    full: [String; 2],
    pub(super) name: Option<String>,
    end: String,
}

impl Header {
    pub(super) fn parse(names: &str) -> Self {
        let names = names.trim_end_matches('\r');
        let pair = |at: usize| {
            let (old, new) = names.split_at_checked(at)?;
            let full = [whole(old)?, whole(new.strip_prefix(' ')?)?];
            let name = Some(common(&full[0], &full[1])?);
            Some((full, name))
        };
        let quote = names.rfind(" \"").filter(|_| names.ends_with('"'));
        let behind = quoted(names).and_then(|(_, more)| more.strip_prefix(' '));
        let end = quote.map_or_else(
            || Some(behind.unwrap_or(names).to_owned()),
            |at| whole(&names[at + 1..]),
        );
        // Names may have spaces, so it must be found out which space separates them. It is the one
        // with which both names mean the same file: behind the closing quote of the first name; in
        // the middle, if both are equal; or else where what follows the first slash is the same in
        // both names. In the last case, as many slashes are before the space as behind it.
        let quotes = quoted(names).map(|(_, more)| names.len() - more.len());
        let slashes: Vec<usize> = names.match_indices('/').map(|(at, _)| at).collect();
        let second = slashes.get(slashes.len() / 2);
        let rests = second.map(|second| slashes[0] + names.len() - second);
        let places = [quotes, Some(names.len() / 2), rests];
        let found = places.into_iter().flatten().find_map(pair);
        let (full, name) = found.unwrap_or_default();
        let end = end.unwrap_or_default();
        Self { full, name, end }
    }

    pub(super) fn ends_in(&self, name: &str) -> bool {
        ends_in(&self.end, name)
    }

    /// Returns true if the line has these names, of which `old` may be that of a rename, without
    /// prefixes such as `a/`.
    pub(super) fn is_bare(&self, old: &str, new: &str) -> bool {
        self.end == new || self.end == format!("{old} {new}")
    }

    /// Returns the names of a section that has no lines `---` and `+++`. `is_there` tells whether
    /// there is a file before and after the change.
    pub(super) fn names(&self, is_there: [bool; 2]) -> Option<Names> {
        let name = self.name.as_ref()?;
        let is_told = is_there == [true; 2] || self.full[0] != self.full[1];
        Some(Names {
            both: is_there.map(|is_there| is_there.then(|| name.clone())),
            shown: is_told.then(|| prefixes(&self.full, name)),
            open: (!is_told).then_some(Open::Written),
        })
    }
}

/// The names of a file before and after its change, as one section of a patch tells them. `shown`
/// are the prefixes that were taken off, both empty if the section shows that there are none.
#[derive(Default)]
pub(super) struct Names {
    pub(super) both: [Option<String>; 2],
    pub(super) shown: Option<[String; 2]>,
    pub(super) open: Option<Open>,
}

/// Why a section does not show whether its names have prefixes such as `a/`: git has written the
/// same name twice (`Written`), the line `diff --git` can't be read (`Unread`), or there is none
/// (`Alone`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Written,
    Unread,
    Alone,
}

impl Names {
    /// Takes off the prefixes that only other sections show: those of a patch are the same for all
    /// of its names.
    pub(super) fn settled(self, shown: &[[String; 2]]) -> Result<[Option<String>; 2], String> {
        let Some(open) = self.open else {
            return Ok(self.both);
        };
        let usual = ["a/", "b/"].map(str::to_owned);
        let usual = (open != Open::Written).then_some(&usual);
        let stripped = |prefixes: &[String; 2]| {
            let mut names = self.both.iter().zip(prefixes);
            let mut next = || match names.next()? {
                (None, _) => Some(None),
                (Some(name), prefix) => Some(Some(name.strip_prefix(&**prefix)?.to_owned())),
            };
            Some([next()?, next()?])
        };
        let is_bare = |prefixes: &&[String; 2]| prefixes.iter().all(String::is_empty);
        let (bare, prefixed): (Vec<_>, Vec<_>) = shown.iter().partition(is_bare);
        let found = prefixed.into_iter().chain(usual).find_map(stripped);
        let name = self.both.iter().flatten().next();
        let other = match &found {
            Some(names) if !bare.is_empty() => names.iter().flatten().next().map(String::as_str),
            None if open == Open::Unread => name.and_then(|name| rest(name)),
            _ => None,
        };
        if let Some((name, other)) = name.zip(other) {
            return Err(format!(
                "the name is {name:?} or, without a prefix, {other:?}: the other names of the patch \
                 do not tell; give all of them with a/ and b/"
            ));
        }
        Ok(found.unwrap_or(self.both))
    }
}

/// The name in a line `---` or `+++`, which is `None` for `/dev/null`. `is_absent` is set if svn
/// says behind the name that there is no file, and `is_epoch` if what is there may mean that: the
/// time that `diff -N` gives such a file, or svn's revision 0.
pub(super) struct Side {
    name: Option<String>,
    pub(super) is_absent: bool,
    pub(super) is_epoch: bool,
}

impl Side {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('\r');
        let (name, time) = if text.starts_with('"') {
            quoted(text)?
        } else {
            // git and diff end a name that has blanks with a tab. Other blanks are no part of it.
            let (name, time) = text.split_once('\t').unwrap_or((text.trim_end(), ""));
            (name.to_owned(), time)
        };
        Some(Self {
            name: (name != "/dev/null").then_some(name),
            is_absent: time.ends_with("(nonexistent)"),
            is_epoch: is_epoch(time) || time.ends_with("(revision 0)"),
        })
    }
}

impl Side {
    pub(super) fn ends_in(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|end| ends_in(end, name))
    }
}

fn ends_in(end: &str, name: &str) -> bool {
    let prefix = end.strip_suffix(name);
    prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['/', ' ']))
}

/// Returns the file's name before and after the change, as the lines `---` and `+++` have it; `None`
/// where there is no file. `header` is the line `diff --git`, if there is one.
pub(super) fn both(sides: &[Side; 2], header: Option<&Header>) -> Result<Names, String> {
    let contradicts = |name: &str, header: &str| {
        Err(format!(
            "the name is {name:?} here and {header:?} in the line \"diff --git\""
        ))
    };
    let (at, name) = match (&sides[0].name, &sides[1].name) {
        (Some(old), Some(new)) => {
            let name = common(old, new)
                .ok_or("both names of the file differ, and nothing says that it is renamed")?;
            return match header.and_then(|header| header.name.as_ref()) {
                Some(known) if *known != name => contradicts(&name, known),
                _ => Ok(Names {
                    shown: Some(prefixes(&[old, new], &name)),
                    both: [Some(name.clone()), Some(name)],
                    open: None,
                }),
            };
        }
        (Some(name), None) => (0, name),
        (None, Some(name)) => (1, name),
        (None, None) => return Ok(Names::default()),
    };
    let told = header.and_then(|header| Some((header, header.names([at == 0, at == 1])?)));
    if let Some((header, told)) = told {
        let full = &header.full[at];
        let is_it = full == name || header.name.as_ref() == Some(name);
        return if is_it {
            Ok(told)
        } else {
            contradicts(name, full)
        };
    }
    let open = header.map_or(Open::Alone, |_| Open::Unread);
    let mut names = Names {
        open: Some(open),
        ..Names::default()
    };
    names.both[at] = Some(name.clone());
    Ok(names)
}

fn prefixes(pair: &[impl AsRef<str>; 2], name: &str) -> [String; 2] {
    let prefix = |full: &str| full.strip_suffix(name).unwrap_or_default().to_owned();
    [prefix(pair[0].as_ref()), prefix(pair[1].as_ref())]
}

/// Returns the one name that two names mean. They differ only in a first directory: the prefixes
/// `a/` and `b/`, or the directories of two versions. Equal names have no prefix, because with one
/// they would differ.
fn common(old: &str, new: &str) -> Option<String> {
    if old == new {
        return Some(old.to_owned());
    }
    let rest = rest(old)?;
    (self::rest(new)? == rest).then(|| rest.to_owned())
}

fn rest(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('/')?;
    (!rest.is_empty()).then_some(rest)
}

pub(super) fn whole(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\r');
    if !text.starts_with('"') {
        return Some(text.to_owned());
    }
    let (name, more) = quoted(text)?;
    more.is_empty().then_some(name)
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let (name, length) = unquoted(text.as_bytes())?;
    Some((String::from_utf8(name).ok()?, &text[length..]))
}

/// Resolves the quotes and escapes in which git and diff put names with unusual characters. Returns
/// the name, and how many bytes it takes with its quotes; `None` if these are wrong.
pub fn unquoted(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix(b"\"")?.iter().copied();
    loop {
        let escaped = match rest.next()? {
            b'"' => return Some((bytes, text.len() - rest.len())),
            b'\\' => rest.next()?,
            byte => {
                bytes.push(byte);
                continue;
            }
        };
        bytes.push(match escaped {
            b'a' => 0x07,
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'r' => b'\r',
            b'0'..=b'3' => {
                let mut digit = || rest.next().filter(|b| (b'0'..=b'7').contains(b));
                (escaped - b'0') * 64 + (digit()? - b'0') * 8 + (digit()? - b'0')
            }
            b'"' | b'\\' => escaped,
            _ => return None,
        });
    }
}

/// Returns true if a time such as `1970-01-01 01:00:00.000000000 +0100` is the first second of
/// 1970 in Greenwich.
fn is_epoch(time: &str) -> bool {
    let minutes = || -> Option<i32> {
        let [date, clock, zone] = *time.split_whitespace().collect::<Vec<_>>() else {
            return None;
        };
        let (clock, parts) = clock.split_once('.').unwrap_or((clock, ""));
        let (hour, rest) = clock.split_once(':')?;
        let minute = rest.strip_suffix(":00")?;
        let offset = i32::from(zone.replace(':', "").parse::<i16>().ok()?);
        let day = match date {
            "1970-01-01" => 0,
            "1969-12-31" => -1,
            _ => return None,
        };
        let number = |text: &str| Some(i32::from(text.parse::<u8>().ok()?));
        let of_day = number(hour)? * 60 + number(minute)?;
        let is_whole = parts.bytes().all(|digit| digit == b'0');
        is_whole.then_some(day * 24 * 60 + of_day - (offset / 100 * 60 + offset % 100))
    };
    minutes() == Some(0)
}
