"""Write a sandbox as rules of Landlock: which paths a child may use, and how."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from punchlist.adapters.folders.look import is_folder, path_exists, resolve_path
from punchlist.adapters.sandbox.bubblewrap import ETC
from punchlist.adapters.sandbox.git_view import is_clean_config
from punchlist.adapters.sandbox.home_view import find_certificates
from punchlist.adapters.sandbox.installations import SYSTEM
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox

Rule = tuple[Path, int]

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEVICE: 5}
"""The first version of the interface that knows a right; version 1 knows all others."""
_ALL = (1 << 16) - 1
READ = _EXECUTE | _READ_FILE | _READ_DIR
WRITE = _ALL & ~_MAKE_DEVICES & ~_IOCTL_DEVICE
_NETWORK, NETWORK_SINCE = 3, 4
"""Bind and connect of TCP."""
_SCOPES, SCOPES_SINCE = 3, 6
"""Abstract unix sockets and signals of processes outside."""
_DEVICES = "null zero full random urandom"
_ETC_FILES = "passwd group hosts host.conf resolv.conf nsswitch.conf"
SHARED_MEMORY = Path("/dev", "shm")
WITH_SHARED_MEMORY = frozenset(
    {ChildKind.CHECK, ChildKind.HOOK, ChildKind.REPRODUCER, ChildKind.SETUP}
)
"""Children whose programs use locks between processes, which are files there."""


def list_handled(abi: int, *, network: bool) -> list[int]:
    """Return what the rules are about: rights of files, of TCP and scopes, as far as this version
    of the interface knows them. `network`: whether it can be reached.
    """
    handled = [_known_rights(_ALL, abi)]
    if abi >= NETWORK_SINCE:
        handled.append(0 if network else _NETWORK)
    if abi >= SCOPES_SINCE:
        handled.append(_SCOPES)
    return handled


def list_rules(
    sandbox: Sandbox, env: Mapping[str, str], scratch: Path, abi: int, *, own_memory: bool = False
) -> Iterator[tuple[str, int]]:
    """Yield the real paths that may be used, with the rights to them. `own_memory`: whether its
    shared memory is its own.

    A rule holds for all that lies in a folder. So files that are hidden are left out where the
    folder is only read; in one that is written to they cannot be hidden.
    """
    if own_memory or sandbox.kind in WITH_SHARED_MEMORY:
        yield str(SHARED_MEMORY), _known_rights(WRITE, abi)
    for path, rights in (*_list_system(), *_list_named(sandbox, env, scratch)):
        yield str(path), _known_rights(rights, abi)


def list_writable(sandbox: Sandbox, scratch: Path) -> list[Path]:
    """Return the real paths that it may write to, outer ones first."""
    sources = (source for source, _, writable in sandbox.binds if writable)
    found = {resolve_path(path) for path in (*sandbox.writable, *sources, scratch)}
    return sorted(found, key=lambda path: len(path.parts))


def _list_system() -> Iterator[Rule]:
    folders = (*SYSTEM, Path("/proc"), *(Path("/etc", name) for name in ETC.split()))
    files = (Path("/etc", name) for name in _ETC_FILES.split())
    for path in (*folders, *files, *Path("/etc").glob("java*")):
        yield resolve_path(path), READ
    for name in _DEVICES.split():
        yield Path("/dev", name), _READ_FILE | _WRITE_FILE | _TRUNCATE


def _list_named(sandbox: Sandbox, env: Mapping[str, str], scratch: Path) -> Iterator[Rule]:
    hidden = frozenset(
        form for path in sandbox.hidden for form in (path, Path(os.path.realpath(path)))
    )
    for folder in list_writable(sandbox, scratch):
        yield folder, WRITE
    for source, _, writable in sandbox.binds:
        if not writable:
            yield from _show_around(resolve_path(source), hidden)
    for path in find_certificates(env):
        yield resolve_path(path), READ
    for path, _ in sandbox.files:
        if path_exists(path) and is_clean_config(path):
            yield resolve_path(path), READ


def _show_around(path: Path, hidden: Iterable[Path]) -> Iterator[Rule]:
    """Yield rules by which a path can be read, but nothing in it that is hidden, and no `.git`."""
    inner = frozenset(each for each in hidden if each.is_relative_to(path))
    git = path / ".git"
    inner |= {git} if is_folder(git) else frozenset()
    if path in inner or not os.access(path, os.R_OK):
        return
    if not inner:
        yield path, READ
        return
    yield path, _READ_DIR
    with os.scandir(path) as entries:
        names = [each.path for each in entries if not each.is_symlink()]
    for name in names:  # a link is no rule: where it leads to has its own
        yield from _show_around(Path(name), inner)


def _known_rights(rights: int, abi: int) -> int:
    for right, since in _SINCE.items():
        rights &= ~right if abi < since else _ALL
    return rights
