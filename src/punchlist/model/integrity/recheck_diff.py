"""What the analyzers say of a patched tree, held against what they said before: who silenced, and
who made louder.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.model.patch.line_table import LineTable
from punchlist.model.patch.offset_map import Shift
from punchlist.model.patch.patch import Patch, spliced

_WORD = re.compile(r"[A-Za-z_]\w*")

Key = tuple[str, str, str, int]
"""Source, rule, path, and the line it was on before."""


class News(Struct, frozen=True):
    """A finding that was not there before, and the batches that may have brought it about."""

    finding: Finding
    key: Key
    owners: tuple[int, ...]


class Aftermath:
    """Places are compared exactly: the splices say where every line of the patched
    text was before.
    """

    def __init__(
        self,
        run: Run,
        batches: Sequence[Batch],
        before: Mapping[str, str],
        after: Sequence[Finding],
    ) -> None:
        self._run = run
        self._batches = {batch.number: batch for batch in batches}
        # What the fixer did, not what was planned: they need not be the same.
        self._patches = {number: run.work.patches[number] for number in sorted(self._batches)}
        self._touching: dict[str, list[int]] = defaultdict(list)
        for number, patch in self._patches.items():
            for path in patch.paths:
                self._touching[path].append(number)
        self._before = before
        # What the fixer put off is not aimed at: that it is still reported is nobody's fault.
        self._items = {batch.number: run.claims(batch) or batch.items for batch in batches}
        self._aimed = {
            key: batch
            for batch, items in self._items.items()
            for item in items
            for key in self._keys(item)
        }
        self._news = tuple(self._unknown(after))

    def guilty(self, *, wide: bool) -> dict[int, str]:
        """Batches that did not silence their finding, or brought about something worse than they
        cured.
        """
        found: dict[int, str] = {}
        for news in self._news:
            aimed = self._aimed.get(news.key)
            if aimed is not None and self._same_kind(news.finding, aimed):
                found[aimed] = f"{news.finding.source} still reports it"
                continue
            for number in self._blamed(news, wide=wide):
                if self._is_louder(news.finding, self._batches[number]):
                    found.setdefault(number, f"brings about {_named(news.finding)}")
        return found

    def follow_ups(self) -> dict[int, tuple[str, ...]]:
        """What the batches bring about that is no worse and carries a fix of its own."""
        after: dict[int, tuple[str, ...]] = defaultdict(tuple)
        for news in self._news:
            for number in self._blamed(news, wide=False):
                after[number] = (*after[number], news.finding.rule or news.finding.title)
        return dict(after)

    def _keys(self, number: int) -> Iterator[Key]:
        for finding in self._run.items[number].sighted:
            yield _key(finding, finding.spot.line or 0)

    def _same_kind(self, finding: Finding, number: int) -> bool:
        rules = {
            (known.source, known.rule)
            for item in self._items[number]
            for known in self._run.items[item].sighted
        }
        return (finding.source, finding.rule) in rules

    def _unknown(self, after: Sequence[Finding]) -> Iterator[News]:
        places = {path: self._place(path) for path in self._before}
        standing = self._standing()
        known = Counter(_key(finding, finding.spot.line or 0) for finding in standing)
        moved = [finding for finding in standing if finding.spot.path in places]
        carried = Counter(
            (owner, _text(finding))
            for finding in moved
            for owner in places[finding.spot.path].took(finding)
        )
        for finding in after:
            path = finding.spot.path
            old_line, owners = (
                places[path].origin(finding) if path in places else (finding.spot.line or 0, ())
            )
            key = _key(finding, old_line)
            carrier = next((owner for owner in owners if carried[owner, _text(finding)] > 0), None)
            if known[key] > 0:
                known[key] -= 1
            elif carrier is not None:
                carried[carrier, _text(finding)] -= (
                    1  # the batch wrote the same code again, elsewhere in its own text
                )
            else:
                yield News(finding, key, owners)

    def _standing(self) -> list[Finding]:
        """What was reported before and is not aimed at now."""
        items = [item for item in self._run.items.values() if item.status is not Status.FIXED]
        aimed = {number for numbers in self._items.values() for number in numbers}
        return [finding for item in items if item.number not in aimed for finding in item.sighted]

    def _place(self, path: str) -> "_Place":
        return _Place(
            path,
            self._before[path],
            {number: self._patches[number] for number in self._touching.get(path, ())},
        )

    def _blamed(self, news: News, *, wide: bool) -> Sequence[int]:
        """Whoever wrote there; else who in that file took out or put in a name that is complained
        about; else the nearest.
        """
        if news.owners and not wide:
            return news.owners[:1]
        touching = self._touching.get(news.finding.spot.path) or self._patches
        nearby = [self._batches[number] for number in touching]
        if wide:
            return [batch.number for batch in nearby]
        names = set(news.finding.context.names) or set(_WORD.findall(news.finding.title))
        nearest = min(
            nearby,
            key=lambda batch: (
                not names & self._words(batch),
                self._distance(batch, news),
                batch.number,
            ),
            default=None,
        )
        return [nearest.number] if nearest else []

    def _words(self, batch: Batch) -> set[str]:
        patch = self._patches[batch.number]
        pieces = [
            (self._before.get(path, ""), patch.edits(path, self._before.get(path, "")))
            for path in patch.paths
        ]
        texts = [
            f"{before[splice.start : splice.end]} {splice.text}"
            for before, edits in pieces
            for splice in edits
        ]
        return {word for text in texts for word in _WORD.findall(text)}

    def _distance(self, batch: Batch, news: News) -> int:
        lines = [self._run.items[number].current.spot.line or 0 for number in batch.items]
        return min(abs(line - news.key[3]) for line in lines)

    def _is_louder(self, finding: Finding, batch: Batch) -> bool:
        """An agent may leave lesser things behind, which become items of their own; a tool's fix is
        held to its own severity.
        """
        cured = min(self._run.items[number].severity.rank for number in self._items[batch.number])
        lesser = finding.severity is Severity.MINOR if batch.by_agent else finding.fix is not None
        return finding.severity.rank < cured or (finding.severity.rank <= cured and not lesser)


class _Place:
    """Maps findings of one patched file to the line they had before, and to the batches that wrote
    there.
    """

    def __init__(self, path: str, before: str, patches: Mapping[int, Patch]) -> None:
        splices = [
            (splice, number)
            for number, patch in patches.items()
            for splice in patch.edits(path, before)
        ]
        patched = spliced(before, [splice for splice, _ in splices])
        self._old, self._new, self._shift = LineTable(before), LineTable(patched), Shift(splices)
        self._taken = [
            (self._old_line(s.start), self._old_line(max(s.end - 1, s.start)), number)
            for s, number in splices
        ]

    def took(self, finding: Finding) -> list[int]:
        """The batches that rewrote the line a finding was on."""
        line = finding.spot.line or 0
        return [number for first, last, number in self._taken if first <= line <= last]

    def origin(self, finding: Finding) -> tuple[int, tuple[int, ...]]:
        """The line it had before, and the batches that wrote where it is now."""
        if finding.spot.line is None:
            return 0, ()
        line, last = finding.spot.line, finding.spot.last_line or finding.spot.line
        span = (self._new.line_start(line), self._new.line_start(last + 1) - 1)
        owners = tuple(dict.fromkeys(self._shift.owners(*span)))
        if (
            line > self._new.count
        ):  # some tools speak of the end of a file as of a line after its last
            return self._old.count + line - self._new.count, owners
        old, _ = self._shift.origin(self._new.nearest(line, finding.spot.column or 1))
        return self._old_line(old), owners

    def _old_line(self, offset: int) -> int:
        return self._old.place(offset)[0]


def _key(finding: Finding, line: int) -> Key:
    return (finding.source, finding.rule or finding.title, finding.spot.path, line)


def _text(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule, finding.title)


def _named(finding: Finding) -> str:
    return (
        f"{finding.rule or finding.source}: {finding.title}"
        f" ({finding.spot.path}:{finding.spot.line or '?'})"
    )
