#!/usr/bin/env python3
"""Tool discovery as somebody writes it by hand for the Gemini CLI: prints the declarations of call_tool.py."""

import json


def text(description):
    return {"type": "string", "description": description}


def number(description):
    return {"type": "integer", "description": description}


def tool(name, description, required, **properties):
    return {
        "name": name,
        "description": description,
        "parametersJsonSchema": {"type": "object", "properties": properties, "required": required},
    }


TOOLS = [
    tool(
        "read_file",
        "Reads a text file, or a range of its lines.",
        ["absolute_path"],
        absolute_path=text("The file's absolute path."),
        offset=number("The first line to show, counted from 0."),
        limit=number("How many lines to show."),
    ),
    tool(
        "list_directory",
        "Lists the files and folders in a folder.",
        ["path"],
        path=text("The folder's absolute path."),
    ),
    tool(
        "glob",
        "Finds files by a pattern such as **/*.py, newest first.",
        ["pattern"],
        pattern=text("The pattern."),
        path=text("The folder to search in; the working directory if absent."),
    ),
    tool(
        "search_file_content",
        "Searches the content of all files by a regular expression, ignoring case.",
        ["pattern"],
        pattern=text("The regular expression."),
        path=text("The folder to search in; the working directory if absent."),
    ),
    tool(
        "replace",
        "Replaces a string that occurs once in a file.",
        ["file_path", "old_string", "new_string"],
        file_path=text("The file's absolute path."),
        old_string=text("The string to replace, exactly as it stands in the file."),
        new_string=text("What to put in its place."),
    ),
]

if __name__ == "__main__":
    print(json.dumps(TOOLS))
