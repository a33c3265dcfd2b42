"""Find out which parts of a sandbox can be had on this machine."""

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import combinations
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.process.programs import which
from punchlist.adapters.sandbox.bubblewrap import Descriptors, build_arguments
from punchlist.adapters.sandbox.landlock.kernel import LandlockSupport, find_version
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.seccomp import build_filter

_OPTIONS = {"lock": "--disable-userns", "size": "--size"}
"""What older versions of bubblewrap do not know."""
_TRIED = ("lock", "proc", "user", "seccomp", "network")
"""What a machine or a container may refuse, the least loss first."""
_WORDS = {
    "bubblewrap": "no bubblewrap, no Landlock: files, network and processes are as open as to you",
    "network": "no network namespace: the network can be reached",
    "user": "no user namespace: root inside is root outside, without its capabilities",
    "seccomp": "no filter of system calls",
    "size": "no limit on /tmp",
    "proc": "no /proc inside: programs that look there may fail",
}
_COUNTED = (5, 14)
"""Since this version of Linux, each user namespace counts its own processes."""


class Support(Struct, frozen=True):
    """A bubblewrap that works, '' if there is none, and what it cannot give; or what there is of
    Landlock instead.
    """

    program: str = ""
    lacks: frozenset[str] = frozenset({"bubblewrap"})
    landlock: LandlockSupport = LandlockSupport()

    def list_weaknesses(self, kind: ChildKind) -> tuple[str, ...]:
        """Return what the sandbox of a child of this kind lacks."""
        if self.landlock.abi:
            from punchlist.adapters.sandbox.landlock.plan import list_weaknesses

            return list_weaknesses(self.landlock, kind)
        return tuple(words for name, words in _WORDS.items() if name in self.lacks)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What the sandboxes lack, of all kinds of children."""
        found = (each for kind in ChildKind for each in self.list_weaknesses(kind))
        return tuple(dict.fromkeys(found))

    @property
    def complete(self) -> bool:
        return not self.lacks - {"lock", "size", "proc"}


def sandbox_kind() -> str:
    support = probe_support()
    return "bubblewrap" if support.program else "landlock" if support.landlock.abi else "none"


def can_hold_network() -> bool:
    """Return whether a child can be kept from the network."""
    support = probe_support()
    own = bool(support.program) and "network" not in support.lacks
    return own or support.landlock.namespaces


def probe_support() -> Support:
    """Return what was found out when first asked."""
    program = find_bubblewrap()
    support = _probe(program) if program else Support()
    return support if support.program else Support(landlock=_probe_landlock(find_version()))


@cache
def _probe_landlock(abi: int) -> LandlockSupport:
    """Try the launcher with `true`: with a network and mounts of its own, then with less."""
    filtered = bool(build_filter(unix_sockets=False))
    for namespaces, mounts in ((True, True), (True, False), (False, False)) if abi else ():
        found = LandlockSupport(abi, namespaces=namespaces, mounts=mounts, filtered=filtered)
        if _restricts(found):
            return found
    return LandlockSupport()


def _restricts(found: LandlockSupport) -> bool:
    from punchlist.adapters.sandbox.landlock import plan

    with ExitStack() as stack:
        held = Descriptors(stack)
        scratch = plan.make_scratch()
        stack.callback(remove_folder, scratch)
        given = plan.encode_plan(Sandbox(kind=ChildKind.ANALYZER), {}, scratch, found)
        line = [*plan.launcher_line(), held.add(given), "true"]
        return _spawn(line, held.numbers) == 0


@cache
def _probe(program: str) -> Support:
    """Try the real command line with `true`, with less and less until it works."""
    filtered = bool(build_filter(unix_sockets=False))
    if filtered and _works(program, frozenset()):  # so it knows all options, too
        return Support(program, frozenset())
    known = _print_help(program)
    old = {name for name, option in _OPTIONS.items() if option not in known}
    if not filtered:
        old.add("seccomp")
    for count in range(len(_TRIED) + 1):
        for less in combinations(_TRIED, count):
            lacks = frozenset({*old, *less})
            if _works(program, lacks):
                return Support(program, lacks)
    return Support()


@cache
def find_bubblewrap() -> str:
    return which("bwrap") or ""


def counts_processes() -> bool:
    """Return whether a limit on processes counts only those of the sandbox, and holds for us."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    support = probe_support()
    own = bool(support.program) and "user" not in support.lacks
    return own and os.getuid() != 0 and release >= _COUNTED


def _works(program: str, lacks: frozenset[str]) -> bool:
    with ExitStack() as stack:
        held = Descriptors(stack)
        sandbox = Sandbox(kind=ChildKind.ANALYZER)
        line = [program, *build_arguments(sandbox, Path("/"), {}, held, lacks), "--", "true"]
        return _spawn(line, held.numbers) == 0


def _print_help(program: str) -> str:
    reading, writing = os.pipe()
    with os.fdopen(reading, errors="replace") as printed:
        _spawn([program, "--help"], (), output=writing)
        os.close(writing)
        return printed.read()


def _spawn(command: list[str], kept: Sequence[int], output: int | None = None) -> int:
    """Run a probe to its end; not by `run`, which needs to know the result."""
    actions: list[tuple[object, ...]] = [
        (os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)
    ]
    actions += [(os.POSIX_SPAWN_DUP2, number, number) for number in kept]  # inherits it
    actions += [(os.POSIX_SPAWN_DUP2, output, 1)] if output is not None else []
    env = {"PATH": os.defpath}
    try:
        pid = os.posix_spawn(command[0], command, env, file_actions=actions, setpgroup=0)
    except OSError:
        return -1
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(ChildProcessError):
        while True:  # reap what the probe left behind
            os.waitpid(-pid, 0)
    return code
