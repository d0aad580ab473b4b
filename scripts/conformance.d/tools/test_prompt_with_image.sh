#!/bin/sh
# /// tool
# description = "A prompt with a picture of one pixel."
# kind = "read"
# output = "tool_result"
# prompt = true
# ///
cat <<'END'
{"llmContent": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="}}, "What is this?"]}
END
