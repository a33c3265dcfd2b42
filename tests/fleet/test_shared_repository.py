"""Workers leave commits for each other, and one that has lost its run leaves none."""

import asyncio
from functools import wraps

import psycopg
import pytest

from punchlist.adapters.fleet.mirrors import Mirrors
from punchlist.adapters.fleet.shared_repository import MeetingPlace, SharedRepository, bring_branch
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.errors import RepositoryError, RunTaken
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch
from punchlist.ports.repository import Draft

BRANCH = "punchlist/r1"


def in_loop(test):
    @wraps(test)
    def run_test(**fixtures):
        asyncio.run(test(**fixtures))

    return run_test


def draft(text="b\n"):
    return Draft("a fix", Patch((Splice("a.txt", 0, 2, text),)))


async def open_workshop(repo, home, *commits):
    async with Mirrors(home, 2).open_mirror(str(repo.root), commits) as folder:
        return await Workshop.open(await Checkout.find(folder), home)


def share(workshop, repo, confirm=lambda: None):
    shared = SharedRepository(workshop, WorkTrees(workshop), when=1)
    shared.place = MeetingPlace(str(repo.root), confirm)
    return shared


def list_refs(repo):
    return repo.git(
        "for-each-ref", "--format=%(refname)", "refs/heads/punchlist", "refs/punchlist-drafts"
    )


@in_loop
async def test_what_one_worker_committed_another_finds_and_does_not_commit_again(repo, tmp_path):
    base = repo.commit({"a.txt": "a\n"})
    first = await open_workshop(repo, tmp_path / "one", base)
    made = await share(first, repo).commit_chain(BRANCH, base, [draft()], "commit 1")
    second = await open_workshop(repo, tmp_path / "two", base)
    await bring_branch(second, str(repo.root), "r1")
    again = share(second, repo)
    assert await again.commit_chain(BRANCH, base, [draft("other\n")], "commit 1") == made
    await again.publish(BRANCH)
    assert repo.git("rev-parse", f"refs/heads/{BRANCH}") == made[-1]
    assert repo.git("rev-parse", BRANCH) == made[-1], "the branch is named by its short name"


@in_loop
async def test_a_worker_that_has_lost_its_run_pushes_nothing(repo, tmp_path, open_fleet, fleet_url):
    slow, fresh = open_fleet(lease=3600), open_fleet(lease=3600)
    lease = slow.leases.acquire("r1")
    lease.confirm()
    base = repo.commit({"a.txt": "a\n"})
    workshop = await open_workshop(repo, tmp_path / "one", base)
    with psycopg.connect(fleet_url, autocommit=True) as database:
        database.execute("UPDATE fences SET until = '-infinity'")
    with fresh.leases.acquire("r1") as later:
        later.confirm()
        with pytest.raises(RunTaken):
            await share(workshop, repo, lease.confirm).commit_chain(
                BRANCH, base, [draft()], "commit 1"
            )
    assert list_refs(repo) == ""


@in_loop
async def test_commits_that_are_not_of_the_run_are_not_pushed_over(repo, tmp_path):
    base = repo.commit({"a.txt": "a\n"})
    workshop = await open_workshop(repo, tmp_path / "one", base)
    other = repo.commit({"c.txt": "c\n"})
    repo.git("update-ref", "refs/punchlist-drafts/r1", other)
    with pytest.raises(RepositoryError, match="not of this run"):
        await share(workshop, repo).commit_chain(BRANCH, base, [draft()], "commit 1")
    assert repo.git("rev-parse", "refs/punchlist-drafts/r1") == other


@in_loop
async def test_the_clones_used_least_are_removed_and_those_in_use_are_not(tmp_path, repo):
    base = repo.commit({"a.txt": "a\n"})
    copies = [tmp_path / f"copy{number}" for number in range(4)]
    for copy in copies:
        repo.git("clone", "--quiet", str(repo.root), str(copy))
    mirrors = Mirrors(tmp_path, 2)
    async with mirrors.open_mirror(str(copies[0]), [base]) as kept:
        for copy in copies[1:]:
            async with mirrors.open_mirror(str(copy), [base]) as last:
                await Workshop.open(await Checkout.find(last), tmp_path)
        assert set((tmp_path / "mirrors").iterdir()) == {kept, last}
        assert len(list((tmp_path / "repos").iterdir())) == 1, "workshops go with their clones"


@in_loop
async def test_a_commit_that_a_server_gives_only_by_its_branch_is_fetched_and_a_missing_one_told(
    tmp_path, repo
):
    base = repo.commit({"a.txt": "a\n"})
    head = repo.commit({"a.txt": "b\n"})
    repo.git("config", "protocol.version", "0")
    mirrors = Mirrors(tmp_path, 2)
    async with mirrors.open_mirror(str(repo.root), [base, head]) as folder:
        assert (await Checkout.find(folder)).head == head
    with pytest.raises(RepositoryError, match="has no commit ffffffffffff"):
        async with mirrors.open_mirror(str(repo.root), ["f" * 40]):
            pass
