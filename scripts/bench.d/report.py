"""Turns samples into tables and verdicts."""

import os
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from measure import paired_addition, paired_ratio

LOADED_SHARE = 0.10


@dataclass
class Row:
    """What one command cost, and how ours compares with it."""

    label: str
    runs: int
    median_ms: float
    least_ms: float
    cpu_ms: float
    peak_mib: float
    out_bytes: int
    ratio: Optional[float]


@dataclass
class Result:
    """A workload that has been measured."""

    spec: object
    ours: Row
    peer: Row
    others: list
    share_of_others: float
    load_average: str
    # What the bar is about: our time divided by the peer's, what we add to each of the spec's calls, or our time.
    value: float
    notes: list = field(default_factory=list)

    def rows(self):
        return [self.ours, self.peer, *self.others]

    def time_verdict(self):
        return verdict(self.value, self.spec.bar, self.spec.goal)

    def memory_verdict(self):
        return verdict(self.ours.peak_mib, *self.spec.memory)

    def missed(self):
        bars = ((self.value, self.spec.bar), (self.ours.peak_mib, self.spec.memory[0]))
        return any(value > bar for value, bar in bars)

    def loaded(self):
        return self.share_of_others > LOADED_SHARE


def verdict(value, bar, goal):
    if value > bar:
        return "MISSED"
    return "holds, goal reached" if value <= goal else "holds"


def row_of(command, ours):
    samples = command.samples
    return Row(
        label=command.label,
        runs=len(samples),
        median_ms=command.median_ms(),
        least_ms=min(sample.wall_ms for sample in samples),
        cpu_ms=statistics.median(sample.cpu_ms for sample in samples),
        peak_mib=command.peak_mib(),
        out_bytes=samples[-1].out_bytes,
        ratio=None if command is ours else paired_ratio(ours, command),
    )


def result_of(spec, workload, share, notes):
    ours = workload.ours
    rows = [row_of(command, ours) for command in workload.commands() if command.samples]
    if workload.peaks:
        peaks = workload.peaks()
        rows[0].peak_mib = sum(peaks.values())
        notes.append("Peak memory: " + ", ".join(f"{name} {mib:.1f} MiB" for name, mib in peaks.items()) + ".")
    if spec.is_time:
        value = rows[0].median_ms
    else:
        value = paired_addition(ours, workload.peer, spec.calls) if spec.calls else rows[1].ratio
    return Result(spec, rows[0], rows[1], rows[2:], share, load_average(), value, notes)


def parts_note(parts):
    """How each part of a job compares by itself, the worst last."""
    ratios = sorted((paired_ratio(ours, peer), name) for name, ours, peer in parts)
    return "Each by itself: " + ", ".join(f"{ratio:.2f} {name}" for ratio, name in ratios) + "."


def milliseconds(value):
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.{3 if value < 10 else 1}f} ms"


HEADER = ["command", "n", "median", "min", "user+sys", "peak RSS", "output", "ours/this"]


def cells(row):
    return [
        row.label,
        str(row.runs),
        milliseconds(row.median_ms),
        milliseconds(row.least_ms),
        milliseconds(row.cpu_ms),
        f"{row.peak_mib:.1f} MiB",
        str(row.out_bytes),
        "-" if row.ratio is None else f"{row.ratio:.3g}",
    ]


def remarks(result):
    """The lines below a workload's table."""
    spec, peer = result.spec, result.peer
    if spec.is_time:
        compared = f"{result.value:.3f} ms"
    else:
        compared = f"{result.value:.3f} {'ms a call more than' if spec.calls else 'x'} {peer.label}"
    yield (
        f"{compared}; bar {spec.bar}, goal {spec.goal}: {result.time_verdict()}. "
        f"Peak memory {result.ours.peak_mib:.1f} MiB; bar {spec.memory[0]}, goal {spec.memory[1]}: "
        f"{result.memory_verdict()}."
    )
    if result.loaded():
        yield (
            f"LOADED: others took {result.share_of_others:.0%} of the processors meanwhile "
            f"(load average {result.load_average}); "
            f"trust {'no time' if spec.calls or spec.is_time else 'the ratio, not the times'}."
        )
    yield from result.notes


def load_average():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def plain(result):
    """A workload's table for a terminal."""
    table = [HEADER, *map(cells, result.rows())]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADER))]
    lines = [f"== {result.spec.name}: {result.spec.title}"]
    for line in table:
        figures = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))
        lines.append("   " + "  ".join([line[0].ljust(widths[0]), *figures]))
    return "\n".join([*lines, *(f"   {remark}" for remark in remarks(result)), ""])


def markdown_table(header, lines):
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *lines])


def markdown(result):
    """A workload's table for a document."""
    lines = [[cell.replace("|", "\\|") for cell in cells(row)] for row in result.rows()]
    parts = [f"### {result.spec.name}: {result.spec.title.replace('*', chr(92) + '*')}", markdown_table(HEADER, lines)]
    return "\n\n".join([*parts, *remarks(result)])


def in_short(result):
    """Ours beside the peer's."""
    if result.spec.is_time:
        return f"{result.peer.ratio:.2f}"
    return f"{result.value:+.2f} ms a call" if result.spec.calls else f"{result.value:.2f}"


SUMMARY_HEADER = ["work", "ours", "peer", "ours/peer", "bar", "goal", "time", "peak RSS", "bar", "goal", "memory"]


def summary(results):
    """The table of bars, filled in."""
    lines = [
        [
            result.spec.title.replace("*", "\\*") + (" (loaded)" if result.loaded() else ""),
            milliseconds(result.ours.median_ms),
            f"{result.peer.label}: {milliseconds(result.peer.median_ms)}",
            in_short(result),
            f"{result.spec.bar} ms" if result.spec.is_time else str(result.spec.bar),
            str(result.spec.goal),
            result.time_verdict(),
            f"{result.ours.peak_mib:.1f} MiB",
            str(result.spec.memory[0]),
            str(result.spec.memory[1]),
            result.memory_verdict(),
        ]
        for result in results
    ]
    return markdown_table(SUMMARY_HEADER, lines)


def machine():
    """What the figures were taken on."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} x {model}, {memory:.0f} GiB, {platform.system()} {platform.release()}"
