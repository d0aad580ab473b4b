//! What `web_fetch` makes of the markup of a page.

use super::web_fetch::{paragraph, text, text_of};
use crate::harness::lines;
use crate::harness::web_server::{WebServer, page};

#[test]
fn what_a_page_marks_as_its_main_content_comes_whole() {
    let other = lines(9, paragraph);
    for mark in ["main", "div role=main"] {
        for piece in [
            "<section id=comments><p>PIECE</p></section>",
            "<section id=invalidating-related-keys><h2>Keys</h2><p>PIECE</p></section>",
            "<h4 class=code-header>PIECE</h4>",
            "<div class=sidebar><p>PIECE</p></div>",
            "<h1>PIECE</h1>",
            "<aside>PIECE</aside>",
            "<footer>PIECE</footer>",
            "<nav>PIECE</nav>",
        ] {
            let found = text_of("", &format!("Menu<{mark}>{piece}{other}</{mark}>"));
            assert!(found.contains("PIECE"), "{mark} {piece}: {found}");
            assert!(!found.contains("Menu"), "{mark} {piece}: {found}");
        }
    }
}

#[test]
fn code_keeps_its_lines_and_an_address_its_query() {
    for (code, lines) in [
        (
            "<code><span>a  <br></span><span>b<br></span></code>",
            "a  \nb\n",
        ),
        ("<div>a</div><div>b</div>", "a\nb\n"),
        (
            "<code><div><div>a</div><div></div></div><p>b</p>c</code>",
            "a\n\nb\nc\n",
        ),
        ("<div>a\n</div><div>b</div>\n", "a\nb\n"),
        ("a\n\n\n\tb \nc", "a\n\n\n\tb \nc\n"),
        ("a\n``\n````\n\n\nb", "a\n``\n````\n\n\nb\n"),
    ] {
        for around in [
            "<p>x</p>",
            "<ul><li>x</li></ul>",
            "<p><code>`` x</code></p>",
        ] {
            let found = text_of(
                "",
                &format!("<main>{around}<pre>{code}</pre><p>y  \n\n\nz</p></main>"),
            );
            assert!(found.contains(&format!("`\n{lines}```")), "{code}: {found}");
            assert!(found.trim_end().ends_with("\n\ny z"), "{code}: {found}");
        }
    }
    let link = "<a href='http://x.example/?a=1&amp;b=2&c=3#&amp;amp'>a &amp;amp; b</a>";
    for body in [
        link.to_owned(),
        format!("<main>{link}</main>"),
        format!("{}{link}", lines(9, paragraph)),
    ] {
        let found = text_of("", &body);
        assert!(
            found.contains("[a &amp; b](http://x.example/?a=1&b=2&c=3#&amp)"),
            "{found}"
        );
    }
}

#[test]
fn a_page_that_only_leads_elsewhere_says_where() {
    for (body, to) in [
        (
            "<meta http-equiv=refresh content='0; url=/new/?a=1&amp;b=2'>",
            "/new/?a=1&b=2",
        ),
        (
            "<META HTTP-EQUIV='Refresh' content=\"5;URL='new'\"><p>Moved.",
            "/a/new",
        ),
        (
            "<base href=/b/><meta http-equiv=refresh content='0;url= ../c'>",
            "/c",
        ),
        ("<frameset><frame src=x><frame src=/y></frameset>", "/a/x"),
        ("<frameset><frame src=x><frame src=/y></frameset>", "/y"),
        ("<meta http-equiv=refresh content=5>", ""),
        (
            "<meta http-equiv=refresh content='0;url=javascript:x()'>",
            "",
        ),
    ] {
        let server = WebServer::always(page("text/html", body));
        let found = text(&server, "/a/b");
        let leads = found.contains(&server.url(to)) && found.contains("goes on to");
        assert_eq!(leads, !to.is_empty(), "{body}: {found}");
        assert_eq!(
            found.contains("has no text"),
            to.is_empty(),
            "{body}: {found}"
        );
    }
}
