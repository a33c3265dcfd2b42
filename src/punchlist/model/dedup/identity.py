"""Whether findings of two trees are the same one: by rule, symbol and code, never by prose or line
number.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate

from punchlist.model.dedup.alignment import LineMap, aligned
from punchlist.model.dedup.rule_equivalence import kind
from punchlist.model.dedup.symbols import symbols
from punchlist.model.dedup.vocabulary import names_in, vocabulary
from punchlist.model.finding.finding import Context, Finding, Spot
from punchlist.model.patch.line_table import LINE_END

# Formatters add and remove these, so they say nothing about which code it is.
_FORMATTING = dict.fromkeys(map(ord, " \t\n\r\f\v\ufeff()[]{},;'\"\\"))
_TOKEN = re.compile(r"\w+|\S")
_AROUND = 80
_NEAR = 24
_TELLING = 30
_LONG_LINE = 2000
_LONG_SPAN = 4000


class Source:
    """One file, taken apart once, that gives findings in it their context."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = LINE_END.split(text)
        self._long: dict[int, list[int]] = {}

    @cached_property
    def _symbols(self) -> list[str]:
        return symbols(self._path, self._lines)

    @cached_property
    def _squeezed(self) -> tuple[str, list[int]]:
        """The whole file without formatting, and where each line starts in that."""
        squeezed = [line.translate(_FORMATTING) for line in self._lines]
        return "".join(squeezed), list(accumulate(map(len, squeezed), initial=0))

    def context(self, spot: Spot, claim: str = "") -> Context:
        """What stands at and around a spot. A line outside the file gives an empty context: reports
        may be of another version.
        """
        names = names_in(claim)
        if spot.line is None or not 1 <= spot.line <= len(self._lines):
            return Context(names=names)
        start, end = self._extent(spot)
        text, _ = self._squeezed
        return Context(
            symbol=self._symbols[spot.line - 1],
            span=_kept(text[start:end]),
            before=text[max(start - _AROUND, 0) : start],
            after=text[end : end + _AROUND],
            names=names,
        )

    def _extent(self, spot: Spot) -> tuple[int, int]:
        line = spot.line or 1
        last = min(max(spot.end_line or line, line), len(self._lines))
        _, starts = self._squeezed
        if spot.column is None:
            return starts[line - 1], starts[last]
        start = self._offset(line, spot.column)
        if spot.end_column is not None:
            return start, max(start, self._offset(last, spot.end_column))
        if last > line:
            return start, starts[last]
        # A bare point: the word it stands on.
        word = _TOKEN.search(self._lines[line - 1], spot.column - 1)
        return start, self._offset(line, word.end() + 1) if word else start

    def _offset(self, line: int, column: int) -> int:
        _, starts = self._squeezed
        text = self._lines[line - 1]
        if len(text) <= _LONG_LINE:
            return starts[line - 1] + len(text[: column - 1].translate(_FORMATTING))
        if line not in self._long:
            # Counted once: minified files have everything on one line.
            self._long[line] = list(
                accumulate((ord(char) not in _FORMATTING for char in text), initial=0)
            )
        counts = self._long[line]
        return starts[line - 1] + counts[min(column - 1, len(text))]


def _kept(span: str) -> str:
    """What is kept of the code at a spot: it is only ever compared, so a digest will do for the
    rest of a long one.
    """
    return (
        span
        if len(span) <= _LONG_SPAN
        else span[:_LONG_SPAN] + sha256(span.encode("utf-8", "surrogatepass")).hexdigest()
    )


def fingerprint(finding: Finding, twin: int = 0) -> str:
    """A name for machines. `twin` counts equal ones in one tree, in the order of their lines."""
    context = finding.context
    what = [finding.rule] if finding.rule else [finding.category, *_claim(finding)]
    parts = [finding.spot.path, context.symbol, context.span or context.before[-_NEAR:], *what]
    if twin:
        parts.append(f"twin {twin}")
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _claim(finding: Finding) -> tuple[str, ...]:
    """What a finding without a rule is about: the identifiers it names, or failing that its
    vocabulary.
    """
    return (
        finding.context.names or names_in(finding.title) or tuple(sorted(vocabulary(finding.title)))
    )


def matched(
    old: Sequence[Finding], new: Sequence[Finding], renames: Mapping[str, str] | None = None
) -> dict[int, int]:
    """Which new finding (by index) is which old one; one to one, strict keys first. `renames` maps
    old paths to new.
    """
    pairing = _Pairing(old, new, renames or {})
    for key in _STAGES:
        pairing.stage(key)
    return dict(sorted(pairing.pairs.items()))


class _Pairing:
    """The two sides, and what has been paired so far."""

    def __init__(
        self, old: Sequence[Finding], new: Sequence[Finding], renames: Mapping[str, str]
    ) -> None:
        self.pairs: dict[int, int] = {}
        self._old = [
            _Sight(finding, renames.get(finding.spot.path, finding.spot.path)) for finding in old
        ]
        self._new = [_Sight(finding, finding.spot.path) for finding in new]
        self._old_left = dict.fromkeys(range(len(old)))
        self._new_left = dict.fromkeys(range(len(new)))
        self._anchors: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def stage(self, key: "_Key") -> None:
        """Pairs what has equal keys; where one side has more, after all that is certain, since that
        tells how lines moved.
        """
        if not self._old_left or not self._new_left:
            return
        uneven: list[tuple[list[int], list[int]]] = []
        for news, olds in self._buckets(key):
            if len(news) == len(olds):
                self._pair(zip(news, olds, strict=True))
            else:
                uneven.append((news, olds))
        maps: dict[str, LineMap] = {}
        for news, olds in uneven:
            path = self._new[news[0]].path
            moved = maps.setdefault(path, LineMap(self._anchors[path]))
            expected = [moved.old(self._new[n].line) for n in news]
            lines = [self._old[o].line for o in olds]
            self._pair((news[i], olds[j]) for i, j in aligned(expected, lines))

    def _buckets(self, key: "_Key") -> Iterator[tuple[list[int], list[int]]]:
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

    def _pair(self, pairs: "Iterator[tuple[int, int]] | zip[tuple[int, int]]") -> None:
        for n, o in pairs:
            self.pairs[n] = o
            del self._new_left[n], self._old_left[o]
            new, old = self._new[n], self._old[o]
            if new.path == old.path and new.line and old.line:
                self._anchors[new.path].append((new.line, old.line))


class _Sight:
    """A finding with what the stages ask of it."""

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
            else (finding.category, _claim(finding), said)
        )


_Key = Callable[[_Sight], Hashable]


def _everything(s: _Sight) -> Hashable:
    c = s.context
    return (
        s.who,
        s.path,
        c.symbol,
        c.span,
        c.before,
        c.after,
        s.finding.spot.column,
        s.finding.title,
    )


def _neighbourhood(s: _Sight) -> Hashable:
    c = s.context
    return (s.who, s.path, c.symbol, c.span, c.before, c.after)


def _close(s: _Sight) -> Hashable:
    c = s.context
    return (s.who, s.path, c.symbol, c.span, c.before[-_NEAR:], c.after[:_NEAR])


def _before(s: _Sight) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.context.span, s.context.before[-_NEAR:])


def _after(s: _Sight) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.context.span, s.context.after[:_NEAR])


def _span(s: _Sight) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.context.span, s.finding.title)


def _span_untitled(s: _Sight) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.context.span)


def _elsewhere_in_file(s: _Sight) -> Hashable:
    """The symbol was renamed, or the code moved into another one."""
    c = s.context
    return (s.who, s.path, c.span, c.before[-_NEAR:], c.after[:_NEAR])


def _moved(s: _Sight) -> Hashable | None:
    """In another file: only where the code around it says enough to be sure that
    it is that code.
    """
    c = s.context
    reach = _NEAR if c.symbol else _AROUND
    around = (c.before[-reach:], c.span, c.after[:reach])
    return (
        (s.who, c.symbol, around, s.finding.title)
        if sum(map(len, around)) >= max(_TELLING, reach)
        else None
    )


def _message(s: _Sight) -> Hashable:
    return (s.who, s.path, s.context.symbol, s.finding.title)


def _same_kind(s: _Sight) -> Hashable | None:
    """Another tool says it now, or the first one says it in other words."""
    what = kind(s.finding.rule) if s.finding.rule else _claim(s.finding)
    return (what, s.path, s.context.symbol, s.context.span) if s.context.span else None


_STAGES: tuple[_Key, ...] = (
    _everything,
    _neighbourhood,
    _close,
    _before,
    _after,
    _span,
    _span_untitled,
    _elsewhere_in_file,
    _moved,
    _message,
    _same_kind,
)
