"""The most memory that a call has resident on the worst input that is known for each tool."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_MIB = 64
# 20 MB of media that were asked for are 27 in base64, and stand in the answer too.
MEDIA_MIB = 128

# A child's peak begins with its parent's, so that a small process starts what is measured.
MEASURE = """
import os, resource, sys
child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
os.waitpid(child, 0)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def ones(count):
    return '{"path":[' + "1," * count + "1]}"


def message(arguments):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_directory","arguments":%s}}'
    lines = (
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call % arguments,
    )
    return "\n".join(lines) + "\n"


def write(content):
    return lambda folder: (folder / "a.txt").write_bytes(content)


def many_files(folder):
    for n in range(300_000):
        if n % 1000 == 0:
            (folder / str(n)).mkdir()
        (folder / str(n - n % 1000) / f"{n}.txt").touch()


def images(folder):
    for n in range(30):
        (folder / f"{n}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + os.urandom(3_000_000))


def nested_rules(folder):
    (folder / ".git").mkdir()
    for level in range(300):
        folder = folder / "d"
        folder.mkdir()
        (folder / ".gitignore").write_text("".join(f"name-{level}-{n}.tmp\n" for n in range(20_000)))


def tool(name, arguments, *flags):
    return [name, *flags], json.dumps(arguments)


def search(*flags, **arguments):
    return tool("search_file_content", {"pattern": "a", **arguments}, *flags)


def command(line, *flags):
    return tool("run_shell_command", {"command": line}, *flags)


def replace(**arguments):
    return tool("replace", {"file_path": "a.txt", "allow_multiple": True, **arguments}, "--output", "result")


ALL = {"total_max_matches": 3_000_000}


def cases():
    """Title, what makes the files, arguments and standard input of call_tool; None for serve_tools."""
    none, lines = (lambda folder: None), write(b"aaaaaaaaaaaaaaaa\n" * 3_000_000)
    yield "300 MB of zero bytes printed", none, command("head -c 300000000 /dev/zero")
    yield "the same streamed", none, command("head -c 300000000 /dev/zero", "--stream")
    yield "50 MB that are not UTF-8 printed", none, command(r"head -c 50000000 /dev/zero | tr '\0' '\377'")
    yield "arguments of 200 MB", none, (["list_directory"], ones(100_000_000))
    yield "arguments of 4,000,000 values", none, (["list_directory"], ones(4_000_000))
    yield "a message of 60 MB", none, (None, message(ones(30_000_000)))
    yield "a message of 190,000 values", none, (None, message(ones(190_000)))
    yield "3,000,000 matches", lines, search(**ALL)
    yield "3,000,000 matches as a result", lines, search("--output", "result", **ALL)
    yield "3,000,000 matches as SARIF", lines, search("--format=sarif", **ALL)
    yield "3,000,000 matches as JUnit", lines, search("--format=junit", **ALL)
    yield "3,000,000 matches with context", lines, search(context=5, **ALL)
    yield "the expression .{50000}", write(b"a\n"), search(pattern=".{50000}")
    yield r"the expression \w{1000}", write(b"a\n"), search(pattern=r"\w{1000}")
    yield "aa replaced in 50 MB of a", write(b"a" * 50_000_000), replace(old_string="aa", new_string="b")
    yield "line feeds replaced by 100 KB", write(b"\n" * 1_000), replace(old_string="\n", new_string="x\n" * 50_000)
    yield "300 nested ignore files", nested_rules, tool("glob", {"pattern": "**/x"})
    yield "300,000 files to read", many_files, tool("read_many_files", {"paths": ["**"]})
    yield "300,000 files to find", many_files, tool("glob", {"pattern": "**"})
    yield "30 images of 3 MB", images, tool("read_many_files", {"paths": ["*.png"]})


def peak_mib(programs, make, words, given):
    with tempfile.TemporaryDirectory(prefix="gemini-tools-bench-") as base:
        base = Path(base)
        home, project, out = base / "home", base / "project", base / "out"
        home.mkdir()
        project.mkdir()
        make(project)
        (base / "in").write_text(given)
        call_tool, serve_tools = programs
        argv = [str(serve_tools)] if words is None else [str(call_tool), *words]
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        with open(base / "in") as stdin, open(out, "wb") as stdout:
            run = subprocess.run(
                [sys.executable, "-c", MEASURE, *argv],
                cwd=project, env=env, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, check=True, text=True,
            )
        return int(run.stderr.split()[-1]) / 1024


def rows(call_tool, serve_tools, say):
    """Measures and prints a row for each case; returns whether all are within their bar."""
    say(f"peak of a call in MiB; the bar is {MOST_MIB}, or {MEDIA_MIB} with media")
    is_within = True
    for title, make, (words, given) in cases():
        mib = peak_mib((call_tool, serve_tools), make, words, given)
        bar = MEDIA_MIB if make is images else MOST_MIB
        is_within = is_within and mib <= bar
        say(f"{title:34}{mib:8.1f}{'' if mib <= bar else '  MISSED'}")
    return is_within
