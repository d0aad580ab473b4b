#!/usr/bin/env python3
# /// tool
# description = "Asks the user, with defaults."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if "form" not in ask.given:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    ask.want({"form": ask.form("Check these values.", fields, [])})
ask.say("Elicitation completed: " + str(ask.given["form"]))
