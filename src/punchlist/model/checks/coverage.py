"""Which check judges which files: only kinds of source in which it was seen to notice a planted
failure.
"""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Protocol

from punchlist.model.checks.protected import Protected

FAMILIES: tuple[tuple[str, ...], ...] = (
    (".py",),
    (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue"),
    (".go",),
    (".rs",),
    (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp"),
    (".java", ".kt"),
    (".rb",),
)
"""Kinds of source that a failure can be planted in, by language: what one toolchain reads together
is one family.
"""
_JUDGES = frozenset({"setup.py", "conftest.py", "noxfile.py", "gulpfile.js", "Gruntfile.js"})


class Measured(Protocol):
    """What the baseline showed of one check: which kinds of files it judges, or why it is not
    usable.
    """

    @property
    def judges(self) -> tuple[str, ...]: ...

    @property
    def unusable(self) -> str: ...


def kind_of(path: str) -> str:
    """A file's kind is its suffix; one without is a kind by its name."""
    named = PurePosixPath(path)
    return named.suffix or named.name


def plantable(paths: Iterable[str], protected: Protected) -> tuple[str, ...]:
    """Sources that are neither tests nor configuration."""
    known = frozenset(suffix for family in FAMILIES for suffix in family)
    return tuple(
        path
        for path in paths
        if kind_of(path) in known
        and PurePosixPath(path).name not in _JUDGES
        and not protected.holds(path)
    )


def families(paths: Iterable[str], protected: Protected) -> tuple[tuple[str, ...], ...]:
    """The kinds of source a tree has, by language; a kind it has not cannot be
    shown to be judged.
    """
    present = {kind_of(path) for path in plantable(paths, protected)}
    return tuple(
        kinds for family in FAMILIES if (kinds := tuple(kind for kind in family if kind in present))
    )


def judged_by(paths: Iterable[str], baselines: Mapping[str, Measured]) -> tuple[str, ...]:
    """The usable checks that judge these files, or none if there is a file that none of them
    judges.
    """
    kinds = {kind_of(path) for path in paths}
    judges = {
        name: kinds.intersection(seen.judges)
        for name, seen in baselines.items()
        if not seen.unusable
    }
    covered = bool(kinds) and kinds == set().union(*judges.values())
    return tuple(name for name, known in judges.items() if known) if covered else ()


def unjudged(paths: Iterable[str], baselines: Mapping[str, Measured]) -> str:
    """Why no check vouches for these files, or an empty string if one does."""
    named = tuple(paths)
    if judged_by(named, baselines):
        return ""
    usable = [seen for seen in baselines.values() if not seen.unusable]
    if not usable:
        return (
            "; ".join(f"{name}: {seen.unusable}" for name, seen in baselines.items())
            or "no check was run"
        )
    known = {kind for seen in usable for kind in seen.judges}
    blind = sorted({kind_of(path) for path in named} - known)
    return (
        f"no check was seen to notice a failure in {', '.join(blind)} files"
        if blind
        else "no file is named"
    )
