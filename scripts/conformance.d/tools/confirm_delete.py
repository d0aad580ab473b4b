#!/usr/bin/env python3
# /// tool
# description = "Asks the user, after a moment."
# kind = "read"
# output = "tool_result"
# [params]
# filename = { type = "string", required = true, description = "Which." }
# ///
import os
import sys
import time

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

time.sleep(1.2)
if not ask.given:
    ask.want({"sure": ask.form("Delete " + os.environ["PARAM_FILENAME"] + "?", {"confirm": {"type": "boolean"}})})
ask.say("Answered: " + str(ask.given["sure"]))
