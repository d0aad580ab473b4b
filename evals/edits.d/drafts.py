"""What a case consists of while it is made, and the checks that make it a fair one. Which slip it shows: `kinds.py`."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from history import Op, replace

# So much of a place's lines may stand together somewhere else; above, a reader could take the one for the other.
SIMILAR_ELSEWHERE = 0.7
SUBSTANCE_CHARS = 24


@dataclass
class Draft:
    """Strings as the model gave them, the file, and every result that is right, the best one first."""

    variant: str
    old: str
    new: str
    before: str
    results: list


def whole(lines):
    return "\n".join(lines) + "\n"


def told(edit, slips):
    """What the model says of an edit: the lines of old and new, with `slips` in place of the operations at these indices.

    None leaves the line out.
    """
    old, new = [], []
    for index, op in enumerate(edit.ops):
        text = slips.get(index, op.text)
        if text is None:
            continue
        if op.sign != "+":
            old.append(text)
        if op.sign != "-":
            new.append(text)
    return old, new


def draft(variant, edit, slips, results):
    """A draft of an edit with slips; `results` may name `file` (its own lines stay) and `model` (the model's lines)."""
    old, new = told(edit, slips)
    named = {"file": edit.result(), "model": edit.result(new)}
    return Draft(variant, "\n".join(old), "\n".join(new), whole(edit.before), [whole(named[name]) for name in results])


def context(edit, rng, most=3):
    """The edit with as much around it as a model gives, by chance."""
    return edit.with_context(rng.randint(1, most), rng.randint(1, most))


def in_file(variant, edit, lines, results):
    """A draft where the file has other lines, and the model what the file had before."""
    ops = [Op(op.sign, lines.get(i, op.text)) for i, op in enumerate(edit.ops)]
    before = edit.before[: edit.start] + [op.text for op in ops if op.sign != "+"] + edit.before[edit.end :]
    changed = replace(edit, ops=tuple(ops), before=before)
    made = draft(variant, changed, {i: edit.ops[i].text for i in lines}, results)
    return made


def letters(text):
    return sum(char.isalnum() for char in text)


def has_substance(edit):
    lines = [line for line in edit.old_lines if line.strip()]
    return len(lines) >= 2 and letters("".join(lines)) >= SUBSTANCE_CHARS


def squeezed(line):
    return "".join(line.split())


def places(edit, limit=SIMILAR_ELSEWHERE):
    """How many places of the file look like the old lines: 1 if only the real one does."""
    lines = [squeezed(line) for line in edit.before]
    old = [squeezed(line) for line in edit.old_lines]
    count = 1
    for start in range(len(lines) - len(old) + 1):
        if start == edit.start:
            continue
        same = sum(a == b for a, b in zip(old, lines[start:]) if a)
        if same >= limit * sum(map(bool, old)):
            count += 1
    return count


def resembles(line, other):
    return SequenceMatcher(None, line.strip(), other.strip(), autojunk=False).ratio()


def is_comment(line):
    return re.match(r"\s*(//|#(?!include|define|if|endif|else|!|\[|undef|pragma)|/\*|\*/?(\s|$))", line) is not None


def indent_of(line):
    return line[: len(line) - len(line.lstrip(" \t"))]


def kept(edit, test):
    """Indices of the kept lines that pass a test."""
    return [i for i, op in enumerate(edit.ops) if op.sign == "=" and test(op.text)]


def is_fair(made, kind):
    """Whether the strings really show the slip, and the results are results."""
    if made.old == made.new or not made.old.strip() or made.before in made.results:
        return False
    may_be_exact = kind in ("exact", "final_newline", "first_line_indent")
    return may_be_exact or made.old not in made.before
