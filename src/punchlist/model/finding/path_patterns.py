"""Patterns of paths with the meaning that .gitignore gives them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from punchlist.model.finding.late_pattern import late_pattern

_PARTS = late_pattern(r"\\.|\*\*/|/\*\*\Z|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


class _Pattern(NamedTuple):
    matches: re.Pattern[str]
    taken_back: bool
    folder_only: bool


def is_excluded(path: str, patterns: Sequence[str], *, is_folder: bool = False) -> bool:
    """Return whether the last pattern that matches the path, or a folder above it, excludes it. As
    in .gitignore, `!` takes back, and not below a folder that is excluded itself.
    """
    if not patterns:
        return False
    compiled = _compile(tuple(patterns))
    parts = path.split("/")
    folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
    above = any(_decide(folder, compiled, is_folder=True) for folder in folders)
    return above or _decide(path, compiled, is_folder=is_folder)


def matches(path: str, pattern: str, *, is_folder: bool) -> bool:
    """Return whether the pattern excludes the path itself, whatever it says of its folders."""
    return _decide(path, _compile((pattern,)), is_folder=is_folder)


def place_pattern(pattern: str, folder: str) -> str:
    """Return a pattern of a folder's own file as one of the root's."""
    if not folder:
        return pattern
    mark, bare = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    held = "/" in bare.rstrip("/")
    escaped = re.sub(r"([*?\[\]\\])", r"\\\1", folder)
    return f"{mark}/{escaped}/{'' if held else '**/'}{bare.lstrip('/')}"


def _decide(path: str, patterns: Sequence[_Pattern], *, is_folder: bool) -> bool:
    for pattern in reversed(patterns):
        if (is_folder or not pattern.folder_only) and pattern.matches.fullmatch(path):
            return not pattern.taken_back
    return False


@lru_cache(maxsize=256)
def _compile(patterns: tuple[str, ...]) -> tuple[_Pattern, ...]:
    return tuple(_compile_pattern(each) for each in patterns if each.strip("/! "))


def _compile_pattern(pattern: str) -> _Pattern:
    taken_back = pattern.startswith("!")
    bare = pattern.removeprefix("!").removeprefix("./")
    folder_only = bare.endswith("/")
    bare = bare.rstrip("/")
    start = "" if "/" in bare else "(?:.*/)?"
    body = "".join(map(_translate, _PARTS.findall(bare.removeprefix("/"))))
    try:
        compiled = re.compile(start + body, re.DOTALL)
    except re.error:  # such as [z-a]: it stands for itself
        compiled = re.compile(start + re.escape(bare), re.DOTALL)
    return _Pattern(compiled, taken_back, folder_only)


def _translate(part: str) -> str:
    known = {"**/": "(?:.*/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in known:
        return known[part]
    if part.startswith("[") and len(part) > 1:
        inner = re.sub(r"([\[\]&~|\\])", r"\\\1", part[1:-1])
        return f"[^{inner[1:]}]" if inner[:1] in "!^" else f"[{inner}]"
    return re.escape(part.removeprefix("\\") if len(part) > 1 else part)
