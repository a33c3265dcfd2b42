"""Rounds: when a loop is done, when a person is asked, what the answers do, and how circles are noticed."""

import pytest
from msgspec.structs import replace
from scripted import MAJOR, MINOR, Said, Words, finding

from made import made_run
from punchlist.engine.stop_rules import stop_reason
from punchlist.errors import WorkflowError
from punchlist.model.dedup.identity import Source
from punchlist.model.finding.finding import Spot
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.run import Round, Run, WorkflowPosition
from punchlist.workflow.language import Until
from punchlist.workflow.loader import load_builtin

ASKING = """
steps:
  - review
  - consolidate
  - repeat:
      rounds: {rounds}
      on_limit: {on_limit}
      hard_cap: {cap}
      steps:
        - plan
        - fix
        - verify
        - commit
        - review: {{again: true}}
        - consolidate
        - stop-when: {until}
  - report
"""


def asking(rounds=3, cap=5, on_limit="ask", until="no-must-fix") -> str:
    return ASKING.format(rounds=rounds, cap=cap, on_limit=on_limit, until=until)


@pytest.fixture
def stubborn(make_bench):
    """Two findings of a document that nobody can fix, one of which must be."""
    bench = make_bench({"a.py": "one\ntwo\n"})
    bench.documents = {"document": Said(finding(1), finding(2, line=2, severity=MINOR))}
    return bench


def test_nothing_that_must_be_fixed_is_done_after_one_round(make_bench):
    bench = make_bench({"a.py": "odd\n"}, Words(odd=(MINOR, None)))
    run = bench.run(asking())
    assert not run.asking.questions
    assert [(past.round, past.stop) for past in run.position.rounds] == [
        (1, "no must-fix item is open")
    ]


def test_below_the_limit_the_loop_goes_round_and_at_the_limit_a_person_is_asked(stubborn):
    run = stubborn.run(asking())
    assert [past.stop for past in run.position.rounds] == ["", ""], (
        "two rounds are over, the third waits"
    )
    question = run.waiting_for
    assert question.question == (
        "After 3 review rounds, issues remain:\n- Critical: 0\n- Important: 1\n- Minor: 1"
    )
    assert list(question.choices) == ["a", "b", "c"]
    assert not run.ended


def test_answer_a_blocks_what_is_open_and_it_is_filed(stubborn):
    run = stubborn.answer(stubborn.run(asking()), "a")
    assert run.ended == "leftovers"
    for item in run.items.values():
        assert item.status is Status.FILED
        assert [(attempt.fact, attempt.by) for attempt in item.attempts] == [
            (Fact.SAID_BLOCKED, "Ada"),
            (Fact.FILED, "files"),
        ]
        assert item.attempts[0].why == "blocked after 3 rounds"
    assert stubborn.audit(run.id).ok


def test_answer_b_dismisses_what_is_open_on_the_person_s_word(stubborn):
    run = stubborn.answer(stubborn.run(asking()), "b")
    assert {item.status for item in run.items.values()} == {Status.DISMISSED}
    assert {item.attempts[-1].by for item in run.items.values()} == {"Ada"}
    assert run.ended == "dismissed"
    assert stubborn.audit(run.id).ok


def test_answer_c_grants_one_more_round_up_to_the_cap(stubborn):
    run = stubborn.run(asking())
    asked = []
    while run.waiting_for is not None:
        asked.append(list(run.waiting_for.choices))
        run = stubborn.answer(run, "c" if "c" in run.waiting_for.choices else "a")
    assert asked == [["a", "b", "c"], ["a", "b", "c"], ["a", "b"]], (
        "after round 3, after round 4, and at the cap of 5"
    )
    assert [past.round for past in run.position.rounds] == [1, 2, 3, 4, 5]
    assert run.position.rounds[-1].stop == "blocked by Ada"
    assert stubborn.audit(run.id).ok


def test_a_loop_that_asks_nobody_ends_at_its_limit_and_says_so(stubborn):
    run = stubborn.run(asking(rounds=2, on_limit="go-on"))
    assert run.position.rounds[-1].stop == "limit: 2 rounds"
    assert run.ended == "leftovers"


def test_no_fewer_items_in_two_rounds_stops_a_loop_that_would_go_on(stubborn):
    run = stubborn.run(asking(rounds=8, cap=8, on_limit="go-on", until="converged"))
    assert run.position.rounds[-1].stop == "churning: no fewer items in 2 rounds"
    assert len(run.position.rounds) == 3


def test_a_loop_that_goes_in_circles_asks_a_person_before_it_ends(stubborn):
    run = stubborn.run(asking(rounds=8, cap=8, until="converged"))
    assert run.waiting_for.question == (
        "After 3 review rounds, issues remain:\n- Critical: 0\n- Important: 1\n- Minor: 1"
        "\nThe loop makes no progress (churning: no fewer items in 2 rounds)."
    )
    assert stubborn.answer(run, "a").ended == "leftovers"


def test_a_loop_until_nothing_can_be_tried_ends_without_a_person(stubborn):
    run = stubborn.run(asking(until="settled"))
    assert not run.waits
    assert run.ended == "leftovers"


def test_two_fixes_that_undo_each_other_are_noticed(make_bench):
    tabs = Words(tabs=(MAJOR, "spaces"), spaces=(MAJOR, "tabs"))
    bench = make_bench({"a.py": "tabs\n"}, tabs)
    run = bench.run(asking(rounds=20, cap=20, on_limit="go-on", until="converged"))
    assert "churning" in run.position.rounds[-1].stop
    assert len(run.position.rounds) <= 4
    assert bench.audit(run.id).ok


def test_the_default_loop_leaves_an_item_that_comes_back_after_its_own_fixes(make_bench):
    bench = make_bench(
        {"a.py": "tabs\n", "b.py": "bad\n"},
        Words(tabs=(MAJOR, "spaces"), spaces=(MAJOR, "tabs"), bad=(MINOR, "good")),
    )
    run = bench.run()
    assert len(run.landing.landed) <= 6, "no ping-pong until the rounds are used up"
    assert run.position.rounds[-1].stop.startswith("settled")
    assert {item.status for item in run.items.values() if item.lead.rule == "bad"} == {Status.FIXED}
    assert any(item.undone for item in run.items.values())
    assert bench.audit(run.id).ok


def test_safe_fixes_that_uncover_one_another_are_one_fix(make_bench):
    chain = {f"step{n}": (MAJOR, f"step{n + 1}") for n in range(6)}
    bench = make_bench({"a.py": "step0\n"}, Words(**chain))
    run = bench.run(asking(rounds=8, cap=8))
    assert bench.git.commits[run.landing.tip]["a.py"] == "step6\n"
    assert (len(run.landing.landed), len(run.position.rounds)) == (1, 1)
    assert run.ended == "fixed"


def test_fixes_that_uncover_one_another_are_followed_to_the_end(make_bench):
    chain = {f"step{n}": (MAJOR, f"step{n + 1}") for n in range(6)}
    even, odd = [{word: chain[word] for word in [*chain][first::2]} for first in (0, 1)]
    bench = make_bench({"a.py": "step0\n"}, Words("even", **even), Words("odd", **odd))
    run = bench.run(asking(rounds=8, cap=8))
    assert len(run.position.rounds) == 6, "what another reviewer reports is an item of its own"
    assert run.position.rounds[-1].stop == "no must-fix item is open"
    assert len(run.find_items(Status.FIXED)) == 6
    assert run.ended == "fixed"


class Chain(Words):
    """Reports the first word of a file only, at its columns, as linters do with `elif`s; two of
    them take turns.
    """

    def __init__(self, name, turn, **words):
        super().__init__(name, **words)
        self.turn = turn

    def _in(self, tree, path):
        words = list(super()._in(tree, path))
        for first in words[:1] if len(words) % 2 == self.turn else ():
            text, splice = tree.text(path), first.fix.splices[0]
            column = splice.start - text.rfind("\n", 0, splice.start)
            spot = Spot(path, first.spot.line, None, column, column + splice.end - splice.start)
            yield replace(first, spot=spot, context=Source(path, text).context_at(spot))


def test_links_of_a_chain_that_look_alike_are_items_of_their_own(make_bench):
    links = "".join(f"    elif kind == {n}:\n        return {n}\n" for n in range(5))
    turns = [Chain(f"chain{turn}", turn, **{"elif": (MINOR, "if")}) for turn in (0, 1)]
    bench = make_bench({"a.py": f"def f(kind):\n{links}"}, *turns)
    run = bench.run()
    assert [item.status for item in run.items.values()] == [Status.FIXED] * 5
    assert not any(item.undone for item in run.items.values())
    assert run.ended == "fixed"
    assert bench.audit(run.id).ok


def stands(past: list[tuple[int, int]], majors: int, minors: int) -> Run:
    """A run with rounds that ended with so many items open and so many of them must-fix, and what is open now."""
    severities = [MAJOR] * majors + [MINOR] * minors
    items = {
        n: Item(number=n, fingerprint=str(n), findings=(finding(n, severity=severity),))
        for n, severity in enumerate(severities, 1)
    }
    rounds = tuple(
        Round(n, opened, 0, 0, must_fix=must) for n, (opened, must) in enumerate(past, 1)
    )
    return made_run(id="r", items=items, position=WorkflowPosition(rounds=rounds))


@pytest.mark.parametrize(
    ("past", "now"),
    [
        ([(9, 9), (7, 7)], (5, 0)),
        ([(9, 9), (9, 9)], (8, 0)),
        ([(5, 3), (5, 2)], (1, 4)),
        ([(5, 5)], (5, 0)),
        ([(9, 9), (4, 4), (6, 6)], (5, 0)),
        ([], (50, 0)),
    ],
)
def test_a_loop_that_converges_is_not_cut(past, now):
    assert stop_reason(Until.CONVERGED, stands(past, *now), load_builtin("proven")) == ""


@pytest.mark.parametrize(
    ("past", "now"),
    [([(5, 5), (5, 5)], (5, 0)), ([(5, 3), (6, 3)], (3, 4)), ([(9, 9), (2, 2), (2, 2)], (3, 0))],
)
def test_a_loop_that_does_not_is(past, now):
    assert "no fewer items in 2 rounds" in stop_reason(
        Until.CONVERGED, stands(past, *now), load_builtin("proven")
    )


def test_zero_rounds_are_refused_before_anything_runs(stubborn):
    with pytest.raises(WorkflowError, match="zero rounds prove nothing"):
        stubborn.run(asking(rounds=0))
