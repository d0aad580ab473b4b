//! The names of a file in the lines of a unified diff.

/// The two names in a line `diff --git`, which nothing separates but a space, as names may have
/// themselves.
///
/// If both mean one name, with prefixes such as `a/` and `b/` or without, that is `name`, and
/// `full` has both as they are written. In a rename, they mean none. `end` is the line up to its
/// end, or only the second name if that has quotes; a name that is known otherwise is compared with
/// it.
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
        let end = quote.map_or_else(|| Some(names.to_owned()), |at| whole(&names[at + 1..]));
        // Names may have spaces, so the one between them is where both mean one name: behind the
        // quotes of the first, in the middle if both are equal, or else where what follows the
        // first slash of each is the same. Then as many slashes are before as behind it.
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
}

/// The name in a line `---` or `+++`, which is `None` for `/dev/null`. `is_epoch` is set if the
/// time behind the name is that which `diff -N` gives a file that is not there.
pub(super) struct Side {
    name: Option<String>,
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
            is_epoch: is_epoch(time),
        })
    }
}

impl Side {
    pub(super) fn ends_in(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|end| ends_in(end, name))
    }
}

/// Returns true if `end` is a name behind a prefix such as `b/`, or the name itself.
fn ends_in(end: &str, name: &str) -> bool {
    let prefix = end.strip_suffix(name);
    prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['/', ' ']))
}

/// Returns the file's name before and after the change, without prefixes, as the lines `---` and
/// `+++` have it; `None` where there is no file. `header` is the line `diff --git`, if there is
/// one.
pub(super) fn both(
    sides: &[Side; 2],
    header: Option<&Header>,
) -> Result<[Option<String>; 2], String> {
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
                _ => Ok([Some(name.clone()), Some(name)]),
            };
        }
        (Some(name), None) => (0, name),
        (None, Some(name)) => (1, name),
        (None, None) => return Ok([None, None]),
    };
    let known = header.and_then(|header| Some((&header.full[at], header.name.as_ref()?)));
    let usual = name.strip_prefix(["a/", "b/"][at]);
    let told = match (known, usual) {
        (Some((full, known)), _) if [full, known].contains(&name) => known,
        (Some((full, _)), _) => return contradicts(name, full),
        (None, Some(usual)) => usual,
        (None, None) => match header.and(rest(name)) {
            Some(rest) => {
                return Err(format!(
                    "the name is {name:?} or, without a prefix, {rest:?}: the line \"diff --git\" does not tell"
                ));
            }
            None => name,
        },
    };
    let mut names = [None, None];
    names[at] = Some(told.to_owned());
    Ok(names)
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

/// Returns the name that a text consists of, which may be in quotes; `None` if these can't be read.
pub(super) fn whole(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\r');
    if !text.starts_with('"') {
        return Some(text.to_owned());
    }
    let (name, more) = quoted(text)?;
    more.is_empty().then_some(name)
}

/// Returns a name in quotes and what follows it; `None` if the quotes are wrong or the name is not
/// UTF-8.
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
