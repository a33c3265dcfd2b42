"""Group testing: the largest set of fixes that keeps the checks green, found with few runs.

The search is a generator of trials. It is replayed from the ledger: feed it the recorded results
and it names the next trial, so a killed search goes on where it was. With k culprits among n fixes
it takes about k * log2(n) runs, nearly all of them limited to the tests that failed.
"""

from collections.abc import Generator, Sequence

from msgspec import Struct


class Trial(Struct, frozen=True):
    """Run the checks over these batches together; `only` limits the run to tests that failed
    before.
    """

    batches: tuple[int, ...]
    only: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Result(Struct, frozen=True):
    """`trouble`: the run itself went wrong, so that what it says of single tests means nothing."""

    green: bool
    failing: tuple[str, ...] = ()
    trouble: str = ""


class Found(Struct, frozen=True):
    """`good` was seen green together, `culprits` turn it red, each with what it broke. `unstable`
    tests fail without any fix.
    """

    good: tuple[int, ...] = ()
    culprits: dict[int, tuple[str, ...]] = {}
    unstable: tuple[str, ...] = ()
    gave_up: str = ""


Search = Generator[Trial, Result, Found]


def search(
    candidates: Sequence[int], settled: Sequence[int] = (), unstable: Sequence[str] = ()
) -> Search:
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
        control = yield from _control(good, result.failing, tuple(ignored))
        if isinstance(control, str):
            return Found(tuple(good), culprits, tuple(ignored), gave_up=control)
        if control.unstable:
            ignored += control.unstable
            continue
        while not result.green:
            culprit, broken = yield from _narrow(good, pending, control.only, tuple(ignored))
            culprits[culprit] = broken or result.failing
            pending.remove(culprit)
            if not (pending and control.only):
                break
            result = yield Trial((*good, *pending), only=control.only, ignored=tuple(ignored))
    return Found(tuple(good), culprits, tuple(ignored))


class _Control(Struct, frozen=True):
    """What the tree without the suspects says: which tests fail there too, and to which tests
    trials may be limited.
    """

    only: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()


def _control(
    good: Sequence[int], failing: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[Trial, Result, _Control | str]:
    """A test is called unstable only if it fails without the suspects in a whole run, as it was
    first seen; one that fails only when run by itself cannot be asked by itself. A control that
    goes wrong ends the search: nobody may be believed.
    """
    if failing:
        limited = yield Trial(tuple(good), only=failing, ignored=ignored)
        if limited.green:
            return _Control(only=failing)
    whole = yield Trial(tuple(good), ignored=ignored)
    if whole.green:
        return _Control()
    fresh = tuple(test for test in whole.failing if test not in ignored)
    if whole.trouble or not fresh:
        return (
            f"the checks fail without the fixes, too{': ' + whole.trouble if whole.trouble else ''}"
        )
    return _Control(unstable=fresh)


def _narrow(
    good: Sequence[int], suspects: Sequence[int], only: tuple[str, ...], ignored: tuple[str, ...]
) -> Generator[Trial, Result, tuple[int, tuple[str, ...]]]:
    """One batch that turns `only` red on top of `good`, which is green, given that all suspects
    together do; what it broke.
    """
    cleared = list(good)
    broken: tuple[str, ...] = ()
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        result = yield Trial((*cleared, *half), only=only, ignored=ignored)
        if result.green:
            cleared += half
            suspects = suspects[len(half) :]
        else:
            suspects, broken = half, result.failing
    return suspects[0], broken


def replayed(found: Search, results: Sequence[Result]) -> tuple[Trial | Found, int]:
    """Where the search stands after these results (its next trial, or what it found), and how many
    of them it took.
    """
    used = 0
    try:
        trial = next(found)
        for result in results:
            used += 1
            trial = found.send(result)
    except StopIteration as end:
        outcome: Found = end.value
        return outcome, used
    return trial, used
