"""The plan as files that the user may edit before fixing starts, and their parser."""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.guarded_text import Unparsable, parse_json
from punchlist.model.item.batch import Batch
from punchlist.model.item.todo import Todo
from punchlist.model.ledger.run import Run
from punchlist.views.plans.plan_forms import (
    MASTER,
    Blueprint,
    Master,
    Sheet,
    assign_steps,
    make_blueprint,
    make_master,
    make_sheet,
    sheet_name,
)

T = TypeVar("T", Master, Sheet)

TAKEN_OUT = f"taken out of {MASTER} by hand: not worked on this round"


class EditedPlan(Struct, frozen=True, kw_only=True):
    """The plan as edited. An unreadable part stays as planned, and is named in `problems`."""

    todos: dict[int, Todo] = {}
    order: dict[int, int] = {}
    """By item: the step it stands in."""
    after: dict[int, tuple[int, ...]] = {}
    """Items that the user moved to another step, and those of the steps before it."""
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
    """Return the files by name, in reading order; `folder` is where they will be. `after`: by
    batch, those that must be done before it begins.
    """
    plan = make_blueprint(run, batches, folder, after)
    sheets = {
        sheet_name(plan.codes[number]): encode_file(make_sheet(plan, number))
        for number in plan.numbers
    }
    return {MASTER: encode_file(make_master(plan)), **sheets}


def read_plan(
    files: Mapping[str, bytes],
    run: Run,
    batches: Iterable[Batch],
    after: Mapping[int, tuple[int, ...]] | None = None,
) -> EditedPlan:
    """Parse the plan's `files`, by name, against the plan they were made from. Never raises."""
    plan = make_blueprint(run, batches, after=after)
    master, wrong = _read_master(files, plan)
    planned = assign_steps(plan)
    if master is None:
        step, dropped = planned, {}
    else:
        step, said = _read_steps(master, plan)
        wrong += said
        dropped = {number: TAKEN_OUT for number in plan.numbers if number not in step}
    todos: dict[int, Todo] = {}
    answers: dict[str, str] = {}
    for number in step:
        sheet, said = _read_sheet(files, plan.codes[number])
        wrong += said
        todos[number] = plan.todo(number) if sheet is None else _merge_todo(plan, number, sheet)
        answers |= _changed_answers(sheet, plan) if sheet is not None else {}
    problems = (*wrong, *_find_strays(files, plan, step))
    moved = _find_moved(step, planned, dropped)
    return EditedPlan(
        todos=todos, order=step, after=moved, dropped=dropped, answers=answers, problems=problems
    )


def _read_master(files: Mapping[str, bytes], plan: Blueprint) -> tuple[Master | None, list[str]]:
    """Return the master file, or None and problems: then nothing counts as taken out."""
    if MASTER not in files:
        codes = ", ".join(plan.codes[number] for number in plan.numbers[:5]) or "there are none"
        hint = f"put it back, or take single issues out of it: {codes}"
        return None, [f"{MASTER}: it is gone, so every issue stays planned as it was; {hint}"]
    master, wrong = decode_file(MASTER, files[MASTER], Master)
    remedy = "every issue stays planned as it was until that is put right"
    return master, [f"{each}; {remedy}" for each in wrong]


def _read_steps(master: Master, plan: Blueprint) -> tuple[dict[int, int], list[str]]:
    """Return each issue's step, by the order of steps in the file, and problems."""
    known = {plan.codes[number].casefold(): number for number in plan.numbers}
    step: dict[int, int] = {}
    wrong: list[str] = []
    for place, each in enumerate(master.execution_steps):
        for index, issue in enumerate(each.issues):
            where = f"{MASTER}: execution_steps[{place}].issues[{index}].code"
            number = known.get(issue.code.strip().casefold())
            if number is None:
                odd = f'no issue of this plan is called "{issue.code}"'
                wrong.append(f"{where}: {odd}; take it out, or use one of its codes")
            elif number in step:
                odd = f"{issue.code} stands in an earlier step as well, and that one counts"
                wrong.append(f"{where}: {odd}; take one of them out")
            else:
                step[number] = place + 1
    return step, wrong


def _read_sheet(files: Mapping[str, bytes], code: str) -> tuple[Sheet | None, list[str]]:
    name = sheet_name(code)
    remedy = f"its plan stays as it was until that is put right, or {code} is taken out of {MASTER}"
    if name not in files:
        return None, [f"{name}: it is gone; {remedy}"]
    sheet, wrong = decode_file(name, files[name], Sheet)
    if sheet is not None and sheet.issue_code.strip().casefold() != code.casefold():
        return None, [f'{name}: issue_code: is "{sheet.issue_code}" and must be {code}; {remedy}']
    return sheet, [f"{each}; {remedy}" for each in wrong]


def decode_file(name: str, raw: bytes, shape: type[T]) -> tuple[T | None, list[str]]:
    try:
        return parse_json(raw.removeprefix(codecs.BOM_UTF8), shape), []
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        where = path.strip("`.")
        return None, [f"{name}: {where + ': ' if where else ''}{message}"]
    except Unparsable as error:
        return None, [f"{name}: {error}"]
    except msgspec.DecodeError as error:
        return None, [f"{name}: not JSON: {error}"]


def _merge_todo(plan: Blueprint, number: int, sheet: Sheet) -> Todo:
    """Return the planned todo with the user's changes; `files` is not in the sheet."""
    written, edited = _todo_fields(make_sheet(plan, number)), _todo_fields(sheet)
    changes = {name: value for name, value in edited.items() if value != written[name]}
    return replace(plan.todo(number), **changes)


def _todo_fields(sheet: Sheet) -> dict[str, Any]:
    """Return the fields of a todo that a sheet has."""
    plan, context = sheet.plan, sheet.context
    return {
        "approach": plan.approach,
        "steps": plan.steps,
        "lines_changed": plan.estimated_lines_changed,
        "risks": plan.risks,
        "verification": plan.verification,
        "related": context.related_files,
        "patterns": context.existing_patterns,
        "snippet": context.file_content_snippet,
    }


def _changed_answers(sheet: Sheet, plan: Blueprint) -> dict[str, str]:
    known = {doubt.id: doubt.answer for doubt in plan.doubts}
    said = {each.question_id: each.answer.strip() for each in sheet.clarifications}
    return {
        name: answer
        for name, answer in said.items()
        if name in known and answer and answer != known[name].strip()
    }


def _find_strays(files: Mapping[str, bytes], plan: Blueprint, step: Iterable[int]) -> Iterator[str]:
    """Yield problems for sheets of issues that are not planned."""
    ours = {MASTER, *(sheet_name(plan.codes[number]) for number in (*plan.numbers, *step))}
    for name in sorted(files):
        if name.startswith("fix_todo_") and name not in ours:
            hint = "issues are found by reviewers, not added here"
            yield f"{name}: no issue of this plan has that code, so it is not read; {hint}"


def _find_moved(
    step: Mapping[int, int], planned: Mapping[int, int], dropped: Mapping[int, str]
) -> dict[int, tuple[int, ...]]:
    """Return items that the user moved, and those of earlier steps they wait for."""
    kept = {number: place for number, place in planned.items() if number not in dropped}
    written = _renumber_steps(kept)
    now = _renumber_steps(step)
    return {
        number: tuple(other for other, place in now.items() if place < now[number])
        for number in now
        if now[number] != written.get(number)
    }


def _renumber_steps(step: Mapping[int, int]) -> dict[int, int]:
    """Return the same order without empty steps."""
    rank = {place: index for index, place in enumerate(sorted(set(step.values())), 1)}
    return {number: rank[place] for number, place in step.items()}


def encode_file(value: Master | Sheet) -> bytes:
    """Encode as indented JSON; odd bytes in names become replacement characters."""
    plain = msgspec.to_builtins(value)
    try:
        raw = msgspec.json.encode(plain)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_replace_odd(plain))
    return msgspec.json.format(raw, indent=2) + b"\n"


def _replace_odd(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_replace_odd(each) for each in value]
        case dict():
            return {key: _replace_odd(each) for key, each in value.items()}
        case _:
            return value
