#!/usr/bin/env python3
# /// tool
# description = "Asks the user."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if not ask.given:
    ask.want({"who": ask.form("Who are you?", {"name": ask.TEXT})})
ask.say("Thank you.")
