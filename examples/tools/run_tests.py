#!/usr/bin/env python3
# /// tool
# description = """Runs the project's tests and says which failed, with the lines that say why, \
# instead of everything that was printed. Finds out by the project's files how they are run \
# (cargo, go, npm, python), or runs 'command'."""
# kind = "execute"
# output = "json"
# timeout = 900
# streaming = true
#
# [params.command]
# type = "array"
# description = "The test command as a list of words, for example [\"make\", \"check\"]. Default: by the project's files."
#
# [params.filter]
# description = "Only tests whose name contains this; where the command is found by the files."
# pattern = "^[^-]"
#
# [params.max_failures]
# type = "integer"
# description = "How many failures to tell in detail. Default: 10."
# minimum = 1
# default = 10
# ///
"""Runs the project's tests and summarises what failed."""

import json
import os
import re
import subprocess
import sys

FAILED = [
    # cargo: "test module::name ... FAILED"
    re.compile(r"^test (?P<name>\S+) \.\.\. FAILED"),
    # go: "--- FAIL: TestName (0.00s)"
    re.compile(r"^\s*--- FAIL: (?P<name>\S+)"),
    # unittest: "FAIL: test_name (module.Class.test_name)"
    re.compile(r"^(?:FAIL|ERROR): (?P<name>.+)$"),
    # pytest: "FAILED tests/test_x.py::test_name - why"
    re.compile(r"^FAILED (?P<name>\S+\.py\S*)"),
    # node --test and TAP: "not ok 1 - name"
    re.compile(r"^\s*not ok \d+ -? ?(?P<name>.+)$"),
]
WHY = re.compile(r"error|assert|panicked|expected|exception|left:|right:|actual", re.IGNORECASE)


def found_command(filter_):
    more = [filter_] if filter_ else []
    if os.path.exists("Cargo.toml"):
        return ["cargo", "test", "--no-fail-fast", "--quiet", "--"] + more
    if os.path.exists("go.mod"):
        return ["go", "test", "./..."] + (["-run=" + filter_] if filter_ else [])
    if os.path.exists("package.json"):
        return ["npm", "test", "--silent", "--"] + more
    return [sys.executable, "-m", "unittest"] + (["-k=" + filter_] if filter_ else ["-v"])


def main():
    args = json.load(sys.stdin)
    command = args.get("command") or found_command(args.get("filter"))
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as e:
        sys.exit(f"{command[0]} can't be started: {e.strerror}")
    lines = run.stdout.splitlines()
    failures = {}
    current = None
    for line in lines:
        for pattern in FAILED:
            match = pattern.match(line)
            if match:
                current = match.group("name").strip()
                failures.setdefault(current, [])
                break
        else:
            if current and WHY.search(line) and len(failures[current]) < 8:
                failures[current].append(line.strip()[:300])
    told = list(failures.items())[: args["max_failures"]]
    print(
        json.dumps(
            {
                "passed": run.returncode == 0,
                "command": command,
                "exit_status": run.returncode,
                "failed": len(failures),
                "failures": [{"test": name, "why": why} for name, why in told],
                "last_lines": [] if run.returncode == 0 else [line[:300] for line in lines[-15:]],
            },
            indent=1,
        )
    )


main()
