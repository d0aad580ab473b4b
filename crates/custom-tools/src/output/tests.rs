use super::{Printed, error_kind, from_data_url, of_json, printed};
use gemini_tools_core::tool::{Display, ErrorKind, ToolResult};
use serde_json::json as j;

fn tool_result(stdout: &[u8]) -> Result<ToolResult, String> {
    match printed(stdout)? {
        Printed::Result(result) => Ok(*result),
        Printed::Wanted(wanted) => Err(format!("it wants {wanted:?}")),
    }
}

#[test]
fn a_question_takes_the_place_of_a_result() {
    let asks = j!({"inputRequests": {"who": {"method": "roots/list"}}, "requestState": "1"});
    let Ok(Printed::Wanted(wanted)) = printed(asks.to_string().as_bytes()) else {
        panic!("not a question");
    };
    assert_eq!(wanted.state.as_deref(), Some("1"));
    assert_eq!(wanted.requests["who"]["method"], "roots/list");
}

#[test]
fn a_whole_result_is_taken_strictly() {
    let good = j!({"llmContent": ["a", {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
        "returnDisplay": "b", "data": {"n": 1}, "tailToolCallRequest": {"name": "t", "args": {}}});
    let result = tool_result(good.to_string().as_bytes()).expect("a result");
    assert!(result.tail_tool_call_request.is_some() && result.error.is_none());
    for (value, expected) in [
        (
            j!([]),
            "expected an object with llmContent, error or inputRequests",
        ),
        (j!({"inputRequests": {}}), "its inputRequests are empty"),
        (j!({"llm_content": "a"}), "Did you mean \"llmContent\"?"),
        (j!({}), "\"llmContent\" is missing"),
        (j!({"llmContent": 1}), "a text, a part, or a list"),
        (j!({"llmContent": [1]}), "\"llmContent[0]\" can't be used"),
        (j!({"llmContent": {}}), "\"llmContent\" can't be used"),
        (
            j!({"llmContent": {"text": "a", "x": 1}}),
            "\"llmContent\" can't be used",
        ),
        (
            j!({"llmContent": {"inlineData": {"data": "AAAA"}}}),
            "missing field `mimeType`",
        ),
        (
            j!({"llmContent": {"inlineData": {"mimeType": "a/b", "data": "*"}}}),
            "not base64",
        ),
        (
            j!({"llmContent": {"odd": 1}}),
            "expected one of `text`, `inlineData`, `fileData`",
        ),
        (
            j!({"llmContent": "a", "returnDisplay": 1}),
            "\"returnDisplay\" must be",
        ),
        (j!({"llmContent": "a", "data": 1}), "expected a map"),
        (
            j!({"error": "x"}),
            "expected an object with message and type",
        ),
        (j!({"error": {"message": 1}}), "expected a string"),
        (
            j!({"error": {"message": "m", "kind": 1}}),
            "unknown field `kind`",
        ),
        (
            j!({"llmContent": {"type": "image", "image": {"url": "https://x.test/a.png"}}}),
            "its url must be a data URL",
        ),
        (
            j!({"llmContent": [{"type": "image", "url": "data:,"}]}),
            "\"llmContent[0]\" can't be used: ",
        ),
        (
            j!({"llmContent": {"type": "chart", "chart": {}}}),
            "expected one of `text`, `image`",
        ),
        (
            j!({"llmContent": "a", "returnDisplay": {"fileDiff": 1}}),
            "\"returnDisplay\" can't be used",
        ),
        (
            j!({"llmContent": "a", "tailToolCallRequest": {"name": "t"}}),
            "missing field `args`",
        ),
    ] {
        let text = tool_result(value.to_string().as_bytes()).expect_err(expected);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn an_error_keeps_its_type_in_both_spellings_and_its_message_in_any_case() {
    for name in ["FILE_NOT_FOUND", "file_not_found"] {
        assert_eq!(error_kind(name), ErrorKind::FileNotFound, "{name}");
    }
    for name in ["EXECUTION_FAILED", "NO_SUCH_TYPE", ""] {
        assert_eq!(error_kind(name), ErrorKind::ExecutionFailed, "{name}");
    }
    let odd = j!({"error": {"message": "the tool's own", "type": "ODD"}});
    let result = tool_result(odd.to_string().as_bytes()).expect("a result");
    let error = result.error.expect("an error");
    assert_eq!(error.message, "the tool's own");
}

#[test]
fn displays_of_every_sort_are_taken() {
    let display = |display: serde_json::Value| {
        let whole = j!({"llmContent": "a", "returnDisplay": display});
        let result = tool_result(whole.to_string().as_bytes()).expect("a result");
        result.return_display
    };
    let diff = display(j!({"fileDiff": "d", "fileName": "f"}));
    assert!(matches!(diff, Display::FileDiff(_)));
    for other in [
        j!({"todos": [{"description": "d"}]}),
        j!([[{"text": "red"}]]),
    ] {
        assert_eq!(display(other.clone()), Display::Other(other));
    }
}

#[test]
fn a_data_url_has_a_type_and_base64() {
    for url in [
        "data:image/png;base64,AAAA",
        "DATA:image/PNG;charset=x;base64,AAAA",
    ] {
        let media = from_data_url(url).expect("media");
        assert_eq!((&*media.mime_type, &*media.data), ("image/png", "AAAA"));
    }
    for bad in [
        "",
        "data:",
        "é",
        "data:image/png,AAAA",
        "data:;base64,AAAA",
        "http://a/b;base64,c",
    ] {
        assert_eq!(from_data_url(bad), None, "{bad}");
    }
}

#[test]
fn json_is_text_and_data() {
    let result = of_json(b" [1, 2]\n").expect("JSON");
    assert_eq!(j!(result.data), j!({"value": [1, 2]}));
    for bad in [&b""[..], b"{", b"\xff"] {
        assert!(of_json(bad).is_err());
    }
}
