#!/usr/bin/env python3
# /// tool
# description = "Asks the user for a name."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

name = (ask.answer("user_name") or {}).get("name")
if not isinstance(name, str):
    ask.want({"user_name": ask.form("What is your name?", {"name": ask.TEXT})})
ask.say(f"Hello, {name}!")
