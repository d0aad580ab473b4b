#!/usr/bin/env python3
# /// tool
# description = "Asks the user two things at once, after a moment."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys
import time

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

time.sleep(1.2)
if not ask.given:
    ask.want({"one": ask.form("One?", {"name": ask.TEXT}), "two": ask.form("Two?", {"name": ask.TEXT})})
ask.say("Answered: " + str(ask.given))
