"""The work that is measured, with the project's bars and goals.

A Spec says what is measured and where the bar is; its `build` makes the commands once paths are known.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Callable, Optional

import agent
import corpora as files
import peers
from measure import CannotRun, Command

# Peak memory in MiB: bar, goal.
SMALL_MEMORY = (8, 4)
TREE_MEMORY = (40, 16)

# Rounds: usually, with --quick.
START = (150, 40)
FAST = (60, 15)
TREE = (21, 7)
HUGE = (15, 5)
SLOW = (7, 3)

FIRST_LINE, LAST_LINE = 1_000_000, 1_000_100
HISTORY_ENTRIES = 10_000
EXPORTS = r"EXPORT_SYMBOL(_GPL)?\("
SUSPEND = r"\b[a-z]+_suspend_noirq\b"
AROUND = (
    r"(?<=->)free", r"(?:them)(?!\w)", r"(\w)\1\1\1", r"([\"'])\w+ \w+\1", r"\b(\w+)\s+\1\b", r"^(?!\s*\*).*mutex",
    r"static (?!inline)\w+ \w+_init\(", r"(?<!\w)kfree\(", r"^(?=.*lock)(?=.*irq).*$", r"\w+(?=\(\)\);)",
)
NEVER_FOUND = "no file holds this text, which is only read past 7f3a91"


@dataclass
class Workload:
    """Commands that do the same job."""

    ours: Command
    peer: Command
    others: list = field(default_factory=list)
    warm: Optional[Callable[[], None]] = None
    # Compares one answer of ours with the peer's; returns what is wrong with it, or None.
    check: Optional[Callable[[], Optional[str]]] = None
    # Peak memory in MiB by process, for a job of several; untimed.
    peaks: Optional[Callable[[], dict]] = None
    close: Optional[Callable[[], None]] = None
    # The parts of a job of several, as (name, ours, peer), which are measured by themselves as well.
    parts: list = field(default_factory=list)

    def commands(self):
        return [self.ours, self.peer, *self.others]


@dataclass(frozen=True)
class Spec:
    """A row of the table of bars."""

    name: str
    title: str
    peer: str
    bar: float
    goal: float
    memory: tuple
    rounds: tuple
    corpora: tuple
    build: Callable
    # Where set, bar and goal are the milliseconds that each of so many calls may take more than the peer's.
    calls: int = 0
    # Whether bar and goal are milliseconds of ours, whatever the peer takes.
    is_time: bool = False
    # The bar for executables that are linked to glibc, where it is another than with musl.
    glibc_bar: Optional[float] = None


class Bench:
    """Where everything is: corpora, our executables, the peers."""

    def __init__(self, root, get_tools, call_tool, run_agent, quick, env, say):
        self.root = root
        self.get_tools = get_tools
        self.call_tool = call_tool
        self.run_agent = run_agent
        self.quick = quick
        self.env = env
        self.say = say
        self.corpora = files.Corpora(root)
        self.work = root / "work"
        self.work.mkdir(parents=True, exist_ok=True)

    def searcher(self, name):
        return peers.search_tool(name, self.root, self.say)

    def capture(self, command):
        """stdout of one untimed run."""
        if command.before:
            command.before()
        with open(command.stdin, "rb") as stdin:
            done = subprocess.run(
                [str(word) for word in command.argv], cwd=command.cwd, env=self.env, stdin=stdin, capture_output=True
            )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise CannotRun(f"{command.label} ended with status {done.returncode}: {said[:400]}")
        return done.stdout

    def call(self, tool, arguments, cwd, before=None):
        """Our call, with its arguments on standard input."""
        return Command("call_tool", [self.call_tool, tool], cwd, self.stdin_file(tool, arguments), before=before)

    def stdin_file(self, name, arguments):
        text = json.dumps(arguments)
        mark = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        path = self.work / f"{name}-{mark}.json"
        path.write_text(text)
        return path


def output_of(answer):
    """The text that a model would get."""
    return json.loads(answer)["functionResponse"]["response"]["output"]


def check_count(bench, ours, peer):
    """Ours must say the number that the peer has lines."""
    said = re.search(r"Found ([\d,]+) (?:file|match)", output_of(bench.capture(ours)))
    found = int(said.group(1).replace(",", "")) if said else None
    expected = bench.capture(peer).count(b"\n")
    if found != expected:
        return f"{ours.label} says {found}, {peer.label} prints {expected} lines"
    return None


def check_first_line(bench, ours, peer):
    """Ours must hold the peer's first line; both may show more than the other."""
    line = bench.capture(peer).decode().partition("\n")[0]
    if line not in output_of(bench.capture(ours)):
        return f"the output of {ours.label} lacks the line {line[:80]!r}"
    return None


def check_contains(bench, ours, text):
    if text not in output_of(bench.capture(ours)):
        return f"the output of {ours.label} lacks {text[:80]!r}"
    return None


def check_same_file(bench, ours, peer, path):
    """Both must leave the same bytes behind."""
    digests = set()
    for command in (ours, peer):
        bench.capture(command)
        digests.add(hashlib.blake2b(path.read_bytes()).digest())
    return None if len(digests) == 1 else f"{ours.label} and {peer.label} left different files"


def read_through(path):
    """Brings a file into the page cache; some machines drop it within seconds."""
    block = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def read_tree(rg, root):
    """Brings every file of a tree into the page cache."""
    quietly([rg, "-uu", "--no-messages", "-g", "!.git", "-F", "-q", NEVER_FOUND, root])


def stat_tree(rg, root):
    """Brings every folder and the metadata of the C files into the cache."""
    quietly([rg, "--files", "--sortr", "modified", "-g", "*.c", root])


def quietly(argv):
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def build_get_tools(bench):
    ours = Command("get_tools", [bench.get_tools], bench.work)
    printed = bench.work / "tools.json"
    printed.write_bytes(bench.capture(ours))
    peer = Command("cat", [peers.system_tool("cat"), printed], bench.work)
    return Workload(ours, peer)


def build_read_small(bench):
    path = bench.corpora.small
    ours = bench.call("read_file", {"absolute_path": str(path)}, path.parent)
    peer = Command("cat", [peers.system_tool("cat"), path], path.parent)
    return Workload(ours, peer, check=partial(check_first_line, bench, ours, peer))


def build_search(bench, pattern, case_sensitive=False, folder=None, most_matches=20_000):
    root = bench.corpora.linux
    # rg shows every match. Without a number, ours would show the first of each file, and stop at 20,000.
    arguments = {"pattern": pattern, "total_max_matches": most_matches}
    if case_sensitive:
        arguments["case_sensitive"] = True
    if folder:
        arguments["path"] = str(root / folder)
    ours = bench.call("search_file_content", arguments, root)
    options = ["-n"] if case_sensitive else ["-n", "-i"]
    rg = bench.searcher("rg")
    peer = Command(f"rg {' '.join(options)}", [rg, *options, pattern, *([folder] if folder else [])], root)
    return Workload(
        ours,
        peer,
        warm=partial(read_tree, rg, root / (folder or ".")),
        check=partial(check_count, bench, ours, peer),
    )


def build_around_search(bench, folder):
    """Look-around and back-references, one pattern after the other, as a model asks for them."""
    root = bench.corpora.linux / folder
    rg = bench.searcher("rg")
    known = subprocess.run([rg, "--pcre2-version"], capture_output=True)
    if known.returncode != 0:
        raise CannotRun(f"{rg} is built without PCRE2: look-around needs one with it, such as Debian's ripgrep")
    options = ["-P", "-n", "-i", "--hidden"]
    arguments = [{"pattern": pattern, "total_max_matches": 1_000_000} for pattern in AROUND]
    parts = [
        (call["pattern"], bench.call("search_file_content", call, root), Command("rg", [rg, *options, "-e", call["pattern"], "."], root))
        for call in arguments
    ]
    calls = bench.work / "around.jsonl"
    calls.write_text("".join(
        json.dumps({"id": str(n), "name": "search_file_content", "args": call}) + "\n" for n, call in enumerate(arguments)
    ))
    ours = Command("call_tool --batch", [bench.call_tool, "--batch"], root, calls)
    each = f'rg=$1; shift; for pattern; do "$rg" {" ".join(options)} -e "$pattern" .; done'
    peer = Command(f"rg {' '.join(options[:3])}", [peers.system_tool("sh"), "-c", each, "sh", rg, *AROUND], root)
    check = partial(check_around, bench, parts)
    return Workload(ours, peer, warm=partial(read_tree, rg, root), check=check, parts=parts)


def build_checks(bench):
    """Fifty rules in one walk, against one search by the peer for one of them."""
    root = bench.corpora.linux
    rules = Path(__file__).with_name("rules.toml")
    ours = Command("--check", [bench.call_tool, "--check", rules], root)
    rg = bench.searcher("rg")
    peer = Command("rg -n", [rg, "-n", RULE], root)
    return Workload(ours, peer, warm=partial(read_tree, rg, root), check=partial(check_checks, bench, ours))


def check_checks(bench, ours):
    return None if b" by 50 rules" in bench.capture(ours) else f"{ours.label} has not checked by fifty rules"


def check_around(bench, parts):
    """Both must find the same number of lines by each pattern."""
    wrong = (check_count(bench, ours, peer) for _, ours, peer in parts)
    said = (f"{pattern}: {what}" for (pattern, _, _), what in zip(parts, wrong) if what)
    return next(said, None)


def build_glob(bench, corpus):
    root = getattr(bench.corpora, corpus)
    ours = bench.call("glob", {"pattern": "**/*.c"}, root)
    rg = bench.searcher("rg")
    peer = Command("fd -e c (not sorted)", [bench.searcher("fd"), "-e", "c"], root)
    ordered = Command("rg --files --sortr modified", [rg, "--files", "--sortr", "modified", "-g", "*.c"], root)
    return Workload(
        ours, peer, [ordered], warm=partial(stat_tree, rg, root), check=partial(check_count, bench, ours, peer)
    )


def build_list_directory(bench):
    path = bench.corpora.entries
    ours = bench.call("list_directory", {"path": str(path)}, path)
    peer = Command("ls -1", [peers.system_tool("ls"), "-1"], path)
    return Workload(ours, peer, check=partial(check_contains, bench, ours, "[DIR] folder_0000000"))


def build_lines(bench, with_total):
    path = bench.corpora.log
    window = {"absolute_path": str(path), "offset": FIRST_LINE - 1, "limit": LAST_LINE - FIRST_LINE + 1}
    ours = bench.call("read_file", dict(window, count_lines=with_total), path.parent)
    script = f"{FIRST_LINE},{LAST_LINE}p;{LAST_LINE}q"
    sed = Command("sed -n 'a,bp;bq'", [peers.system_tool("sed"), "-n", script, path], path.parent)
    count = Command("wc -l", [peers.system_tool("wc"), "-l", path], path.parent)
    peer, other = (count, sed) if with_total else (sed, count)
    return Workload(
        ours,
        peer,
        [other],
        warm=partial(read_through, path),
        check=partial(check_first_line, bench, ours, sed),
    )


def build_replace(bench):
    source, target = bench.corpora.edit, bench.work / "data.txt"
    edit = {"file_path": str(target), "old_string": files.EDIT_OLD, "new_string": files.EDIT_NEW}
    before = partial(fresh_copy, bench, source, target)
    ours = bench.call("replace", edit, bench.work, before=before)
    sed = [peers.system_tool("sed"), "-i", f"s/{files.EDIT_OLD}/{files.EDIT_NEW}/", str(target)]
    plain = Command("sed -i (does not flush)", sed, bench.work, before=before)
    flush = f"{sed[0]} -i '{sed[2]}' data.txt && exec sync data.txt"
    peer = Command("sed -i, sync FILE", [peers.system_tool("sh"), "-c", flush], bench.work, before=before)
    return Workload(ours, peer, [plain], check=partial(check_same_file, bench, ours, peer, target))


def build_replace_small(bench):
    source, target = bench.corpora.small, bench.work / "small.txt"
    old = unique_line(source)
    edit = {"file_path": str(target), "old_string": old, "new_string": files.EDIT_NEW}
    before = partial(fresh_copy, bench, source, target)
    ours = bench.call("replace", edit, bench.work, before=before)
    script = f"s/^{re.escape(old)}$/{files.EDIT_NEW}/"
    sed = [peers.system_tool("sed"), "-E", "-i", script, str(target)]
    plain = Command("sed -i (does not flush)", sed, bench.work, before=before)
    flush = [peers.system_tool("sh"), "-c", 'sed -E -i "$1" "$2" && exec sync "$2"', "sh", script, str(target)]
    peer = Command("sed -i, sync FILE", flush, bench.work, before=before)
    return Workload(ours, peer, [plain], check=partial(check_same_file, bench, ours, peer, target))


def build_write_small(bench):
    target, source = bench.work / "written.txt", bench.work / "to-write.txt"
    content = "A line of what is written.\n" * (4096 // 27)
    source.write_text(content)
    call = {"file_path": str(target), "content": content}
    before = partial(target.unlink, missing_ok=True)
    ours = bench.call("write_file", call, bench.work, before=before)
    dd = [peers.system_tool("dd"), f"if={source}", f"of={target}", "bs=4096", "status=none"]
    peer = Command("dd conv=fdatasync", [*dd, "conv=fdatasync"], bench.work, before=before)
    plain = Command("dd (does not flush)", dd, bench.work, before=before)
    return Workload(ours, peer, [plain], check=partial(check_same_file, bench, ours, peer, target))


def build_journal(bench, corpus):
    """The same edit with the journal that --undo reads, and without."""
    source, target = getattr(bench.corpora, corpus), bench.work / "kept.txt"
    old = files.EDIT_OLD if corpus == "edit" else unique_line(source)
    edit = {"file_path": str(target), "old_string": old, "new_string": files.EDIT_NEW}
    stdin = bench.stdin_file("replace-kept", edit)

    def command(label, is_kept):
        argv = [bench.call_tool, "replace"]
        return Command(label, argv, bench.work, stdin, before=partial(before_kept_edit, bench, source, target, is_kept))

    ours, peer = command("with the journal", True), command("without it", False)
    return Workload(ours, peer, check=partial(check_journal, bench, ours, peer, target))


def before_kept_edit(bench, source, target, is_kept):
    settings = {"tools": {"undo": {"enabled": is_kept}}}
    path = Path(bench.env["HOME"], ".gemini", "settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings))
    fresh_copy(bench, source, target)


def unique_line(path):
    """A line that is in a text once."""
    text = path.read_text()
    return next(line for line in text.splitlines() if len(line) > 20 and text.count(line) == 1)


def check_journal(bench, ours, peer, target):
    """Both must leave the same bytes behind, and only ours an entry that undoes it."""
    listed = Command("--history", [bench.call_tool, "--history"], bench.work)
    counts = []
    for command in (peer, ours):
        bench.capture(command)
        counts.append(bench.capture(listed).count(target.name.encode()))
    if counts != [0, 1]:
        return f"the history has {counts[0]} entries without the journal, and {counts[1]} with it"
    return check_same_file(bench, ours, peer, target)


def build_history(bench):
    """A journal of many small edits, and what is left of the time where there is none."""
    target = bench.work / "edited.txt"
    target.write_text("0\n" + "A line that stays as it is.\n" * 20)
    edits = bench.work / "edits.jsonl"
    edit = partial(dict, file_path=str(target))
    calls = (
        {"id": str(n), "name": "replace", "args": edit(old_string=f"{n}\nA line", new_string=f"{n + 1}\nA line", expected_replacements=1)}
        for n in range(HISTORY_ENTRIES)
    )
    edits.write_text("".join(json.dumps(call) + "\n" for call in calls))
    bench.capture(Command("edits", [bench.call_tool, "--batch"], bench.work, edits))
    ours = Command("--history", [bench.call_tool, "--history"], bench.work)
    log = next(Path(bench.env["HOME"], ".gemini", "tools_journal").glob("*/log"))
    peer = Command("cat of the log", [peers.system_tool("cat"), log], bench.work)
    return Workload(ours, peer, check=partial(check_history, bench, ours))


def check_history(bench, ours):
    count = bench.capture(ours).count(b"\n")
    return None if count == HISTORY_ENTRIES else f"{ours.label} prints {count} lines, not {HISTORY_ENTRIES}"


def fresh_copy(bench, source, target):
    """A new copy that is in the page cache and already on disk, so that nobody flushes for the copying.

    Nobody has seen it: an edit that another run has made would else be a change of the same caller's that is gone.
    """
    shutil.rmtree(Path(bench.env["HOME"], ".gemini", "tools_seen"), ignore_errors=True)
    shutil.copyfile(source, target)
    with open(target, "rb") as file:
        os.fsync(file.fileno())


def build_long_line_read(bench):
    path = bench.corpora.long_line
    ours = bench.call("read_file", {"absolute_path": str(path)}, path.parent)
    peer = Command("wc -l", [peers.system_tool("wc"), "-l", path], path.parent)
    return Workload(
        ours,
        peer,
        warm=partial(read_through, path),
        check=partial(check_contains, bench, ours, "the quick brown fox"),
    )


def build_long_line_search(bench):
    path = bench.corpora.long_line
    ours = bench.call("search_file_content", {"pattern": files.NEEDLE}, path.parent)
    rg = [bench.searcher("rg"), "-n", "-i", "-M", "2000", files.NEEDLE, path.name]
    return Workload(
        ours,
        Command("rg -n -i -M 2000", rg, path.parent),
        warm=partial(read_through, path),
        check=partial(check_contains, bench, ours, files.NEEDLE),
    )


def build_shell(bench):
    ours = bench.call("run_shell_command", {"command": "true"}, bench.work)
    peer = Command("bash -c true", [peers.system_tool("bash"), "-c", "true"], bench.work)
    return Workload(ours, peer, check=partial(check_contains, bench, ours, "Exit Code: 0"))


# What is done in the directory of each kind before all runs and before each, and the command that is measured.
KEPT_COMMANDS = {
    "true": ("", "", "true"),
    "make": (
        "for i in $(seq 300); do printf '#include <stdio.h>\nint f%d(void) { return puts(\"x\"); }\n' $i > f$i.c; done;"
        " printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n' > Makefile",
        "rm -f *.o",
        "make -s -j2 all",
    ),
    "checkout": (
        "git init -q -b main; for i in $(seq 2000); do mkdir -p $((i % 50)); echo $i > $((i % 50))/$i.txt; done;"
        " git add .; git -c user.name=a -c user.email=a commit -qm a; git checkout -qb other; for f in */*; do echo b >> $f;"
        " done; git -c user.name=a -c user.email=a commit -qam b",
        "git checkout -q main",
        "git checkout -q other",
    ),
}


def build_kept(bench, kind):
    """The same command with its changes kept for --undo, and without."""
    prepare, before, line = KEPT_COMMANDS[kind]
    folder = bench.work / f"kept-{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def shell(line):
        subprocess.run(["bash", "-c", line], cwd=folder, env=bench.env, check=True)

    def command(extent):
        call = bench.call("run_shell_command", {"command": line}, folder, before=partial(shell, before))
        argv = [peers.system_tool("env"), f"GEMINI_TOOLS_UNDO_COMMANDS={extent}", *call.argv]
        return replace(call, label=f"kept: {extent}", argv=argv)

    shell(prepare)
    ours, peer = command("on"), command("off")
    return Workload(ours, peer, check=partial(check_contains, bench, ours, "Exit Code: 0"))


def build_flood(bench):
    flood = "yes | head -c 1G"
    ours = bench.call("run_shell_command", {"command": flood}, bench.work)
    piped = Command("the same into cat", [peers.system_tool("bash"), "-c", f"{flood} | cat > /dev/null"], bench.work)
    return Workload(ours, piped, check=partial(check_contains, bench, ours, "[Truncated: "))


BATCH_CALLS, SINGLE_CALLS = 2000, 100


def build_batch(bench):
    """As many times more calls than the peer makes as the bar asks for, so that a ratio of 1 is on the bar."""
    path = bench.corpora.small
    arguments = {"absolute_path": str(path), "limit": 5}
    single = bench.stdin_file("read_file", arguments)
    lines = bench.work / "batch.jsonl"
    call = {"name": "read_file", "args": arguments}
    lines.write_text("".join(json.dumps(dict(call, id=str(i))) + "\n" for i in range(BATCH_CALLS)))
    ours = Command(f"--batch, {BATCH_CALLS:,} calls", [bench.call_tool, "--batch"], path.parent, lines)
    loop = f"i=0; while [ $i -lt {SINGLE_CALLS} ]; do '{bench.call_tool}' read_file < '{single}'; i=$((i+1)); done"
    peer = Command(f"{SINGLE_CALLS} processes", [peers.system_tool("sh"), "-c", loop], path.parent)
    return Workload(ours, peer, check=partial(check_batch, bench, ours))


def check_batch(bench, ours):
    answers = [json.loads(line) for line in bench.capture(ours).splitlines()]
    good = sum("output" in answer["functionResponse"]["response"] for answer in answers)
    return None if good == BATCH_CALLS else f"{good} of {BATCH_CALLS} calls were answered"


def build_agent(bench):
    """A long session, less the time that the model took, beside the same calls without anybody who asks a model."""
    job = agent.Job(bench.work / "agent")
    job.begin()
    model = agent.Model(job)
    record, calls = job.folder / "session.jsonl", job.folder / "calls.jsonl"
    calls.write_text(job.batch())

    def before():
        job.begin()
        model.begin()
        record.unlink(missing_ok=True)

    # Commands run in the sandbox that is run_agent's default.
    env, sandbox = [peers.system_tool("env")], "GEMINI_TOOLS_SANDBOX=workspace-write"
    credential = ["GEMINI_API_KEY=none", f"GOOGLE_GEMINI_BASE_URL={model.url}", sandbox]
    session = ["--approval-mode", "yolo", "--prompt", "Go", "--session", record]
    ours = Command(
        "run_agent less the model's time", [*env, *credential, bench.run_agent, *session], job.root, before=before,
        foreign_ms=model.own_ms,
    )
    batch = [bench.call_tool, "--batch", "--stream", "--output", "result"]
    peer = Command("call_tool --batch alone", [*env, sandbox, *batch], job.root, calls, before=job.begin)
    single = [*env, sandbox, peers.system_tool("sh"), "-c", job.single_calls(bench.call_tool)]
    processes = Command(f"{agent.CALLS} processes of call_tool", single, job.root, most_runs=3, before=job.begin)
    return Workload(
        ours,
        peer,
        [processes],
        check=partial(check_agent, bench, job, record, ours, [peer, processes]),
        peaks=partial(agent.tree_peaks, ours, bench.env),
        close=model.close,
    )


def check_agent(bench, job, record, ours, others):
    bench.capture(ours)
    answered = sum(json.loads(line)["type"] == "done" for line in record.read_text().splitlines())
    if answered != agent.CALLS:
        return f"{ours.label} has made {answered} calls, not {agent.CALLS}"
    wrong = job.wrong() and f"{ours.label}: {job.wrong()}"
    for command in others:
        bench.capture(command)
        wrong = wrong or job.wrong() and f"{command.label}: {job.wrong()}"
    return wrong


# One of the rules in rules.toml.
RULE = r"BUG_ON\("

SEARCH_PEER, FOLDED_PEER, AROUND_PEER = "rg -n", "rg -n -i", "rg -P -n -i"
SPECS = [
    Spec("get_tools", "get_tools", "cat", 0.6, 0.25, SMALL_MEMORY, START, (), build_get_tools, glibc_bar=1.05),
    Spec(
        "read_small", "read_file, 7 KB", "cat", 0.75, 0.6, SMALL_MEMORY, START, ("small",), build_read_small,
        glibc_bar=1.2,
    ),
    Spec(
        "search_literal", "search, literal, 39 hits", SEARCH_PEER, 0.8, 0.6, TREE_MEMORY, TREE, ("linux",),
        partial(build_search, pattern="PM_RESUME", case_sensitive=True),
    ),
    Spec(
        "search_regex", "search, regex, 38 hits", SEARCH_PEER, 0.8, 0.6, TREE_MEMORY, TREE, ("linux",),
        partial(build_search, pattern=SUSPEND, case_sensitive=True),
    ),
    Spec(
        "search_folded", "search ignoring case, 533 hits", FOLDED_PEER, 0.8, 0.6, TREE_MEMORY, TREE, ("linux",),
        partial(build_search, pattern="pm_resume"),
    ),
    Spec(
        "search_folder", "search in a folder of 560 files", FOLDED_PEER, 0.6, 0.5, TREE_MEMORY, FAST, ("linux",),
        partial(build_search, pattern="pm_resume", folder="kernel"),
    ),
    Spec(
        "search_many", "search, regex, 34,792 hits", FOLDED_PEER, 0.8, 0.6, TREE_MEMORY, TREE, ("linux",),
        partial(build_search, pattern=EXPORTS, most_matches=50_000),
    ),
    Spec(
        "search_around", "ten searches with look-around in fs", AROUND_PEER, 2.0, 1.0, TREE_MEMORY, SLOW, ("linux",),
        partial(build_around_search, folder="fs"),
    ),
    Spec(
        "search_around_prose", "the same in Documentation", AROUND_PEER, 2.0, 1.0, TREE_MEMORY, SLOW, ("linux",),
        partial(build_around_search, folder="Documentation"),
    ),
    Spec(
        "checks", "--check with fifty rules", SEARCH_PEER, 3.5, 2.5, (64, 48), TREE, ("linux",), build_checks,
    ),
    Spec(
        "glob", "glob **/*.c, newest first", "fd -e c", 0.65, 0.55, TREE_MEMORY, TREE, ("linux",),
        partial(build_glob, corpus="linux"),
    ),
    Spec(
        "glob_million", "glob **/*.c, 1,000,000 files", "fd -e c", 1.0, 0.75, TREE_MEMORY, HUGE, ("many",),
        partial(build_glob, corpus="many"),
    ),
    Spec(
        "list_directory", "list_directory, 10,000 entries", "ls -1", 0.9, 0.6, SMALL_MEMORY, FAST, ("entries",),
        build_list_directory,
    ),
    Spec(
        "lines", "100 lines of 1 GiB, without the total", "sed -n", 0.4, 0.2, SMALL_MEMORY, TREE, ("log",),
        partial(build_lines, with_total=False),
    ),
    Spec(
        "lines_total", "100 lines of 1 GiB, with the total", "wc -l", 1.3, 1.0, SMALL_MEMORY, TREE, ("log",),
        partial(build_lines, with_total=True),
    ),
    Spec(
        "replace_small", "replace, 7 KB, flushed", "sed -i, sync", 0.6, 0.3, SMALL_MEMORY, START, ("small",), build_replace_small,
    ),
    Spec("write_small", "write_file, 4 KB, flushed", "dd conv=fdatasync", 1.3, 1.0, SMALL_MEMORY, START, (), build_write_small),
    Spec(
        "replace", "replace in 50 MiB, flushed", "sed -i, sync", 0.8, 0.4, SMALL_MEMORY, HUGE, ("edit",),
        build_replace,
    ),
    Spec(
        "undo_small", "replace, 7 KB, with the journal", "without it", 1.15, 1.1, SMALL_MEMORY, START, ("small",),
        partial(build_journal, corpus="small"),
    ),
    Spec(
        "undo_large", "replace in 50 MiB, with the journal", "without it", 1.1, 1.05, SMALL_MEMORY, HUGE, ("edit",),
        partial(build_journal, corpus="edit"),
    ),
    Spec(
        "history", f"call_tool --history, {HISTORY_ENTRIES:,} entries", "cat of the log", 20, 10, (32, 24), FAST, (), build_history,
        is_time=True,
    ),
    Spec(
        "long_line_read", "read a line of 100 MiB", "wc -l", 1.0, 0.3, SMALL_MEMORY, FAST, ("long_line",),
        build_long_line_read,
    ),
    Spec(
        "long_line_search", "search a line of 100 MiB", "rg -M 2000", 1.0, 0.6, TREE_MEMORY, FAST, ("long_line",),
        build_long_line_search,
    ),
    Spec(
        "shell", "run_shell_command true", "bash -c true", 1.7, 1.5, SMALL_MEMORY, START, (), build_shell, glibc_bar=2.1,
    ),
    Spec(
        "kept_true", "true, its changes kept for undo", "not kept", 1.4, 1.1, SMALL_MEMORY, START, (),
        partial(build_kept, kind="true"),
    ),
    Spec(
        "kept_make", "make -j2 of 300 files, kept for undo", "not kept", 1.2, 1.15, (96, 64), SLOW, (),
        partial(build_kept, kind="make"),
    ),
    Spec(
        "kept_checkout", "git checkout of 2,000 files, kept for undo", "not kept", 2.5, 1.3, (32, 16), SLOW, (),
        partial(build_kept, kind="checkout"),
    ),
    Spec("flood", "a command that prints 1 GiB", "into cat", 1.3, 1.1, (64, 16), HUGE, (), build_flood),
    Spec("batch", "2,000 calls by --batch", "100 processes", 1.0, 0.4, (16, 8), FAST, ("small",), build_batch),
    Spec(
        "agent", f"run_agent, {agent.TURNS} turns, {agent.CALLS} calls", "call_tool --batch", 1, 0.5, (24, 20), SLOW, (),
        build_agent, calls=agent.CALLS,
    ),
]


def for_library(specs, program):
    """The specs with the bars for the C library that a program is linked to."""
    code = program.read_bytes()
    if b"GNU C Library" not in code and b"/ld-linux" not in code:
        return specs
    return [replace(spec, bar=spec.bar if spec.glibc_bar is None else spec.glibc_bar) for spec in specs]
