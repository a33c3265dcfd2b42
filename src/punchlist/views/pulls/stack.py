"""A stacked pull request: from a branch of punchlist's to the branch of the author's pull request,
with the proven fixes of a run. What the forge has of it, and what it shall be. Pure.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.marks import MarkKind, add_mark, clean_body, read_mark

_PREFIX = "punchlist/pr-"
_BRANCH = re.compile(rf"{_PREFIX}(?P<number>[1-9][0-9]{{0,8}})")
_FIXES = re.compile(r"<!-- punchlist-fixes((?: [0-9a-f]{12})*) -->")
_TIP = re.compile(r"<!-- punchlist-tip ([0-9a-f]{40,64}) -->")
_ENDED = "ended"
UNLISTED = "f" * 12
"""Stands for the fixes of a pull request that has more of them than it can list."""


class StackedPull(Struct, frozen=True, kw_only=True):
    """A pull request from our branch, as the forge has it."""

    number: int
    url: str
    title: str
    body: str
    base_name: str
    open: bool
    merged: bool = False
    own: bool = False
    """The token's user opened it, and it has our mark."""

    @property
    def refused(self) -> bool:
        """Whether a person closed it: when we do, the mark says so."""
        return not self.open and not self.merged and not self._mark.endswith(f"/{_ENDED}")

    @property
    def fixes(self) -> frozenset[str]:
        """The hashed keys of the items whose fixes it holds."""
        found = _FIXES.findall(self.body)  # the last is ours: paths may look like one
        return frozenset(found[-1].split()) if found else frozenset()

    @property
    def tip(self) -> str:
        """The commit that punchlist pushed last to its branch; '' if that is not known."""
        return read_tip(self.body)

    @property
    def _mark(self) -> str:
        mark = read_mark(self.body)
        return mark.key if mark and mark.kind == MarkKind.STACK else ""


class StackBoard(Struct, frozen=True, kw_only=True):
    """What our stacked pull request shall be. Without `open` it is closed, for the reason `why`."""

    branch: str
    base_name: str
    title: str = ""
    body: str = ""
    open: bool = True
    why: str = ""


class StackLink(Struct, frozen=True, kw_only=True):
    """The open stacked pull request, and the items whose fixes it holds."""

    name: str
    """Such as `#12`."""
    url: str
    items: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        return f"[{self.name}]({self.url})"


def name_branch(number: int) -> str:
    """Return the branch with the fixes of a pull request."""
    return f"{_PREFIX}{number}"


def parse_branch(name: str) -> int | None:
    """Return the number of the pull request that a branch of ours has fixes of, or None."""
    found = _BRANCH.fullmatch(name)
    return int(found["number"]) if found else None


def is_marked(body: str, branch: str) -> bool:
    """Return whether a description has our mark of the branch."""
    mark = read_mark(body)
    if mark is None or mark.kind != MarkKind.STACK:
        return False
    return branch == f"{_PREFIX}{mark.key.partition('/')[0]}"


def mark_tip(commit: str) -> str:
    """Return the hidden part of a description that says what punchlist pushed."""
    return f"<!-- punchlist-tip {commit} -->"


def read_tip(body: str) -> str:
    """Return what punchlist pushed, by the description of its pull request, or ''."""
    found = _TIP.findall(body)  # the last is ours: paths may look like one
    return str(found[-1]) if found else ""


def hash_key(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:12]


def find_refused(stacks: Iterable[StackedPull]) -> frozenset[str]:
    """Return the hashed keys of fixes that people do not want in a pull request: of those that had
    the fix, a person closed the newest. UNLISTED is among them if the newest of all is closed and
    has more fixes than it lists: any other fix may be one of those.
    """
    last: dict[str, bool] = {}
    for stack in sorted(stacks, key=lambda each: each.number):
        last |= {UNLISTED: False, **dict.fromkeys(stack.fixes, stack.refused)}
    return frozenset(key for key, refused in last.items() if refused)


def end_stack(pull: PullRequest, why: str) -> StackBoard:
    """Return that the stacked pull request of a pull request is closed."""
    branch = name_branch(pull.number)
    return StackBoard(branch=branch, base_name=pull.head_name, open=False, why=why)


def end_body(stack: StackedPull, why: str) -> str:
    """Return the description of one that we close: with the reason, and marked as closed by us."""
    mark = read_mark(stack.body)
    number = mark.key.partition("/")[0] if mark else ""
    body = clean_body(stack.body)  # a forge may have changed its line ends
    told = body.rpartition("\n\n<!-- punchlist:")[0] if mark else body
    told += f"\n\n**Closed by punchlist**: {why}"
    return add_mark(told, MarkKind.STACK, f"{number}/{_ENDED}")


def end_comment(why: str) -> str:
    """Return the comment below one that we close."""
    return add_mark(f"Closed: {why}", MarkKind.STACK, _ENDED)
