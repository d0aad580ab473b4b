"""Runs commands in turn and keeps what each run cost.

Which commands, and what their figures mean, is for others to say. The stopwatch itself is turns.c.
"""

import hashlib
import os
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, NamedTuple, Optional

HERE = Path(__file__).resolve().parent
LIMIT_SECS = 600
QUIET_SHARE = 0.10
QUIET_LOOK_SECS = 2
TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")


class CannotRun(Exception):
    """A command that did not start, or ended as it should not; the message shows what it said."""


class Sample(NamedTuple):
    """The cost of one run."""

    wall_ms: float
    cpu_ms: Optional[float]
    rss_mib: Optional[float]
    out_bytes: int


@dataclass
class Command:
    """One program that does a workload's job."""

    label: str
    argv: list
    cwd: Path
    stdin: Path = Path("/dev/null")
    # Only the first rounds, for what is too slow to take part in all of them.
    most_runs: Optional[int] = None
    # Untimed, before each run.
    before: Optional[Callable[[], None]] = None
    # Untimed, after each run: how much of its time was not its own, in ms.
    foreign_ms: Optional[Callable[[], float]] = None
    samples: list = field(default_factory=list)

    def median_ms(self):
        return statistics.median(sample.wall_ms for sample in self.samples)

    def peak_mib(self):
        return max(sample.rss_mib for sample in self.samples)


class Stopwatch:
    """The helper in C, compiled on first use and kept running."""

    def __init__(self, folder, env):
        self.errors = tempfile.TemporaryFile(dir=folder)
        self.helper = subprocess.Popen(
            [str(compile_helper(folder)), str(LIMIT_SECS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=env,
        )

    def run(self, command):
        """Runs a command once and returns its Sample."""
        self.errors.seek(0)
        self.errors.truncate()
        words = [command.cwd, command.stdin, *command.argv]
        request = b"%d\n" % len(words) + b"".join(os.fsencode(str(word)) + b"\0" for word in words)
        try:
            self.helper.stdin.write(request)
            self.helper.stdin.flush()
        except BrokenPipeError as error:
            raise CannotRun(f"{command.label}: the stopwatch has ended") from error
        answer = self.helper.stdout.readline().decode()
        if not answer or answer.startswith("error"):
            raise CannotRun(f"{command.label}: {answer.strip() or 'the stopwatch has ended'}")
        wall, user, system, rss, out_bytes, status = map(int, answer.split())
        if status != 0:
            raise CannotRun(f"{command.label} ended with status {os.waitstatus_to_exitcode(status)}{self.said()}")
        return Sample(wall / 1e6, (user + system) / 1e3, rss / 1024, out_bytes)

    def said(self):
        """The end of what the last command wrote to stderr."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f": {' / '.join(lines[-3:])}" if lines else ""

    def cpu_ticks(self):
        """Processor time of the helper and of all it ran."""
        fields = Path(f"/proc/{self.helper.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))

    def close(self):
        self.helper.stdin.close()
        self.helper.wait()


def compile_helper(folder):
    """Static where it can be, because a child's peak memory starts from its parent's."""
    source = HERE / "turns.c"
    mark = hashlib.blake2b(source.read_bytes(), digest_size=6).hexdigest()
    binary = folder / f"turns-{mark}"
    if binary.exists():
        return binary
    for extra in (["-static"], []):
        try:
            done = subprocess.run(
                ["cc", "-O2", *extra, "-o", f"{binary}.part", str(source)], capture_output=True, text=True
            )
        except OSError as error:
            raise CannotRun(f"a C compiler is needed for {source.name}: {error}") from error
        if done.returncode == 0:
            os.replace(f"{binary}.part", binary)
            return binary
    raise CannotRun(f"{source.name} does not compile: {done.stderr.strip()}")


class Load:
    """What others do with the processors meanwhile."""

    def __init__(self, stopwatch):
        self.stopwatch = stopwatch
        self.start = self.look()

    def look(self):
        own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        own_secs = sum(use.ru_utime + use.ru_stime for use in own)
        return time.monotonic(), busy_ticks(), self.stopwatch.cpu_ticks() + own_secs * TICKS_PER_SEC

    def others(self):
        """Their share of all processors since the start, from 0 to 1."""
        then, now = self.start, self.look()
        passed, busy, own = (b - a for a, b in zip(then, now))
        return max(0.0, (busy - own) / (passed * TICKS_PER_SEC * os.cpu_count()))


def busy_ticks():
    """Time in which processors worked for anybody, or were taken away from this virtual machine."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return user + nice + system + irq + softirq + steal


def wait_quiet(stopwatch, most_secs, say):
    """Waits until others leave the processors alone; returns False when it has been long enough without that."""
    end = time.monotonic() + most_secs
    told = False
    while True:
        load = Load(stopwatch)
        time.sleep(QUIET_LOOK_SECS)
        share = load.others()
        if share < QUIET_SHARE:
            return True
        if time.monotonic() > end:
            say(f"not quiet after {most_secs} s (others take {share:.0%} of the processors); measuring all the same")
            return False
        if not told:
            say(f"waiting for a quiet machine (others take {share:.0%} of the processors) ...")
            told = True


def run_in_turn(commands, rounds, stopwatch, warm):
    """Fills the commands' samples: A B C, B C A, and so on; `warm` runs before each, untimed.

    Every command has one sample per round it takes part in, so samples of the same index make a pair.
    """
    for command in commands:
        command.samples = []

    def attempt(command):
        if command.before:
            command.before()
        if warm:
            warm()
        sample = stopwatch.run(command)
        return sample._replace(wall_ms=sample.wall_ms - command.foreign_ms()) if command.foreign_ms else sample

    # One round that does not count, to fill caches; what is too slow for all rounds is too slow to notice.
    for command in [command for command in commands if command.most_runs is None]:
        attempt(command)
    for turn in range(rounds):
        part = [command for command in commands if command.most_runs is None or turn < command.most_runs]
        shift = turn % len(part)
        for command in part[shift:] + part[:shift]:
            command.samples.append(attempt(command))


def paired_addition(ours, other, calls):
    """The median over rounds of how much longer than the other we take in the same round, in ms for each of the calls."""
    return statistics.median((a.wall_ms - b.wall_ms) / calls for a, b in zip(ours.samples, other.samples))


def paired_ratio(ours, other):
    """The median over rounds of our time divided by the other's in the same round."""
    pairs = list(zip(ours.samples, other.samples))
    return statistics.median(a.wall_ms / b.wall_ms for a, b in pairs) if pairs else None
