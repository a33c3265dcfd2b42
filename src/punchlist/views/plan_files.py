"""The plan as files a person may change before the fixing starts, and what they say afterwards."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.item.batch import Batch
from punchlist.model.item.todo import Todo
from punchlist.model.ledger.run import Run
from punchlist.views.plan_forms import (
    MASTER,
    Blueprint,
    Master,
    Sheet,
    blueprint,
    code,
    master_of,
    sheet_name,
    sheet_of,
    steps,
)

T = TypeVar("T", Master, Sheet)

TAKEN_OUT = f"taken out of {MASTER} by hand: not worked on this round"


class Edited(Struct, frozen=True, kw_only=True):
    """What the files say now. What could not be read stays as it was planned, with a problem that
    says so: nothing is lost.
    """

    todos: dict[int, Todo] = {}
    order: dict[int, int] = {}
    """By item: the step it stands in."""
    after: dict[int, tuple[int, ...]] = {}
    """Items that a person moved to another step, and those of the steps before it, which must be
    done first.
    """
    dropped: dict[int, str] = {}
    """Items that were taken out, and why they are not worked on; they stay open."""
    answers: dict[str, str] = {}
    """Answers to questions that were written or changed in the files, by the question's id."""
    problems: tuple[str, ...] = ()
    """What is wrong with the files: which one, where, and what to do about it."""


def plan_files(
    run: Run,
    batches: Iterable[Batch],
    folder: str,
    after: Mapping[int, tuple[int, ...]] | None = None,
) -> dict[str, bytes]:
    """The files by name, in the order in which a person opens them; `folder` is where they will be.
    `after`: by batch, those whose work must be done before it begins.
    """
    plan = blueprint(run, batches, folder, after)
    sheets = {sheet_name(number): written(sheet_of(plan, number)) for number in plan.numbers}
    return {MASTER: written(master_of(plan)), **sheets}


def read_plan(
    files: Mapping[str, bytes],
    run: Run,
    batches: Iterable[Batch],
    after: Mapping[int, tuple[int, ...]] | None = None,
) -> Edited:
    """`files` are those of the plan's folder, by name; the rest is what they were made of. Never
    raises.
    """
    plan = blueprint(run, batches, after=after)
    master, wrong = _master(files, plan)
    planned = steps(plan)
    if master is None:
        step, dropped = planned, {}
    else:
        step, said = _placed(master, plan)
        wrong += said
        dropped = {number: TAKEN_OUT for number in plan.numbers if number not in step}
    todos: dict[int, Todo] = {}
    answers: dict[str, str] = {}
    for number in step:
        sheet, said = _sheet(files, number)
        wrong += said
        todos[number] = plan.todo(number) if sheet is None else _todo(plan, number, sheet)
        answers |= _answers(sheet, plan) if sheet is not None else {}
    wrong += list(_strays(files, plan, step))
    moved = _moved(step, planned, dropped)
    return Edited(
        todos=todos,
        order=step,
        after=moved,
        dropped=dropped,
        answers=answers,
        problems=tuple(wrong),
    )


def _master(files: Mapping[str, bytes], plan: Blueprint) -> tuple[Master | None, list[str]]:
    """Without a readable order of work nobody took anything out of it."""
    if MASTER not in files:
        hint = (
            "put it back, or take single issues out of it:"
            f" {', '.join(map(code, plan.numbers[:5])) or 'there are none'}"
        )
        return None, [f"{MASTER}: it is gone, so every issue stays planned as it was; {hint}"]
    master, wrong = decoded(MASTER, files[MASTER], Master)
    remedy = "every issue stays planned as it was until that is put right"
    return master, [f"{each}; {remedy}" for each in wrong]


def _placed(master: Master, plan: Blueprint) -> tuple[dict[int, int], list[str]]:
    """The step of each issue that is named, by the order of the steps in the file, whatever number
    each has.
    """
    known = {code(number).casefold(): number for number in plan.numbers}
    step: dict[int, int] = {}
    wrong: list[str] = []
    for place, each in enumerate(master.execution_steps):
        for index, issue in enumerate(each.issues):
            where = f"{MASTER}: execution_steps[{place}].issues[{index}].code"
            number = known.get(issue.code.strip().casefold())
            if number is None:
                wrong.append(
                    f'{where}: no issue of this plan is called "{issue.code}"; take it out, or use'
                    " one of its codes"
                )
            elif number in step:
                wrong.append(
                    f"{where}: {issue.code} stands in an earlier step as well, and that one counts;"
                    " take one of them out"
                )
            else:
                step[number] = place + 1
    return step, wrong


def _sheet(files: Mapping[str, bytes], number: int) -> tuple[Sheet | None, list[str]]:
    name = sheet_name(number)
    remedy = (
        f"its plan stays as it was until that is put right, or {code(number)} is taken out of"
        f" {MASTER}"
    )
    if name not in files:
        return None, [f"{name}: it is gone; {remedy}"]
    sheet, wrong = decoded(name, files[name], Sheet)
    if sheet is not None and sheet.issue_code.strip().casefold() != code(number).casefold():
        return None, [
            f'{name}: issue_code: is "{sheet.issue_code}" and must be {code(number)}; {remedy}'
        ]
    return sheet, [f"{each}; {remedy}" for each in wrong]


def decoded(name: str, raw: bytes, shape: type[T]) -> tuple[T | None, list[str]]:
    try:
        return msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8), type=shape), []
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        where = path.strip("`.")
        return None, [f"{name}: {where + ': ' if where else ''}{message}"]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, [f"{name}: not JSON: {error}"]
    except RecursionError:
        return None, [f"{name}: nested too deeply"]


def _todo(plan: Blueprint, number: int, sheet: Sheet) -> Todo:
    """What a person changed, over what was planned. `files` is ours alone: the sheet has no place
    for it.
    """
    planned, written = plan.todo(number), sheet_of(plan, number)
    said = {ours: getattr(part(sheet), theirs) for ours, (part, theirs) in _FIELDS.items()}
    before = {ours: getattr(part(written), theirs) for ours, (part, theirs) in _FIELDS.items()}
    return replace(
        planned, **{name: value for name, value in said.items() if value != before[name]}
    )


def _way(sheet: Sheet) -> Struct:
    return sheet.plan


def _surroundings(sheet: Sheet) -> Struct:
    return sheet.context


_FIELDS: dict[str, tuple[Callable[[Sheet], Struct], str]] = {
    "approach": (_way, "approach"),
    "steps": (_way, "steps"),
    "lines_changed": (_way, "estimated_lines_changed"),
    "risks": (_way, "risks"),
    "verification": (_way, "verification"),
    "related": (_surroundings, "related_files"),
    "patterns": (_surroundings, "existing_patterns"),
    "snippet": (_surroundings, "file_content_snippet"),
}
"""A todo's fields, and where a sheet has each."""


def _answers(sheet: Sheet, plan: Blueprint) -> dict[str, str]:
    known = {doubt.id: doubt.answer for doubt in plan.doubts}
    said = {each.question_id: each.answer.strip() for each in sheet.clarifications}
    return {
        name: answer
        for name, answer in said.items()
        if name in known and answer and answer != known[name].strip()
    }


def _strays(files: Mapping[str, bytes], plan: Blueprint, step: Iterable[int]) -> Iterator[str]:
    """Sheets of issues that are not planned: somebody may have hoped to add one."""
    ours = {MASTER, *(sheet_name(number) for number in (*plan.numbers, *step))}
    for name in sorted(files):
        if name.startswith("fix_todo_") and name not in ours:
            yield (
                f"{name}: no issue of this plan has that code, so it is not read; issues are found"
                " by reviewers, not added here"
            )


def _moved(
    step: Mapping[int, int], planned: Mapping[int, int], dropped: Mapping[int, str]
) -> dict[int, tuple[int, ...]]:
    """Only what a person moved waits for whole steps: the others wait for whom they share files
    with, and for nobody else.
    """
    written = _dense({number: place for number, place in planned.items() if number not in dropped})
    now = _dense(step)
    return {
        number: tuple(other for other, place in now.items() if place < now[number])
        for number in now
        if now[number] != written.get(number)
    }


def _dense(step: Mapping[int, int]) -> dict[int, int]:
    """The same order without the numbers of steps that are empty by now."""
    rank = {place: index for index, place in enumerate(sorted(set(step.values())), 1)}
    return {number: rank[place] for number, place in step.items()}


def written(value: Master | Sheet) -> bytes:
    """For people, so that odd bytes of names are shown as replacements; the items are known by
    their codes.
    """
    plain = msgspec.to_builtins(value)
    try:
        raw = msgspec.json.encode(plain)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_readable(plain))
    return msgspec.json.format(raw, indent=2) + b"\n"


def _readable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_readable(each) for each in value]
        case dict():
            return {key: _readable(each) for key, each in value.items()}
        case _:
            return value
