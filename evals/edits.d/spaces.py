"""Slips in white space: each makes a draft of a real edit, or None if the edit does not lend itself to it.

`turn` counts the drafts that were already made of a kind, so that its variants get equal shares.
"""

import re

from drafts import context, draft, in_file, indent_of, is_comment, kept, letters, told, whole


def exact(edit, rng, turn):
    return draft("exact", context(edit, rng), {}, ["file"])


def trailing_space(edit, rng, turn):
    edit = context(edit, rng)
    blanks = rng.choice((" ", "  ", "    ", "\t"))
    variant = ("in_old", "in_old_blank_line", "in_file", "in_file_removed")[turn % 4]
    if variant == "in_old":
        chosen = [i for i, op in enumerate(edit.ops) if op.sign != "+" and op.text.strip()]
        chosen = rng.sample(chosen, min(len(chosen), rng.randint(1, 3)))
        made = draft(variant, edit, {}, ["file"])
        made.old = "\n".join(told(edit, {i: edit.ops[i].text + blanks for i in chosen})[0])
        return made
    if variant == "in_old_blank_line":
        empty = kept(edit, lambda text: text == "")
        if not empty:
            return None
        made = draft(variant, edit, {}, ["file"])
        made.old = "\n".join(told(edit, {empty[0]: "    "})[0])
        return made
    sign = "=" if variant == "in_file" else "-"
    chosen = [i for i, op in enumerate(edit.ops) if op.sign == sign and op.text.strip()]
    if not chosen:
        return None
    index = rng.choice(chosen)
    return in_file(variant, edit, {index: edit.ops[index].text + blanks}, ["file", "model"])


def crlf(edit, rng, turn):
    made = draft("crlf", context(edit, rng), {}, ["file"])
    made.before = made.before.replace("\n", "\r\n")
    made.results = [text.replace("\n", "\r\n") for text in made.results]
    return made


def final_newline(edit, rng, turn):
    variants = ("line_more", "blank_line_first", "end_more", "end_not_in_file", "new_more", "end_new_less", "old_more")
    variant = variants[turn % len(variants)]
    at_end = variant.startswith("end")
    edit = edit.with_context(rng.randint(1, 3), rng.randint(1, 3))
    if at_end != (edit.end == len(edit.before)) or not edit.old_lines[-1].strip():
        return None
    made = draft(variant, edit, {}, ["file"])
    old, new, plain = made.old, made.new, made.results[0]
    if variant == "blank_line_first":
        if not edit.start or not edit.before[edit.start - 1].strip() or not edit.before[edit.start].strip():
            return None
        # A single one is found exactly, as the end of the line above.
        front = rng.choice(("\n", "\n\n"))
        made.old, made.new = front + old, front + new
        return made
    if not at_end and not edit.before[edit.end].strip():
        return None
    if variant in ("line_more", "end_more"):
        made.old, made.new = f"{old}\n\n", f"{new}\n\n"
    elif variant == "end_not_in_file":
        made.old, made.new, made.before = f"{old}\n", f"{new}\n", made.before[:-1]
        made.results = [plain[:-1], plain]
    elif variant == "new_more":
        made.new = f"{new}\n"
        made.results.append(whole(edit.result([*edit.new_lines, ""])))
    elif variant == "end_new_less":
        made.old = f"{old}\n"
        made.results.append(plain[:-1])
    else:
        made.old, made.new = f"{old}\n\n", f"{new}\n"
    return made


def unit_of(lines):
    """How many blanks a level of indentation has in a file, or None if that is not clear."""
    widths = [len(indent_of(line)) for line in lines if line.strip() and not is_comment(line)]
    steps = [width for width in widths if width]
    if not steps or any("\t" in indent_of(line) for line in lines):
        return None
    for unit in (4, 2):
        if sum(width % unit == 0 for width in steps) >= 0.95 * len(steps) and unit in steps:
            return unit
    return None


def indent_shift(edit, rng, turn):
    edit = context(edit, rng)
    lines = [op.text for op in edit.ops if op.text.strip()]
    if any(op.text != op.text.strip(" \t") and not op.text.strip() for op in edit.ops):
        return None
    unit = "\t" if any(line.startswith("\t") for line in lines) else " " * (unit_of(edit.before) or 4)
    variant = ("stripped", "less", "more")[turn % 3]
    if variant == "more":
        move = lambda text: unit + text if text else text
    else:
        common = min((indent_of(line) for line in lines), key=len)
        if not common or not all(line.startswith(common) for line in lines):
            return None
        cut = len(common) if variant == "stripped" else len(unit)
        if variant == "less" and len(common) <= cut:
            return None
        move = lambda text: text[cut:]
    return draft(variant, edit, {i: move(op.text) for i, op in enumerate(edit.ops)}, ["file"])


def tabs_spaces(edit, rng, turn):
    edit = context(edit, rng)
    texts = [op.text for op in edit.ops]
    indents = [indent_of(text) for text in texts if text.strip()]
    if not any(indent_of(line) for line in edit.old_lines):
        return None
    variant = "spaces_for_tabs" if any("\t" in indent for indent in indents) else "tabs_for_spaces"
    if variant == "spaces_for_tabs":
        if any(set(indent) - {"\t"} for indent in indents):
            return None
        width = rng.choice((2, 4, 4))
        move = lambda text: indent_of(text).replace("\t", " " * width) + text.lstrip("\t")
    else:
        unit = unit_of(edit.before)
        if unit is None or any(len(indent) % unit for indent in indents) or "\t" in "".join(texts):
            return None
        move = lambda text: "\t" * (len(indent_of(text)) // unit) + text.lstrip(" ")
    return draft(variant, edit, {i: move(text) for i, text in enumerate(texts)}, ["file"])


def first_line_indent(edit, rng, turn):
    edit = context(edit, rng)
    first = edit.ops[0]
    indent = indent_of(first.text)
    if first.sign != "=" or not indent or letters(first.text) < 3:
        return None
    variant = ("stripped", "doubled", "stripped_in_old", "other_kind")[turn % 4]
    if variant == "doubled":
        return draft(variant, edit, {0: indent + first.text}, ["file"])
    if variant == "other_kind":
        other = "    " if "\t" in indent else "\t"
        return draft(variant, edit, {0: other + first.text.lstrip()}, ["file"])
    made = draft(variant, edit, {0: first.text.lstrip()}, ["file"])
    if variant == "stripped_in_old":
        made.new = indent + made.new
    return made


def inner_whitespace(edit, rng, turn):
    edit = context(edit, rng)
    variant = ("missing", "doubled", "added")[turn % 3]
    pattern = {
        "missing": r"(?<=[,=+*<>{(]) (?=\S)|(?<=\w) (?=[=+*<>{}])",
        "doubled": r"(?<=\S) (?=\S)",
        "added": r"(?<=[(\[])(?=\w)",
    }
    options = []
    for index in kept(edit, lambda text: not is_comment(text) and letters(text) >= 8):
        text = edit.ops[index].text
        quote = re.search(r"[\"'`]|//|#", text)
        for match in re.finditer(pattern[variant], text[: quote.start() if quote else None]):
            options.append((index, match.start()))
    if not options:
        return None
    index, at = rng.choice(options)
    text = edit.ops[index].text
    slip = text[:at] + text[at + 1 :] if variant == "missing" else f"{text[:at]} {text[at:]}"
    return draft(variant, edit, {index: slip}, ["file", "model"])
