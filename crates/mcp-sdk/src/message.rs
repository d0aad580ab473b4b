//! Reads messages of JSON-RPC, from servers and from clients.
//!
//! A sender waits for the answer to its request until a time limit ends the wait. So a message that
//! can't be read must not be lost: its id is looked up even in text that is not valid JSON. An
//! answer that can't be read becomes an error, which ends the call; a request is refused under its
//! id. An answer is never answered: the sender would take that for the answer to its own request of
//! this id.

use gemini_tools_core::json;
use gemini_tools_core::text::excerpt;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The code of the error for an answer that can't be used. No sender has a reason to use it, so it
/// tells such an answer from a refusal.
pub(crate) const UNUSABLE: ErrorCode = ErrorCode(i32::MIN);

const NO_MESSAGE: &str = "That is not a message of JSON-RPC 2.0.";

pub(crate) const NOT_AN_OBJECT: &str = "its result is not an object";

const MAX_SHOWN_CHARS: usize = 500;

const MAX_ID_BYTES: usize = 1024;

/// A message, with its id if there is one. A request or notification is kept whole; of a response
/// only the result, which is an object, or the error is kept. What can't be read has an error for
/// its sender; an answer that can't be read has the error [`UNUSABLE`].
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Request(RequestId, Value),
    Notification(Value),
    Response(RequestId, Value),
    Error(Option<RequestId>, ErrorData),
    Unreadable(Option<RequestId>, ErrorData),
}

pub(crate) fn read(text: &[u8]) -> Message {
    // Some systems begin a text with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let (code, fault) = match json::check(text).map(|()| json::read_unlimited(text)) {
        Ok(Ok(Value::Object(map))) => return of_object(map),
        // Only protocol version 2025-03-26 had batches.
        Ok(Ok(Value::Array(_))) => {
            return no_message(
                "Batches are not supported: send each message alone, on a line or in a request of \
                 its own.",
            );
        }
        Ok(Ok(_)) => return no_message(NO_MESSAGE),
        Ok(Err(e)) => (
            ErrorCode::PARSE_ERROR,
            format!("can't be read as JSON: {e}"),
        ),
        Err(e) => (ErrorCode::INVALID_REQUEST, format!("is too large: {e}")),
    };
    match outline(text) {
        (id @ Some(_), Some(Kind::Answer)) => Message::Error(id, unusable(&format!("it {fault}"))),
        (id, kind) => {
            let error = ErrorData::new(code, format!("The message {fault}."), None);
            Message::Unreadable(id.filter(|_| kind.is_some()), error)
        }
    }
}

/// Returns the error for a text that is not a message. The error has no id, because under one it
/// could be taken for the answer to another request.
fn no_message(why: &'static str) -> Message {
    Message::Unreadable(None, ErrorData::invalid_request(why, None))
}

fn of_object(mut map: Map<String, Value>) -> Message {
    let id = map.get("id").and_then(|id| RequestId::deserialize(id).ok());
    if let Some(method) = map.get("method") {
        let is_valid = method.is_string() && map.get("jsonrpc").is_some_and(|it| it == "2.0");
        return match id {
            id if !is_valid => {
                Message::Unreadable(id, ErrorData::invalid_request(NO_MESSAGE, None))
            }
            Some(id) => Message::Request(id, map.into()),
            None if !map.contains_key("id") => Message::Notification(map.into()),
            None => no_message(NO_MESSAGE),
        };
    }
    let is_marked = map.contains_key("jsonrpc");
    // JSON-RPC 1.0 has both members, one of which is null.
    match (map.remove("error"), map.remove("result"), id) {
        // A line of a log may have an "error", too.
        (Some(error), _, id) if !error.is_null() && (is_marked || id.is_some()) => {
            Message::Error(id, error_data(&error))
        }
        (_, Some(result), Some(id)) if result.is_object() => Message::Response(id, result),
        (_, Some(other), id @ Some(_)) => {
            let shown = other.to_string();
            let shown = excerpt(&shown, MAX_SHOWN_CHARS);
            let why = format!("{NOT_AN_OBJECT}: {shown}");
            Message::Error(id, unusable(&why))
        }
        (_, None, id @ Some(_)) if is_marked => {
            Message::Error(id, unusable("it has neither a result nor an error"))
        }
        _ => no_message(NO_MESSAGE),
    }
}

pub(crate) fn unusable(why: &str) -> ErrorData {
    let message = format!("it answered with what can't be used: {why}");
    ErrorData::new(UNUSABLE, message, None)
}

/// Returns the error of a response. Whatever form the sender has given it, the request has failed,
/// so an error in a wrong form is passed on in the sender's words.
fn error_data(error: &Value) -> ErrorData {
    ErrorData::deserialize(error).unwrap_or_else(|_| {
        let message = error.as_str().or_else(|| error["message"].as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        let data = error.get("data").cloned();
        ErrorData::new(ErrorCode::INTERNAL_ERROR, message, data)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Answer,
}

pub(crate) fn request_id(text: &[u8]) -> Option<RequestId> {
    let (id, kind) = outline(text);
    id.filter(|_| kind == Some(Kind::Request))
}

/// Finds the id and the kind of a message among the members of its outermost object. The text need
/// not be valid JSON.
fn outline(text: &[u8]) -> (Option<RequestId>, Option<Kind>) {
    let (mut id, mut kind) = (None, None);
    let (mut depth, mut at, mut name) = (0_usize, 0, &b""[..]);
    if text.first() != Some(&b'{') {
        return (None, None);
    }
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let length = string_length(&text[at..]);
                name = &text[at..at + length];
                at += length + 1;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 => match name {
                b"id" => {
                    let value = &text[at..text.len().min(at + MAX_ID_BYTES)];
                    let mut values = serde_json::Deserializer::from_slice(value).into_iter();
                    id = values.next().and_then(Result::ok);
                }
                b"method" => kind = Some(Kind::Request),
                b"jsonrpc" | b"result" | b"error" => {
                    kind = kind.or(Some(Kind::Answer));
                }
                _ => {}
            },
            _ => {}
        }
    }
    (id, kind)
}

fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let closes = |&byte: &u8| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    };
    text.iter().position(closes).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::{Message, read, request_id};

    fn kind(text: &str) -> (String, i32) {
        let (kind, id, code) = match read(text.as_bytes()) {
            Message::Request(id, _) => ("request", Some(id), 0),
            Message::Notification(_) => ("notification", None, 0),
            Message::Response(id, _) => ("response", Some(id), 0),
            Message::Error(id, e) => ("error", id, e.code.0),
            Message::Unreadable(id, e) => ("unreadable", id, e.code.0),
        };
        let id = id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        (format!("{kind} {id}"), code)
    }

    #[test]
    fn every_line_is_of_one_kind_and_its_id_is_found() {
        let deep = format!(r#"{{"id":7,"method":"m","p":{}"#, "[".repeat(200));
        for (text, expected, code) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, "request 7", 0),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "notification -", 0),
            (r#"{"id":7,"method":"m"}"#, "unreadable 7", -32600),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
                "unreadable 7",
                -32600,
            ),
            (r#"{"id":7.0,"result":{}}"#, "response 7", 0),
            (r#"{"id":7,"result":{},"error":null}"#, "response 7", 0),
            ("\u{feff}{\"id\":\"a\",\"result\":{}}", "response a", 0),
            (r#"{"id":7,"result":{"a":"\ud83d"}}"#, "response 7", 0),
            (r#"{"id":7,"result":null,"error":"no"}"#, "error 7", -32603),
            (
                r#"{"id":7,"result":{},"error":{"code":5,"message":"no"}}"#,
                "error 7",
                5,
            ),
            (
                r#"{"id":7,"error":{"code":1.5,"message":"no"}}"#,
                "error 7",
                -32603,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
                "error -",
                -32603,
            ),
            (r#"{"id":7,"result":[]}"#, "error 7", i32::MIN),
            (r#"{"jsonrpc":"2.0","id":7}"#, "error 7", i32::MIN),
            (r#"{"result":NaN,"id":7}"#, "error 7", i32::MIN),
            (r#"{"id":7,"a":"\"","result":1e400}"#, "error 7", i32::MIN),
            (&deep, "unreadable 7", -32700),
            (r#"{"id":7,"method":"m""#, "unreadable 7", -32700),
            (r#"{"x":{"id":7},"method":"m""#, "unreadable -", -32700),
            (r#"{"id":{},"method":"m"}"#, "unreadable -", -32600),
            (
                r#"{"id":7,"msg":"a line of a log"}"#,
                "unreadable -",
                -32600,
            ),
            (r#"{"error":"a line of a log"}"#, "unreadable -", -32600),
            (r#"{"id":7,"msg":NaN}"#, "unreadable -", -32700),
            ("{", "unreadable -", -32700),
            ("nonsense", "unreadable -", -32700),
            ("[]", "unreadable -", -32600),
            ("1", "unreadable -", -32600),
        ] {
            assert_eq!(kind(text), (expected.to_owned(), code), "{text}");
        }
    }

    #[test]
    fn only_requests_have_the_id_of_a_request() {
        let is_request = |text: &str| request_id(text.as_bytes()).is_some();
        assert!(is_request(
            r#"{"params":{"id":{"a":[1]}},"id":7,"method":"m"}"#
        ));
        assert!(!is_request(r#"{"id":7,"result":{"method":"m"}}"#));
        assert!(!is_request(r#"{"method":"m","params":{"id":7}}"#));
    }
}
