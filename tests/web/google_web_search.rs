//! `google_web_search`: the request is Gemini CLI's on each way in, the credential comes from the user alone, and the
//! answer has its sources where they belong. Faults on the way are in [`super::gemini_api`].

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::harness::stand_in::StandIn;
use crate::harness::web_server::WebServer;
use crate::harness::{Call, Workspace};

const QUERY: &str = "weather in Berlin";

fn search<'a>(ws: &'a Workspace, query: &str) -> Call<'a> {
    ws.tool("google_web_search")
        .arguments(&json!({ "query": query }))
}

/// The variables of each way in that Gemini CLI was recorded on.
fn ways(api: &str) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let set = |vars: &[(&'static str, &str)]| {
        vars.iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect::<Vec<_>>()
    };
    vec![
        (
            "api-key",
            set(&[("GEMINI_API_KEY", "k"), ("GOOGLE_GEMINI_BASE_URL", api)]),
        ),
        (
            "vertex-with-key",
            set(&[
                ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
                ("GOOGLE_API_KEY", "k"),
                ("GOOGLE_VERTEX_BASE_URL", api),
            ]),
        ),
        (
            "vertex-with-token",
            set(&[
                ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
                ("GOOGLE_CLOUD_PROJECT", "stand-in-project"),
                ("GOOGLE_CLOUD_LOCATION", "us-central1"),
                ("GOOGLE_VERTEX_BASE_URL", api),
            ]),
        ),
        (
            "code-assist",
            set(&[
                ("GOOGLE_GENAI_USE_GCA", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
                ("CODE_ASSIST_ENDPOINT", api),
            ]),
        ),
    ]
}

/// A body with its texts and ids taken out, so that the structure is left.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let own = fields.iter().map(|(key, value)| match key.as_str() {
                "text" | "user_prompt_id" | "session_id" => (key.clone(), json!("…")),
                _ => (key.clone(), shape(value)),
            });
            Value::Object(own.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

/// The names of headers that say something to the API, in order.
fn header_names(headers: &Value) -> Vec<String> {
    let of_node = [
        "accept",
        "accept-encoding",
        "accept-language",
        "sec-fetch-mode",
        "x-goog-api-client",
    ];
    let of_connection = ["host", "connection", "content-length", "transfer-encoding"];
    let keys = headers.as_object().expect("headers").keys();
    let mut names: Vec<_> = keys
        .filter(|k| !of_node.contains(&k.as_str()) && !of_connection.contains(&k.as_str()))
        .cloned()
        .collect();
    names.sort();
    names
}

#[test]
fn every_way_in_sends_what_gemini_cli_sends() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/requests/gemini-cli-0.8.2.json");
    let recorded: Value =
        serde_json::from_str(&fs::read_to_string(file).expect("the file")).expect("JSON");
    let ws = Workspace::new();
    for (way, vars) in ways(api.url()) {
        for (kind, tool, arguments) in [
            ("search", "google_web_search", json!({ "query": QUERY })),
            ("fetch", "web_fetch", json!({"prompt": recorded["fetch"]})),
        ] {
            api.play(&json!({}));
            let call = ws.tool(tool).arguments(&arguments);
            vars.iter()
                .fold(call, |call, (name, value)| call.env(name, value))
                .run()
                .output();
            let requests = api.requests();
            let own = requests
                .iter()
                .find(|r| r["kind"] == kind)
                .expect("a request");
            let theirs = &recorded["ways"][way][kind][0];
            assert_eq!(own["path"], theirs["path"], "{way} {kind}");
            assert_eq!(shape(&own["body"]), shape(&theirs["body"]), "{way} {kind}");
            assert_eq!(
                header_names(&own["headers"]),
                header_names(&theirs["headers"]),
                "{way} {kind}"
            );
            for name in ["content-type", "x-goog-api-key", "authorization"] {
                let expected = theirs["headers"][name]
                    .as_str()
                    .map(|v| v.replace("<key>", "k").replace("<token>", "t"));
                assert_eq!(
                    own["headers"][name].as_str().map(str::to_owned),
                    expected,
                    "{way} {kind} {name}"
                );
            }
            let text = |request: &Value| {
                let inner = request["body"]
                    .get("request")
                    .unwrap_or(&request["body"])
                    .clone();
                inner["contents"][0]["parts"][0]["text"].clone()
            };
            assert_eq!(
                text(own),
                text(theirs),
                "{way} {kind}: the prompt goes as it is"
            );
        }
    }
}

#[test]
fn an_answer_has_its_sources_where_they_belong() {
    let text = "Résumé: 5 °C. Later rain.";
    let (first, whole) = (text.find(" Later").expect("a place"), text.len());
    let support = |end: usize, sources: &[usize]| json!({"segment": {"startIndex": 0, "endIndex": end}, "groundingChunkIndices": sources});
    let script = json!({"search": {"text": text, "groundingMetadata": {
        "webSearchQueries": ["x"],
        "groundingChunks": [
            {"web": {"uri": "https://one.example/", "title": "One\nsource"}},
            {"web": {"uri": "https://two.example/"}},
            {"retrievedContext": {"uri": "x"}},
        ],
        "groundingSupports": [support(whole, &[0, 2]), support(first, &[1]), support(first, &[0, 1]), support(whole, &[0])],
    }}});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let call = search(&ws, QUERY)
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url());
    let expected = format!(
        "Web search results for \"{QUERY}\":\n\nRésumé: 5 °C.[2][1] Later rain.[1][3]\n\nSources:\n\
         [1] One source (https://one.example/)\n[2] Untitled (https://two.example/)\n[3] Untitled (no address)"
    );
    assert_eq!(call.run().output(), expected);
    let call = search(&ws, QUERY)
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url());
    let result = call.flags(&["--output", "result"]).run().json();
    let sources = result["data"]["sources"].as_array().expect("a list");
    assert_eq!(sources[0]["web"]["uri"], "https://one.example/");
    assert_eq!(sources.len(), 3);
}

#[test]
fn without_a_credential_the_error_says_which_to_set() {
    let ws = Workspace::new();
    let answer = search(&ws, QUERY).run();
    answer.must_say(
        &answer.error("web_search_failed", 1),
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    );
    let answer = search(&ws, QUERY)
        .env("GOOGLE_GENAI_USE_VERTEXAI", "true")
        .run();
    answer.must_say(
        &answer.error("web_search_failed", 1),
        &["GOOGLE_API_KEY", "GOOGLE_CLOUD_LOCATION"],
    );
    let answer = search(&ws, QUERY).env("GOOGLE_GENAI_USE_GCA", "true").run();
    answer.must_say(
        &answer.error("web_search_failed", 1),
        &["GOOGLE_CLOUD_ACCESS_TOKEN"],
    );
}

#[test]
fn the_users_own_files_let_in() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let far = 99_999_999_999_999_u64;
    let token =
        |expiry: u64| json!({"access_token": "file-token", "expiry_date": expiry}).to_string();
    let key = format!(
        "export GEMINI_API_KEY='file-key' # mine\nGOOGLE_GEMINI_BASE_URL={}\n",
        api.url()
    );
    let endpoint = format!("CODE_ASSIST_ENDPOINT={}\n", api.url());
    let chosen = r#"{"security": {"auth": {"selectedType": "oauth-personal"}}}"#;
    let header = || {
        api.requests().last().map(|r| {
            let headers = &r["headers"];
            headers["x-goog-api-key"]
                .as_str()
                .or(headers["authorization"].as_str())
                .map(str::to_owned)
        })
    };
    for (files, expected) in [
        (vec![(".gemini/.env", key.clone())], "file-key"),
        (
            vec![
                (".gemini/.env", endpoint.clone()),
                (".gemini/oauth_creds.json", token(far)),
            ],
            "Bearer file-token",
        ),
        (
            vec![
                (".gemini/.env", key.clone() + &endpoint),
                (".gemini/oauth_creds.json", token(far)),
                (".gemini/settings.json", chosen.to_owned()),
            ],
            "Bearer file-token",
        ),
        (
            vec![
                (".gemini/.env", key.clone() + &endpoint),
                (".gemini/oauth_creds.json", token(1)),
                (".gemini/settings.json", chosen.to_owned()),
            ],
            "file-key",
        ),
    ] {
        let ws = files
            .iter()
            .fold(Workspace::new(), |ws, (name, text)| ws.home(name, text));
        search(&ws, QUERY).run().output();
        assert_eq!(header(), Some(Some(expected.to_owned())), "{files:?}");
    }
    // What is set for the process goes first.
    let ws = Workspace::new().home(".gemini/.env", &key);
    search(&ws, QUERY)
        .env("GEMINI_API_KEY", "own-key")
        .run()
        .output();
    assert_eq!(header(), Some(Some("own-key".to_owned())));
}

#[test]
fn a_projects_files_neither_let_in_nor_name_an_address() {
    let canary = WebServer::canary();
    let base = format!("http://127.0.0.1:{}", canary.port());
    let env = format!(
        "GEMINI_API_KEY=project-key\nGOOGLE_GEMINI_BASE_URL={base}\nCODE_ASSIST_ENDPOINT={base}\n\
         GOOGLE_VERTEX_BASE_URL={base}\nhttps_proxy={base}\nall_proxy={base}\nGEMINI_TOOLS_DNS=127.0.0.1:1\n"
    );
    let settings = json!({"security": {"auth": {"selectedType": "vertex-ai"}}, "selectedAuthType": "vertex-ai"});
    let ws = Workspace::new()
        .file(".env", &env)
        .file(".gemini/.env", &env)
        .file(
            ".gemini/oauth_creds.json",
            json!({"access_token": "t", "expiry_date": 99_999_999_999_999_u64}).to_string(),
        )
        .file(".gemini/settings.json", settings.to_string());
    let answer = search(&ws, QUERY).run();
    answer.must_say(
        &answer.error("web_search_failed", 1),
        &["There is no credential", "GEMINI_API_KEY"],
    );
    assert_eq!(canary.connections(), 0);
    // Nor does the key of the user go to where the project would have it.
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let call = search(&ws, QUERY)
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url());
    call.run().output();
    assert_eq!((canary.connections(), api.requests().len()), (0, 1));
}

#[test]
fn a_query_must_say_something() {
    let ws = Workspace::new();
    for arguments in [
        json!({}),
        json!({"query": ""}),
        json!({"query": " \n"}),
        json!({"query": 7}),
    ] {
        let message = ws
            .call("google_web_search", &arguments)
            .error("invalid_tool_params", 2);
        assert!(message.contains("query"), "{arguments}: {message}");
    }
}

#[test]
fn explaining_asks_nobody_and_needs_no_confirmation() {
    let canary = WebServer::canary();
    let ws = Workspace::new();
    let base = format!("http://127.0.0.1:{}", canary.port());
    let call = search(&ws, QUERY)
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", &base);
    let plan = call.flags(&["--explain"]).run().json();
    assert_eq!(plan["confirmation"], false);
    assert!(
        plan["description"]
            .as_str()
            .is_some_and(|d| d.contains(QUERY)),
        "{plan}"
    );
    assert_eq!(canary.connections(), 0);
}

#[test]
fn the_model_is_the_users_choice() {
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let ws = Workspace::new();
    let call = search(&ws, QUERY)
        .env("GEMINI_API_KEY", "k")
        .env("GOOGLE_GEMINI_BASE_URL", api.url());
    call.env("GEMINI_TOOLS_MODEL", "gemini-9").run().output();
    assert_eq!(
        api.requests()[0]["path"],
        "/v1beta/models/gemini-9:generateContent"
    );
}
