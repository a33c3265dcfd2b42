"""Finds which batch brings about a new finding, by group testing over the analyzers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence

from punchlist.model.checks.group_testing import decode_causes, search_cause
from punchlist.model.integrity.recheck_diff import NewFinding, RecheckDiff

TRIALS = 200
"""Looks that one search may take."""

Name = tuple[str, str, str, str, int]
"""Path, source, rule, message and old line of a new finding."""
Look = Callable[[frozenset[int], Sequence[NewFinding]], Awaitable[Counter[Name] | None]]
"""Leaves batches out and counts what is new then, in the files of these; None if it failed."""
Hunt = Generator[tuple[int, ...], Counter[Name], dict[Name, int | None]]


async def find_causes(
    seen: RecheckDiff, worse: Sequence[NewFinding], look: Look
) -> dict[Name, int | None]:
    """Return what causes each of these; None: it is there without any batch, too. Those whose cause
    was not found, after a failed look or too many, are left out.

    In each look the searches in different files go on side by side.
    """
    by_path: dict[str, list[NewFinding]] = {}
    for news in worse:
        by_path.setdefault(news.finding.spot.path, []).append(news)
    hunts = {path: _hunt_causes(seen, news) for path, news in by_path.items()}
    wanted = {path: next(hunt) for path, hunt in hunts.items()}
    found: dict[Name, int | None] = {}
    for _ in range(TRIALS):
        if not wanted:
            break
        chosen = _choose_paths(seen, wanted)
        left_out = frozenset(number for path in chosen for number in wanted[path])
        reported = await look(left_out, [news for path in chosen for news in by_path[path]])
        if reported is None:
            break
        for path in chosen:
            try:
                wanted[path] = hunts[path].send(reported)
            except StopIteration as end:
                found |= end.value
                del wanted[path]
    return found


def _choose_paths(seen: RecheckDiff, wanted: dict[str, tuple[int, ...]]) -> list[str]:
    """Return the files that can share a look; what leaves out batches of other files goes alone."""
    near = [
        path for path, numbers in wanted.items() if set(numbers).issubset(seen.find_touching(path))
    ]
    return near or [next(iter(wanted))]


def _hunt_causes(seen: RecheckDiff, worse: Sequence[NewFinding]) -> Hunt:
    """Search the causes of what is new in one file."""
    names = dict.fromkeys(news.name for news in worse)
    base = seen.count_new()
    touching = seen.find_touching(worse[0].finding.spot.path)
    found: dict[Name, int | None] = {}
    if 1 < len(touching) < 2 ** (len(names) // 2):  # fewer looks than one by one
        found |= yield from _hunt_together(touching, list(names), base)
    for news in worse:
        if news.name in found:
            continue
        search = search_cause(seen.rank_suspects(news))
        left_out = next(search)
        while True:
            gone = find_gone(names, base, (yield left_out))
            if len(left_out) == 1:
                found |= {name: left_out[0] for name in gone if name not in found}
            try:
                left_out = search.send(news.name not in gone)
            except StopIteration as end:
                found.setdefault(news.name, end.value)
                break
    return found


def _hunt_together(touching: Sequence[int], names: Sequence[Name], base: Counter[Name]) -> Hunt:
    """Search the causes of all at once."""
    search = decode_causes(touching, names)
    left_out = next(search)
    while True:
        gone = find_gone(names, base, (yield left_out))
        try:
            left_out = search.send(gone)
        except StopIteration as end:
            return dict(end.value)


def find_gone(names: Iterable[Name], base: Counter[Name], now: Counter[Name]) -> set[Name]:
    """Return what is reported less often than before, and not only in other words."""
    rules, rules_now = _count_rules(base), _count_rules(now)
    return {
        name for name in names if now[name] < base[name] and rules_now[name[:3]] < rules[name[:3]]
    }


def _count_rules(names: Counter[Name]) -> Counter[tuple[str, str, str]]:
    """Return how often each rule of a tool is broken in a file, whatever the message says."""
    counted = Counter[tuple[str, str, str]]()
    for (path, source, rule, *_), count in names.items():
        counted[path, source, rule] += count
    return counted
