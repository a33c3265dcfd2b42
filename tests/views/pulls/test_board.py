"""What a pull request shall show of a run: texts, places, limits; nothing twice, and nothing of strangers acts."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pull_model import HEAD, PULL, PullModel, make_item, make_picture, make_thread

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.views.pulls.board import Settled, find_closed, make_board, own_threads
from punchlist.views.pulls.conversation import Conversation, ResolveRule
from punchlist.views.pulls.difference import SetResolved, plan_updates
from punchlist.views.pulls.marks import BODY_LIMIT, MarkKind, add_mark, read_mark
from punchlist.views.pulls.orders import parse_order
from punchlist.views.pulls.suggestion import Suggestion

GOLDEN = """\
**[MAJOR] Defect 1**

**A fix is ready**. Proof: analyzer clean.

```suggestion
import sys
```

<sub>ruff F401 · item 1 of run `260101-abcdef`</sub>

<sub>People who may write here can reply `/punchlist dismiss WHY`, `explain`, `fix`, `again`, `apply` or `stack`, in the first line of a comment.</sub>

<!-- punchlist:item 00000000000000000000000000000001 -->"""


def test_an_item_with_a_proven_fix_is_a_thread_with_a_suggestion():
    item = make_item(1, Status.FIXED)
    board = make_board(make_picture(item, suggestions={1: Suggestion("a.py", 3, 4, "import sys")}))
    (thread,) = board.threads
    assert thread.body == GOLDEN
    assert (thread.path, thread.first, thread.line, thread.resolve) == ("a.py", 3, 4, False)


def test_a_suggestion_is_made_of_a_proven_fix_only():
    item = make_item(1, Status.FIXED, proofs=(Proof(ProofClass.CLAIM, "I did it"),))
    board = make_board(make_picture(item, suggestions={1: Suggestion("a.py", 3, 4, "import sys")}))
    assert "```suggestion" not in board.threads[0].body
    assert "not proven" in board.threads[0].body


def test_two_items_of_one_fix_have_one_suggestion():
    items = [make_item(n, Status.FIXED, made_in="e" * 40, line=n) for n in (1, 2)]
    fix = Suggestion("a.py", 3, 4, "import sys")
    bodies = [
        each.body for each in make_board(make_picture(*items, suggestions={1: fix, 2: fix})).threads
    ]
    assert ["```suggestion" in body for body in bodies] == [True, False]


def test_a_line_outside_the_diff_is_told_at_the_file_and_a_file_outside_in_the_summary():
    inside, outside = make_item(1, line=30), make_item(2, path="c.py", line=4)
    board = make_board(make_picture(inside, outside))
    (thread,) = board.threads
    assert (thread.path, thread.line) == ("a.py", None)
    assert f"[Defect 2](https://github.example/acme/shop/blob/{HEAD}/c.py#L4)" in board.summary


def test_lines_that_end_outside_the_hunk_are_told_at_the_first():
    item = make_item(1)
    item = replace(
        item, findings=(replace(item.lead, spot=replace(item.lead.spot, line=19, end_line=33)),)
    )
    (thread,) = make_board(make_picture(item)).threads
    assert (thread.first, thread.line) == (None, 19)


def test_twenty_threads_and_the_rest_in_the_summary_worst_first():
    items = [make_item(n, line=n % 20 + 1) for n in range(1, 40)]
    items.append(make_item(40, severity=Severity.CRITICAL, line=9))
    board = make_board(make_picture(*items))
    assert len(board.threads) == 20
    assert board.threads[0].key == items[-1].fingerprint
    assert board.summary.count("- **") == 40


def test_open_threads_take_the_room_of_new_ones_and_are_never_left_out():
    model = PullModel()
    first = [make_item(n, line=n) for n in range(1, 19)]
    model.do_all(plan_updates(make_board(make_picture(*first)), model.now))
    worse = [make_item(n, line=9, severity=Severity.CRITICAL) for n in range(30, 60)]
    model.do_all(
        plan_updates(make_board(make_picture(*first, *worse, conversation=model.now)), model.now)
    )
    assert len(list(own_threads(model.now))) == 20


def test_a_very_long_board_fits_the_forge():
    item = make_item(1, detail="x" * 200_000 + "```\n" * 9000, title="t" * 5000)
    many = [make_item(n, title="word " * 300) for n in range(2, 2000)]
    board = make_board(make_picture(item, *many))
    texts = [board.summary, board.check.summary, *(each.body for each in board.threads)]
    assert all(len(text) <= BODY_LIMIT for text in texts)
    assert read_mark(board.summary)
    assert "more: `punchlist show 260101-abcdef`" in board.summary
    assert len(board.check.annotations) <= 200


def test_a_comment_that_is_cut_keeps_its_mark_and_closes_its_code():
    body = add_mark("```text\n" + "x\n" * 60_000, MarkKind.ITEM, "k1")
    assert len(body) <= BODY_LIMIT
    assert read_mark(body) == (MarkKind.ITEM, "k1")
    assert body.count("```") == 2


def test_a_mark_counts_in_the_last_line_only():
    forged = "<!-- punchlist:item 00000000000000000000000000000009 -->\nand more"
    assert read_mark(forged) is None
    assert read_mark("text\r\n\r\n<!-- punchlist:summary -->\r\n") == ("summary", "")


def test_text_of_strangers_does_not_act():
    bad = "@everyone fixes #1\n/punchlist apply\n<img src=x>![x](http://e.example/y)<!-- punchlist:item f -->"
    item = make_item(1, title=bad, detail=bad, suggestion=bad)
    board = make_board(make_picture(item))
    for body in (board.threads[0].body, board.summary):
        text = body.rpartition("<!--")[0]
        assert "@everyone" not in text
        assert "<img" not in text
        assert "![x]" not in text
        assert "<!--" not in text
        assert "#1" not in text.replace("item 1", "")
        assert not any(line.startswith("/punchlist") for line in text.splitlines())


def test_each_thread_of_others_has_one_reply_and_no_second_thread():
    threads = (make_thread(1), make_thread(2, "ann", bot=False))
    item = make_item(1, label="1")
    item = replace(item, findings=(*item.findings, replace(item.lead, id="g", label="2")))
    board = make_board(
        make_picture(item, conversation=Conversation(viewer="punchy", threads=threads))
    )
    assert board.threads == ()
    assert [each.thread for each in board.replies] == ["1", "2"]
    assert "**Not fixed**: no test shows it." in board.replies[0].body


def resolved_by_rule(rule, *, landed=True, status=Status.FIXED, **more):
    threads = (make_thread(1), make_thread(2, "ann", bot=False))
    items = [make_item(n, status, label=str(n), **more) for n in (1, 2)]
    said = Conversation(viewer="punchy", threads=threads)
    board = make_board(make_picture(*items, conversation=said, landed=landed, resolve=rule))
    return [reply.resolve for reply in board.replies]


def test_threads_of_others_are_resolved_as_the_setting_says_and_only_with_proof_or_word():
    assert resolved_by_rule(ResolveRule.OWN) == [False, False]
    assert resolved_by_rule(ResolveRule.BOTS) == [True, False]
    assert resolved_by_rule(ResolveRule.ALL) == [True, True]
    assert resolved_by_rule(ResolveRule.ALL, landed=False) == [False, False]
    assert resolved_by_rule(ResolveRule.ALL, status=Status.FILED) == [False, False]
    assert resolved_by_rule(ResolveRule.ALL, status=Status.DISMISSED) == [True, True]
    claim = (Proof(ProofClass.CLAIM, "I did it"),)
    assert resolved_by_rule(ResolveRule.ALL, proofs=claim) == [False, False]


def test_a_thread_that_an_earlier_run_fixed_is_answered_with_its_commit():
    said = Conversation(viewer="punchy", threads=(make_thread(1),))
    settled = {"1": Settled(commit="e" * 40, proofs="tests pass")}
    board = make_board(make_picture(conversation=said, settled=settled, resolve=ResolveRule.ALL))
    (reply,) = board.replies
    assert reply.body.startswith(
        "**Fixed** in [`eeeeeeeeee`](https://github.example/acme/shop/commit/"
    )
    assert reply.resolve


def test_a_dismissed_item_gets_no_thread_and_its_old_one_is_resolved():
    model = PullModel()
    assert make_board(make_picture(make_item(1, Status.DISMISSED))).threads == ()
    model.do_all(plan_updates(make_board(make_picture(make_item(1))), model.now))
    board = make_board(make_picture(make_item(1, Status.DISMISSED), conversation=model.now))
    model.do_all(plan_updates(board, model.now))
    ((_, thread),) = own_threads(model.now)
    assert thread.resolved
    assert "**Dismissed** by `ann`: as designed" in thread.comments[0].body


def test_an_item_that_is_gone_is_resolved_and_opened_again_when_it_comes_back():
    model = PullModel()
    item = make_item(1)
    model.do_all(plan_updates(make_board(make_picture(item)), model.now))
    gone = make_picture(conversation=model.now, gone={item.fingerprint: "ruff"})
    for _ in range(2):
        model.do_all(plan_updates(make_board(gone), model.now))
        ((_, thread),) = own_threads(model.now)
        assert thread.resolved
        assert thread.comments[0].body.count("**No longer reported** by ruff") == 1
        gone = replace(gone, conversation=model.now)
    model.do_all(plan_updates(make_board(make_picture(item, conversation=model.now)), model.now))
    ((_, thread),) = own_threads(model.now)
    assert not thread.resolved
    assert "No longer" not in thread.comments[0].body


def test_what_a_person_resolved_is_not_opened_again():
    model = PullModel()
    model.do_all(plan_updates(make_board(make_picture(make_item(1))), model.now))
    model.resolve(model.now.threads[0].id, "guest")
    updates = plan_updates(
        make_board(make_picture(make_item(1), conversation=model.now)), model.now
    )
    assert not any(isinstance(each, SetResolved) for each in updates)


def test_what_a_person_opens_again_is_not_resolved_for_the_same_reason():
    model = PullModel()
    fixed = make_picture(make_item(1, Status.FIXED), landed=True)
    model.do_all(plan_updates(make_board(make_picture(make_item(1))), model.now))
    board = make_board(replace(fixed, conversation=model.now))
    updates = plan_updates(board, model.now)
    closed = find_closed(board, model.now, {each.about for each in updates})
    model.do_all(updates)
    assert closed == {model.now.threads[0].id}
    model.open_again(model.now.threads[0].id)
    board = make_board(replace(fixed, conversation=model.now, closed=closed))
    assert plan_updates(board, model.now) == ()
    assert find_closed(board, model.now, ()) == closed
    model.do_all(
        plan_updates(make_board(make_picture(make_item(1), conversation=model.now)), model.now)
    )
    model.do_all(plan_updates(make_board(replace(fixed, conversation=model.now)), model.now))
    assert model.now.threads[0].resolved


def test_another_rule_of_resolving_opens_nothing_again():
    model = PullModel(Conversation(viewer="punchy", threads=(make_thread(1),)))
    picture = make_picture(
        make_item(1, Status.FIXED, label="1"), landed=True, resolve=ResolveRule.ALL
    )
    model.do_all(plan_updates(make_board(replace(picture, conversation=model.now)), model.now))
    assert model.now.threads[0].resolved
    board = make_board(replace(picture, conversation=model.now, resolve=ResolveRule.OWN))
    assert plan_updates(board, model.now) == ()


def test_threads_that_a_board_resolves_make_room_at_once():
    model = PullModel()
    old = make_item(1)
    model.do_all(plan_updates(make_board(make_picture(old)), model.now))
    picture = make_picture(
        make_item(2), conversation=model.now, gone={old.fingerprint: "ruff"}, limit=1
    )
    model.do_all(plan_updates(make_board(picture), model.now))
    assert len(model.now.threads) == 2


def test_a_fix_that_was_pushed_alone_is_fixed_and_the_others_are_ready():
    items = [make_item(n, Status.FIXED) for n in (1, 2)]
    board = make_board(make_picture(*items, applied=frozenset({1})))
    assert [each.key for each in board.threads] == [items[1].fingerprint]
    assert "1 of its fixes are not in this branch yet" in board.summary


statuses = st.sampled_from(
    [Status.FILED, Status.FIXED, Status.DISMISSED, Status.OPEN, Status.BLOCKED]
)
items = st.dictionaries(
    st.integers(1, 12),
    st.tuples(
        statuses,
        st.integers(1, 60),
        st.sampled_from(["a.py", "b.py", "c.py", ""]),
        st.integers(0, 6),
    ),
    max_size=12,
)


def test_where_threads_cannot_be_resolved_people_are_asked_to():
    model = PullModel(Conversation(viewer="punchy", threads=(make_thread(1),), resolvable=False))
    open_items = (make_item(1), make_item(2, label="1"))
    model.do_all(
        plan_updates(make_board(make_picture(*open_items, conversation=model.now)), model.now)
    )
    assert "please resolve" not in str(model.now)
    fixed = (make_item(1, Status.FIXED), make_item(2, Status.FIXED, label="1"))
    picture = make_picture(*fixed, conversation=model.now, landed=True, resolve=ResolveRule.ALL)
    updates = plan_updates(make_board(picture), model.now)
    assert not any(isinstance(each, SetResolved) for each in updates)
    model.do_all(updates)
    assert str(model.now.threads).count("please resolve it") == 2


acts = st.tuples(st.sampled_from(["resolve", "reopen", "delete"]), st.integers(0, 20))


@given(
    st.lists(st.tuples(items, st.booleans(), st.lists(acts, max_size=4)), max_size=5), st.booleans()
)
def test_whatever_people_do_between_boards_they_settle_and_what_people_open_stays_open(
    rounds, able
):
    """`able`: the forge's API can resolve threads."""
    others = tuple(make_thread(n) for n in range(1, 4))
    model = PullModel(Conversation(viewer="punchy", threads=others, resolvable=able))
    closed = frozenset()
    for wanted, landed, done in rounds:
        made = [
            make_item(n, status, line=line, path=path, label=str(label % 4 or ""))
            for n, (status, line, path, label) in wanted.items()
        ]
        for act, at in done:
            model.act(act, at)
        left = {each.id for each in model.now.threads if not each.resolved} & closed
        picture = make_picture(*made, landed=landed, resolve=ResolveRule.ALL, closed=closed)
        for _ in range(2):
            board = make_board(replace(picture, conversation=model.now))
            updates = plan_updates(board, model.now)
            resolved = {each.thread for each in updates if isinstance(each, SetResolved)}
            assert not resolved & left
            assert able or not resolved
            closed = find_closed(board, model.now, {each.about for each in updates})
            model.do_all(updates)
        board = make_board(replace(picture, conversation=model.now))
        assert plan_updates(board, model.now) == ()


def test_comments_of_others_with_our_mark_are_not_ours():
    forged = make_thread(1, body=add_mark("Mine", MarkKind.ITEM, make_item(1).fingerprint))
    said = Conversation(viewer="punchy", threads=(forged,))
    board = make_board(make_picture(make_item(1), conversation=said))
    assert [type(each).__name__ for each in plan_updates(board, said)] == [
        "PostThread",
        "PostSummary",
    ]


def test_the_check_always_has_a_conclusion():
    def conclude(*items, **more):
        return make_board(make_picture(*items, **more)).check.conclusion

    assert conclude(make_item(1, Status.FIXED)) == "neutral"  # no reviewer looked
    picture = make_picture(make_item(1))
    assert (
        make_board(replace(picture, run=replace(picture.run, ended=""))).check.conclusion
        == "neutral"
    )


@given(
    st.lists(
        st.tuples(items, st.booleans(), st.sampled_from(ResolveRule), st.integers(0, 30)),
        max_size=6,
    )
)
def test_whatever_boards_follow_each_other_there_is_one_comment_for_each_item(rounds):
    """Also where a process is killed after any number of updates, and where another does the same at the same time."""
    model = PullModel(
        Conversation(viewer="punchy", threads=tuple(make_thread(n) for n in range(1, 7)))
    )
    for wanted, landed, rule, killed in rounds:
        made = [
            make_item(n, status, line=line, path=path, label=str(label or ""))
            for n, (status, line, path, label) in wanted.items()
        ]
        picture = make_picture(*made, landed=landed, resolve=rule)
        heard = model.now
        board = make_board(replace(picture, conversation=heard))
        updates = plan_updates(board, heard)
        model.do_all(updates[:killed])
        if killed % 3 == 0:  # a second process that heard the same has posted as well
            model.do_all(updates)
        for _ in range(2):
            board = make_board(replace(picture, conversation=model.now))
            model.do_all(plan_updates(board, model.now))
        assert plan_updates(make_board(replace(picture, conversation=model.now)), model.now) == ()
        keys = [key for key, _ in own_threads(model.now)]
        present = {item.fingerprint for item in made}
        assert all(keys.count(key) == 1 for key in present & set(keys))
        assert len([each for each in model.now.comments if each.own]) == 1
        for thread in model.now.threads:
            ours = [each for each in thread.comments[1:] if each.own]
            assert len(ours) <= 1
            for said in ours:
                assert parse_order(replace(said, own=False)) is None
        _check_resolved(model, made, landed=landed)


def _check_resolved(model, made, *, landed):
    """No thread is resolved without proof or word."""
    ended = {
        item.fingerprint
        for item in made
        if item.status is Status.DISMISSED or (item.status is Status.FIXED and landed)
    }
    present = {item.fingerprint for item in made}
    for key, thread in own_threads(model.now):
        assert not thread.resolved or key in ended or key not in present


def test_links_lead_to_the_repository():
    assert PULL.repository_url == "https://github.example/acme/shop"
