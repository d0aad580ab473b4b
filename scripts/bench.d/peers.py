"""The programs we are measured against: found on the machine, or installed into the bench folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from measure import CannotRun

HERE = Path(__file__).resolve().parent
CRATES = {"rg": "ripgrep@15.2.0", "fd": "fd-find@10.5.0"}
# Debian's package of fd-find has another name for the program.
OTHER_NAMES = {"fd": ("fdfind",)}
GEMINI_PACKAGE = "@google/gemini-cli-core"
GEMINI_VERSION = "0.61.0"


class GeminiMissing(Exception):
    """Gemini CLI's classes cannot be had here; the message says why."""


def system_tool(name):
    """A program that every machine of this kind has."""
    found = shutil.which(name)
    if not found:
        raise CannotRun(f"{name} is not on PATH")
    return found


def search_tool(name, root, say):
    """rg or fd: from PATH, from the bench folder, or built there."""
    for known in (name, *OTHER_NAMES.get(name, ())):
        found = shutil.which(known)
        if found:
            return found
    built = root / "tools" / "bin" / name
    if not built.exists():
        say(f"installing {CRATES[name]} into {root / 'tools'} ...")
        install(["cargo", "install", "--locked", "--quiet", "--root", root / "tools", CRATES[name]], root)
    return str(built)


def install(argv, cwd):
    try:
        done = subprocess.run([str(word) for word in argv], cwd=cwd, capture_output=True, text=True)
    except OSError as error:
        raise CannotRun(f"{argv[0]} cannot be started: {error}") from error
    if done.returncode != 0:
        raise CannotRun(f"{argv[0]} failed: {' / '.join(done.stderr.strip().splitlines()[-3:])}")


def version(program):
    """The first line a program says about its version."""
    done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout.partition("\n")[0].strip()


def python():
    """The interpreter itself: a version manager's shim would take ten times as long to start."""
    system = Path("/usr/bin/python3")
    return str(system if system.exists() else Path(sys.executable).resolve())


def python_pair(script):
    return [python(), str(HERE / "python_pair" / script)]


class Gemini:
    """Gemini CLI's own tool classes, run by node."""

    def __init__(self, root, ripgrep, say):
        self.node = shutil.which("node")
        if not self.node:
            raise GeminiMissing("node is not on PATH")
        self.ripgrep = ripgrep
        self.package = root / "gemini" / "node_modules" / GEMINI_PACKAGE
        if self.installed_version() != GEMINI_VERSION:
            say(f"installing {GEMINI_PACKAGE}@{GEMINI_VERSION} into {root / 'gemini'} ...")
            self.install(root / "gemini")

    def installed_version(self):
        try:
            return json.loads((self.package / "package.json").read_text())["version"]
        except OSError:
            return None

    def install(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
        try:
            install([*npm, f"{GEMINI_PACKAGE}@{GEMINI_VERSION}"], folder)
        except CannotRun as error:
            raise GeminiMissing(str(error)) from error

    def argv(self, workspace, *words):
        script = HERE / "gemini.mjs"
        return [self.node, str(script), str(self.package), self.ripgrep, str(workspace), *map(str, words)]

    def execute_ms(self, workspace, tool, arguments, times, restore, env):
        """Milliseconds of `times` runs of execute() in one warm process."""
        argv = self.argv(workspace, tool, json.dumps(arguments), times, *restore)
        done = subprocess.run(argv, cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            reasons = [line for line in done.stderr.splitlines() if line.startswith("Error")]
            raise CannotRun(f"gemini {tool}: {(reasons or ['failed'])[-1]}")
        return json.loads(done.stdout)


def environment(root):
    """What every measured program gets: nobody's configuration, and a home that may be littered."""
    home = root / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}
