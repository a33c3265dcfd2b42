"""A child and everything it started, found and ended as one, wherever the descendants have moved
to.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

MARK = "PUNCHLIST_CHILD"
"""In the environment of every child: how a descendant that left its session is still known."""

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
  below=$(below ${{entry%%:*}})
  kill -KILL -${{entry%%:*}} $below 2>/dev/null
  marks="$marks -e {MARK}=${{entry#*:}}"
done
for again in 1 2 3 4 5 6 7 8 9; do
  found=$([ -z "$marks" ] || grep -lsaF $marks /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do file=${{file#/proc/}}; kill -KILL ${{file%%/*}} 2>/dev/null; done
done
"""
"""Kills the groups that are still listed, what lies below them in sessions of their own, and what
bears their mark.
"""
_END_SECONDS = 2.0


class Family:
    """One child, leader of a session of its own, and its descendants. On Linux orphans come to us,
    so none can hide for long.
    """

    _living: "set[Family]" = set()  # noqa: RUF012  # the one table of children this process has; families come and go in it

    _roots: set[int] = set()  # noqa: RUF012  # children the event loop has not reaped yet; their exit status is its to read
    _since = 0.0  # when the table was last empty, in seconds since boot

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.root = 0
        adopt_orphans()
        if _LINUX and not self._living:
            Family._since = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._living.add(self)

    def began(self, root: int) -> None:
        self.root = root
        self._roots.add(root)
        _tell_guardian(f"+ {root}:{self.mark}\n")

    def term(self) -> None:
        """Asks the whole group to end."""
        if self.root:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, signal.SIGTERM)

    def end(self) -> None:
        """Kills and reaps whatever is left; returns when nothing is, or after two seconds of
        trying. Once is enough.
        """
        if self not in self._living:
            return
        deadline = time.monotonic() + _END_SECONDS
        try:
            while self._kill() and time.monotonic() < deadline:
                time.sleep(0.002)
        finally:
            self._living.discard(self)
            if self.root:
                _tell_guardian(f"- {self.root}:{self.mark}\n")

    def reaped(self) -> None:
        """The event loop has read the child's exit status; from now on its number
        may be another's.
        """
        self._roots.discard(self.root)

    def _kill(self) -> bool:
        """One sweep; whether something was still there."""
        members = set(self.members())
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if self.root:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, signal.SIGKILL)
        for pid in members - {self.root}:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return bool(members)

    def members(self) -> Iterator[int]:
        """Living descendants, the child itself among them, and its dead ones that wait for us."""
        if not _LINUX:
            yield from _members_by_ps(self.root)
            return
        for pid in _children(os.getpid()):
            if pid == self.root:
                # Dead and not yet reaped, it is the event loop's to reap; waiting for that here
                # would never end.
                yield from (found for found in _descendants(pid) if found != pid or not _dead(pid))
            elif pid not in self._roots and self._ours(pid):
                yield from _descendants(pid)

    def _ours(self, pid: int) -> bool:
        """Whether an orphan that came to us is of this family: by session, by mark, or because
        nobody else can have left it.
        """
        stat = _stat(pid)
        if stat is None:
            return False
        session, started = stat
        if session == self.root:
            return True
        environment = frozenset(_read(f"/proc/{pid}/environ").split(b"\0"))
        if f"{MARK}={self.mark}".encode() in environment:
            return True
        if session == os.getsid(0) or started < self._since - 0.02 or pid == _guardian()[0]:
            return False
        # A daemon that emptied its environment, too. One that has nearly all of ours was started by
        # other means: a browser.
        marked = any(entry.startswith(f"{MARK}=".encode()) for entry in environment)
        inherited = len(environment & _own_environment()) >= 0.75 * len(_own_environment())
        return not marked and not inherited and self._living == {self}


@cache
def adopt_orphans() -> bool:
    """Makes descendants whose parent died children of this process, so that they can be found and
    reaped. Linux only.
    """
    if not _LINUX:
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


@cache
def _guardian() -> tuple[int, int]:
    """A shell that outlives us by a moment: when its input ends, however we ended, it kills the
    families still listed.

    Returns its pid and the descriptor to write to. Nothing else reaches children of a process that
    was killed with -9.
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
    """What this process was started with; children that others start here inherit it whole."""
    return frozenset(_read("/proc/self/environ").split(b"\0"))


def _tell_guardian(line: str) -> None:
    with suppress(
        BrokenPipeError
    ):  # someone killed the guardian; the children are still ours to end
        os.write(_guardian()[1], line.encode())


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, _read(f"{thread}/children").split())


def _descendants(pid: int) -> Iterator[int]:
    waiting = [pid]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += _children(found)


def _stat(pid: int) -> tuple[int, float] | None:
    """Session and start (seconds since boot) of a process; None where it is gone."""
    _, found, rest = _read(f"/proc/{pid}/stat").rpartition(b")")
    fields = rest.split()
    return (int(fields[3]), int(fields[19]) / os.sysconf("SC_CLK_TCK")) if found else None


def _dead(pid: int) -> bool:
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([], [b"Z"], [b"X"])


def _members_by_ps(root: int) -> set[int]:
    """Where there is no /proc: the tree below the child, and its group. One that left both, and
    whose parent died, is missed.
    """
    if not root:  # nothing was started; to the system 0 means ourselves
        return set()
    try:
        os.killpg(root, 0)
    except (ProcessLookupError, PermissionError):
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
    for _ in rows:  # each pass finds at least one more generation, or is the last
        more = {
            int(row[0]) for row in rows if int(row[1]) in members or int(row[2]) == root
        } - members
        if not more:
            break
        members |= more
    dead = {int(row[0]) for row in rows if row[3].startswith("Z")}
    return members & {int(row[0]) for row in rows} - dead


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
