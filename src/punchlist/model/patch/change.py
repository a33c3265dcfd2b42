"""The change under review: base, head, and the changed lines of each file."""

from enum import StrEnum

from msgspec import Struct


class ScopeKind(StrEnum):
    BRANCH = "branch"
    ALL = "all"
    STAGED = "staged"
    COMMIT = "commit"


class LineRange(Struct, frozen=True, omit_defaults=True):
    """A range of changed lines in the head's version; both ends are included."""

    first: int
    last: int


WHOLE = LineRange(1, 2**31 - 1)
"""All of a file whose changed lines git cannot tell."""


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The commits and lines a run is about. `base` is the trusted commit; `head` is what is
    reviewed and fixed on.
    """

    kind: ScopeKind
    base: str
    head: str
    base_name: str = ""
    branch: str = ""
    """The branch that is checked out; '' if there is none."""
    paths: tuple[str, ...] = ()
    files: dict[str, tuple[LineRange, ...]] = {}
    deleted: tuple[str, ...] = ()
    """Files of the base that the change removes."""
    renamed: dict[str, str] = {}
    """By new path: the path on the base."""
    on_disk: bool = False
    """Whether `head` is a snapshot of the working tree: fixes go into its files, not commits."""
    unseen: int = 0
    """How many files of the checkout have edits that are not under review."""
    notes: tuple[str, ...] = ()
    """What a person should know about the scope: uncommitted work left out, submodules not entered.
    """

    @property
    def uncommitted(self) -> bool:
        """Whether what is looked at is in no commit of the user's."""
        return self.on_disk or self.kind is ScopeKind.STAGED

    @property
    def empty(self) -> bool:
        """Whether nothing differs from the base, so that there is nothing to look at."""
        return self.kind is not ScopeKind.ALL and not self.files and not self.deleted

    def covers(self, path: str, first: int | None, last: int | None) -> bool:
        """Whether a finding there is about this change; one without a line is, if its file is."""
        if self.kind is ScopeKind.ALL:
            return not self.paths or any(_is_below(path, prefix) for prefix in self.paths)
        ranges = self.files.get(path)
        if ranges is None:
            return False
        if first is None:
            return True
        end = last if last is not None else first
        return any(lines.first <= end and first <= lines.last for lines in ranges)


def _is_below(path: str, prefix: str) -> bool:
    return prefix in ("", ".") or path == prefix or path.startswith(prefix.rstrip("/") + "/")
