"""What both sides made of the same inputs, held against each other."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from punchlist.adapters.compare.call_plan import Plan
from punchlist.adapters.compare.special_cases import special_cased
from punchlist.ports.compare import Compared

_REACHED = 12
_ANSWERS = 8
"""So many calls must have come by the change, and so many given an answer, before sameness means
something.
"""
_SHOWN = 3
_LONGEST = 160


class Outcome(Struct, frozen=True):
    """How one call ended: `ok`, `raise`, `slow`, or `bad` if the input could not be made."""

    ended: str
    said: str = ""
    slight: str = ""


class Side(Struct, frozen=True, kw_only=True):
    """All that one tree's code was heard to do."""

    calls: dict[tuple[int, int], Outcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    """By target: how many of its changed lines no call came by."""
    trouble: str = ""


def read(raw: bytes, trouble: str) -> Side:
    """The child's lines; a call that was begun and never ended is one that hung or took the process
    with it.
    """
    calls: dict[tuple[int, int], Outcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    for line in raw.splitlines():
        try:
            said = msgspec.json.decode(line, type=list[str | int])
        except (msgspec.DecodeError, ValueError):
            continue
        match said:
            case [int(target), int(index), "begun"]:
                calls[target, index] = Outcome("slow")
            case [int(target), _, "reached", int(times), int(left)]:
                reached[target], missed[target] = times, left
            case [_, _, "unloaded", why]:
                return Side(trouble=f"it cannot be imported: {why}")
            case [
                int(target),
                int(index),
                ("ok" | "raise" | "slow" | "bad") as ended,
                str(answer),
                str(slight),
            ]:
                calls[target, index] = Outcome(ended, answer, slight)
            case _:
                continue
    return Side(
        calls=calls,
        reached=reached,
        missed=missed,
        trouble="" if calls else trouble or "no call was made",
    )


def differences(plan: Plan, old: Side, new: Side, again: Side | None = None) -> Compared:
    """`again`: the old code a second time; inputs it answers differently by itself are left out."""
    if old.trouble or new.trouble:
        return Compared(unusable=old.trouble or new.trouble, blind="nothing was called")
    counted = [
        key for key in old.calls if key in new.calls and _counts(old.calls[key], new.calls[key])
    ]
    steady = [key for key in counted if again is None or again.calls.get(key) == old.calls[key]]
    differing = [key for key in steady if _said(old.calls[key]) != _said(new.calls[key])]
    departing = [key for key in differing if old.calls[key].ended == new.calls[key].ended == "ok"]
    slight = [
        key
        for key in steady
        if key not in differing and old.calls[key].slight != new.calls[key].slight
    ]
    return Compared(
        functions=tuple(target.full for target in plan.targets),
        inputs=len(steady),
        differing=len(differing),
        departing=len(departing),
        slight=len(slight),
        examples=tuple(_shown(plan, key, old, new) for key in differing[:_SHOWN]),
        suspicious=_suspicion(plan, differing),
        blind=_blindness(plan, old, new, steady),
    )


def _counts(old: Outcome, new: Outcome) -> bool:
    return "bad" not in (old.ended, new.ended) and not old.ended == new.ended == "slow"


def _said(outcome: Outcome) -> tuple[str, str]:
    return outcome.ended, outcome.said


def _suspicion(plan: Plan, differing: list[tuple[int, int]]) -> str:
    """Only if every function that differs does so for the sake of the tests."""
    said: list[str] = []
    for number, (target, changed) in enumerate(zip(plan.targets, plan.changed, strict=True)):
        own = [target.inputs[index] for at, index in differing if at == number]
        if own:
            said.append(special_cased(changed, plan.told, own, len(target.inputs)))
    return said[0] if said and all(said) else ""


def _blindness(plan: Plan, old: Side, new: Side, steady: list[tuple[int, int]]) -> str:
    return next(_blind_spots(plan, old, new, steady), "")


def _blind_spots(plan: Plan, old: Side, new: Side, steady: list[tuple[int, int]]) -> Iterator[str]:
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


def _shown(plan: Plan, key: tuple[int, int], old: Side, new: Side) -> str:
    target = plan.targets[key[0]]
    call = target.inputs[key[1]].shown(target.full)[:_LONGEST]
    return f"{call}: {_word(old.calls[key])} before, {_word(new.calls[key])} now"


def _word(outcome: Outcome) -> str:
    match outcome.ended:
        case "ok":
            return outcome.said.partition(" | ")[0].partition(" ")[2][:_LONGEST]
        case "raise":
            return outcome.said
        case _:
            return "no end"
