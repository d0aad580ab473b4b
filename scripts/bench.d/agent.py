"""A long session of run_agent: the calls that its model makes, the stand-in that plays the model, and its memory.

How much of the time is the model's is told by the stand-in's own clock; what the figures mean is for others to say.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from measure import CannotRun

HERE = Path(__file__).resolve().parent
TURNS, CALLS = 200, 500
# A turn is a word and each letter a call: 8 turns with 20 calls, again and again.
PATTERN = "RR SGL RE WRC SR WLG ER WSC".split()
SOURCES, LINES = 40, 120
SAMPLE_SECS = 0.002
STATUS_KIB = 1024
LIBC, KCMP_VM = ctypes.CDLL(None), 1


class Job:
    """The calls, and the folder that they are made in."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "ws"
        self.numbers = dict.fromkeys("RSGLEWC", 0)
        turns = [PATTERN[turn % len(PATTERN)] for turn in range(TURNS)]
        self.turns = [[self.call(letter) for letter in letters] for letters in turns]
        self.calls = [dict(call, id=f"call{i}") for i, call in enumerate(call for turn in self.turns for call in turn)]
        assert len(self.calls) == CALLS
        numbered = iter(self.calls)
        self.turns = [[next(numbered) for _ in turn] for turn in self.turns]

    def call(self, letter):
        """One that no other is quite like, so that a model's going round in circles is not suspected."""
        n = self.numbers[letter]
        self.numbers[letter] += 1
        source = self.root / f"src/part{n % SOURCES:02}.txt"
        tool, args = {
            "R": ("read_file", {"absolute_path": str(source), "limit": LINES - n // SOURCES}),
            "S": ("search_file_content", {"pattern": f"line {n} of|marked{n}\\b", "include": "*.txt"}),
            "G": ("glob", {"pattern": f"src/*{n % 10}.txt"}),
            "L": ("list_directory", {"path": str(self.root / "src"), "ignore": [f"part{n}.txt"]}),
            "E": ("replace", {"file_path": str(self.root / "tasks.md"), **self.edit(n)}),
            "W": ("write_file", {"file_path": str(self.root / f"made/{n}.txt"), "content": lines(f"made{n}", 60)}),
            "C": ("run_shell_command", {"command": f"echo run {n}; wc -l src/*.txt | tail -n 1"}),
        }[letter]
        return {"tool": tool, "args": args}

    @staticmethod
    def edit(n):
        return {"old_string": f"task {n}: open", "new_string": f"task {n}: done"}

    def script(self):
        return {"turns": self.turns, "closing": "All done."}

    def batch(self):
        """The same calls for `call_tool --batch`."""
        lines = ({"id": call["id"], "name": call["tool"], "args": call["args"]} for call in self.calls)
        return "".join(json.dumps(line) + "\n" for line in lines)

    def single_calls(self, call_tool):
        """A line for sh that makes them by a process each."""
        folder = self.folder / "args"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for call in self.calls:
            (folder / f"{call['id']}.json").write_text(json.dumps(call["args"]))
        listed = self.folder / "calls.txt"
        listed.write_text("".join(f"{call['tool']} {call['id']}\n" for call in self.calls))
        return f"while read -r tool id; do '{call_tool}' \"$tool\" < '{folder}'/\"$id\".json; done < '{listed}'"

    def begin(self):
        """The folder as it is before the first call."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "src").mkdir(parents=True)
        for i in range(SOURCES):
            (self.root / f"src/part{i:02}.txt").write_text(lines(f"part{i} marked{i}", LINES))
        edits = self.numbers["E"]
        (self.root / "tasks.md").write_text("".join(f"task {n}: open\n" for n in range(edits)))

    def wrong(self):
        """What the calls should have left behind and have not; None where all is there."""
        made = len(list((self.root / "made").iterdir())) if (self.root / "made").exists() else 0
        done = (self.root / "tasks.md").read_text().count(": done\n")
        expected = self.numbers["W"], self.numbers["E"]
        return None if (made, done) == expected else f"{made} files made and {done} edits done, not {expected}"


def lines(what, count):
    return "".join(f"{what}: line {i} of some text that is as long as lines often are\n" for i in range(count))


class Model:
    """The stand-in of the API, which plays the job."""

    def __init__(self, job):
        self.job = job
        program = HERE.parent / "stand-in"
        pipe = subprocess.PIPE
        # Its input closes with us, and so does it.
        self.process = subprocess.Popen([str(program), "--no-bodies"], stdin=pipe, stdout=pipe, stderr=pipe)
        line = self.process.stdout.readline()
        if not line:
            raise CannotRun(self.process.stderr.read().decode(errors="replace").strip())
        self.url = json.loads(line)["url"]

    def control(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, body and json.dumps(body).encode(), method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def begin(self):
        self.control("PUT", "/_script", self.job.script())

    def own_ms(self):
        """How long the client has waited for the model alone: from the last byte of each request to the last of its
        answer."""
        turns = [entry for entry in self.control("GET", "/_requests") if entry["kind"] == "turn"]
        if len(turns) != TURNS + 1:
            raise CannotRun(f"the model was asked {len(turns)} times, not {TURNS + 1}")
        return sum(entry["answeredAt"] - entry["receivedAt"] for entry in turns)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def tree_peaks(command, env):
    """Memory in MiB of a command's processes by name, at the moment when all of them together had the most.

    It is what they take from the machine: a page that several share counts for each with its part (the proportional set
    size). Looked at from outside, again and again: a process that lives for less than a look is missed, and so is a
    peak between two looks. A page of a program that runs elsewhere too counts here with a part only.
    """
    if command.before:
        command.before()
    with open(command.stdin, "rb") as stdin:
        process = subprocess.Popen(
            [str(word) for word in command.argv], cwd=command.cwd, env=env, stdin=stdin, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )
    most = {}
    try:
        while process.poll() is None:
            now = dict.fromkeys(["run_agent", "call_tool", "commands of tools"], 0.0)
            for pid, parent in tree_of(process.pid):
                name = name_of(pid)
                is_lasting = parent is None or name == "call_tool" and parent == process.pid
                now[name if is_lasting and name in now else "commands of tools"] += memory_of(pid)
            most = max(most, now, key=lambda parts: sum(parts.values()))
            time.sleep(SAMPLE_SECS)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise CannotRun(f"{command.label} ended with status {process.returncode}")
    return most


def tree_of(root):
    """A process and all below it, each with its parent; not those that run in their parent's memory until they have
    started a program."""
    found = [(root, None)]
    for parent, _ in found:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = map(int, (task / "children").read_text().split())
                found += [(pid, parent) for pid in children if not have_one_memory(pid, parent)]
        except OSError:
            continue
    return found


def have_one_memory(*pids):
    """Asks kcmp(2), for which the C library has no function; no where it can't be asked."""
    number = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
    return number is not None and LIBC.syscall(number, *pids, KCMP_VM, 0, 0) == 0


def name_of(pid):
    """The name of the program's file, cut at 15 characters."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def memory_of(pid):
    """Proportional set size in MiB; where the kernel does not tell us, all pages count in full."""
    for file, key in ("smaps_rollup", "Pss:"), ("status", "VmRSS:"):
        try:
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
        except OSError:
            continue
        sizes = [int(line.split()[1]) for line in lines if line.startswith(key)]
        if sizes:
            return sizes[0] / STATUS_KIB
    return 0.0
