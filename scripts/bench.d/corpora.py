"""The files the workloads run on: built once, in a folder of the caller's choice, and the same on every machine.

Measuring is done elsewhere. A corpus is built under a temporary name and renamed when it is whole,
so that a run that was interrupted starts that corpus again.
"""

import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

MIB = 1 << 20
NEEDED_BYTES = 8 * (1 << 30)
NEEDED_INODES = 1_300_000
DAY_SECS = 86_400
RESPREAD_AFTER_SECS = DAY_SECS // 2

MANY_FOLDERS = (100, 100)
MANY_FILES_PER_FOLDER = 100
LOG_BYTES = 1 << 30
LOG_BLOCK_LINES = 100_000
LONG_LINE_BYTES = 100 * MIB
EDIT_BYTES = 50 * MIB
ENTRIES = 10_000
SMALL_BYTES = 7_000

EDIT_OLD = "the_one_place_to_change"
EDIT_NEW = "the_one_place_that_changed"
NEEDLE = "NEEDLE"


class CorpusError(Exception):
    """A corpus that cannot be built here; the message says what to do."""


class Corpora:
    """Paths of the corpora in one folder."""

    def __init__(self, root):
        self.root = Path(root)
        self.linux = self.root / "linux"
        self.many = self.root / "many"
        self.log = self.root / "files" / "log" / "server.log"
        self.long_line = self.root / "files" / "long_line" / "line.txt"
        self.edit = self.root / "files" / "edit" / "data.txt"
        self.entries = self.root / "files" / "entries"
        self.small = self.root / "files" / "small" / "notes.md"

    def prepare(self, names, say):
        """Builds those of the named corpora that are missing."""
        missing = [name for name in names if not getattr(self, name).exists()]
        if missing:
            self.root.mkdir(parents=True, exist_ok=True)
            check_space(self.root, missing)
        for name in missing:
            say(f"building corpus '{name}' in {self.root} ...")
            BUILDERS[name](self, getattr(self, name))
        for name in ("linux", "many"):
            if name in names:
                self.keep_times_fresh(name, say)

    def keep_times_fresh(self, name, say):
        """Spreads the modification times again when "within the last day" has become untrue."""
        stamp = self.root / f"{name}.times"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < RESPREAD_AFTER_SECS:
            return
        say(f"spreading the modification times of '{name}' ...")
        spread_times(getattr(self, name), time.time())
        stamp.touch()


def check_space(root, missing):
    """Refuses to start what would not fit."""
    if not {"linux", "many"} & set(missing):
        return
    stat = os.statvfs(root)
    free = stat.f_bavail * stat.f_frsize
    if free < NEEDED_BYTES:
        raise CorpusError(
            f"{root} has {free >> 30} GiB free and the corpora need {NEEDED_BYTES >> 30}: "
            "free some, or name another folder in GEMINI_TOOLS_BENCH_DIR"
        )
    # Some file systems (btrfs) have no fixed number of inodes and say 0.
    if stat.f_files and stat.f_favail < NEEDED_INODES:
        raise CorpusError(
            f"{root} has {stat.f_favail} free inodes and the corpora need {NEEDED_INODES}: "
            "name another folder in GEMINI_TOOLS_BENCH_DIR"
        )


def run(*argv, cwd=None, env=None):
    """Runs a program of the preparation; its failure is the corpus's."""
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise CorpusError(f"{argv[0]} cannot be started: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise CorpusError(f"`{' '.join(map(str, argv))}` failed: {' / '.join(last)}")
    return done.stdout


def fresh_part(path):
    """An empty folder beside `path` to build it in."""
    part = path.with_name(path.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    part.mkdir(parents=True)
    return part


def spread_of(path, now):
    """A time for `path`: one file in twenty changed within the last day, the others within three years."""
    digest = int.from_bytes(hashlib.blake2b(path, digest_size=8).digest(), "big")
    recent, digest = digest % 20 == 0, digest // 20
    if recent:
        return now - digest % (DAY_SECS - RESPREAD_AFTER_SECS)
    return now - 2 * DAY_SECS - digest % (3 * 365 * DAY_SECS)


def spread_times(root, now):
    """Sets every file's modification time from a hash of its path."""
    root = os.fsencode(root)
    for folder, folders, files in os.walk(root):
        if b".git" in folders:
            folders.remove(b".git")
        for name in files:
            path = os.path.join(folder, name)
            when = spread_of(os.path.relpath(path, root), int(now))
            os.utime(path, (when, when), follow_symlinks=False)


def build_linux(corpora, target):
    """Debian's kernel sources, as a git repository with one commit."""
    deb = find_package(corpora.root)
    part = fresh_part(target)
    unpacked = fresh_part(corpora.root / "package")
    run("dpkg-deb", "-x", deb, unpacked)
    archives = sorted(unpacked.glob("usr/src/**/linux-source-*.tar.*"))
    if not archives:
        raise CorpusError(f"no kernel sources inside {deb}")
    run("tar", "-xf", archives[0], "-C", part, "--strip-components=1")
    shutil.rmtree(unpacked)
    keep_tree_searchable(part / ".gitignore")
    spread_times(part, time.time())
    commit_all(part)
    part.rename(target)


def find_package(root):
    """The package file: one that is already here, or a download."""
    here = sorted(root.glob("linux-source-*.deb"))
    if here:
        return here[-1]
    listed = run("apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$")
    names = re.findall(r"^linux-source-[0-9.]+\b", listed, re.MULTILINE)
    if not names:
        raise CorpusError(
            "apt-cache offers no linux-source package: run `apt-get update`, "
            f"or put the .deb of one into {root}"
        )
    # The published figures are those of 6.1; any other tree has other numbers of hits.
    name = "linux-source-6.1" if "linux-source-6.1" in names else max(names, key=version_of)
    part = fresh_part(root / "download")
    run("apt-get", "download", name, cwd=part)
    (package,) = part.glob("*.deb")
    package = package.rename(root / package.name)
    part.rmdir()
    return package


def version_of(name):
    return [int(part) for part in re.findall(r"\d+", name)]


def keep_tree_searchable(ignore_file):
    """Debian ignores the whole tree by a line of its own, and a search would then find nothing."""
    lines = ignore_file.read_text().splitlines(keepends=True)
    ignore_file.write_text("".join(line for line in lines if line.strip() != "/*"))


def commit_all(folder):
    """One commit, the same on every machine."""
    env = dict(
        os.environ,
        GIT_CONFIG_GLOBAL="/dev/null",
        GIT_CONFIG_SYSTEM="/dev/null",
        GIT_AUTHOR_DATE="2026-01-01T00:00:00Z",
        GIT_COMMITTER_DATE="2026-01-01T00:00:00Z",
    )
    run("git", "init", "--quiet", "--initial-branch=main", cwd=folder, env=env)
    # "Big" files go straight into one pack; 78,000 loose objects would take minutes to write and to repack.
    run("git", "-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "add", "--all", cwd=folder, env=env)
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    run("git", *identity, "commit", "--quiet", "--no-verify", "-m", "corpus", cwd=folder, env=env)


def build_many(_corpora, target):
    """A million files of 60 bytes in 10,100 folders, one in ten of them C."""
    part = fresh_part(target)
    text = (b"/* " + b"x" * 53 + b" */\n")[:60]
    outer, inner = MANY_FOLDERS
    now = int(time.time())
    for a in range(outer):
        for b in range(inner):
            relative = f"group_{a:02}/folder_{b:02}"
            folder = part / relative
            folder.mkdir(parents=True)
            for c in range(MANY_FILES_PER_FOLDER):
                name = f"item_{c:02}.{'c' if c % 10 == 0 else 'txt'}"
                write_small(folder / name, text, spread_of(f"{relative}/{name}".encode(), now))
    part.rename(target)
    (target.parent / "many.times").touch()


def write_small(path, data, when):
    """Three system calls; pathlib's own way doubles the time of a million files."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(handle, data)
    os.utime(handle, (when, when))
    os.close(handle)


def build_log(_corpora, target):
    """1 GiB of log lines, about ten million."""
    kinds = ("INFO", "WARN", "ERROR", "DEBUG")
    block = "".join(
        f"2026-01-{1 + n // 3_600:02}T{n // 150 % 24:02}:{n * 2 // 5 % 60:02}:{n * 24 % 60:02}.{n * 617 % 1000:03}Z "
        f"{kinds[n * 7 % 4]:5} worker-{n * 13 % 64:02} request {n:08} served in {n * 31 % 997:3} ms, "
        f"status {200 + n % 5}, {n * 17 % 9973:4} bytes sent ok\n"
        for n in range(LOG_BLOCK_LINES)
    ).encode()
    with part_file(target) as out:
        write_repeated(out, block, LOG_BYTES - 1)
        out.write(b"\n")


def build_long_line(_corpora, target):
    """100 MiB in one line, with the searched word at its very end."""
    words = b"the quick brown fox jumps over the lazy dog while five boxing wizards watch 0123456789 "
    tail = f" {NEEDLE}\n".encode()
    with part_file(target) as out:
        write_repeated(out, words, LONG_LINE_BYTES - len(tail))
        out.write(tail)


def build_edit(_corpora, target):
    """50 MiB of text that holds the string to replace once, past its middle."""
    line = b"    let value = lookup(&table, index).unwrap_or(0); // an ordinary line of a large file\n"
    place = f"    {EDIT_OLD}(value);\n".encode()
    before = EDIT_BYTES * 3 // 5 // len(line) * len(line)
    with part_file(target) as out:
        write_repeated(out, line, before)
        out.write(place)
        write_repeated(out, line, EDIT_BYTES - before - len(place) - 1)
        out.write(b"\n")


def build_entries(_corpora, target):
    """A folder of 10,000 entries, one in ten of them a folder."""
    part = fresh_part(target)
    for n in range(ENTRIES):
        if n % 10 == 0:
            (part / f"folder_{n:07}").mkdir()
        else:
            (part / f"file_{n:05}.txt").touch()
    part.rename(target)


def build_small(_corpora, target):
    """A page of text with what needs escaping in JSON: quotes, tabs, backslashes, letters beyond ASCII."""
    lines = (
        "## Section {n}\n",
        "\n",
        "\tThe option \"depth\" takes a number, and `C:\\temp` is a path – naïve readers beware.\n",
        "- item {n}: see chapter {n} of the handbook for the long story and its exceptions\n",
    )
    text = "".join(lines[n % len(lines)].format(n=n) for n in range(400)).encode()
    end = text.rindex(b"\n", 0, SMALL_BYTES) + 1
    with part_file(target) as out:
        out.write(text[:end])


def write_repeated(out, piece, size):
    block = piece * max(1, MIB // len(piece))
    while size > 0:
        size -= out.write(block[:size])


class part_file:
    """A file that gets its name when it is complete."""

    def __init__(self, target):
        self.target = target
        self.part = target.with_name(target.name + ".part")

    def __enter__(self):
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(self.part, "wb", buffering=0)
        return self.file

    def __exit__(self, kind, *_rest):
        self.file.close()
        if kind is None:
            self.part.rename(self.target)


BUILDERS = {
    "linux": build_linux,
    "many": build_many,
    "log": build_log,
    "long_line": build_long_line,
    "edit": build_edit,
    "entries": build_entries,
    "small": build_small,
}
