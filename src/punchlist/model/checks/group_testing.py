"""Group testing: the largest set of fixes that keeps the checks green, found with few runs.

The search is a generator of trials. It is replayed from the ledger: feed it the recorded results
and it names the next trial, so a killed search goes on where it was. With k culprits among n fixes
it takes about k * log2(n) runs, nearly all of them limited to the tests that failed.

Red is believed only where it comes back: with the fixes red, without them green, with them red
again; and each culprit is seen red once more before it is blamed. What does not come back is noise.
"""

from collections.abc import Collection, Generator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

Effect = TypeVar("Effect")


class GroupTrial(Struct, frozen=True):
    """Run the checks over these batches together; `only` limits it to tests that failed before."""

    batches: tuple[int, ...]
    only: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    repeat: bool = True
    """Whether a red whole run is run again at once; False where the search itself repeats it."""


class TrialResult(Struct, frozen=True):
    """`trouble`: the run itself went wrong, so its test results mean nothing. `trial`: what was
    run, if that is known.
    """

    green: bool
    failing: tuple[str, ...] = ()
    trouble: str = ""
    trial: GroupTrial | None = None

    def answers(self, trial: GroupTrial) -> bool:
        """Return whether this is a result of the trial, as far as is known."""
        known = self.trial
        return known is None or (
            known.batches == trial.batches and bool(known.only) == bool(trial.only)
        )


class SearchResult(Struct, frozen=True):
    """`good` is green together, `culprits` turn it red, each with what it broke. `unstable` tests
    fail without any fix.
    """

    good: tuple[int, ...] = ()
    culprits: dict[int, tuple[str, ...]] = {}
    unstable: tuple[str, ...] = ()
    gave_up: str = ""
    noise: bool = False
    """Whether the checks were red, and green when they were run again with the same fixes."""


NOISE = "the checks are red at one time and green at another with the same fixes"
_MISLED = 1
"""How often a search may begin again because a culprit was not red when it was tried once more."""

_FEW = 4
"""So many trusted fixes are not worth a run of the whole checks."""

_MANY = 2
"""So many times the failing tests of one culprit are the work of several."""

Search = Generator[GroupTrial, TrialResult, SearchResult]


def search(
    candidates: Sequence[int],
    settled: Sequence[int] = (),
    unstable: Sequence[str] = (),
    trusted: int = 0,
) -> Search:
    """Search culprits; candidates come likely harmless first, `settled` is known green. If all
    together are red, the first `trusted` ones are tried: green, they are no suspects any more.
    """
    good: list[int] = list(settled)
    pending = list(candidates)
    culprits: dict[int, tuple[str, ...]] = {}
    ignored = list(unstable)
    misled, noise = 0, False
    while pending:
        result = yield GroupTrial((*good, *pending), ignored=tuple(ignored))
        if result.green:
            good += pending
            break
        good, pending = yield from _settle_first(good, pending, trusted, tuple(ignored))
        trusted = 0
        control = yield from _run_control(good, pending, result.failing, tuple(ignored))
        if isinstance(control, str):
            return SearchResult(tuple(good), culprits, tuple(ignored), gave_up=control)
        if control.noise:
            good, noise = [*good, *pending], True
            break
        if control.unstable:
            ignored += control.unstable
            continue
        while not result.green:
            found = yield from _narrow_down(good, pending, control.only, tuple(ignored))
            if found is None:
                misled, noise = misled + 1, True
                break
            culprits[found.number] = found.broken or result.failing
            pending.remove(found.number)
            if not (pending and control.only):
                break
            left = GroupTrial((*good, *pending), only=control.only, ignored=tuple(ignored))
            result = yield left
            more, result = yield from _find_many(left, result, pending, usual=len(found.broken))
            culprits |= more
            pending = [each for each in pending if each not in more]
        if misled > _MISLED:
            return SearchResult(tuple(good), culprits, tuple(ignored), NOISE, noise)
    return SearchResult(tuple(good), culprits, tuple(ignored), noise=noise)


def _settle_first(
    good: list[int], pending: list[int], trusted: int, ignored: tuple[str, ...]
) -> Generator[GroupTrial, TrialResult, tuple[list[int], list[int]]]:
    """Try the first `trusted` ones alone, and return what is good then and what is pending."""
    if not _FEW < trusted < len(pending):
        return good, pending
    more = [*good, *pending[:trusted]]
    result = yield GroupTrial(tuple(more), ignored=ignored, repeat=False)
    return (more, pending[trusted:]) if result.green else (good, pending)


class _Control(Struct, frozen=True):
    """Tests that fail without the suspects too, and tests to which trials may be limited.
    `noise`: a whole run with the suspects was green when it was repeated.
    """

    only: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    noise: bool = False


class _Culprit(Struct, frozen=True):
    number: int
    broken: tuple[str, ...]


def _run_control(
    good: Sequence[int], suspects: Sequence[int], failing: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[GroupTrial, TrialResult, _Control | str]:
    """Test the tree without the suspects, and with them once more. A test is unstable only if it
    fails without them in a whole run; one that fails, or passes, only alone is not tested alone.
    Return why the search must end, if it must.
    """
    both = (*good, *suspects)
    if failing:
        limited = yield GroupTrial(tuple(good), only=failing, ignored=ignored)
        if limited.green:
            again = yield GroupTrial(both, only=failing, ignored=ignored)
            if not again.green:
                return _Control(only=failing)
    whole = yield GroupTrial(tuple(good), ignored=ignored)
    if whole.green:
        again = yield GroupTrial(both, ignored=ignored, repeat=False)
        return _Control(noise=again.green)
    fresh = tuple(test for test in whole.failing if test not in ignored)
    if whole.trouble or not fresh:
        trouble = f": {whole.trouble}" if whole.trouble else ""
        return f"the checks fail without the fixes, too{trouble}"
    return _Control(unstable=fresh)


def _narrow_down(
    good: Sequence[int], suspects: Sequence[int], only: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[GroupTrial, TrialResult, _Culprit | None]:
    """Halve the suspects, which together turn `only` red on top of the green `good`, to one
    culprit; return it and what it broke, or None if it is not red when it is tried once more.
    """
    cleared = list(good)
    broken: tuple[str, ...] = ()
    halved = len(suspects) > 1
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        result = yield GroupTrial((*cleared, *half), only=only, ignored=ignored, repeat=False)
        if result.green:
            cleared += half
            suspects = suspects[len(half) :]
        else:
            suspects, broken = half, result.failing
    if halved:
        sure = yield GroupTrial((*cleared, *suspects), only=only, ignored=ignored, repeat=False)
        if sure.green:
            return None
        broken = sure.failing or broken
    return _Culprit(suspects[0], broken)


def _find_many(
    trial: GroupTrial, red: TrialResult, suspects: Sequence[int], usual: int
) -> Generator[GroupTrial, TrialResult, tuple[dict[int, tuple[str, ...]], TrialResult]]:
    """Return suspects that each turn tests red by themselves, with what they broke, and the result
    of the trial without them: read from 2 * log2(n) trials for all of them, and each seen red once
    more alone. None are looked for where so few tests fail that they may be the work of one;
    `usual`: how many tests one culprit broke.
    """
    failing = frozenset(red.failing)
    if len(failing) < _MANY * max(1, usual) or len(suspects) <= _FEW:
        return {}, red
    good = [each for each in trial.batches if each not in suspects]
    limited = replace(trial, only=red.failing, repeat=False)
    decoding = decode_causes(suspects, failing)
    causes: dict[str, int] = {}
    try:
        out = next(decoding)
        while True:
            left = (each for each in suspects if each not in out)
            result = yield replace(limited, batches=(*good, *left))
            out = decoding.send(failing.difference(result.failing))
    except StopIteration as end:
        causes = end.value
    found: dict[int, tuple[str, ...]] = {}
    for number in sorted(set(causes.values()), key=list(suspects).index):
        tests = tuple(sorted(test for test, cause in causes.items() if cause == number))
        sure = yield replace(limited, batches=(*good, number), only=tests)
        if not sure.green and not sure.trouble:
            found[number] = sure.failing or tests
    kept = tuple(each for each in trial.batches if each not in found)
    return found, (yield replace(trial, batches=kept)) if found else red


def search_cause(suspects: Sequence[int]) -> Generator[tuple[int, ...], bool, int | None]:
    """Search which suspect, likeliest first, brings about what is seen with all of them in.

    Yields those to leave out, and is sent whether it is still seen. Takes one trial if the first
    suspect is the cause, about 2 * log2(n) if not. Returns None if it is seen without all of them.
    """
    seen_without, size = 0, 1
    while (yield tuple(suspects[:size])):
        if size >= len(suspects):
            return None
        seen_without, size = size, min(size * 2, len(suspects))
    while size - seen_without > 1:
        half = (seen_without + size) // 2
        if (yield tuple(suspects[:half])):
            seen_without = half
        else:
            size = half
    return suspects[size - 1]


def decode_causes(
    suspects: Sequence[int], effects: Collection[Effect]
) -> Generator[tuple[int, ...], Collection[Effect], dict[Effect, int]]:
    """Find the causes of many effects at once, with 2 * log2(n) trials: each suspect is left out
    where its place has a bit set, so that the trials without an effect spell the place of its
    cause. Yields those to leave out, and is sent the effects that are gone then; effects of
    several suspects together are not found.
    """
    codes = dict.fromkeys(effects, 0)
    for bit in range((len(suspects) - 1).bit_length()):
        marked = [each for place, each in enumerate(suspects) if place >> bit & 1]
        gone_with = yield tuple(marked)
        gone_without = yield tuple(each for each in suspects if each not in marked)
        codes = {
            effect: code | (effect in gone_with) << bit
            for effect, code in codes.items()
            if (effect in gone_with) != (effect in gone_without)
        }
    return {effect: suspects[code] for effect, code in codes.items() if code < len(suspects)}


def split_culprits(suspects: Sequence[int]) -> Generator[tuple[int, ...], bool, tuple[int, ...]]:
    """Search all culprits among suspects that are red together, where each is red by itself.

    Yields those to leave in, likely harmless first, and is sent whether that is green. Takes about
    k * log2(n / k) + k trials for k culprits. What is not returned was seen green together.
    """
    good: list[int] = []
    culprits: list[int] = []
    groups = [(list(suspects), True)]
    while groups:
        group, red = groups.pop()
        if not red and (yield (*good, *group)):
            good += group
            continue
        if len(group) == 1:
            culprits += group
            continue
        first, second = group[: len(group) // 2], group[len(group) // 2 :]
        if (yield (*good, *first)):
            good += first
            groups.append((second, True))
        else:
            groups += [(second, False), (first, True)]
    return tuple(culprits)


def replay_search(
    found: Search, results: Sequence[TrialResult]
) -> tuple[GroupTrial | SearchResult, int]:
    """Return the search's next trial or its result after these results, and how many it used.

    Results of other trials, which an earlier version of punchlist asked for, are passed over.
    """
    used = 0
    try:
        trial = next(found)
        for result in results:
            used += 1
            if result.answers(trial):
                trial = found.send(result)
    except StopIteration as end:
        outcome: SearchResult = end.value
        return outcome, used
    return trial, used
