"""Checks may trace their own processes, so debuggers and leak checkers work; no way out comes of it."""

import asyncio
import platform
import subprocess
from pathlib import Path

import pytest

from machine import find_program
from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import sandbox_kind

pytestmark = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap", reason="NOT TESTED HERE: there is no working bubblewrap"
)
LEAK = """
#include <stdlib.h>
int main(int count, char **words) {
  void *volatile held = malloc(77);
  if (count > 1) held = 0; else free(held);
  return 0;
}
"""
TRACE = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
TRACEME, POKE_REGISTER, GO_TO_NEXT_CALL, NUMBER, IO_URING_SETUP, GETPPID = 0, 6, 24, 120, 425, 110
pid = os.fork()
if pid == 0:
    print("traced", libc.ptrace(TRACEME, 0, None, None), flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    print("another call instead", libc.syscall(GETPPID, 0, 0), ctypes.get_errno(), flush=True)
    os._exit(0)
os.waitpid(pid, os.WUNTRACED)
while libc.ptrace(GO_TO_NEXT_CALL, pid, None, None) == 0:
    if os.WIFEXITED(os.waitpid(pid, 0)[1]):
        break
    libc.ptrace(3, pid, NUMBER, None) == GETPPID and libc.ptrace(POKE_REGISTER, pid, NUMBER, IO_URING_SETUP)
"""
SEEN = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    lines = dict(line.split(":\\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines())
    print(lines["Seccomp"], lines["NoNewPrivs"], int(lines["CapEff"], 16), int(lines["CapBnd"], 16))
"""


def run_as(kind, *command):
    return asyncio.run(
        run(command, origin=Origin.USERS, cwd=Path("/"), walls=Sandbox(kind=kind), timeout=60)
    )


def test_the_leak_checker_works_in_checks(tmp_path):
    gcc = find_program("gcc") or pytest.skip("NOT TESTED HERE: there is no gcc")
    source, program = tmp_path / "leak.c", tmp_path / "leak"
    source.write_text(LEAK)
    made = subprocess.run(
        [gcc, "-fsanitize=address,leak", "-o", str(program), str(source)], check=False
    )
    if made.returncode:
        pytest.skip("NOT TESTED HERE: gcc has no sanitizers")
    walls = Sandbox(kind=ChildKind.CHECK, binds=((tmp_path, tmp_path, False),))
    clean, leaking = (
        asyncio.run(run([str(program), *words], origin=Origin.USERS, cwd=tmp_path, walls=walls))
        for words in ((), ("x",))
    )
    assert (clean.exit_code, clean.stderr) == (0, b"")
    assert b"77 byte(s) leaked in 1 allocation(s)" in leaking.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="NOT TESTED HERE: other registers")
def test_a_check_traces_its_own_process_but_cannot_make_it_call_what_is_refused():
    ran = run_as(ChildKind.CHECK, "/usr/bin/python3", "-c", TRACE)
    assert ran.stdout.decode().splitlines() == ["traced 0", "another call instead -1 1"], ran


@pytest.mark.parametrize("kind", [each for each in ChildKind if each is not ChildKind.CHECK])
def test_other_children_trace_nothing(kind):
    script = "import ctypes\nprint(ctypes.CDLL(None).ptrace(0, 0, None, None))"
    assert run_as(kind, "/usr/bin/python3", "-c", script).stdout.split() == [b"-1"]


def test_all_that_a_check_could_trace_is_held_as_it_is_itself():
    ran = run_as(ChildKind.CHECK, "/usr/bin/python3", "-c", SEEN)
    lines = ran.stdout.decode().splitlines()
    assert len(lines) >= 2, ran  # the first process of the namespace, and this one
    assert set(lines) == {"2 1 0 0"}
