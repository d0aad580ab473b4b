"""Makes archives of an installed tree, the same bytes each time: one for any prefix, the npm packages, a wheel, the
extension of Gemini CLI, and a bundle of the MCP server. Only Python's standard library is used, so that this runs where
the executables are built: on Linux and macOS.

The tree is what `scripts/install` makes: `bin` and `share`. Every bundle keeps `share/doc/gemini-tools` at
`../share/doc/gemini-tools` of the executables, where `get_tools --licenses` looks.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
from pathlib import Path

from files import PLATFORMS, Files, tar_gz, zipped
from listings import registry_name

NAMES = ("get_tools", "call_tool", "run_agent", "serve_tools")
# Those that are for users get a command of npm's.
COMMANDS = ("get_tools", "call_tool", "run_agent", "serve_tools")

DESCRIPTION = "Gemini CLI's tools as two fast commands, as an MCP server and as an agent"
KEYWORDS = ["gemini", "gemini-cli", "mcp", "tools", "agent", "cli"]
LICENSE = "MIT OR Apache-2.0"
NOTICES = ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt")


def needs_c_library(executable):
    """Whether an executable for Linux names a dynamic linker (PT_INTERP), and so needs a C library of the system."""
    data = executable.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return False
    offset, size, count = (int.from_bytes(data[at : at + width], "little") for at, width in ((32, 8), (54, 2), (56, 2)))
    return any(int.from_bytes(data[at : at + 4], "little") == 3 for at in range(offset, offset + size * count, size))


def npm_manifest(name, version, repository, more):
    return json.dumps(
        {
            "name": name,
            "version": version,
            "description": DESCRIPTION,
            "keywords": KEYWORDS,
            "license": LICENSE,
            "repository": {"type": "git", "url": f"git+{repository}.git"},
            **more,
        },
        indent=2,
    ) + "\n"


def npm_main(job):
    """The package that users name. It has no executable: npm chooses that among its optional dependencies. It runs no
    script when it is installed, so that `--ignore-scripts` changes nothing."""
    files = Files()
    commands = {"gemini-tools": "get_tools", **{name: name for name in COMMANDS}}
    manifest = {
        # By which the MCP Registry knows that the entry and the package have one owner.
        "mcpName": registry_name(job.repository),
        "bin": {command: f"bin/{command}.js" for command in commands},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@gemini-tools/{platform}": job.version for platform in PLATFORMS},
    }
    files.add("package.json", npm_manifest("gemini-tools", job.version, job.repository, manifest))
    for command, program in commands.items():
        line = f"#!/usr/bin/env node\nrequire('../launch.js')('{program}', '{command}');\n"
        files.add(f"bin/{command}.js", line, runs=True)
    for name in ("launch.js", "README.md"):
        files.add(name, (job.checkout / "packaging/npm" / name).read_bytes())
    for name in NOTICES[:2]:
        files.add(name, (job.checkout / name).read_bytes())
    # npm writes this time into every package.
    tar_gz(job.result(f"gemini-tools-{job.version}.tgz"), files, 499162500, job.level, "package/")


def npm_platform(job):
    system, machine = job.platform.split("-")
    files = Files()
    manifest = {"os": [system], "cpu": [machine], "preferUnplugged": True}
    files.add("package.json", npm_manifest(f"@gemini-tools/{job.platform}", job.version, job.repository, manifest))
    readme = f"The executables of the package `gemini-tools` for {job.platform}. Install `gemini-tools`: npm adds this one.\n"
    files.add("README.md", readme)
    files.add_tree(job.tree / "bin", "bin/")
    files.add_tree(job.tree / "share/doc", "share/doc/")
    name = f"gemini-tools-{job.platform}-{job.version}.tgz"
    tar_gz(job.result(name), files, 499162500, job.level, "package/")


def wheel(job):
    """A wheel as the specification of binary distributions has it: executables in `scripts`, all else in `data`."""
    tags = PLATFORMS[job.platform][1]
    if any(needs_c_library(path) for path in (job.tree / "bin").iterdir()):
        # An index refuses this tag: such a wheel is for the machine that it was made on.
        tags = "linux_" + PLATFORMS[job.platform][0].split("-")[0]
    stem = f"gemini_tools-{job.version}"
    files = Files()
    files.add_tree(job.tree / "bin", f"{stem}.data/scripts/")
    for path in list(files.by_path):
        files.by_path[path] = (files.by_path[path][0], True)
    # The command that `uvx gemini-tools` runs.
    files.add(f"{stem}.data/scripts/gemini-tools", (job.checkout / "packaging/wheel/gemini-tools").read_bytes(), runs=True)
    files.add_tree(job.tree / "share", f"{stem}.data/data/share/")
    readme = (job.checkout / "packaging/wheel/README.md").read_text("utf-8")
    readme += f"\n<!-- mcp-name: {registry_name(job.repository)} -->\n"
    metadata = [
        "Metadata-Version: 2.4",
        "Name: gemini-tools",
        f"Version: {job.version}",
        f"Summary: {DESCRIPTION}",
        f"Keywords: {','.join(KEYWORDS)}",
        f"License-Expression: {LICENSE}",
        f"Project-URL: Source, {job.repository}",
        *(f"License-File: {name}" for name in NOTICES),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    files.add(f"{stem}.dist-info/METADATA", "\n".join(metadata) + "\n\n" + readme)
    tag_lines = "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    files.add(
        f"{stem}.dist-info/WHEEL",
        f"Wheel-Version: 1.0\nGenerator: gemini-tools\nRoot-Is-Purelib: false\n{tag_lines}",
    )
    for name in NOTICES:
        files.add(f"{stem}.dist-info/licenses/{name}", (job.tree / "share/doc/gemini-tools" / name).read_bytes())

    def record(path, data):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{path},sha256={digest},{len(data)}\n"

    own = f"{stem}.dist-info/RECORD"
    files.add(own, "".join(record(path, data) for path, (data, _) in files) + f"{own},,\n")
    zipped(job.result(f"{stem}-py3-none-{tags}.whl"), files, job.mtime, job.level)


def extension(job):
    """What `gemini extensions install` takes from a release, by the name that it looks for there."""
    system, machine = job.platform.split("-")
    files = Files()
    manifest = json.loads((job.checkout / "packaging/extension/gemini-extension.json").read_text("utf-8"))
    manifest = {"name": manifest.pop("name"), "version": job.version, **manifest}
    files.add("gemini-extension.json", json.dumps(manifest, indent=2) + "\n")
    for name in ("GEMINI.md", "policies/plan-mode.toml"):
        files.add(name, (job.checkout / "packaging/extension" / name).read_bytes())
    skill = job.checkout / "crates/builtin-tools/src/SKILL.md"
    files.add("skills/gemini-tools/SKILL.md", skill.read_bytes())
    files.add_tree(job.tree / "bin", "bin/")
    files.add_tree(job.tree / "share/doc", "share/doc/")
    name = f"{system}.{machine}.gemini-tools"
    tar_gz(job.result(f"{name}.tar.gz"), files, job.mtime, job.level)


def mcp_bundle(job):
    """The MCP server for Claude Desktop and others that take bundles; `serve_tools` needs none of the other executables."""
    system = job.platform.split("-")[0]
    manifest = json.loads((job.checkout / "packaging/mcpb/manifest.json").read_text("utf-8"))
    manifest["version"] = job.version
    manifest["repository"] = {"type": "git", "url": job.repository}
    manifest["compatibility"] = {"platforms": [system]}
    files = Files()
    files.add("manifest.json", json.dumps(manifest, indent=2) + "\n")
    files.add("server/serve_tools", (job.tree / "bin/serve_tools").read_bytes(), runs=True)
    for name in NOTICES:
        files.add(name, (job.tree / "share/doc/gemini-tools" / name).read_bytes())
    zipped(job.result(f"gemini-tools-{job.version}-{job.platform}.mcpb"), files, job.mtime, job.level)


def archive(job):
    title = f"gemini-tools-{job.version}-{PLATFORMS[job.platform][0]}"
    files = Files()
    files.add_tree(job.tree, f"{title}/")
    tar_gz(job.result(f"{title}.tar.gz"), files, job.mtime, job.level)


class Job:
    """What all bundles are made from. `result` notes the name of each, to be printed."""

    def __init__(self, options):
        self.tree = Path(options.tree)
        self.out = Path(options.out)
        self.checkout = Path(options.checkout)
        self.platform = options.platform
        self.repository = options.repository
        self.version = options.version
        self.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
        self.level = options.level
        self.names = []

    def result(self, name):
        self.names.append(name)
        return self.out / name


def main():
    parser = argparse.ArgumentParser()
    for name in ("tree", "out", "checkout", "version", "repository"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--platform", required=True, choices=PLATFORMS)
    parser.add_argument("--level", type=int, default=9)
    options = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", options.version):
        sys.exit(f"scripts/package: the version {options.version} is not MAJOR.MINOR.PATCH, which all indexes read alike")
    job = Job(options)
    for make in (archive, npm_main, npm_platform, wheel, extension, mcp_bundle):
        make(job)
    print("\n".join(job.names))


main()
