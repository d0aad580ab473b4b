#!/usr/bin/env python3
# /// tool
# description = "Asks the client's model for a capital."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if "capital_question" not in ask.given:
    ask.want({"capital_question": ask.model("What is the capital of France?")})
ask.say("It said: " + str(ask.given["capital_question"]))
