"""What the page of a run shows, as pure views: the board, the story, what is under way, what the result rests on."""

import pytest

pytest.importorskip("litestar")
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from reading import started
from telling import Told, fixed, item

from punchlist.app.drive.background import ActiveAction, AgentOutput
from punchlist.app.repositories import RepositoryEntry
from punchlist.model.checks.check import Check, CheckVerdict
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Fact, Move, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.views.run_state import State
from punchlist.views.words import format_dollars
from punchlist.web.pages.home.run_lines import build_glance
from punchlist.web.pages.run import views as views_run
from punchlist.web.pages.run.board import PAGE, Filters, build_board, parse_filters, parse_pages
from punchlist.web.pages.run.spending import add_entry
from punchlist.web.pages.words import format_code, link

SHOP = RepositoryEntry(id="r", name="shop", root="/srv/shop", git_dir="/srv/shop/.git")
MANY = (
    Told()
    .items(*(item(number, severity=list(Severity)[number % 3]) for number in range(1, 301)))
    .run
)


def column(shown, status):
    return next(each for each in shown.columns if each.status == status)


def mixed():
    return (
        Told()
        .items(
            item(1, "SQL is built from words", severity=Severity.CRITICAL),
            item(2, "mean() fails", path="shop/mean.py"),
            item(3, "outside of it", in_scope=False, severity=Severity.MINOR),
            item(4, "the dearest"),
            moves=(*fixed(2), *fixed(4, ProofClass.WITNESSED)),
        )
        .run
    )


def test_every_status_has_its_column_and_every_item_is_in_one():
    shown = build_board(mixed(), Filters(), {})
    assert [each.status for each in shown.columns] == [
        Status.OPEN, Status.CLAIMED, Status.DEFERRED, Status.BLOCKED, Status.FIXED, Status.FILED, Status.DISMISSED,
    ]  # fmt: skip
    assert {
        each.status: [card.number for card in each.cards] for each in shown.columns if each.total
    } == {Status.OPEN: [1, 3], Status.FIXED: [2, 4]}
    assert (shown.found, shown.total) == (4, 4)


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({"q": "SQL"}, [1]),
        ({"q": "mean.py"}, [2]),
        ({"q": "F004"}, [4]),
        ({"severity": "critical"}, [1]),
        ({"status": "fixed"}, [2, 4]),
        ({"path": "shop/mean"}, [2]),
        ({"scope": "outside"}, [3]),
        ({"scope": "inside", "status": "open"}, [1]),
        ({"proof": "witnessed"}, [4]),
        ({"proof": "none"}, [1, 3]),
        ({"severity": "nonsense"}, [1, 2, 3, 4]),
        ({"q": "nothing has this"}, []),
    ],
)
def test_filters_in_the_address_choose_items(asked, numbers):
    shown = build_board(mixed(), parse_filters(asked), {})
    assert sorted(card.number for each in shown.columns for card in each.cards) == numbers
    assert shown.found == len(numbers)


@given(page=st.integers(-3, 12), wanted=st.sampled_from([*Severity, ""]))
def test_a_column_never_shows_more_than_a_page_and_its_pages_hold_all(page, wanted):
    filters = Filters(severity=wanted)
    shown = column(build_board(MANY, filters, {Status.OPEN: page}), Status.OPEN)
    assert len(shown.cards) <= PAGE
    assert 1 <= shown.page <= shown.pages
    assert bool(shown.earlier) == (shown.page > 1)
    assert bool(shown.later) == (shown.page < shown.pages)
    turns = [
        column(build_board(MANY, filters, {Status.OPEN: turn}), Status.OPEN)
        for turn in range(1, shown.pages + 1)
    ]
    numbers = [card.number for turn in turns for card in turn.cards]
    assert len(numbers) == len(set(numbers)) == shown.total == (100 if wanted else 300)


def test_turning_a_page_keeps_what_was_asked_for():
    shown = column(
        build_board(MANY, Filters(q="fault"), {Status.OPEN: 2, Status.FIXED: 3}), Status.OPEN
    )
    assert shown.later == "?q=fault&open=3&fixed=3"
    assert shown.earlier == "?q=fault&fixed=3"
    assert (shown.first, shown.last) == (51, 100)


@given(
    query=st.dictionaries(
        st.sampled_from(["q", "severity", "path", "open", "t", "x"]), st.text(max_size=300)
    )
)
def test_whatever_stands_in_the_address_a_board_is_shown(query):
    shown = build_board(mixed(), parse_filters(query), parse_pages(query))
    assert shown.total == 4
    assert len(shown.filters.q) <= 200


def test_a_card_says_what_is_known_of_its_item():
    told = Told().items(item(1), item(2), moves=fixed(2))
    told.tell(ev.Challenged(agent="robot", scores=(Score(2, 95), Score(1, 40))))
    told.tell(
        ev.Planned(batches=(Batch(number=3, items=(1,), fixer=AGENT, title="x", paths=("a",)),))
    )
    told.tell(
        ev.StepDone(verb="fix", moves=(Move(1, Fact.SAID_DEFERRED, "robot", "later", flag="look"),))
    )
    shown = build_board(told.run, Filters(), {})
    (deferred,), (done,) = column(shown, Status.DEFERRED).cards, column(shown, Status.FIXED).cards
    assert (deferred.batch, deferred.tries, deferred.flagged, deferred.score, deferred.proof) == (
        3,
        1,
        True,
        40,
        "",
    )
    assert (done.batch, done.tries, done.flagged, done.score, done.proof) == (
        None,
        0,
        False,
        95,
        "checked",
    )


def test_the_bar_adds_up_and_begins_with_what_is_done():
    shares = views_run.build_head(mixed(), SHOP, State.UNDER_WAY).shares
    assert [(each.status, each.count) for each in shares] == [(Status.FIXED, 2), (Status.OPEN, 1)]
    assert round(sum(each.percent for each in shares)) == 100


def test_a_run_is_not_called_clean_before_it_has_ended():
    young = views_run.build_head(Told().run, SHOP, State.UNDER_WAY)
    assert (young.headline, young.outcome, young.advice, young.gaps) == (
        "Nothing is reported yet.",
        "",
        "",
        (),
    )
    half = (
        Told()
        .items(item(1), moves=fixed(1))
        .tell(ev.Reviewed(reviewer="technical", commit="c", failed="quota"))
    )
    for state in (State.UNDER_WAY, State.WAITING, State.STOPPED, State.KILLED):
        shown = views_run.build_head(half.run, SHOP, state)
        assert (shown.headline, shown.outcome) == (
            "So far: the only item is fixed, with a proof.",
            "",
        )
        assert ("technical failed" in [gap.what for gap in shown.gaps]) == (
            state is not State.UNDER_WAY
        )
    ended = views_run.build_head(Told().tell(ev.Ended(outcome="incomplete")).run, SHOP, State.ENDED)
    assert ended.outcome == "incomplete"
    assert ended.gaps


def test_what_an_agent_was_kept_from_is_on_the_page_of_its_run():
    told = Told()
    for target in ("collector.example:443", "collector.example:80"):
        refused = ev.ConnectionRefused(child="claude (fixer)", target=target, why="not listed")
        told.tell(refused, "child")
    weak = ("codex (fixer): holds a copy of your login .codex/auth.json",)
    told.tell(ev.Contained(child="codex (fixer)", sandbox="bubblewrap", weaknesses=weak), "child")
    head = views_run.build_head(told.run, SHOP, State.STOPPED)
    assert [(gap.about, gap.what) for gap in head.gaps[1:]] == [
        ("sandbox", "Programs ran in an incomplete sandbox"),
        ("network", "claude (fixer) tried to reach 2 other hosts, and was refused"),
    ]
    assert head.gaps[1].why == weak[0]
    lines = [moment.said for moment in views_run.build_timeline(told.run, 1).moments]
    assert lines[0] == "claude (fixer) tried to reach collector.example:80, and was refused"


def test_a_run_whose_items_were_all_dismissed_is_not_called_fixed():
    told = Told().tell(ev.Reviewed(reviewer="ruff", commit="c"))
    told.items(item(1), item(2), moves=(Move(1, Fact.DISMISSED, "ada", "no"), *fixed(2)))
    mended = told.run
    waved = (
        Told()
        .tell(ev.Reviewed(reviewer="ruff", commit="c"))
        .items(item(1), moves=(Move(1, Fact.DISMISSED, "ada", "no"),))
        .run
    )
    for run, word in ((mended, "fixed"), (waved, "dismissed")):
        ended = fold(
            run,
            ev.Entry(
                run=run.id, seq=run.seq + 1, at=0, place="", key="", event=ev.Ended(outcome="fixed")
            ),
        )
        assert (
            views_run.build_head(ended, SHOP, State.ENDED).outcome,
            build_glance(ended).outcome,
        ) == (word, word)
        assert build_glance(run).outcome == ""


def test_what_is_under_way_has_its_items_and_the_last_words_of_its_agent():
    told = Told().items(item(1), item(2))
    told.tell(
        ev.Planned(
            batches=(Batch(number=7, items=(1, 2), fixer=AGENT, title="x", paths=("a.py",)),)
        )
    )
    begun = (
        ActiveAction("3.1.1", "batch 7", "an agent fixes two", 5.0),
        ActiveAction("3.1.1", "batch 8", "another", 6.0),
    )
    talk = [
        AgentOutput(1, "3.1.1 fixer 7", "one"), AgentOutput(2, "3.1.1 fixer 8", "other\n"), AgentOutput(3, "3.1.1 fixer 7", "two"), AgentOutput(4, "9.9 x", "no"),
    ]  # fmt: skip
    shown = views_run.build_activity(told.run, begun, talk, driven=True)
    assert [(each.items, each.lines, each.said) for each in shown.doing] == [
        ((1, 2), "one\ntwo", 3),
        ((), "other", 2),
    ]
    many = [AgentOutput(n, "3.1.1 fixer 7", f"line {n}\n") for n in range(100)]
    assert (
        views_run.build_activity(told.run, begun[:1], many, driven=True)
        .doing[0]
        .lines.splitlines()[0]
        == "line 88"
    )
    assert views_run.build_activity(told.run, (), (), driven=True).elsewhere
    long = [
        AgentOutput(1, "3.1.1 fixer 7", "x" * 10**6 + "\u202e"),
        AgentOutput(2, "3.1.1 fixer 7", "the end"),
    ]
    lines = views_run.build_activity(told.run, begun[:1], long, driven=True).doing[0].lines
    assert len(lines) <= 4000
    assert lines.endswith("x\u2039U+202E\u203a\nthe end")


@given(count=st.integers(0, 90), page=st.integers(-2, 9))
def test_the_timeline_tells_all_newest_first(count, page):
    told = Told()
    for number in range(count):
        told.tell(ev.Failed(reason=str(number)))
    shown = views_run.build_timeline(told.run, page)
    turns = [views_run.build_timeline(told.run, turn) for turn in range(1, shown.pages + 1)]
    assert [moment for turn in turns for moment in turn.moments] == list(
        reversed(told.run.timeline)
    )
    assert len(shown.moments) <= views_run.MOMENTS


def test_the_ground_names_judges_proofs_and_scores_worst_first():
    told = Told().items(item(1), item(2), moves=(*fixed(1), *fixed(2, ProofClass.REPRODUCED)))
    told.tell(ev.Attempted(fixer="agent", agent="robot"))
    judged = ev.Challenged(
        agent="judge",
        scores=(Score(1, 95), Score(2, None)),
        canaries="saw through 3 of 4",
        threshold=90,
    )
    ground = views_run.build_basis(told.tell(judged).run)
    assert ground.proofs == ((ProofClass.REPRODUCED, 1), (ProofClass.CHECKED, 1))
    assert [each.item for each in ground.scores] == [2, 1]
    assert [each.canaries for each in ground.challenges] == ["saw through 3 of 4"]


def test_a_check_is_said_to_have_passed_over_as_many_fixes_as_it_saw():
    begun = replace(
        started("/srv/shop/.git"),
        checks=(Check(name="tests", command=("pytest",)),),
        checks_allowed=True,
    )
    passed = CheckVerdict(check="tests", passed=True, why="3 tests")
    told = Told().tell(begun).tell(ev.Attempted(fixer="agent", agent="robot"))
    told.tell(ev.Tried(batches=(1, 2), verdicts=(replace(passed, passed=False),), complete=True))
    told.tell(ev.Tried(batches=(1,), verdicts=(passed,), complete=False))
    (judge,) = views_run.build_basis(told.run).judges
    assert (judge.verdict, judge.fixes, judge.complete) == (passed, 1, False)


def test_what_each_agent_cost_adds_up_to_what_the_run_cost():
    costs = [
        Usage(seconds=1, dollars=0.5),
        Usage(seconds=2, dollars=0.25),
        Usage(input_tokens=7),
        Usage(),
    ]
    events = [
        ev.Attempted(fixer="agent", agent="robot", usage=costs[0]),
        ev.Attempted(fixer="agent", agent="robot", usage=costs[1]),
        ev.Challenged(agent="judge", usage=costs[2]),
        ev.StepDone(verb="x", usage=costs[3]),
    ]
    lines = {}
    for number, event in enumerate(events):
        lines = add_entry(lines, ev.Entry(run="x", seq=number, at=0, place="", key="", event=event))
    assert [(each.verb, each.agent, each.times) for each in lines.values()] == [
        ("fix", "robot", 2),
        ("challenge", "judge", 1),
    ]
    assert sum((each.usage for each in lines.values()), Usage()) == sum(costs, Usage())


def test_words_for_pages():
    assert link("/runs", q="a b&c", state="", page=2) == "/runs?q=a+b%26c&page=2"
    assert (
        format_code("run `punchlist <x>` & go") == "run <code>punchlist &lt;x&gt;</code> &amp; go"
    )
    assert [format_dollars(0), format_dollars(0.0214), format_dollars(1234.5)] == [
        "$0.00",
        "$0.021",
        "$1,234.50",
    ]
