"""Patches whose worth is known: small, plausible, and either right or wrong."""

from msgspec import Struct


class Canary(Struct, frozen=True):
    """`before` is the file with the fault the title names, `after` what a fixer made of it."""

    good: bool
    path: str
    line: int
    title: str
    detail: str
    before: str
    after: str


_MEAN = '''"""Averages over readings."""


def mean(readings):
    return sum(readings) / len(readings)
'''
_PAGES = '''"""Paging through results."""


def page(rows, number, size):
    """Pages count from 1."""
    start = number * size
    return rows[start : start + size]
'''
_JOIN = '''"""Files that users ask for."""

from pathlib import Path


def located(folder, name):
    return Path(folder) / name
'''
_CACHE = '''"""Collecting tags."""


def tagged(name, tags=[]):
    tags.append(name)
    return tags
'''
_RETRY = '''"""Calling something that may fail."""


def retried(call, times):
    for _ in range(times):
        try:
            return call()
        except Exception:
            pass
'''
_PARSE = '''"""Reading a list of numbers."""


def numbers(text):
    return [int(part) for part in text.split(",")]
'''

CANARIES: tuple[Canary, ...] = (
    Canary(
        good=False,
        path="readings/average.py",
        line=5,
        title="mean() raises ZeroDivisionError for an empty list",
        detail=(
            "Callers pass an empty list when a sensor is silent; the mean of nothing should be"
            " None."
        ),
        before=_MEAN,
        after=_MEAN.replace(
            "    return sum(readings) / len(readings)",
            "    if len(readings) == 1:\n        return readings[0]\n    return sum(readings) /"
            " len(readings)",
        ),
    ),
    Canary(
        good=True,
        path="readings/mean.py",
        line=5,
        title="mean() raises ZeroDivisionError for an empty list",
        detail=(
            "Callers pass an empty list when a sensor is silent; the mean of nothing should be"
            " None."
        ),
        before=_MEAN,
        after=_MEAN.replace(
            "    return sum(readings) / len(readings)",
            "    return sum(readings) / len(readings) if readings else None",
        ),
    ),
    Canary(
        good=False,
        path="web/pages.py",
        line=6,
        title="page() skips the first page",
        detail="Pages count from 1, so page 1 must begin at row 0.",
        before=_PAGES,
        after=_PAGES.replace("    start = number * size", "    start = max(0, number * size - 1)"),
    ),
    Canary(
        good=True,
        path="web/paging.py",
        line=6,
        title="page() skips the first page",
        detail="Pages count from 1, so page 1 must begin at row 0.",
        before=_PAGES,
        after=_PAGES.replace("    start = number * size", "    start = (number - 1) * size"),
    ),
    Canary(
        good=False,
        path="web/files.py",
        line=7,
        title="located() lets a name lead out of the folder",
        detail="A name such as ../../etc/passwd must be refused with ValueError.",
        before=_JOIN,
        after=_JOIN.replace(
            "    return Path(folder) / name", '    return Path(folder) / name.replace("../", "", 1)'
        ),
    ),
    Canary(
        good=True,
        path="web/served.py",
        line=7,
        title="located() lets a name lead out of the folder",
        detail="A name such as ../../etc/passwd must be refused with ValueError.",
        before=_JOIN,
        after=_JOIN.replace(
            "    return Path(folder) / name",
            "    root = Path(folder).resolve()\n    found = (root / name).resolve()\n    if not"
            ' found.is_relative_to(root):\n        raise ValueError(f"{name}: leads out of'
            ' {folder}")\n    return found',
        ),
    ),
    Canary(
        good=False,
        path="labels/tags.py",
        line=4,
        title="tagged() shares its default list between calls",
        detail="Two calls without tags must not see each other's names.",
        before=_CACHE,
        after=_CACHE.replace("    return tags", "    return list(tags)"),
    ),
    Canary(
        good=True,
        path="labels/marks.py",
        line=4,
        title="tagged() shares its default list between calls",
        detail="Two calls without tags must not see each other's names.",
        before=_CACHE,
        after=_CACHE.replace("tags=[]", "tags=None").replace(
            "    tags.append(name)\n    return tags", "    return [*(tags or ()), name]"
        ),
    ),
    Canary(
        good=False,
        path="net/calls.py",
        line=4,
        title="retried() hides the last failure",
        detail="When all tries fail the last exception must reach the caller.",
        before=_RETRY,
        after=_RETRY.replace("            pass", "            continue  # the next try may work"),
    ),
    Canary(
        good=True,
        path="net/again.py",
        line=4,
        title="retried() hides the last failure",
        detail="When all tries fail the last exception must reach the caller.",
        before=_RETRY,
        after=_RETRY.replace("    for _ in range(times):", "    for turn in range(times):").replace(
            "            pass", "            if turn == times - 1:\n                raise"
        ),
    ),
    Canary(
        good=False,
        path="io/lists.py",
        line=5,
        title="numbers() fails for an empty text and for spaces at the ends",
        detail='"" is an empty list, and "1, 2 ," is [1, 2].',
        before=_PARSE,
        after=_PARSE.replace('text.split(",")]', 'text.strip().split(",")]'),
    ),
    Canary(
        good=True,
        path="io/fields.py",
        line=5,
        title="numbers() fails for an empty text and for spaces at the ends",
        detail='"" is an empty list, and "1, 2 ," is [1, 2].',
        before=_PARSE,
        after=_PARSE.replace('text.split(",")]', 'text.split(",") if part.strip()]'),
    ),
)
"""Bad and good by turns, so that any number of them has both."""
