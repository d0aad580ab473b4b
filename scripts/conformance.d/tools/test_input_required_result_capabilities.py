#!/usr/bin/env python3
# /// tool
# description = "Asks the user and the model."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if not ask.given:
    ask.want({"user": ask.form("What is your name?", {"name": ask.TEXT}), "model": ask.model("Say hello.")})
ask.say("All of it: " + str(ask.given))
