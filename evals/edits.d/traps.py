"""Edits that nobody should apply: the text stands at two places, or is another one than the file has by now."""

import re

from drafts import Draft, letters, resembles, squeezed, told, whole

# Changed lines that resemble the file's less than this are no slip of the pen.
REWRITTEN_BELOW = 0.7
FAR_APART_LINES = 2


def refusal(variant, old, new, before):
    return Draft(variant, "\n".join(old), "\n".join(new), before, [before])


def twins(edit):
    """The edit with so much context that its old text stands at exactly two places, which don't overlap."""
    text = whole(edit.before)
    for amount in (2, 1, 0):
        wider = edit.with_context(amount, amount)
        old = "\n" + whole(wider.old_lines)
        if len([line for line in wider.old_lines if line.strip()]) >= 2 and f"\n{text}".count(old) == 2:
            return wider
    return None


def twin_exact(edit, rng, turn, versions):
    edit = twins(edit)
    return edit and refusal("twin_exact", edit.old_lines, edit.new_lines, whole(edit.before))


def twin_whitespace(edit, rng, turn, versions):
    edit = twins(edit)
    if not edit:
        return None
    way = turn % 4
    if way == 0:
        change = lambda text: text + "  " if text else text
    elif way == 1:
        change = lambda text: "  " + text if text else text
    elif way == 2:
        change = lambda text: re.sub(r"(?<=[,=(]) ?(?=\w)", lambda found: "" if found[0] else " ", text, count=1)
    else:
        change = lambda text: text.replace("    ", "\t")
    old, new = told(edit, {i: change(op.text) for i, op in enumerate(edit.ops)})
    return refusal("twin_whitespace", old, new, whole(edit.before))


def near_twins(edit, rng, turn, versions):
    """The one line that would tell two places apart is left out."""
    edit = edit.with_context(3, 3)
    old = edit.old_lines
    kept = [i for i, op in enumerate(edit.ops) if op.sign == "="]
    row_of = [i for i, op in enumerate(edit.ops) if op.sign != "+"]
    for start in range(len(edit.before) - len(old) + 1):
        if abs(start - edit.start) < len(old) + FAR_APART_LINES:
            continue
        differing = [row for row, text in enumerate(old) if text != edit.before[start + row]]
        if len(differing) == 1 and 0 < differing[0] < len(old) - 1 and row_of[differing[0]] in kept:
            old, new = told(edit, {row_of[differing[0]]: None})
            return refusal("near_twins", old, new, whole(edit.before))
    return None


def copied_twin(edit, rng, turn, versions):
    """A copy of the place is added, in which one kept line has another word; the model's word is a third one."""
    edit = edit.with_context(3, 3)
    inner = range(1, len(edit.ops) - 1)
    chosen = [i for i in inner if edit.ops[i].sign == "=" and re.search(r"[a-z]{5}", edit.ops[i].text)]
    gaps = [i for i, text in enumerate(edit.before) if not text and not edit.start - 1 <= i <= edit.end]
    if not chosen or not gaps:
        return None
    index, gap = rng.choice(chosen), rng.choice(gaps)
    word = re.search(r"[a-z]{5,}", edit.ops[index].text)
    with_word = lambda mark: edit.ops[index].text[: word.end()] + mark + edit.ops[index].text[word.end() :]
    copy = ["", *(with_word("_b") if i == index else op.text for i, op in enumerate(edit.ops) if op.sign != "+")]
    mine = [with_word("_a") if i == index else op.text for i, op in enumerate(edit.ops) if op.sign != "+"]
    before = edit.before[: edit.start] + mine + edit.before[edit.end :]
    before[gap:gap] = copy
    old, new = told(edit, {index: with_word("_c")})
    return refusal("copied_twin", old, new, whole(before))


def removed(edit):
    return [op.text for op in edit.ops if op.sign == "-" and letters(op.text) >= 4]


def added(edit):
    return [op.text for op in edit.ops if op.sign == "+" and letters(op.text) >= 4]


def likeness(line, lines):
    return max(resembles(line, other) for other in lines)


def already_applied(edit, rng, turn, versions):
    edit = edit.with_context(3, 3)
    gone = removed(edit)
    present = {line.strip() for line in edit.after}
    if not gone or not added(edit) or any(line.strip() in present for line in gone):
        return None
    if min(likeness(line, edit.after) for line in gone) >= REWRITTEN_BELOW:
        return None
    return refusal("already_applied", edit.old_lines, edit.new_lines, whole(edit.after))


def stale(name, is_other, fits):
    """A sort of trap whose file is another version of the edit's own: which, and how its changed lines must differ."""

    def make(edit, rng, turn, versions):
        wider = edit.with_context(3, 3)
        gone = removed(wider)
        if not gone:
            return None
        around = [op.text for op in wider.ops if op.sign == "=" and letters(op.text) >= 4]
        others = [other.before for other in versions(edit, is_other)]
        for lines in rng.sample(others, min(len(others), 12)):
            present = {line.strip() for line in lines}
            if any(line.strip() in present for line in gone) or wider.after == lines:
                continue
            # Otherwise nothing there looks alike, and refusing is no merit.
            if sum(line in lines for line in around) < 2:
                continue
            if added(wider) and all(line.strip() in present for line in added(wider)):
                continue
            if fits(gone, lines):
                return refusal(name, wider.old_lines, wider.new_lines, whole(lines))
        return None

    make.__name__ = name
    return make


def is_rewritten(gone, lines):
    unlike = [line for line in gone if likeness(line, lines) < REWRITTEN_BELOW]
    return len(unlike) * 2 >= len(gone)


def has_other_value(gone, lines):
    blank = lambda line: re.sub(r"\d+", "0", squeezed(line))
    there = [blank(line) for line in lines]
    return all(re.search(r"\d", line) and there.count(blank(line)) == 1 for line in gone)


TRAPS = (
    (twin_exact, 8),
    (twin_whitespace, 10),
    (near_twins, 6),
    (copied_twin, 6),
    (already_applied, 8),
    (stale("stale_earlier", lambda mine, theirs: theirs > mine, is_rewritten), 7),
    (stale("stale_later", lambda mine, theirs: theirs < mine, is_rewritten), 7),
    (stale("stale_value", lambda mine, theirs: theirs != mine, has_other_value), 4),
)
