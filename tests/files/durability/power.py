"""Takes the power from a file system while files in it are edited, and looks at what is left.

The file system is ext4 in a file, stopped by the call that the tests of Linux's own file systems use: what had not
been written by then is lost, and its journal is played back at the next mount. Exits with 99 where none can be mounted.
"""

import fcntl
import json
import os
import subprocess
import sys
import threading
import time

SHUT_DOWN, WITHOUT_JOURNAL = 0x8004587D, (2).to_bytes(4, "little")
CALL_TOOL, SERVE_TOOLS = sys.argv[1:]
IMAGE, HERE = "image", os.path.abspath("small")
FILE = HERE + "/a.txt"


def version(n):
    return f"version {n}\n" * 4000


def environment():
    """Each call is a conversation of its own: the power takes back what one has written."""
    return os.environ | {"GEMINI_TOOLS_SESSION": str(time.monotonic_ns())}


def edit(n):
    words = {"old_string": f"version {n}\n", "new_string": f"version {n + 1}\n"}
    return {"file_path": FILE, "allow_multiple": True} | words


def mount():
    if subprocess.run(["mount", "-o", "loop", IMAGE, HERE]).returncode:
        sys.exit(99)


def fresh():
    made = subprocess.run(["mkfs.ext4", "-q", "-F", IMAGE, "16M"], stdout=subprocess.DEVNULL)
    if made.returncode:
        sys.exit(99)
    mount()
    with open(FILE, "w") as file:
        file.write(version(0))
    os.sync()


def unmount():
    # Another program that looks through mounts may hold it for a moment.
    for _ in range(100):
        if not subprocess.run(["umount", HERE], stderr=subprocess.DEVNULL).returncode:
            return
        time.sleep(0.05)
    sys.exit("can't be unmounted")


def lose_power():
    directory = os.open(HERE, os.O_RDONLY)
    fcntl.ioctl(directory, SHUT_DOWN, WITHOUT_JOURNAL)
    os.close(directory)


def after_power_is_back():
    """The version that is there. (The new one may besides still have its first name.)"""
    unmount()
    mount()
    with open(FILE) as file:
        text = file.read()
    first = text.partition("\n")[0].removeprefix("version ")
    if not first.isdigit() or text != version(int(first)):
        sys.exit(f"neither old nor new: {text[:40]!r}, {len(text)} characters")
    return int(first)


def keep_the_journal_busy(over):
    """Has others' changes recorded all the time, so that none is recorded by luck only."""
    file = os.open(HERE + "/other", os.O_CREAT | os.O_WRONLY)
    try:
        while not over.is_set():
            os.write(file, b"x")
            os.fsync(file)
    except OSError:
        pass
    os.close(file)


def what_is_not_flushed_is_lost():
    fresh()
    with open(HERE + "/new.txt", "w") as file:
        file.write("new")
    lose_power()
    after_power_is_back()
    new = HERE + "/new.txt"
    print("kept" if os.path.exists(new) and os.path.getsize(new) else "lost")
    unmount()


def call_tool_leaves_old_or_new(round):
    fresh()
    over = threading.Event()
    other = threading.Thread(target=keep_the_journal_busy, args=[over])
    other.start()
    until = time.monotonic() + 0.05 + 0.03 * round
    done = 0
    while time.monotonic() < until:
        run = subprocess.run([CALL_TOOL, "replace"], input=json.dumps(edit(done)).encode(), cwd=HERE, env=environment(), capture_output=True)
        if run.returncode:
            sys.exit(run.stdout.decode())
        done += 1
    lose_power()
    over.set()
    other.join()
    # The rename itself may be among what is lost, but no more.
    kept = after_power_is_back()
    print("whole" if kept in (done - 1, done) else f"version {kept} of {done}")
    unmount()


def a_server_that_has_ended_has_flushed():
    fresh()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = subprocess.Popen([SERVE_TOOLS], cwd=HERE, **pipes)

    def send(message):
        server.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        server.stdin.flush()

    client = {"name": "test", "version": "1"}
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    send({"id": 0, "method": "initialize", "params": greeting})
    server.stdout.readline()
    send({"method": "notifications/initialized"})
    for n in range(5):
        send({"id": n + 1, "method": "tools/call", "params": {"name": "replace", "arguments": edit(n)}})
        answer = json.loads(server.stdout.readline())
        if answer["result"].get("isError"):
            sys.exit(json.dumps(answer))
    server.stdin.close()
    server.wait(timeout=30)
    lose_power()
    after_power_is_back()
    print("whole")
    unmount()


what_is_not_flushed_is_lost()
for round in range(6):
    call_tool_leaves_old_or_new(round)
a_server_that_has_ended_has_flushed()
