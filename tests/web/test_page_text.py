"""Whatever strangers write, pages are made of the same elements: their text is text, and all of it is there."""

from html.parser import HTMLParser

import pytest

pytest.importorskip("litestar")
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.repositories import RepositoryEntry
from punchlist.model.checks.check import Check, CheckVerdict
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.score import Score
from punchlist.model.item.todo import Todo
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.hunk import Hunk
from punchlist.views.escaping import escape_controls
from punchlist.views.run_diff import compare_items
from punchlist.web.pages.item.page import build_view
from punchlist.web.pages.rendering import render_template
from punchlist.web.pages.run.compare import group_changes
from punchlist.web.pages.run.diff_parts import fit_window, parse_patches
from punchlist.web.pages.run.questions import build_panel
from punchlist.web.security.tokens import Visitor

WHO = Visitor("1", Role.ADMIN, "ada")
HERE = RepositoryEntry(id="r", name="shop", root="/shop", git_dir="/shop/.git")
PLAIN = "a plain text"
SPICE = st.sampled_from(
    [
        "<script>",
        "</pre>",
        "'\"><b onload=x>",
        "{{ 7*7 }}",
        "{% x %}",
        "&lt;",
        "\u202e",
        "\x1b[31m",
        "javascript:",
    ]
)
TEXTS = st.lists(st.one_of(st.text(max_size=12), SPICE), max_size=4).map("".join).filter(str.strip)


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[str] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))
        self.values += [
            value for name, value in attrs if value and name in ("href", "src", "action")
        ]

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def told(text: str) -> Run:
    """A run in which everybody says the same, wherever something can be said."""
    finding = Finding(
        id="1", source=text, rule=text, title=text, detail=f"{text} indeed", spot=Spot(f"a/{text}", 3), severity=Severity.MAJOR,
        label=text, suggestion=text, url=text, marks=(text,), code=f"one\n{text}\nthree",
    )  # fmt: skip
    batch = Batch(number=1, items=(1,), fixer=AGENT, title=text, paths=(text,))
    events = (
        ev.Started(
            repository="/shop/.git", change=Change(kind=ScopeKind.ALL, base="b", head="b"), workflow_name=text, workflow="",
            settings="{}", reviewers=(text,), checks=(Check(name=text, command=(text,)),), checks_allowed=True, version="1",
        ),
        ev.Reviewed(reviewer=text, commit="b", findings=(finding,)),
        ev.Consolidated(items=(Item(number=1, fingerprint="f", findings=(finding,)),)),
        ev.Clarified(doubts=(Doubt("F001-q1", 1, text, text), Doubt("F001-q2", 1, text, text, text, text))),
        ev.Reproduced(item=1, path=text, content=text, red=True, why=text),
        ev.Planned(batches=(batch,), todos=(Todo(item=1, steps=(text,), files=(text,), risks=(text,)),)),
        ev.Attempted(
            fixer=AGENT, agent=text, batches=(batch,), hunks={1: (Hunk(text, 1, (f" {text}", f"-{text}", f"+{text}")),)},
            reports=(ItemClaim(1, ClaimOutcome.FIXED, text),), noted={1: (text,)}, moves=(Move(1, Fact.SAID_FIXED, by=text, why=text),),
        ),
        ev.Examined(batch=1, refuted=text, noted=(text,), proofs={1: (Proof(ProofClass.WITNESSED, text),)}),
        ev.Tried(batches=(1,), verdicts=(CheckVerdict(check=text, passed=False, why=text, evidence=text),), complete=True),
        ev.Challenged(agent=text, scores=(Score(1, 40, text, text, (text,)),), canaries=text),
        ev.Returned(why=text, moves=(Move(1, Fact.REJECTED, by=text, why=text, evidence=text, flag=text),)),
        ev.Filed(tracker=text, moves=(Move(1, Fact.FILED, by=text, ref=text),)),
        ev.Asked(question=text, choices={"a": text}),
    )  # fmt: skip
    entries = (
        Entry(run="r", seq=seq, at=seq, place="1", key=str(seq), event=event)
        for seq, event in enumerate(events, 1)
    )
    return fold_entries("r", entries)


def pages(text: str) -> dict[str, Elements]:
    run = told(text)
    asked = build_panel(run)
    diff = f"diff --git a/x b/x\n--- a/{text}\n+++ b/{text}\n@@ -1 +1 @@ {text}\n-{text}\n+{text}\n".replace(
        "\n\n", "\n"
    )
    files = parse_patches(diff if len(text.splitlines()) == 1 else "")
    shared = {"visitor": WHO, "run": run, "repository": HERE}
    groups = group_changes(compare_items({}, run.items), 10, first="r", second="r")
    made = {
        "item": render_template(
            "item.html", view=build_view(run, 1, driven=False), kept=frozenset(), **shared
        ),
        "questions": render_template(
            "questions.html", panel=replace(asked, question="", choices=()), **shared
        ),
        "decision": render_template("questions.html", panel=asked, **shared),
        "diff": render_template(
            "diff.html", files=files, window=fit_window(files, 0, 100), **shared
        ),
        "compare": render_template(
            "compare.html",
            rounds=[1],
            others=["s"],
            a=1,
            b=1,
            other="",
            limit=10,
            first="r",
            second="r",
            groups=groups,
            **shared,
        ),
        "done": render_template("done.html", message=text, **shared),
    }
    return {name: Elements(page) for name, page in made.items()}


USUAL = {name: {tag for tag, _ in page.seen} for name, page in pages(PLAIN).items()}
HANDS = {
    name: {part for _, names in page.seen for part in names} for name, page in pages(PLAIN).items()
}


@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_whatever_is_written_no_element_and_no_attribute_comes_of_it(text):
    for name, page in pages(text).items():
        assert {tag for tag, _ in page.seen} <= USUAL[name] | {"a"}, (
            name
        )  # a real web address becomes a link
        assert {part for _, names in page.seen for part in names} <= HANDS[name] | {"rel"}, name
        assert all(value.startswith(("/", "#", "http://", "https://")) for value in page.values), (
            page.values
        )


@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_all_of_it_is_there_to_be_read(text):
    wanted = "".join(escape_controls(text).split())
    for name, page in pages(text).items():
        if name != "diff":
            assert wanted in "".join("".join(page.said).split()), name
