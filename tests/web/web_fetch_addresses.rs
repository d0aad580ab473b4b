//! `web_fetch` reaches nothing but public addresses: the corpus of spellings, blocks, schemes and redirects by which a
//! page or a model could lead it elsewhere. What names resolve to is in [`super::web_fetch_names`].
//!
//! "Refused" is checked from the other side as well: a canary that listens on every address of this machine must not
//! see a single connection. `{port}` in an address is the canary's.

use serde_json::json;

use crate::harness::name_server::{DNS, Found, NameServer};
use crate::harness::web_server::{ALLOW, WebServer, page, redirect};
use crate::harness::{Answer, Call, Workspace};

/// How an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// By policy, without asking a name server, so that `--explain` knows it too.
    AtOnce,
    /// By policy, once its name was resolved.
    Resolved,
    /// As something that is not an address of a page.
    NoAddress,
}
use Refusal::{AtOnce, NoAddress, Resolved};

/// Address, how it is refused, and why an attacker would write it.
#[rustfmt::skip] // A row a line.
const CORPUS: &[(&str, Refusal, &str)] = &[
    // Loopback in the spellings of IPv4 that the address parsers of C libraries and browsers understand.
    ("http://127.0.0.1:{port}/", AtOnce, "plain"),
    ("HTTP://127.0.0.1:{port}/", AtOnce, "scheme in capitals"),
    ("https://127.0.0.1:{port}/", AtOnce, "by TLS"),
    ("http://127.1:{port}/", AtOnce, "two numbers"),
    ("http://127.0.1:{port}/", AtOnce, "three numbers"),
    ("http://127.65530:{port}/", AtOnce, "the last number fills the rest"),
    ("http://2130706433:{port}/", AtOnce, "one decimal number"),
    ("http://0x7f000001:{port}/", AtOnce, "one hexadecimal number"),
    ("http://0X7F000001:{port}/", AtOnce, "hexadecimal in capitals"),
    ("http://017700000001:{port}/", AtOnce, "one octal number"),
    ("http://0177.0.0.1:{port}/", AtOnce, "octal"),
    ("http://0177.0.0.01:{port}/", AtOnce, "octal twice"),
    ("http://00000177.0.0.1:{port}/", AtOnce, "octal with more zeros"),
    ("http://0x7f.0.0.1:{port}/", AtOnce, "hexadecimal"),
    ("http://0x7f.0x0.0x0.0x1:{port}/", AtOnce, "all hexadecimal"),
    ("http://0x7f.1:{port}/", AtOnce, "hexadecimal and short"),
    ("http://0x7f.00.0.01:{port}/", AtOnce, "mixed"),
    ("http://127.0.0.1.:{port}/", AtOnce, "a dot at the end"),
    ("http://0x.0x.0:{port}/", AtOnce, "0x alone is zero"),
    ("http://127.0.%30.1:{port}/", AtOnce, "a digit percent-encoded"),
    ("http://%31%32%37%2e%30%2e%30%2e%31:{port}/", AtOnce, "all percent-encoded"),
    ("http://１２７.０.０.１:{port}/", AtOnce, "full-width digits"),
    ("http://①②⑦.⓪.⓪.①:{port}/", AtOnce, "circled digits"),
    ("http://127。0。0。1:{port}/", AtOnce, "ideographic full stops"),
    ("http://127｡0｡0｡1:{port}/", AtOnce, "half-width full stops"),
    ("http://127.0.0.2:{port}/", AtOnce, "another address of loopback"),
    ("http://127.127.127.127:{port}/", AtOnce, "in the middle of loopback"),
    ("http://127.255.255.254:{port}/", AtOnce, "the last of loopback"),
    ("http://0.0.0.0:{port}/", AtOnce, "Linux takes it for loopback"),
    ("http://0:{port}/", AtOnce, "zero"),
    ("http://0x0:{port}/", AtOnce, "hexadecimal zero"),
    ("http://0.1.2.3:{port}/", AtOnce, "this network"),
    ("http://127.0.0.256:{port}/", NoAddress, "a number too large"),
    ("http://127.0.0.1.1:{port}/", NoAddress, "five numbers"),
    ("http://4294967296:{port}/", NoAddress, "more than 32 bits"),
    ("http://0x17f000001:{port}/", NoAddress, "more than 32 bits, cut off loopback"),
    ("http://08.0.0.1:{port}/", NoAddress, "8 is not an octal digit"),
    // The other blocks of IPv4.
    ("http://10.0.0.1/", AtOnce, "private"),
    ("http://10.255.255.255/", AtOnce, "private"),
    ("http://012.1.2.3/", AtOnce, "private, in octal"),
    ("http://172.16.0.1/", AtOnce, "private"),
    ("http://172.31.255.255/", AtOnce, "private"),
    ("http://192.168.0.1/", AtOnce, "a router"),
    ("http://192.168.1.254/", AtOnce, "a router"),
    ("http://3232235777/", AtOnce, "192.168.1.1"),
    ("http://169.254.169.254/latest/meta-data/", AtOnce, "metadata of AWS, GCP, Azure"),
    ("http://169.254.43518/", AtOnce, "the same, short"),
    ("http://0xa9fea9fe/", AtOnce, "the same, hexadecimal"),
    ("http://2852039166/", AtOnce, "the same, decimal"),
    ("http://0251.0376.0251.0376/", AtOnce, "the same, octal"),
    ("http://169.254.170.2/v2/credentials", AtOnce, "credentials of AWS ECS"),
    ("http://169.254.0.1/", AtOnce, "link-local"),
    ("http://100.100.100.200/latest/meta-data/", AtOnce, "metadata of Alibaba"),
    ("http://100.64.0.1/", AtOnce, "shared by a carrier; Tailscale"),
    ("http://100.127.255.255/", AtOnce, "shared by a carrier"),
    ("http://192.0.0.192/opc/v2/", AtOnce, "metadata of Oracle"),
    ("http://168.63.129.16/", AtOnce, "Azure's host"),
    ("http://192.0.2.1/", AtOnce, "for documentation"),
    ("http://198.51.100.1/", AtOnce, "for documentation"),
    ("http://203.0.113.1/", AtOnce, "for documentation"),
    ("http://198.18.0.1/", AtOnce, "for benchmarks"),
    ("http://192.88.99.1/", AtOnce, "6to4 relays"),
    ("http://224.0.0.1/", AtOnce, "multicast"),
    ("http://239.255.255.250:1900/", AtOnce, "multicast, SSDP"),
    ("http://240.0.0.1/", AtOnce, "reserved"),
    ("http://255.255.255.255/", AtOnce, "broadcast"),
    // IPv6.
    ("http://[::1]:{port}/", AtOnce, "loopback"),
    ("http://[0:0:0:0:0:0:0:1]:{port}/", AtOnce, "loopback in full"),
    ("http://[0000:0000::0001]:{port}/", AtOnce, "loopback with zeros"),
    ("http://[::]:{port}/", AtOnce, "unspecified"),
    ("http://[::0.0.0.1]:{port}/", AtOnce, "loopback, the end as IPv4"),
    ("http://[::ffff:127.0.0.1]:{port}/", AtOnce, "mapped"),
    ("http://[::ffff:7f00:1]:{port}/", AtOnce, "mapped, in hexadecimal"),
    ("http://[0:0:0:0:0:ffff:7f00:0001]:{port}/", AtOnce, "mapped, in full"),
    ("http://[::FFFF:127.0.0.1]:{port}/", AtOnce, "mapped, in capitals"),
    ("http://[::ffff:0.0.0.0]:{port}/", AtOnce, "mapped, unspecified"),
    ("http://[::ffff:169.254.169.254]/", AtOnce, "mapped, metadata"),
    ("http://[::ffff:10.0.0.1]/", AtOnce, "mapped, private"),
    ("http://[::127.0.0.1]:{port}/", AtOnce, "compatible"),
    ("http://[::ffff:0:127.0.0.1]:{port}/", AtOnce, "translated (SIIT)"),
    ("http://[64:ff9b::127.0.0.1]:{port}/", AtOnce, "NAT64"),
    ("http://[64:ff9b::a9fe:a9fe]/", AtOnce, "NAT64, metadata"),
    ("http://[64:ff9b:1::7f00:1]/", AtOnce, "NAT64 of the own network"),
    ("http://[2002:7f00:1::]/", AtOnce, "6to4, loopback"),
    ("http://[2002:a9fe:a9fe::1]/", AtOnce, "6to4, metadata"),
    ("http://[2001:0:7f00:1::]/", AtOnce, "Teredo, server on loopback"),
    ("http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", AtOnce, "Teredo, client on loopback"),
    ("http://[2001:db8::1]/", AtOnce, "for documentation"),
    ("http://[3fff::1]/", AtOnce, "for documentation"),
    ("http://[fc00::1]/", AtOnce, "unique local"),
    ("http://[fd00:ec2::254]/latest/meta-data/", AtOnce, "metadata of AWS"),
    ("http://[fd20:ce::254]/computeMetadata/v1/", AtOnce, "metadata of GCP"),
    ("http://[fe80::1]/", AtOnce, "link-local"),
    ("http://[fe80::a9fe:a9fe]/", AtOnce, "metadata, link-local"),
    ("http://[febf::1]/", AtOnce, "the last of link-local"),
    ("http://[fec0::1]/", AtOnce, "site-local"),
    ("http://[ff02::1]/", AtOnce, "multicast"),
    ("http://[100::1]/", AtOnce, "discarded"),
    ("http://[5f00::1]/", AtOnce, "segment routing"),
    ("http://[::1%25lo]:{port}/", NoAddress, "loopback with a zone"),
    ("http://[fe80::1%25eth0]/", NoAddress, "link-local with a zone"),
    ("http://[fe80::1%eth0]/", NoAddress, "link-local with a zone"),
    ("http://[127.0.0.1]:{port}/", NoAddress, "IPv4 in brackets"),
    ("http://::1:{port}/", NoAddress, "without brackets"),
    // Names that mean this machine everywhere.
    ("http://localhost:{port}/", AtOnce, "by name"),
    ("http://LocalHost:{port}/", AtOnce, "capitals"),
    ("http://localhost.:{port}/", AtOnce, "a dot at the end"),
    ("http://a.b.localhost:{port}/", AtOnce, "below localhost"),
    ("http://loc%61lhost:{port}/", AtOnce, "a letter percent-encoded"),
    ("http://ｌｏｃａｌｈｏｓｔ:{port}/", AtOnce, "full-width letters"),
    ("http://ⓛocalhost:{port}/", AtOnce, "a circled letter"),
    ("http://loc\u{ad}alhost:{port}/", AtOnce, "a soft hyphen, which names lose"),
    ("http://localhost.localdomain:{port}/", Resolved, "of some hosts files"),
    ("http://ip6-localhost:{port}/", Resolved, "of Debian's hosts file"),
    ("http://metadata.google.internal/", Resolved, "metadata of GCP by name"),
    // What is before or behind the host.
    ("http://example.com@127.0.0.1:{port}/", NoAddress, "a user that looks like the host"),
    ("http://example.com:80@127.0.0.1:{port}/", NoAddress, "user and password that look like the host"),
    ("http://127.0.0.1:{port}@127.0.0.1:{port}/", NoAddress, "both"),
    ("http://u:p@localhost:{port}/", NoAddress, "a password"),
    ("http://127.0.0.1:{port}/?@example.com/", AtOnce, "a host in the query"),
    ("http://127.0.0.1:{port}#@example.com/", AtOnce, "a host in the fragment"),
    ("http://127.0.0.1:{port}/http://example.com/", AtOnce, "an address in the path"),
    (r"http://127.0.0.1:{port}\@example.com/", AtOnce, "a backslash ends the host"),
    (r"http:\\127.0.0.1:{port}\", AtOnce, "backslashes for slashes"),
    ("http:/127.0.0.1:{port}/", AtOnce, "one slash"),
    ("http:127.0.0.1:{port}/", NoAddress, "no slash"),
    ("http:///127.0.0.1:{port}/", AtOnce, "three slashes"),
    ("//127.0.0.1:{port}/", NoAddress, "no scheme"),
    ("http://127.0.0.1:99999/", NoAddress, "a port that is none"),
    // Other schemes.
    ("file:///etc/passwd", NoAddress, "a file"),
    ("file://localhost/etc/passwd", NoAddress, "a file by its host"),
    ("ftp://127.0.0.1:{port}/", NoAddress, "FTP"),
    ("gopher://127.0.0.1:{port}/_GET%20/", NoAddress, "any bytes to any port"),
    ("dict://127.0.0.1:{port}/info", NoAddress, "words to any port"),
    ("ldap://127.0.0.1:{port}/", NoAddress, "LDAP"),
    ("ws://127.0.0.1:{port}/", NoAddress, "a web socket"),
    ("data:text/plain,hello", NoAddress, "data in the address"),
    ("jar:file:///etc/passwd!/x", NoAddress, "an archive of a file"),
    ("unix:/var/run/docker.sock", NoAddress, "a socket"),
    ("javascript:alert(1)", NoAddress, "a script"),
    ("netdoc:///etc/passwd", NoAddress, "Java's name for files"),
];

/// Targets of redirects that are not addresses of their own, and what they come to.
#[rustfmt::skip] // A row a line.
const TARGETS: &[(&str, &str)] = &[
    ("//127.0.0.1:{port}/", "policy_violation"),
        (r"\\127.0.0.1:{port}\", "policy_violation"),
    (r"/\127.0.0.1:{port}/", "policy_violation"),
    (r"http:\\127.0.0.1:{port}/", "policy_violation"),
    (r"http:/\/127.0.0.1:{port}/", "policy_violation"),
    ("https:/127.0.0.1:{port}/", "policy_violation"),
    ("https:127.0.0.1:{port}/", "policy_violation"),
    ("http:///127.0.0.1:{port}/", "policy_violation"),
    ("\thttp://127.0.0.1:{port}/", "policy_violation"),
    ("ht\ttp://127.0.0.1:{port}/", "policy_violation"),
    ("http:/\t/127.0.0.1:{port}/", "policy_violation"),
    ("http://127.0.\t0.1:{port}/", "policy_violation"),
    ("//127.0.0.1\t:{port}/", "policy_violation"),
    // A line break in a header begins another one, or makes the answer none.
    ("http://\r\n 127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    ("/x\r\nLocation: http://127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    // These stay where they are, or lead nowhere.
    ("http:127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    ("///127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    ("127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    ("?http://127.0.0.1:{port}/", "web_fetch_fallback_failed"),
    ("", "web_fetch_fallback_failed"),
];

/// The five statuses that are followed.
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// A workspace, and a canary with a name server that knows where the names of the corpus lead.
struct Scene {
    ws: Workspace,
    canary: WebServer,
    names: NameServer,
}

impl Scene {
    fn new() -> Self {
        Self {
            ws: Workspace::new(),
            canary: WebServer::canary(),
            names: NameServer::new(|name, _| match name {
                "localhost.localdomain" | "ip6-localhost" => Found::at(&["127.0.0.1", "::1"]),
                "metadata.google.internal" => Found::at(&["169.254.169.254"]),
                _ => Found::Nothing,
            }),
        }
    }

    /// An address of the corpus.
    fn with_port(&self, address: &str) -> String {
        address.replace("{port}", &self.canary.port().to_string())
    }

    fn fetch(&self, prompt: &str) -> Call<'_> {
        let arguments = json!({ "prompt": prompt });
        let call = self.ws.tool("web_fetch").arguments(&arguments);
        call.env(DNS, &self.names.address()).unwatched()
    }

    #[track_caller]
    fn canary_is_alive(&self, answer: &Answer) {
        if self.canary.connections() != 0 {
            answer.fail(&format!(
                "the canary was reached: {:?}",
                self.canary.asked()
            ));
        }
    }
}

/// What went otherwise than expected, told all at once.
#[derive(Default)]
struct Surprises(Vec<String>);

impl Surprises {
    fn unless(&mut self, is_right: bool, row: &str, answer: &Answer) {
        if !is_right {
            self.0.push(format!("{row}: {}", answer.text()));
        }
    }

    #[track_caller]
    fn must_be_none(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

#[test]
fn no_address_of_the_corpus_gets_through() {
    let scene = Scene::new();
    let mut surprises = Surprises::default();
    for (address, refusal, why) in CORPUS {
        let address = scene.with_port(address);
        let answer = scene.fetch(&format!("Read {address} please.")).run();
        scene.canary_is_alive(&answer);
        let failure = answer.failure();
        let expected = match refusal {
            AtOnce | Resolved => ("policy_violation", 3),
            NoAddress => ("web_fetch_no_url_in_prompt", 1),
        };
        let found = (&*failure.error_type, failure.status);
        surprises.unless(found == expected, &format!("{address} ({why})"), &answer);
    }
    surprises.must_be_none();
}

#[test]
fn the_same_holds_for_an_address_alone() {
    let scene = Scene::new();
    let mut surprises = Surprises::default();
    // It is the same way from there, so some of them will do.
    for (address, refusal, why) in CORPUS.iter().step_by(5) {
        let address = scene.with_port(address);
        let call = scene.fetch("").arguments(&json!({ "url": address }));
        let answer = call.run();
        scene.canary_is_alive(&answer);
        let is_policy = answer.failure().error_type == "policy_violation";
        let is_expected = is_policy == (*refusal != NoAddress);
        surprises.unless(is_expected, &format!("{address} ({why})"), &answer);
    }
    surprises.must_be_none();
}

#[test]
fn explaining_knows_what_needs_no_asking() {
    let scene = Scene::new();
    let mut surprises = Surprises::default();
    for (address, refusal, why) in CORPUS {
        let address = scene.with_port(address);
        let call = scene.fetch(&format!("Read {address} please."));
        let answer = call.flags(&["--explain"]).run();
        let status = match refusal {
            AtOnce => 3,
            Resolved => 0,
            NoAddress => 1,
        };
        let is_expected = answer.status() == status;
        surprises.unless(is_expected, &format!("{address} ({why})"), &answer);
    }
    surprises.must_be_none();
    assert_eq!(scene.names.asked(), [""; 0], "explaining asks nothing");
    assert_eq!(scene.canary.connections(), 0);
}

#[test]
fn no_redirect_leads_to_an_address_of_the_corpus() {
    let scene = Scene::new();
    let targets: Vec<String> = CORPUS.iter().map(|row| scene.with_port(row.0)).collect();
    let first = WebServer::new(move |asked, line| {
        let mut numbers = asked.target.split('/').skip(1).map(str::parse::<usize>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(status)), Some(Ok(row))) => {
                let status = u16::try_from(status).expect("one of the five");
                line.send(redirect(status, &targets[row]))
            }
            _ => line.send(page("text/plain", "still here")),
        }
    });
    let mut surprises = Surprises::default();
    for (row, (address, refusal, why)) in CORPUS.iter().enumerate() {
        let urls = STATUSES.map(|status| first.url(&format!("/{status}/{row}")));
        let call = scene.fetch(&urls.join(" ")).env(ALLOW, &first.host());
        let answer = call.run();
        scene.canary_is_alive(&answer);
        let is_expected = match refusal {
            // Seen from another address some of these are relative, and stay with the server that may be asked.
            _ if answer.status() == 0 => answer.output().contains("still here"),
            AtOnce | Resolved => answer.status() == 3 && first.asked().len() == STATUSES.len(),
            NoAddress => !answer.failure().message.is_empty(),
        };
        first.forget();
        surprises.unless(is_expected, &format!("{address} ({why})"), &answer);
    }
    surprises.must_be_none();
}

#[test]
fn no_relative_target_leads_elsewhere() {
    let scene = Scene::new();
    let mut surprises = Surprises::default();
    for (target, expected) in TARGETS {
        let location = scene.with_port(target);
        let first = WebServer::new(move |asked, line| match &*asked.target {
            "/" => line.send(redirect(302, &location)),
            _ => line.send(redirect(302, "http://[nothing/")),
        });
        let call = scene.fetch(&first.url("/")).env(ALLOW, &first.host());
        let answer = call.run();
        scene.canary_is_alive(&answer);
        let is_expected = answer.failure().error_type == *expected;
        surprises.unless(is_expected, &format!("{target:?}"), &answer);
    }
    surprises.must_be_none();
}

#[test]
fn a_chain_is_judged_at_every_hop() {
    let scene = Scene::new();
    let canary = format!("http://127.0.0.1:{}/", scene.canary.port());
    let first = WebServer::new(move |asked, line| {
        let hop: usize = asked.target[1..].parse().unwrap_or_default();
        match hop {
            0 => line.send(redirect(302, &canary)),
            n => line.send(redirect(STATUSES[n % 5], &format!("/{}", n - 1))),
        }
    });
    for hops in [1, 2, 5, 9] {
        let url = first.url(&format!("/{hops}"));
        let answer = scene.fetch(&url).env(ALLOW, &first.host()).run();
        answer.error("policy_violation", 3);
        scene.canary_is_alive(&answer);
        assert_eq!(first.asked().len(), hops + 1);
        first.forget();
    }
    let answer = scene
        .fetch(&first.url("/40"))
        .env(ALLOW, &first.host())
        .run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    assert!(
        message.contains("redirected more than 10 times"),
        "{message}"
    );
    assert_eq!(first.asked().len(), 11);
}

#[test]
fn a_circle_of_redirects_ends() {
    let scene = Scene::new();
    let own = WebServer::new(|asked, line| line.send(redirect(301, &asked.target)));
    let answer = scene.fetch(&own.url("/a")).env(ALLOW, &own.host()).run();
    let message = answer.error("web_fetch_fallback_failed", 1);
    assert!(
        message.contains("redirected more than 10 times"),
        "{message}"
    );
    assert_eq!(own.asked().len(), 11);
}

#[test]
fn nothing_but_a_location_leads_anywhere() {
    let scene = Scene::new();
    let canary = format!("http://127.0.0.1:{}/", scene.canary.port());
    let html = format!(
        "<html><head><meta http-equiv='refresh' content='0;url={canary}'>\
         <link rel='stylesheet' href='{canary}'><base href='{canary}'></head>\
         <body><iframe src='{canary}'></iframe><img src='{canary}'><p>The page itself.</p>\
         <script src='{canary}'></script></body></html>"
    );
    let svg = format!("<svg xmlns='x'><image href='{canary}'/><text>The page itself.</text></svg>");
    let xml = format!(
        "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY x SYSTEM '{canary}'>]><r>&x;The page itself.</r>"
    );
    let first = WebServer::new(move |asked, line| {
        let (media_type, body) = match &*asked.target {
            "/svg" => ("image/svg+xml", &svg),
            "/xml" => ("application/xml", &xml),
            _ => ("text/html", &html),
        };
        let refresh = format!("0; url={canary}");
        let headers = [
            ("Content-Type", media_type),
            ("Refresh", &refresh),
            ("Content-Location", &canary),
            ("Alt-Svc", "h2=\":1\""),
        ];
        let status = if asked.target == "/201" { 201 } else { 200 };
        line.send(crate::harness::web_server::answer(
            status,
            &headers,
            body.as_bytes(),
        ))
    });
    for path in ["/html", "/svg", "/xml", "/201"] {
        let answer = scene
            .fetch(&first.url(path))
            .env(ALLOW, &first.host())
            .run();
        answer.must_say(&answer.output(), &["The page itself."]);
        scene.canary_is_alive(&answer);
    }
}

#[test]
fn what_a_redirect_asks_for_is_told_without_secrets() {
    let scene = Scene::new();
    let first = WebServer::always(redirect(302, "http://user:canary-password@127.0.0.1/"));
    let answer = scene.fetch(&first.url("/")).env(ALLOW, &first.host()).run();
    let message = answer.error("policy_violation", 3);
    assert!(!message.contains("canary-password"), "{message}");
}

#[test]
fn advice_to_allow_a_host_is_given_only_where_that_helps() {
    let scene = Scene::new();
    for (target, why, helps) in [
        ("file:///etc/passwd", "file is not http or https", false),
        ("ftp://a.example/x", "ftp is not http or https", false),
        ("data:text/plain,x", "data is not http or https", false),
        ("http://me:pw@127.0.0.1/", "a user or a password", false),
        // A page of others has chosen this host.
        ("http://10.0.0.1/", "private", false),
        ("", "private", true),
    ] {
        let first = WebServer::always(redirect(302, target));
        let url = if helps {
            "http://10.0.0.1/".to_owned()
        } else {
            first.url("/")
        };
        let answer = scene.fetch(&url).env(ALLOW, &first.host()).run();
        let message = answer.error("policy_violation", 3);
        answer.must_say(&message, &[why]);
        assert_eq!(message.contains("allowedHosts"), helps, "{message}");
        assert_eq!(
            message.contains(&format!("{} redirects to", first.url("/"))),
            !helps
        );
    }
    let ws = Workspace::new();
    for prompt in [
        "file:///etc/passwd",
        "ftp://a.example/",
        "http://me:pw@a.example/",
    ] {
        let answer = ws.call("web_fetch", &json!({ "prompt": prompt }));
        let message = answer.error("web_fetch_no_url_in_prompt", 1);
        assert!(!message.contains("allowedHosts"), "{message}");
    }
}

#[test]
fn a_rule_allows_its_host_and_port_and_nothing_beside() {
    let scene = Scene::new();
    let server = WebServer::always(page("text/plain", "inside"));
    let (host, port) = (server.host(), server.port());
    for rule in [
        host.clone(),
        "127.0.0.1".to_owned(),
        "127.0.0.0/8".to_owned(),
        format!("nothing.example, {host}"),
        "*".to_owned(),
    ] {
        let answer = scene.fetch(&server.url("/")).env(ALLOW, &rule).run();
        answer.must_say(&answer.output(), &["inside"]);
    }
    for rule in [
        format!("127.0.0.2:{port}"),
        format!("127.0.0.1:{}", scene.canary.port()),
        "10.0.0.0/8".to_owned(),
        "localhost".to_owned(),
        "*.0.0.1".to_owned(),
        "http://".to_owned() + &host,
        " ".to_owned(),
    ] {
        server.forget();
        let answer = scene.fetch(&server.url("/")).env(ALLOW, &rule).run();
        answer.error("policy_violation", 3);
        assert!(server.asked().is_empty(), "{rule}");
    }
}

#[test]
fn the_users_settings_allow_a_host_and_a_projects_do_not() {
    let server = WebServer::always(page("text/plain", "inside"));
    let rule = json!({"tools": {"webFetch": {"allowedHosts": [server.host()]}}}).to_string();
    let arguments = json!({ "prompt": server.url("/") });
    let ws = Workspace::new().file(".gemini/settings.json", &rule);
    ws.call("web_fetch", &arguments)
        .error("policy_violation", 3);
    // Variables of a project's own files don't count either.
    let env = format!("{ALLOW}=*\n");
    let ws = ws.file(".env", &env).file(".gemini/.env", &env);
    ws.call("web_fetch", &arguments)
        .error("policy_violation", 3);
    assert_eq!(server.connections(), 0);
    let ws = Workspace::new().home(".gemini/settings.json", &rule);
    let answer = ws.call("web_fetch", &arguments);
    answer.must_say(&answer.output(), &["inside"]);
}

#[test]
fn a_refusal_names_the_address_the_reason_and_the_way_out() {
    let ws = Workspace::new();
    let answer = ws.call(
        "web_fetch",
        &json!({"prompt": "http://[::ffff:7f00:1]/ and http://3232235777/x"}),
    );
    let message = answer.error("policy_violation", 3);
    answer.must_say(
        &message,
        &[
            "loopback",
            "192.168.1.1",
            "private",
            "tools.webFetch.allowedHosts",
        ],
    );
}
