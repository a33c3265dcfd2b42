"""Which checks judge which files: only kinds in which a planted failure was noticed."""

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
"""Kinds of source that a failure can be planted in; one toolchain reads one family."""
_JUDGES = frozenset({"setup.py", "conftest.py", "noxfile.py", "gulpfile.js", "Gruntfile.js"})


class BaselineResult(Protocol):
    """A check's baseline: kinds of files it judges, or why it is unusable."""

    @property
    def judges(self) -> tuple[str, ...]: ...

    @property
    def unusable(self) -> str: ...

    @property
    def unloaded(self) -> tuple[str, ...]: ...

    @property
    def lines_unknown(self) -> str: ...


def file_kind(path: str) -> str:
    """Return the file's suffix, or its name if it has none."""
    named = PurePosixPath(path)
    return named.suffix or named.name


def find_plantable(paths: Iterable[str], protected: Protected) -> tuple[str, ...]:
    """Return sources that are neither tests nor configuration."""
    known = frozenset(suffix for family in FAMILIES for suffix in family)
    sources = (path for path in paths if file_kind(path) in known)
    return tuple(
        path
        for path in sources
        if PurePosixPath(path).name not in _JUDGES and not protected.holds(path)
    )


def find_families(paths: Iterable[str], protected: Protected) -> tuple[tuple[str, ...], ...]:
    """Return the kinds of source in a tree, by language."""
    present = {file_kind(path) for path in find_plantable(paths, protected)}
    return tuple(
        kinds for family in FAMILIES if (kinds := tuple(kind for kind in family if kind in present))
    )


def find_judges(paths: Iterable[str], baselines: Mapping[str, BaselineResult]) -> tuple[str, ...]:
    """Return the checks that can judge these files; () if one file is judged by none."""
    kinds = {file_kind(path) for path in paths}
    usable = {name: seen for name, seen in baselines.items() if not _explain_unfit(seen)}
    judges = {name: kinds.intersection(seen.judges) for name, seen in usable.items()}
    covered = bool(kinds) and kinds == set().union(*judges.values())
    return tuple(name for name, known in judges.items() if known) if covered else ()


def explain_unjudged(paths: Iterable[str], baselines: Mapping[str, BaselineResult]) -> str:
    """Return why no check judges these files, or "" if one does."""
    named = tuple(paths)
    if find_judges(named, baselines):
        return ""
    usable = [seen for seen in baselines.values() if not _explain_unfit(seen)]
    if not usable:
        reasons = "; ".join(f"{name}: {_explain_unfit(seen)}" for name, seen in baselines.items())
        return reasons or "no check was run"
    known = {kind for seen in usable for kind in seen.judges}
    blind = ", ".join(sorted({file_kind(path) for path in named} - known))
    return (
        f"no check was seen to notice a failure in {blind} files" if blind else "no file is named"
    )


def _explain_unfit(seen: BaselineResult) -> str:
    """Return why a check judges no file, or "". A test file that could not be loaded may hold the
    only tests of a file; without the executed lines that cannot be ruled out.
    """
    if seen.unusable or not (seen.unloaded and seen.lines_unknown):
        return seen.unusable
    lost = ", ".join(seen.unloaded[:3]) + (", ..." if len(seen.unloaded) > 3 else "")
    unknown = f"which lines the other tests execute is not known ({seen.lines_unknown})"
    return f"{lost} could not be loaded, and {unknown}"
