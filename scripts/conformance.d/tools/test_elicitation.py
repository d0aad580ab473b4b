#!/usr/bin/env python3
# /// tool
# description = "Asks the user."
# kind = "read"
# output = "tool_result"
# [params]
# message = { type = "string", required = true, description = "What." }
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if "who" not in ask.given:
    ask.want({"who": ask.form(os.environ["PARAM_MESSAGE"], {"username": ask.TEXT, "email": ask.TEXT})})
ask.say("User response: " + str(ask.given["who"]))
