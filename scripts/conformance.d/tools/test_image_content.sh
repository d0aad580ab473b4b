#!/bin/sh
# /// tool
# description = "Answers with a picture of one pixel."
# kind = "read"
# output = "tool_result"
# ///
cat <<'END'
{"llmContent": {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="}}}
END
