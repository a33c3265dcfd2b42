"""What a check's result depends on besides the tree, cheaply: programs, environments and leftovers,
by name, size and time.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from punchlist.adapters.checks.environment import Ground
from punchlist.adapters.checks.untracked_needs import ENVIRONMENTS, unwanted
from punchlist.adapters.process.run import base_environment, which
from punchlist.adapters.process.sandbox import available
from punchlist.model.checks.check import Check

_PROTOCOL = 1
"""Raise it whenever checks are started, read or believed in another way."""
_LIMIT = 2000
_PACKAGES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
)
_LOCKS = (".package-lock.json", ".modules.yaml", ".yarn-integrity")

Mark = tuple[str, int, int]


def stamp(check: Check, ground: Ground) -> str:
    """A short hash. An installed package, another interpreter or a new build product changes it; an
    edit deep in one may not.
    """
    path = base_environment().get("PATH", "")
    marks = (*_programs(check, ground), *_environments(ground), *_leftovers(ground))
    basis = (_PROTOCOL, available(), path, marks)
    return sha256(msgspec.json.encode(basis)).hexdigest()[:16]


def _programs(check: Check, ground: Ground) -> Iterator[Mark]:
    """Whatever the command names that can be run, what it leads to, and the packages installed
    beside it.
    """
    for word in check.command:
        found = which(word) if "\0" not in word else None
        if found is None or not Path(found).is_absolute():
            continue
        for program in dict.fromkeys((Path(found), Path(found).resolve())):
            yield from _mark(program)
            if not program.is_relative_to(ground.checkout):
                yield from _python(program.parent.parent)


def _environments(ground: Ground) -> Iterator[Mark]:
    home = base_environment(home=True).get("HOME", "")
    if home:
        yield from _python(Path(home) / ".local")
    for name in ENVIRONMENTS:
        folder = ground.checkout / name
        yield from _mark(folder)
        yield from _python(folder)
        for lock in _LOCKS:
            yield from _mark(folder / lock)


def _python(prefix: Path) -> Iterator[Mark]:
    """An environment of Python: installing or removing a package touches the folder, an editable
    one is a file in it.
    """
    yield from _mark(prefix / "pyvenv.cfg")
    for pattern in _PACKAGES:
        for packages in sorted(prefix.glob(pattern)):
            yield from _mark(packages)
            for link in sorted(packages.glob("*.pth")):
                yield from _mark(link)


def _leftovers(ground: Ground) -> Iterator[Mark]:
    """What is lent from the checkout; environments have been looked at, and are
    too large to walk.
    """
    lent = [ground.checkout / name for name in ground.leftovers]
    for path in lent:
        yield from _mark(path)
    folders = (path for path in lent if path.is_dir() and path.name not in ENVIRONMENTS)
    yield from islice((mark for folder in folders for mark in _below(folder)), _LIMIT)


def _below(folder: Path) -> Iterator[Mark]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not unwanted(name) and name not in ENVIRONMENTS
        )
        for name in sorted([*folders, *files]):
            if not unwanted(name):
                yield from _mark(Path(root) / name)


def _mark(path: Path) -> Iterator[Mark]:
    try:
        seen = path.stat()
    except OSError:
        return
    yield os.fsencode(path).hex(), seen.st_mtime_ns, seen.st_size
