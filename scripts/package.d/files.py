"""Archives of given files, the same bytes each time, and the platforms that there are packages for."""

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

# By node's names: the names in archives, and the tags of wheels. Executables that are linked to musl need no C library,
# so that both kinds of Linux take them.
PLATFORMS = {
    "linux-x64": ("x86_64-linux", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
    "linux-arm64": ("aarch64-linux", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
    "darwin-x64": ("x86_64-macos", "macosx_10_12_x86_64"),
    "darwin-arm64": ("aarch64-macos", "macosx_11_0_arm64"),
}


class Files:
    """The files of a bundle by path, with whether each can be run."""

    def __init__(self):
        self.by_path = {}

    def add(self, path, data, runs=False):
        self.by_path[path] = (data.encode() if isinstance(data, str) else data, runs)

    def add_tree(self, directory, below=""):
        for path in sorted(Path(directory).rglob("*")):
            if path.is_file():
                inside = path.relative_to(directory).as_posix()
                self.add(below + inside, path.read_bytes(), runs=path.parent.name == "bin")

    def __iter__(self):
        return iter(sorted(self.by_path.items()))


def tar_gz(out, files, mtime, level, top=""):
    """A ustar archive with all directories, as `tar` would make it of a directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        made = set()
        for path, (data, runs) in files:
            path = top + path
            parts = path.split("/")
            for depth in range(1, len(parts)):
                directory = "/".join(parts[:depth])
                if directory not in made:
                    made.add(directory)
                    entry = tarfile.TarInfo(directory)
                    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, mtime
                    tar.addfile(entry)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime, entry.mode = len(data), mtime, 0o755 if runs else 0o644
            tar.addfile(entry, io.BytesIO(data))
    with open(out, "wb") as file, gzip.GzipFile("", "wb", level, file, mtime=0) as packed:
        packed.write(buffer.getvalue())


def zipped(out, files, mtime, level):
    # What a zip can say begins with 1980.
    moment = max(time.gmtime(mtime)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, (data, runs) in files:
            entry = zipfile.ZipInfo(path, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            archive.writestr(entry, data)
