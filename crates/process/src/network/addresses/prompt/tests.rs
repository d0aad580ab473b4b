use super::{display_url, find, is_local, raw_of_blob};
use url::Url;

#[test]
fn addresses_are_found_without_what_is_around_them() {
    let text = "Compare https://a.example/x_(y), (see http://b.example/?q=1&r=2) and \
        <HTTPS://C.example/Path#part>. Also \"http://d.example\"; https://a.example/x_(y)! \
        ünï https://e.example/ü.";
    let found = find(text);
    let usable: Vec<&str> = found.usable.iter().map(Url::as_str).collect();
    assert_eq!(
        usable,
        [
            "https://a.example/x_(y)",
            "http://b.example/?q=1&r=2",
            "https://c.example/Path",
            "http://d.example/",
            "https://e.example/%C3%BC",
        ]
    );
    assert_eq!(found.unusable, []);
}

#[test]
fn what_can_not_be_asked_is_told_with_the_reason() {
    let found = find("ftp://a.example/x http://me:secret@b.example/ http://[::1 http://a:99999/");
    let told: Vec<String> = found
        .unusable
        .iter()
        .map(|(a, why)| format!("{a}: {why}"))
        .collect();
    assert!(found.usable.is_empty(), "{found:?}");
    assert!(
        told.iter().any(|t| t.contains("ftp is not http")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|t| t.contains("a user or a password")),
        "{told:?}"
    );
    assert!(told.iter().all(|t| !t.contains("secret")), "{told:?}");
}

#[test]
fn hosts_that_look_like_none_are_found_too() {
    let found = find(
        "http://127.1/x, (https://0x7f.1), HTTP:/2130706433? http://3232235777! http://loc%61lhost",
    );
    let usable: Vec<&str> = found.usable.iter().map(Url::as_str).collect();
    assert_eq!(
        usable,
        [
            "http://127.0.0.1/x",
            "https://127.0.0.1/",
            "http://127.0.0.1/",
            "http://192.168.1.1/",
            "http://localhost/",
        ]
    );
    let none = find("http: is a scheme, ahttp:/1.1 is none");
    assert_eq!((none.usable, none.unusable), (vec![], vec![]));
}

const BEFORE: &[&str] = &[
    "请阅读",
    "请阅读：",
    "（",
    "「",
    "『",
    "【",
    "《",
    "〈",
    "“",
    "‘",
    "«",
    "„",
    "¿",
    "см. ",
    "اقرأ ",
    "پڑھیں، ",
    "पढ़ें ",
    "読んで、",
    "읽어 ",
    "<",
    "(",
    "[x](",
    "\"",
    "**",
    "—",
    "…",
    "　",
    "\u{200b}",
    "a,",
    "",
];
const AFTER: &[&str] = &[
    "，然后总结",
    "。",
    "、",
    "；再说",
    "：是什么",
    "！",
    "？",
    "）吗",
    "」を読む",
    "』",
    "】",
    "》",
    "〉",
    "……",
    "…",
    "” now",
    "’ now",
    "» et",
    "—then",
    "― et",
    "، ثم",
    "؛",
    "؟",
    "۔",
    "।",
    "॥",
    "។",
    "။",
    "։",
    "።",
    "‼",
    "〕",
    "．",
    "｡",
    "｣",
    "､",
    "｜",
    "　次",
    "\u{200b}",
    "\u{2028}x",
    "·",
    "・と",
    "–",
    ", then",
    ".",
    "?!",
    ")",
    ") ",
    "](x)",
    ">",
    "\"",
    "**",
    "; x",
    "👍",
    "☀️",
    "&gt;",
    "&lt;x",
    "&quot;",
    "",
];
const URLS: &[&str] = &[
    "https://a.example",
    "https://a.example/",
    "http://a.example:8080/x?q=1&r=%EF%BC%8C#top",
    "https://a.example/中文/路径",
    "https://a.example/wiki/ドナルド・トランプ",
    "https://a.example/wiki/唐纳德·特朗普",
    "https://a.example/wiki/Michelson–Morley_experiment",
    "https://a.example/می\u{200c}شود",
    "https://a.example/हिन्दी",
    "https://a.example/צה״ל",
    "https://a.example/%E3%80%82/%EF%BC%8C",
    "https://例え.テスト/パス?問=答",
    "https://a.example/x_(y)",
];

fn asked(url: &str) -> Url {
    let mut url = Url::parse(url).expect(url);
    url.set_fragment(None);
    url
}

#[test]
fn an_address_ends_where_the_punctuation_of_any_language_begins() {
    for (before, after) in BEFORE
        .iter()
        .flat_map(|b| AFTER.iter().map(move |a| (b, a)))
    {
        for url in URLS {
            // A letter after this mark may belong to the path or to the next word.
            if after.starts_with('・') {
                continue;
            }
            let text = format!("{before}{url}{after}");
            let found = find(&text);
            assert_eq!(found.usable, [asked(url)], "{text}");
            assert_eq!(found.unusable, [], "{text}");
            // A reader that splits the separated text at blanks finds the same addresses.
            let divided = found.separated.split([' ', '\u{3000}']).any(|word| {
                word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/')
                    .contains(url.trim_end_matches([')', '/']))
            });
            assert!(divided, "{text}: {}", found.separated);
            assert_eq!(find(&found.separated).usable, [asked(url)], "{text}");
        }
    }
}

#[test]
fn punctuation_between_addresses_makes_two_of_them() {
    for between in [
        "、", "，", "；", "、和", "”“", "』『", "）（", "／", "–", "·", "〜", ",", ";", "،", "।",
        "—", "\u{3000}", "|",
    ] {
        for (first, second) in URLS.iter().flat_map(|a| URLS.iter().map(move |b| (a, b))) {
            let text = format!("比较{first}{between}{second}。");
            let wanted = if asked(first) == asked(second) {
                vec![asked(first)]
            } else {
                vec![asked(first), asked(second)]
            };
            let found = find(&text);
            assert_eq!(found.usable, wanted, "{text}");
            assert_eq!(find(&found.separated).usable, wanted, "{text}");
        }
    }
}

#[test]
fn a_word_of_another_alphabet_between_addresses_makes_two_of_them() {
    for between in [
        "和",
        "及",
        "与",
        "或",
        "と",
        "や",
        "및",
        "그리고",
        "и",
        "و",
        "然后请你再去看",
    ] {
        for first in URLS
            .iter()
            .filter(|url| url.ends_with(|c: char| c.is_ascii()))
        {
            let text =
                format!("比较{first}{between}https://b.example/b{between}HTTP://c.example。");
            let wanted = [first, "https://b.example/b", "http://c.example"].map(asked);
            let found = find(&text);
            assert_eq!(found.usable, wanted, "{text}");
            assert_eq!(find(&found.separated).usable, wanted, "{text}");
        }
    }
}

#[test]
fn a_host_ends_before_words_of_another_alphabet() {
    for (text, url) in [
        ("看https://a.example然后", "https://a.example"),
        ("看http://a.example:8080然后", "http://a.example:8080"),
        ("http://localhost를", "http://localhost"),
        ("http://müller.example/", "http://müller.example/"),
        ("http://bücher.example", "http://bücher.example"),
        ("http://a中.example/x", "http://a中.example/x"),
        ("http://例え.jpを", "http://例え.jp"),
        ("http://例え.テスト", "http://例え.テスト"),
    ] {
        assert_eq!(find(text).usable, [asked(url)], "{text}");
    }
}

#[test]
fn a_text_is_separated_only_beside_an_address() {
    let same = "Read https://a.example/x, (http://b.example/y). 好，的。 https://c.example/中文 ok";
    assert_eq!(find(same).separated, same);
    assert_eq!(
        find("请阅读https://a.example/a，然后“https://b.example/文”").separated,
        "请阅读 https://a.example/a ，然后“ https://b.example/文 ”"
    );
}

#[test]
fn local_hosts_are_known_without_asking() {
    for (url, local) in [
        ("http://127.0.0.1/", true),
        ("http://0x7f.1/", true),
        ("http://[::1]/", true),
        ("http://localhost./", true),
        ("http://intranet/", true),
        ("http://printer.local/", true),
        ("http://metadata.google.internal/", true),
        ("https://example.com/", false),
        ("http://8.8.8.8/", false),
    ] {
        assert_eq!(is_local(&Url::parse(url).expect(url)), local, "{url}");
    }
}

#[test]
fn only_github_pages_that_show_a_file_become_the_file() {
    let raw = |url: &str| raw_of_blob(&Url::parse(url).expect(url)).map(String::from);
    assert_eq!(
        raw("https://github.com/o/r/blob/main/a/b%20c.md?plain=1#L3").as_deref(),
        Some("https://raw.githubusercontent.com/o/r/main/a/b%20c.md")
    );
    assert_eq!(raw("https://github.com/o/r/tree/main/a"), None);
    assert_eq!(raw("https://github.com/o/r/blob/main"), None);
    assert_eq!(raw("https://evil.example/github.com/o/r/blob/m/x"), None);
}

#[test]
fn an_address_is_shown_without_its_user_but_with_its_host() {
    for (address, shown) in [
        ("https://x.example/@user", "https://x.example/@user"),
        ("https://x.example?a@b#c@d", "https://x.example?a@b#c@d"),
        ("https://me:pw@x.example/@user", "https://…@x.example/@user"),
        ("https://a@b@x.example", "https://…@x.example"),
        ("me@x.example", "me@x.example"),
    ] {
        assert_eq!(display_url(address), shown);
    }
}
