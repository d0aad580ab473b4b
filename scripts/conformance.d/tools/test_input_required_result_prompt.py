#!/usr/bin/env python3
# /// tool
# description = "A prompt that asks the user first."
# kind = "read"
# output = "tool_result"
# prompt = true
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

context = (ask.answer("user_context") or {}).get("context")
if context is None:
    ask.want({"user_context": ask.form("What context should the prompt use?", {"context": ask.TEXT})})
ask.say(f"Work with this: {context}")
