"""The programs we are measured against: found on the machine, or installed into the bench folder."""

import os
import shutil
import subprocess
from pathlib import Path

from measure import CannotRun

CRATES = {"rg": "ripgrep@15.2.0", "fd": "fd-find@10.5.0"}
# Debian's package of fd-find has another name for the program.
OTHER_NAMES = {"fd": ("fdfind",)}


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


def environment(root):
    """What every measured program gets: the caller's variables without configuration, and a home that may be littered."""
    home = root / "home"
    home.mkdir(parents=True, exist_ok=True)
    configures = ("GEMINI", "GOOGLE", "GIT_", "RIPGREP_", "XDG_", "LC_", "LANG")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(configures)}
    return {**plain, "HOME": str(home), "LC_ALL": "C.UTF-8"}
