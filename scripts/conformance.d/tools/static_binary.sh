#!/bin/sh
# /// tool
# description = "A picture of one pixel."
# kind = "read"
# output = "tool_result"
# resource = "test://static-binary"
# ///
cat <<'END'
{"llmContent": {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="}}}
END
