//! Leaves stack frames in libraries out of backtraces of Rust, Python and JavaScript. The error
//! message and the frames in the project stay.

const MIN_FRAMES: usize = 3;

/// Parts of a stack frame that show that its code is in a library. `LIBRARY_NAMES` has names of
/// crates and functions, for frames that name no file.
const LIBRARIES: [&str; 13] = [
    "/rustc/",
    "/.cargo/registry/",
    "/rustlib/",
    "/site-packages/",
    "/lib/python2.",
    "/lib/python3.",
    "\"/usr/lib/",
    "<frozen ",
    "/node_modules/",
    "(node:",
    "at node:",
    "(/usr/lib/",
    "at /usr/lib/",
];

const LIBRARY_NAMES: [&str; 9] = [
    "std",
    "core",
    "__rustc",
    "rust_begin_unwind",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "clone",
    "clone3",
];

/// Returns a text with a count in place of frames in libraries; `None` if it has too few of them.
/// If no frame of the project stands before or behind them, they stay, since nothing else tells
/// where the error is.
pub(crate) fn own_frames(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut out, mut all, mut at) = (String::with_capacity(text.len()), 0, 0);
    let (mut is_numbered, mut own_before) = (false, false);
    while at < lines.len() {
        let (from, mut count) = (at, 0);
        while let Some((length, true)) = frame(&lines[at..], is_numbered) {
            at += length;
            count += 1;
        }
        let next = frame(&lines[at..], is_numbered);
        if count > 0 && (own_before || next.is_some()) {
            let noun = if count == 1 { "frame" } else { "frames" };
            out.push_str(&format!("  … {count} {noun} of libraries\n"));
            all += count;
        } else {
            out.extend(lines[from..at].iter().copied());
        }
        own_before = next.is_some();
        let end = lines.len().min(at + next.map_or(1, |(length, _)| length));
        is_numbered = match lines.get(at) {
            Some(line) if next.is_none() => line.trim() == "stack backtrace:",
            _ => is_numbered,
        };
        out.extend(lines[at..end].iter().copied());
        at = end;
    }
    (all >= MIN_FRAMES).then_some(out)
}

/// If `lines` begin with a stack frame, returns the number of its lines, and whether it is in a
/// library. Numbered lines are frames only where `is_numbered`, below `stack backtrace:`.
fn frame(lines: &[&str], is_numbered: bool) -> Option<(usize, bool)> {
    let line = lines.first()?.trim_end();
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let deeper = |line: &&str| {
        let text = line.trim_start();
        !text.is_empty() && line.len() - text.len() > indent
    };
    let in_library = |text: &str| LIBRARIES.iter().any(|library| text.contains(library));
    // Python also shows the place of a syntax error in this form, but without a function. It is not
    // a frame, and must stay, because it is what has to be mended.
    let is_call = |text: &str| text.contains("\", line ") && text.contains(", in ");
    if indent > 0 && text.starts_with("File \"") && is_call(text) {
        let source = lines[1..].iter().take(3).take_while(|line| deeper(line));
        return Some((1 + source.count(), in_library(text)));
    }
    if indent > 0
        && text.starts_with("at ")
        && text.ends_with([')', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    {
        return Some((1, in_library(text)));
    }
    let (number, name) = text.split_once(": ")?;
    if !is_numbered || number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let place = lines.get(1).map(|next| next.trim());
    if let Some(place) = place.filter(|next| next.starts_with("at ")) {
        return Some((2, in_library(place)));
    }
    let first = name.split("::").next();
    Some((1, first.is_some_and(|first| LIBRARY_NAMES.contains(&first))))
}

#[cfg(test)]
mod tests {
    use super::own_frames;

    #[test]
    fn the_message_and_the_frames_of_the_project_stay() {
        let rust = "thread 'main' panicked at src/main.rs:4:9:\nno entry\nstack backtrace:\n\
                    \x20  0: __rustc::rust_begin_unwind\n             at /rustc/59807/library/std/src/panicking.rs:689:5\n\
                    \x20  1: core::panicking::panic_fmt\n             at /rustc/59807/library/core/src/panicking.rs:80:14\n\
                    \x20  2: app::look_up\n             at ./src/main.rs:4:9\n\
                    \x20  3: serde::de::call\n             at /home/a/.cargo/registry/src/x/serde-1/src/de.rs:7:1\n\
                    \x20  4: app::main\n             at ./src/main.rs:9:5\n\
                    note: Some details are omitted.\n";
        let short = own_frames(rust).expect("frames");
        assert_eq!(
            short,
            "thread 'main' panicked at src/main.rs:4:9:\nno entry\nstack backtrace:\n  … 2 frames of libraries\n\
             \x20  2: app::look_up\n             at ./src/main.rs:4:9\n  … 1 frame of libraries\n\
             \x20  4: app::main\n             at ./src/main.rs:9:5\nnote: Some details are omitted.\n"
        );
        let python = "Traceback (most recent call last):\n  File \"/srv/app/run.py\", line 3, in <module>\n    load(1)\n\
                      \x20 File \"/usr/lib/python3.11/json/a.py\", line 1, in loads\n    return x\n           ^\n\
                      \x20 File \"/srv/venv/lib/python3.11/site-packages/b.py\", line 2, in b\n    c()\n\
                      \x20 File \"<frozen importlib>\", line 9, in _call\nValueError: bad\n";
        assert_eq!(
            own_frames(python).expect("frames"),
            "Traceback (most recent call last):\n  File \"/srv/app/run.py\", line 3, in <module>\n    load(1)\n\
             \x20 … 3 frames of libraries\nValueError: bad\n"
        );
        let node = "TypeError: x is not a function\n    at load (/srv/app/i.js:3:1)\n    at /srv/app/node_modules/m/i.js:9:2\n\
                    \x20   at Module._compile (node:internal/modules/cjs/loader:1:2)\n    at node:internal/main:3:4\n";
        assert_eq!(
            own_frames(node).expect("frames"),
            "TypeError: x is not a function\n    at load (/srv/app/i.js:3:1)\n  … 3 frames of libraries\n"
        );
    }

    #[test]
    fn what_is_no_backtrace_stays() {
        for text in [
            "  1: one\n  2: two\n  3: three\n  4: main road\n",
            "Plan:\n  1: clone the repository\n  2: clone the fork\n  3: clone once more\n",
            "stack backtrace:\n  1: app::main\n  2: clone_all::one\n  3: stdin::two\n  4: cored\n",
            "  File \"/usr/lib/python3/a.py\", line 1, in a\n    b()\n  File \"/usr/lib/python3/b.py\", line 1, in b\n\
             \x20   c()\n  File \"/usr/lib/python3/c.py\", line 1, in c\n    d()\nKeyError: 1\n",
            "  File \"app.py\", line 1, in a\n    b()\n  File \"/usr/lib/python3/b.py\", line 1\n    def f(:\n          ^\n\
             SyntaxError: bad\n",
            "  File \"/srv/lib/python/a.py\", line 1, in a\n    b()\n  File \"/srv/lib/python/b.py\", line 1, in b\n\
             \x20   c()\n  File \"/srv/usr/lib/c.py\", line 1, in c\n    d()\n  File \"/srv/d.py\", line 1, in d\n\
             \x20   e()\nKeyError: 1\n",
            "at last\n at noon\n",
            "",
        ] {
            assert_eq!(own_frames(text), None, "{text}");
        }
    }
}
