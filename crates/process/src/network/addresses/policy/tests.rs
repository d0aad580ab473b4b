use super::{AddressPolicy, HostRule};
use std::net::IpAddr;

#[test]
fn a_rule_covers_what_it_names_and_nothing_else() {
    let cases: &[(&str, &str, &str, u16, bool)] = &[
        ("intra.example", "intra.example", "10.0.0.1", 80, true),
        ("Intra.Example", "intra.example.", "10.0.0.1", 80, true),
        ("intra.example", "x.intra.example", "10.0.0.1", 80, false),
        ("intra.example", "intra.example.evil", "10.0.0.1", 80, false),
        ("*.corp.example", "a.b.corp.example", "10.0.0.1", 80, true),
        ("*.corp.example", "corp.example", "10.0.0.1", 80, false),
        ("*.corp.example", "evilcorp.example", "10.0.0.1", 80, false),
        ("localhost:8080", "localhost", "127.0.0.1", 8080, true),
        ("localhost:8080", "localhost", "127.0.0.1", 80, false),
        (
            "*.bücher.example",
            "a.xn--bcher-kva.example",
            "10.0.0.1",
            80,
            true,
        ),
        ("10.0.0.0/8", "anything", "10.9.9.9", 80, true),
        ("10.0.0.0/8", "anything", "::ffff:10.9.9.9", 80, true),
        ("10.0.0.0/8", "anything", "11.0.0.1", 80, false),
        ("127.0.0.1:81", "127.0.0.1", "127.0.0.1", 81, true),
        ("127.0.0.1:81", "127.0.0.1", "127.0.0.1", 82, false),
        ("[::1]:81", "[::1]", "::1", 81, true),
        ("::1", "[::1]", "::1", 80, true),
        ("*", "whatever", "169.254.169.254", 80, true),
        (
            "bücher.example",
            "xn--bcher-kva.example",
            "10.0.0.1",
            80,
            true,
        ),
    ];
    for (rule, host, address, port, expected) in cases {
        let parsed = HostRule::parse(rule).expect(rule);
        let address: IpAddr = address.parse().expect("an address");
        assert_eq!(
            parsed.covers(host, address, *port),
            *expected,
            "{rule} {host}"
        );
    }
    for none in [
        "",
        " ",
        ":80",
        "a b",
        "x:port",
        "10.0.0.0/64",
        "*.0.0.1",
        "*.",
    ] {
        assert_eq!(HostRule::parse(none), None, "{none:?}");
    }
}

#[test]
fn only_public_addresses_are_kept() {
    let policy = AddressPolicy::Public { allowed: vec![] };
    let both = vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([8, 8, 8, 8])];
    let kept = policy
        .filter_allowed("x", 80, both.clone())
        .expect("one is public");
    assert_eq!(kept, [both[1]]);
    let error = policy
        .filter_allowed("x", 80, vec![both[0]])
        .expect_err("none is");
    assert_eq!(error, "x is 127.0.0.1, which is loopback");
    for (host, address) in [
        ("127.0.0.1", both[0]),
        ("[::1]", "::1".parse().expect("v6")),
    ] {
        let error = policy
            .filter_allowed(host, 80, vec![address])
            .expect_err("not public");
        assert_eq!(error, format!("{host} is loopback"));
    }
    assert_eq!(
        AddressPolicy::Any
            .filter_allowed("x", 80, both.clone())
            .expect("all"),
        both
    );
}
