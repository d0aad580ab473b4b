"""Edits that people really made: reads the commits of one repository and cuts them into edits of one place each.

What a model would get wrong about them is the business of `kinds.py` and `traps.py`.
"""

import hashlib
import re
import subprocess
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from sources import FOREIGN, LICENCE_FILES

FILE_LINES = range(30, 601)
CHANGED_LINES = range(1, 26)
MAX_FILE_BYTES = 12_000
# Most cases keep several copies of their file, and the whole set has to stay small.
USUAL_FILE_BYTES = 3_600
LARGE_SHARE = 0.01
LONGEST_LINE_CHARS = 200
# Hunks so near to each other are one edit to whoever reads them.
JOINED_GAP_LINES = 3

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Op:
    """One line of an edit: kept (`=`), taken away (`-`) or added (`+`)."""

    sign: str
    text: str


@dataclass
class Edit:
    """One place of one file, changed by one commit. `start` is the index of the first changed line."""

    source: object
    commit: str
    subject: str
    path: str
    before: list
    after: list = field(repr=False)
    start: int = 0
    ops: tuple = ()

    @property
    def key(self):
        return f"{self.source.repository} {self.commit} {self.path} {self.start}"

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def old_lines(self):
        return [op.text for op in self.ops if op.sign != "+"]

    @property
    def new_lines(self):
        return [op.text for op in self.ops if op.sign != "-"]

    @property
    def end(self):
        """The index behind the last line of `before` that the edit covers."""
        return self.start + len(self.old_lines)

    def with_context(self, above, below):
        """The same edit with so many unchanged lines around it, or fewer at the file's ends."""
        above = min(above, self.start)
        head = [Op("=", text) for text in self.before[self.start - above : self.start]]
        tail = [Op("=", text) for text in self.before[self.end : self.end + below]]
        return replace(self, start=self.start - above, ops=(*head, *self.ops, *tail))

    def result(self, lines=None):
        """The lines of the whole file after this edit alone, or with other lines in place of the new ones."""
        lines = self.new_lines if lines is None else lines
        return self.before[: self.start] + lines + self.before[self.end :]


class Repository:
    """A bare repository, read through git."""

    def __init__(self, source, git_dir):
        self.source = source
        self.git_dir = git_dir
        self.licences = {}
        self.blobs = subprocess.Popen(
            ["git", "--git-dir", git_dir, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def close(self):
        self.blobs.stdin.close()
        self.blobs.wait()
        self.blobs.stdout.close()

    def git(self, *arguments):
        done = subprocess.run(["git", "--git-dir", self.git_dir, *arguments], check=True, stdout=subprocess.PIPE)
        return done.stdout

    def blob(self, name):
        self.blobs.stdin.write(name.encode() + b"\n")
        self.blobs.stdin.flush()
        header = self.blobs.stdout.readline().split()
        if header[-1] == b"missing":
            return None
        content = self.blobs.stdout.read(int(header[2]))
        self.blobs.stdout.read(1)
        return content

    def text(self, name):
        """The lines of a blob, or None if it is no plain text of a fitting size."""
        content = self.blob(name)
        if content is None or len(content) > MAX_FILE_BYTES or b"\r" in content or b"\0" in content:
            return None
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if not text.endswith("\n") or text.startswith("\ufeff") or FOREIGN.search(text):
            return None
        lines = text[:-1].split("\n")
        if len(lines) not in FILE_LINES or max(map(len, lines)) > LONGEST_LINE_CHARS:
            return None
        return lines

    def is_licensed(self, commit):
        """Whether the commit's own licence is the one that the source is listed with."""
        names = [n for n in self.git("ls-tree", "--name-only", commit).decode().splitlines() if LICENCE_FILES.match(n)]
        return any(self.licence_fits(f"{commit}:{name}") for name in names)

    def licence_fits(self, name):
        blob = self.git("rev-parse", name).decode().strip()
        if blob not in self.licences:
            text = self.blob(blob).decode("utf-8", "replace")
            self.licences[blob] = re.search(self.source.marker, text) is not None
        return self.licences[blob]

    def ages(self):
        """How many commits are newer, by commit."""
        commits = self.git("rev-list", self.source.tip).decode().split()
        return {commit: age for age, commit in enumerate(commits)}

    def changes(self):
        """(commit, subject, path, old blob, new blob, hunks) of every modified file of every commit but merges."""
        pathspecs = [f"*{suffix}" for suffix in self.source.suffixes]
        log = self.git(
            "log", self.source.tip, "--no-merges", "--no-renames", "--diff-filter=M", "--diff-algorithm=myers", "-U0",
            "--full-index", "--no-color", "--no-ext-diff", "--format=%x01%H%x00%s", "-p", "--", *pathspecs,
        ).decode("utf-8", "replace")
        for entry in log.split("\x01")[1:]:
            head, _, body = entry.partition("\n")
            commit, _, subject = head.partition("\0")
            for part in re.split(r"^diff --git ", body, flags=re.MULTILINE)[1:]:
                index = re.search(r"^index ([0-9a-f]{40})\.\.([0-9a-f]{40})", part, re.MULTILINE)
                path = re.search(r"^\+\+\+ b/(.*)$", part, re.MULTILINE)
                if index and path and not re.search(self.source.excluded, path[1]):
                    yield commit, subject, path[1], index[1], index[2], hunks(part)

    def edits(self):
        """All edits of a fitting size, newest first."""
        for commit, subject, path, old, new, found in self.changes():
            fitting = [hunk for hunk in found if hunk[1] + hunk[3] in CHANGED_LINES]
            if not fitting:
                continue
            before, after = self.text(old), self.text(new)
            if before is None or after is None:
                continue
            base = Edit(self.source, commit, subject, path, before, after)
            for start, count, new_start, new_count in fitting:
                ops = joined_ops(before[start : start + count], after[new_start : new_start + new_count])
                edit = replace(base, start=start, ops=ops)
                if is_worth_it(edit):
                    yield edit


def hunks(part):
    """(start, count, new start, new count) with indices from 0; near ones are joined."""
    found = []
    for match in HUNK.finditer(part):
        start, count, new_start, new_count = (int(group) if group is not None else 1 for group in match.groups())
        # git names the line before the place where nothing is taken or added.
        start, new_start = start - (count > 0), new_start - (new_count > 0)
        if found and start - (found[-1][0] + found[-1][1]) <= JOINED_GAP_LINES:
            first = found.pop()
            found.append((first[0], start + count - first[0], first[2], new_start + new_count - first[2]))
        else:
            found.append((start, count, new_start, new_count))
    return found


def joined_ops(old, new):
    """The lines of a hunk as operations; lines that stand in both, in their order, are kept ones."""
    ops = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            ops += [Op("=", text) for text in old[a:b]]
        else:
            ops += [Op("-", text) for text in old[a:b]] + [Op("+", text) for text in new[c:d]]
    return tuple(ops)


def is_worth_it(edit):
    """Leaves out what is only white space, and most of the large files."""
    removed = "".join(op.text for op in edit.ops if op.sign == "-")
    added = "".join(op.text for op in edit.ops if op.sign == "+")
    if "".join(removed.split()) == "".join(added.split()):
        return False
    if sum(len(line.encode()) + 1 for line in edit.before) <= USUAL_FILE_BYTES:
        return True
    return share(edit.key) < LARGE_SHARE


def share(text):
    """A number from 0 to 1 that only depends on the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / (1 << 48)
