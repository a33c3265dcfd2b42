"""Find untracked files that checks need: environments, installed modules, build products."""

import os
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path, PurePath

from punchlist.adapters.folders.look import is_file, is_folder, is_link
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.sandbox.home_view import is_private
from punchlist.adapters.sandbox.secret_files import is_secret_name
from punchlist.errors import RepositoryError

ENVIRONMENTS = (".venv", "venv", "node_modules")
_LIMIT = 500
_UNWANTED = (
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache", ".git",
    ".idea", ".vscode", ".DS_Store",
    ".coverage*", "htmlcov", "coverage.xml", "*.pyc", "*.pyo", "*.log", "*.swp", "*.tmp", "*~",
    ".punchlist*", "credentials*", "secrets*",
)  # fmt: skip
"""Caches could answer for code that is gone; keys and tokens are kept from checks."""


_KEY_ENDINGS = frozenset({".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"})
_DATA_ENDINGS = frozenset(
    {"", ".json", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".txt", ".xml", ".properties"}
)
"""A module may be called `secrets`; a file of data with that name has some in it."""


async def find_untracked(checkout: Path) -> tuple[str, ...]:
    """Return ignored paths of the checkout that a check may need, folders first."""
    flags = ("--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
    names: list[str] = []
    with suppress(RepositoryError):
        git = (await Checkout.find(checkout, unborn=True)).user_git
        names = await git.list_fields("ls-files", "--others", *flags)
    ignored = {name.rstrip("/") for name in names if name}
    ignored |= {name for name in ENVIRONMENTS if is_folder(checkout / name)}
    usual = [name for name in ignored if is_folder(checkout / name) or is_file(checkout / name)]
    wanted = [
        name
        for name in usual
        if not any(is_unwanted(part) for part in name.split("/"))
        and not is_private(checkout / name, Path.home())
    ]
    return tuple(sorted(wanted, key=lambda name: (not is_folder(checkout / name), name))[:_LIMIT])


def is_unwanted(part: str) -> bool:
    return is_key(part) or any(fnmatch(part, pattern) for pattern in _UNWANTED)


def is_key(name: str) -> bool:
    """Return whether a file of this name usually holds keys or tokens."""
    low = PurePath(name.lower())
    stem, ending = low.stem, low.suffix
    data = stem.startswith(("credential", "secret")) and ending in _DATA_ENDINGS
    return is_secret_name(name) or ending in _KEY_ENDINGS or data


def find_private(checkout: Path, lent: Iterable[str]) -> tuple[Path, ...]:
    """Return what no child may see in lent folders: files that usually hold keys, and sockets, by
    which it could talk to programs outside.
    """
    found: list[Path] = []
    waiting = [checkout / name for name in lent if name not in ENVIRONMENTS]
    while waiting:
        folder = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if is_link(entry.path):
                    continue
                if is_folder(entry.path):
                    waiting += [Path(entry.path)] if entry.name not in ENVIRONMENTS else []
                elif not is_file(entry.path) or is_key(entry.name):
                    found.append(Path(entry.path))
    return tuple(found)
