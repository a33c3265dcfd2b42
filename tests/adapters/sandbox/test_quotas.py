"""A child that takes too much is ended, as root too; what it takes meanwhile stays bounded."""

import asyncio
import os
import time

import pytest
from msgspec.structs import replace

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox import sandbox as sandboxes
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import sandbox_kind

pytestmark = [
    pytest.mark.usefixtures("system_programs"),
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
    """Checks with small quotas: 64 processes, 300 MB of memory, 20 MB in 500 files."""
    check = PROFILES[ChildKind.CHECK]
    quotas = replace(
        check.quotas,
        processes=64,
        memory=300 << 20,
        disk=20 << 20,
        files=500,
        file_size=8 << 20,
        tmp=8 << 20,
    )
    own = {**PROFILES, ChildKind.CHECK: replace(check, quotas=quotas)}
    monkeypatch.setattr(sandboxes, "PROFILES", own)


def bombed(folder, *command):
    walls = Sandbox(writable=(folder,))
    return asyncio.run(run(command, origin=Origin.USERS, cwd=folder, walls=walls, timeout=60))


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


PYTHON = "/usr/bin/python3"
WRITTEN = "used too much: over 0.0195 GB of files written"
PIECE = "piece = os.urandom(1 << 20) * 7\n"
KEPT = """
import os, time
files = [open(f"f{n}", "wb+") for n in range(8)]
for file in files:
    os.unlink(file.name)
    file.write(piece)
    file.flush()
time.sleep(30)
"""
MAPPED = """
import mmap, os, time
areas = []
for n in range(8):
    with open(f"f{n}", "wb+") as file:
        file.write(piece)
        file.flush()
        areas.append(mmap.mmap(file.fileno(), len(piece)))
    os.unlink(f"f{n}")
time.sleep(30)
"""
MASKED = """
import os, time
for n in range(8):
    with open(f"f{n}", "wb") as file:
        file.write(piece)
    os.unlink(f"../others/{n}")  # as if another program freed as much room at the same time
time.sleep(30)
"""
AT_ONCE = """
import os
for n in range(30):
    with open(f"f{n}", "wb") as file:
        file.write(piece)
        os.fsync(file)
"""
MANY_SMALL = """
import os, time
for n in range(900):
    os.mkdir(f"d{n}") if n % 2 else open(f"f{n}", "w").close()
time.sleep(30)
"""
SPARSE = """
import os, time
for n in range(20):
    with open(f"f{n}", "wb") as file:
        file.truncate(7 << 20)
time.sleep(1.5)
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(KEPT, WRITTEN, id="deleted but open"),
        pytest.param(MAPPED, WRITTEN, id="deleted but mapped"),
        pytest.param(AT_ONCE, WRITTEN, id="written and gone at once"),
        pytest.param(MANY_SMALL, "used too much: over 500 files written", id="many empty ones"),
        pytest.param(SPARSE, "", id="sparse ones take no room"),
    ],
)
def test_files_count_however_they_are_kept(small, tmp_path, script, said):
    ran = bombed(tmp_path, PYTHON, "-c", f"import os\n{PIECE}{script}")
    assert ran.trouble == said, ran
    assert ran.seconds < 20


def test_room_that_others_free_meanwhile_hides_nothing(small, tmp_path):
    own, others = tmp_path / "own", tmp_path / "others"
    own.mkdir()
    others.mkdir()
    for number in range(8):
        (others / str(number)).write_bytes(os.urandom(7 << 20))
    walls = Sandbox(writable=(own,), binds=((others, others, True),))
    script = f"import os\n{PIECE}{MASKED}"
    ran = asyncio.run(
        run([PYTHON, "-c", script], origin=Origin.USERS, cwd=own, walls=walls, timeout=60)
    )
    assert ran.trouble == WRITTEN, ran
    assert ran.seconds < 20


RESERVES = """
import ctypes, errno, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
file = os.open("reserved", os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * 65536)
for mode in (0, 1, 0x10, 0x11, 0x20, 0x40, 3):
    done = libc.fallocate(file, mode, 0, 65536)
    print(mode, errno.errorcode[ctypes.get_errno()] if done else "done")
for number in (0x40305828, 0x4030582A, 0x40305839):
    try:
        fcntl.ioctl(file, number, struct.pack("hhqqiI16x", 0, 0, 0, 1 << 20, 0, 0))
        print(hex(number), "done")
    except OSError as error:
        print(hex(number), errno.errorcode[error.errno])
os.posix_fallocate(file, 0, 1 << 20)
print(os.fstat(file).st_size)
"""


@pytest.mark.parametrize("kind", ChildKind)
def test_no_child_reserves_room_but_programs_that_would_go_on(tmp_path, kind):
    walls = Sandbox(kind=kind, writable=(tmp_path,))
    ran = asyncio.run(
        run([PYTHON, "-c", RESERVES], origin=Origin.USERS, cwd=tmp_path, walls=walls, timeout=60)
    )
    lines = [line.split()[-1] for line in ran.stdout.decode().splitlines()]
    assert lines == ["ENOTSUP"] * 6 + ["done"] + ["ENOTSUP"] * 3 + [str(1 << 20)], ran


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
