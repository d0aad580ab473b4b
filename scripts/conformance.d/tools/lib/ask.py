"""What the tools of the suite that ask their client have in common."""

import json
import os
import sys

given = json.loads(os.environ.get("GEMINI_TOOL_INPUT") or "{}")
state = os.environ.get("GEMINI_TOOL_STATE") or None


def end(result):
    print(json.dumps(result))
    sys.exit()


def say(text):
    end({"llmContent": text})


def want(requests, state=None):
    end({"inputRequests": requests} | ({"requestState": state} if state else {}))


def form(message, properties, required=None):
    schema = {"type": "object", "properties": properties}
    if required is None:
        required = list(properties)
    if required:
        schema["required"] = required
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def model(prompt):
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


def roots():
    return {"method": "roots/list", "params": {}}


def answer(name):
    """The fields of a form that the user has filled in, or None."""
    reply = given.get(name)
    if not isinstance(reply, dict) or reply.get("action") != "accept":
        return None
    return reply.get("content") or {}


TEXT = {"type": "string"}
