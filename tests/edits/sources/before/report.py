"""Reports what a team did in a week."""

import collections
import dataclasses
import datetime


@dataclasses.dataclass
class Entry:
    """One line of a time sheet."""

    person: str
    hours: float
    day: datetime.date
    note: str = ""


def by_person(entries):
    """Sum up the hours of each person."""
    totals = collections.defaultdict(float)
    for entry in entries:
        if entry.hours <= 0:
            continue
        totals[entry.person] += entry.hours
    return dict(totals)


def render(entries, width=60):
    """Return the report as lines of text."""
    lines = []
    for person, hours in sorted(by_person(entries).items()):
        dots = "." * (width - len(person) - 6)
        lines.append(f"{person}{dots}{hours:6.1f}")
    # An empty report says so.
    if not lines:
        lines.append('nothing was done')
    return "\n".join(lines)


def parse(text):
    """Read entries from tab-separated text."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        person, hours, day = line.split("\t")[:3]
        entries.append(Entry(person, float(hours), datetime.date.fromisoformat(day)))
    return entries
