#!/usr/bin/env python3
# /// tool
# description = "Asks the user at once, and takes long then."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys
import time

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

name = (ask.answer("user_name") or {}).get("name")
if name is None:
    ask.want({"user_name": ask.form("What is your name?", {"name": ask.TEXT})})
time.sleep(1.2)
ask.say(f"Hello, {name}!")
