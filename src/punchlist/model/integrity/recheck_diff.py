"""Compare the findings of a patched tree with those before: which batches fixed or made worse."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding, Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.new_comments import strip_new_comments
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.model.patch.line_table import LineTable
from punchlist.model.patch.offset_map import OffsetMap
from punchlist.model.patch.patch import Patch, apply_splices

_WORD = re.compile(r"[A-Za-z_]\w*")

Key = tuple[str, str, str, int]
"""Source, rule, path, and the line it was on before."""


class NewFinding(Struct, frozen=True):
    """A finding that was not there before, and the batches that may have caused it."""

    finding: Finding
    key: Key
    owners: tuple[int, ...]

    @property
    def name(self) -> tuple[str, str, str, str, int]:
        """Path, source, rule, message, and the line it was on before."""
        return (self.finding.spot.path, *_message_key(self.finding), self.key[3])


class RecheckDiff:
    """Compares places exactly: the splices tell where each patched line was before."""

    def __init__(
        self,
        run: Run,
        batches: Sequence[Batch],
        before: Mapping[str, str],
        after: Sequence[Finding],
        standing: Sequence[Finding] | None = None,
    ) -> None:
        """`standing`: the findings that were there before; those of items not aimed at, if None."""
        self._run = run
        self.batches = {batch.number: batch for batch in batches}
        # What the fixer did, not what was planned: they need not be the same.
        self._patches = {number: run.work.patches[number] for number in sorted(self.batches)}
        self._touching: dict[str, list[int]] = defaultdict(list)
        for number, patch in self._patches.items():
            for path in patch.paths:
                self._touching[path].append(number)
        self.before = before
        self._words: dict[int, set[str]] = {}
        # What the fixer deferred is not aimed at: it may still be reported.
        self._items = {batch.number: run.claimed_items(batch) or batch.items for batch in batches}
        self._aimed = {
            key: batch
            for batch, items in self._items.items()
            for item in items
            for key in self._item_keys(item)
        }
        self._standing = self._list_standing() if standing is None else standing
        self.after = after
        self._news = tuple(self._find_new(after))

    def find_guilty(self, *, wide: bool) -> dict[int, str]:
        """Return batches that did not remove their finding, or are likely to have caused something
        worse, and why. `wide`: all in the file of something worse.
        """
        found = self.find_unfixed()
        for news in self.find_worse():
            for number in self._blame_batches(news, wide=wide):
                found |= {} if number in found else self.accuse(number, news)
        return found

    def find_unfixed(self) -> dict[int, str]:
        """Return the batches whose own finding is still reported."""
        found = {}
        for news in self._news:
            aimed = self._find_aimed(news)
            if aimed is not None:
                found[aimed] = f"{news.finding.source} still reports it"
        return found

    def find_worse(self) -> list[NewFinding]:
        """Return what was not there before, and is worse than what some batch fixed."""
        return [
            news
            for news in self._news
            if self._find_aimed(news) is None
            and any(self._is_worse(news.finding, batch) for batch in self.batches.values())
        ]

    def accuse(self, number: int, news: NewFinding) -> dict[int, str]:
        """Return the batch and why it is refused; {} if this is no worse than what it fixed."""
        if not self._is_worse(news.finding, self.batches[number]):
            return {}
        return {number: f"brings about {_format_finding(news.finding)}"}

    def list_new(self) -> Sequence[NewFinding]:
        """Return what was not there before, and what a batch was to remove and did not."""
        return self._news

    def count_new(self) -> Counter[tuple[str, str, str, str, int]]:
        """Return how often each new finding is there, by name."""
        return Counter(news.name for news in self._news)

    def rank_suspects(self, news: NewFinding) -> list[int]:
        """Return all batches, the likeliest to have caused this first."""
        path = news.finding.spot.path
        touching = set(self._touching.get(path, ()))
        names = _find_names(news)
        return sorted(
            self.batches,
            key=lambda number: (
                number not in touching,
                number not in news.owners,
                not names & self._changed_words(self.batches[number]),
                self._line_distance(self.batches[number], news),
                number,
            ),
        )

    def find_touching(self, path: str) -> Sequence[int]:
        """Return the batches that edit a file."""
        return self._touching.get(path, ())

    def _find_aimed(self, news: NewFinding) -> int | None:
        """Return the batch that was to remove this very finding, or None."""
        aimed = self._aimed.get(news.key)
        return aimed if aimed is not None and self._is_same_rule(news.finding, aimed) else None

    def find_hiding(self) -> dict[int, str]:
        """Return batches with which a finding is there, and reported only with suppressions off."""
        seen, new = Counter(map(_message_key, self.after)), Counter[tuple[str, str, str]]()
        new.update(_message_key(news.finding) for news in self._news)
        moved = Counter(map(_message_key, self._standing)) - (seen - new)
        found: dict[int, str] = {}
        for news in self._news:
            aimed, message = self._aimed.get(news.key), _message_key(news.finding)
            if aimed is None and moved[message] > 0:
                moved[message] -= 1  # what was hidden before was moved, with what hides it
                continue
            why = f"{news.finding.source} reports {_format_finding(news.finding)}"
            why = f"hides a finding instead of fixing it: with its suppressions off, {why}"
            for number in [aimed] if aimed is not None else self._blame_hiders(news):
                found.setdefault(number, why)
        return found

    def _blame_hiders(self, news: NewFinding) -> Sequence[int]:
        """Return the batches that wrote there, else those in the file that add comments, else all
        in the file.
        """
        path = news.finding.spot.path
        touching = self._touching.get(path) or tuple(self._patches)
        hiders = [number for number in touching if self._adds_comments(number, path)]
        return news.owners or hiders or touching

    def _adds_comments(self, number: int, path: str) -> bool:
        before = self.before.get(path, "")
        after = apply_splices(before, self._patches[number].file_splices(path, before))
        return strip_new_comments(path, before, after) != after

    def follow_ups(self) -> dict[int, tuple[str, ...]]:
        """Return by batch what it causes that is no worse and has a fix."""
        after: dict[int, tuple[str, ...]] = defaultdict(tuple)
        for news in self._news:
            for number in self._blame_batches(news, wide=False):
                after[number] = (*after[number], news.finding.rule or news.finding.title)
        return dict(after)

    def _item_keys(self, number: int) -> Iterator[Key]:
        for finding in self._run.items[number].sighted:
            yield _make_key(finding, finding.spot.line or 0)

    def _is_same_rule(self, finding: Finding, number: int) -> bool:
        rules = {
            (known.source, known.rule)
            for item in self._items[number]
            for known in self._run.items[item].sighted
        }
        return (finding.source, finding.rule) in rules

    def _find_new(self, after: Sequence[Finding]) -> Iterator[NewFinding]:
        places = {path: self._map_file(path) for path in self.before}
        standing = self._standing
        known = Counter(_make_key(finding, finding.spot.line or 0) for finding in standing)
        moved = [finding for finding in standing if finding.spot.path in places]
        carried = Counter(
            (owner, _message_key(finding))
            for finding in moved
            for owner in places[finding.spot.path].find_rewriters(finding)
        )
        for finding in after:
            path = finding.spot.path
            old_line, owners = finding.spot.line or 0, tuple[int, ...]()
            if path in places:
                old_line, owners = places[path].find_origin(finding)
            key, message = _make_key(finding, old_line), _message_key(finding)
            carrier = next((owner for owner in owners if carried[owner, message] > 0), None)
            if known[key] > 0:
                known[key] -= 1
            elif carrier is not None:
                # The batch wrote the same code again, elsewhere in its own text.
                carried[carrier, message] -= 1
            else:
                yield NewFinding(finding, key, owners)

    def _list_standing(self) -> list[Finding]:
        """Return the findings reported before and not aimed at now."""
        items = [item for item in self._run.items.values() if item.status is not Status.FIXED]
        aimed = {number for numbers in self._items.values() for number in numbers}
        others = (item for item in items if item.number not in aimed)
        known = [finding for item in others for finding in item.sighted]
        return [*known, *self._run.reviewing.standing]

    def _map_file(self, path: str) -> "_PatchedFile":
        touching = {number: self._patches[number] for number in self._touching.get(path, ())}
        return _PatchedFile(path, self.before[path], touching)

    def _blame_batches(self, news: NewFinding, *, wide: bool) -> Sequence[int]:
        """Return the batches that wrote there, else the one that changed a name in the message,
        else the nearest in the file.
        """
        if news.owners and not wide:
            return news.owners[:1]
        touching = self._touching.get(news.finding.spot.path) or self._patches
        nearby = [self.batches[number] for number in touching]
        if wide:
            return [batch.number for batch in nearby]
        names = _find_names(news)
        nearest = min(
            nearby,
            key=lambda batch: (
                not names & self._changed_words(batch),
                self._line_distance(batch, news),
                batch.number,
            ),
            default=None,
        )
        return [nearest.number] if nearest else []

    def _changed_words(self, batch: Batch) -> set[str]:
        patch = self._patches[batch.number]
        words = self._words.get(batch.number)
        if words is not None:
            return words
        words = self._words[batch.number] = set()
        for path in patch.paths:
            before = self.before.get(path, "")
            for splice in patch.file_splices(path, before):
                words.update(_WORD.findall(before[splice.start : splice.end]))
                words.update(_WORD.findall(splice.text))
        return words

    def _line_distance(self, batch: Batch, news: NewFinding) -> int:
        lines = [self._run.items[number].current.spot.line or 0 for number in batch.items]
        return min(abs(line - news.key[3]) for line in lines)

    def _is_worse(self, finding: Finding, batch: Batch) -> bool:
        """Whether it is worse than what was fixed. As severe is allowed if minor (agent's batch) or
        with a fix (tool's).
        """
        cured = min(self._run.items[number].severity.rank for number in self._items[batch.number])
        fix = finding.fix
        fixable = fix is not None and fix.safety is not Safety.DISPLAY
        lesser = finding.severity is Severity.MINOR if batch.uses_agent else fixable
        return finding.severity.rank < cured or (finding.severity.rank <= cured and not lesser)


class _PatchedFile:
    """Maps findings of a patched file to their old line, and to the batches that wrote there."""

    def __init__(self, path: str, before: str, patches: Mapping[int, Patch]) -> None:
        splices = [
            (splice, number)
            for number, patch in patches.items()
            for splice in patch.file_splices(path, before)
        ]
        self._old = LineTable(before)
        self._new = LineTable(apply_splices(before, [splice for splice, _ in splices]))
        self._shift = OffsetMap(splices)
        self._taken = [
            (self._old_line(s.start), self._old_line(max(s.end - 1, s.start)), number)
            for s, number in splices
        ]

    def find_rewriters(self, finding: Finding) -> list[int]:
        """Return the batches that rewrote the finding's line."""
        line = finding.spot.line or 0
        return [number for first, last, number in self._taken if first <= line <= last]

    def find_origin(self, finding: Finding) -> tuple[int, tuple[int, ...]]:
        """Return its old line, and the batches that wrote where it is now."""
        if finding.spot.line is None:
            return 0, ()
        line, last = finding.spot.line, finding.spot.last_line or finding.spot.line
        span = (self._new.line_start(line), self._new.line_start(last + 1) - 1)
        owners = tuple(dict.fromkeys(self._shift.find_owners(*span)))
        if line > self._new.count:  # for some tools the end of a file is a line after its last
            return self._old.count + line - self._new.count, owners
        old, _ = self._shift.find_origin(self._new.nearest_offset(line, finding.spot.column or 1))
        return self._old_line(old), owners

    def _old_line(self, offset: int) -> int:
        return self._old.find_place(offset)[0]


def _find_names(news: NewFinding) -> set[str]:
    return set(news.finding.context.names) or set(_WORD.findall(news.finding.title))


def _make_key(finding: Finding, line: int) -> Key:
    return (finding.source, finding.rule or finding.title, finding.spot.path, line)


def _message_key(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule, finding.title)


def _format_finding(finding: Finding) -> str:
    place = f"{finding.spot.path}:{finding.spot.line or '?'}"
    return f"{finding.rule or finding.source}: {finding.title} ({place})"
