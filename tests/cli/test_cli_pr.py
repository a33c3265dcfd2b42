"""`punchlist pr`, typed: real git, and each forge on loopback.

Every test runs on every forge; `make test` runs on the first, and those in DAILY on the others.
"""

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from forge_kinds import KINDS, ForgeKind
from forge_standin import TOKEN, ForgeServer
from forge_state import ForgeState
from typed_command import Punchlist

from needs import rarely

DAILY = frozenset(
    {"test_a_review_is_answered_and_applied", "test_text_of_strangers_gives_the_forge_no_orders"}
)
MODULES = [
    "json",
    "math",
    "random",
    "socket",
    "string",
    "shutil",
    "tempfile",
    "uuid",
    "zlib",
    "queue",
]
NAMES = [
    "price",
    "rate",
    "total",
    "offset",
    "margin",
    "weight",
    "height",
    "depth",
    "width",
    "length",
]
LOGIC = [
    ("def divide_evenly(count, parts):\n    return count / parts\n", "`divide_evenly` crashes when `parts` is zero"),
    ("def read_first(rows):\n    return rows[0]\n", "`read_first` raises IndexError for empty `rows`"),
    ("def is_adult(age):\n    return age > 18\n", "`is_adult` excludes exactly 18 years, an off-by-one"),
    ("def join_path(root, name):\n    return root + name\n", "`join_path` forgets the separator between `root` and `name`"),
    ("def retry_forever(call):\n    while True:\n        call()\n", "`retry_forever` never stops, even on success"),
]  # fmt: skip


def pytest_generate_tests(metafunc):
    """Give each test every kind of forge."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "kind" in metafunc.fixturenames and all(mark.args[0] != "kind" for mark in marks):
        first, *others = KINDS
        daily = metafunc.function.__name__ in DAILY
        names = [*rarely(first), *others] if daily else [first, *rarely(*others)]
        metafunc.parametrize("kind", names, indirect=True)


class Shop:
    """A repository with a pull request, its bare remote, and the forge."""

    def __init__(self, repo, folder: Path, kind: ForgeKind, standin: ForgeServer) -> None:
        self.repo = repo
        self.kind = kind
        self.standin = standin
        self.remote = folder / f"{kind.repository}.git"
        repo.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.remote))
        repo.git("remote", "add", "origin", str(self.remote))
        standin.fresh(
            permissions={"ann": "write", "guest": "read"},
            read_branch=self.read_branch,
            has_commits=lambda base, tip: bool(self.bare("rev-list", f"{base}..{tip}")),
        )

    @property
    def state(self) -> ForgeState:
        return self.standin.state

    def bare(self, *arguments: str) -> str:
        return self.repo.git("--git-dir", str(self.remote), *arguments)

    def read_branch(self, name: str) -> str:
        return self.bare("for-each-ref", "--format=%(objectname)", f"refs/heads/{name}")

    def begin(self, base, change) -> None:
        self.repo.commit(base)
        self.repo.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
        self.repo.git("checkout", "--quiet", "-b", "topic")
        self.repo.commit(change)
        self.push()
        self.repo.git("checkout", "--quiet", "main")

    def push(self) -> None:
        """Push the branch as its author does, with force."""
        self.repo.git(
            "push",
            "--quiet",
            "--force",
            "origin",
            "topic:refs/heads/topic",
            f"topic:{self.kind.ref}",
        )
        self.follow()

    def follow(self) -> None:
        """The forge sees the remote's branch."""
        state = self.state
        state.head = self.repo.git("--git-dir", str(self.remote), "rev-parse", "refs/heads/topic")
        state.base = self.repo.git("--git-dir", str(self.remote), "rev-parse", "refs/heads/main")
        self.repo.git("--git-dir", str(self.remote), "update-ref", self.kind.ref, state.head)
        span = f"{state.base}...{state.head}"
        listed = self.repo.git("--git-dir", str(self.remote), "diff", "--name-only", span)
        state.hunks = {path: [(1, 10_000)] for path in listed.split("\n")}
        state.diffs = {
            path: self.repo.git("--git-dir", str(self.remote), "diff", span, "--", path)
            for path in state.hunks
        }


@pytest.fixture(scope="module")
def standins():
    with ExitStack() as stack:
        yield {name: stack.enter_context(kind.server()) for name, kind in KINDS.items()}


@pytest.fixture
def kind(request) -> ForgeKind:
    return KINDS[request.param]


@pytest.fixture
def standin(kind, standins) -> ForgeServer:
    return standins[kind.name]


@pytest.fixture
def shop(repo, tmp_path, kind, standin):
    made = Shop(repo, tmp_path, kind, standin)
    yield made
    assert standin.state.problems == []


@pytest.fixture
def pr(shop, make_punchlist, kind, standin):
    """Types `punchlist pr 7`; the forge follows what it pushed."""
    punchlist: Punchlist = make_punchlist(shop.repo.root)
    punchlist.env["OUR_TOKEN"] = TOKEN
    settings = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": standin.api, "track.repository": kind.repository,
        "track.token": "OUR_TOKEN", "track.forge": kind.name, "pr.pause": "0",
    }  # fmt: skip

    def arguments(*more, **changed):
        named = [
            f"--set={name.replace('__', '.')}={value}"
            for name, value in (settings | changed).items()
        ]
        return ["pr", "7", "--no-checks", *more, *named]

    def typed(*more, **changed):
        said = punchlist(*arguments(*more, **changed))
        assert TOKEN not in said.stdout + said.stderr
        assert said.returncode in (0, 1, 3), said.stderr
        shop.follow()
        return said

    typed.punchlist, typed.arguments = punchlist, arguments
    return typed


def unused(count=1):
    return "".join(f"import {name}\n" for name in MODULES[:count]) + "\n\nX = 1\n"


def make_review(shop) -> None:
    """40 threads of three bots and two people about 25 defects: 10 unused imports, 10 f-strings, 5 of logic."""
    imports = {f"m{n}.py": f"import {name}\n\n\nX = {n}\n" for n, name in enumerate(MODULES)}
    compares = {
        f"c{n}.py": f'def name_{name}():\n    return f"{name}"\n' for n, name in enumerate(NAMES)
    }
    logic = {f"l{n}.py": code for n, (code, _) in enumerate(LOGIC)}
    shop.begin({"README": "shop"}, imports | compares | logic)
    say = shop.state.add_thread
    for n, name in enumerate(MODULES):
        say(
            f"m{n}.py",
            1,
            f"_⚠️ Potential issue_ | _🟡 Minor_\n\n**`{name}` imported but unused.**\n\nDrop it.",
            "rabbit",
            bot=True,
        )
        if n < 8:
            say(f"m{n}.py", 1, f"`{name}` is imported but unused", "ann")
    for n in range(len(NAMES)):
        say(
            f"c{n}.py",
            2,
            "### f-string without any placeholders\n\n**Medium Severity**\n\nDrop the prefix.",
            "bugbot",
            bot=True,
        )
        if n < 5:
            say(f"c{n}.py", 2, "This f-string has no placeholders", "bob")
    for n, (_, words) in enumerate(LOGIC):
        say(f"l{n}.py", 2, words, "copilot", bot=True)
        if n < 2:
            say(f"l{n}.py", 2, words, "ann")
    assert len(shop.state.threads) == 40


def answers(state):
    return [
        [each for each in thread["comments"][1:] if each["author"] == "punchy"]
        for thread in state.threads
    ]


def test_forty_threads_about_twenty_five_defects_are_answered_once_and_the_proven_ones_resolved(
    shop, pr
):
    make_review(shop)
    pr("--push", pr__resolve="all")
    items = pr.punchlist.json("show", "last")
    assert len(items) == 25
    assert sum(item["status"] == "fixed" for item in items) == 20
    state = shop.state
    assert len(state.threads) == 40
    assert [len(each) for each in answers(state)] == [1] * 40
    proven = [thread for thread in state.threads if thread["path"][0] in "mc"]
    assert len(proven) == 33
    assert all(
        thread["resolved"] == "punchy" and "**Fixed** in" in thread["comments"][-1]["body"]
        for thread in proven
    )
    rest = [thread for thread in state.threads if thread["path"][0] == "l"]
    assert all(
        not thread["resolved"] and "**Not fixed**" in thread["comments"][-1]["body"]
        for thread in rest
    )
    assert len(state.comments) == 1
    assert shop.repo.git("--git-dir", str(shop.remote), "show", "topic:c0.py").endswith(
        'return "price"'
    )
    before = list(state.writes)
    pr("--push", pr__resolve="all")
    assert state.writes == before


def test_a_review_is_answered_and_applied(shop, pr):
    """The small journey: a bot's thread, suggestions, an order, the push, and nothing twice."""
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    state = shop.state
    theirs = state.add_thread("a.py", 1, "`json` is imported but unused", "rabbit", bot=True)
    pr()
    assert [(each["path"], each["line"]) for each in state.own_threads()] == [("a.py", 2)]
    assert f"```{shop.kind.suggestion or 'diff'}\n" in theirs["comments"][1]["body"]
    assert state.concluded() == [(state.head, "failure")]
    state.comments.append(state.add_comment("/punchlist apply", "ann"))
    pr(pr__resolve="bots")
    assert "import" not in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")
    assert [each["resolved"] for each in state.threads] == ["punchy", "punchy"]
    assert "**Fixed** in" in theirs["comments"][1]["body"]
    assert state.concluded()[-1] == (state.head, "success")
    before = list(state.writes)
    pr(pr__resolve="bots")
    assert state.writes == before
    assert len(state.comments) == 2


def test_without_push_fixes_are_suggested_and_nothing_is_resolved(shop, pr):
    shop.begin(
        {"a.py": "X = 1\n"},
        {"a.py": "import json\nX = 1\n", "b.py": "import math\nimport uuid\nY = 2\n"},
    )
    pr()
    state = shop.state
    head = state.head
    assert sorted((each["path"], each["line"]) for each in state.threads) == [
        ("a.py", 1),
        ("b.py", 1),
        ("b.py", 2),
    ]
    for thread in state.threads:
        assert f"```{shop.kind.suggestion}\n```" in thread["comments"][0]["body"]
        assert "Proof: analyzer clean" in thread["comments"][0]["body"]
        assert not thread["resolved"]
    assert shop.repo.git("--git-dir", str(shop.remote), "rev-parse", "topic") == head
    assert state.concluded() == [(head, "failure")]
    assert [len(run["annotations"]) for run in state.check_runs] == [3] * len(state.check_runs)
    assert shop.repo.git("status", "--porcelain") == ""
    assert shop.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_after_pushes_rebases_and_force_pushes_nothing_is_twice(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    pr()
    state, repo = shop.state, shop.repo
    first = [each["id"] for each in state.threads]
    repo.git("checkout", "--quiet", "topic")
    repo.commit({"a.py": "# a comment\n" + unused(2)})  # lines move
    shop.push()
    pr()
    repo.git("checkout", "--quiet", "main")
    repo.commit({"other.py": "O = 1\n"})
    repo.git("push", "--quiet", "origin", "main")
    repo.git("rebase", "--quiet", "main", "topic")
    shop.push()
    pr()
    assert [each["id"] for each in state.threads] == first
    assert not any(each["resolved"] for each in state.threads)
    repo.commit({"a.py": unused(1)})  # the author mends one
    repo.git("reset", "--quiet", "--soft", "main")
    repo.commit(message="one commit")
    shop.push()
    pr()
    assert [each["id"] for each in state.threads] == first
    gone = [each for each in state.threads if each["resolved"]]
    assert ["`math` imported but unused" in each["comments"][0]["body"] for each in gone] == [True]
    assert "**No longer reported** by ruff" in gone[0]["comments"][0]["body"]
    repo.commit({"a.py": unused(2)})  # and brings it back
    shop.push()
    pr()
    assert [each["id"] for each in state.threads] == first
    assert not any(each["resolved"] for each in state.threads)
    assert [len(each["comments"]) for each in state.threads] == [1, 1]
    assert len(state.comments) == 1


def test_a_fix_that_was_pushed_and_rebased_answers_its_thread_and_is_no_finding_again(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    theirs = shop.state.add_thread("a.py", 1, "`json` is imported but unused", "ann")
    pr("--push")
    repo = shop.repo
    repo.git("checkout", "--quiet", "main")
    repo.commit({"other.py": "O = 1\n"})
    repo.git("push", "--quiet", "origin", "main")
    repo.git("fetch", "--quiet", "origin", "topic")
    repo.git("checkout", "--quiet", "-B", "topic", "FETCH_HEAD")
    repo.git("rebase", "--quiet", "main")
    shop.push()
    theirs["line"] = None  # it is outdated
    pr()
    (reply,) = [each for each in theirs["comments"] if each["author"] == "punchy"]
    assert "**Fixed** in" in reply["body"]
    assert pr.punchlist.json("show", "last") == []


def test_a_person_dismisses_by_word_or_by_resolving_and_it_is_never_raised_again(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(3)})
    pr()
    state = shop.state
    word, resolved, stranger = state.threads
    state.reply(word, "/punchlist dismiss kept for plugins", "ann")
    resolved["resolved"] = "ann"
    state.reply(stranger, "/punchlist dismiss I say so", "guest")
    said = pr()
    assert (
        "guest: /punchlist dismiss I say so: not obeyed: guest may not write to the repository"
        in said.stdout
    )
    assert word["resolved"] == "punchy"
    assert "**Dismissed** by `ann`: kept for plugins" in word["comments"][0]["body"]
    assert not stranger["resolved"]
    shop.repo.git("checkout", "--quiet", "topic")
    shop.repo.commit({"a.py": "# moved\n\n" + unused(3)})
    shop.push()
    pr("--push")
    assert len(state.threads) == 3
    statuses = {item["title"]: item["status"] for item in pr.punchlist.json("show", "last")}
    assert sorted(statuses.values()) == ["dismissed", "dismissed", "fixed"]
    kept = shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")
    assert "import json" in kept
    assert "import math" in kept
    assert "import random" not in kept


def record(pr):
    """What the last run's ledger says of orders."""
    report = json.loads(pr.punchlist("report", "last", "--format", "json").stdout)
    return [
        (each["said"], each.get("why", ""))
        for each in report["timeline"]
        if each["verb"] == "order"
    ]


def test_only_people_who_may_write_apply_fixes_and_each_order_is_done_once(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr()
    state = shop.state
    head = state.head
    state.comments.append(state.add_comment("/punchlist apply", "guest"))
    state.comments.append(state.add_comment("/punchlist apply", "robot", bot=True))
    state.comments.append(state.add_comment("> /punchlist apply\nno", "ann"))
    state.comments.append(state.add_comment("> well\n/punchlist apply", "ann"))
    said = pr()
    assert state.head == head
    assert said.stdout.count("not obeyed") == 2
    refused = [
        (
            "guest on the pull request: /punchlist apply: was not obeyed",
            "guest may not write to the repository",
        ),
        (
            "robot on the pull request: /punchlist apply: was not obeyed",
            "a program gave it, and only people give orders",
        ),
    ]
    assert record(pr) == refused
    assert "not obeyed" not in pr().stdout
    state.comments.append(state.add_comment("/punchlist apply\nGood.", "ann"))
    pr()
    assert state.head != head
    assert state.threads[0]["resolved"] == "punchy"
    assert record(pr) == [*refused, ("ann on the pull request: /punchlist apply: obeyed", "")]
    assert "import" not in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")


def test_an_order_in_one_thread_applies_the_fix_of_its_item_and_no_other(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(3)})
    state = shop.state
    theirs = state.add_thread("a.py", 2, "`math` is imported but unused", "rabbit", bot=True)
    pr()
    state.reply(theirs, "/punchlist apply", "ann")
    pr(pr__resolve="bots")
    assert shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py").startswith(
        "import json\nimport random\n"
    )
    assert theirs["resolved"] == "punchy"
    assert "**Fixed** in" in theirs["comments"][1]["body"]
    assert "2 of its fixes are not in this branch yet" in state.comments[0]["body"]
    pr(pr__resolve="bots")
    assert theirs["resolved"] == "punchy"
    assert [bool(each["resolved"]) for each in state.own_threads()] == [False, False]
    assert len(state.comments) == 1


def test_fixes_that_nothing_proves_are_not_pushed(shop, pr, tmp_path):
    """The workflow accepts an agent's word; the branch does not."""
    code, words = LOGIC[0]
    shop.begin({"z.py": "Z = 1\n"}, {"l.py": code})
    shop.state.add_thread("l.py", 2, words, "ann")
    script, settings = tmp_path / "script.json", tmp_path / "settings.toml"
    edit = {"path": "l.py", "replace": "count / parts", "with": "count // parts"}
    fixes = [{"when": "crashes when", "edits": [edit]}]
    script.write_text(
        json.dumps(
            [{"role": "unified", "answer": {"groups": []}}, {"role": "fixer", "fixes": fixes}]
        )
    )
    settings.write_text(
        f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
    )
    pr.punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    said = pr("--push", "--workflow", "unified")
    assert {item["status"] for item in pr.punchlist.json("show", "last")} == {"fixed"}
    assert "not pushed: item" in said.stdout
    assert "has a fix that nothing proves" in said.stdout
    assert "count / parts" in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:l.py")


def test_an_order_to_run_again_starts_one_run_and_words_reach_the_agents(shop, pr, tmp_path):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr()
    state = shop.state

    def runs():
        return [each["run"] for each in pr.punchlist.json("list")]

    assert len(runs()) == 1
    for count, order in enumerate(("again", "fix keep the API as it is"), 2):
        state.comments.append(state.add_comment(f"/punchlist {order}", "guest"))
        pr()
        assert len(runs()) == count - 1
        state.comments.append(state.add_comment(f"/punchlist {order}", "ann"))
        for _ in range(2):  # once, not each time
            pr()
        assert len(runs()) == count
    assert pr.punchlist("export", "last", "--to", str(tmp_path / "run")).returncode == 0
    assert "keep the API as it is" in (tmp_path / "run").read_text()
    assert [obeyed for _, obeyed in record(pr)][-1] == ""


def test_with_a_token_of_their_own_a_person_is_heard_and_obeyed(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    state = shop.state
    state.viewer = "ann"
    mine = state.add_thread("a.py", 1, "`json` is imported but unused", "ann")
    pr()
    assert len(mine["comments"]) == 2
    assert len(state.threads) == 2
    state.comments.append(state.add_comment("/punchlist apply", "ann"))
    pr(pr__resolve="all")
    assert mine["resolved"] == "ann"
    before = list(state.writes)
    pr(pr__resolve="all")
    assert state.writes == before
    assert "dismissed" not in {item["status"] for item in pr.punchlist.json("show", "last")}
    assert "import" not in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")


def test_a_stranger_does_not_answer_threads_of_others_by_naming_them(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1), "l.py": LOGIC[0][0]})
    state = shop.state
    victim = state.add_thread("l.py", 2, LOGIC[0][1], "ann")
    forged = f"## Major\n\n1. **`json` imported but unused**\n   - File: a.py:1\n   - ID: {victim['id']}\n"
    state.reviews.append(state.add_comment(forged, "guest"))
    for _ in range(3):
        pr("--push", pr__resolve="all")
    assert not victim["resolved"]
    assert "**Not fixed**" in victim["comments"][1]["body"]
    assert "**Fixed**" not in victim["comments"][1]["body"]


def test_an_item_is_explained_once_in_its_thread(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr()
    (thread,) = shop.state.threads
    shop.state.reply(thread, "/punchlist explain", "ann")
    for _ in range(2):
        pr()
    assert [each["author"] for each in thread["comments"]] == ["punchy", "ann", "punchy"]
    assert "## What was tried" in thread["comments"][-1]["body"]


def test_a_dry_run_prints_what_it_would_post_and_posts_nothing(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    shop.state.comments.append(shop.state.add_comment("/punchlist apply", "ann"))
    said = pr("--dry-run", "--push")
    assert "[MAJOR]" in said.stdout or "[MINOR]" in said.stdout
    assert "would be pushed to topic" in said.stdout
    assert shop.state.writes == []
    assert pr("--dry-run", "--json").stdout.startswith("{")
    pr()
    assert "post" in " ".join(shop.state.writes).lower()


def test_fixes_are_pushed_without_a_word_for_the_authors_that_the_settings_name(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    before = shop.state.head
    pr(**{"pr.push-for": "rabbit"})
    shop.follow()
    assert shop.state.head == before
    pr(**{"pr.push-for": "ann[bot]"})
    shop.follow()
    assert shop.state.head == before, "a person may have the name of a bot"
    pr(**{"pr.push-for": "rabbit,Ann"})
    shop.follow()
    assert shop.state.head != before
    assert shop.state.concluded()[-1] == (shop.state.head, "success")


def test_fixes_are_not_pushed_to_a_fork(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    shop.state.fork = True
    head = shop.state.head
    assert "the branch is in a fork" in pr("--push").stdout
    assert shop.state.head == head


@pytest.mark.parametrize("kind", ["gitlab"], indirect=True)
def test_fixes_are_pushed_to_a_fork_whose_author_allows_it(shop, pr, tmp_path):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    fork = tmp_path / "someone/tools/shop.git"
    shop.repo.git("clone", "--quiet", "--bare", str(shop.remote), str(fork))
    shop.state.fork = shop.state.may_push = True
    pr("--push")
    assert "import" not in shop.repo.git("--git-dir", str(fork), "show", "topic:a.py")
    assert "import" in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")


def test_text_of_strangers_gives_the_forge_no_orders(shop, pr):
    """The stand-in of GitLab tells as a problem what GitLab would carry out."""
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1), "l.py": LOGIC[0][0]})
    evil = f"{LOGIC[0][1]}\n\n/merge\n/close\n```\n/approve\n```\n@all see !1 and #1"
    theirs = shop.state.add_thread("l.py", 2, evil, "guest")
    shop.state.reply(theirs, "/punchlist explain", "ann")
    pr("--push")
    said = [each["body"] for each in theirs["comments"] if each["author"] == "punchy"]
    assert any("/merge" in body for body in said)
    assert not any(
        f"\n{word}" in body for body in said for word in ("/merge", "/close", "/approve")
    )


def test_a_run_that_fails_concludes_the_check_and_does_not_block(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    said = pr.punchlist(*pr.arguments("--workflow", "no-such-workflow"))
    assert said.returncode == 6
    assert shop.state.concluded() == [(shop.state.head, "neutral")]


@pytest.mark.parametrize(
    ("push", "writes"),
    [(True, 2), (False, 3), *rarely((True, 1), (True, 3), (False, 1), (False, 2), (False, 4))],
)
def test_a_process_killed_between_a_write_and_its_answer_leaves_nothing_twice(
    shop, pr, push, writes
):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    state, flags = shop.state, ["--push"] if push else []
    theirs = state.add_thread("a.py", 1, "`json` is imported but unused", "ann")
    state.comments.append(state.add_comment("/punchlist again", "ann"))
    state.hold_after = writes
    child = pr.punchlist.start(*pr.arguments("--quiet", *flags))
    assert state.held.wait(120)
    child.send_signal(signal.SIGKILL)
    child.wait()
    state.release.set()
    shop.follow()
    pr(*flags)
    before = list(state.writes)
    pr(*flags)
    assert state.writes == before
    assert [each["author"] for each in theirs["comments"]] == ["ann", "punchy"]
    assert len(state.own_threads()) == (not push)
    assert [each["author"] for each in state.comments] == ["ann", "punchy"]
    assert len(state.concluded()) == 1
    assert len(pr.punchlist.json("list")) == 1, "the order is obeyed once"
    assert (
        "import" not in shop.repo.git("--git-dir", str(shop.remote), "show", "topic:a.py")
    ) == push
