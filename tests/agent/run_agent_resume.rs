//! Sessions in files: going on from any end, and no call that changes anything made twice.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::agent::{agent, ended, last_parts, response, said, turns};
use crate::harness::stand_in::StandIn;
use crate::harness::{Call, Workspace};

/// Appends a line: a call whose repetition is seen.
fn append(id: &str) -> Value {
    let command = format!("echo {id} >> log.txt; sleep 0.05");
    json!({"id": id, "tool": "run_shell_command", "args": {"command": command}})
}

#[test]
fn a_session_goes_on_with_all_that_was_said() {
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["First", "--session", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Second", "--resume", "s.jsonl"]).run());
    let body = turns(&api).pop().expect("a turn");
    let texts: Vec<_> = body["contents"].as_array().expect("messages")[2..]
        .iter()
        .map(|c| c["parts"][0]["text"].clone())
        .collect();
    assert_eq!(texts, ["First", "One.", "Second"]);
    ended(
        &agent(&ws, &api, &["Third", "--session", "s.jsonl"]).run(),
        42,
        &["--resume"],
    );
    ended(
        &agent(&ws, &api, &["--resume", "s.jsonl"]).run(),
        42,
        &["no prompt"],
    );
    ended(
        &agent(&ws, &api, &["x", "--resume", "missing.jsonl"]).run(),
        42,
        &["missing.jsonl"],
    );
}

#[test]
fn a_session_goes_on_however_much_a_turn_has_read() {
    let read =
        |name: &str| json!({"id": name, "tool": "read_file", "args": {"absolute_path": name}});
    let script = json!({"turns": [[read("1.png"), read("2.png")]], "closing": "Seen."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(13_000_000, 7);
    let ws = Workspace::new()
        .file("1.png", &picture)
        .file("2.png", &picture);
    said(&agent(&ws, &api, &["Look", "--session", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Go on", "--resume", "s.jsonl"]).run());
}

/// A job that mixes tools which only read with tools which change something, each change of its own kind to be counted:
/// a line more in `log.txt`, a plus more in `edits.txt`.
fn job() -> Value {
    let edit = |id: &str| {
        let (old, new) = (format!("<{id}>"), format!("<{id}>+"));
        let args = json!({"file_path": "edits.txt", "old_string": old, "new_string": new});
        json!({"id": id, "tool": "replace", "args": args})
    };
    let read =
        |id: &str| json!({"id": id, "tool": "read_file", "args": {"absolute_path": "edits.txt"}});
    let list = json!({"id": "list", "tool": "list_directory", "args": {"path": "."}});
    let search =
        json!({"id": "search", "tool": "search_file_content", "args": {"pattern": "edit"}});
    json!({"turns": [
        [read("read0"), append("line0")],
        [edit("edit0"), list],
        [append("line1"), edit("edit1"), read("read1"), append("line2")],
        [search, read("read2")],
        [edit("edit2"), append("line3"), edit("edit3")],
    ], "closing": "Done."})
}

const LINES: [&str; 4] = ["line0", "line1", "line2", "line3"];
const EDITS: [&str; 4] = ["edit0", "edit1", "edit2", "edit3"];

fn place() -> Workspace {
    Workspace::new().file("edits.txt", "<edit0>\n<edit1>\n<edit2>\n<edit3>\n")
}

/// How often each change was made.
fn effects(ws: &Workspace) -> Vec<(&'static str, usize)> {
    let log = fs::read_to_string(ws.path("log.txt")).unwrap_or_default();
    let edits = fs::read_to_string(ws.path("edits.txt")).expect("a file");
    let lines = LINES.map(|id| (id, log.lines().filter(|line| *line == id).count()));
    let pluses = |id: &str| {
        let line = edits.lines().find(|line| line.contains(id));
        line.expect("a line").matches('+').count()
    };
    lines
        .into_iter()
        .chain(EDITS.map(|id| (id, pluses(id))))
        .collect()
}

/// The whole lines of the session's file, if there is one.
fn kept(ws: &Workspace) -> Vec<Value> {
    let bytes = fs::read(ws.path("s.jsonl")).unwrap_or_default();
    let whole = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    let lines = bytes[..whole].split_inclusive(|b| *b == b'\n');
    let parsed = lines.map(|line| serde_json::from_slice(line).expect("a line of JSON"));
    parsed.collect()
}

/// The run that goes on from what was kept; `None` where the session is over.
fn next<'a>(ws: &'a Workspace, api: &StandIn) -> Option<Call<'a>> {
    let lines = kept(ws);
    let said = |line: &Value| line["type"] == "content";
    let has_call = |part: &Value| part.get("functionCall").is_some();
    let is_over = lines.last().is_some_and(|line| {
        let parts = line["content"]["parts"].as_array().into_iter().flatten();
        said(line) && line["content"]["role"] == "model" && !parts.into_iter().any(has_call)
    });
    if is_over {
        return None;
    }
    let args: &[&str] = match lines.as_slice() {
        [] => &["Play", "-y", "--session", "s.jsonl"],
        lines if lines.iter().any(said) => &["-y", "--resume", "s.jsonl"],
        // What the user has said was not kept yet.
        _ => &["Play", "-y", "--resume", "s.jsonl"],
    };
    Some(agent(ws, api, args))
}

/// Every change was made once, unless the model was told that this is not known.
#[track_caller]
fn nothing_was_made_twice(ws: &Workspace, about: &str) {
    let lines = kept(ws);
    let is_told = |id: &str| {
        let parts = lines
            .iter()
            .filter_map(|line| line["content"]["parts"].as_array());
        let mut responses = parts.flatten().map(|part| &part["functionResponse"]);
        responses.any(|r| r["id"] == id && r["response"].to_string().contains("not made again"))
    };
    for (id, made) in effects(ws) {
        let is_right = made == 1 || made == 0 && is_told(id);
        assert!(is_right, "{id} was made {made} times; {about}");
    }
}

/// Numbers that follow from a seed (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}

/// When a run is killed.
#[derive(Debug)]
enum Moment {
    /// After this much time.
    After(Duration),
    /// When the session's file has this many bytes: just after a line was written, or while one is.
    Written(u64),
    /// A time after the turn with this change has begun.
    Begun(&'static str, Duration),
}

impl Moment {
    /// Any moment of a run that takes so long and writes so much.
    fn any(numbers: &mut Numbers, took: Duration, bytes: u64) -> Self {
        let mut within =
            |time: Duration| Duration::from_micros(numbers.below(time.as_micros() as u64));
        let (early, late) = (within(Duration::from_millis(60)), within(took));
        let id = [LINES, EDITS].concat()[numbers.below(8) as usize];
        match numbers.below(3) {
            0 => Moment::After(late),
            1 => Moment::Written(numbers.below(bytes)),
            _ => Moment::Begun(id, early),
        }
    }

    /// Waits for it, no longer than `most`: a run that goes on from a file may never come there.
    fn wait(&self, ws: &Workspace, most: Duration) {
        let path = ws.path("s.jsonl");
        let has_come = || match self {
            Moment::After(_) => true,
            Moment::Written(bytes) => fs::metadata(&path).is_ok_and(|meta| meta.len() >= *bytes),
            Moment::Begun(id, _) => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let mut calls = text
                    .lines()
                    .filter(|line| line.contains("\"type\":\"calls\""));
                calls.any(|line| line.contains(&format!("\"id\":\"{id}\"")))
            }
        };
        let until = Instant::now() + most;
        while !has_come() && Instant::now() < until {
            thread::sleep(Duration::from_micros(300));
        }
        if let Moment::After(time) | Moment::Begun(_, time) = self {
            thread::sleep(*time);
        }
    }
}

/// Cuts the last line off in its middle, as if the end had come while it was written. Not one that says that calls
/// begin: they may have begun. Nor the first, which is so short that it is written at once.
fn tear(ws: &Workspace, numbers: &mut Numbers) {
    let path = ws.path("s.jsonl");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let Some((before, last)) = text.trim_end_matches('\n').rsplit_once('\n') else {
        return;
    };
    if text.ends_with('\n') && !last.contains("\"type\":\"calls\"") {
        let kept = before.len() as u64 + 1 + numbers.below(last.len() as u64 + 1);
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(kept))
            .expect("a shorter file");
    }
}

/// Kills a session once or twice, and lets it go on to its end.
fn kill_and_go_on(api: &StandIn, numbers: &mut Numbers, took: Duration, bytes: u64, about: &str) {
    let ws = place();
    let mut about = about.to_owned();
    for _ in 0..=numbers.below(3) / 2 {
        let Some(run) = next(&ws, api) else { break };
        let moment = Moment::any(numbers, took, bytes);
        let running = run.start();
        moment.wait(&ws, took);
        running.kill();
        about += &format!(", {moment:?}");
        if numbers.below(3) == 0 {
            tear(&ws, numbers);
            about += ", torn";
        }
    }
    if let Some(run) = next(&ws, api) {
        let answer = run.run();
        assert_eq!(answer.status(), 0, "{about}\n{}", answer.shown());
    }
    assert!(next(&ws, api).is_none(), "it is not over; {about}");
    nothing_was_made_twice(&ws, &about);
}

#[test]
fn a_session_that_was_killed_at_any_moment_goes_on_and_repeats_no_change() {
    const SESSIONS: u64 = 50;
    const SIDE_BY_SIDE: usize = 4;
    // That of a session which was torn twice between a message and its calls.
    const PINNED: u64 = 13_975_716_283_181_234_222 + 22;
    let Some(api) = StandIn::playing(&job()) else {
        return;
    };
    let ws = place();
    let started = Instant::now();
    said(&agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run());
    let took = started.elapsed();
    let bytes = fs::metadata(ws.path("s.jsonl")).expect("a session").len();
    nothing_was_made_twice(&ws, "never killed");
    let seed = RandomState::new().hash_one(());
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let session = next.fetch_add(1, Ordering::Relaxed);
                    if session >= SESSIONS {
                        break;
                    }
                    let own = seed.wrapping_add(session);
                    let mut numbers = Numbers(if session == 0 { PINNED } else { own });
                    let about = format!("seed {seed}, session {session}");
                    // Side by side each takes longer.
                    kill_and_go_on(&api, &mut numbers, took * 2, bytes, &about);
                }
            });
        }
    });
}

#[test]
fn a_session_that_was_cut_off_twice_between_a_message_and_its_calls_leaves_out_nothing() {
    let Some(api) = StandIn::playing(&job()) else {
        return;
    };
    let ws = place();
    said(&agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run());
    let text = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    let calls = text.match_indices("{\"type\":\"calls\"").map(|(at, _)| at);
    let calls: Vec<usize> = calls.collect();
    assert_eq!(calls.len(), 5);
    for (turn, at) in calls.into_iter().enumerate() {
        let message = text[..at - 1].rfind('\n').expect("a line") + 1;
        // The second time behind the message that the model has said again.
        let again = format!("{}{}", &text[..at], &text[message..at]);
        fs::write(ws.path("s.jsonl"), again).expect("written");
        api.play(&job());
        said(&agent(&ws, &api, &["-y", "--resume", "s.jsonl"]).run());
        let asked = turns(&api);
        assert_eq!(asked.len(), 6 - turn);
        for body in asked {
            let contents = body["contents"].as_array().expect("messages");
            let roles: Vec<&Value> = contents.iter().map(|c| &c["role"]).collect();
            assert!(roles.is_sorted_by(|a, b| a != b), "{roles:?}");
        }
    }
}

#[test]
fn a_file_that_can_hold_no_more_ends_the_session_and_no_change_is_made_that_it_does_not_tell_of() {
    let Some(api) = StandIn::playing(&job()) else {
        return;
    };
    let mut refused = 0;
    for kib in (1..).step_by(2) {
        let ws = place();
        let limit = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$@\"");
        let run = agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]);
        let answer = run.in_bash(&limit).run();
        let about = format!("{kib} KiB");
        if answer.status() == 0 {
            break;
        }
        ended(&answer, 1, &["s.jsonl"]);
        refused += 1;
        let size = fs::metadata(ws.path("s.jsonl")).expect("a session").len();
        assert!(size < kib * 1024, "a piece of a line is left; {about}");
        said(&next(&ws, &api).expect("it is not over").run());
        nothing_was_made_twice(&ws, &about);
    }
    assert!(refused > 2, "the session is too short for this test");
}

#[test]
fn a_session_that_was_killed_before_its_first_line_begins() {
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    let ws = Workspace::new().file("s.jsonl", "");
    said(&agent(&ws, &api, &["First", "--resume", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Second", "--resume", "s.jsonl"]).run());
    assert_eq!(
        turns(&api).pop().expect("a turn")["contents"][2]["parts"][0]["text"],
        "First"
    );
}

#[test]
fn a_change_that_was_broken_off_is_told_and_not_made_again() {
    let script = json!({"turns": [[append("a"), append("b")]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run());
    // As if it had been killed while the first call ran.
    let whole = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    let calls = whole.find("{\"type\":\"calls\"").expect("calls");
    let end = calls + whole[calls..].find('\n').expect("a line") + 1;
    fs::write(
        ws.path("s.jsonl"),
        format!("{}{{\"type\":\"do", &whole[..end]),
    )
    .expect("written");
    fs::remove_file(ws.path("log.txt")).expect("a log");
    said(&agent(&ws, &api, &["-y", "--resume", "s.jsonl"]).run());
    for id in ["a", "b"] {
        let told = response(&api, id)["error"].to_string();
        assert!(told.contains("not made again"), "{told}");
    }
    assert!(fs::metadata(ws.path("log.txt")).is_err());
    assert_eq!(last_parts(&api).len(), 2);
}

#[test]
fn what_the_model_has_said_stays_as_it_was_and_only_what_is_empty_is_left_out() {
    let signed = |text: &str| json!({"text": text, "thoughtSignature": "c2ln"});
    let call = json!({"functionCall": {"id": "c", "name": "list_directory", "args": {"path": "."}}, "thoughtSignature": "Yg=="});
    let pieces = [
        json!({"text": "The answer is 42."}),
        signed(""),
        signed("Signed."),
        json!({"text": ""}),
        json!({}),
        call.clone(),
    ];
    let is_kept = |piece: &&Value| **piece != json!({"text": ""}) && **piece != json!({});
    let seed = RandomState::new().hash_one(());
    let mut numbers = Numbers(seed);
    for _ in 0..8 {
        let mut parts: Vec<Value> = pieces.to_vec();
        for i in (1..parts.len()).rev() {
            parts.swap(i, numbers.below(i as u64 + 1) as usize);
        }
        let kept: Vec<&Value> = parts.iter().filter(is_kept).collect();
        let script = json!({"answers": [{"parts": parts}, {"parts": [{"text": "Done."}, signed("")]}], "closing": "Next."});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = Workspace::new();
        said(&agent(&ws, &api, &["First", "--session", "s.jsonl"]).run());
        said(&agent(&ws, &api, &["Second", "--resume", "s.jsonl"]).run());
        let asked = turns(&api);
        let last = asked.last().expect("a turn")["contents"].as_array();
        let said: Vec<&Value> = last.expect("messages")[2..].iter().collect();
        let roles: Vec<&Value> = said.iter().map(|message| &message["role"]).collect();
        assert_eq!(
            roles,
            ["user", "model", "user", "model", "user"],
            "seed {seed}"
        );
        assert_eq!(said[1]["parts"], json!(kept), "seed {seed}");
        assert_eq!(said[3]["parts"], json!([{"text": "Done."}, signed("")]));
    }
}

#[test]
fn calls_with_the_same_id_keep_their_own_results_wherever_the_session_was_cut_off() {
    let seed = RandomState::new().hash_one(());
    let mut numbers = Numbers(seed);
    let mut ids = || ["x", "y"][numbers.below(2) as usize];
    // Three that are made at once, the first the last to end, and two that are made in turn.
    let shell = |text: &str| json!({"id": "x", "tool": "run_shell_command", "args": {"command": format!("echo {text}")}});
    let mut read =
        |file: &str| json!({"id": ids(), "tool": "read_file", "args": {"absolute_path": file}});
    let calls = [
        read("a.txt"),
        read("b.txt"),
        read("c.txt"),
        shell("dd"),
        shell("ee"),
    ];
    let texts = ["aa", "bb", "cc", "dd", "ee"];
    let script = json!({"turns": [calls], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new()
        .file("a.txt", "aa\n".repeat(1000))
        .file("b.txt", "bb\n")
        .file("c.txt", "cc\n");
    said(&agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run());
    let whole = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let is_done = |line: &&str| line.contains("\"type\":\"done\"");
    let first = lines.iter().position(is_done).expect("a call");
    assert_eq!(lines.iter().copied().filter(is_done).count(), calls.len());
    for done in 0..=calls.len() {
        fs::write(ws.path("s.jsonl"), lines[..first + done].concat()).expect("written");
        api.play(&script);
        said(&agent(&ws, &api, &["-y", "--resume", "s.jsonl"]).run());
        let told = last_parts(&api);
        assert_eq!(told.len(), calls.len(), "seed {seed}");
        for ((told, call), text) in told.iter().zip(&calls).zip(texts) {
            let had_ended = lines[first..first + done]
                .iter()
                .any(|line| line.contains(text));
            let piece = if had_ended { text } else { "not made again" };
            let response = &told["functionResponse"];
            assert_eq!(response["id"], call["id"]);
            assert!(
                response["response"].to_string().contains(piece),
                "seed {seed}, {done}: {told}"
            );
        }
    }
}

#[test]
fn a_session_that_goes_on_knows_how_large_it_is() {
    let heron = "A heron stands in the water. ".repeat(400);
    let usage = |count: u64| json!({"promptTokenCount": count, "totalTokenCount": count + 1});
    // A smaller model takes in less.
    for (model, tokens, is_shortened) in [
        ("gemini-2.5-pro", 900_000, true),
        ("gemini-2.5-pro", 100_000, false),
        ("gemma-3-27b-it", 100_000, true),
    ] {
        let script = json!({
            "answers": [
                {"text": "I have read it.", "usageMetadata": usage(tokens)},
                {"text": "The summary: herons.", "match": {"kind": "side"}},
            ],
            "closing": "Done.",
        });
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = Workspace::new();
        let run = |prompt: &str, file: &str| {
            said(&agent(&ws, &api, &[prompt, "-m", model, file, "s.jsonl"]).run());
        };
        run(&heron, "--session");
        run("And now?", "--resume");
        assert_eq!(
            api.count("side"),
            usize::from(is_shortened),
            "{model} {tokens}"
        );
        let contents = turns(&api).pop().expect("a turn")["contents"].to_string();
        assert_eq!(
            contents.contains("A heron stands"),
            !is_shortened,
            "{model} {tokens}"
        );
    }
}

#[test]
fn only_a_whole_summary_takes_the_place_of_what_it_sums_up() {
    let read =
        |id: &str| json!({"id": id, "tool": "read_file", "args": {"absolute_path": "0.txt"}});
    for (text, finish) in [
        ("The user wants", "MAX_TOKENS"),
        ("The user wants", "SAFETY"),
        ("The user wants", "RECITATION"),
        (" ", "STOP"),
    ] {
        let used = json!({"promptTokenCount": 900_000});
        let side = json!({"kind": "side"});
        let script = json!({"answers": [
            {"calls": [read("a")]},
            {"calls": [read("b")], "usageMetadata": used},
            {"text": text, "finishReason": finish, "match": side},
        ], "closing": "Done."});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = Workspace::new().file("0.txt", "A heron.\n");
        ended(
            &agent(&ws, &api, &["Never delete it."]).run(),
            0,
            &["could not be shortened", finish],
        );
        assert_eq!(api.count("side"), 1);
        let contents = turns(&api).pop().expect("a turn")["contents"].to_string();
        assert!(
            contents.contains("Never delete it."),
            "{finish}: {contents}"
        );
        assert!(!contents.contains("The user wants"), "{finish}: {contents}");
    }
}

#[test]
fn what_the_last_turn_adds_counts_before_the_api_does() {
    let words =
        "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).";
    let body = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": words}});
    let too_long = json!({"status": 400, "body": body});
    let summary = |text: &str| json!({"text": text, "match": {"kind": "side"}});
    // What was counted is below the limit, and so is all of it in the second and third case: there
    // the API says more.
    let refused = [too_long.clone(), summary("The sum.")];
    let resumed = [too_long.clone(), summary(""), too_long, summary("The sum.")];
    for (used, added, more, runs) in [
        (700_000, 100_000, &[summary("The sum.")][..], 1),
        (500_000, 1, &refused, 1),
        (500_000, 1, &resumed, 2),
        (500_000, 1, &[], 1),
    ] {
        let read = |id: &str, name: &str| {
            let args = json!({"absolute_path": name, "limit": 100_000});
            json!({"id": id, "tool": "read_file", "args": args})
        };
        let mut answers = vec![
            json!({"calls": [read("a", "0.txt")]}),
            json!({"calls": [read("b", "1.txt"), read("c", "2.png")],
                "usageMetadata": {"promptTokenCount": used}}),
        ];
        answers.extend_from_slice(more);
        let Some(api) = StandIn::playing(&json!({"answers": answers, "closing": "Done."})) else {
            return;
        };
        let settings = r#"{"tools": {"truncateToolOutputThreshold": 0}}"#;
        // A picture has few tokens, however large it is.
        let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
        picture.resize(2_000_000, 7);
        let ws = Workspace::new()
            .file("0.txt", "A heron stands in the water. ".repeat(400))
            .file("1.txt", "word word\n".repeat(added / 10 * 4))
            .file("2.png", picture)
            .home(".gemini/settings.json", settings);
        for run in 1..=runs {
            let file = if run == 1 { "--session" } else { "--resume" };
            let answer = agent(&ws, &api, &["Look", file, "s.jsonl"]).run();
            assert_eq!(answer.status(), i32::from(run < runs), "{}", answer.shown());
        }
        let contents = turns(&api).pop().expect("a turn")["contents"].to_string();
        let is_summed = api.count("side") > 0;
        assert_eq!(contents.contains("The sum."), is_summed, "{used} {added}");
        assert_eq!(
            contents.contains("A heron stands"),
            !is_summed,
            "{used} {added}"
        );
    }
}
