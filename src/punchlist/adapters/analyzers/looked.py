"""Which files a tool looked at, by its own words, and which it was given and did not look at."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

if TYPE_CHECKING:
    from punchlist.adapters.analyzers.tool import AnalyzerTool
    from punchlist.intake.source_files import Sources

SILENT = "it was given the file, and its report does not say that it looked at it"


def split_records(output: bytes, begin: re.Pattern[str]) -> Iterator[str]:
    """Yield the records of a log, of which each begins at a line that fits; file names may have
    line breaks, so a record may have several lines.
    """
    text = output.decode("utf-8", "replace")
    starts = [found.start() for found in begin.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield text[start:end].removesuffix("\n")


def believe_names(
    names: Iterable[str], sources: "Sources", count: int | None
) -> frozenset[str] | None:
    """Return the tracked files of a list that has `count` names by the tool's own count; None
    without a count, and nothing if the list is longer: then a file's name forges entries.
    """
    if count is None:
        return None
    found = frozenset(filter(None, map(sources.tracked_path, names)))
    return found if len(found) <= count else frozenset()


def account_files(
    tool: "AnalyzerTool", analysis: Analysis, files: Sequence[str], tree: Tree
) -> Analysis:
    """Return the analysis with the files that the tool was given and did not look at: those that
    the project's own settings leave out, and those that it missed.
    """
    if analysis.looked is None:
        return replace(analysis, looked_at=len(files) - len(analysis.missed))
    looked = analysis.looked.intersection(files).difference(analysis.unread, analysis.left_out)
    known = looked.union(analysis.unread, analysis.left_out)
    gone = [path for path in files if path not in known and tool.sees_file(path, tree)]
    analysis = replace(analysis, looked_at=len(looked), looked=looked)
    if by := tool.find_exclusion(tree) if gone else "":
        left_out = tuple(sorted({*analysis.left_out, *gone}))
        return replace(analysis, left_out=left_out, left_out_by=by)
    missed = {**dict.fromkeys(gone, SILENT), **analysis.missed}
    return replace(analysis, missed=missed, unread=tuple(sorted({*analysis.unread, *missed})))
