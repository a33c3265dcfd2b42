"""Match findings of two trees by rule, symbol and code, never by prose or line number."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate

from punchlist.model.dedup.alignment import LineMap, align_lines
from punchlist.model.dedup.rule_equivalence import rule_kind
from punchlist.model.dedup.symbols import find_symbols
from punchlist.model.dedup.vocabulary import extract_names, vocabulary
from punchlist.model.finding.finding import Context, Finding, Spot
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.patch.line_table import LINE_END

# Formatters add and remove these, so they say nothing about which code it is.
_FORMATTING = dict.fromkeys(map(ord, " \t\n\r\f\v\ufeff()[]{},;'\"\\"))
_TOKEN = late_pattern(r"\w+|\S")
_AROUND = 80
_NEAR = 24
_TELLING = 30
_LONG_LINE = 2000
_LONG_SPAN = 4000


class Source:
    """One file, parsed once, that gives findings their context."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = LINE_END.split(text)
        self._long: dict[int, list[int]] = {}

    @cached_property
    def _symbols(self) -> list[str]:
        return find_symbols(self._path, self._lines)

    @cached_property
    def _squeezed(self) -> tuple[str, list[int]]:
        """The file without formatting, and where each line starts in it."""
        squeezed = [line.translate(_FORMATTING) for line in self._lines]
        return "".join(squeezed), list(accumulate(map(len, squeezed), initial=0))

    def context_at(self, spot: Spot, claim: str = "") -> Context:
        """Return the code at and around a spot; empty if the line is outside the file."""
        names = extract_names(claim)
        if spot.line is None or not 1 <= spot.line <= len(self._lines):
            return Context(names=names)
        start, end = self._find_extent(spot)
        text, _ = self._squeezed
        return Context(
            symbol=self._symbols[spot.line - 1],
            span=_shorten_span(text[start:end]),
            before=text[max(start - _AROUND, 0) : start],
            after=text[end : end + _AROUND],
            names=names,
        )

    def _find_extent(self, spot: Spot) -> tuple[int, int]:
        line = spot.line or 1
        last = min(max(spot.end_line or line, line), len(self._lines))
        _, starts = self._squeezed
        if spot.column is None:
            return starts[line - 1], starts[last]
        start = self._squeezed_offset(line, spot.column)
        if spot.end_column is not None:
            return start, max(start, self._squeezed_offset(last, spot.end_column))
        if last > line:
            return start, starts[last]
        # A bare point: the word it stands on.
        word = _TOKEN.search(self._lines[line - 1], spot.column - 1)
        return start, self._squeezed_offset(line, word.end() + 1) if word else start

    def _squeezed_offset(self, line: int, column: int) -> int:
        _, starts = self._squeezed
        text = self._lines[line - 1]
        if len(text) <= _LONG_LINE:
            return starts[line - 1] + len(text[: column - 1].translate(_FORMATTING))
        if line not in self._long:
            # Counted once: minified files have everything on one line.
            kept = (ord(char) not in _FORMATTING for char in text)
            self._long[line] = list(accumulate(kept, initial=0))
        counts = self._long[line]
        return starts[line - 1] + counts[min(column - 1, len(text))]


def _shorten_span(span: str) -> str:
    """Return the span; the rest of a long one is replaced by its hash."""
    if len(span) <= _LONG_SPAN:
        return span
    return span[:_LONG_SPAN] + sha256(span.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(finding: Finding, twin: int = 0) -> str:
    """Return a finding's stable id. `twin` numbers equal ones in one tree, by line."""
    context = finding.context
    what = [finding.rule] if finding.rule else [finding.category, *_claim_words(finding)]
    parts = [finding.spot.path, context.symbol, context.span or context.before[-_NEAR:], *what]
    if twin:
        parts.append(f"twin {twin}")
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _claim_words(finding: Finding) -> tuple[str, ...]:
    """Return the identifiers that a finding without a rule names, or else its vocabulary."""
    names = finding.context.names or extract_names(finding.title)
    return names or tuple(sorted(vocabulary(finding.title)))


def match_findings(
    old: Sequence[Finding], new: Sequence[Finding], renames: Mapping[str, str] | None = None
) -> dict[int, int]:
    """Return new index -> old index, one to one, strict keys first. `renames`: old path -> new."""
    pairing = _Pairing(old, new, renames or {})
    for key in _STAGES:
        pairing.run_stage(key)
    return dict(sorted(pairing.pairs.items()))


class _Pairing:
    """Both sides, and the pairs so far."""

    def __init__(
        self, old: Sequence[Finding], new: Sequence[Finding], renames: Mapping[str, str]
    ) -> None:
        self.pairs: dict[int, int] = {}
        self._old = [_Candidate(each, renames.get(each.spot.path, each.spot.path)) for each in old]
        self._new = [_Candidate(each, each.spot.path) for each in new]
        self._old_left = dict.fromkeys(range(len(old)))
        self._new_left = dict.fromkeys(range(len(new)))
        self._anchors: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def run_stage(self, key: "_Key") -> None:
        """Pair findings with equal keys; uneven buckets last, when it is known how lines moved."""
        if not self._old_left or not self._new_left:
            return
        uneven: list[tuple[list[int], list[int]]] = []
        for news, olds in self._make_buckets(key):
            if len(news) == len(olds):
                self._add_pairs(zip(news, olds, strict=True))
            else:
                uneven.append((news, olds))
        maps: dict[str, LineMap] = {}
        for news, olds in uneven:
            path = self._new[news[0]].path
            moved = maps.setdefault(path, LineMap(self._anchors[path]))
            expected = [moved.old_line(self._new[n].line) for n in news]
            lines = [self._old[o].line for o in olds]
            self._add_pairs((news[i], olds[j]) for i, j in align_lines(expected, lines))

    def _make_buckets(self, key: "_Key") -> Iterator[tuple[list[int], list[int]]]:
        olds: dict[Hashable, list[int]] = defaultdict(list)
        for index in self._old_left:
            olds[key(self._old[index])].append(index)
        olds.pop(None, None)
        news: dict[Hashable, list[int]] = defaultdict(list)
        for index in self._new_left:
            found = key(self._new[index])
            if found in olds:
                news[found].append(index)
        for found, indexes in news.items():
            yield (
                sorted(indexes, key=lambda i: self._new[i].place),
                sorted(olds[found], key=lambda i: self._old[i].place),
            )

    def _add_pairs(self, pairs: "Iterator[tuple[int, int]] | zip[tuple[int, int]]") -> None:
        for n, o in pairs:
            self.pairs[n] = o
            del self._new_left[n], self._old_left[o]
            new, old = self._new[n], self._old[o]
            if new.path == old.path and new.line and old.line:
                self._anchors[new.path].append((new.line, old.line))


class _Candidate:
    """A finding with the values that the keys need."""

    __slots__ = ("context", "finding", "line", "path", "place", "who")

    def __init__(self, finding: Finding, path: str) -> None:
        spot, context = finding.spot, finding.context
        self.finding = finding
        self.path = path
        self.context = context
        self.line = spot.line or 0
        self.place = (path, self.line, spot.column or 0, finding.title, finding.id)
        located = bool(context.span or context.before or context.after)
        said = "" if located else finding.title
        self.who: Hashable = (
            (finding.source, finding.rule, said)
            if finding.rule
            else (finding.category, _claim_words(finding), said)
        )


_Key = Callable[[_Candidate], Hashable]


def _span_key(s: _Candidate, *more: Hashable) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.context.span, *more)


def _wide_key(s: _Candidate, *more: Hashable) -> Hashable:
    return _span_key(s, s.context.before, s.context.after, *more)


def _file_key(s: _Candidate, *more: Hashable) -> Hashable:
    """For a renamed symbol, or code moved into another one."""
    c = s.context
    return (s.who, s.path, c.span, c.before[-_NEAR:], c.after[:_NEAR], *more)


def _moved_key(s: _Candidate) -> Hashable | None:
    """For code moved to another file; None if there is too little code to be sure."""
    c = s.context
    reach = _NEAR if c.symbol else _AROUND
    around = (c.before[-reach:], c.span, c.after[:reach])
    enough = sum(map(len, around)) >= max(_TELLING, reach)
    return (s.who, c.symbol, around, s.finding.title) if enough else None


def _kind_key(s: _Candidate) -> Hashable | None:
    """For the same defect from another tool or in other words; None without code."""
    what = rule_kind(s.finding.rule) if s.finding.rule else _claim_words(s.finding)
    return (what, s.path, s.context.symbol, s.context.span) if s.context.span else None


_STAGES: tuple[_Key, ...] = (
    lambda s: _wide_key(s, s.finding.spot.column, s.finding.title),
    _wide_key,
    lambda s: _file_key(s, s.context.symbol),
    lambda s: _span_key(s, s.context.before[-_NEAR:]),
    lambda s: _span_key(s, s.context.after[:_NEAR]),
    lambda s: _span_key(s, s.finding.title),
    _span_key,
    _file_key,
    _moved_key,
    lambda s: (s.who, s.path, s.context.symbol, s.finding.title),
    _kind_key,
)
"""Keys by which findings of two trees are paired, the strictest first."""
