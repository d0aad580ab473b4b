//! Words of bash and what is left of them when quotes are removed.

/// One word of a command.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one word that hold in any combination"
)]
pub(super) struct Word {
    /// The text without quotes; `None` where it can't be known before the line runs.
    pub(super) value: Option<String>,
    /// The known beginning, without quotes: all of it where that is known.
    pub(super) known: String,
    /// The same, where the variables and commands that it begins with are empty: `-I` of `$x-I`.
    pub(super) if_empty: String,
    /// The text as it is printed.
    pub(super) text: String,
    /// The text as it is written.
    pub(super) written: String,
    /// Whether any of it is quoted.
    pub(super) is_quoted: bool,
    /// Whether it is a number, whatever the line does.
    pub(super) is_number: bool,
    /// Whether bash makes exactly one word of it.
    pub(super) is_single: bool,
    /// Whether bash makes other words of it, by a pattern or by a list in braces.
    pub(super) is_expanded: bool,
}

/// Whether a name is in a list of names with blanks between them.
pub(super) fn is_among(name: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// The escapes of `$'…'`.
pub(super) fn ansi_c(text: &str) -> Option<String> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        let mut number = |radix: u32, most: usize, first: &str| -> Option<u32> {
            let digits = rest
                .chars()
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .count();
            let value = u32::from_str_radix(&format!("{first}{}", &rest[..digits]), radix).ok();
            rest = &rest[digits..];
            value
        };
        match c {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(0x1b),
            'f' => out.push(0xc),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(0xb),
            'x' => out.push(u8::try_from(number(16, 2, "")? & 0xff).ok()?),
            '0'..='7' => out.push(u8::try_from(number(8, 2, &c.to_string())? & 0xff).ok()?),
            'u' | 'U' => {
                let most = if c == 'u' { 4 } else { 8 };
                let c = char::from_u32(number(16, most, "")?)?;
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
            'c' => return None,
            other => out.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
        // Bash ends the text there.
        if out.last() == Some(&0) {
            out.pop();
            break;
        }
    }
    String::from_utf8(out).ok()
}
