"""Compare what both trees returned for the same inputs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from punchlist.adapters.compare.call_plan import NOT_BY_NAME, CallPlan
from punchlist.adapters.compare.demanded_errors import find_missing_error
from punchlist.adapters.compare.special_cases import find_special_case
from punchlist.model.finding.guarded_text import parse_json
from punchlist.ports.compare import CompareResult

_REACHED = 12
_ANSWERS = 8
"""Equal answers count only if so many calls reached the change, and so many gave an answer."""
_SHOWN = 3
_LONGEST = 160
_Key = tuple[int, int]
"""The indexes of a target and of one of its inputs."""


class CallOutcome(Struct, frozen=True):
    """How one call ended: `ok`, `raise`, `slow`, or `bad` if the input could not be made."""

    ended: str
    said: str = ""
    slight: str = ""


class SideResult(Struct, frozen=True, kw_only=True):
    """All outcomes of one tree's code."""

    calls: dict[_Key, CallOutcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    """By target: how many of its changed lines no call reached."""
    trouble: str = ""


def parse_calls(raw: bytes, trouble: str) -> SideResult:
    """Parse the child's lines; a call that began and never ended hung or crashed."""
    calls: dict[_Key, CallOutcome] = {}
    reached: dict[int, int] = {}
    missed: dict[int, int] = {}
    for line in raw.splitlines():
        try:
            said = parse_json(line, list[str | int])
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
    trouble = "" if calls else trouble or "no call was made"
    return SideResult(calls=calls, reached=reached, missed=missed, trouble=trouble)


def compare_sides(
    plan: CallPlan, old: SideResult, new: SideResult, again: SideResult | None = None
) -> CompareResult:
    """Compare outcomes, except for inputs on which `again`, a second run of the old code, differs
    from `old`.
    """
    if old.trouble or new.trouble:
        return CompareResult(unusable=old.trouble or new.trouble, blind="nothing was called")
    pairs = {
        key: (before, new.calls[key])
        for key, before in old.calls.items()
        if key in new.calls
        and _is_comparable(before, new.calls[key])
        and (again is None or again.calls.get(key) == before)
    }
    differing = {
        key: (before, now)
        for key, (before, now) in pairs.items()
        if (before.ended, before.said) != (now.ended, now.said)
    }
    slight = [pair for key, pair in pairs.items() if key not in differing]
    blind = next(_find_blind_spots(plan, old, new, list(pairs)), "")
    return CompareResult(
        functions=tuple(target.full for target in plan.targets),
        inputs=len(pairs),
        differing=len(differing),
        departing=sum(before.ended == now.ended == "ok" for before, now in differing.values()),
        slight=sum(before.slight != now.slight for before, now in slight),
        examples=tuple(
            _render_difference(plan, key, *pair) for key, pair in islice(differing.items(), _SHOWN)
        ),
        suspicious=_find_suspicion(plan, list(differing)),
        lacking=_find_lack(plan, pairs),
        blind=blind,
        unreached=bool(blind) and all(each.endswith(NOT_BY_NAME) for each in plan.apart),
        inner=any(
            each.changes_inner and not new.reached.get(number)
            for number, each in enumerate(plan.changed)
        ),
    )


def _is_comparable(old: CallOutcome, new: CallOutcome) -> bool:
    return "bad" not in (old.ended, new.ended) and not old.ended == new.ended == "slow"


def _find_suspicion(plan: CallPlan, differing: Sequence[_Key]) -> str:
    """Return a reason only if every differing function is special-cased for the tests."""
    said: list[str] = []
    for number, (target, changed) in enumerate(zip(plan.targets, plan.changed, strict=True)):
        own = [target.inputs[index] for at, index in differing if at == number]
        if own:
            tried = len(target.inputs)
            said.append(find_special_case(changed, plan.test_values, own, tried, plan.words))
    return said[0] if said and all(said) else ""


def _find_lack(plan: CallPlan, pairs: Mapping[_Key, tuple[CallOutcome, CallOutcome]]) -> str:
    """Return which error is asked for and missing; '' unless all that changed could be called, and
    each function gave enough answers.
    """
    if plan.apart or plan.raises_more:
        return ""
    answered = Counter(at for (at, _), (_, now) in pairs.items() if now.ended in ("ok", "raise"))
    if any(answered[at] < _ANSWERS for at in range(len(plan.targets))):
        return ""
    raised = {
        now.said
        for before, now in pairs.values()
        if now.ended == "raise" and (before.ended, before.said) != (now.ended, now.said)
    }
    return find_missing_error(plan.words, plan.changed, raised)


def _find_blind_spots(
    plan: CallPlan, old: SideResult, new: SideResult, compared: Sequence[_Key]
) -> Iterator[str]:
    yield from plan.apart
    for number, target in enumerate(plan.targets):
        tried = [key for key in compared if key[0] == number]
        needed = min(_REACHED, len(target.inputs))
        if (new.reached if target.new else old.reached).get(number, 0) < needed:
            yield f"few of the inputs for {target.full} came by what changed"
        if new.missed.get(number, 1 if target.new else 0):
            yield f"no input for {target.full} came by some of the lines that are new"
        if sum(old.calls[key].ended == "ok" for key in tried) < min(_ANSWERS, len(target.inputs)):
            yield f"few of the inputs for {target.full} gave an answer"


def _render_difference(plan: CallPlan, key: _Key, before: CallOutcome, now: CallOutcome) -> str:
    target = plan.targets[key[0]]
    call = target.inputs[key[1]].render_call(target.full)[:_LONGEST]
    return f"{call}: {_describe_outcome(before)} before, {_describe_outcome(now)} now"


def _describe_outcome(outcome: CallOutcome) -> str:
    match outcome.ended:
        case "ok":
            return outcome.said.partition(" | ")[0].partition(" ")[2][:_LONGEST]
        case "raise":
            return outcome.said
        case _:
            return "no end"
