//! Markdown of a model, as HTML that does nothing.
//!
//! `pulldown-cmark` reads it; the elements are written here, because the text is not ours: HTML in it
//! is shown as text, links lead to the web only, and nothing is loaded.

use super::page::escaped;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The page's own headings are of the first three levels.
const LOWEST_OWN_HEADING: u8 = 3;

/// Adds a text in markdown to a page.
pub(super) fn push(page: &mut String, text: &str) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer {
        page,
        closings: Vec::new(),
        is_head: false,
    };
    for event in Parser::new_ext(text, options) {
        writer.write(event);
    }
}

struct Writer<'a> {
    page: &'a mut String,
    /// How the open links end: one that leads nowhere has no element.
    closings: Vec<&'static str>,
    /// Whether a cell is one of a table's head.
    is_head: bool,
}

impl Writer<'_> {
    fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            // The syntax of the last three is not among the options.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => {
                self.page.push_str(&escaped(&text));
            }
            Event::Code(text) => {
                self.page
                    .push_str(&format!("<code>{}</code>", escaped(&text)));
            }
            Event::SoftBreak => self.page.push('\n'),
            Event::HardBreak => self.page.push_str("<br>\n"),
            Event::Rule => self.page.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.page.push_str(if is_done { "☑ " } else { "☐ " });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let element = match tag {
            Tag::Paragraph => "<p>".to_owned(),
            Tag::Heading { level, .. } => format!("<h{}>", own_level(level)),
            Tag::BlockQuote(_) => "<blockquote>".to_owned(),
            // A line end right after the tag would be dropped by a browser.
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                "<pre tabindex=\"0\"><code>".to_owned()
            }
            Tag::List(None) => "<ul>\n".to_owned(),
            Tag::List(Some(first)) => format!("<ol start=\"{first}\">\n"),
            Tag::Item => "<li>".to_owned(),
            Tag::Table(_) => "<div class=\"table\" tabindex=\"0\"><table>\n".to_owned(),
            Tag::TableHead => {
                self.is_head = true;
                "<thead><tr>".to_owned()
            }
            Tag::TableRow => "<tr>".to_owned(),
            Tag::TableCell if self.is_head => "<th>".to_owned(),
            Tag::TableCell => "<td>".to_owned(),
            Tag::Emphasis => "<em>".to_owned(),
            Tag::Strong => "<strong>".to_owned(),
            Tag::Strikethrough => "<del>".to_owned(),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            // An image is its text: nothing is loaded.
            _ => String::new(),
        };
        self.page.push_str(&element);
    }

    fn link(&mut self, address: &str) -> String {
        let is_web = ["https://", "http://"]
            .iter()
            .any(|scheme| address.starts_with(scheme));
        self.closings.push(if is_web { "</a>" } else { "" });
        if !is_web {
            return String::new();
        }
        let address = escaped(address);
        format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">")
    }

    fn end(&mut self, tag: TagEnd) {
        let element = match tag {
            TagEnd::Paragraph => "</p>\n",
            TagEnd::Heading(level) => {
                self.page.push_str(&format!("</h{}>\n", own_level(level)));
                ""
            }
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => "</code></pre>\n",
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::Table => "</tbody></table></div>\n",
            TagEnd::TableHead => {
                self.is_head = false;
                "</tr></thead><tbody>\n"
            }
            TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell if self.is_head => "</th>",
            TagEnd::TableCell => "</td>",
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link => self.closings.pop().unwrap_or_default(),
            _ => "",
        };
        self.page.push_str(element);
    }
}

/// A heading of the text, below those of the page.
fn own_level(level: HeadingLevel) -> u8 {
    (level as u8 + LOWEST_OWN_HEADING).min(6)
}

#[cfg(test)]
mod tests {
    fn html(text: &str) -> String {
        let mut page = String::new();
        super::push(&mut page, text);
        page
    }

    #[test]
    fn what_models_write_becomes_elements() {
        for (text, expected) in [
            (
                "One **two** `<3>`\nthree",
                "<p>One <strong>two</strong> <code>&lt;3&gt;</code>\nthree</p>\n",
            ),
            ("# A\n## B", "<h4>A</h4>\n<h5>B</h5>\n"),
            (
                "3. a\n4. b",
                "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n",
            ),
            (
                "- [x] a\n- ~~b~~",
                "<ul>\n<li>☑ a</li>\n<li><del>b</del></li>\n</ul>\n",
            ),
            (
                "```rust\nfn a() -> &u8;\n```",
                "<pre tabindex=\"0\"><code>fn a() -&gt; &amp;u8;\n</code></pre>\n",
            ),
            (
                "| a | b |\n|---|---|\n| 1 | 2 |",
                "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody></table></div>\n",
            ),
        ] {
            assert_eq!(html(text), expected);
        }
    }

    #[test]
    fn nothing_in_it_runs_or_is_loaded() {
        for (text, expected) in [
            (
                "<script>alert(1)</script>",
                "&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            (
                "a <img src=x onerror=b> c",
                "<p>a &lt;img src=x onerror=b&gt; c</p>\n",
            ),
            ("[a](javascript:alert)", "<p>a</p>\n"),
            ("![alt](https://h/x.png)", "<p>alt</p>\n"),
            (
                "[a](https://h/?b=\"c)",
                "<p><a href=\"https://h/?b=&quot;c\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
            ),
            (
                "```\"><b>\nx\n```",
                "<pre tabindex=\"0\"><code>x\n</code></pre>\n",
            ),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_written() {
        let deep = html(&"> ".repeat(5_000));
        assert_eq!(
            deep.matches("<blockquote>").count(),
            deep.matches("</blockquote>").count()
        );
        assert!(!html(&"*a **b ".repeat(5_000)).is_empty());
    }
}
