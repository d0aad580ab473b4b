#!/bin/sh
# /// tool
# description = "Answers with a sound without samples."
# kind = "read"
# output = "tool_result"
# ///
cat <<'END'
{"llmContent": {"inlineData": {"mimeType": "audio/wav", "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="}}}
END
