//! Tests that each language can be parsed and has an outline.

use crate::{Language, new_errors, outline};

/// For each language: a file's name, its text, the text's outline, and a piece without which the
/// text does not parse.
const TEXTS: [(&str, &str, &str, &str); 19] = [
    (
        "a.rs",
        "struct A;\n\nfn f() {\n    g(1);\n}\n",
        "struct A, function f",
        ")",
    ),
    (
        "a.py",
        "class A:\n    def f(self):\n        return (1)\n",
        "class A, function f",
        ")",
    ),
    (
        "a.js",
        "class A {\n  f() {\n    g(1);\n  }\n}\n",
        "class A, method f",
        ")",
    ),
    (
        "a.ts",
        "interface A { x: number }\nfunction f(a: A) {}\n",
        "interface A, function f",
        ")",
    ),
    (
        "a.tsx",
        "type P = {};\nfunction f(p: P) {\n  return <p>{p}</p>;\n}\n",
        "type P, function f",
        ")",
    ),
    (
        "a.go",
        "package a\n\ntype A struct{}\n\nfunc f() {}\n",
        "type A, function f",
        ")",
    ),
    (
        "a.c",
        "struct a { int x; };\n\nint f(void)\n{\n\treturn (1);\n}\n",
        "struct a, function f",
        ")",
    ),
    (
        "a.cc",
        "namespace n {\nclass A {};\n}\nint f() { return (1); }\n",
        "namespace n, class A, function f",
        ")",
    ),
    (
        "a.java",
        "class A {\n  void f() {\n    g(1);\n  }\n}\n",
        "class A, method f",
        ")",
    ),
    (
        "a.cs",
        "class A {\n  void F() {\n    G(1);\n  }\n}\n",
        "class A, method F",
        ")",
    ),
    (
        "a.rb",
        "class A\n  def f\n    g(1)\n  end\nend\n",
        "class A, method f",
        ")",
    ),
    (
        "a.php",
        "<?php\nclass A {\n  function f() { g(1); }\n}\n",
        "class A, function f",
        ")",
    ),
    (
        "a.sh",
        "f() {\n  if true; then\n    echo 1\n  fi\n}\n",
        "function f",
        "fi",
    ),
    ("a.json", "{\n  \"a\": {\"b\": 1}\n}\n", "key a", "}"),
    ("a.yaml", "a: [b]\nc: 1\n", "key a, key c", "]"),
    (
        "a.toml",
        "[a]\nb = [1]\n\n[[c]]\nd = 1\n",
        "table a, table c",
        "]",
    ),
    (
        "a.html",
        "<div id=\"a\"><p class=\"b\">x</p></div>\n",
        "id a",
        ">",
    ),
    ("a.css", "a {\n  color: red;\n}\n", "rule a", "}"),
    ("a.h", "int f(void);\n", "function f", ")"),
];

#[test]
fn every_language_has_an_outline_and_names_what_breaks_it() {
    for (name, text, symbols, needed) in TEXTS {
        let language = Language::of_name(name).expect(name);
        let found = outline(text, language).expect(name);
        let found: Vec<_> = found
            .iter()
            .map(|symbol| format!("{} {}", symbol.kind, symbol.name))
            .collect();
        assert_eq!(found.join(", "), symbols, "{name}");
        assert_eq!(new_errors(text, text, language), [], "{name}");
        let broken = text.replacen(needed, "", 1);
        assert!(
            !new_errors(text, &broken, language).is_empty(),
            "{name}: {broken}"
        );
    }
    let known: std::collections::HashSet<_> =
        TEXTS.iter().map(|text| Language::of_name(text.0)).collect();
    assert_eq!(
        known.len(),
        Language::ALL.len(),
        "a language without a text"
    );
}

/// For each language: definitions that its own query misses or takes for something else.
const KINDS: [(&str, &str, &str); 12] = [
    (
        "a.rs",
        "type A = u8;\nmod m {\n fn f() {}\n}\nimpl<T> S<T> {\n fn g() {}\n}\nimpl a::Tr<u8> for S<u8> {}\ntrait Q { fn h(); }\n",
        "type A, module m, function f, impl S<T>, method g, impl a::Tr<u8> for S<u8>, trait Q, function h",
    ),
    (
        "a.js",
        "class A {\n constructor() {}\n}\na.f = function f() {};\nvar g = function g() {};\n",
        "class A, method constructor, function f, function g",
    ),
    (
        "a.ts",
        "class A {\n constructor(a: B) {}\n m() {}\n}\nabstract class C {}\n",
        "class A, method constructor, method m, class C",
    ),
    (
        "a.tsx",
        "class A { constructor(a: B) {} }\nexport enum E {}\n",
        "class A, method constructor, enum E",
    ),
    (
        "a.go",
        "package a\nconst A, B = 1, 2\nconst (\n C = 1\n)\nvar V = 1\nvar (\n W, X int\n)\nfunc f() {\n const d = 1\n var e int\n}\n",
        "const A, const B, const C, var V, var W, var X, function f",
    ),
    (
        "a.c",
        "#define F(x) x\n#define G\nunion u { int a; };\nstruct s { int a; } v;\ntypedef int (*fp)(int);\nint a, b;\n",
        "macro F, union u, struct s, type fp",
    ),
    (
        "a.cc",
        "#define F(x) x\nunion u { int a; };\ntemplate <> struct S<int> {};\nusing T = int;\nenum class E { A };\n",
        "macro F, union u, struct S<int>, type T, enum E",
    ),
    ("a.java", "@interface A { String b(); }\n", "annotation A"),
    (
        "a.cs",
        "namespace A.B {\n delegate void D();\n}\n",
        "module A.B, delegate D",
    ),
    (
        "a.php",
        "<?php\nenum E: string { case A = 'a'; function m() {} }\n",
        "enum E, function m",
    ),
    ("a.py", "A = 1\n", "constant A"),
    ("a.rb", "class A::B\nend\n", "class B"),
];

#[test]
fn kinds_of_definitions_are_those_of_the_language() {
    for (name, text, symbols) in KINDS {
        let found = outline(text, Language::of_name(name).expect(name)).expect(name);
        let kinds = found.iter().map(|one| format!("{} {}", one.kind, one.name));
        assert_eq!(kinds.collect::<Vec<_>>().join(", "), symbols, "{name}");
    }
}

#[test]
fn symbols_of_one_line_lie_within_each_other_only_if_they_do() {
    let text =
        "class A { a() {} b() { function c() {} } }\nint(1); function d() {} function e() {}\n";
    let found = outline(text, Language::JavaScript).expect("parsed");
    let depths: Vec<_> = found
        .iter()
        .map(|one| (one.name.as_str(), one.depth))
        .collect();
    assert_eq!(
        depths,
        [("A", 0), ("a", 1), ("b", 1), ("c", 2), ("d", 0), ("e", 0)]
    );
}

#[test]
fn python_is_broken_by_indentation_that_the_grammar_takes() {
    let text = "def f():\n    a = 1\n    b = 2\n    return a\n";
    let breaks = |new: &str| {
        new_errors(text, new, Language::Python)
            .iter()
            .map(|e| e.line)
            .collect::<Vec<_>>()
    };
    assert_eq!(breaks(&text.replace("    b", "      b")), [3]);
    assert_eq!(
        breaks(&text.replace("    b = 2\n", "    if a:\n    b = 2\n")),
        [3]
    );
    assert_eq!(
        breaks(&text.replace("    b = 2\n", "    if a:\n        b = 2\n")),
        []
    );
}

#[test]
fn bash_is_broken_by_a_word_that_the_grammar_takes_for_a_program() {
    let text = "f() {\n  if a; then\n    for x in fi done; do b; done\n  else\n    c\n  fi\n                  case $x in y) d ;; esac\n}\n";
    let breaks = |new: &str| !new_errors(text, new, Language::Bash).is_empty();
    for removed in [
        "if a; then\n",
        "for x in fi done; do ",
        "case $x in y) d ;; ",
        "f() {\n",
    ] {
        assert!(breaks(&text.replacen(removed, "", 1)), "{removed}");
    }
    for more in ["fi\n", "done\n", "}\n", "esac\n"] {
        assert!(breaks(&format!("{text}{more}")), "{more}");
    }
    assert!(!breaks(&text.replace("    c\n", "    echo fi done\n")));
}

#[test]
fn both_kinds_of_quotes_of_c_are_in_pairs() {
    let text = "void f(void) {\n    a = L\"x\";\n    b = 'y';\n    c = L'z';\n}\n";
    let breaks = |old: &str, new: &str| {
        !new_errors(text, &text.replacen(old, new, 1), Language::C).is_empty()
    };
    assert!(breaks("x\"", "x"));
    assert!(breaks("y'", "y"));
    assert!(breaks("x\";\n    b = 'y'", "x;\n    b = 'y"), "one of each");
    assert!(!breaks("'y'", "\"y\""));
}

#[test]
fn a_pair_broken_up_in_what_never_parsed_is_named_if_the_change_is_one() {
    // The macro hides the end of the statement before, so neither text parses.
    let text = "BEGIN(x) BEGIN(y\n)\nint f(void) {\n  #pragma a\n  g(1 2);\n  h(3);\n}\n";
    let lines = |new: &str| -> Vec<usize> {
        let errors = new_errors(text, new, Language::C);
        errors.iter().map(|error| error.line).collect()
    };
    assert_eq!(lines(&text.replace("g(1 2)", "g(1 2")), [5]);
    assert_eq!(lines(&text.replace("g(1 2)", "g(2 1)")), []);
    let two = text
        .replace("g(1 2)", "g(1 2")
        .replace("BEGIN(x)", "BEGIN(z)");
    assert_eq!(lines(&two), [], "either change may be to blame");
    let branch = "  #if A\n  g(1 {\n  #endif\n";
    assert_eq!(lines(&text.replace("  h(3);\n", branch)), []);
}

#[test]
fn what_can_t_be_judged_has_no_errors() {
    let text = "fn f() {}\n".repeat(200);
    let judged = |old: &str| new_errors(old, &format!("{old}fn (\n"), Language::Rust).len();
    assert_eq!(judged(&text), 1);
    assert_eq!(judged(&format!("// @generated\n{text}")), 0);
    assert_eq!(judged(&text.repeat(3).replace('\n', " ")), 0, "minified");
    assert_eq!(
        judged(&format!("fn {{\n{text}")),
        1,
        "an error elsewhere does not count"
    );
    assert_eq!(judged(&text.repeat(600)), 0, "too large");
}

#[test]
fn what_takes_the_parser_too_long_has_no_errors() {
    let text = |n| format!("fn a() {{}}\n{}", "fn f() { g(1); }\n".repeat(n));
    let broken = |text: &str| text.replace("fn a() {}", "fn a() {") + "fn (\n";
    let errors = |text: &str| new_errors(text, &broken(text), Language::Rust).len();
    assert!(errors(&text(10)) > 0);
    assert_eq!(errors(&text(60_000)), 0);
}

#[test]
fn a_here_document_that_its_grammar_can_t_keep_is_not_parsed() {
    let long = "A".repeat(256);
    let quoted = format!("x = <<\"{}\n{long}\"\n", "b ".repeat(40));
    let rest = "def f\n  y.map { |z| z }\nend\n".repeat(4);
    for begin in [format!("x = <<~{long}\ntext\n{long}\n"), quoted] {
        assert_eq!(outline(&(begin + &rest), Language::Ruby), None);
    }
    let short = format!("x = <<A\n{long}\nA\n{rest}");
    assert_eq!(
        outline(&short, Language::Ruby).map(|all| all.len()),
        Some(4)
    );
}
