"""The plan as files: in the format people know, changed by hand, and never a reason to lose an item."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import made_run
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Item
from punchlist.model.item.todo import Approach, Related, Todo
from punchlist.model.ledger.run import ByItem, Conversation, Landing, Run
from punchlist.views.plans.plan_files import TAKEN_OUT, plan_files, read_plan
from punchlist.views.plans.plan_forms import MASTER, sheet_name

FOLDER = "/state/runs/r1/plan-1"


def item(number: int, path: str, title: str = "Missing null check causes crash") -> Item:
    found = Finding(
        id=f"f{number}",
        source="a",
        title=title,
        spot=Spot(path, 42),
        severity=Severity.MAJOR,
        code="def get_user():",
    )
    return Item(number=number, fingerprint=f"{number:016x}", findings=(found,))


def batch(number: int, *items: int) -> Batch:
    return Batch(number=number, items=items, fixer="agent", title="t", paths=())


BATCHES = (batch(1, 1), batch(2, 2), batch(3, 3))


def planned(**changes) -> Run:
    todos = {
        1: Todo(
            item=1,
            steps=("Add a null check", "Return 404"),
            files=("src/api.py",),
            related=(Related("src/models/user.py", "User model"),),
            patterns=("Other endpoints return 404",),
            lines_changed=5,
            verification="Call it with an unknown id",
        )
    }
    doubts = {
        "F001-q1": Doubt(
            "F001-q1", 1, "How should null be handled?", "error handling", "Return 404", "Ada"
        )
    }
    values = {
        "id": "r1",
        "landing": Landing(branch="punchlist/r1"),
        "items": {1: item(1, "src/api.py"), 2: item(2, "src/ui.py"), 3: item(3, "src/api.py")},
        "by_item": ByItem(todos=todos),
        "asking": Conversation(doubts=doubts),
    }
    return made_run(**(values | changes))


def files_of(run: Run, batches=BATCHES, **more) -> dict[str, bytes]:
    return plan_files(run, batches, FOLDER, **more)


def test_the_order_of_work_has_the_known_format():
    master = json.loads(files_of(planned())[MASTER])
    assert master == {
        "session_id": "r1",
        "branch_name": "punchlist/r1",
        "execution_steps": [
            {
                "step": 1,
                "reason": "Issues on different files - can run in parallel",
                "issues": [
                    {
                        "code": "F001",
                        "todo_file": f"{FOLDER}/fix_todo_F001.json",
                        "agent_type": "fixer-single",
                    },
                    {
                        "code": "F002",
                        "todo_file": f"{FOLDER}/fix_todo_F002.json",
                        "agent_type": "fixer-single",
                    },
                ],
            },
            {
                "step": 2,
                "reason": "Issues on same file (src/api.py) - must run after step 1",
                "issues": [
                    {
                        "code": "F003",
                        "todo_file": f"{FOLDER}/fix_todo_F003.json",
                        "agent_type": "fixer-single",
                    }
                ],
            },
        ],
        "summary": {"total_issues": 3, "total_steps": 2},
    }
    assert list(master) == ["session_id", "branch_name", "execution_steps", "summary"]


def test_a_sheet_has_the_known_format():
    files = files_of(planned())
    assert list(files) == [MASTER, "fix_todo_F001.json", "fix_todo_F002.json", "fix_todo_F003.json"]
    sheet = json.loads(files["fix_todo_F001.json"])
    assert sheet == {
        "issue_code": "F001",
        "issue_id": "0000000000000001",
        "file": "src/api.py",
        "line": 42,
        "title": "Missing null check causes crash",
        "clarifications": [
            {
                "question_id": "F001-q1",
                "question": "How should null be handled?",
                "answer": "Return 404",
                "context": "error handling",
            }
        ],
        "context": {
            "file_content_snippet": "def get_user():",
            "related_files": [{"path": "src/models/user.py", "reason": "User model"}],
            "existing_patterns": ["Other endpoints return 404"],
        },
        "plan": {
            "approach": "patch",
            "steps": ["Add a null check", "Return 404"],
            "estimated_lines_changed": 5,
            "risks": [],
            "verification": "Call it with an unknown id",
        },
    }
    assert list(sheet["plan"]) == [
        "approach",
        "steps",
        "estimated_lines_changed",
        "risks",
        "verification",
    ]
    assert files["fix_todo_F001.json"].startswith(b'{\n  "issue_code": "F001",\n')


def test_a_batch_that_must_wait_for_another_is_in_a_later_step():
    plan = planned()
    steps = json.loads(files_of(plan, after={2: (1,)})[MASTER])["execution_steps"]
    assert [[issue["code"] for issue in step["issues"]] for step in steps] == [
        ["F001"],
        ["F002", "F003"],
    ]


def test_files_nobody_touched_say_what_was_planned():
    plan = planned()
    edited = read_plan(files_of(plan), plan, BATCHES)
    assert edited.problems == ()
    assert edited.todos == {1: plan.by_item.todos[1], 2: Todo(item=2), 3: Todo(item=3)}
    assert (edited.order, edited.after, edited.dropped, edited.answers) == (
        {1: 1, 2: 1, 3: 2},
        {},
        {},
        {},
    )


def changed(files: dict[str, bytes], name: str, change) -> dict[str, bytes]:
    value = json.loads(files[name])
    change(value)
    return {**files, name: json.dumps(value).encode()}


def test_a_person_may_change_how_an_item_is_fixed_and_answer_a_question():
    plan = planned()

    def edit(sheet):
        sheet["plan"] |= {
            "approach": "refactor",
            "steps": ["Move it", "Test it"],
            "risks": ["callers"],
        }
        sheet["clarifications"][0]["answer"] = "Raise NotFound"

    edited = read_plan(changed(files_of(plan), "fix_todo_F001.json", edit), plan, BATCHES)
    todo = edited.todos[1]
    assert edited.problems == ()
    assert (todo.approach, todo.steps, todo.risks) == (
        Approach.REFACTOR,
        ("Move it", "Test it"),
        ("callers",),
    )
    assert todo.files == ("src/api.py",)
    assert edited.answers == {"F001-q1": "Raise NotFound"}


def test_an_issue_that_was_moved_waits_for_the_steps_before_it():
    plan = planned()

    def move(master):
        first, second = master["execution_steps"]
        second["issues"].append(first["issues"].pop(1))

    edited = read_plan(changed(files_of(plan), MASTER, move), plan, BATCHES)
    assert (edited.order, edited.after) == ({1: 1, 3: 2, 2: 2}, {2: (1,)})
    assert edited.problems == ()


def test_an_issue_that_was_taken_out_is_named_with_the_reason_and_nobody_else_moves():
    plan = planned()
    files = changed(files_of(plan), MASTER, lambda master: master["execution_steps"].pop(0))
    edited = read_plan(files, plan, BATCHES)
    assert edited.dropped == {1: TAKEN_OUT, 2: TAKEN_OUT}
    assert (list(edited.todos), edited.after, edited.problems) == ([3], {}, ())
    del files["fix_todo_F001.json"]
    assert read_plan(files, plan, BATCHES).problems == ()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (MASTER, b'{"execution_steps": [', "master_todo.json: not JSON: Input data was truncated; every issue stays planned"),
        (MASTER, b"[]", "master_todo.json: Expected `object`, got `array`; every issue stays planned"),
        ("fix_todo_F002.json", b"{", "fix_todo_F002.json: not JSON"),
        ("fix_todo_F002.json", b'{"issue_code": "F002", "plan": {"steps": "do it"}}', "fix_todo_F002.json: plan.steps: Expected `array`"),
        ("fix_todo_F002.json", b'{"issue_code": "F002", "plan": {"approach": "magic"}}', "fix_todo_F002.json: plan.approach: Invalid enum"),
        ("fix_todo_F002.json", b'{"issue_code": "F009"}', 'fix_todo_F002.json: issue_code: is "F009" and must be F002'),
        ("fix_todo_F002.json", b"\xff\xfe", "fix_todo_F002.json: not JSON"),
        ("fix_todo_F002.json", b"[" * 100_000, "fix_todo_F002.json: "),
    ],
)  # fmt: skip
def test_a_broken_file_is_a_problem_with_a_remedy_and_the_plan_stays(name, content, said):
    plan = planned()
    edited = read_plan({**files_of(plan), name: content}, plan, BATCHES)
    (problem,) = edited.problems
    assert problem.startswith(said)
    assert "until that is put right" in problem
    assert edited.todos == {1: plan.by_item.todos[1], 2: Todo(item=2), 3: Todo(item=3)}
    assert edited.dropped == {}


def test_files_that_are_gone_unknown_codes_and_codes_given_twice_are_problems():
    plan = planned()
    files = files_of(plan)

    def spoil(master):
        master["execution_steps"][1]["issues"] += [{"code": "f001"}, {"code": "BE-7"}]

    edited = read_plan(
        {**changed(files, MASTER, spoil), "fix_todo_F008.json": b"{}"}, plan, BATCHES
    )
    assert [problem.partition(": ")[2][:50] for problem in edited.problems] == [
        "execution_steps[1].issues[1].code: f001 stands in ",
        "execution_steps[1].issues[2].code: no issue of thi",
        "no issue of this plan has that code, so it is not ",
    ]  # fmt: skip
    assert edited.order == {1: 1, 2: 1, 3: 2}
    (gone,) = read_plan(
        {name: raw for name, raw in files.items() if name != sheet_name("F002")}, plan, BATCHES
    ).problems
    assert gone.startswith("fix_todo_F002.json: it is gone; its plan stays as it was")
    lost = read_plan({}, plan, BATCHES)
    assert set(lost.todos) == {1, 2, 3}
    assert lost.problems[0].startswith(
        "master_todo.json: it is gone, so every issue stays planned as it was"
    )


TEXT = st.text(max_size=20)
TODOS = st.builds(
    lambda **fields: fields,
    approach=st.sampled_from(Approach),
    steps=st.lists(TEXT, max_size=3).map(tuple),
    files=st.lists(st.sampled_from(["a", "b", "c", "d/e"]), max_size=2).map(tuple),
    related=st.lists(st.builds(Related, TEXT, TEXT), max_size=2).map(tuple),
    snippet=TEXT,
    lines_changed=st.integers(0, 999),
    verification=TEXT,
)


@given(
    st.dictionaries(
        st.integers(1, 40), st.tuples(st.sampled_from(["a", "b", "c", "\udcff"]), TODOS), max_size=6
    ),
    st.data(),
)
def test_whatever_is_planned_is_read_back_and_what_shares_files_is_never_side_by_side(shape, data):
    items = {number: item(number, path) for number, (path, _) in shape.items()}
    todos = {
        number: Todo(item=number, **fields)
        for number, (_, fields) in shape.items()
        if data.draw(st.booleans())
    }
    cut = data.draw(st.integers(0, len(items)))
    numbers = list(items)
    batches = (batch(1, *numbers[:cut]), batch(2, *numbers[cut:]))
    plan = planned(items=items, by_item=ByItem(todos=todos), asking=Conversation())
    edited = read_plan(files_of(plan, batches), plan, batches)
    assert (edited.problems, edited.after, edited.dropped) == ((), {}, {})
    assert edited.todos == {number: todos.get(number, Todo(item=number)) for number in items}
    for step in set(edited.order.values()):
        together = [number for number in items if edited.order[number] == step]
        files = [
            path
            for number in together
            for path in {*edited.todos[number].files, items[number].current.spot.path}
        ]
        assert len(files) == len(set(files))


@given(
    st.dictionaries(
        st.sampled_from([MASTER, *map(sheet_name, ("F001", "F002", "F003"))]),
        st.binary(max_size=60),
    ),
    st.booleans(),
)
def test_whatever_is_in_the_files_every_item_is_planned_or_dropped_with_a_reason(files, whole):
    plan = planned()
    edited = read_plan({**(files_of(plan) if whole else {}), **files}, plan, BATCHES)
    assert set(edited.todos) | set(edited.dropped) == {1, 2, 3}
    assert all(edited.dropped.values())
