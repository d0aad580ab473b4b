//! Groups lines that begin with the same path, as `grep -n`, `find` and compilers print them: the
//! path stands once, and the rest of each line below it. No text is lost. A line that reports an
//! error stays as it is, because readers copy and search for its path.

use super::alarm::is_alarm;

const MIN_LINES: usize = 3;

const MIN_BYTES: usize = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathPrefix<'a> {
    /// A file and a colon, such as `src/a.rs:` in `src/a.rs:12: text`.
    File(&'a str),
    /// A directory, such as `src/` in `src/a.rs` or `src/a.rs:12`. After the name of the file, or
    /// the number, nothing else follows in the line.
    Directory(&'a str),
}

/// Returns a text in which the path of several lines stands once, with the rest of the lines below
/// it, or, after a directory, in the same line; `None` if that saves too little.
pub(crate) fn by_path(text: &str) -> Option<String> {
    if text.len() < MIN_BYTES {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let lines: Vec<&str> = text.split('\n').collect();
    for run in lines.chunk_by(|one, next| prefix(one).is_some_and(|it| prefix(next) == Some(it))) {
        let first = prefix(run[0]).filter(|_| run.len() >= MIN_LINES);
        match first {
            Some(PathPrefix::File(path)) => {
                // As with ripgrep's --heading, a blank line ends the lines of a path.
                out.push_str(&format!("{path}\n"));
                for line in run {
                    out.push_str(&format!("{}\n", &line[path.len()..]));
                }
                out.push('\n');
            }
            Some(PathPrefix::Directory(path)) => {
                let names = run.iter().map(|line| &line[path.len()..]);
                out.push_str(&format!(
                    "{path}: {}\n",
                    names.collect::<Vec<_>>().join(" ")
                ));
            }
            None => run
                .iter()
                .for_each(|line| out.push_str(&format!("{line}\n"))),
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    (out.chars().count() < text.chars().count() / 10 * 9).then_some(out)
}

fn prefix(line: &str) -> Option<PathPrefix<'_>> {
    if is_alarm(line) {
        return None;
    }
    let fits = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
    let end = line.find(|c| !fits(c)).unwrap_or(line.len());
    let path = &line[..end];
    let directory = || {
        let at = path.rfind('/').filter(|at| at + 1 < end)?;
        Some(PathPrefix::Directory(&line[..=at]))
    };
    let Some(rest) = line[end..].strip_prefix(':') else {
        return (end == line.len()).then(directory).flatten();
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    match &rest[digits..] {
        _ if digits == 0 || !path.contains(['/', '.']) => None,
        "" => directory(),
        more => more
            .starts_with(':')
            .then_some(PathPrefix::File(&line[..=end])),
    }
}

#[cfg(test)]
mod tests {
    use super::by_path;

    fn spread(text: &str) -> String {
        let (mut out, mut path) = (Vec::new(), String::new());
        for line in text.split('\n') {
            if line.ends_with(".rs:") {
                line.clone_into(&mut path);
            } else if line.is_empty() && !path.is_empty() {
                path.clear();
            } else if let Some((directory, names)) = line.split_once("/: ") {
                out.extend(names.split(' ').map(|name| format!("{directory}/{name}")));
            } else {
                out.push(format!("{path}{line}"));
            }
        }
        out.join("\n")
    }

    #[test]
    fn each_line_can_be_told_from_what_is_made_of_it() {
        let hits = |file: &str, count: usize| -> Vec<String> {
            (0..count)
                .map(|n| format!("crates/long/path/{file}.rs:{n}:    let x = {n};"))
                .collect()
        };
        let names: Vec<String> = (0..40)
            .map(|n| format!("crates/long/path/src/name{n}.c"))
            .collect();
        for lines in [
            [hits("a", 9), hits("b", 30)].concat(),
            [
                hits("a", 20),
                vec!["total 7".into()],
                hits("c", 2),
                hits("d", 20),
            ]
            .concat(),
            [names.clone(), vec!["warning: x".into()], hits("a", 12)].concat(),
            [
                (0..30)
                    .map(|n| format!("crates/long/path/src/f{n}.rs:{n}"))
                    .collect(),
                vec!["end".into()],
            ]
            .concat(),
            [vec!["head".into()], names, vec!["a b/c d".into()]].concat(),
        ] {
            let text = lines.join("\n");
            let short = by_path(&text).expect("worth it");
            assert_eq!(spread(&short), text, "{short}");
        }
    }

    #[test]
    fn what_has_no_paths_stays() {
        for text in [
            "12:00:01 started\n12:00:02 went on\n12:00:03 ended",
            "a\nb\nc\nd",
            "",
            "x/\ny/\nz/",
        ] {
            assert_eq!(by_path(text), None, "{text}");
        }
    }
}
