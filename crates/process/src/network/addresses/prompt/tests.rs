use super::{find, is_local, raw_of_blob};
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
    assert_eq!(
        find("http: is a scheme, ahttp:/1.1 is none"),
        super::ExtractedUrls::default()
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
