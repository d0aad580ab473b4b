#!/bin/sh
# /// tool
# description = "Fails."
# kind = "read"
# output = "tool_result"
# ///
cat <<'END'
{"error": {"message": "This tool intentionally returns an error for testing"}}
END
