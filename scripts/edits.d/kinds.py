"""The ways in which a model misses: each makes a draft of a real edit, or None if the edit does not lend itself to it.

`turn` counts the drafts that were already made of a kind, so that its variants get equal shares.
"""

import json
import re

from history import Op, replace
from drafts import draft, indent_of, is_comment, kept, letters, told, whole


def context(edit, rng, most=3):
    return edit.with_context(rng.randint(1, most), rng.randint(1, most))


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


def in_file(variant, edit, lines, results):
    """A draft where the file has other lines, and the model what the file had before."""
    ops = [Op(op.sign, lines.get(i, op.text)) for i, op in enumerate(edit.ops)]
    before = edit.before[: edit.start] + [op.text for op in ops if op.sign != "+"] + edit.before[edit.end :]
    changed = replace(edit, ops=tuple(ops), before=before)
    made = draft(variant, changed, {i: edit.ops[i].text for i in lines}, results)
    return made


def crlf(edit, rng, turn):
    made = draft("crlf", context(edit, rng), {}, ["file"])
    made.before = made.before.replace("\n", "\r\n")
    made.results = [text.replace("\n", "\r\n") for text in made.results]
    return made


def final_newline(edit, rng, turn):
    variant = ("line_more", "blank_line_first", "end_more", "end_not_in_file", "new_more", "end_new_less", "old_more")[turn % 7]
    at_end = variant.startswith("end")
    edit = edit.with_context(rng.randint(1, 3), rng.randint(1, 3))
    if at_end != (edit.end == len(edit.before)) or not edit.old_lines[-1].strip():
        return None
    made = draft(variant, edit, {}, ["file"])
    old, new, plain = made.old, made.new, made.results[0]
    if variant == "blank_line_first":
        if not edit.start or not edit.before[edit.start - 1].strip() or not edit.before[edit.start].strip():
            return None
        made.old, made.new = f"\n{old}", f"\n{new}"
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
    pattern = {"missing": r"(?<=[,=+*<>{(]) (?=\S)|(?<=\w) (?=[=+*<>{}])", "doubled": r"(?<=\S) (?=\S)", "added": r"(?<=[(\[])(?=\w)"}
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


def curled(text, rng):
    """The text as a word processor would set it; the same text if there is nothing to set."""
    ways = [
        re.sub(r"(?<=\w)'(?=\w)", "\u2019", text),
        re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text),
        re.sub(r"'([^']*)'", "\u2018\\1\u2019", text),
        re.sub(r"(?<=\w) --? (?=\w)", " \u2013 ", text),
    ]
    ways = [way for way in ways if way != text]
    return rng.choice(ways) if ways else text


def quotes(edit, rng, turn):
    edit = context(edit, rng, 5)
    variant = ("in_file", "in_strings", "in_old", "no_break_space_in_file")[turn % 4]
    if variant == "no_break_space_in_file":
        chosen = kept(edit, lambda text: is_comment(text) and re.search(r"\w \w", text))
        slip = lambda text: re.sub(r"(?<=\w) (?=\w)", "\u00a0", text, count=1)
    elif variant == "in_old":
        chosen = [i for i, op in enumerate(edit.ops) if op.sign == "-" and re.search(r"[\"']", op.text)]
        slip = lambda text: curled(text, rng)
    else:
        chosen = kept(edit, lambda text: re.search(r"[\"']| - ", text) and (variant == "in_strings" or is_comment(text)))
        slip = lambda text: curled(text, rng)
    slips = {i: slip(edit.ops[i].text) for i in chosen}
    slips = {i: text for i, text in slips.items() if text != edit.ops[i].text}
    if not slips:
        return None
    if "in_file" in variant:
        return in_file(variant, edit, dict(rng.sample(sorted(slips.items()), min(len(slips), 2))), ["file"])
    return draft(variant, edit, slips, ["file"])


def escapes(edit, rng, turn):
    edit = context(edit, rng)
    made = draft(("all", "quotes", "newlines", "backslashes_too")[turn % 4], edit, {}, ["file"])
    both = made.old + made.new
    if ("\\" in both) != (made.variant == "backslashes_too"):
        return None
    if made.variant == "quotes":
        if '"' not in made.old:
            return None
        escape = lambda text: text.replace('"', '\\"')
    elif made.variant == "newlines":
        escape = lambda text: text.replace("\n", "\\n").replace("\t", "\\t")
    else:
        escape = lambda text: json.dumps(text, ensure_ascii=False)[1:-1]
    made.old, made.new = escape(made.old), escape(made.new)
    return made


def between_kept(edit, index):
    return edit.ops[index - 1].sign == edit.ops[index + 1].sign == "="


def inside(edit, index):
    """Whether old lines stand on both sides."""
    signs = [op.sign for op in edit.ops]
    return set(signs[:index]) - {"+"} and set(signs[index + 1 :]) - {"+"}


def left_out(variant, edit, index, results):
    """A draft without one kept line; beside an insertion nobody can tell on which side of it the line has to stand."""
    made = draft(variant, edit, {index: None}, results)
    ops = list(edit.ops)
    to = index
    while ops[to + 1].sign == "+":
        to += 1
    if to == index:
        while ops[to - 1].sign == "+":
            to -= 1
        beyond = ops[to - 1]
    else:
        beyond = ops[to + 1]
    if to != index and beyond.sign == "=":
        ops.insert(to, ops.pop(index))
        made.results.append(whole(edit.result([op.text for op in ops if op.sign != "-"])))
    return made


def dropped_comment(edit, rng, turn):
    edit = edit.with_context(rng.randint(1, 6), rng.randint(1, 6))
    whole_comment = lambda text: is_comment(text) and letters(text) >= 6 and not re.match(r"\s*(/\*|\*)", text)
    # A line of several of comment is no thing of its own that one would expect back.
    alone = lambda i: not is_comment(edit.ops[i - 1].text) and not is_comment(edit.ops[i + 1].text)
    chosen = [i for i in kept(edit, whole_comment) if inside(edit, i) and alone(i)]
    if not chosen:
        return None
    index = rng.choice(chosen)
    clear = between_kept(edit, index)
    variant = ("between_kept", "beside_change")[turn % 2]
    if clear != (variant == "between_kept"):
        return None
    return left_out(variant, edit, index, ["file"] if clear else ["file", "model"])


def dropped_blank_line(edit, rng, turn):
    edit = edit.with_context(rng.randint(1, 4), rng.randint(1, 4))
    variant = ("missing", "added")[turn % 2]
    if variant == "missing":
        chosen = [i for i in kept(edit, lambda text: text == "") if inside(edit, i)]
    else:
        chosen = [i for i in kept(edit, str.strip) if inside(edit, i) and edit.ops[i + 1].sign == "=" and edit.ops[i + 1].text]
    if not chosen:
        return None
    index = rng.choice(chosen)
    if variant == "missing":
        return left_out(variant, edit, index, ["file", "model"])
    return draft(variant, edit, {index: edit.ops[index].text + "\n"}, ["file", "model"])


def swapped(word, rng):
    spots = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1] and word[i : i + 2].isalpha()]
    if not spots:
        return word
    at = rng.choice(spots)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def typo(edit, rng, turn):
    edit = context(edit, rng)
    variant = ("swapped", "missing_letter", "doubled_letter", "case", "end_mark")[turn % 5]
    chosen = kept(edit, lambda text: letters(text) >= 12 and re.search(r"[A-Za-z]{5}", text))
    if variant == "end_mark":
        chosen = [i for i in chosen if edit.ops[i].text.endswith((";", ","))]
    if not chosen:
        return None
    index = rng.choice(chosen)
    text = edit.ops[index].text
    word = rng.choice(list(re.finditer(r"[A-Za-z]{5,}", text)))
    at = rng.randrange(1, len(word[0]) - 1)
    slip = {
        "swapped": swapped(word[0], rng),
        "missing_letter": word[0][:at] + word[0][at + 1 :],
        "doubled_letter": word[0][:at] + word[0][at] + word[0][at:],
        "case": word[0][:at] + word[0][at].swapcase() + word[0][at + 1 :],
        "end_mark": word[0],
    }[variant]
    slip = text[: word.start()] + slip + text[word.end() :]
    if variant == "end_mark":
        slip = slip[:-1]
    if slip == text or slip in edit.before:
        return None
    return draft(variant, edit, {index: slip}, ["file", "model"])


def shortened_context(edit, rng, turn):
    above = (turn % 2) == 0
    left_out = rng.randint(3, 8)
    edit = edit.with_context(left_out + 2 if above else 1, 1 if above else left_out + 2)
    run = range(1, 1 + left_out) if above else range(len(edit.ops) - 1 - left_out, len(edit.ops) - 1)
    around = (run.start - 1, run.stop)
    if run.start < 1 or run.stop >= len(edit.ops) or any(edit.ops[i].sign != "=" for i in (*run, *around)):
        return None
    if not edit.ops[around[0]].text.strip() or not edit.ops[around[1]].text.strip():
        return None
    if sum(bool(edit.ops[i].text.strip()) for i in run) < 3:
        return None
    comment = "# ..." if edit.name.endswith((".py", ".toml", ".sh", ".yml", ".jq", ".test")) else "// ..."
    mark = rng.choice(("...", comment, comment))
    slips = {i: None for i in run}
    slips[run.start] = indent_of(edit.ops[run.start].text) + mark
    return draft("above" if above else "below", edit, slips, ["file"])


def line_numbers(edit, rng, turn):
    edit = context(edit, rng)
    variant = ("{0}: ", "{0}\t", "L{0}: ", "{0:>6}\t", "{0} | ")[turn % 5]
    old, new = (
        [variant.format(edit.start + 1 + i) + text for i, text in enumerate(lines)]
        for lines in (edit.old_lines, edit.new_lines)
    )
    made = draft(variant.replace("\t", "tab"), edit, {}, ["file"])
    made.old = "\n".join(old)
    if turn % 2:
        made.variant += " only in old"
    else:
        made.new = "\n".join(new)
    return made


KINDS = (
    exact, trailing_space, crlf, final_newline, indent_shift, tabs_spaces, first_line_indent, inner_whitespace, quotes,
    escapes, dropped_comment, dropped_blank_line, typo, shortened_context, line_numbers,
)
