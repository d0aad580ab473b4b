#!/usr/bin/env python3
"""A command pair as people write it for Gemini CLI: --discover prints declarations, --call NAME
runs one with its arguments on standard input."""

import json
import os
import sys

NOTES = "notes.jsonl"
TOOLS = [
    {
        "name": "add_note",
        "description": "Adds a note to the project's notes.",
        "parameters": {
            "type": "OBJECT",
            "properties": {
                "text": {"type": "STRING", "description": "The note."},
                "tags": {"items": {"type": "STRING"}, "description": "Words to find it by."},
            },
            "required": ["text"],
        },
    },
    {
        "name": "find notes",
        "description": "Lists the project's notes, or those with a tag.",
        "parameters": {"properties": {"tag": {"type": "STRING", "description": "A word that the notes have."}}},
    },
]


def add_note(args):
    with open(NOTES, "a", encoding="utf-8") as file:
        file.write(json.dumps({"text": args["text"], "tags": args.get("tags", [])}) + "\n")
    return "Noted."


def find_notes(args):
    if not os.path.exists(NOTES):
        return "There are no notes."
    with open(NOTES, encoding="utf-8") as file:
        notes = [json.loads(line) for line in file]
    tag = args.get("tag")
    found = [note["text"] for note in notes if tag is None or tag in note["tags"]]
    return "\n".join(found) or "There are no such notes."


CALLS = {"add_note": add_note, "find notes": find_notes}

if sys.argv[1:2] == ["--discover"]:
    print(json.dumps([{"function_declarations": TOOLS}]))
elif sys.argv[1:2] == ["--call"] and sys.argv[2] in CALLS:
    print(CALLS[sys.argv[2]](json.load(sys.stdin)))
else:
    sys.exit(f"usage: {sys.argv[0]} --discover | --call NAME")
