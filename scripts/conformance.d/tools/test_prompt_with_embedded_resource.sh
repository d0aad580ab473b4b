#!/bin/sh
# /// tool
# description = "A prompt with a file."
# kind = "read"
# output = "tool_result"
# prompt = true
# [params]
# resourceUri = { type = "string", required = true, description = "Which." }
# ///
cat <<'END'
{"llmContent": [{"inlineData": {"mimeType": "text/plain", "data": "VGV4dA=="}}, "Sum it up."]}
END
