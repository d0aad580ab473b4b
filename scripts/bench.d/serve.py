"""Warm calls of serve_tools and of @modelcontextprotocol/server-filesystem, side by side: the same work by the same client.

Each pair of calls is made one right after the other, in turns, so that what disturbs one disturbs the other too.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUNDS, WARM = 400, 30
FILES, LINES = 300, 120


class Missing(Exception):
    """The peer is not to be had, and why."""


class Server:
    """An MCP server on its standard streams."""

    def __init__(self, argv, cwd, env):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(argv, cwd=cwd, env=env, **pipes)
        self.number = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise Missing("the server has ended")
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                return message

    def call(self, tool, arguments):
        """Makes a call; returns how long it took, in ms."""
        start = time.perf_counter()
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = (time.perf_counter() - start) * 1000
        if "result" not in answer or answer["result"].get("isError"):
            raise Missing(f"{tool}: {json.dumps(answer)[:300]}")
        return took

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)


def project(root):
    for n in range(FILES):
        path = root / f"src/part{n % 10}/file{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {line} of file {n}\n" for line in range(LINES)))
    (root / "task.md").write_text("".join(f"task {n}: open\n" for n in range(LINES)))


def kinds(root):
    """The same work in both servers' words; `turn` tells an edit which way to go."""
    file, task = str(root / "src/part3/file3.txt"), str(root / "task.md")

    def edit(turn):
        words = ("task 7: open", "task 7: done")
        return words if turn % 2 == 0 else words[::-1]

    def ours_edit(turn):
        old, new = edit(turn)
        return {"file_path": task, "old_string": old, "new_string": new}

    def theirs_edit(turn):
        old, new = edit(turn)
        return {"path": task, "edits": [{"oldText": old, "newText": new}]}

    files = "**/file7*.txt"
    return {
        "read": (("read_file", lambda _: {"absolute_path": file}), ("read_text_file", lambda _: {"path": file})),
        "list": (("list_directory", lambda _: {"path": str(root / "src/part3")}), ("list_directory", lambda _: {"path": str(root / "src/part3")})),
        "search": (("glob", lambda _: {"pattern": files}), ("search_files", lambda _: {"path": str(root), "pattern": files})),
        "edit": (("replace", ours_edit), ("edit_file", theirs_edit)),
    }


def peer(env):
    if not shutil.which("node"):
        raise Missing("node was not found")
    script = HERE.parent / "mcp-servers"
    found = subprocess.run([script, "--installed"], env=env, capture_output=True, text=True)
    program = Path(found.stdout.strip()) / "server-filesystem/dist/index.js"
    if found.returncode != 0 or not program.is_file():
        raise Missing("scripts/mcp-servers has not installed it")
    return ["node", str(program)]


def measured(ours, theirs, works):
    pairs = []
    for turn in range(WARM + ROUNDS):
        order = ((ours, works[0]), (theirs, works[1]))
        times = {}
        for server, (tool, arguments) in order if turn % 2 == 0 else order[::-1]:
            times[server] = server.call(tool, arguments(turn))
        pairs.append((times[ours], times[theirs]))
    return pairs[WARM:]


def rows(serve_tools, say):
    """Measures and prints a row for each kind of work; returns whether we were faster in all of them."""
    argv = peer(os.environ)
    wins = True
    with tempfile.TemporaryDirectory(prefix="gemini-tools-bench-") as folder:
        base = Path(folder).resolve()
        env = dict(os.environ, HOME=str(base / "home"))
        roots = [base / "ours", base / "theirs"]
        for root in [base / "home", *roots]:
            root.mkdir()
        for root in roots:
            project(root)
        ours = Server([str(serve_tools)], roots[0], env)
        theirs = Server([*argv, str(roots[1])], roots[1], env)
        say(f"warm calls by MCP, {ROUNDS} rounds: median (95th percentile) in ms; ratio of each round's pair")
        say(f"{'':8}{'serve_tools':>22}{'server-filesystem':>22}{'ratio':>9}")
        for name, work in kinds(roots[0]).items():
            works = work[0], kinds(roots[1])[name][1]
            pairs = measured(ours, theirs, works)
            ratio = statistics.median(a / b for a, b in pairs)
            wins = wins and ratio < 1
            cells = [shown([pair[side] for pair in pairs]) for side in (0, 1)]
            say(f"{name:8}{cells[0]:>22}{cells[1]:>22}{ratio:>9.2f}")
        ours.close()
        theirs.close()
    return wins


def shown(times):
    ordered = sorted(times)
    return f"{statistics.median(times):.3f} ({ordered[int(len(ordered) * 0.95)]:.3f})"
