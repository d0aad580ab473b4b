//! Streams of the Gemini API, as the library's client reads them: in any pieces, whole or broken, over all ways in.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use gemini_tools::genai::{
    ApiError, ApiErrorKind, Content, Credentials, GeminiClient, GenerateContentRequest,
    GenerateContentResponse, RequestTool, ResponseStream,
};
use gemini_tools::tool::Cancellation;
use serde_json::{Value, json};

use crate::harness::stand_in::StandIn;
use crate::harness::web_server::{WebServer, answer, endless_head};

/// The recorded streams, and whether the responses are wrapped.
const RECORDED: [(&str, bool); 2] = [("gemini-api.sse", false), ("code-assist.sse", true)];

fn recorded(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    fs::read(file.join(name)).expect("a recorded stream")
}

fn read(pieces: &[&[u8]], is_wrapped: bool) -> Result<Vec<GenerateContentResponse>, ApiError> {
    let mut found = Vec::new();
    let mut stream = ResponseStream::new(is_wrapped);
    let mut keep = |response| {
        found.push(response);
        ControlFlow::Continue(())
    };
    for piece in pieces {
        let _ = stream.push(piece, &mut keep)?;
    }
    stream.finish(&mut keep)?;
    Ok(found)
}

/// A client of the API at `base`, that waits no longer than a test should.
fn client(base: &str) -> GeminiClient {
    let variables = [
        ("GEMINI_API_KEY", "canary-key"),
        ("GOOGLE_GEMINI_BASE_URL", base),
    ];
    client_by(&variables)
}

fn client_by(variables: &[(&str, &str)]) -> GeminiClient {
    let env = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let credentials = Credentials::find(&env, None).expect("well-formed");
    GeminiClient::new(credentials.expect("a credential")).with_first_wait(Duration::from_millis(10))
}

fn question() -> GenerateContentRequest {
    // With a tool it is a turn for the stand-in.
    let tool = json!({"name": "x", "description": "x"});
    GenerateContentRequest {
        contents: vec![Content::user("How is the weather?")],
        tools: vec![RequestTool::FunctionDeclarations(vec![tool])],
        ..GenerateContentRequest::default()
    }
}

/// What was said, and how it ended.
fn ask(client: &mut GeminiClient) -> (String, Result<(), ApiError>) {
    let mut said = String::new();
    let ended = client.stream(
        "gemini-2.5-flash",
        &question(),
        &Cancellation::default(),
        &mut |piece| {
            said.push_str(&piece.text());
            ControlFlow::Continue(())
        },
        &mut |_| {},
    );
    (said, ended)
}

#[test]
fn a_stream_cut_at_any_byte_gives_the_same_responses() {
    for (name, is_wrapped) in RECORDED {
        let bytes = recorded(name);
        let whole = read(&[&bytes], is_wrapped).expect("a stream");
        assert_eq!(whole.len(), 4);
        let said: String = whole.iter().map(GenerateContentResponse::text).collect();
        assert_eq!(said, "In Zürich it rains ☔ — “much”.\n");
        for cut in 0..=bytes.len() {
            let pieces = [&bytes[..cut], &bytes[cut..]];
            let parts = read(&pieces, is_wrapped).expect("a stream");
            assert_eq!(parts, whole, "{name} cut at {cut}");
        }
        for size in [1, 2, 3, 7] {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let parts = read(&pieces, is_wrapped).expect("a stream");
            assert_eq!(parts, whole, "{name} by {size}");
        }
    }
}

#[test]
fn a_stream_that_ends_at_any_byte_is_whole_or_broken_but_never_wrong() {
    for (name, is_wrapped) in RECORDED {
        let bytes = recorded(name);
        let whole = read(&[&bytes], is_wrapped).expect("a stream");
        let is_blank = |b: &u8| matches!(b, b'\r' | b'\n');
        let last = bytes.len() - bytes.iter().rev().take_while(|b| is_blank(b)).count();
        for end in 0..bytes.len() {
            match read(&[&bytes[..end]], is_wrapped) {
                // Nothing but the blank line is missing.
                Ok(parts) if end >= last => assert_eq!(parts, whole, "{name} up to {end}"),
                Ok(_) => panic!("{name} up to {end} passes as whole"),
                Err(e) => assert_eq!(e.kind, ApiErrorKind::Network, "{name} up to {end}: {e}"),
            }
        }
    }
}

#[test]
fn json_that_is_no_response_is_an_error() {
    for (_, is_wrapped) in RECORDED {
        for text in ["35", "null", "[]", "\"x\"", "{\"response\": 7}", "[{}]"] {
            let stream = format!("data: {text}\n\n");
            let read = read(&[stream.as_bytes()], is_wrapped);
            assert!(read.is_err(), "{text}: {read:?}");
        }
    }
}

#[test]
fn half_of_a_surrogate_pair_long_numbers_and_odd_arguments_are_no_reason_to_refuse_an_answer() {
    let whole = r#"{"candidates":[{"content":{"parts":[{"text":"caf\udce9"},{"functionCall":{"name":"a\ud83d","args":{"x":"\ude00","n":[-18446744073709551617,9007199254740993.0]}}},{"functionCall":{"name":"b","args":"{}"}}]},"finishReason":"STOP"}]}"#;
    for (_, is_wrapped) in RECORDED {
        let text = if is_wrapped {
            format!("{{\"response\":{whole}}}")
        } else {
            whole.to_owned()
        };
        let read = read(&[format!("data: {text}\n\n").as_bytes()], is_wrapped).expect("read");
        assert_eq!(read[0].text(), "caf\u{fffd}");
        let calls: Vec<_> = read[0]
            .parts()
            .iter()
            .filter_map(|p| p.function_call.clone())
            .collect();
        assert_eq!(calls[0].name, "a\u{fffd}");
        assert_eq!(calls[0].args["x"], "\u{fffd}");
        let numbers = json!(["-18446744073709551617", 9_007_199_254_740_993_u64]);
        assert_eq!(calls[0].args["n"], numbers);
        assert_eq!(calls[1].args["(not an object)"], "{}");
    }
}

#[test]
fn everything_that_a_response_says_is_kept() {
    for (name, is_wrapped) in RECORDED {
        let whole = read(&[&recorded(name)], is_wrapped).expect("a stream");
        let parts: Vec<_> = whole.iter().flat_map(|r| r.parts().to_vec()).collect();
        let back = serde_json::to_value(&parts).expect("JSON");
        assert_eq!(
            back,
            json!([
                {"text": "**Reading**\n\nThe question is about the weather.", "thought": true},
                {"text": "In Zürich it ", "thoughtSignature": "c2lnbmF0dXJl"},
                {"text": "rains ☔ — “much”.\n"},
                {
                    "functionCall": {
                        "id": "call-1", "name": "read_file",
                        "args": {"absolute_path": "/tmp/ü.txt", "limit": 3},
                    },
                    "thoughtSignature": "b3RoZXI=",
                },
            ])
        );
        let last = whole.last().expect("some");
        assert_eq!(last.finish_reason(), Some("STOP"));
        let usage = last.usage_metadata.as_ref().expect("usage");
        assert_eq!(usage.total, 46);
    }
}

#[test]
fn all_ways_in_stream_and_count() {
    let Some(api) = StandIn::playing(&json!({"closing": "All is well."})) else {
        return;
    };
    for (transport, variables) in [
        (
            "api-key",
            vec![
                ("GEMINI_API_KEY", "k"),
                ("GOOGLE_GEMINI_BASE_URL", api.url()),
            ],
        ),
        (
            "vertex",
            vec![
                ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
                ("GOOGLE_CLOUD_PROJECT", "p"),
                ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
                ("GOOGLE_VERTEX_BASE_URL", api.url()),
            ],
        ),
        (
            "code-assist",
            vec![
                ("GOOGLE_GENAI_USE_GCA", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
                ("CODE_ASSIST_ENDPOINT", api.url()),
            ],
        ),
    ] {
        api.play(&json!({"closing": "All is well."}));
        let mut client = client_by(&variables);
        let (said, ended) = ask(&mut client);
        ended.expect(transport);
        assert_eq!(said, "All is well.", "{transport}");
        for request in api.requests() {
            assert_eq!(request["transport"], transport, "{request}");
            let agent = request["headers"]["user-agent"]
                .as_str()
                .unwrap_or_default();
            assert!(agent.starts_with("gemini-tools/"), "{request}");
            assert!(agent.contains("(linux; ") || !cfg!(target_os = "linux"));
        }
        let streamed: Vec<Value> = api
            .requests()
            .into_iter()
            .filter(|r| r["method"] == "streamGenerateContent")
            .collect();
        let path = streamed[0]["path"].as_str().expect("a path");
        assert!(path.ends_with("?alt=sse"), "{path}");
    }
}

#[test]
fn what_breaks_before_anything_of_the_answer_was_handed_out_is_asked_again() {
    let thought = |text: &str| json!({"text": text, "thought": true});
    let thoughts = json!([thought("**A** b"), thought("**C** d"), {"text": "x"}]);
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for fault in [
        json!({"fault": "429", "retryDelay": "0.1s"}),
        json!({"fault": "429", "retryAfter": 1}),
        json!({"fault": "500"}),
        json!({"fault": "503", "times": 3}),
        json!({"fault": "html"}),
        json!({"fault": "html", "status": 200}),
        json!({"fault": "cut", "afterChunks": 0}),
        json!({"fault": "cut", "afterChunks": 0, "reset": true}),
        json!({"fault": "half", "afterChunks": 0}),
        json!({"fault": "wrong-json", "afterChunks": 0}),
        json!({"fault": "error-in-stream", "afterChunks": 0}),
        json!({"fault": "error-in-stream", "afterChunks": 0, "status": 429}),
        json!({"fault": "hang-up"}),
        json!({"fault": "cut", "afterChunks": 1, "parts": thoughts}),
        json!({"fault": "cut", "afterChunks": 2, "parts": thoughts, "reset": true}),
        json!({"fault": "half", "afterChunks": 1, "parts": thoughts}),
        json!({"fault": "wrong-json", "afterChunks": 2, "parts": thoughts}),
        json!({"fault": "error-in-stream", "afterChunks": 1, "parts": thoughts}),
        json!({"fault": "cut", "afterChunks": 1, "parts": [{"text": ""}, {"text": "x"}]}),
    ] {
        api.play(&json!({"faults": [fault], "closing": "At last."}));
        let (said, ended) = ask(&mut client(api.url()));
        ended.unwrap_or_else(|e| panic!("{fault}: {e}"));
        assert!(
            said.ends_with("At last.") && !said.contains('x'),
            "{fault}: {said}"
        );
        let times = fault["times"].as_u64().unwrap_or(1) as usize;
        assert_eq!(api.requests().len(), times + 1, "{fault}");
    }
}

#[test]
fn what_breaks_later_is_one_error_and_is_not_asked_again() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let parts = json!([{"text": "One. "}, {"text": "Two. "}, {"text": "Three."}]);
    for (fault, said_before) in [
        (json!({"fault": "cut", "afterChunks": 1}), "One. "),
        (
            json!({"fault": "cut", "afterChunks": 2, "reset": true}),
            "One. Two. ",
        ),
        (json!({"fault": "half", "afterChunks": 1}), "One. "),
        (json!({"fault": "wrong-json", "afterChunks": 1}), "One. "),
        (
            json!({"fault": "error-in-stream", "afterChunks": 1}),
            "One. ",
        ),
    ] {
        let mut script = fault.clone();
        script["parts"] = parts.clone();
        api.play(&json!({"faults": [script], "closing": "Never."}));
        let (said, ended) = ask(&mut client(api.url()));
        let error = ended.expect_err("a broken stream");
        // A connection that is reset may take with it what was not read yet.
        assert!(said_before.starts_with(&said), "{fault}: {said}");
        if fault["reset"].is_null() {
            assert_eq!(said, said_before, "{fault}");
        }
        if !said.is_empty() {
            assert_eq!(api.requests().len(), 1, "{fault}");
            assert_ne!(error.kind, ApiErrorKind::Network, "{fault}: {error}");
        }
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn every_form_of_events_says_the_same() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for fault in [
        json!({"fault": "sse", "eol": "lf"}),
        json!({"fault": "sse", "eol": "cr"}),
        json!({"fault": "sse", "eol": "crlf", "comments": true, "bom": true, "split": true}),
        json!({"fault": "sse", "fields": true, "noSpace": true}),
        json!({"fault": "slow", "bytes": 5, "everyMs": 1}),
    ] {
        api.play(&json!({"faults": [fault], "closing": "Größe — all of it."}));
        let (said, ended) = ask(&mut client(api.url()));
        ended.unwrap_or_else(|e| panic!("{fault}: {e}"));
        assert_eq!(said, "Größe — all of it.", "{fault}");
    }
    api.play(&json!({"faults": [{"fault": "huge", "mib": 8}]}));
    let (said, ended) = ask(&mut client(api.url()));
    ended.expect("a large one");
    assert!(said.len() >= 8 << 20, "{}", said.len());
}

#[test]
fn a_blocked_answer_says_so_and_is_no_broken_stream() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for (fault, reason) in [
        (json!({"fault": "blocked"}), "SAFETY"),
        (json!({"fault": "SAFETY"}), "SAFETY"),
        (json!({"fault": "RECITATION"}), "RECITATION"),
    ] {
        api.play(&json!({"faults": [fault]}));
        let mut refusal = None;
        let mut client = client(api.url());
        let ended = client.stream(
            "gemini-2.5-flash",
            &question(),
            &Cancellation::default(),
            &mut |piece| {
                refusal = piece.refusal().or(refusal.take());
                ControlFlow::Continue(())
            },
            &mut |_| {},
        );
        ended.unwrap_or_else(|e| panic!("{fault}: {e}"));
        let refusal = refusal.unwrap_or_else(|| panic!("{fault} is not a refusal"));
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn whoever_has_heard_enough_ends_the_stream() {
    let server = WebServer::new(|_, line| {
        line.send(endless_head(&[("Content-Type", "text/event-stream")]))?;
        let piece = json!({"candidates": [{"content": {"parts": [{"text": "and "}]}}]});
        let event = format!("data: {piece}\n\n");
        line.send_forever(event.as_bytes(), Duration::from_millis(1))
    });
    let mut heard = 0;
    let mut client = client(&server.url(""));
    let ended = client.stream(
        "gemini-2.5-flash",
        &question(),
        &Cancellation::default(),
        &mut |_| {
            heard += 1;
            if heard < 5 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        },
        &mut |_| {},
    );
    ended.expect("as wished");
    assert_eq!(heard, 5);
}

#[test]
fn the_calls_time_ends_a_stream_that_says_nothing() {
    let server = WebServer::new(|_, line| {
        line.send(endless_head(&[("Content-Type", "text/event-stream")]))?;
        line.be_silent()
    });
    let cancel = Cancellation::with_time_limit(Duration::from_millis(300));
    let ended = client(&server.url("")).stream(
        "gemini-2.5-flash",
        &question(),
        &cancel,
        &mut |_| ControlFlow::Continue(()),
        &mut |_| {},
    );
    let error = ended.expect_err("no answer");
    assert_eq!(server.asked().len(), 1);
    assert!(!error.is_worth_asking_again(), "{error}");
}

#[test]
fn an_answer_that_has_ended_is_whole_however_its_connection_ends() {
    let piece = |finish: Value| {
        let candidate = json!({"content": {"parts": [{"text": "Hi"}]}, "finishReason": finish});
        let data = json!({"candidates": [candidate], "error": null});
        format!("data: {data}\n\n")
    };
    for (finish, stays) in [("STOP", false), ("STOP", true), ("MAX_TOKENS", false)] {
        let body = piece(finish.into());
        let server = WebServer::new(move |_, line| {
            let head = [
                ("Content-Type", "text/event-stream"),
                ("Content-Length", "9999"),
            ];
            line.send(endless_head(&head))?;
            line.send(&body)?;
            if stays { line.be_silent() } else { Ok(()) }
        });
        let began = Instant::now();
        let (said, ended) = ask(&mut client(&server.url("")));
        ended.unwrap_or_else(|e| panic!("{finish}: {e}"));
        assert_eq!(said, "Hi");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    // One that has not ended is no API that was not reached.
    let head = [
        ("Content-Type", "text/event-stream"),
        ("Content-Length", "9999"),
    ];
    let mut cut = endless_head(&head);
    cut.extend(piece(Value::Null).bytes());
    let error = ask(&mut client(&WebServer::always(cut).url("")))
        .1
        .expect_err("cut off");
    assert!(
        error.to_string().contains("gave no whole answer"),
        "{error}"
    );
}

#[test]
fn a_stream_is_known_by_its_type_in_any_letters() {
    let piece =
        json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]});
    let body = format!("data: {piece}\n\n");
    for kind in [
        "text/event-stream",
        "Text/Event-Stream; charset=utf-8",
        "TEXT/EVENT-STREAM ;x",
    ] {
        let kind = [("Content-Type", kind)];
        let server = WebServer::always(answer(200, &kind, body.as_bytes()));
        let (said, ended) = ask(&mut client(&server.url("")));
        ended.expect("a stream");
        assert_eq!(said, "Hi");
    }
}

#[test]
fn an_answer_that_is_no_stream_is_an_error_that_shows_it() {
    let server = WebServer::always(answer(
        200,
        &[("Content-Type", "text/html")],
        b"<p>Log in to the hotel's network</p>",
    ));
    let (_, ended) = ask(&mut client(&server.url("")));
    let error = ended.expect_err("no stream").to_string();
    assert!(
        error.contains("text/html") && error.contains("hotel"),
        "{error}"
    );
}

#[test]
fn a_stream_that_grows_without_end_is_given_up() {
    let go_on = &mut |_| ControlFlow::Continue(());
    let thought = json!({"candidates": [{"content": {"parts": [
        {"text": "and ".repeat(256 * 1024), "thought": true}]}}]});
    let event = format!("data: {thought}\n\n");
    let mut stream = ResponseStream::new(false);
    let mut pushed = (0..100).map(|_| stream.push(event.as_bytes(), go_on));
    let error = pushed.find_map(Result::err).expect("no end");
    assert!(error.to_string().contains("more than"), "{error}");
    assert!(!error.is_worth_asking_again() || error.kind == ApiErrorKind::BadResponse);
}

#[test]
fn an_account_that_code_assist_no_longer_serves_is_told_what_to_use() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let refusal = json!({"error": {"code": 403, "message": "Not supported.", "status": "PERMISSION_DENIED",
        "details": [{"reason": "UNSUPPORTED_CLIENT"}]}});
    let no_tier = json!({"ineligibleTiers": [{"reasonCode": "UNSUPPORTED_CLIENT"}]});
    for answer in [
        json!({"status": 403, "body": refusal, "match": {"method": "loadCodeAssist"}}),
        json!({"body": no_tier, "match": {"method": "loadCodeAssist"}}),
        json!({"status": 403, "body": refusal}),
    ] {
        api.play(&json!({"answers": [answer], "closing": "Served."}));
        let mut client = client_by(&[
            ("GOOGLE_GENAI_USE_GCA", "true"),
            ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
            ("CODE_ASSIST_ENDPOINT", api.url()),
        ]);
        let error = ask(&mut client).1.expect_err("refused").to_string();
        for word in [
            "UNSUPPORTED_CLIENT",
            "GEMINI_API_KEY",
            "Vertex AI",
            "Enterprise",
        ] {
            assert!(error.contains(word), "{error}");
        }
    }
}
