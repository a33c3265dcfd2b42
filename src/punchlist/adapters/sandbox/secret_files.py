"""Find the files of a tree that usually hold keys and tokens, by their names."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from punchlist.adapters.folders.look import list_folder, path_exists, resolve_path
from punchlist.adapters.folders.walk import walk_folder
from punchlist.model.finding.late_pattern import late_pattern

_NAMES = late_pattern(
    r"\.envs?|\.envrc|\.env[._-].*|.*\.env|\.npmrc|\.yarnrc\.yml|\.pypirc|[._]netrc"
    r"|\.git-credentials|\.dockercfg|\.htpasswd|\.pgpass|\.my\.cnf|\.s3cfg|\.boto|\.vault-token"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)",
    re.IGNORECASE,
)
_TEMPLATES = late_pattern(
    r"\b(?:example|sample|template|dist|defaults?|tpl|tmpl|schema)\b|\.(?:md|[cm]?[jt]s|py)$",
    re.IGNORECASE,
)
"""Names of files that show which variables there are, and of code."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv"})


def is_secret_name(name: str) -> bool:
    return _NAMES.fullmatch(name) is not None and not _TEMPLATES.search(name)


def find_secret_files(root: Path, files: Iterable[str] | None = None) -> tuple[Path, ...]:
    """Return the files of the tree with such names, where their links lead; of all its files, or of
    those that are listed. A folder that is too deep to be looked at is returned as a whole.
    """
    deep: list[str] = []
    top = [path.name for path in list_folder(root)]
    names = _walk_files(root, deep) if files is None else (*top, *files)
    base = resolve_path(root)
    found = [root / name for name in names if is_secret_name(name.rpartition("/")[2])]
    found += map(Path, deep)
    kept = (path for path in found if path_exists(path) and not path_exists(path / "pyvenv.cfg"))
    real = (resolve_path(path) for path in kept)
    return tuple(dict.fromkeys(path for path in real if path.is_relative_to(base)))


def _walk_files(root: Path, deep: list[str]) -> Iterator[str]:
    for folder, folders, names in walk_folder(root, beyond=deep.append):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        below = os.path.relpath(folder, root)
        yield from (os.path.normpath(f"{below}/{name}") for name in (*folders, *names))
