#!/bin/sh
# /// tool
# description = "Answers with a text, a picture and a file."
# kind = "read"
# output = "tool_result"
# ///
cat <<'END'
{"llmContent": ["Multiple content types test:", {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="}}, {"inlineData": {"mimeType": "application/json", "data": "eyJ0ZXN0IjoiZGF0YSIsInZhbHVlIjoxMjN9"}}]}
END
