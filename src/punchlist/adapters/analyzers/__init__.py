"""Analyzers behind one port: which there are, which are installed, and how settings make them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from punchlist.adapters.analyzers.bandit import Bandit
from punchlist.adapters.analyzers.ruff import Ruff
from punchlist.adapters.analyzers.tool import Command, Kit, Tool
from punchlist.adapters.process import run
from punchlist.ports import Analyzer


class AnalyzerSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which analyzers run, and how. "auto" means those that come along and those that are found here."""

    enabled: Literal["auto"] | tuple[str, ...] = "auto"
    select: tuple[str, ...] = ()
    """Ruff's rules instead of the project's own selection."""
    args: dict[str, tuple[str, ...]] = {}
    """More arguments for a tool, by its name."""


ANALYZERS: dict[str, Callable[[AnalyzerSettings], Tool]] = {
    "ruff": lambda settings: Ruff(settings.select, settings.args.get("ruff", ())),
    "bandit": lambda settings: Bandit(settings.args.get("bandit", ())),
}


def analyzers(settings: AnalyzerSettings, kit: Kit | None = None) -> dict[str, Analyzer]:
    """The enabled analyzers by name."""
    kit = kit or Kit()
    names = ANALYZERS if settings.enabled == "auto" else settings.enabled
    return {name: Command(ANALYZERS[name](settings), kit) for name in names}
