//! Leaves stack frames in libraries out of backtraces of Rust, Python and JavaScript. The error
//! message and the frames in the project stay.

/// Minimum number of frames in libraries that are left out of a text.
const MIN_FRAMES: usize = 3;

/// Parts of a stack frame that show that its code is in a library.
const LIBRARIES: [&str; 10] = [
    "/rustc/",
    "/.cargo/registry/",
    "/rustlib/",
    "/site-packages/",
    "/lib/python",
    "<frozen ",
    "/node_modules/",
    "(node:",
    "at node:",
    "/usr/lib/",
];

/// Beginnings of the names of functions in libraries, for frames without a file.
const LIBRARY_NAMES: [&str; 7] = [
    "std::",
    "core::",
    "__rust",
    "rust_begin",
    "_start",
    "__libc",
    "clone",
];

/// Returns a text with a count in place of frames in libraries; `None` if it has too few of them.
pub(crate) fn own_frames(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let (mut all, mut run) = (0, 0);
    while at < lines.len() {
        let frame = frame(&lines[at..]);
        if let Some((count, true)) = frame {
            run += 1;
            at += count;
            continue;
        }
        push_count(&mut out, &mut run, &mut all);
        let count = frame.map_or(1, |(count, _)| count);
        out.extend(lines[at..at + count].iter().copied());
        at += count;
    }
    push_count(&mut out, &mut run, &mut all);
    (all >= MIN_FRAMES).then_some(out)
}

fn push_count(out: &mut String, run: &mut usize, all: &mut usize) {
    if *run > 0 {
        let noun = if *run == 1 { "frame" } else { "frames" };
        out.push_str(&format!("  … {run} {noun} of libraries\n"));
        *all += *run;
        *run = 0;
    }
}

/// If `lines` begin with a stack frame, returns the number of its lines, and whether it is in a
/// library.
fn frame(lines: &[&str]) -> Option<(usize, bool)> {
    let line = lines[0].trim_end();
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let deeper = |line: &&str| {
        let text = line.trim_start();
        !text.is_empty() && line.len() - text.len() > indent
    };
    let in_library = |text: &str| LIBRARIES.iter().any(|library| text.contains(library));
    if indent > 0 && text.starts_with("File \"") && text.contains("\", line ") {
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
    if indent == 0 || number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match lines
        .get(1)
        .map(|next| next.trim())
        .filter(|next| next.starts_with("at "))
    {
        Some(place) => Some((2, in_library(place))),
        None => Some((
            1,
            LIBRARY_NAMES
                .iter()
                .any(|library| name.starts_with(library)),
        )),
    }
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
            "at last\n at noon\n",
            "",
        ] {
            assert_eq!(own_frames(text), None, "{text}");
        }
    }
}
