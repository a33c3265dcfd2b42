"""`punchlist pr` with fixes in a stacked pull request: real git, a real push, and each forge on loopback."""

import signal

import pytest
from forge_kinds import KINDS, ForgeKind
from forge_standin import TOKEN
from git_http import serve_git
from test_cli_pr import Shop, unused

from needs import rarely

BRANCH = "punchlist/pr-7"


class StackShop(Shop):
    """What people do to the pull request with the fixes."""

    def tip(self) -> str:
        return self.read_branch(BRANCH)

    def read(self, path="a.py", branch=BRANCH) -> str:
        return self.bare("show", f"{branch}:{path}")

    def commit_on(self, branch: str, files, *, message="by hand") -> None:
        """A person pushes a commit to a branch."""
        self.repo.git("fetch", "--quiet", "origin", branch)
        self.repo.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
        self.repo.commit(files, message=message)
        self.repo.git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        self.repo.git("checkout", "--quiet", "main")
        self.follow()

    def merge(self, *how: str) -> None:
        """A person merges the pull request with the fixes."""
        self.repo.git("fetch", "--quiet", "origin", BRANCH, "topic")
        self.repo.git("checkout", "--quiet", "--detach", self.state.head)
        self.repo.git("merge", "--quiet", *(how or ("--no-ff", "--no-edit")), self.tip())
        if how:
            self.repo.commit(message="fixes, squashed")
        self.repo.git("push", "--quiet", "origin", "HEAD:refs/heads/topic")
        self.repo.git("checkout", "--quiet", "main")
        self.state.pulls[-1]["state"] = "merged"
        self.follow()

    def list_states(self) -> list[str]:
        return [each["state"] for each in self.state.pulls]


def pytest_generate_tests(metafunc):
    """Every test runs on every forge; `make test` on the first."""
    if "kind" in metafunc.fixturenames:
        first, *others = KINDS
        metafunc.parametrize("kind", [first, *rarely(*others)], indirect=True)


@pytest.fixture
def kind(request) -> ForgeKind:
    return KINDS[request.param]


@pytest.fixture
def shop(repo, tmp_path, kind):
    with kind.server() as standin:
        made = StackShop(repo, tmp_path, kind, standin)
        yield made
        assert standin.state.problems == []


@pytest.fixture
def pr(shop, make_punchlist, kind):
    punchlist = make_punchlist(shop.repo.root)
    punchlist.env["OUR_TOKEN"] = TOKEN
    given = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": shop.standin.api, "track.repository": kind.repository,
        "track.token": "OUR_TOKEN", "track.forge": kind.name, "pr.pause": "0", "pr.fixes": "stack",
    }  # fmt: skip

    def arguments(*more, number=7, **changed):
        named = {**given, **{name.replace("__", "."): value for name, value in changed.items()}}
        words = [f"--set={name}={value}" for name, value in named.items()]
        return ["pr", str(number), "--no-checks", *more, *words]

    def typed(*more, **changed):
        said = punchlist(*arguments(*more, **changed))
        assert said.returncode in (0, 1, 3), said.stderr
        shop.follow()
        return said.stdout

    typed.punchlist, typed.arguments = punchlist, arguments
    return typed


def test_fixes_are_a_pull_request_that_is_merged_and_then_all_is_resolved(shop, pr, tmp_path):
    """The whole journey, over HTTP: opened, updated in place after a push, merged as one commit, its threads resolved, the branch gone."""
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    state = shop.state
    theirs = state.add_thread("a.py", 1, "`json` is imported but unused", "ann")
    with serve_git(tmp_path) as (address, seen):
        shop.repo.git(
            "remote", "set-url", "origin", f"{address}/{shop.remote.relative_to(tmp_path)}"
        )
        said = pr("--dry-run")
        assert (
            f"{BRANCH} would be pushed, and a pull request from it to topic be kept open with 2 fixes"
            in said
        )
        assert (state.pulls, shop.tip(), state.writes) == ([], "", [])
        assert "open punchlist/pr-7 to topic" in pr()
        (made,) = state.pulls
        assert (made["head"], made["base"], made["author"]) == (BRANCH, "topic", "punchy")
        assert "import" not in shop.read()
        link = f"[{'!' if shop.kind.name == 'gitlab' else '#'}8]("
        assert f"**A fix is ready** in {link}" in theirs["comments"][1]["body"]
        assert f"a fix is ready in {link}" in state.comments[0]["body"]
        assert f"merge {link}" in state.comments[0]["body"]
        first = shop.tip()
        shop.commit_on("topic", {"b.py": "import uuid\n"})
        pr()
        assert shop.tip() != first
        assert shop.bare("merge-base", BRANCH, "topic") == state.head
        assert "3 proven fixes" in made["title"]
        shop.merge("--squash")
        pr(pr__resolve="all")
        before = list(state.writes)
        pr(pr__resolve="all")
        assert state.writes == before
        assert any("git-receive-pack" in each for each in seen)
    assert {each["resolved"] for each in state.threads} == {"punchy"}
    assert "**Fixed** in" in theirs["comments"][1]["body"]
    assert (shop.list_states(), shop.tip()) == (["merged"], "")
    assert state.concluded()[-1] == (state.head, "success")


def test_people_have_the_last_word_about_it(shop, pr):
    """A commit of a person on our branch is never overwritten; what a person closed is not opened again without a word."""
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    state = shop.state
    pr()
    shop.commit_on(BRANCH, {"c.py": "C = 1\n"})
    theirs = shop.tip()
    shop.commit_on("topic", {"b.py": "import uuid\n"})
    assert f"the branch {BRANCH} is at {theirs[:10]}, a commit that punchlist did not make" in pr()
    assert (shop.tip(), shop.list_states()) == (theirs, ["open"])
    shop.bare("update-ref", "-d", f"refs/heads/{BRANCH}")
    state.pulls[0]["state"] = "closed"
    said = pr()
    assert (
        "1 proven fix is not offered in a pull request: a person closed the one that had them"
        in said
    )
    assert [each["title"].split(" for")[0] for each in state.pulls[1:]] == [
        "Punchlist: 1 proven fix"
    ]
    assert "import json" in shop.read("a.py")
    assert "import" not in shop.read("b.py")
    state.comments.append(state.add_comment("/punchlist stack", "guest"))
    state.comments.append(state.add_comment("/punchlist stack", "ann"))
    assert "guest: /punchlist stack: not obeyed" in pr()
    assert shop.list_states() == ["closed", "open"]
    assert "import" not in shop.read("a.py")


@pytest.mark.soak
def test_without_the_setting_it_is_opened_only_when_asked_and_then_kept(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr(pr__fixes="suggest")
    assert shop.state.pulls == []
    assert "fixes in http" in pr("--stack", pr__fixes="suggest")
    shop.commit_on("topic", {"b.py": "import uuid\n"})
    pr(pr__fixes="suggest")
    assert "import" not in shop.read("b.py")
    shop.state.pulls[0]["state"] = "closed"
    pr("--stack", pr__fixes="suggest")
    assert shop.list_states() == ["closed", "open"]


@pytest.mark.soak
def test_what_is_applied_or_dismissed_leaves_it_and_empty_it_is_closed(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(2)})
    state = shop.state
    pr()
    state.reply(state.threads[0], "/punchlist dismiss kept for plugins", "ann")
    pr()
    assert "import json" in shop.read()
    assert "import math" not in shop.read()
    state.comments.append(state.add_comment("/punchlist apply", "ann"))
    pr()
    assert (shop.list_states(), shop.tip()) == (["closed"], "")
    assert "no proven fix is left that `topic` lacks" in state.pulls[0]["comments"][0]["body"]
    assert "**Closed by punchlist**" in state.pulls[0]["body"]
    pr()
    assert (shop.list_states(), len(state.pulls[0]["comments"])) == (["closed"], 1)


@pytest.mark.soak
@pytest.mark.parametrize("how", [(), ("--squash",)])
def test_a_merge_of_some_fixes_is_seen_too(shop, pr, how):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(3)})
    state = shop.state
    first, second = [
        state.add_thread("a.py", n + 1, f"`{name}` is imported but unused", "ann")
        for n, name in enumerate(("json", "math"))
    ]
    pr()
    state.reply(second, "/punchlist dismiss kept for plugins", "ann")
    pr()
    assert shop.read().startswith("import math\n")
    shop.merge(*how)
    pr(pr__resolve="all")
    assert "**Fixed** in" in first["comments"][-1]["body"]
    assert {each["resolved"] for each in state.threads} == {"punchy"}


@pytest.mark.soak
@pytest.mark.parametrize("writes", [1, 2])
def test_killed_after_the_push_or_after_the_request_there_is_one(shop, pr, writes):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    state = shop.state
    state.hold_after = writes
    child = pr.punchlist.start(*pr.arguments("--quiet"))
    assert state.held.wait(120)
    child.send_signal(signal.SIGKILL)
    child.wait()
    state.release.set()
    if writes == 1:
        state.pulls.clear()  # the push was done, the request never came
    shop.follow()
    pr()
    assert shop.list_states() == ["open"]
    before = list(state.writes)
    pr()
    assert state.writes == before


@pytest.mark.soak
def test_forks_and_rights_that_are_missing_are_told_and_the_run_goes_on(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    state = shop.state
    state.fork = True
    assert "the branch is in a fork" in pr()
    state.fork, state.may_open = False, False
    assert "the pull request with the fixes" in pr()
    assert "answered 403" in state.comments[0]["body"]
    hook = shop.remote / "hooks/update"
    hook.write_text("#!/bin/sh\necho protected branch >&2\nexit 1\n")
    hook.chmod(0o755)
    state.may_open = True
    shop.bare("update-ref", "-d", f"refs/heads/{BRANCH}")
    assert f"could not be pushed to {BRANCH}" in pr()
    assert "it needs the right to write" in state.comments[0]["body"]
    assert state.pulls == []


@pytest.mark.soak
def test_its_own_pull_request_is_not_reviewed_and_goes_with_the_first(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    state = shop.state
    pr()
    own = pr.punchlist(*pr.arguments(number=8))
    assert "is not reviewed: it holds punchlist's own fixes for" in own.stderr
    assert state.concluded()[-1] == (shop.tip(), "neutral")
    state.state = "closed"
    assert "is closed" in pr.punchlist(*pr.arguments()).stderr
    assert (shop.list_states(), shop.tip()) == (["closed"], "")
    assert "is closed" in state.pulls[0]["comments"][0]["body"]


def change_tip(shop, *command, files=()):
    """A person does something to the newest commit of the branch, and pushes with force."""
    git = shop.repo.git
    git("fetch", "--quiet", "origin", BRANCH)
    git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    for path in files:
        (shop.repo.root / path).write_text("MINE = 1\n")
        git("add", path)
    git(*command)
    git("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{BRANCH}")
    git("checkout", "--quiet", "main")
    shop.follow()
    return shop.tip()


def test_a_commit_of_ours_that_a_person_changed_is_theirs_whatever_its_text_says(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr()
    amend = ("commit", "--quiet", "--amend", "--no-edit", "--reset-author")
    theirs = change_tip(shop, *amend, files=["mine.py"])
    shop.commit_on("topic", {"b.py": "import uuid\n"})
    assert "a commit that punchlist did not make" in pr()
    assert shop.tip() == theirs
    shop.state.state = "closed"
    closed = pr.punchlist(*pr.arguments())
    assert "a commit that punchlist did not make" in closed.stderr
    assert (shop.tip(), shop.list_states()) == (theirs, ["open"])


def test_only_what_is_nothing_but_ours_for_an_open_pull_request_is_not_reviewed(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    state = shop.state
    pr()
    assert "is not reviewed" in pr.punchlist(*pr.arguments(number=8)).stderr
    state.pulls[0]["base"] = "main"  # as forges do when the branch is merged and deleted
    assert "is not reviewed" not in pr.punchlist(*pr.arguments(number=8)).stderr
    state.pulls[0]["base"] = "topic"
    shop.commit_on(BRANCH, {"evil.py": "import os\nexec(input())\n"})
    assert "is not reviewed" not in pr.punchlist(*pr.arguments(number=8)).stderr


def test_a_fix_that_was_refused_does_not_come_back_with_another_in_its_commit(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": "import json\n"})
    pr()
    shop.state.pulls[0]["state"] = "closed"
    shop.commit_on("topic", {"a.py": "import json, math\n"})
    assert "which a person refused" in pr()
    assert shop.list_states() == ["closed"]
    pr("--stack")
    assert shop.list_states()[-1] == "open"
    assert "import" not in shop.read()


def test_what_the_users_git_adds_is_not_pushed_and_names_that_look_alike_are_no_trouble(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    git = shop.repo.git
    git("push", "--quiet", "origin", f"main:refs/heads/a/refs/heads/{BRANCH}")
    git("config", "push.followTags", "true")
    git("tag", "--annotate", "--message=private", "unpublished", "topic")
    pr()
    assert shop.list_states() == ["open"]
    assert "unpublished" not in shop.bare("for-each-ref")


def test_nothing_is_pushed_to_another_repository_or_to_a_branch_of_that_name(shop, pr, tmp_path):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    git, other = shop.repo.git, tmp_path / "other" / "else.git"
    git("push", "--quiet", "origin", f"main:refs/heads/{BRANCH}")  # a person's bookmark
    before = shop.tip()
    assert "a commit that punchlist did not make" in pr()
    assert shop.tip() == before
    git("clone", "--quiet", "--bare", str(shop.remote), str(other))
    git("remote", "set-url", "origin", str(other))
    assert f"the remote origin is not {shop.kind.repository}" in pr()
    refs = git("--git-dir", str(other), "rev-parse", f"refs/heads/{BRANCH}")
    assert refs == before


def test_where_git_is_away_when_it_must_be_closed_that_is_an_error_and_tried_again(shop, pr):
    shop.begin({"z.py": "Z = 1\n"}, {"a.py": unused(1)})
    pr()
    shop.state.state = "closed"
    away = f"/nowhere/{shop.kind.repository}"
    shop.repo.git("remote", "set-url", "origin", away)
    said = pr.punchlist(*pr.arguments())
    assert "git ls-remote failed" in said.stderr
    assert shop.list_states() == ["open"]
    shop.repo.git("remote", "set-url", "origin", str(shop.remote))
    pr.punchlist(*pr.arguments())
    assert (shop.list_states(), shop.tip()) == (["closed"], "")
