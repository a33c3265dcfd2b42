"""Compare what both trees returned for the same inputs."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from punchlist.adapters.compare.call_plan import CallPlan
from punchlist.adapters.compare.special_cases import find_special_case
from punchlist.ports.compare import CompareResult

_REACHED = 12
_ANSWERS = 8
"""So many calls must have come by the change, and so many given an answer, before sameness means
something.
"""
_SHOWN = 3
_LONGEST = 160


class CallOutcome(Struct, frozen=True):
    """How one call ended: `ok`, `raise`, `slow`, or `bad` if the input could not be made."""

    ended: str
    said: str = ""
    slight: str = ""


class SideResult(Struct, frozen=True, kw_only=True):
    """All outcomes of one tree's code."""

    calls: dict[tuple[int, int], CallOutcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    """By target: how many of its changed lines no call came by."""
    trouble: str = ""


def parse_calls(raw: bytes, trouble: str) -> SideResult:
    """Parse the child's lines; a call that began and never ended hung or crashed."""
    calls: dict[tuple[int, int], CallOutcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    for line in raw.splitlines():
        try:
            said = msgspec.json.decode(line, type=list[str | int])
        except (msgspec.DecodeError, ValueError):
            continue
        match said:
            case [int(target), int(index), "begun"]:
                calls[target, index] = CallOutcome("slow")
            case [int(target), _, "reached", int(times), int(left)]:
                reached[target], missed[target] = times, left
            case [_, _, "unloaded", why]:
                return SideResult(trouble=f"it cannot be imported: {why}")
            case [
                int(target),
                int(index),
                ("ok" | "raise" | "slow" | "bad") as ended,
                str(answer),
                str(slight),
            ]:
                calls[target, index] = CallOutcome(ended, answer, slight)
            case _:
                continue
    return SideResult(
        calls=calls,
        reached=reached,
        missed=missed,
        trouble="" if calls else trouble or "no call was made",
    )


def compare_sides(
    plan: CallPlan, old: SideResult, new: SideResult, again: SideResult | None = None
) -> CompareResult:
    """Compare outcomes; inputs for which `again`, a second run of the old code, differs are left
    out.
    """
    if old.trouble or new.trouble:
        return CompareResult(unusable=old.trouble or new.trouble, blind="nothing was called")
    counted = [
        key
        for key in old.calls
        if key in new.calls and _is_comparable(old.calls[key], new.calls[key])
    ]
    steady = [key for key in counted if again is None or again.calls.get(key) == old.calls[key]]
    differing = [
        key for key in steady if _answer_key(old.calls[key]) != _answer_key(new.calls[key])
    ]
    departing = [key for key in differing if old.calls[key].ended == new.calls[key].ended == "ok"]
    slight = [
        key
        for key in steady
        if key not in differing and old.calls[key].slight != new.calls[key].slight
    ]
    return CompareResult(
        functions=tuple(target.full for target in plan.targets),
        inputs=len(steady),
        differing=len(differing),
        departing=len(departing),
        slight=len(slight),
        examples=tuple(_render_difference(plan, key, old, new) for key in differing[:_SHOWN]),
        suspicious=_find_suspicion(plan, differing),
        blind=_first_blind_spot(plan, old, new, steady),
    )


def _is_comparable(old: CallOutcome, new: CallOutcome) -> bool:
    return "bad" not in (old.ended, new.ended) and not old.ended == new.ended == "slow"


def _answer_key(outcome: CallOutcome) -> tuple[str, str]:
    return outcome.ended, outcome.said


def _find_suspicion(plan: CallPlan, differing: list[tuple[int, int]]) -> str:
    """Return a reason only if every differing function is special-cased for the tests."""
    said: list[str] = []
    for number, (target, changed) in enumerate(zip(plan.targets, plan.changed, strict=True)):
        own = [target.inputs[index] for at, index in differing if at == number]
        if own:
            said.append(find_special_case(changed, plan.told, own, len(target.inputs)))
    return said[0] if said and all(said) else ""


def _first_blind_spot(
    plan: CallPlan, old: SideResult, new: SideResult, steady: list[tuple[int, int]]
) -> str:
    return next(_find_blind_spots(plan, old, new, steady), "")


def _find_blind_spots(
    plan: CallPlan, old: SideResult, new: SideResult, steady: list[tuple[int, int]]
) -> Iterator[str]:
    yield from plan.apart
    for number, target in enumerate(plan.targets):
        tried = [key for key in steady if key[0] == number]
        needed = min(_REACHED, len(target.inputs))
        if (new.reached if target.new else old.reached).get(number, 0) < needed:
            yield f"few of the inputs for {target.full} came by what changed"
        if new.missed.get(number, 1 if target.new else 0):
            yield f"no input for {target.full} came by some of the lines that are new"
        if sum(old.calls[key].ended == "ok" for key in tried) < min(_ANSWERS, len(target.inputs)):
            yield f"few of the inputs for {target.full} gave an answer"


def _render_difference(
    plan: CallPlan, key: tuple[int, int], old: SideResult, new: SideResult
) -> str:
    target = plan.targets[key[0]]
    call = target.inputs[key[1]].render_call(target.full)[:_LONGEST]
    before, now = _describe_outcome(old.calls[key]), _describe_outcome(new.calls[key])
    return f"{call}: {before} before, {now} now"


def _describe_outcome(outcome: CallOutcome) -> str:
    match outcome.ended:
        case "ok":
            return outcome.said.partition(" | ")[0].partition(" ")[2][:_LONGEST]
        case "raise":
            return outcome.said
        case _:
            return "no end"
