//! Checks a program's arguments word by word, as `getopt_long` parses them. Anything that its
//! [`Grammar`] does not list is rejected. The grammars are in `programs`.

/// The arguments with which a program does nothing but print.
///
/// Options are written as manual pages have them: `-n` and `--lines` take no value, `-n=number` and
/// `--lines=number` take one, `-U[=number]` takes one only if it is attached, and `-NUMBER` stands
/// for options such as `-20`. Names of options must be complete: an abbreviation may stand for
/// another option.
///
/// Values and operands are of these kinds; in `a|b`, each of the words is one of the values.
///
/// | Kind | |
/// |---|---|
/// | `text` | any text that does not begin with a dash, or is just a dash |
/// | `pattern` | any text |
/// | `number` | a number with a sign and a unit |
/// | `mode` | permissions, such as `-u+x` |
/// | `file` | a path that does not lead out of the workspace |
/// | `script` | a script of sed that only chooses lines |
/// | `format` | a format of git that starts no program |
/// | `key` | a name in such a format, by which git sorts |
pub(super) struct Grammar {
    pub(super) options: Vec<&'static str>,
    /// The kinds of the operands, separated by blanks. The last one may end in `...` to stand for
    /// any number. A leading `pattern` or `script` is dropped if an option has given it.
    pub(super) operands: &'static str,
}

#[derive(Clone, Copy)]
enum Value {
    None,
    Required(&'static str),
    Attached(&'static str),
}

struct Reader<'a> {
    grammar: &'a Grammar,
    left: std::slice::Iter<'a, &'a str>,
    leaves: &'a dyn Fn(&str) -> bool,
    /// True if an option such as `-e` has given the pattern or script that is otherwise the first
    /// operand.
    has_first: bool,
    /// True after the first operand. Some programs then take no more options, so a word that looks
    /// like one may be a file, and must not lead out of the workspace.
    is_behind_operand: bool,
}

impl Grammar {
    pub(super) fn accepts(&self, args: &[&str], leaves: &dyn Fn(&str) -> bool) -> bool {
        let mut reader = Reader {
            grammar: self,
            left: args.iter(),
            leaves,
            has_first: false,
            is_behind_operand: false,
        };
        let mut operands = Vec::new();
        while let Some(&arg) = reader.left.next() {
            reader.is_behind_operand = !operands.is_empty();
            if arg == "--" {
                operands.extend(reader.left.by_ref());
            } else if arg.len() > 1 && arg.starts_with('-') {
                if reader.word(arg).is_none() {
                    return false;
                }
            } else {
                operands.push(arg);
            }
        }
        reader.are_operands(&operands)
    }

    /// Returns true if the grammar covers an expression of `find`. Its options come after the
    /// paths, have names of several letters, and take a value from the next word only.
    pub(super) fn accepts_expression(&self, args: &[&str], leaves: &dyn Fn(&str) -> bool) -> bool {
        let is_path = |arg: &&&str| !arg.starts_with('-') && !["(", ")", "!", ","].contains(*arg);
        let paths = args.iter().take_while(is_path).count();
        let mut reader = Reader {
            grammar: self,
            left: args[paths..].iter(),
            leaves,
            has_first: false,
            is_behind_operand: false,
        };
        while let Some(&arg) = reader.left.next() {
            let taken = match self.option(arg) {
                Some(Value::Required(kind)) => reader.next_word(kind),
                Some(_) => Some(()),
                None => ["(", ")", "!"].contains(&arg).then_some(()),
            };
            if taken.is_none() {
                return false;
            }
        }
        reader.are_operands(&args[..paths])
    }

    fn option(&self, name: &str) -> Option<Value> {
        self.options.iter().find_map(|entry| {
            let rest = entry.strip_prefix(name)?;
            let attached = rest.strip_prefix("[=").and_then(|r| r.strip_suffix(']'));
            match (rest.strip_prefix('='), attached) {
                _ if rest.is_empty() => Some(Value::None),
                (Some(kind), _) => Some(Value::Required(kind)),
                (None, kind) => kind.map(Value::Attached),
            }
        })
    }
}

impl Reader<'_> {
    fn word(&mut self, arg: &str) -> Option<()> {
        if self.is_behind_operand && (self.leaves)(arg) {
            return None;
        }
        match arg.strip_prefix('-') {
            Some(letters) if !letters.starts_with('-') => self.cluster(letters),
            _ => self.long(arg),
        }
    }

    fn long(&mut self, arg: &str) -> Option<()> {
        let (name, attached) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg, None),
        };
        match (self.grammar.option(name)?, attached) {
            (Value::None | Value::Attached(_), None) => Some(()),
            (Value::Required(kind) | Value::Attached(kind), Some(value)) => self.value(kind, value),
            (Value::Required(kind), None) => self.next_word(kind),
            (Value::None, Some(_)) => None,
        }
    }

    fn cluster(&mut self, letters: &str) -> Option<()> {
        if letters.bytes().all(|b| b.is_ascii_digit()) && self.grammar.option("-NUMBER").is_some() {
            return Some(());
        }
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match self.grammar.option(&format!("-{letter}"))? {
                Value::None => {}
                Value::Required(kind) if rest.is_empty() => return self.next_word(kind),
                Value::Attached(_) if rest.is_empty() => {}
                Value::Required(kind) | Value::Attached(kind) => return self.value(kind, rest),
            }
        }
        Some(())
    }

    fn next_word(&mut self, kind: &'static str) -> Option<()> {
        let value = self.left.next()?;
        let leaves = self.is_behind_operand && (self.leaves)(value);
        self.value(kind, value).filter(|()| !leaves)
    }

    fn value(&mut self, kind: &str, value: &str) -> Option<()> {
        self.has_first |= matches!(kind, "pattern" | "script");
        self.is_of(kind, value).then_some(())
    }

    fn are_operands(&self, operands: &[&str]) -> bool {
        let mut kinds = self.grammar.operands.split_whitespace();
        if self.has_first {
            kinds.next();
        }
        let mut kind = kinds.next();
        operands.iter().all(|operand| {
            let Some(now) = kind else { return false };
            let repeated = now.strip_suffix("...");
            if repeated.is_none() {
                kind = kinds.next();
            }
            self.is_of(repeated.unwrap_or(now), operand)
        })
    }

    fn is_of(&self, kind: &str, text: &str) -> bool {
        match kind {
            "pattern" => true,
            "text" => text == "-" || !text.starts_with('-'),
            "number" => is_number(text),
            "mode" => text
                .bytes()
                .all(|b| b"01234567ugoarwxXst=+-/,".contains(&b)),
            // Old versions of some programs take a word such as `+5` for an option.
            "file" => !text.starts_with('+') && !(self.leaves)(text),
            "script" => only_chooses_lines(text),
            "format" => is_plain_format(text),
            "key" => {
                let key = text.trim_start_matches('-').trim_start_matches("version:");
                is_plain_format(&format!("%({})", key.trim_start_matches("v:")))
            }
            words => words.split('|').any(|word| word == text),
        }
    }
}

/// Returns true for a number that may have a sign, a fraction and a unit: `-3`, `+10k`, `1.5`,
/// `90%`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match digits.split_once('.') {
        Some((whole, fraction)) => is_whole(whole) && is_whole(fraction),
        None => is_whole(digits),
    }
}

/// Returns true if a script of sed only has the commands `p`, `d`, `q` and `=`, each with at most
/// two addresses: `1,20p`, `/^fn/,/^}/p`, `$!d`. Other commands can write files or run programs.
fn only_chooses_lines(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(' ');
        if let Some(behind) = behind_address(rest) {
            rest = behind.trim_start_matches(' ');
            if let Some(second) = rest.strip_prefix(',') {
                let second = second.trim_start_matches(' ');
                let second = second.strip_prefix(['+', '~']).unwrap_or(second);
                let Some(behind) = behind_address(second) else {
                    return false;
                };
                rest = behind.trim_start_matches(' ');
            }
            rest = rest.strip_prefix('!').unwrap_or(rest);
        }
        let Some(behind) = rest.strip_prefix(['p', 'd', 'q', '=']) else {
            return false;
        };
        rest = behind.trim_start_matches(' ');
        match rest.strip_prefix([';', '\n']) {
            _ if rest.is_empty() => return true,
            Some(next) if next.trim_matches([' ', ';']).is_empty() => return true,
            Some(next) => rest = next,
            None => return false,
        }
    }
}

/// Returns what follows an address of sed: a number, `1~2`, `$`, or a regular expression. An
/// expression is accepted only if all implementations agree on where it ends.
fn behind_address(script: &str) -> Option<&str> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = script.strip_prefix('/') {
        let (expression, rest) = rest.split_once('/')?;
        return (!expression.contains(['\\', '[', '\n'])).then_some(rest);
    }
    let behind_digits = |text: &'_ str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let first = behind_digits(script);
    let rest = &script[first..];
    let rest = match rest.strip_prefix('~') {
        Some(step) => &step[behind_digits(step)..],
        None => rest,
    };
    (first > 0).then_some(rest)
}

/// Returns true for a format of git with which git starts no program. `%G?` and `%(signature)` make
/// it run gpg, and `%(describe)` another git.
fn is_plain_format(format: &str) -> bool {
    const NAMES: &str = "\
        HEAD author authordate authoremail authorname body committer committerdate committeremail \
        committername contents creator creatordate decorate objectname objectsize objecttype refname \
        subject taggerdate trailers upstream";
    format.split('%').skip(1).all(|placeholder| {
        let placeholder = placeholder.trim_start_matches(['+', '-', ' ']);
        match placeholder.strip_prefix('(') {
            Some(name) => {
                let end = name.find([':', ')']).unwrap_or(name.len());
                NAMES.split(' ').any(|known| known == &name[..end])
            }
            None => !placeholder.starts_with(['G', '*']),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_only_choose_lines() {
        for script in [
            "3p",
            "1,20p",
            "$p",
            "$!d",
            "5q",
            "1,5d",
            "/a/p",
            "/a/,/b/p",
            "/a/,+3p",
            "1~2p",
            "=",
            "1,20p;21q",
            " 1 , 2 p ; 3 p ;",
            "2,$p",
            "/a;w x/p",
            "/w f/!d",
            "p\n5q",
        ] {
            assert!(only_chooses_lines(script), "{script}");
        }
        for script in [
            "",
            "3",
            "3w f",
            "3pw f",
            "1e id",
            "e",
            "s/a/b/",
            "s/a/b/w f",
            "r f",
            "R f",
            "W f",
            "/[/]/w f/p",
            "/a\\/w f/p",
            "\\,a,p",
            "/a\n/p",
            "/a/",
            "/a/I p",
            "3,p",
            "p p",
            "3p}",
            "{p}",
            "3{p}",
            "p;w f",
            "p\nw f",
            "q5",
            "y/a/b/",
            "a x",
            "i\\",
            "c x",
            ":a",
            "ba",
            "F",
            "l 3",
            "n",
            "D",
            "0~3e id",
            "3,5,7p",
            "p#x",
            "#n",
            "v",
            "$$p",
            "+3p",
        ] {
            assert!(!only_chooses_lines(script), "{script}");
        }
    }

    #[test]
    fn formats_of_git_start_no_program() {
        for format in [
            "oneline",
            "format:%h %an %ad %s",
            "%H%n%+b",
            "%(refname:short) %(HEAD)",
        ] {
            assert!(is_plain_format(format), "{format}");
        }
        for format in [
            "%G?",
            "%h %GS",
            "%+GK",
            "%- G?",
            "%(signature)",
            "%(describe)",
            "%(x",
            "%%G",
        ] {
            assert!(!is_plain_format(format), "{format}");
        }
    }

    #[test]
    fn numbers_have_signs_and_units() {
        for number in ["3", "-3", "+10k", "1.5", "90%", "10MiB"] {
            assert!(is_number(number), "{number}");
        }
        for number in ["", "-", "k", "1.", ".5", "3f x", "--3", "1,2", "-e", "3-4"] {
            assert!(!is_number(number), "{number}");
        }
    }
}
