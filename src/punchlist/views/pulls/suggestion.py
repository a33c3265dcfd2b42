"""A proven fix as lines that replace lines of the pull request's head."""

import re
from collections.abc import Sequence

from msgspec import Struct

from punchlist.model.patch.moved_lines import follow_line
from punchlist.model.patch.parse_diff import DiffHunk
from punchlist.views.pulls.markup import GITHUB, Markup

LONGEST = 20
"""Lines of one suggestion; more is read as a commit."""


class Suggestion(Struct, frozen=True):
    """Replace the lines from `first` to `last` of the head with `text`, which has no last end."""

    path: str
    first: int
    last: int
    text: str


class FixedFile(Struct, frozen=True):
    """One file: at the pull request's head, before the fix, and after it. `moves` are the hunks,
    without context, from before the fix to the head.
    """

    path: str
    head: str
    before: str
    after: str
    moves: tuple[DiffHunk, ...] = ()


def make_suggestion(file: FixedFile) -> Suggestion | None:
    """Return the fix as a suggestion, or None if it is too long, or if the head has other lines
    there: earlier fixes of the run may have changed them.
    """
    before, after = _split_lines(file.before), _split_lines(file.after)
    head = _split_lines(file.head)
    same = _count_same(before, after)
    rest = min(len(before), len(after)) - same
    tail = min(_count_same(before[::-1], after[::-1]), rest)
    start, stop, end = same, len(before) - tail, len(after) - tail
    if (start == stop == end) or file.before.endswith("\n") != file.after.endswith("\n"):
        return None
    if start == stop:  # lines were only added: a suggestion replaces at least one
        start, stop, end = (start - 1, stop, end) if start else (start, stop + 1, end + 1)
    if not 0 <= start < stop <= len(before) or max(stop - start, end - start) > LONGEST:
        return None
    first = follow_line(start + 1, file.moves)
    last = first + stop - start - 1
    if head[first - 1 : last] != before[start:stop]:
        return None
    text = after[start:end]
    if not all(line.replace("\t", "").isprintable() for line in text):
        return None
    return Suggestion(file.path, first, last, "\n".join(text))


def render_suggestion(suggestion: Suggestion, markup: Markup = GITHUB) -> str:
    """Return the block that a forge offers to commit; its thread is at the last line."""
    longest = max(map(len, re.findall("`+", suggestion.text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = f"{suggestion.text}\n" if suggestion.text else ""
    name = markup.suggestion.format(above=suggestion.last - suggestion.first)
    return f"{fence}{name}\n{body}{fence}"


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _count_same(one: Sequence[str], two: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = zip(one, two, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
