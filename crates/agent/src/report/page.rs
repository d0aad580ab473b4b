//! The page itself: everything that a session says is escaped here, and nowhere else.

use super::{Cut, Entry, ReportCall, ReportState, markdown};
use crate::call::ToolCallDecision;
use crate::clock::{iso, span};
use crate::event::SessionError;
use crate::output::{escape_controls, one_line};
use crate::stats::Stats;
use std::time::SystemTime;

const STYLE: &str = include_str!("style.css");

/// Maximum characters of a prompt in the page's title.
const TITLE_CHARS: usize = 80;

/// A longer prompt is folded: it may be the diff of a whole branch.
const PROMPT_CHARS: usize = 1_500;

/// The page of a session that is over.
pub(super) fn page(kept: &ReportState, error: Option<&SessionError>, stats: &Stats) -> String {
    let title = title(kept);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    totals(&mut page, kept, error, stats);
    let answer = answer(kept).filter(|_| error.is_none());
    if let Some(at) = answer
        && let Entry::Text(text) = &kept.entries[at]
    {
        page.push_str("<h2>Answer</h2>\n");
        words(&mut page, text);
    }
    tools(&mut page, stats);
    for (at, entry) in kept.entries.iter().enumerate() {
        if answer == Some(at) {
            page.push_str("<p class=\"cut\">The answer is at the top of this page.</p>\n");
        } else {
            show(&mut page, entry);
        }
    }
    if kept.left_out > 0 {
        page.push_str(&format!(
            "<p class=\"cut\">There was no room for {} more entries.</p>\n",
            kept.left_out
        ));
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Where the model's last words are: no call, error or turn comes after them.
fn answer(kept: &ReportState) -> Option<usize> {
    let ends = |entry: &Entry| matches!(entry, Entry::Call(_) | Entry::Error(_) | Entry::Turn(_));
    let first = kept.entries.iter().rposition(ends).map_or(0, |at| at + 1);
    let is_text = |entry: &Entry| matches!(entry, Entry::Text(_));
    let found = kept.entries[first..].iter().rposition(is_text);
    found.map(|at| first + at)
}

/// Text as text: neither markup nor control characters.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape_controls(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No characters, and an error in HTML.
            '\u{fdd0}'..='\u{fdef}' => out.push(char::REPLACEMENT_CHARACTER),
            c if u32::from(c) & 0xfffe == 0xfffe => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

fn title(kept: &ReportState) -> String {
    let prompt = kept.entries.iter().find_map(|entry| match entry {
        Entry::Prompt(prompt) => prompt.text.trim().lines().next(),
        _ => None,
    });
    let line = one_line(prompt.unwrap_or("A session"));
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    escaped(&title)
}

/// A list of names and values; those are HTML already.
fn list(page: &mut String, rows: &[(&str, String)]) {
    page.push_str("<dl>\n");
    for (name, value) in rows {
        page.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    page.push_str("</dl>\n");
}

fn totals(page: &mut String, kept: &ReportState, error: Option<&SessionError>, stats: &Stats) {
    match error {
        None => page.push_str("<p class=\"good\">Completed.</p>\n"),
        Some(error) => page.push_str(&format!(
            "<div class=\"bad text\">{} ({}, status {})</div>\n",
            escaped(&error.message),
            error.kind.name(),
            error.kind.exit_status()
        )),
    }
    let sum =
        |of: fn(&crate::stats::ModelStats) -> u64| -> u64 { stats.models.values().map(of).sum() };
    let calls = &stats.tools;
    let lines = &calls.lines;
    let mut rows = vec![
        ("Started", kept.started.map(moment).unwrap_or_default()),
        ("Duration", span(stats.duration)),
        ("Model", escaped(&kept.model.text)),
        ("Session", escaped(&kept.session.text)),
        ("Turns", kept.turns.to_string()),
        (
            "Calls",
            format!(
                "{}, of which {} failed",
                calls.calls,
                calls.failures + calls.failed_commands
            ),
        ),
        (
            "Tokens in",
            format!(
                "{}, of which {} cached",
                sum(|m| m.prompt),
                sum(|m| m.cached)
            ),
        ),
        (
            "Tokens out",
            format!(
                "{}, and {} of thoughts",
                sum(|m| m.candidates),
                sum(|m| m.thoughts)
            ),
        ),
        ("Tokens in total", sum(|m| m.total).to_string()),
        (
            "Lines",
            format!(
                "+{} -{}",
                lines.ai_added + lines.user_added,
                lines.ai_removed + lines.user_removed
            ),
        ),
    ];
    if let Some(session) = kept
        .journal_session
        .as_ref()
        .filter(|_| stats.has_changed_files())
    {
        let command = format!("call_tool --undo --session {session}");
        rows.push(("Undo", format!("<code>{}</code>", escaped(&command))));
    }
    rows.retain(|(_, value)| !value.is_empty());
    list(page, &rows);
}

/// A point in time that may be broken into two lines on a phone.
fn moment(time: SystemTime) -> String {
    let iso = iso(time);
    let (date, clock) = iso.split_once('T').unwrap_or_default();
    format!("{date} {} UTC", clock.get(..8).unwrap_or(clock))
}

fn tools(page: &mut String, stats: &Stats) {
    if stats.by_name.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th>Tool</th><th>Calls</th><th>Failed</th>\
         <th>Time</th></tr></thead><tbody>\n",
    );
    for (name, tool) in &stats.by_name {
        page.push_str(&format!(
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(&one_line(name)),
            tool.calls,
            tool.failures + tool.failed_commands,
            span(tool.duration)
        ));
    }
    page.push_str("</tbody></table></div>\n");
}

fn show(page: &mut String, entry: &Entry) {
    match entry {
        Entry::Prompt(text) => {
            page.push_str("<h2>Prompt</h2>\n");
            let chars = text.chars + text.missing;
            if chars <= PROMPT_CHARS {
                block(page, "text prompt", text);
                return;
            }
            page.push_str(&format!("<details><summary>{chars} characters</summary>\n"));
            block(page, "text prompt", text);
            page.push_str("</details>\n");
        }
        Entry::Turn(number) => page.push_str(&format!("<h2>Turn {number}</h2>\n")),
        Entry::Text(text) => words(page, text),
        Entry::Thought {
            subject,
            description,
        } => {
            let summary = match one_line(&subject.text) {
                subject if subject.is_empty() => "Thoughts".to_owned(),
                subject => escaped(&subject),
            };
            page.push_str(&format!("<details><summary>{summary}</summary>\n"));
            block(page, "text soft", description);
            page.push_str("</details>\n");
        }
        Entry::Used {
            duration,
            prompt,
            candidates,
        } => page.push_str(&format!(
            "<p class=\"soft\">{}, {prompt} tokens in, {candidates} tokens out</p>\n",
            span(*duration)
        )),
        Entry::Call(call) => show_call(page, call),
        Entry::Warning(text) => block(page, "text warn", text),
        Entry::Error(text) => block(page, "text bad", text),
    }
}

/// What the model says, which is markdown.
fn words(page: &mut String, text: &Cut) {
    page.push_str("<div class=\"markdown\" dir=\"auto\">\n");
    markdown::push(page, &text.text);
    page.push_str("</div>\n");
    missing(page, text);
}

/// Text with its line breaks. The direction is that of its first letter.
fn block(page: &mut String, class: &str, text: &Cut) {
    page.push_str(&format!(
        "<div class=\"{class}\" dir=\"auto\">{}</div>\n",
        escaped(&text.text)
    ));
    missing(page, text);
}

fn missing(page: &mut String, text: &Cut) {
    if text.missing > 0 {
        page.push_str(&format!(
            "<p class=\"cut\">{} more characters are left out.</p>\n",
            text.missing
        ));
    }
}

fn show_call(page: &mut String, call: &ReportCall) {
    let failure = call.command_failure.as_ref();
    let (class, mark) = if call.state == "success" && failure.is_none() {
        ("", "<span class=\"good\">✓</span>".to_owned())
    } else {
        let how = failure.map(|how| format!(" {}", escaped(&one_line(&how.text))));
        (
            " class=\"bad\"",
            format!("<b>✗{}</b>", how.unwrap_or_default()),
        )
    };
    let lines = call
        .lines
        .map(|(added, removed)| format!(" +{added} -{removed}"))
        .unwrap_or_default();
    // What was changed is what a reader looks for.
    let open = if call.diff.is_some() { " open" } else { "" };
    page.push_str(&format!(
        "<details{class}{open}><summary>{mark} <code>{}</code> {} <span class=\"soft\">{}{lines}</span>\
         </summary>\n",
        escaped(&one_line(&call.name.text)),
        escaped(&one_line(&call.description.text)),
        span(call.duration),
    ));
    let decision = call.decision.map_or("none", |decision| match decision {
        ToolCallDecision::Accept => "accept",
        ToolCallDecision::Reject => "reject",
        ToolCallDecision::Modify => "modify",
        ToolCallDecision::AutoAccept => "auto_accept",
    });
    list(
        page,
        &[
            ("State", call.state.to_owned()),
            ("Decision", decision.to_owned()),
            ("Duration", span(call.duration)),
        ],
    );
    if let Some(text) = &call.diff {
        page.push_str("<h3>Diff</h3>\n");
        diff(page, text);
    }
    listing(page, "Arguments", &call.args);
    let heading = if call.is_failed { "Error" } else { "Output" };
    listing(page, heading, &call.output);
    page.push_str("</details>\n");
}

fn listing(page: &mut String, heading: &str, text: &Cut) {
    if text.text.is_empty() && text.missing == 0 {
        return;
    }
    // A line end right after the tag would be dropped by a browser.
    page.push_str(&format!(
        "<h3>{heading}</h3>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
        escaped(&text.text)
    ));
    missing(page, text);
}

fn diff(page: &mut String, text: &Cut) {
    page.push_str("<pre class=\"diff\" tabindex=\"0\"><code>");
    let mut is_head = true;
    for line in text.text.lines() {
        is_head &= !line.starts_with("@@");
        let class = match line.as_bytes().first() {
            // The names of the files, which look like lines that are removed and added.
            _ if is_head => " class=\"f\"",
            Some(b'+') => " class=\"a\"",
            Some(b'-') => " class=\"r\"",
            Some(b'@') => " class=\"h\"",
            _ => "",
        };
        page.push_str(&format!("<span{class}>{}</span>", escaped(line)));
    }
    page.push_str("</code></pre>\n");
    missing(page, text);
}
