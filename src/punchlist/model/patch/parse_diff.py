"""Parser of unified diffs, as git and difflib write them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from punchlist.model.finding.late_pattern import late_pattern

_GIT = late_pattern(r"^(?=diff --git )", re.MULTILINE)
_PLAIN = late_pattern(r"^(?=--- .*\n\+\+\+ .*\n@@ -)", re.MULTILINE)
_HUNK = late_pattern(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,(\d+))? @@(.*)")
_ESCAPE = late_pattern(r'\\([abtnvfr"\\]|[0-7]{3})')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class DiffHunk(Struct, frozen=True):
    """`old` and `new` number its first line, `count` is its length in the new file, `about` the
    text that git puts behind `@@`. `lines[0]` is its head.
    """

    old: int
    new: int
    count: int
    about: str
    lines: Sequence[str]


class DiffFile(Struct, frozen=True):
    """One file of a diff: its new path, or the old one of a deleted file; `body` are the hunks."""

    path: str
    header: Sequence[str]
    body: Sequence[str]

    def value(self, mark: str) -> str:
        """Return the rest of the first header line that starts with `mark`, unquoted."""
        found = next((line for line in self.header if line.startswith(mark)), mark)
        return _unquote(found.removeprefix(mark).rstrip("\t"))


def parse_diff(diff: str) -> tuple[DiffFile, ...]:
    """Return the files of a diff, in their order; their hunks are not parsed yet."""
    split = _GIT if _GIT.search(diff) else _PLAIN
    return tuple(_parse_file(text) for text in split.split(diff) if text.strip())


def parse_hunks(body: Sequence[str]) -> Iterator[DiffHunk]:
    """Yield the hunks of a file's body; a head that cannot be read has the numbers 0."""
    heads = [at for at, line in enumerate(body) if line.startswith("@@ -")]
    for at, end in pairwise([*heads, len(body)]):
        found = _HUNK.match(body[at])
        old, new, count, about = found.groups() if found else ("0", "0", "0", "")
        yield DiffHunk(int(old), int(new), int(count or 1), about.strip(), body[at:end])


def _parse_file(text: str) -> DiffFile:
    lines = text.removesuffix("\n").split("\n")
    at = next((at for at, line in enumerate(lines) if line.startswith("@@ -")), len(lines))
    bare = DiffFile("", lines[:at], lines[at:])
    for mark, prefix in (("+++ ", "b/"), ("--- ", "a/"), ("rename to ", "")):
        name = bare.value(mark)
        if name not in ("", "/dev/null"):
            return DiffFile(name.removeprefix(prefix), bare.header, bare.body)
    first = lines[0].removeprefix("diff --git ")
    # Both halves are alike but for their first letter: no name is longer than half of the line.
    path = _unquote(first[len(first) // 2 + 1 :]).removeprefix("b/")
    return DiffFile(path, bare.header, bare.body)


def _unquote(name: str) -> str:
    """Return a name that git may have quoted."""
    if not (name.startswith('"') and name.endswith('"')):
        return name
    raw = _ESCAPE.sub(lambda found: chr(_LETTERS.get(found[1]) or int(found[1], 8)), name[1:-1])
    if any(ord(char) > 255 for char in raw):  # more than one byte: git left it as it is
        return raw
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")
