"""The ways in which a model misses. Those in white space stand in `spaces.py`; here are the others, and the list of all.

Each makes a draft of a real edit, or None if the edit does not lend itself to it. `turn` counts the drafts that were
already made of a kind, so that its variants get equal shares.
"""

import json
import re

import spaces
from drafts import context, draft, in_file, indent_of, is_comment, kept, letters, whole


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
        # In a file's code they would be no code any more.
        fits = lambda text: variant == "in_strings" or is_comment(text)
        chosen = kept(edit, lambda text: re.search(r"[\"']| - ", text) and fits(text))
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
        followed = lambda i: edit.ops[i + 1].sign == "=" and edit.ops[i + 1].text
        chosen = [i for i in kept(edit, str.strip) if inside(edit, i) and followed(i)]
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
    spaces.exact,
    spaces.trailing_space,
    spaces.crlf,
    spaces.final_newline,
    spaces.indent_shift,
    spaces.tabs_spaces,
    spaces.first_line_indent,
    spaces.inner_whitespace,
    quotes,
    escapes,
    dropped_comment,
    dropped_blank_line,
    typo,
    shortened_context,
    line_numbers,
)
