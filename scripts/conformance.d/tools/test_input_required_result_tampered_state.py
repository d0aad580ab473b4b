#!/usr/bin/env python3
# /// tool
# description = "Asks the user, and gives the client its state to keep."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if ask.state != "asked" or ask.answer("confirm") is None:
    ask.want({"confirm": ask.form("Please confirm", {"ok": {"type": "boolean"}})}, "asked")
ask.say("state-ok: it came back.")
