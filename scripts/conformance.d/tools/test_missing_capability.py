#!/usr/bin/env python3
# /// tool
# description = "Asks the model, which takes a client with sampling."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if not ask.given:
    ask.want({"model": ask.model("Say hello.")})
ask.say("It said: " + str(ask.given["model"]))
