use super::{PatternSet, expand_braces, split_list};
use crate::text::tests::Random;

fn name_at(path: &str) -> usize {
    path.rfind('/').map_or(0, |i| i + 1)
}

#[test]
fn patterns_match_as_in_a_shell_with_globstar_and_dotglob() {
    let cases = [
        ("*.c", "a.c", true),
        ("*.c", "d/a.c", false),
        ("**/*.c", "a.c", true),
        ("**/*.c", "d/e/a.c", true),
        ("**/*.c", "d/e/a.cc", false),
        ("d/**/*.c", "d/a.c", true),
        ("d/**/*.c", "d/e/f/a.c", true),
        ("d/**/*.c", "e/d/a.c", false),
        ("d/**", "d/a/b", true),
        ("d/**", "d", false),
        ("**", "a/b", true),
        ("**/d/*.c", "x/d/a.c", true),
        ("**/d/*.c", "x/d/e/a.c", false),
        ("**/a*b/**/c", "x/aab/y/z/c", true),
        ("**/a*b/**/c", "x/aac/y/z/c", false),
        ("a?c", "abc", true),
        ("a?c", "aéc", true),
        ("a?c", "a/c", false),
        ("[!a]*.t", "b1.t", true),
        ("[!a]*.t", "a1.t", false),
        ("[a-c]x", "bx", true),
        ("[]]x", "]x", true),
        ("[[:digit:]]x", "3x", true),
        ("x[y", "x[y", true),
        (r"\*.t", "*.t", true),
        (r"\*.t", "a.t", false),
        ("**/.*", "x/.rc", true),
        ("*a*b", "xaxab", true),
        ("*a*b", "xaxa", false),
        ("./a/*.c", "a/x.c", true),
        ("a/*", "a/b", true),
        ("a/*", "a/b/c", false),
        ("é*", "é1", true),
        ("**/x/**", "a/x/b", true),
        ("a/**/b", "a/b", true),
        ("***", "a", true),
        ("***", "a/b", false),
        ("a/***/b", "a/x/y/b", false),
        ("a**b", "axxb", true),
        ("a**b", "ax/xb", false),
    ];
    for (pattern, path, expected) in cases {
        let set = PatternSet::for_paths([pattern], false).expect("a pattern");
        let got = set.matches(path.as_bytes(), name_at(path));
        assert_eq!(got, expected, "{pattern} {path}");
    }
}

#[test]
fn groups_match_as_in_minimatch() {
    let long = "a".repeat(60);
    let cases = [
        ("@(a|b).txt", "a.txt", true),
        ("@(a|b).txt", "c.txt", false),
        ("!(a).txt", "a.txt", false),
        ("!(a).txt", "ab.txt", true),
        ("!(a|b*).txt", "bc.txt", false),
        ("!(a)*", "abc", false),
        ("!(*.test).ts", "x.test.ts", false),
        ("!(*.test).ts", "x.ts", true),
        ("+(ab).c", "abab.c", true),
        ("+(ab).c", ".c", false),
        ("*(ab).c", ".c", true),
        ("?(x)y", "y", true),
        ("?(x)y", "xxy", false),
        ("**/@(a|b)/*.c", "d/b/x.c", true),
        ("**/@(a|b)/*.c", "d/c/x.c", false),
        ("**/!(d)/*.c", "d/x.c", false),
        ("@(a|+(b|c))d", "bcbd", true),
        ("@(a/b)", "a/b", false),
        ("*()", "a", false),
        ("a+()?()*(*())", "a", true),
        ("a@()!(b)", "ab", false),
        ("a@()!(b)", "ac", true),
        ("{*(),b}", "b", true),
        ("@([)]|x)", ")", true),
        (r"\@(a)", "@(a)", true),
        ("(a)", "(a)", true),
        ("@(a", "@(a", true),
        ("**(a)", "xa", true),
        ("*(**|q)", "ab", true),
        ("*(**|q)", "a/b", false),
        ("d@(**)/c", "de/c", true),
        ("d@(**)/c", "d/e/c", false),
        ("*(*(*(*(a))))!(b)!(c)!(d)!(e)x", long.as_str(), false),
    ];
    for (pattern, path, expected) in cases {
        let set = PatternSet::for_paths([pattern], false).expect("few");
        assert_eq!(
            set.matches(path.as_bytes(), name_at(path)),
            expected,
            "{pattern} {path}"
        );
    }
    let set = PatternSet::for_paths(["@(a|b)/!(c)/*.t"], false).expect("few");
    for (dir, expected) in [("a", true), ("c", false), ("b/d", true), ("b/c", false)] {
        assert_eq!(set.can_match_below(dir.as_bytes()), expected, "{dir}");
    }
    let many = "!(a)".repeat(9);
    assert!(PatternSet::for_paths([many], false).is_err());
}

#[test]
fn case_can_be_ignored_also_beyond_ascii() {
    for (pattern, path) in [
        ("**/readme*", "x/README.md"),
        ("É*", "éa"),
        ("[a-c]x", "BX"),
        ("[[:upper:]]x", "ax"),
    ] {
        let set = PatternSet::for_paths([pattern], true).expect("a pattern");
        assert!(
            set.matches(path.as_bytes(), name_at(path)),
            "{pattern} {path}"
        );
    }
}

#[test]
fn directories_that_cannot_hold_a_match_are_known() {
    let set = PatternSet::for_paths(["src/*/x/**/*.c"], false).expect("a pattern");
    for (dir, expected) in [
        ("src", true),
        ("lib", false),
        ("src/a", true),
        ("src/a/y", false),
        ("src/a/x/k/l", true),
    ] {
        assert_eq!(set.can_match_below(dir.as_bytes()), expected, "{dir}");
    }
    let set = PatternSet::for_paths(["*.c"], false).expect("a pattern");
    assert!(!set.can_match_below(b"src"));
}

#[test]
fn braces_expand_with_nesting_ranges_and_escapes() {
    let cases: [(&str, &[&str]); 16] = [
        ("a{b,c}d", &["abd", "acd"]),
        ("{a,b{1,2}}x", &["ax", "b1x", "b2x"]),
        ("p{1..3}", &["p1", "p2", "p3"]),
        ("p{08..10}", &["p08", "p09", "p10"]),
        ("{c..a}", &["c", "b", "a"]),
        ("{1..10..3}", &["1", "4", "7", "10"]),
        ("{3..1..-2}", &["3", "1"]),
        ("{a..e..2}", &["a", "c", "e"]),
        ("{x}", &["{x}"]),
        (r"\{a,b}", &[r"\{a,b}"]),
        ("{a,b", &["{a,b"]),
        ("{a,{b,c}", &["{a,b", "{a,c"]),
        ("{x{a,b}}}", &["{xa}}", "{xb}}"]),
        ("{,a}{1..1},", &["1,", "a1,"]),
        ("{a..}", &["{a..}"]),
        (
            "{1..9223372036854775807..9223372036854775806}",
            &["1", "9223372036854775807"],
        ),
    ];
    for (pattern, expected) in cases {
        assert_eq!(expand_braces(pattern).expect("few"), expected, "{pattern}");
    }
    for many in ["{a,b}".repeat(20), "{1..4097}".to_owned()] {
        assert!(expand_braces(&many).is_err(), "{many}");
    }
}

#[test]
fn a_list_is_split_outside_of_braces_only() {
    assert_eq!(split_list("*.{a,b}, *.c ,,d"), ["*.{a,b}", "*.c", "d"]);
}

#[test]
fn many_stars_take_no_exponential_time() {
    let text = "a".repeat(5_000);
    let pattern = format!("{}b", "a*".repeat(40));
    let set = PatternSet::for_paths([pattern], false).expect("a pattern");
    assert!(!set.matches(text.as_bytes(), 0));
    let set = PatternSet::for_names_or_paths(["*.{c,h}"], false).expect("few");
    assert!(set.matches(b"d/x.h", 2) && !set.matches(b"d/x.hh", 2));
}

/// Patterns of up to 70 KB that once overflowed the stack, or took minutes or a gigabyte of memory,
/// and random ones.
fn hostile() -> Vec<String> {
    let repeated = [
        ("@(", 10_000),
        ("!(", 8),
        ("*(", 60),
        ("((", 40),
        ("{", 2_000),
        ("{", 60_000),
        ("{a,", 20_000),
        ("[", 60_000),
        ("[[:alpha:]", 6_000),
        (r"[\]", 20_000),
        ("[a", 30_000),
        ("a/", 30_000),
        ("**/", 20_000),
        ("@(a|b)", 2_000),
        ("{a,b}", 12),
        ("{1..9}{", 3_000),
        ("!(a)", 8),
        ("}", 60_000),
        ("\\", 60_001),
    ];
    let closed = [
        ("@(", ")"),
        ("!(", ")"),
        ("{a,", "}"),
        ("{", "}"),
        ("+(a|", ")"),
        ("[", "]"),
    ];
    let mut all: Vec<String> = repeated
        .iter()
        .map(|(text, count)| text.repeat(*count))
        .collect();
    for count in [60, 65, 5_000] {
        let nested = closed.map(|(open, close)| open.repeat(count) + "a" + &close.repeat(count));
        all.extend(nested);
    }
    all.push(format!("{{{}1..2}}", "0".repeat(70_000)));
    all.push(format!("{{{}..{}}}", i64::MIN, i64::MAX));
    all.push(format!("{{{}..{}..{}}}", i64::MAX, i64::MIN, i64::MIN));
    all.push(format!("{{1..4096}}{}", "a".repeat(60_000)));
    all.push(format!(
        "!(a)!(b)!(c)!(d)!(e)!(f)!(g)!(h){}",
        "[a-z]?".repeat(2_000)
    ));
    let parts = [
        "@(",
        "!(",
        "*(",
        "+(",
        "?(",
        "(",
        ")",
        ")",
        "|",
        "[",
        "]",
        "[!",
        "[[:digit:]",
        "{",
        "}",
        "}",
        ",",
        "..",
        "{1..3}",
        "\\",
        "/",
        "**",
        "**/",
        "*",
        "?",
        "a",
        "é",
        "-",
        "0",
    ];
    let mut random = Random::new(3);
    for trial in 0..300 {
        let count = random.below(if trial % 25 == 0 { 10_000 } else { 60 });
        let mut pattern = String::new();
        for _ in 0..count {
            pattern.push_str(&random.one_of(&parts).repeat(1 + random.below(3)));
        }
        all.push(pattern);
    }
    all
}

#[test]
fn a_hostile_pattern_gives_a_set_or_an_error_that_names_its_limit() {
    let mut built = 0;
    for pattern in hostile() {
        let expanded = expand_braces(&pattern).unwrap_or_default();
        let bytes: usize = expanded.iter().map(String::len).sum();
        assert!(bytes < 5_000_000, "{bytes} from {pattern:.60}");
        let ignore_case = pattern.len().is_multiple_of(2);
        match PatternSet::for_paths([&pattern], ignore_case) {
            Ok(set) => {
                built += 1;
                set.matches(b"a/b(1).txt", 2);
                set.can_match_below(b"a");
            }
            Err(error) => {
                let says = ["too large or has too many groups", "stand for more than"];
                let is_said = says.iter().any(|says| error.message.contains(says));
                assert!(is_said && error.message.len() < 500, "{error:.600}");
            }
        }
    }
    assert!(built > 100, "only {built}");
}
