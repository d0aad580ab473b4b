#!/usr/bin/env python3
# /// tool
# description = "Asks the user twice."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if ask.state is None:
    ask.want({"step1": ask.form("Step 1: What is your name?", {"name": ask.TEXT})}, "first")
if ask.state == "first":
    ask.want({"step2": ask.form("Step 2: What is your favorite color?", {"color": ask.TEXT})}, "second")
ask.say("Done.")
