"""The files that pre-commit would give a hook."""

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

_LONGEST = 2000
_MOST_REPEATS = 6
_REPEAT = re.compile(r"(?<!\\)[*+{?]")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+{?]")
TYPES = {
    "python": (".py",),
    "pyi": (".pyi",),
    "cython": (".pyx", ".pxd"),
    "jupyter": (".ipynb",),
    "shell": (".sh", ".bash"),
    "yaml": (".yaml", ".yml"),
    "toml": (".toml",),
    "json": (".json",),
    "markdown": (".md",),
    "rst": (".rst",),
}
"""Suffixes of the types of pre-commit that are known here."""
ANY = frozenset({"file", "text"})


class HookFiles(Struct, frozen=True, omit_defaults=True):
    """A file is given if all of `files` and none of `excluded` are found in its path, and it has
    one of the suffixes, if there are any.
    """

    files: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()

    @property
    def unusable(self) -> bool:
        """Whether a pattern cannot be used, or could take for ever on a hostile path."""
        return not all(map(_is_quick, (*self.files, *self.excluded)))

    def select(self, paths: Iterable[str]) -> list[str]:
        """Return the paths that are given, in their order."""
        return [path for path in paths if self._is_given(path)]

    def _is_given(self, path: str) -> bool:
        return (
            path.endswith(self.suffixes or ("",))
            and all(re.search(pattern, path) for pattern in self.files)
            and not any(re.search(pattern, path) for pattern in self.excluded)
        )


@cache
def _is_quick(pattern: str) -> bool:
    """Return whether a pattern can be used: no repeated group, and few repeats."""
    repeats = len(_REPEAT.findall(pattern.replace("(?", "(")))
    if len(pattern) > _LONGEST or repeats > _MOST_REPEATS or _REPEATED_GROUP.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
