"""The walls: what is behind them cannot be seen, written to or talked to, with real bubblewrap."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox import support as sandbox
from punchlist.adapters.sandbox.home_view import list_secrets
from punchlist.adapters.sandbox.sandbox import Rlimits, Sandbox
from punchlist.adapters.sandbox.support import sandbox_kind

pytestmark = pytest.mark.usefixtures("system_programs")
needs_bubblewrap = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap",
    reason="LOUD: bubblewrap is not installed or does not work here; the sandbox is NOT tested",
)


def behind(walls, *command, cwd=Path("/"), timeout=20.0):
    return asyncio.run(run(command, origin=Origin.USERS, cwd=cwd, walls=walls, timeout=timeout))


@pytest.fixture
def without_any(monkeypatch):
    monkeypatch.setattr(sandbox, "find_bubblewrap", str)
    monkeypatch.setattr(sandbox, "find_version", int)


@needs_bubblewrap
def test_the_file_system_is_read_only_but_for_what_is_named(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    walls = Sandbox(
        writable=(tmp_path / "out",), binds=((tmp_path / "in", tmp_path / "in", False),)
    )
    assert behind(walls, "touch", str(tmp_path / "out/file")).ok
    assert (tmp_path / "out/file").exists()
    assert not behind(walls, "touch", str(tmp_path / "in/file")).ok
    assert not behind(walls, "touch", "/usr/file").ok


@needs_bubblewrap
def test_a_folder_can_stand_in_for_another_one(tmp_path):
    for name in ("checkout", "tree"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who").write_text(name)
    walls = Sandbox(binds=((tmp_path / "tree", tmp_path / "checkout", True),))
    ran = behind(
        walls,
        "sh",
        "-c",
        f"cat {tmp_path}/checkout/who; cat who; pwd; ls {tmp_path}",
        cwd=tmp_path / "checkout",
    )
    assert ran.stdout.decode() == f"treetree{tmp_path}/checkout\ncheckout\n"


@needs_bubblewrap
def test_hidden_files_and_folders_are_empty(tmp_path):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("key")
    (home / ".netrc").write_text("password")
    walls = Sandbox(binds=((home, home, False),), hidden=list_secrets(home))
    # /tmp is private, so the home is bound first here; what is hidden must win all the same.
    ran = behind(walls, "sh", "-c", f"cat {home}/.netrc {home}/.ssh/id; ls -A {home}/.ssh")
    assert b"key" not in ran.stdout
    assert b"password" not in ran.stdout


@needs_bubblewrap
def test_tmp_is_private(tmp_path):
    marker = Path("/tmp") / f"punchlist-{tmp_path.name}-{time.time_ns()}"
    marker.write_text("outside")
    try:
        assert behind(
            Sandbox(),
            "sh",
            "-c",
            f"test ! -e {marker} && echo inside > {marker} && test -d /tmp/home",
        ).ok
        assert marker.read_text() == "outside"
    finally:
        marker.unlink()


@needs_bubblewrap
def test_there_is_no_network_but_loopback_works():
    talk = (
        "import socket as s; a = s.create_server(('127.0.0.1', 0)); b = s.create_connection(a.getsockname(), 2); print('loopback');"
        "c = s.socket(); c.settimeout(2); print('outside', c.connect_ex(('192.0.2.1', 80)))"
    )
    ran = asyncio.run(
        run(["/usr/bin/python3", "-c", talk], origin=Origin.USERS, cwd=Path("/"), walls=Sandbox())
    )
    assert ran.stdout.startswith(b"loopback\noutside 101"), ran


@pytest.mark.serial
@needs_bubblewrap
def test_the_child_sees_no_other_process_and_leaves_none():
    ran = behind(Sandbox(), "sh", "-c", "setsid env -i sleep 77 & ls -d /proc/[0-9]* | wc -l")
    assert ran.ok
    assert int(ran.stdout) < 8
    assert ran.seconds < 30


@pytest.mark.serial
@needs_bubblewrap
def test_a_time_out_ends_everything_behind_the_walls():
    ran = behind(Sandbox(), "sh", "-c", "trap '' TERM; setsid sleep 78 & sleep 78", timeout=0.4)
    assert ran.trouble == "timed out after 0.4 s"
    assert ran.seconds < 30


@needs_bubblewrap
def test_everything_behind_the_walls_dies_with_a_punchlist_that_is_killed(tmp_path):
    beat = "while :; do date +%N > beat; sleep 0.02; done"
    program = (
        "import asyncio; from pathlib import Path; from punchlist.adapters.process.run import Origin, run; "
        "from punchlist.adapters.sandbox.sandbox import Sandbox; at = Path.cwd(); "
        f"asyncio.run(run(['sh', '-c', 'setsid env -i PATH=$PATH sh -c \"{beat}\" & sleep 60'], origin=Origin.USERS, cwd=at, walls=Sandbox(writable=(at,))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment)
    deadline = time.monotonic() + 5
    while not (tmp_path / "beat").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    time.sleep(0.3)
    last = (tmp_path / "beat").read_text()
    time.sleep(0.3)
    assert (tmp_path / "beat").read_text() == last


@needs_bubblewrap
def test_a_crash_behind_the_walls_is_trouble():
    assert behind(Sandbox(), "sh", "-c", "kill -SEGV $$").trouble == "ended by signal 11"


@needs_bubblewrap
def test_walls_that_cannot_be_built_are_trouble_not_a_red_check(tmp_path):
    ran = behind(Sandbox(binds=((tmp_path / "gone", tmp_path, False),)), "true")
    assert ran.trouble.startswith("the sandbox could not be set up: bwrap: ")
    assert not ran.ok


def test_a_missing_command_is_said_with_and_without_bubblewrap(monkeypatch):
    assert behind(Sandbox(), "no-such-command").trouble == "command not found: no-such-command"
    monkeypatch.setattr(sandbox, "find_bubblewrap", str)
    assert behind(Sandbox(), "no-such-command").trouble == "command not found: no-such-command"


def test_limits_hold_without_any_sandbox(without_any, tmp_path):
    assert sandbox_kind() == "none"
    walls = Sandbox(rlimits=Rlimits(file_size=1 << 20))
    ran = behind(walls, "sh", "-c", "head -c 5000000 /dev/zero > big; true", cwd=tmp_path)
    assert (tmp_path / "big").stat().st_size <= 1 << 20, ran
    memory = Sandbox(rlimits=Rlimits(memory=256 << 20))
    assert not behind(memory, sys.executable, "-c", "bytearray(1 << 30)").ok


@needs_bubblewrap
def test_limits_hold_behind_the_walls(tmp_path):
    walls = Sandbox(writable=(tmp_path,), rlimits=Rlimits(file_size=1 << 20))
    behind(walls, "sh", "-c", "head -c 5000000 /dev/zero > big", cwd=tmp_path)
    assert (tmp_path / "big").stat().st_size <= 1 << 20
