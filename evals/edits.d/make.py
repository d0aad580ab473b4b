#!/usr/bin/env python3
"""Writes tests/edits/cases.jsonl: real edits, told with the slips of a language model, and what has to come of each.

The same repositories give the same file: they are read at fixed commits, and chance is seeded. Needs git, nothing else.
Without them, those cases stay as they are, and only the ones of own.py are written again.
"""

import argparse
import itertools
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from drafts import has_substance, is_fair, places
from history import Repository, share
from kinds import KINDS
from own import own_cases
from sources import SOURCES
from traps import TRAPS

CASES_PER_KIND = 25
# Otherwise the longest history or the file that was changed most would be most of a kind.
CASES_PER_FILE = 9
# A repository that has nothing for a variant passes its turn, and keeps most of its edits for the next variant.
TRIES_PER_TURN = 60
# Few repositories indent with tabs; the others would have used up the kind before it is half made.
MOST_OF_VARIANT = {"tabs_for_spaces": 13}
ENDING_LINE_SHARE = 0.3
CASES = HERE.parents[1] / "tests" / "edits" / "cases.jsonl"


class Deck:
    """The edits of all repositories in a fixed random order, dealt by turns, each for one case only."""

    def __init__(self, repositories):
        self.repositories = repositories
        self.edits = {name: sorted(repo.edits(), key=lambda edit: share(edit.key)) for name, repo in repositories.items()}
        self.used = set()
        self.per_file = Counter()
        self.by_path = defaultdict(list)
        for name, edits in self.edits.items():
            order = repositories[name].ages()
            for edit in edits:
                self.by_path[name, edit.path].append((order[edit.commit], edit))

    def versions(self, edit, is_wanted):
        """Other edits of the same file, chosen by their commits' age: `is_wanted(mine, theirs)`."""
        entries = self.by_path[edit.source.repository, edit.path]
        mine = next(age for age, other in entries if other is edit)
        return [other for age, other in entries if is_wanted(mine, age)]

    def deal(self, seed):
        """Edits that were not used yet, by turns: the caller says of each whether it takes it, which ends the turn."""
        queues = [iter(edits) for edits in self.edits.values()]
        random.Random(seed).shuffle(queues)
        while queues:
            for queue in list(queues):
                turn = list(itertools.islice((edit for edit in queue if self.is_free(edit)), TRIES_PER_TURN))
                if not turn:
                    queues.remove(queue)
                for position, edit in enumerate(turn):
                    taken = yield edit
                    if taken:
                        queues[queues.index(queue)] = itertools.chain(turn[position + 1 :], queue)
                        break

    def is_free(self, edit):
        return edit.key not in self.used and self.per_file[edit.source.repository, edit.path] < CASES_PER_FILE

    def take(self, edit):
        """Whether the edit may become a case; it is nobody else's from then on."""
        if not self.repositories[edit.source.repository].is_licensed(edit.commit):
            return False
        self.used.add(edit.key)
        self.per_file[edit.source.repository, edit.path] += 1
        return True


def collect(deck, name, wanted, attempt):
    """Up to `wanted` drafts with their edits. `attempt(edit, rng, turn)` makes one, or None."""
    made, count = [], Counter()
    deal = deck.deal(name)
    edit = next(deal, None)
    while edit is not None and len(made) < wanted:
        draft = attempt(edit, random.Random(f"{name} {edit.key}"), len(made))
        if draft is not None and count[draft.variant] >= MOST_OF_VARIANT.get(draft.variant, wanted):
            draft = None
        taken = draft is not None and deck.take(edit)
        if taken:
            made.append((edit, draft))
            count[draft.variant] += 1
        try:
            edit = deal.send(taken)
        except StopIteration:
            break
    return made


def slip_maker(kind):
    name = kind.__name__

    def attempt(edit, rng, turn):
        draft = kind(edit, rng, turn)
        if draft is None or not is_fair(draft, name) or not has_substance(edit.with_context(1, 1)):
            return None
        wide = edit.with_context(1, 1)
        if places(wide) != 1 or "\n".join(wide.before).count("\n".join(wide.old_lines)) != 1:
            return None
        if name not in ("final_newline", "escapes", "line_numbers") and rng.random() < ENDING_LINE_SHARE:
            draft.old, draft.new = draft.old + "\n", draft.new + "\n"
        draft.results = list(dict.fromkeys(draft.results))
        return draft

    return attempt


def trap_maker(trap, versions):
    def attempt(edit, rng, turn):
        draft = trap(edit, rng, turn, versions)
        if draft is None or draft.old == draft.new or not has_substance(edit.with_context(1, 1)):
            return None
        return draft if trap.__name__ == "twin_exact" or draft.old not in draft.before else None

    return attempt


def case(number, kind, edit, draft):
    return {
        "id": f"{kind}-{number:02}",
        "source": {"repository": edit.source.repository, "commit": edit.commit, "path": edit.path},
        "kind": kind,
        "variant": draft.variant,
        "file_path": edit.name,
        "before": draft.before,
        "instruction": edit.subject,
        "old_string": draft.old,
        "new_string": draft.new,
        "after": draft.results,
        "expect": "refuse" if kind == "trap" else "apply",
    }


def cases(deck):
    number = 0
    for trap, wanted in TRAPS:
        for edit, draft in collect(deck, trap.__name__, wanted, trap_maker(trap, deck.versions)):
            number += 1
            yield case(number, "trap", edit, draft)
    for kind in KINDS:
        found = collect(deck, kind.__name__, CASES_PER_KIND, slip_maker(kind))
        for number, (edit, draft) in enumerate(found, 1):
            yield case(number, kind.__name__, edit, draft)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirror", type=Path, nargs="?", help="the folder with <owner>+<name>/repo, a bare repository each")
    parser.add_argument("--output", type=Path, default=CASES)
    options = parser.parse_args()
    if options.mirror is None:
        known = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
        write(options.output, [entry for entry in known if entry["source"]] + list(own_cases()))
        return
    repositories = {s.repository: Repository(s, str(options.mirror / s.directory / "repo")) for s in SOURCES}
    write(options.output, [*cases(Deck(repositories)), *own_cases()])
    for repository in repositories.values():
        repository.close()


def write(output, made):
    output.parent.mkdir(parents=True, exist_ok=True)
    with open(output, "w", encoding="utf-8", newline="\n") as file:
        for entry in made:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    for kind, count in Counter(entry["kind"] for entry in made).items():
        homes = {entry["source"]["repository"] for entry in made if entry["kind"] == kind and entry["source"]}
        print(f"{kind:20} {count:4} cases of {len(homes)} repositories")
    print(f"{len(made)} cases, {output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
