"""Hash the programs, environments and untracked files that a check's result depends on, by name,
size and time.
"""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from punchlist.adapters.checks.environment import CheckoutContext
from punchlist.adapters.checks.untracked_needs import ENVIRONMENTS, is_unwanted
from punchlist.adapters.folders.look import is_folder, list_folder, resolve_path
from punchlist.adapters.folders.walk import skip_folder, walk_folder
from punchlist.adapters.process.programs import which_any
from punchlist.adapters.process.run import base_environment
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.model.checks.check import Check

_PROTOCOL = 3
"""Raise it whenever checks are started or their results read in another way."""
_LIMIT = 2000
_PACKAGES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
)
_LOCKS = (".package-lock.json", ".modules.yaml", ".yarn-integrity")

Mark = tuple[str, int, int]


def compute_stamp(check: Check, ground: CheckoutContext) -> str:
    """Return a short hash; new packages, interpreters or build products change it, edits deep
    inside them may not.
    """
    path = base_environment().get("PATH", "")
    marks = [*_stamp_programs(check), *_stamp_environments(ground)]
    basis = (_PROTOCOL, sandbox_kind(), path, [*marks, *_stamp_leftovers(ground)])
    return sha256(msgspec.json.encode(basis)).hexdigest()[:16]


def _stamp_programs(check: Check) -> Iterator[Mark]:
    """Stamp the programs that the command names, their link targets and installed packages."""
    for word in check.command:
        found = which_any(word) if "\0" not in word else None
        if found is None or not Path(found).is_absolute():
            continue
        for program in dict.fromkeys((Path(found), resolve_path(Path(found)))):
            yield from _stamp_path(program)
            yield from _stamp_python(program.parent.parent)


def _stamp_environments(ground: CheckoutContext) -> Iterator[Mark]:
    home = base_environment(home=True).get("HOME", "")
    if home:
        yield from _stamp_python(Path(home) / ".local")
    for name in ENVIRONMENTS:
        folder = ground.checkout / name
        yield from _stamp_path(folder)
        yield from _stamp_python(folder)
        for lock in _LOCKS:
            yield from _stamp_path(folder / lock)


def _stamp_python(prefix: Path) -> Iterator[Mark]:
    """Stamp a Python environment: installing or removing a package touches its folder."""
    yield from _stamp_path(prefix / "pyvenv.cfg")
    for pattern in _PACKAGES:
        for packages in list_folder(prefix, pattern):
            yield from _stamp_path(packages)
            for link in list_folder(packages, "*.pth"):
                yield from _stamp_path(link)


def _stamp_leftovers(ground: CheckoutContext) -> Iterator[Mark]:
    """Stamp the untracked files lent from the checkout, without environments (too large)."""
    lent = [ground.checkout / name for name in ground.leftovers]
    for path in lent:
        yield from _stamp_path(path)
    folders = (path for path in lent if is_folder(path) and path.name not in ENVIRONMENTS)
    yield from islice((mark for folder in folders for mark in _stamp_folder(folder)), _LIMIT)


def _stamp_folder(folder: Path) -> Iterator[Mark]:
    for root, folders, files in walk_folder(folder, beyond=skip_folder):
        wanted = [name for name in folders if not is_unwanted(name) and name not in ENVIRONMENTS]
        folders[:] = sorted(wanted)
        for name in sorted([*folders, *files]):
            if not is_unwanted(name):
                yield from _stamp_path(Path(root) / name)


def _stamp_path(path: Path) -> Iterator[Mark]:
    try:
        seen = path.stat()
    except OSError:
        return
    size = 0 if stat.S_ISDIR(seen.st_mode) else seen.st_size  # of a folder it says nothing
    yield os.fsencode(path).hex(), seen.st_mtime_ns, size
