"""The table of sandboxes: for each kind of child what it reads, writes, reaches, and how much."""

from enum import StrEnum

from msgspec import Struct

_MB, _GB = 1 << 20, 1 << 30


class ChildKind(StrEnum):
    ANALYZER = "analyzer"
    CHECK = "check"
    HOOK = "hook"
    AGENT = "agent"
    REPRODUCER = "reproducer"
    SETUP = "setup"


class Quotas(Struct, frozen=True, kw_only=True):
    """Bytes, seconds and counts; the whole family of a child counts, unless it says otherwise."""

    seconds: float
    memory: int
    processes: int
    """Processes and threads."""
    disk: int
    """What it may add to the folders that it can write to."""
    file_size: int
    """One file."""
    tmp: int
    """Each of its own /tmp, /var/tmp and /dev/shm, which are memory."""
    output: int
    """Each of standard output and standard error."""
    heap: int = 0
    """The data of one process; 0: no limit but `memory`."""
    open_files: int = 16384
    files: int = 1_000_000
    """What it may add in number."""


class Profile(Struct, frozen=True, kw_only=True):
    """What children of one kind get. The system's programs and libraries, the tree and the
    installation of the child's own program can be read by all.
    """

    kind: ChildKind
    runs: str
    reads: str
    writes: str
    reaches: str
    unix_sockets: bool
    """Whether it may open unix sockets; those of other programs are out of its sight anyway."""
    quotas: Quotas
    tracing: bool = False
    """Whether its processes may trace each other (debuggers, leak checkers) where they see no
    others: in a process namespace of their own.
    """


_TABLE = (
    Profile(
        kind=ChildKind.ANALYZER,
        runs="linters, type checkers and other analyzers",
        reads="the environments of the checkout (.venv, node_modules)",
        writes="nothing",
        reaches="nothing",
        unix_sockets=False,
        quotas=Quotas(
            seconds=600,
            memory=6 * _GB,
            heap=4 * _GB,
            processes=1024,
            disk=0,
            file_size=_GB,
            tmp=_GB,
            output=128 * _MB,
        ),
    ),
    Profile(
        kind=ChildKind.CHECK,
        runs="tests, builds, linters that must stay green, planted and private tests",
        reads="what PATH leads to, toolchains in the home, ignored files of the checkout",
        writes="its throw-away tree, its folder for reports",
        reaches="nothing but itself (loopback)",
        unix_sockets=True,
        tracing=True,
        quotas=Quotas(
            seconds=1800,
            memory=16 * _GB,
            processes=4096,
            disk=10 * _GB,
            file_size=8 * _GB,
            tmp=4 * _GB,
            output=_MB,
        ),
    ),
    Profile(
        kind=ChildKind.HOOK,
        runs="your git hooks, on a patched tree",
        reads="what PATH leads to, toolchains and hook managers' caches in the home, environments",
        writes="its throw-away tree and index",
        reaches="nothing but itself (loopback)",
        unix_sockets=True,
        quotas=Quotas(
            seconds=600,
            memory=8 * _GB,
            processes=2048,
            disk=4 * _GB,
            file_size=2 * _GB,
            tmp=_GB,
            output=_MB,
        ),
    ),
    Profile(
        kind=ChildKind.AGENT,
        runs="agents, in every role",
        reads="what PATH leads to, git's objects of the repository",
        writes="its own home and TMPDIR; as a fixer its tree",
        reaches="its model and the hosts that you list, through a proxy",
        unix_sockets=False,
        quotas=Quotas(
            seconds=900,
            memory=8 * _GB,
            processes=2048,
            disk=4 * _GB,
            file_size=2 * _GB,
            tmp=_GB,
            output=64 * _MB,
        ),
    ),
    Profile(
        kind=ChildKind.REPRODUCER,
        runs="functions of the code under review, called with recorded and made-up inputs",
        reads="as a check",
        writes="its throw-away tree, its folder for answers",
        reaches="nothing but itself (loopback)",
        unix_sockets=True,
        quotas=Quotas(
            seconds=300,
            memory=4 * _GB,
            processes=1024,
            disk=_GB,
            file_size=_GB,
            tmp=_GB,
            output=_MB,
        ),
    ),
    Profile(
        kind=ChildKind.SETUP,
        runs="pip or uv, to make an environment for checks",
        reads="as a check, and your settings of pip and uv",
        writes="its throw-away tree, the new environment",
        reaches="your package registries and the hosts that you list, through a proxy",
        unix_sockets=True,
        quotas=Quotas(
            seconds=3600,
            memory=8 * _GB,
            processes=2048,
            disk=20 * _GB,
            file_size=8 * _GB,
            tmp=4 * _GB,
            output=64 * _MB,
        ),
    ),
)
PROFILES = {profile.kind: profile for profile in _TABLE}
