"""get_tools with many tools of a user's own and with MCP servers whose declarations are kept, beside get_tools with none."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROUNDS, WARM = 400, 20
TOOLS, SERVERS = 200, 5
BAR = 3.0

# What has only just changed is looked at again at each start.
AT_REST_SECS = 2.5

SERVER = Path(__file__).resolve().parents[2] / "tests/harness/src/mcp/server.py"

SCRIPT = """#!/usr/bin/env python3
# /// tool
# description = "Does thing number {n}, which takes a sentence or two to be described for a model that has to choose."
# [params.text]
# description = "What to look for."
# required = true
# [params.limit]
# type = "integer"
# default = 10
# ///
print("x")
"""


def write_tools(home):
    folder = home / ".gemini/tools"
    folder.mkdir(parents=True)
    for n in range(TOOLS):
        (folder / f"thing_{n}.py").write_text(SCRIPT.format(n=n))


def write_servers(home):
    entry = {"command": "python3", "args": [str(SERVER), "plain", os.devnull]}
    settings = {"mcpServers": {f"server{n}": entry for n in range(SERVERS)}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))


def rows(get_tools, say):
    """Measures and prints both ratios; returns whether they are within the bar."""
    with tempfile.TemporaryDirectory(prefix="gemini-tools-bench-") as folder:
        places = {}
        for name in ("none", "tools", "servers"):
            home, project = Path(folder) / name / "home", Path(folder) / name / "project"
            project.mkdir(parents=True)
            (home / ".gemini").mkdir(parents=True)
            env = {"HOME": str(home), "PATH": os.environ["PATH"]}
            if name != "none":
                write_tools(home)
            if name == "servers":
                write_servers(home)
                env["GEMINI_TOOLS_MCP"] = "1"
            places[name] = (project, env)

        def start(name):
            project, env = places[name]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
            began = time.perf_counter()
            subprocess.run([str(get_tools)], cwd=project, env=env, check=True, **quiet)
            return (time.perf_counter() - began) * 1000

        time.sleep(AT_REST_SECS)
        for name in places:
            start(name)
        time.sleep(AT_REST_SECS)
        rounds = [{name: start(name) for name in places} for _ in range(WARM + ROUNDS)][WARM:]
    say(f"get_tools, {ROUNDS} rounds: median in ms, and how often that of get_tools without tools of one's own")
    is_within = True
    for name, title in (
        ("none", "no tools of one's own"),
        ("tools", f"{TOOLS} tools"),
        ("servers", f"{TOOLS} tools and {SERVERS} servers"),
    ):
        times = [each[name] for each in rounds]
        ratio = statistics.median(each[name] / each["none"] for each in rounds)
        is_within = is_within and ratio <= BAR
        say(f"{title:28}{statistics.median(times):8.2f}{ratio:8.2f} x")
    return is_within
