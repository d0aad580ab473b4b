#!/usr/bin/env python3
# /// tool
# description = "Asks the user, the model and for roots at once."
# kind = "read"
# output = "tool_result"
# ///
import os
import sys

sys.path.insert(0, os.environ["GEMINI_TOOL_DIR"] + "/lib")
import ask

if ask.state is None:
    wanted = {
        "user_name": ask.form("What is your name?", {"name": ask.TEXT}),
        "greeting": ask.model("Generate a greeting"),
        "client_roots": ask.roots(),
    }
    ask.want(wanted, "asked")
ask.say("All of it: " + str(ask.given))
