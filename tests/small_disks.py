"""Small file systems for tests of a full disk; they need root."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def mounted(tmp_path):
    """Mounts small file systems for a test, and takes them down again."""
    made: list[Path] = []

    def mount(name: str, options: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(
                f"NOT TESTED HERE: a file system of its own cannot be mounted: {os.fsdecode(done.stderr).strip()}"
            )
        made.append(folder)
        return folder

    if shutil.which("mount") is None:
        pytest.skip("NOT TESTED HERE: there is no mount command")
    yield mount
    for folder in reversed(made):
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def full(folder: Path, leave: int = 0) -> Path:
    """Fills a file system but for so many bytes; returns the file to remove."""
    filler = folder / "filler"
    status = os.statvfs(folder)
    with filler.open("wb") as file:
        file.write(b"\0" * max(0, status.f_bavail * status.f_frsize - leave))
    return filler
