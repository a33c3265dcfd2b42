"""Find and kill a child with all its descendants."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

MARK = "PUNCHLIST_CHILD"
"""A variable of every child, by which descendants that left its session are found."""

_LINUX = sys.platform == "linux"
_PR_SET_CHILD_SUBREAPER = 36
_GUARDIAN = f"""
trap '' HUP INT TERM
all=' '
while read -r op entry; do
  case $op in +) all="$all$entry ";; -) all="${{all%% $entry *}} ${{all#* $entry }}";; esac
done
below() {{
  for kid in $(cat /proc/$1/task/*/children 2>/dev/null); do echo $kid; below $kid; done
}}
marks=
for entry in $all; do
  marks="$marks -e {MARK}=${{entry#*:}}"
  [ -n "${{entry%%:*}}" ] || continue
  below=$(below ${{entry%%:*}})
  kill -KILL -${{entry%%:*}} $below 2>/dev/null
done
[ -n "$marks" ] || exit 0
for again in 1 2 3 4 5 6 7 8 9; do
  found=$(grep -lsaF $marks /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || {{ [ $again -gt 1 ] && exit 0; sleep 0.1; }}
  for file in $found; do
    file=${{file#/proc/}}
    below=$(below ${{file%%/*}})
    kill -KILL ${{file%%/*}} $below 2>/dev/null
  done
done
"""
"""Kills the listed process groups, their descendants in other sessions, and what is marked. An
entry without a process group is a child that is being started.
"""
_END_SECONDS = 2.0
_PIECE = 1 << 16
_GONE = (ProcessLookupError, PermissionError)


class ProcessFamily:
    """A child that leads its own session, with its descendants; on Linux orphans are adopted."""

    _living: "set[ProcessFamily]" = set()  # noqa: RUF012  # the families of this process
    _roots: set[int] = set()  # noqa: RUF012  # children that the event loop has not reaped yet
    _since = 0.0  # when the table was last empty, in seconds since boot

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.root = 0
        adopt_orphans()
        if _LINUX and not self._living:
            ProcessFamily._since = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._living.add(self)
        _tell_guardian(f"+ :{mark}\n")  # before there is a child, which may outlive us

    def register_root(self, root: int) -> None:
        self.root = root
        self._roots.add(root)
        _tell_guardian(f"+ {root}:{self.mark}\n")

    def terminate(self) -> None:
        """Send SIGTERM to the process group."""
        if self.root:
            with suppress(*_GONE):
                os.killpg(self.root, signal.SIGTERM)

    def kill_all(self) -> None:
        """Kill and reap all members; gives up after two seconds. Further calls do nothing."""
        if self not in self._living:
            return
        deadline = time.monotonic() + _END_SECONDS
        try:
            while self._kill_once() and time.monotonic() < deadline:
                time.sleep(0.002)
        finally:
            self._living.discard(self)
            _tell_guardian(f"- :{self.mark}\n")
            if self.root:
                _tell_guardian(f"- {self.root}:{self.mark}\n")

    def release_root(self) -> None:
        """Forget the child's pid once the event loop has reaped it: the system may reuse it."""
        self._roots.discard(self.root)

    def _kill_once(self) -> bool:
        """Kill the members once; return whether there were any."""
        members = set(self.find_members())
        for pid in members:
            with suppress(*_GONE):
                os.kill(pid, signal.SIGKILL)
        if self.root:
            with suppress(*_GONE):
                os.killpg(self.root, signal.SIGKILL)
        for pid in members - {self.root}:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return bool(members)

    def list_descendants(self) -> Iterator[int]:
        """Yield the child and its descendants, without those that left it; Linux only."""
        yield from _list_descendants(self.root) if self.root else ()

    def find_members(self) -> Iterator[int]:
        """Yield living descendants with the child itself, and dead ones not yet reaped."""
        if not _LINUX:
            yield from _members_by_ps(self.root)
            return
        for pid in _list_children(os.getpid()):
            if pid == self.root:
                # A dead child is reaped by the event loop; waiting for that here would never end.
                found = _list_descendants(pid)
                yield from (each for each in found if each != pid or not _is_dead(pid))
            elif pid not in self._roots and self._is_member(pid):
                yield from _list_descendants(pid)

    def _is_member(self, pid: int) -> bool:
        """Return whether an orphan is of this family: by session, mark, or as the only family."""
        stat = _read_stat(pid)
        if stat is None:
            return False
        session, started = stat
        if session == self.root:
            return True
        environment = frozenset(_read_bytes(f"/proc/{pid}/environ").split(b"\0"))
        if f"{MARK}={self.mark}".encode() in environment:
            return True
        if session == os.getsid(0) or started < self._since - 0.02 or pid == _start_guardian()[0]:
            return False
        # A daemon may have emptied its environment; one with nearly all of ours was not started by
        # `run`, such as a browser.
        marked = any(entry.startswith(f"{MARK}=".encode()) for entry in environment)
        inherited = len(environment & _own_environment()) >= 0.75 * len(_own_environment())
        return not marked and not inherited and self._living == {self}


@cache
def adopt_orphans() -> bool:
    """Make this process the subreaper of its descendants. Linux only."""
    if not _LINUX:
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


@cache
def _start_guardian() -> tuple[int, int]:
    """Start a shell that kills the listed families when this process ends, even by SIGKILL; return
    its pid and the descriptor to write to.
    """
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, reading, 0),
        *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)),
    ]
    pid = os.posix_spawn(
        "/bin/sh", ["sh", "-c", _GUARDIAN], {"PATH": os.defpath}, file_actions=actions, setpgroup=0
    )
    os.close(reading)
    return pid, writing


@cache
def _own_environment() -> frozenset[bytes]:
    """Return the environment this process was started with."""
    return frozenset(_read_bytes("/proc/self/environ").split(b"\0"))


def _tell_guardian(line: str) -> None:
    with suppress(BrokenPipeError):  # the guardian was killed; we still end the children
        os.write(_start_guardian()[1], line.encode())


def _list_children(pid: int) -> Iterator[int]:
    with suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            yield from map(int, _read_bytes(f"{thread.path}/children").split())


def _list_descendants(pid: int) -> Iterator[int]:
    waiting = [pid]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += _list_children(found)


def _read_stat(pid: int) -> tuple[int, float] | None:
    """Return session and start (seconds since boot) of a process, or None."""
    _, found, rest = _read_bytes(f"/proc/{pid}/stat").rpartition(b")")
    fields = rest.split()
    return (int(fields[3]), int(fields[19]) / os.sysconf("SC_CLK_TCK")) if found else None


def _is_dead(pid: int) -> bool:
    return _read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([], [b"Z"], [b"X"])


def _members_by_ps(root: int) -> set[int]:
    """Return the process tree and group without /proc; processes that left both are missed."""
    if not root:  # nothing was started; 0 would mean our own group
        return set()
    try:
        os.killpg(root, 0)
    except _GONE:
        return set()
    reading, writing = os.pipe()
    command = ["ps", "-axo", "pid=,ppid=,pgid=,stat="]
    actions = [
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    ]
    pid = os.posix_spawnp("ps", command, {"PATH": os.defpath}, file_actions=actions)
    os.close(writing)
    with os.fdopen(reading) as lines:
        rows = [line.split() for line in lines]
    os.waitpid(pid, 0)
    members = {root}
    more = members
    while more:  # each pass finds one more generation
        found = {int(row[0]) for row in rows if int(row[1]) in members or int(row[2]) == root}
        more = found - members
        members |= more
    dead = {int(row[0]) for row in rows if row[3].startswith("Z")}
    return members & {int(row[0]) for row in rows} - dead


def _read_bytes(path: str) -> bytes:
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(number, _PIECE), b""))
    except OSError:
        return b""
    finally:
        os.close(number)
