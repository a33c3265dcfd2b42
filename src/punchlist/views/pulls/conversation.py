"""A pull request and all that is said on it, as every forge has it."""

from enum import StrEnum

from msgspec import Struct

from punchlist.views.pulls.markup import GITHUB, Markup


class ResolveRule(StrEnum):
    """Whose threads are resolved once the fix is in the pull request: punchlist's own, those of
    bots as well, or all.
    """

    OWN = "own"
    BOTS = "bots"
    ALL = "all"


class FixOffer(StrEnum):
    """Where proven fixes are offered: in threads alone, or in a stacked pull request as well."""

    SUGGEST = "suggest"
    STACK = "stack"


class PullRequest(Struct, frozen=True, kw_only=True):
    """`base` and `head` are commits. `url` names it in the ledger and in messages."""

    number: int
    repository: str
    """OWNER/NAME."""
    url: str
    base: str
    head: str
    base_name: str
    head_name: str
    """The branch that it asks to merge."""
    ref: str
    """The ref of its head in the repository that it is for."""
    title: str = ""
    body: str = ""
    author: str = ""
    fork: bool = False
    """The branch is in another repository."""
    push_to: str = ""
    """That repository's name, if its author lets those push to the branch who may write here."""
    open: bool = True
    markup: Markup = GITHUB

    @property
    def repository_url(self) -> str:
        """The repository's page."""
        return self.url.removesuffix(self.markup.pull.format(number=self.number))

    def link_commit(self, commit: str) -> str:
        return f"{self.repository_url}{self.markup.commit.format(commit=commit)}"

    def link_lines(self, path: str, first: int, last: int) -> str:
        """Return the permanent address of a file at the head, of these lines unless they are 0."""
        file = self.markup.file.format(commit=self.head, path=path)
        lines = f"#L{first}" if last <= first else self.markup.lines.format(first=first, last=last)
        return f"{self.repository_url}{file}{lines if first else ''}"


class Comment(Struct, frozen=True, kw_only=True):
    """`own`: punchlist wrote it, with this token. `bot`: a program did."""

    id: str
    author: str
    body: str
    url: str = ""
    bot: bool = False
    own: bool = False
    demands: bool = False
    """It is a review that requests changes."""


class Thread(Struct, frozen=True, kw_only=True):
    """Comments at a place; the first one began it. `line` is None if the code there is gone, or if
    it is about the whole file.
    """

    id: str
    path: str
    comments: tuple[Comment, ...]
    line: int | None = None
    first: int | None = None
    """The first line, if it is about several."""
    resolved: bool = False
    resolved_by: str = ""

    @property
    def begun_by_us(self) -> bool:
        return bool(self.comments) and self.comments[0].own


class Report(Struct, frozen=True, kw_only=True):
    """An annotation of a check run, or an alert of code scanning."""

    id: str
    source: str
    """The check or the tool that says it."""
    title: str
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    level: str = ""
    detail: str = ""
    rule: str = ""
    url: str = ""


class Conversation(Struct, frozen=True, kw_only=True):
    """Everything said on a pull request, in the forge's order."""

    viewer: str
    """The token's user."""
    threads: tuple[Thread, ...] = ()
    comments: tuple[Comment, ...] = ()
    """Those below the pull request, in no thread."""
    reviews: tuple[Comment, ...] = ()
    """What reviews say beside their threads."""
    reports: tuple[Report, ...] = ()
    writers: frozenset[str] = frozenset()
    """Of those who gave orders or resolved threads: who may write to the repository."""
    resolvable: bool = True
    """Whether the forge's API can resolve threads."""
    unread: tuple[str, ...] = ()
    """What the token may not read, in words."""
