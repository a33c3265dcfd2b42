"""Which program files under review no reviewer looked at."""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping

from punchlist.model.checks.own_files import list_counting
from punchlist.model.checks.protected import matches_any
from punchlist.model.finding.languages import MissedFiles, UnseenFiles, find_language
from punchlist.model.finding.path_patterns import is_excluded
from punchlist.model.finding.selection import find_selection
from punchlist.model.ledger.events import Surveyed
from punchlist.model.ledger.run import LatestReview, Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.support.project_context import EVERYTHING, find_left_out

_NAMED = 20


def find_unseen_files(run: Run, world: World, tree: Tree) -> Surveyed:
    vendored = find_left_out(run, world, tree)
    languages = _list_languages(world.change, tree, vendored)
    left_out = {path for path in languages if _is_left_out(path, run, world)}
    wanted = {path: name for path, name in languages.items() if path not in left_out}
    read = Counter(wanted.values())
    reviews = [each for each in run.reviewing.reviews.values() if not each.failed]
    missed = [(each.reviewer, each.missed) for each in reviews]
    excluded = [
        (each.reviewer, dict.fromkeys(each.left_out, f"left out by {each.left_out_by}"))
        for each in reviews
    ]
    unknown = []
    for review in run.reviewing.reviews.values():
        if wanted and not review.failed and not review.skipped:
            name = review.reviewer
            if name in world.analyzers and world.files_seen(name, tree, ()) is None:
                unknown.append(name)
            seen = set(_list_seen(review, wanted, run, world, tree))
            wanted = {path: name for path, name in wanted.items() if path not in seen}
    counting = world.languages
    if counting is None:
        named = {path: find_language(path) for path in tree.files()}
        known = {path: name for path, name in {**named, **languages}.items() if name}
        counting = list_counting(known, world.leave_out.patterns)
    groups = _group_unseen(wanted)
    unseen = tuple(each for each in groups if each.language in counting)
    counted = {path for path, name in languages.items() if name in counting}
    read.subtract(wanted.values())
    return Surveyed(
        unseen=unseen,
        uncounted=tuple(each for each in groups if each.language not in counting),
        vendored=dict(sorted(Counter(vendored.values()).items())),
        missed=tuple(_group_missed(missed, counted - left_out)),
        excluded=tuple(_group_missed(excluded, languages.keys() - left_out)),
        left_out=len(left_out),
        unknown=tuple(unknown) if unseen else (),
        seen={name: count for name, count in sorted(read.items()) if count},
    )


def _group_unseen(wanted: Mapping[str, str]) -> list[UnseenFiles]:
    by_language: dict[str, list[str]] = defaultdict(list)
    for path, name in sorted(wanted.items()):
        by_language[name].append(path)
    return [
        UnseenFiles(name, len(paths), tuple(paths[:_NAMED]))
        for name, paths in sorted(by_language.items())
    ]


def _group_missed(
    reviews: Iterable[tuple[str, Mapping[str, str]]], wanted: Collection[str]
) -> Iterator[MissedFiles]:
    """Yield, by reviewer and reason, those of the wanted files that it did not look at."""
    for reviewer, missed in reviews:
        by_reason: dict[str, list[str]] = defaultdict(list)
        for path, why in sorted(missed.items()):
            if path in wanted:
                by_reason[why].append(path)
        for why, paths in by_reason.items():
            yield MissedFiles(reviewer, why, len(paths), tuple(paths[:_NAMED]))


def _is_left_out(path: str, run: Run, world: World) -> bool:
    """Return whether the settings or options leave the file out of the review."""
    excluded = find_selection(run.started.selections, path).selection.exclude
    return matches_any(path, world.unreviewed) or is_excluded(path, excluded)


def _list_languages(change: Change, tree: Tree, vendored: Container[str]) -> dict[str, str]:
    """Return the languages of the program files under review; those that are empty, binary, only
    renamed or vendored are left out.
    """
    found: dict[str, str] = {}
    for path in tree.files():
        if path in vendored or not _is_under_review(path, change):
            continue
        named = "." in path.rpartition("/")[2]
        text = "" if named and not find_language(path) else (tree.text(path) or "")
        if text.strip() and "\0" not in text and (language := find_language(path, text[:100])):
            found[path] = language
    return found


def _is_under_review(path: str, change: Change) -> bool:
    if change.kind is ScopeKind.ALL:
        return change.covers(path, None, None)
    return bool(change.files.get(path))


def _list_seen(
    review: LatestReview, wanted: dict[str, str], run: Run, world: World, tree: Tree
) -> Iterator[str]:
    """Yield the files that a reviewer looked at. A findings file speaks for the languages that it
    reports on, an analyzer of unknown reach for the files.
    """
    name = review.reviewer
    reports = (
        finding.spot.path
        for item in run.items.values()
        for finding in (*item.findings, *item.latest)
        if finding.source == name
    )
    if name in run.started.documents:
        known = {find_language(path) for path in reports}
        yield from (path for path, language in wanted.items() if language in known)
    elif name in run.started.crew:
        unopened = run.reviewing.looked_over.get(name, ())
        opened = run.reviewing.opened.get(name)
        if EVERYTHING not in unopened:
            shown = wanted if opened is None else opened
            yield from (path for path in shown if path not in unopened)
    else:
        seen = world.files_seen(name, tree, list(wanted))
        known_files = set(reports) if seen is None else seen
        yield from (path for path in known_files if review.has_seen(path))
