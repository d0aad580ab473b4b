"""Writes what lists a release elsewhere, from the packages in a directory: `server.json` for the MCP Registry, a plugin
with its marketplace for Claude Code, a formula for Homebrew, a package of the AUR, a flake of Nix, and an entry for mise.

Versions, addresses and checksums have one origin: the version and `repository` of Cargo.toml, and the files as they are.
A listing names the platforms whose packages are in the directory. The same packages give the same bytes. Only Python's
standard library is used.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
from pathlib import Path

from files import PLATFORMS, Files, tar_gz

DESCRIPTION = "Tools that read, search and edit files, run commands and read the web"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# By the names of each project.
HOMEBREW = {"darwin-arm64": ("macos", "arm"), "darwin-x64": ("macos", "intel"), "linux-arm64": ("linux", "arm"), "linux-x64": ("linux", "intel")}
NIX = {"linux-x64": "x86_64-linux", "linux-arm64": "aarch64-linux", "darwin-x64": "x86_64-darwin", "darwin-arm64": "aarch64-darwin"}
ARCH = {"linux-x64": "x86_64", "linux-arm64": "aarch64"}
MISE = {"linux-x64": "linux-x64", "linux-arm64": "linux-arm64", "darwin-x64": "macos-x64", "darwin-arm64": "macos-arm64"}


class Release:
    """The packages of a version: where each will be, and its checksum."""

    def __init__(self, options):
        self.out = Path(options.packages)
        self.checkout = Path(options.checkout)
        self.version = options.version
        self.repository = options.repository
        self.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
        self.archives = self.found("{0}-{1}.tar.gz", lambda platform: PLATFORMS[platform][0])
        self.bundles = self.found("{0}-{1}.mcpb", lambda platform: platform)
        if not self.archives:
            sys.exit(f"scripts/package: {self.out} has no archive of version {self.version}: make packages first")

    def found(self, form, name):
        """The packages of this form that are there, by platform: the address and the SHA-256 of each."""
        packages = {}
        for platform in PLATFORMS:
            file = self.out / form.format(f"gemini-tools-{self.version}", name(platform))
            if file.is_file():
                url = f"{self.repository}/releases/download/v{self.version}/{file.name}"
                packages[platform] = (url, hashlib.sha256(file.read_bytes()).hexdigest())
        return packages

    def template(self, name, **values):
        """A template of packaging/ with these values, and those that all have."""
        values = {"version": self.version, "repository": self.repository, "description": DESCRIPTION, **values}
        text = (self.checkout / "packaging" / name).read_text("utf-8")
        return re.sub(r"@([A-Z]+)@", lambda found: values[found[1].lower()], text)

    def manifest(self, name, **values):
        """A manifest of packaging/ in JSON with these values besides."""
        manifest = json.loads((self.checkout / "packaging" / name).read_text("utf-8"))
        return json.dumps({**manifest, **values}, indent=2) + "\n"


def registry(release):
    """The entry of the MCP Registry: the server by npx, by uvx, and as bundles."""
    serve = {"transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "serve"}]}
    packages = [
        {"registryType": kind, "identifier": "gemini-tools", "version": release.version, "runtimeHint": runner, **serve}
        for kind, runner in (("npm", "npx"), ("pypi", "uvx"))
    ]
    for url, sha256 in release.bundles.values():
        packages.append({"registryType": "mcpb", "identifier": url, "fileSha256": sha256, "transport": {"type": "stdio"}})
    server = {
        "$schema": SCHEMA,
        "name": registry_name(release.repository),
        "title": "Gemini tools",
        "description": DESCRIPTION,
        "version": release.version,
        "packages": packages,
    }
    # The registry knows repositories of GitHub and GitLab only.
    if github_owner(release.repository):
        server["repository"] = {"url": release.repository, "source": "github"}
    (release.out / "server.json").write_text(json.dumps(server, indent=2) + "\n", "utf-8")
    return "server.json"


def github_owner(repository):
    """The owner of a repository on GitHub; None for another."""
    found = re.fullmatch(r"https://github\.com/([^/]+)/[^/]+", repository)
    return found and found[1]


def registry_name(repository):
    """The server's name in the MCP Registry. The namespace is the owner's on GitHub, which the registry checks, and which
    npm's `mcpName` and a line in PyPI's description repeat."""
    owner = github_owner(repository)
    if owner:
        return f"io.github.{owner}/gemini-tools"
    host = re.match(r"https://([^/]+)", repository)[1]
    return ".".join(reversed(host.split("."))) + "/gemini-tools"


def claude_plugin(release):
    """A marketplace with one plugin. The server is that of npm, in this version."""
    files = Files()
    plugin = "plugins/gemini-tools/"
    server = {"command": "npx", "args": ["-y", f"gemini-tools@{release.version}", "serve"]}
    about = {"version": release.version, "homepage": release.repository, "repository": release.repository, "license": "MIT OR Apache-2.0"}
    files.add(".claude-plugin/marketplace.json", release.manifest("claude/marketplace.json", version=release.version))
    files.add(plugin + ".claude-plugin/plugin.json", release.manifest("claude/plugin.json", **about))
    files.add(plugin + ".mcp.json", json.dumps({"mcpServers": {"gemini-tools": server}}, indent=2) + "\n")
    files.add(plugin + "skills/gemini-tools/SKILL.md", (release.checkout / "crates/builtin-tools/src/SKILL.md").read_bytes())
    for directory in ("", plugin):
        files.add(directory + "README.md", (release.checkout / "packaging/claude/README.md").read_bytes())
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            files.add(directory + name, (release.checkout / name).read_bytes())
    name = f"gemini-tools-claude-{release.version}.tar.gz"
    tar_gz(release.out / name, files, release.mtime, 9, "gemini-tools-claude/")
    return name


def homebrew(release):
    lines = []
    for system in ("macos", "linux"):
        inside = []
        for platform, (of, processor) in HOMEBREW.items():
            if of == system and platform in release.archives:
                url, sha256 = release.archives[platform]
                inside += [f"    on_{processor} do", f'      url "{url}"', f'      sha256 "{sha256}"', "    end"]
        if inside:
            lines += ["", f"  on_{system} do", *inside, "  end"]
    text = release.template("homebrew/gemini-tools.rb", sources="\n".join(lines[1:]))
    (release.out / "gemini-tools.rb").write_text(text, "utf-8")
    return "gemini-tools.rb"


def arch_linux(release):
    """PKGBUILD, and .SRCINFO as `makepkg --printsrcinfo` would print it, which the AUR reads in its place."""
    there = {ARCH[platform]: package for platform, package in release.archives.items() if platform in ARCH}
    if not there:
        return None
    sources = [line for arch, (url, sha256) in there.items() for line in (f"source_{arch}=('{url}')", f"sha256sums_{arch}=('{sha256}')")]
    arches = " ".join(f"'{arch}'" for arch in there)
    build = release.template("aur/PKGBUILD", sources="\n".join(sources), arches=arches)

    def values(key):
        """What an assignment of the PKGBUILD has: words in quotes, or one bare."""
        text = re.search(rf"^{key}=(\((?:[^()]|\n)*\)|.*)$", build, re.M)[1]
        return re.findall(r"'([^']*)'", text) or [text.strip('"')]

    keys = ("pkgdesc", "pkgver", "pkgrel", "url", "arch", "license", "optdepends", "provides", "conflicts", "options")
    lines = ["pkgbase = gemini-tools-bin"]
    lines += [f"\t{key} = {value}" for key in keys for value in values(key)]
    lines += [f"\t{key} = {values(key)[0]}" for arch in there for key in (f"source_{arch}", f"sha256sums_{arch}")]
    files = Files()
    files.add("PKGBUILD", build)
    files.add(".SRCINFO", "\n".join([*lines, "", "pkgname = gemini-tools-bin"]) + "\n")
    name = f"gemini-tools-aur-{release.version}.tar.gz"
    tar_gz(release.out / name, files, release.mtime, 9, "gemini-tools-bin/")
    return name


def nix(release):
    def line(platform, url, sha256):
        digest = base64.b64encode(bytes.fromhex(sha256)).decode()
        return f'        {NIX[platform]} = {{ url = "{url}"; hash = "sha256-{digest}"; }};'

    sources = [line(platform, *package) for platform, package in release.archives.items()]
    (release.out / "flake.nix").write_text(release.template("nix/flake.nix", sources="\n".join(sources)), "utf-8")
    return "flake.nix"


def mise(release):
    def line(platform, url, sha256):
        return f'{MISE[platform]} = {{ url = "{url}", checksum = "sha256:{sha256}" }}'

    sources = [line(platform, *package) for platform, package in release.archives.items()]
    (release.out / "mise.toml").write_text(release.template("mise/mise.toml", sources="\n".join(sources)), "utf-8")
    return "mise.toml"


def main():
    parser = argparse.ArgumentParser()
    for name in ("packages", "checkout", "version", "repository"):
        parser.add_argument(f"--{name}", required=True)
    release = Release(parser.parse_args())
    made = [make(release) for make in (registry, claude_plugin, homebrew, arch_linux, nix, mise)]
    print("\n".join(name for name in made if name))


if __name__ == "__main__":
    main()
