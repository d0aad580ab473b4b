#!/usr/bin/env python3
"""A tool call as somebody writes it by hand for the Gemini CLI: name in argv, arguments as JSON on stdin."""

import json
import os
import re
import sys

MOST_LINES = 2000
LINE_CHARS = 2000


def walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            yield os.path.join(folder, name)


def read_file(absolute_path, offset=0, limit=MOST_LINES):
    shown = []
    with open(absolute_path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file):
            if number >= offset + limit:
                break
            if number >= offset:
                line = line.rstrip("\n")
                shown.append(line[:LINE_CHARS] + "... [cut]" if len(line) > LINE_CHARS else line)
    return "\n".join(shown)


def list_directory(path):
    with os.scandir(path) as entries:
        found = sorted((not entry.is_dir(), entry.name) for entry in entries)
    lines = [name if is_file else f"[DIR] {name}" for is_file, name in found]
    return f"Directory listing for {path}:\n" + "\n".join(lines)


def glob_matcher(pattern):
    """`**/` is any number of folders, `*` and `?` stay within one."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    special = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(special.get(part) or re.escape(part) for part in parts)).fullmatch


def glob(pattern, path="."):
    root = os.path.abspath(path)
    matches = glob_matcher(pattern)
    found = [file for file in walk(root) if matches(file[len(root) + 1 :])]
    found.sort(key=os.path.getmtime, reverse=True)
    return f"Found {len(found)} file(s) matching '{pattern}':\n" + "\n".join(found)


def search_file_content(pattern, path=".", case_sensitive=False):
    root = os.path.abspath(path)
    regex = re.compile(pattern.encode(), 0 if case_sensitive else re.IGNORECASE)
    lines, count = [], 0
    for file in walk(root):
        try:
            with open(file, "rb") as handle:
                data = handle.read()
        except OSError:
            continue
        if b"\0" in data[:1024] or not regex.search(data):
            continue
        lines.append(f"---\nFile: {os.path.relpath(file, root)}")
        for number, line in enumerate(data.splitlines(), 1):
            if regex.search(line):
                count += 1
                lines.append(f"L{number}: {line.decode('utf-8', 'replace')}")
    return f'Found {count} match(es) for pattern "{pattern}":\n' + "\n".join(lines)


def replace(file_path, old_string, new_string):
    with open(file_path, encoding="utf-8", newline="") as file:
        before = file.read()
    count = before.count(old_string)
    if count != 1:
        raise ValueError(f"expected 1 occurrence in {file_path}, found {count}")
    temporary = f"{file_path}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(before.replace(old_string, new_string))
    os.replace(temporary, file_path)
    return f"Successfully modified file: {file_path} (1 replacements)."


TOOLS = {f.__name__: f for f in (read_file, list_directory, glob, search_file_content, replace)}


def main():
    name = sys.argv[1]
    arguments = json.load(sys.stdin)
    try:
        response = {"output": TOOLS[name](**arguments)}
    except Exception as error:
        response = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"functionResponse": {"name": name, "response": response}}))
    return "error" in response


if __name__ == "__main__":
    sys.exit(main())
