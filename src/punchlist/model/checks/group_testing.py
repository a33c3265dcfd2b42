"""Group testing: the largest set of fixes that keeps the checks green, found with few runs.

The search is a generator of trials. It is replayed from the ledger: feed it the recorded results
and it names the next trial, so a killed search goes on where it was. With k culprits among n fixes
it takes about k * log2(n) runs, nearly all of them limited to the tests that failed.
"""

from collections.abc import Collection, Generator, Sequence
from typing import TypeVar

from msgspec import Struct

Effect = TypeVar("Effect")


class GroupTrial(Struct, frozen=True):
    """Run the checks over these batches together; `only` limits it to tests that failed before."""

    batches: tuple[int, ...]
    only: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class TrialResult(Struct, frozen=True):
    """`trouble`: the run itself went wrong, so its test results mean nothing."""

    green: bool
    failing: tuple[str, ...] = ()
    trouble: str = ""


class SearchResult(Struct, frozen=True):
    """`good` is green together, `culprits` turn it red, each with what it broke. `unstable` tests
    fail without any fix.
    """

    good: tuple[int, ...] = ()
    culprits: dict[int, tuple[str, ...]] = {}
    unstable: tuple[str, ...] = ()
    gave_up: str = ""


Search = Generator[GroupTrial, TrialResult, SearchResult]


def search(
    candidates: Sequence[int], settled: Sequence[int] = (), unstable: Sequence[str] = ()
) -> Search:
    """Search culprits; candidates come likely harmless first, `settled` is known green."""
    good: list[int] = list(settled)
    pending = list(candidates)
    culprits: dict[int, tuple[str, ...]] = {}
    ignored = list(unstable)
    while pending:
        result = yield GroupTrial((*good, *pending), ignored=tuple(ignored))
        if result.green:
            good += pending
            break
        control = yield from _run_control(good, result.failing, tuple(ignored))
        if isinstance(control, str):
            return SearchResult(tuple(good), culprits, tuple(ignored), gave_up=control)
        if control.unstable:
            ignored += control.unstable
            continue
        while not result.green:
            culprit, broken = yield from _narrow_down(good, pending, control.only, tuple(ignored))
            culprits[culprit] = broken or result.failing
            pending.remove(culprit)
            if not (pending and control.only):
                break
            result = yield GroupTrial((*good, *pending), only=control.only, ignored=tuple(ignored))
    return SearchResult(tuple(good), culprits, tuple(ignored))


class _Control(Struct, frozen=True):
    """Tests that fail without the suspects too, and tests to which trials may be limited."""

    only: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()


def _run_control(
    good: Sequence[int], failing: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[GroupTrial, TrialResult, _Control | str]:
    """Test the tree without the suspects. A test is unstable only if it fails there in a whole run;
    one that fails only alone is not tested alone. Return why the search must end, if it must.
    """
    if failing:
        limited = yield GroupTrial(tuple(good), only=failing, ignored=ignored)
        if limited.green:
            return _Control(only=failing)
    whole = yield GroupTrial(tuple(good), ignored=ignored)
    if whole.green:
        return _Control()
    fresh = tuple(test for test in whole.failing if test not in ignored)
    if whole.trouble or not fresh:
        trouble = f": {whole.trouble}" if whole.trouble else ""
        return f"the checks fail without the fixes, too{trouble}"
    return _Control(unstable=fresh)


def _narrow_down(
    good: Sequence[int], suspects: Sequence[int], only: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[GroupTrial, TrialResult, tuple[int, tuple[str, ...]]]:
    """Halve the suspects, which together turn `only` red on top of the green `good`, to one
    culprit; return it and what it broke.
    """
    cleared = list(good)
    broken: tuple[str, ...] = ()
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        result = yield GroupTrial((*cleared, *half), only=only, ignored=ignored)
        if result.green:
            cleared += half
            suspects = suspects[len(half) :]
        else:
            suspects, broken = half, result.failing
    return suspects[0], broken


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


def replay_search(
    found: Search, results: Sequence[TrialResult]
) -> tuple[GroupTrial | SearchResult, int]:
    """Return the search's next trial or its result after these results, and how many it used."""
    used = 0
    try:
        trial = next(found)
        for result in results:
            used += 1
            trial = found.send(result)
    except StopIteration as end:
        outcome: SearchResult = end.value
        return outcome, used
    return trial, used
