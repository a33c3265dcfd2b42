"""The port to tools that report findings."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.ports.tree import Tree


class Analysis(Struct, frozen=True, kw_only=True):
    """Result of one analyzer on a tree."""

    findings: tuple[Finding, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()
    looked_at: int = 0
    failed: str = ""
    skipped: str = ""
    unread: tuple[str, ...] = ()
    """Files it could not look at, "" if they are unknown: about these its silence says nothing."""
    beyond: tuple[Finding, ...] = ()
    """Findings in files that it was not asked about, of a tool that always reads the project."""
    looked: frozenset[str] | None = None
    """Files that its own report says it looked at; None if the report does not say: then all that
    is known is which files it was given.
    """
    missed: dict[str, str] = {}
    """By file that it was given and did not look at: why. They are `unread`, too."""
    left_out: tuple[str, ...] = ()
    """Files that the project's own settings keep it from."""
    left_out_by: str = ""
    """Where these settings are."""


class Analyzer(Protocol):
    """A tool that reads code and reports findings; it never writes into the tree."""

    @property
    def name(self) -> str: ...

    @property
    def confined(self) -> bool:
        """Whether it cannot write into the tree: then others may look at the same one."""
        ...

    async def analyze(self, tree: Tree, paths: Sequence[str] | None) -> Analysis:
        """Return the findings in the given files, or in the whole tree for None; never raises."""
        ...
