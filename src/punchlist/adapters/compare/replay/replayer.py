"""Record the calls that tests make, make them again elsewhere, and judge by the answers."""

import ast
import asyncio
import base64
import pickle
import re
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.environment import CheckoutContext
from punchlist.adapters.compare.replay.bare import (
    AFTER_OTHERS,
    LATER,
    PLAINLY,
    RECORDED,
    THOROUGHLY,
    BareAnswers,
    BarePlan,
    Manner,
    call_bare,
)
from punchlist.adapters.compare.replay.evidence import Evidence, find_turned
from punchlist.adapters.compare.replay.named_calls import list_named_calls, read_arguments
from punchlist.adapters.compare.replay.plants import Plant, find_blind, lay_plants
from punchlist.adapters.compare.replay.recording import (
    RecordedCall,
    Recording,
    RecordPlan,
    record_calls,
)
from punchlist.adapters.compare.replay.relations import (
    changes_bodies_only,
    find_relations,
    find_subjects,
    has_grown_table,
    keeps_definitions,
    list_literals,
)
from punchlist.adapters.compare.replay.verdicts import (
    Question,
    find_refutation,
    is_unclear,
    refute_table,
)
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.model.checks.check import TestOutcome
from punchlist.model.checks.planted_tests import describe_blindness, name_plant, plant_test
from punchlist.model.checks.protected import Protected
from punchlist.ports.compare import ReplayRequest, ReplayResult
from punchlist.ports.tree import Tree

_MOST = 200
_NAMED = 8
_LIMIT = 2
"""Up to here a number is a limit case."""
_PYTHON = ".py"

_QUOTED = re.compile(r"""(?<=['"])[^\W\d_]{2,}(?=['"])""")
_FILES = 500
"""The most files of a project whose words are looked up."""


class Sides(Struct, frozen=True):
    """The trees without and with the patch, and where their code runs."""

    before: Tree
    after: Tree
    ground: CheckoutContext
    python: str
    protected: Protected

    def is_code(self, path: str) -> bool:
        return path.endswith(_PYTHON) and not self.protected.holds(path)

    def list_data(self) -> tuple[str, ...]:
        """Return the files of the tests that are not code."""
        files = self.before.files()
        return tuple(p for p in files if self.protected.holds(p) and not p.endswith(_PYTHON))


async def replay_calls(sides: Sides, request: ReplayRequest) -> ReplayResult:
    plants = _plan_plants(sides, request)
    old = await _record(sides, sides.before, request, plants, state=True)
    if old.trouble and plants:
        plants = {}
        old = await _record(sides, sides.before, request, plants, state=True)
    if old.trouble:
        return ReplayResult(unusable=old.trouble)
    new = await _record(sides, sides.after, request, plants, state=False)
    if new.trouble:
        return ReplayResult(unusable=new.trouble)
    if blind := find_blind(old, new):
        again = await _record(sides, sides.after, request, plants, state=False)
        if find_blind(old, again):
            return ReplayResult(refuted=describe_blindness(blind))
    said = await _judge_answers(sides, request, old, new)
    if said.unusable or not said.whole:
        blind = await _find_blind_in_place(sides, request, old, new)
        return replace(said, refuted=describe_blindness(blind)) if blind else said
    return said


async def _judge_answers(
    sides: Sides, request: ReplayRequest, old: Recording, new: Recording
) -> ReplayResult:
    """Make the recorded calls again, and those that the findings name."""
    named = _find_named(sides, request, old)
    calls = (*named, *_select_calls(old, new, request.paths))
    if not calls:
        return ReplayResult(unusable=_explain_none(old))
    seen = await _ask_both(sides, request, calls, (old, new))
    if seen.old.trouble or seen.new.trouble:
        return ReplayResult(unusable=seen.old.trouble or seen.new.trouble)
    question = _build_question(sides, request, seen)
    if request.asks_change:
        question = replace(question, named=frozenset(call.key for call in named))
    refuted = find_refutation(seen, question)
    if refuted:
        # Ask again before refusing: code that asks the clock or chance is excused.
        asked = await _ask_again(sides, request, seen)
        refuted = find_refutation(asked, question)
        if refuted and refuted == refute_table(asked, question):
            refuted = refute_table(await _ask_more(sides, request, asked), question)
    steady = {call.name for call in calls if call.function not in seen.unsteady}
    answered = sum(turn == RECORDED for _, turn in seen.new.calls)
    both = [(old, new) for _, _, old, new in seen.pairs()]
    effects = sum(new.has_other_effect(old) for old, new in both)
    return ReplayResult(
        refuted=refuted,
        functions=tuple(sorted(steady)),
        calls=answered,
        compared=sum(not is_unclear(old) and not is_unclear(new) for old, new in both),
        effects=effects,
        additive=question.additive,
        whole=bool(refuted) or seen.is_whole(),
    )


async def _find_blind_in_place(
    sides: Sides, request: ReplayRequest, old: Recording, new: Recording
) -> str:
    """Return a test that turned green and stays so whatever it asks for, or ''. Its copies stand in
    the place of the tests, so no name tells the code which of them runs.
    """
    turned = find_turned(old, new)
    mark = f"t{secrets.token_hex(4)}"
    texts = {path: plant_test(sides.after.text(path) or "", mark) for path in request.tests}
    plants = {path: Plant(path, text) for path, text in texts.items() if text}
    if not turned or not plants:
        return ""
    for tree, wanted in ((sides.after, TestOutcome.PASSED), (sides.before, TestOutcome.FAILED)):
        planted = replace(request, tests=tuple(plants))
        with lay_plants(tree, plants):
            seen = await _record(sides, tree, planted, {}, state=False)
        turned = frozenset(test for test in turned if seen.tests.get(test) is wanted)
        if not turned:
            return ""
    return min(turned)


def _plan_plants(sides: Sides, request: ReplayRequest) -> dict[str, Plant]:
    """Return copies of the tests that must fail, by path; a name by chance tells them apart."""
    mark = f"t{secrets.token_hex(4)}"
    planted = {path: plant_test(sides.after.text(path) or "", mark) for path in request.tests}
    return {name_plant(path, mark): Plant(path, text) for path, text in planted.items() if text}


async def _record(
    sides: Sides, tree: Tree, request: ReplayRequest, plants: Mapping[str, Plant], *, state: bool
) -> Recording:
    code = tuple(path for path in tree.files() if sides.is_code(path))
    plan = RecordPlan(
        check=request.check,
        tests=request.tests,
        code=code,
        state=state,
        plants={path: plant.test for path, plant in plants.items()},
        data=sides.list_data(),
    )
    with lay_plants(tree, plants), temporary_folder("punchlist-calls-") as made:
        return await record_calls(plan, tree, sides.ground, resolve_path(made))


def _select_calls(old: Recording, new: Recording, paths: Sequence[str]) -> tuple[RecordedCall, ...]:
    """Return different calls that can be made again: those of tests that change first, then those
    of code that the patch touches.
    """
    changing = {test for test in old.tests if old.tests[test] is not new.tests.get(test)}
    arranged = {call.key for call in old.calls if not call.repeatable}
    known: dict[str, RecordedCall] = {}

    def rank(call: RecordedCall) -> tuple[bool, bool]:
        return call.test not in changing, call.file not in paths

    for call in sorted((*old.calls, *new.calls), key=rank):
        if call.repeatable and call.key not in arranged:
            known.setdefault(call.key, call)
    return tuple(known.values())[:_MOST]


def _find_named(sides: Sides, request: ReplayRequest, old: Recording) -> list[RecordedCall]:
    """Return the calls with plain arguments that the findings name."""
    paths = dict.fromkeys((*(path for path, _ in request.spots), *request.paths))
    modules = {call.file: (call.module, call.path) for call in old.calls}
    found: list[RecordedCall] = []
    for path in paths:
        text = sides.before.text(path) if sides.is_code(path) else None
        dotted = path.removesuffix(_PYTHON).removeprefix("src/").removesuffix("/__init__")
        module, folders = modules.get(path, (dotted.replace("/", "."), ()))
        for call in list_named_calls(text or "", request.words):
            shown = ast.unparse(call).partition("(")[2].removesuffix(")")
            found.append(
                RecordedCall(
                    test="",
                    file=path,
                    module=module,
                    name=ast.unparse(call.func),
                    key=sha256(f"{module}\n{ast.unparse(call)}".encode()).hexdigest()[:16],
                    input=base64.b64encode(pickle.dumps(read_arguments(call))).decode(),
                    shown=shown,
                    path=folders,
                )
            )
    return found[:_NAMED]


def _explain_none(old: Recording) -> str:
    if not old.calls:
        return "no test calls it"
    arranged = next((call.arranged for call in old.calls if call.arranged), "")
    why = f"the test {arranged}" if arranged else "its arguments cannot be copied"
    return f"the calls of the tests cannot be repeated elsewhere: {why}"


async def _ask_both(
    sides: Sides,
    request: ReplayRequest,
    calls: tuple[RecordedCall, ...],
    under: tuple[Recording, Recording],
) -> Evidence:
    plan = _build_plan(sides, request, calls)
    old, new, later = await asyncio.gather(
        _call(plan, sides, sides.before, PLAINLY),
        _call(plan, sides, sides.after, PLAINLY),
        _call(plan, sides, sides.after, LATER),
    )
    return Evidence(
        calls=calls, under_old=under[0], under_new=under[1], old=old, new=new, later=later
    )


async def _ask_again(sides: Sides, request: ReplayRequest, seen: Evidence) -> Evidence:
    plan = _build_plan(sides, request, seen.calls)
    again, others, old_later = await asyncio.gather(
        _call(plan, sides, sides.after, PLAINLY),
        _call(plan, sides, sides.after, AFTER_OTHERS),
        _call(plan, sides, sides.before, LATER),
    )
    return replace(seen, again=again, after_others=others, old_later=old_later)


async def _ask_more(sides: Sides, request: ReplayRequest, seen: Evidence) -> Evidence:
    """Ask both versions for more similar inputs; with trouble the known answers stand."""
    plan = _build_plan(sides, request, seen.calls)
    old, new = await asyncio.gather(
        _call(plan, sides, sides.before, THOROUGHLY), _call(plan, sides, sides.after, THOROUGHLY)
    )
    if old.trouble or new.trouble:
        return seen
    return replace(seen, old=old, new=new, again=seen.new, thorough=True)


async def _call(plan: BarePlan, sides: Sides, tree: Tree, manner: Manner) -> BareAnswers:
    return await call_bare(plan, tree, sides.ground, manner)


def _build_plan(sides: Sides, request: ReplayRequest, calls: tuple[RecordedCall, ...]) -> BarePlan:
    texts = [sides.after.text(path) or "" for path in (*request.paths, *request.tests)]
    return BarePlan(
        python=sides.python,
        calls=calls,
        modules=tuple(sorted(_list_modules(sides, calls))),
        literals=list_literals(texts),
        changed=frozenset(request.paths),
        data=sides.list_data(),
    )


def _list_modules(sides: Sides, calls: Sequence[RecordedCall]) -> set[str]:
    """Return the names by which the code's modules can be imported."""
    roots = {part for call in calls for part in call.path} | {".", "src"}
    found = {call.module for call in calls}
    for path in sides.after.files():
        if sides.is_code(path):
            for root in roots:
                below = path if root == "." else path.removeprefix(f"{root}/")
                name = below.removesuffix(_PYTHON).removesuffix("/__init__").replace("/", ".")
                found.add(name)
    return found


def _build_question(sides: Sides, request: ReplayRequest, seen: Evidence) -> Question:
    made = {call.file for call in seen.calls}
    paths = {*request.paths, *(path for path, _ in request.spots), *made}
    code = [path for path in sorted(paths) if path.endswith(_PYTHON)]
    texts = {p: (sides.before.text(p) or "", sides.after.text(p) or "") for p in code}
    changed = {path: texts[path] for path in request.paths if path in texts}
    called = {
        part
        for call in seen.under_new.calls
        if call.test in seen.turned
        for part in call.name.split(".")
    }
    related = find_relations(texts, request.spots, request.words, frozenset(called))
    subjects = find_subjects(texts, request.spots, request.words) - related.affected
    known = list_literals((old for old, _ in changed.values()), most=1000)
    return Question(
        words=request.words,
        allowed=related.allowed,
        affected=related.affected,
        plain=len(changed) == len(request.paths) and changes_bodies_only(changed),
        additive=len(changed) == len(request.paths) and keeps_definitions(changed),
        grown=has_grown_table(changed),
        untouched=subjects if request.asks_change else frozenset(),
        constants=frozenset(part for each in known for part in re.findall(r"[^\W\d_]+", str(each))),
        counts=any(isinstance(each, int | float) and abs(each) > _LIMIT for each in known),
        vocabulary=_list_vocabulary(sides),
    )


def _list_vocabulary(sides: Sides) -> frozenset[str]:
    """Return the words that stand alone between quotes in the code as it was, in lower case."""
    files = [path for path in sides.before.files() if sides.is_code(path)][:_FILES]
    texts = (sides.before.text(path) or "" for path in files)
    return frozenset(word.lower() for text in texts for word in _QUOTED.findall(text))
