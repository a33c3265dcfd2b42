"""Group testing: the largest set of fixes that keeps the checks green, found with few runs.

The search is a generator of trials. It is replayed from the ledger: feed it the recorded results and it names the next
trial, so a killed search goes on where it was. With k culprits among n fixes it takes about k * log2(n) runs, nearly all
of them limited to the tests that failed.
"""

from collections.abc import Generator, Iterable, Sequence

from msgspec import Struct


class Trial(Struct, frozen=True):
    """Run the checks over these batches together; `only` limits the run to tests that failed before."""

    batches: tuple[int, ...]
    only: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Result(Struct, frozen=True):
    green: bool
    failing: tuple[str, ...] = ()


class Found(Struct, frozen=True):
    """`good` was seen green together, `culprits` turn it red, each with what it broke. `unstable` tests fail without any fix."""

    good: tuple[int, ...] = ()
    culprits: dict[int, tuple[str, ...]] = {}
    unstable: tuple[str, ...] = ()
    gave_up: str = ""


Search = Generator[Trial, Result, Found]


def search(candidates: Sequence[int], settled: Sequence[int] = (), unstable: Sequence[str] = ()) -> Search:
    """Candidates come likeliest-harmless first; `settled` was green before and stays in."""
    good: list[int] = list(settled)
    pending = list(candidates)
    culprits: dict[int, tuple[str, ...]] = {}
    ignored = list(unstable)
    while pending:
        result = yield Trial((*good, *pending), ignored=tuple(ignored))
        if result.green:
            good += pending
            break
        control = yield Trial(tuple(good), only=result.failing, ignored=tuple(ignored))
        if not control.green:
            fresh = [test for test in control.failing if test not in ignored]
            if not fresh:
                return Found(tuple(good), culprits, tuple(ignored), gave_up="the checks fail without any of the fixes, too")
            ignored += fresh
            continue
        while not result.green:
            culprit = yield from _narrow(good, pending, result.failing, tuple(ignored))
            culprits[culprit] = result.failing
            pending.remove(culprit)
            if not (pending and result.failing):
                break
            result = yield Trial((*good, *pending), only=result.failing, ignored=tuple(ignored))
    return Found(tuple(good), culprits, tuple(ignored))


def _narrow(
    good: Sequence[int], suspects: Sequence[int], only: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[Trial, Result, int]:
    """One batch that turns `only` red on top of `good`, which is green, given that all suspects together do."""
    cleared = list(good)
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        result = yield Trial((*cleared, *half), only=only, ignored=ignored)
        if result.green:
            cleared += half
            suspects = suspects[len(half) :]
        else:
            suspects = half
    return suspects[0]


def replayed(found: Search, results: Iterable[Result]) -> Trial | Found:
    """Where the search stands after these results: its next trial, or what it found."""
    try:
        trial = next(found)
        for result in results:
            trial = found.send(result)
    except StopIteration as end:
        outcome: Found = end.value
        return outcome
    return trial
