"""A finding as one reviewer reported it, in one normal form."""

from enum import StrEnum

from msgspec import Struct

from punchlist.model.finding.severity import Severity

# There may be a hundred thousand of these at once, and frozen values make no cycles: with gc=False
# no collection visits them.


class Spot(Struct, frozen=True, omit_defaults=True, gc=False):
    """A path below the root, with slashes; lines and columns count from 1, in code points; the end
    column is exclusive.
    """

    path: str
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None

    @property
    def last_line(self) -> int | None:
        return self.end_line if self.end_line is not None else self.line

    @property
    def line_range(self) -> tuple[int, int]:
        """The first and the last line, 0 if it has none; some tools swap them."""
        first, last = self.line or 0, self.last_line or 0
        return min(first, last), max(first, last)


class Safety(StrEnum):
    """How sure the tool is of its own fix."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Splice(Struct, frozen=True, omit_defaults=True, gc=False):
    """Replace the characters [start, end) of a file, as the reviewed commit has it, with text."""

    path: str
    start: int
    end: int
    text: str


class Fix(Struct, frozen=True, omit_defaults=True, gc=False):
    """A change that the tool proposes; all splices belong together."""

    splices: tuple[Splice, ...]
    safety: Safety = Safety.SAFE
    title: str = ""


class Context(Struct, frozen=True, omit_defaults=True, gc=False):
    """Code around a finding, without whitespace, to match it between trees."""

    symbol: str = ""
    span: str = ""
    before: str = ""
    after: str = ""
    names: tuple[str, ...] = ()


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A report of one reviewer. `id` is ours and unique in a run; `label` is the reviewer's own
    name for it.
    """

    id: str
    source: str
    title: str
    spot: Spot
    severity: Severity
    rule: str = ""
    label: str = ""
    detail: str = ""
    impact: str = ""
    """Why it matters, if the reviewer says that apart."""
    category: str = ""
    suggestion: str = ""
    url: str = ""
    severity_word: str = ""
    fix: Fix | None = None
    context: Context = Context()
    code: str = ""
    """The lines it is about as people read them, from one above to one below; long ones are cut."""
    issue_code: str = ""
    """The short code that the client who handed it over uses for it."""
    marks: tuple[str, ...] = ()
    """What is odd about it, in words: an unknown severity, a path outside the repository. Marks
    never drop a finding.
    """


class RefusedEntry(Struct, frozen=True, omit_defaults=True, gc=False):
    """An entry of a report that could not be parsed, with the reason."""

    source: str
    raw: str
    reason: str
