#!/usr/bin/env python3
# /// tool
# description = "Asks the client's model."
# kind = "read"
# output = "tool_result"
# [params]
# prompt = { type = "string", required = true, description = "What." }
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if "reply" not in ask.given:
    ask.want({"reply": ask.model(os.environ["PARAM_PROMPT"])})
ask.say("LLM response: " + str(ask.given["reply"]))
