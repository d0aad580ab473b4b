use super::placed_literally;

/// The text before the match on its line, the old text, the new text, and the text that is written;
/// `None` if the edit is refused.
const PLACED: &[(&str, &str, &str, Option<&str>)] = &[
    // The match begins its line, or the new text has only one line.
    ("", "a()", "b()\nc()", Some("b()\nc()")),
    ("    ", "a()", "b()", Some("b()")),
    // The further lines have the file's indentation, or that of the first line.
    ("    ", "a()", "a()\n    b()", Some("a()\n    b()")),
    ("    ", "a()", "if x:\n    a()", Some("if x:\n        a()")),
    ("    ", "a()", "if x:\n  a()", None),
    (
        "        ",
        "a()",
        "if x:\n    a()\nb()",
        Some("if x:\n            a()\n        b()"),
    ),
    // The depth of the further lines can't be told.
    ("    ", "a()", "a()\nb()", None),
    ("    ", "a()", "if x:\na()", None),
    ("    ", "a()", "return 1\n\n\ndef b():\n    pass", None),
    ("    ", "a()", "\na()", None),
    ("    ", "a()", "  b()", None),
    ("    x = ", "a()", "a()\nb()", None),
    ("    x = ", "a()", "a()\n    b()", Some("a()\n    b()")),
    // The first line has the file's indentation already.
    ("    ", "a()", "    b()", Some("b()")),
    ("    ", "a()", "    b()\n    c()", Some("b()\n    c()")),
    (
        "    ",
        "a:\n        b()",
        "    c:\n        d()",
        Some("c:\n        d()"),
    ),
    ("    ", "a:\n        b()", "c:\n        d()\ne()", None),
    ("    ", "a:\n        b()", "    a:\n            c()", None),
    (
        "    ",
        "a()\n",
        "    b()\n    c()\n",
        Some("b()\n    c()\n"),
    ),
    // An added line must be as deep as the first line is in the file, or as a line beside it.
    ("    ", "a()\nx()", "a()\nb()\nx()", None),
    (
        "        ",
        "a()\n        c()",
        "a()\nb()\n        c()",
        None,
    ),
    ("  ", "  a()\nx()", "  a()\n  b()\nx()", None),
    ("    ", "a()\nx()", "a()\ny()", Some("a()\ny()")),
    (
        "    ",
        "a()\nx()",
        "a()\n    b()\nx()",
        Some("a()\n    b()\nx()"),
    ),
    (
        "    ",
        "a()\n    c()\nx()",
        "a()\n    c()\nb()\nx()",
        Some("a()\n    c()\nb()\nx()"),
    ),
    (
        "    ",
        "a()\n\ndef g():",
        "a()\n\ndef h():\n    pass\n\ndef g():",
        Some("a()\n\ndef h():\n    pass\n\ndef g():"),
    ),
    // The block that the first line opens ends at the depth that the first line has in the file.
    (
        "    ",
        "g(a)",
        "g(a, {\n        b: 1,\n    })",
        Some("g(a, {\n        b: 1,\n    })"),
    ),
    (
        "    ",
        "return x",
        "if x:\n        return 1\n    return x",
        Some("if x:\n        return 1\n    return x"),
    ),
    ("    ", "a()", "if x:\n        b()\nc()", None),
    // The edit changes only the indentation.
    ("    ", "a()", "    a()", Some("    a()")),
    (
        "    ",
        "a:\n        b()",
        "    a:\n            b()",
        Some("    a:\n            b()"),
    ),
];

#[test]
fn a_text_behind_its_indentation_is_placed_or_refused() {
    for (before, old, new, expected) in PLACED {
        let placed = placed_literally(before, old, new, || Some("    ".to_owned()));
        assert_eq!(placed.ok().as_deref(), *expected, "{old:?} {new:?}");
    }
}
