"""Match findings with those of a baseline, one to one: a second copy of a defect is new."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec.structs import astuple, replace

from punchlist.model.dedup.identity import fingerprint
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.known_finding import KnownFinding

BASELINE = "the baseline"
_NEAR = 24
_SHOWN = 60
_Key = Callable[[KnownFinding], Hashable]


def make_known(finding: Finding) -> KnownFinding:
    """Return the line of a baseline for a finding."""
    context = finding.context
    rule = f"{finding.source}:{finding.rule or finding.category}"
    said = () if context.span or context.before or context.after else (finding.title,)
    parts = (rule, context.span, *said)
    return KnownFinding(
        path=finding.spot.path,
        rule=rule,
        symbol=context.symbol,
        code=context.span[:_SHOWN],
        id=_hash((fingerprint(finding), *said)) if said else fingerprint(finding)[:16],
        before=_hash((*parts, context.before[-_NEAR:])),
        after=_hash((*parts, context.after[:_NEAR])),
    )


def number_copies(known: Iterable[KnownFinding]) -> list[KnownFinding]:
    """Return the lines in the order of a baseline; those with the same id are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for each in known:
        seen[each.rule, each.id] += 1
        numbered.append(replace(each, copy=seen[each.rule, each.id]))
    return sorted(numbered, key=lambda each: tuple(map(str, astuple(each))))


def drop_repeated(known: Iterable[KnownFinding]) -> list[KnownFinding]:
    """Return the lines without those that a merge of two branches left twice."""
    return list({(each.rule, each.id, each.copy): each for each in known}.values())


def match_baseline(
    known: Sequence[KnownFinding], findings: Sequence[Finding], moved: Collection[str] = ()
) -> dict[int, int]:
    """Return finding index -> baseline index. Where there are more findings than lines with the
    same key, the first findings get them. `moved`: paths whose findings may be in other files now.
    """
    found = [make_known(each) for each in findings]
    pairs: dict[int, int] = {}
    old, new = dict.fromkeys(range(len(known))), dict.fromkeys(range(len(found)))
    for key in _STAGES:
        _pair_equal(known, found, key, (old, new), pairs)
    for index in [index for index in old if known[index].path not in moved]:
        del old[index]
    for key in _MOVED:
        _pair_equal(known, found, key, (old, new), pairs)
    return pairs


def _pair_equal(
    known: Sequence[KnownFinding],
    found: Sequence[KnownFinding],
    key: _Key,
    left: tuple[dict[int, None], dict[int, None]],
    pairs: dict[int, int],
) -> None:
    """Pair what has equal keys, and take it out of what is left."""
    old, new = left
    waiting: Mapping[Hashable, list[int]] = defaultdict(list)
    for index in reversed(old):
        waiting[key(known[index])].append(index)
    for index in list(new):
        same = waiting.get(key(found[index]))
        if same:
            pairs[index] = same.pop()
            del new[index], old[pairs[index]]


_STAGES: tuple[_Key, ...] = (
    lambda each: (each.rule, each.id, each.before, each.after),
    lambda each: (each.rule, each.id, each.before),
    lambda each: (each.rule, each.id, each.after),
    lambda each: (each.rule, each.id),
    # A renamed function, or code moved into another one of the same file.
    lambda each: (each.rule, each.path, each.before, each.after),
    lambda each: (each.rule, each.path, each.after),
)
_MOVED: tuple[_Key, ...] = (
    lambda each: (each.rule, each.symbol, each.before, each.after),
    lambda each: (each.rule, each.symbol, each.after),
    lambda each: (each.rule, each.symbol, each.before),
)


def _hash(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
