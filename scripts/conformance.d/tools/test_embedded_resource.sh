#!/bin/sh
# /// tool
# description = "Answers with a file."
# kind = "read"
# output = "tool_result"
# ///
cat <<'END'
{"llmContent": {"inlineData": {"mimeType": "text/plain", "data": "VGhpcyBpcyBhbiBlbWJlZGRlZCByZXNvdXJjZSBjb250ZW50Lg=="}}}
END
