//! The way to the Gemini API, as `google_web_search` goes it: every fault of the stand-in ends in an answer after another
//! try, or in one error that names the status and what to do; the credential goes to the API and nowhere else.

use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::stand_in::StandIn;
use crate::harness::web_server::{WebServer, status};
use crate::harness::{Answer, Call, Workspace};

/// No part of it may be seen anywhere but in the header that lets in.
const KEY: &str = "canary-key-0123456789";

fn search<'a>(ws: &'a Workspace, api: &str) -> Call<'a> {
    let arguments = json!({"query": "weather in Berlin"});
    let call = ws.tool("google_web_search").arguments(&arguments);
    call.env("GEMINI_API_KEY", KEY)
        .env("GOOGLE_GEMINI_BASE_URL", api)
}

#[track_caller]
fn is_kept(answer: &Answer) {
    for stream in [&answer.stdout, &answer.stderr] {
        if String::from_utf8_lossy(stream).contains("canary-key") {
            answer.fail("the key is shown");
        }
    }
}

#[track_caller]
fn played(api: &StandIn, script: &Value) -> Answer {
    api.play(script);
    let answer = search(&Workspace::new(), api.url()).run();
    is_kept(&answer);
    answer
}

#[test]
fn what_may_pass_is_tried_again() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for fault in [
        json!({"fault": "429"}),
        json!({"fault": "429", "retryAfter": 1}),
        json!({"fault": "429", "retryAfterDate": 1}),
        json!({"fault": "429", "retryDelay": "0.2s", "times": 2}),
        json!({"fault": "500"}),
        json!({"fault": "503", "times": 2}),
        json!({"fault": "503", "retryAfter": 1}),
        json!({"fault": "html", "status": 502}),
        json!({"fault": "html", "status": 200}),
        json!({"fault": "cut"}),
        json!({"fault": "cut", "reset": true}),
        json!({"fault": "half"}),
        json!({"fault": "wrong-json"}),
        json!({"fault": "hang-up"}),
    ] {
        let answer = played(&api, &json!({"faults": [fault]}));
        answer.must_say(&answer.output(), &["A second finding."]);
        let times = fault["times"].as_u64().unwrap_or(1) as usize;
        assert_eq!(api.requests().len(), times + 1, "{fault}");
    }
}

#[test]
fn what_does_not_pass_is_one_error_that_names_the_status_and_what_to_do() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for (script, requests, pieces) in [
        (
            json!({"fault": "429", "perDay": true}),
            1,
            &["429", "RESOURCE_EXHAUSTED", "quota of the day"][..],
        ),
        (
            json!({"fault": "429", "perDay": true, "retryDelay": "1s"}),
            1,
            &["quota of the day is used up. Try again later."],
        ),
        (
            json!({"fault": "429", "retryAfter": 3600}),
            1,
            &["429", "3600 s"],
        ),
        (
            json!({"fault": "429", "retryDelay": "999s"}),
            1,
            &["429", "999 s"],
        ),
        (
            json!({"fault": "redirect"}),
            1,
            &["302", "GOOGLE_GEMINI_BASE_URL"],
        ),
        (
            json!({"fault": "redirect", "status": 308}),
            1,
            &["308", "not followed"],
        ),
        (
            json!({"fault": "SAFETY"}),
            1,
            &["blocked", "SAFETY", "Rephrase"],
        ),
        (
            json!({"fault": "blocked", "reason": "PROHIBITED_CONTENT"}),
            1,
            &["PROHIBITED_CONTENT"],
        ),
        (json!({"fault": "RECITATION"}), 1, &["RECITATION"]),
    ] {
        let mut fault = script.clone();
        fault["times"] = "always".into();
        let answer = played(&api, &json!({"faults": [fault]}));
        let message = answer.error("web_search_failed", 1);
        answer.must_say(&message, pieces);
        assert_eq!(api.requests().len(), requests, "{script}");
    }
    for (code, pieces) in [
        (400, &["400"][..]),
        (401, &["401", "log in again"]),
        (403, &["403", "enabled"]),
        (404, &["404", "gemini-2.5-flash", "GEMINI_TOOLS_MODEL"]),
        (413, &["413"]),
        (418, &["418"]),
    ] {
        let entry = json!({"status": code, "match": {}, "times": "always"});
        let answer = played(&api, &json!({"answers": [entry]}));
        answer.must_say(&answer.error("web_search_failed", 1), pieces);
        assert_eq!(api.requests().len(), 1, "{code}");
    }
}

#[test]
fn a_trouble_that_stays_is_told_with_the_number_of_attempts() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let fault = json!({"fault": "503", "times": "always"});
    let answer = played(&api, &json!({"faults": [fault]}));
    let message = answer.error("web_search_failed", 1);
    answer.must_say(
        &message,
        &["503", "UNAVAILABLE", "overloaded", "5 attempts", "later"],
    );
    assert_eq!(api.requests().len(), 5);
    // No longer than the call may last.
    api.play(&json!({"faults": [{"fault": "429", "retryAfter": 20, "times": "always"}]}));
    let ws = Workspace::new();
    let answer = search(&ws, api.url())
        .env("GEMINI_TOOLS_TIMEOUT", "5")
        .run();
    answer.must_say(&answer.error("web_search_failed", 1), &["429", "20 s"]);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn answers_without_content_and_unfinished_ones_are_answers() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    for what in [
        "list",
        "absent",
        "candidate",
        "content",
        "role",
        "parts",
        "text",
    ] {
        let fault = json!({"fault": "empty", "what": what});
        let output = played(&api, &json!({"faults": [fault]})).output();
        assert!(output.contains("No search results"), "{what}: {output}");
    }
    let output = played(&api, &json!({"faults": [{"fault": "MAX_TOKENS"}]})).output();
    assert!(output.contains("This answer ends before"), "{output}");
    let output = played(
        &api,
        &json!({"faults": [{"fault": "slow", "bytes": 64, "everyMs": 1}]}),
    )
    .output();
    assert!(output.contains("A second finding."), "{output}");
    // A huge one is cut for the model, and kept in a file.
    api.play(&json!({"faults": [{"fault": "huge", "mib": 8}]}));
    let ws = Workspace::new();
    let output = search(&ws, api.url()).unwatched().run().output();
    assert!(output.len() < 50_000, "{}", output.len());
}

#[test]
fn a_redirect_gets_no_credential() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let canary = WebServer::canary();
    for code in [301, 302, 303, 307, 308] {
        let location = format!("http://127.0.0.1:{}/elsewhere", canary.port());
        let fault = json!({"fault": "redirect", "status": code, "location": location});
        let answer = played(&api, &json!({"faults": [fault]}));
        answer.must_say(&answer.error("web_search_failed", 1), &[&code.to_string()]);
        assert_eq!((canary.connections(), api.requests().len()), (0, 1));
    }
}

#[test]
fn the_key_is_never_shown() {
    let ws = Workspace::new();
    let echo = |code: u16| {
        let body = json!({"error": {"code": code, "status": "ODD", "message":
            format!("The key {KEY} of x-goog-api-key: {KEY} is odd.")}});
        status(code, "application/json", body.to_string())
    };
    for answer in [
        echo(400),
        echo(403),
        status(400, "text/html", format!("<p>{KEY}</p>")),
        status(200, "application/json", format!("{{\"x\": \"{KEY}\"")),
        status(200, "text/plain", KEY),
    ] {
        let server = WebServer::always(answer);
        // Long enough for every attempt: one that begins just before the end would end with the call.
        let call = search(&ws, &server.url("")).env("GEMINI_TOOLS_TIMEOUT", "60");
        let answer = call.run();
        is_kept(&answer);
        answer.must_say(&answer.error("web_search_failed", 1), &["***"]);
        let asked = &server.asked()[0];
        assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
        assert!(
            !asked.target.contains("canary"),
            "not in the address: {}",
            asked.target
        );
    }
    for base in [
        "http://127.0.0.1:1",
        "nothing",
        "file:///x",
        "http://canary-key@127.0.0.1:1",
    ] {
        let answer = search(&ws, base).env("GEMINI_TOOLS_TIMEOUT", "3").run();
        is_kept(&answer);
        // An attempt that begins just before the end ends with the call.
        assert!(matches!(answer.status(), 1 | 124), "{}", answer.shown());
    }
    // A key that no header can hold.
    let odd = search(&ws, "http://127.0.0.1:1").env("GEMINI_API_KEY", "canary-key\n1");
    let answer = odd.run();
    is_kept(&answer);
    answer.error("web_search_failed", 1);
    for flags in [&["--explain"][..], &["--output", "result"]] {
        let answer = search(&ws, "nothing").flags(flags).run();
        is_kept(&answer);
    }
}

#[test]
fn a_wrong_credential_is_told_with_what_to_do() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let ws = Workspace::new();
    let answer = search(&ws, api.url()).env("GEMINI_API_KEY", "wrong").run();
    answer.must_say(
        &answer.error("web_search_failed", 1),
        &["400", "API key not valid", "GEMINI_API_KEY"],
    );
    let call = ws
        .tool("google_web_search")
        .arguments(&json!({"query": "x"}));
    let call = call
        .env("GOOGLE_GENAI_USE_GCA", "true")
        .env("GOOGLE_CLOUD_ACCESS_TOKEN", "expired");
    let answer = call.env("CODE_ASSIST_ENDPOINT", api.url()).run();
    answer.must_say(&answer.error("web_search_failed", 1), &["401", "log in"]);
}

#[test]
fn a_signal_during_a_slow_answer_ends_the_call() {
    let server = WebServer::new(|_, line| {
        line.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")?;
        line.send_forever(b" ", Duration::from_millis(20))
    });
    let silent = WebServer::new(|_, line| line.be_silent());
    let waiting = WebServer::always(crate::harness::web_server::answer(
        429,
        &[("Retry-After", "25")],
        b"",
    ));
    for server in [&server, &silent, &waiting] {
        let ws = Workspace::new();
        let mut command = search(&ws, &server.url("")).command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("call_tool starts");
        let stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut { stdin }, b"{\"query\": \"x\"}").expect("it reads");
        while server.asked().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100));
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a child of ours");
        let mut said = String::new();
        child
            .stdout
            .take()
            .expect("piped")
            .read_to_string(&mut said)
            .expect("UTF-8");
        let code = child.wait().expect("a child of ours").code();
        assert_eq!(code, Some(143), "{said}");
        let said: Value = serde_json::from_str(&said).expect("one document");
        let error_type = &said["functionResponse"]["response"]["errorType"];
        assert_eq!(error_type, "cancelled", "{said}");
    }
}

#[test]
fn the_name_of_a_model_changes_no_path() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let ws = Workspace::new();
    let named = |model: &str| {
        search(&ws, api.url())
            .env("GEMINI_TOOLS_MODEL", model)
            .run()
    };
    for model in ["../../../evil", "..", "models/../m", "a/b", "a\\b"] {
        let failure = named(model).failure();
        assert!(
            failure.message.contains("is not a valid name of a model"),
            "{failure:?}"
        );
    }
    assert_eq!(api.requests().len(), 0);
    named("m?key=x#y").output();
    assert_eq!(
        api.requests()[0]["path"],
        "/v1beta/models/m%3Fkey=x%23y:generateContent"
    );
}
