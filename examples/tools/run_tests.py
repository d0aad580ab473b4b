#!/usr/bin/env python3
# /// tool
# description = "Runs the project's tests and answers with the failures only, each with its message. Finds the runner by the project's files, or takes the one that is named. Use it after a change instead of reading a whole test log."
# display_name = "Run tests"
# kind = "execute"
# timeout = 900
# output = "tool_result"
#
# [params.filter]
# type = "string"
# description = "Only tests whose name holds this text."
# max_length = 200
#
# [params.runner]
# type = "string"
# enum = ["auto", "cargo", "pytest", "unittest", "npm", "go"]
# default = "auto"
# description = "What runs the tests."
# ///
"""Runs the tests of the project in the current directory and tells what failed."""

import importlib.util
import json
import os
import re
import subprocess
import sys

MAX_FAILURES = 20
MAX_LINES = 12


def choose():
    if os.path.exists("Cargo.toml"):
        return "cargo"
    if os.path.exists("go.mod"):
        return "go"
    if os.path.exists("package.json"):
        return "npm"
    return "pytest" if importlib.util.find_spec("pytest") else "unittest"


def command(runner, wanted):
    if runner == "cargo":
        return ["cargo", "test", "--no-fail-fast", "--quiet", *(["--", wanted] if wanted else [])]
    if runner == "go":
        return ["go", "test", "./...", *([f"-run={wanted}"] if wanted else [])]
    if runner == "npm":
        return ["npm", "test", "--silent", *(["--", wanted] if wanted else [])]
    if runner == "pytest":
        return [sys.executable, "-m", "pytest", "-q", "--no-header", *([f"-k={wanted}"] if wanted else [])]
    return [sys.executable, "-m", "unittest", "discover", *(["-k", wanted] if wanted else [])]


# Where the report of one failure begins, by runner.
BEGINNINGS = {
    "cargo": r"^---- (.+) stdout ----$",
    "go": r"^\s*--- FAIL: (\S+)",
    "npm": r"^\s*(?:●|✖|not ok \d+ -?)\s*(.+)$",
    "pytest": r"^_{3,} (.+?) _{3,}$",
    "unittest": r"^(?:FAIL|ERROR): (.+)$",
}
# How many tests ran, as each runner says it; go names packages instead, and pytest has a status for none.
COUNTS = {
    "cargo": r"^test result: \w+\. (\d+) passed; (\d+) failed",
    "npm": r"^(?:#|ℹ) tests (\d+)()$",
    "unittest": r"^Ran (\d+) tests?()",
}
NOISE = re.compile(r"^[-=\s]*$|^note: |^stack backtrace|^={3,} short test summary")


def failures(runner, text):
    found, lines = [], None
    for line in text.splitlines():
        begins = re.match(BEGINNINGS[runner], line)
        if begins:
            lines = []
            found.append((begins.group(1).strip(), lines))
        elif lines is not None and len(lines) < MAX_LINES and not NOISE.match(line):
            lines.append(line.rstrip())
    return found


def none_ran(runner, status, text):
    if runner == "pytest":
        return status == 5
    if runner == "go":
        packages = [line for line in text.splitlines() if re.match(r"(ok|FAIL|---)\s", line)]
        return not [line for line in packages if "[no tests to run]" not in line]
    counts = re.findall(COUNTS[runner], text, re.MULTILINE)
    return bool(counts) and not any(int(number or 0) for numbers in counts for number in numbers)


def main():
    args = json.load(sys.stdin)
    runner = choose() if args["runner"] == "auto" else args["runner"]
    words = command(runner, args.get("filter"))
    print("running", " ".join(words), file=sys.stderr, flush=True)
    try:
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    except FileNotFoundError:
        return {"error": {"message": f"{words[0]} is not installed.", "type": "execution_failed"}}
    found = failures(runner, run.stdout)
    data = {"runner": runner, "status": run.returncode, "failed": [name for name, _ in found]}
    if none_ran(runner, run.returncode, run.stdout):
        wanted = args.get("filter")
        why = f"none has {wanted!r} in its name" if wanted else "it finds none in this directory"
        said = "\n".join(run.stdout.splitlines()[-MAX_LINES:])
        return {"error": {"message": f"No test ran ({runner}): {why}.\n{said}".strip(), "type": "execution_failed"}, "data": data}
    if run.returncode == 0:
        last = [line for line in run.stdout.splitlines() if line.strip()][-1:]
        return {"llmContent": f"All tests pass ({runner}). {' '.join(last)}".strip(), "data": data}
    parts = [f"{len(found) or 'Some'} test(s) failed ({runner})."]
    for name, lines in found[:MAX_FAILURES]:
        parts.append("\n".join([f"FAILED {name}", *(f"    {line}" for line in lines)]))
    if len(found) > MAX_FAILURES:
        parts.append(f"[{len(found) - MAX_FAILURES} more are left out]")
    if not found:
        parts.append("\n".join(run.stdout.splitlines()[-40:]))
    return {"llmContent": "\n\n".join(parts), "data": data}


json.dump(main(), sys.stdout)
