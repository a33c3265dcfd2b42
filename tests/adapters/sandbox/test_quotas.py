"""A child that takes too much is ended, as root too; what it takes meanwhile stays bounded."""

import asyncio
import time

import pytest
from msgspec.structs import replace

from punchlist.adapters.process.run import run
from punchlist.adapters.sandbox import sandbox as sandboxes
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import sandbox_kind

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(
        sandbox_kind() != "bubblewrap", reason="NOT TESTED HERE: there is no working bubblewrap"
    ),
]
FORKS = "import os,time\nwhile True:\n  try: os.fork()\n  except OSError: pass\n  time.sleep(0.01)"
MANY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(b"x") * (60 << 20)
        time.sleep(60)
os.wait()
"""


@pytest.fixture
def small(monkeypatch):
    """Checks with small quotas: 64 processes, 300 MB of memory, 20 MB of files."""
    check = PROFILES[ChildKind.CHECK]
    quotas = replace(
        check.quotas, processes=64, memory=300 << 20, disk=20 << 20, file_size=8 << 20, tmp=8 << 20
    )
    own = {**PROFILES, ChildKind.CHECK: replace(check, quotas=quotas)}
    monkeypatch.setattr(sandboxes, "PROFILES", own)


def bombed(folder, *command):
    walls = Sandbox(writable=(folder,))
    return asyncio.run(run(command, cwd=folder, walls=walls, timeout=60))


def test_a_fork_bomb_is_ended(small, tmp_path):
    ran = bombed(tmp_path, "python3", "-c", FORKS)
    assert ran.trouble == "used too much: over 64 processes and threads"
    assert ran.seconds < 30


def test_memory_of_many_processes_counts_together(small, tmp_path):
    ran = bombed(tmp_path, "/usr/bin/python3", "-c", MANY)
    assert ran.trouble == "used too much: over 0.293 GB of memory"


def test_many_files_are_too_much_even_if_each_is_small(small, tmp_path):
    script = "i=0; while :; do head -c 4M /dev/zero > f$i; i=$((i+1)); sleep 0.02; done"
    ran = bombed(tmp_path, "sh", "-c", script)
    assert ran.trouble == "used too much: over 0.0195 GB of files written"


def test_one_file_and_the_private_folders_are_bounded_by_the_kernel(small, tmp_path):
    script = "head -c 64M /dev/zero > big; for d in /tmp /var/tmp /dev/shm; do head -c 7M /dev/zero > $d/a; head -c 7M /dev/zero > $d/b; du -xm $d | tail -1; done"
    ran = bombed(tmp_path, "sh", "-c", script)
    assert (tmp_path / "big").stat().st_size <= 8 << 20
    sizes = [int(line.split()[0]) for line in ran.stdout.decode().splitlines()]
    assert len(sizes) == 3
    assert max(sizes) <= 8


def test_what_is_not_a_child_of_this_kind_is_not_counted(small, tmp_path):
    began = time.monotonic()
    assert bombed(tmp_path, "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.3 & done; wait").ok
    assert time.monotonic() - began < 30
