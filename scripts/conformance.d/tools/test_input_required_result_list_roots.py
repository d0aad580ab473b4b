#!/usr/bin/env python3
# /// tool
# description = "Asks the client for its roots."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if "client_roots" not in ask.given:
    ask.want({"client_roots": ask.roots()})
ask.say("They are: " + str(ask.given["client_roots"]))
