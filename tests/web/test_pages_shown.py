"""Pages as a server gives them: what they say, how they are searched, and that text of others stays text."""

import re
import time

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from reading import heard
from telling import HOSTILE, Told, fixed, item

from made import made_run
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger import events as ev
from punchlist.web.pages.home.run_lines import GlanceCache, build_glance

RUN = "261115-aaaaaa"


@pytest.fixture(scope="module")
def told(house):
    """A server with one run that ended, and one that nobody drives."""
    git_dir = str(house.folder / "repo" / ".git")
    with SqliteStore.open(house.home) as store:
        ended = Told(git_dir, store, RUN).items(
            item(1, HOSTILE, path="shop/<b>.py"), item(2), moves=fixed(2)
        )
        ended.tell(ev.Reviewed(reviewer=HOSTILE, commit="c", failed=HOSTILE)).tell(
            ev.Failed(reason=HOSTILE)
        )
        ended.tell(ev.Asked(question=HOSTILE, choices={"a": HOSTILE})).tell(
            ev.Answered(choice="a", by=HOSTILE)
        )
        ended.tell(ev.Ended(outcome="incomplete"))
        Told(git_dir, store, "261115-bbbbbb").items(item(1))
        Told("/somewhere/else/.git", store, "261115-foreign").items(item(1))
    folder = house.home / "runs" / RUN
    folder.mkdir(parents=True)
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "agents").mkdir()
    (folder / "agents" / "login.json").write_text("secret")
    return house


@pytest.fixture
def reader(told):
    with Browser(told, "read") as browser:
        yield browser


def test_the_list_has_all_runs_of_registered_repositories(reader):
    page = reader.get("/").text
    assert re.findall(r'href="/runs/([^"/]+)"', page) == ["261115-bbbbbb", RUN]
    said = text_of(page)
    assert "incomplete" in said
    assert "killed" in said
    assert "everything at 000000000" in said
    assert "foreign" not in page


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        ("?q=BBBB", ["261115-bbbbbb"]),
        ("?q=proven", ["261115-bbbbbb", RUN]),
        ("?state=ended", [RUN]),
        ("?state=killed", ["261115-bbbbbb"]),
        ("?repository=unknown", []),
        ("?q=nothing", []),
        ("?page=99", ["261115-bbbbbb", RUN]),
        ("?page=x&state=" + "y" * 500, ["261115-bbbbbb", RUN]),
        ("?address=/x&self=1&t=2", ["261115-bbbbbb", RUN]),
    ],
)
def test_the_list_is_searched_by_its_address(reader, query, runs):
    page = reader.get(f"/{query}")
    assert page.status_code == 200
    assert re.findall(r'href="/runs/([^"/]+)"', page.text) == runs
    part = reader.get(f"/runs{query}", headers={"hx-request": "true"})
    assert re.findall(r'href="/runs/([^"/]+)"', part.text) == runs
    assert "<html" not in part.text


def test_typing_into_a_search_puts_it_into_the_address(reader):
    asked = {"hx-request": "true", "hx-trigger": "filters"}
    assert (
        reader.get("/runs?q=x&state=&repository=", headers=asked).headers["hx-replace-url"]
        == "/?q=x"
    )
    parts = reader.get(f"/runs/{RUN}/parts?q=&severity=major&status=", headers=asked)
    assert parts.headers["hx-replace-url"] == f"/runs/{RUN}?severity=major&view=table&by=rule"
    assert (
        "hx-replace-url"
        not in reader.get(f"/runs/{RUN}/parts?q=x", headers={"hx-request": "true"}).headers
    )


def test_text_of_others_stays_text_on_every_page(reader):
    for path in (
        "/",
        f"/runs/{RUN}",
        f"/runs/{RUN}/parts",
        f"/runs/{RUN}?q={HOSTILE[:40]}",
        f"/runs/{RUN}?view=board",
        f"/runs/{RUN}?by=file",
        f"/runs/{RUN}?by=file&in={HOSTILE[:40]}",
        f"/runs/{RUN}/items/1",
    ):
        page = reader.get(path).text
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path
        assert "\u202e" not in page, path
        assert "\x1b" not in page, path
        assert "49" not in re.findall(r"\{\{.*?\}\}", page), path
    said = text_of(reader.get(f"/runs/{RUN}").text)
    assert "alert(1)" in said
    assert "{{ 7*7 }}" in said


def test_a_run_shows_how_it_stands_and_where_its_items_are(reader):
    page = reader.get(f"/runs/{RUN}").text
    said = text_of(page)
    for words in (
        "1 of 2 items fixed",
        "Open",
        "Fixed",
        "fault 2",
        "shop/prices.py:2",
        "checked",
        "What was not checked",
    ):
        assert words in said, words
    assert f'href="/runs/{RUN}/items/2"' in page
    assert 'data-live="no"' in page
    assert 'data-live="yes"' in reader.get("/runs/261115-bbbbbb").text
    assert reader.get(f"/runs/{RUN}?address=/x&self=1&t=99&open=7&claimed=x").status_code == 200
    only = text_of(reader.get(f"/runs/{RUN}?status=fixed").text)
    assert "1 item of 2" in only
    board = text_of(reader.get(f"/runs/{RUN}?view=board").text)
    for words in (
        "Open 1",
        "Fixed 1",
        "No item is claimed, deferred, blocked, filed or dismissed.",
    ):
        assert words in board, words


def test_a_part_has_the_same_mark_until_something_changes(told, reader):
    def marks(query=""):
        page = reader.get(f"/runs/261115-bbbbbb/parts{query}", headers={"hx-request": "true"}).text
        assert page.count('hx-swap-oob="morph"') == page.count("data-mark=") > 4
        return dict(re.findall(r'id="part-(\w+)" class="part" data-mark="(\w+)"', page))

    before = marks()
    assert marks() == before
    here = {
        "hx-request": "true",
        "x-parts": " ".join(
            f"part-{name}:{mark}" for name, mark in before.items() if name != "head"
        ),
    }
    again = reader.get("/runs/261115-bbbbbb/parts", headers=here).text
    assert re.findall(r'id="part-(\w+)"', again) == ["head"], (
        "what the browser has is not sent again"
    )
    assert {name for name, mark in marks("?q=nothing").items() if mark != before[name]} == {"board"}
    with SqliteStore.open(told.home) as store:
        store.append("261115-bbbbbb", "1", "more", ev.Failed(reason="new"), time.time())
    after = marks()
    assert after["timeline"] != before["timeline"]
    assert after["questions"] == before["questions"], "what is typed there stays"


def test_a_page_hears_that_something_happened_and_not_all_of_it(told, reader):
    with SqliteStore.open(told.home) as store:
        live = Told(str(told.folder / "repo" / ".git"), store, "261115-cccccc").items(
            *(item(n) for n in range(1, 500))
        )
        with reader.stream("GET", "/runs/261115-cccccc/live", params={"after": 1}) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = heard(answer.iter_lines())
            first = next(events)
            assert (first.name, first.id, first.data) == ("entry", "2", {"seq": 2})
            live.tell(ev.Ended(outcome="incomplete"))
            names = [(each.name, each.id) for each in events]
            assert names == [("entry", "3"), ("end", "")]
        with reader.stream(
            "GET", "/runs/261115-cccccc/live", headers={"last-event-id": "3"}
        ) as answer:
            assert answer.status_code == 204


def test_papers_of_a_run_are_shut_in(reader):
    for form in ("html", "md", "json", "sarif", "junit"):
        answer = reader.get(f"/runs/{RUN}/reports/{form}")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "sandbox allow-scripts" in policy
        assert "allow-same-origin" not in policy
        assert "frame-ancestors 'none'" in policy
    assert reader.get(f"/runs/{RUN}/reports/exe").status_code == 404
    page = reader.get(f"/runs/{RUN}/files/page.html")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    for name in (
        "agents/login.json",
        "lock",
        "../../tokens.json",
        "..%2f..%2ftokens.json",
        "nothing",
    ):
        assert reader.get(f"/runs/{RUN}/files/{name}").status_code == 404, name


def test_what_another_repository_has_is_not_there(reader):
    for path in (
        "/runs/261115-foreign",
        "/runs/261115-foreign/parts",
        "/runs/261115-foreign/live",
        "/runs/261115-foreign/reports/md",
    ):
        assert reader.get(path).status_code == 404, path


def test_a_repository_is_registered_and_forgotten(told, tmp_path):
    with Browser(told, "admin") as admin:
        wrong = admin.submit("/repositories", path="no/such/path")
        assert wrong.status_code == 400
        assert "is no absolute path" in wrong.text
        assert 'value="no/such/path"' in wrong.text
        assert (
            admin.submit("/repositories", path=str(told.folder / "repo")).headers["location"] == "/"
        )
        assert admin.submit("/repositories/0123456789abcdef/forget").status_code == 404
        assert admin.get(f"/repositories/{told.repository}/start").status_code == 200


def test_the_form_has_what_matters_first_and_agents_to_choose(told):
    settings = told.folder / "settings.toml"
    before = settings.read_text()
    settings.write_text(
        '[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\n[agent.spare]\nkind = "command"\ncommand = ["no-such-program"]\n'
    )
    try:
        pages = {}
        for role in ("run", "admin"):
            with Browser(told, role) as browser:
                pages[role] = browser.get(f"/repositories/{told.repository}/start").text
    finally:
        settings.write_text(before)
    order = (
        'name="allow_checks"',
        'name="agents"',
        'name="kind"',
        'value="proven"',
        "Start the run",
    )
    places = [pages["admin"].index(each) for each in order]
    assert places == sorted(places)
    agents = {
        role: re.findall(r'name="agents" value="([^"]+)"', page) for role, page in pages.items()
    }
    assert agents["run"] == ["robot"]
    assert agents["admin"][:2] == ["robot", "spare"]
    assert "spare not found on this machine" in text_of(pages["admin"])
    assert pages["admin"].count('name="workflow"') == 8


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"workflow": "nonsense"}, 'no workflow is called "nonsense"'),
        ({"workflow": "proven", "max_dollars": "many"}, '"many" is no number'),
        ({"workflow": "proven", "base": "--upload-pack=x"}, "this is not understood"),
        ({"workflow": "proven", "paths": "../elsewhere"}, "must stay inside"),
        ({"workflow": "proven", "kind": "everything"}, "this is not understood"),
        ({"workflow": "proven", "agents": "claude"}, "not in use here"),
        ({"workflow": "proven", "allow_checks": "on"}, "takes the role admin"),
    ],
)
def test_a_form_with_a_mistake_comes_back_with_what_was_typed(told, fields, said):
    with Browser(told, "run") as runner:
        answer = runner.submit(
            f"/repositories/{told.repository}/start",
            files={"findings": ("", b"")},
            notes="mind the gap",
            **fields,
        )
        assert answer.status_code in (400, 403)
        assert said in text_of(answer.text)
        assert "mind the gap" in answer.text


def test_a_form_starts_one_run_however_often_it_is_sent(bench, site):
    bench.play()
    repository = site.start().register(bench.repo.root)
    findings = {
        "findings": (
            "../../my scan.json",
            b'[{"title": "mean() fails", "file": "shop/prices.py", "line": 9}]',
        )
    }
    fields = {
        "workflow": "review",
        "kind": "all",
        "key": "one",
        "max_seconds": "10",
        "notes": "hello",
    }
    with Browser(site, "run") as runner:
        first = runner.submit(f"/repositories/{repository}/start", files=findings, **fields)
        assert first.status_code == 303, text_of(first.text)
        assert (
            runner.submit(f"/repositories/{repository}/start", files=findings, **fields).headers[
                "location"
            ]
            == first.headers["location"]
        )
        until = time.monotonic() + 60
        while "mean() fails" not in (page := runner.get(first.headers["location"]).text):
            assert time.monotonic() < until, text_of(page)
            time.sleep(0.1)
        assert "my-scan.json" in page


def test_a_run_that_waits_for_a_person_is_named_on_top(told, reader):
    assert "waits for an answer" not in reader.get("/").text
    with SqliteStore.open(told.home) as store:
        waiting = Told(str(told.folder / "repo" / ".git"), store, "261115-dddddd")
        waiting.tell(ev.Asked(question="?", choices={"a": "yes"}))
        page = reader.get("/").text
        assert "1 run waits for an answer" in page
        assert re.findall(r'href="/runs/([^"/]+)"', reader.get("/?state=waiting").text) == [
            "261115-dddddd"
        ]
        waiting.tell(ev.Answered(choice="a", by="ada")).tell(ev.Ended(outcome="incomplete"))


def test_a_list_waits_for_no_fold_and_folds_no_run_twice(tmp_path):
    with SqliteStore.open(tmp_path) as store:
        for number in range(3):
            Told("/srv/shop/.git", store, f"261115-{number}").items(item(1), moves=fixed(1))
        ticks = iter([0.0, 0.0, 1.0, 1.0, *[2.0] * 100])
        glances, rows = GlanceCache(store, lambda: next(ticks)), store.runs()
        assert len(glances.load_glances(rows)) == 1, (
            "the others come when the list is asked for again"
        )
        assert len(glances.load_glances(rows)) == 3
        glances._store = None
        known = glances.load_glances(rows)
        assert [share.status for share in known["261115-0"].shares] == [Status.FIXED]
    assert build_glance(made_run(id="x")).items == 0


def test_a_decision_is_for_the_question_that_the_page_showed(told):
    choices = {"a": "leave them", "b": "accept: they are dismissed"}
    with SqliteStore.open(told.home) as store, Browser(told, "run") as runner:
        waiting = Told(str(told.folder / "repo" / ".git"), store, "261115-eeeeee").items(item(1))
        waiting.tell(ev.Asked(question="After 3 rounds 1 is open.", choices=choices))
        assert (
            '<input type="hidden" name="asked" value="1">' in runner.get("/runs/261115-eeeeee").text
        )
        waiting.tell(ev.Answered(choice="a", by="ada"))
        waiting.tell(ev.Asked(question="After 4 rounds 9 are open.", choices=choices))
        late = runner.submit("/runs/261115-eeeeee/answers", choice="b", asked="1")
        assert late.status_code == 400
        assert "asks something else by now" in text_of(late.text)
        assert [
            entry.event.choice
            for entry in store.read("261115-eeeeee")
            if isinstance(entry.event, ev.Answered)
        ] == ["a"]
        waiting.tell(ev.Answered(choice="a", by="ada")).tell(ev.Ended(outcome="incomplete"))


def test_somebodys_word_is_not_shown_as_more_than_that(told, reader):
    with SqliteStore.open(told.home) as store:
        Told(str(told.folder / "repo" / ".git"), store, "261115-ffffff").items(
            item(1), moves=fixed(1, ProofClass.CLAIM)
        )
    page = reader.get("/runs/261115-ffffff/items/1").text
    assert "no reviewer, analyzer or test confirms it" in text_of(page)
    assert "Proven" not in page
    board = reader.get("/runs/261115-ffffff").text
    assert re.search(r'<span class="tag" title="[^"]*">agent&#39;s claim</span>', board), (
        "in no colour of success"
    )
    assert "no reviewer, analyzer" not in reader.get(f"/runs/{RUN}/items/2").text
