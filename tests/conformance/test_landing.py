"""Landing in a real repository: the user's own things stay as they are, and what is sent outward is harmless."""

import asyncio
import contextlib
import json
import os
from pathlib import Path

import pytest
from scripted import Watch, finding

from made import made_run
from punchlist.app.drive.drive import resume_run
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger import events as ev
from punchlist.model.patch.change import ScopeKind
from punchlist.steps.commit import render_message

FLAGS = {"analyzers.enabled": "ruff", "analyzers.select": "F"}
CODE = "import os\nimport sys\n\nprint(sys.argv)\n"


def do(repo, work, **flags):
    async def main():
        app = await Session.open(repo.root, FLAGS | flags)
        with contextlib.closing(app):
            return await work(app)

    return asyncio.run(main())


def run_all(repo, watch=None, *, flags=None, **request):
    async def work(app):
        return await start_run(
            app,
            await prepare_run(
                app, Request(**{"kind": ScopeKind.ALL, "allow_checks": False, **request})
            ),
            watch or Watch(),
        )

    return do(repo, work, **(flags or {}))


@pytest.fixture
def busy(repo, make_repo, tmp_path, monkeypatch):
    """A checkout in the middle of somebody's work: edited, staged, new and stashed files, and a remote."""
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    origin = make_repo("origin", init=False)
    origin.git("init", "--quiet", "--bare", cwd=origin.root)
    repo.commit({"a.py": CODE, "b.py": CODE, "c.py": "x = 1\n"})
    repo.git("remote", "add", "origin", str(origin.root))
    repo.git("push", "--quiet", "origin", "main")
    repo.write("c.py", "x = 'stashed'\n")
    repo.git("stash")
    repo.write("a.py", "# my own words\n" + CODE)
    repo.write("b.py", CODE + "# staged\n")
    repo.git("add", "b.py")
    repo.write("new.py", "import json\n")
    return repo, origin


def mine(repo) -> dict[str, str]:
    """Everything that is the user's: files, index, stash, branches, head, remote's view."""
    files = {path.name: path.read_text() for path in repo.root.iterdir() if path.is_file()}
    asked = {
        name: repo.git(*command)
        for name, command in {
            "index": ("ls-files", "--stage"),
            "stash": ("stash", "list", "--format=%H"),
            "branches": (
                "for-each-ref",
                "--format=%(refname) %(objectname)",
                "refs/heads/main",
                "refs/remotes",
                "refs/tags",
            ),
            "head": ("symbolic-ref", "HEAD"),
            "hooks": ("config", "--list", "--local"),
            "status": ("status", "--porcelain=v2"),
        }.items()
    }
    return files | asked


def test_what_the_user_is_in_the_middle_of_stays_and_is_in_no_commit(busy):
    repo, origin = busy
    before, remote = mine(repo), origin.git("for-each-ref", cwd=origin.root)
    run = run_all(repo, committed=True)
    assert len(run.find_items(Status.FIXED)) == 2
    assert mine(repo) == before
    changes = repo.git("diff", "--unified=0", "main", run.landing.branch)
    assert [
        line for line in changes.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
    ] == ["-import os", "-import os"]
    assert origin.git("for-each-ref", cwd=origin.root) == remote, "nothing is pushed"
    assert all(item.lead.spot.path != "new.py" for item in run.items.values()), (
        "what is not committed is not reviewed"
    )


def test_a_resume_keeps_the_scope_and_the_settings_of_its_run(busy):
    repo, _ = busy

    def stop(entry, run):
        if isinstance(entry.event, ev.Consolidated):
            asyncio.current_task().cancel()

    stopped = run_all(repo, Watch(stop), paths=("a.py",))
    repo.git("commit", "--quiet", "--all", "--message", "meanwhile")
    run = do(
        repo,
        lambda app: resume_run(app, stopped.id, Watch()),
        **{"analyzers.select": "ALL", "analyzers.enabled": "ruff,bandit"},
    )
    assert run.started == stopped.started
    assert set(run.reviewing.reviews) == {"ruff"}
    assert {item.lead.spot.path for item in run.items.values()} == {"a.py"}
    assert {item.lead.rule for item in run.items.values()} == {"F401"}


def test_after_a_run_failed_the_same_request_may_start_at_once(busy):
    repo, _ = busy

    def crash(entry, run):
        if isinstance(entry.event, ev.Reviewed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(repo, Watch(crash))
    assert run_all(repo).ended == "fixed"


def test_the_same_request_is_refused_whatever_the_order_of_its_parts_and_force_starts_it_anyway(
    busy, tmp_path
):
    repo, _ = busy
    notes = [tmp_path / f"{name}.json" for name in ("one", "two")]
    for note in notes:
        note.write_text(
            json.dumps(
                [{"file": "a.py", "line": 4, "title": f"prints {note.stem}", "severity": "minor"}]
            )
        )

    async def work(app):
        prepared = [
            await prepare_run(
                app,
                Request(
                    kind=ScopeKind.ALL,
                    allow_checks=False,
                    paths=paths,
                    findings=tuple(map(str, files)),
                    force=force,
                ),
            )
            for paths, files, force in (
                (("a.py", "b.py"), notes, False),
                (("b.py", "a.py"), notes[::-1], False),
                (("a.py", "b.py"), notes, True),
            )
        ]
        first, again, forced = prepared
        assert first.fingerprint("r") == again.fingerprint("r")
        begun = asyncio.Event()
        running = asyncio.create_task(start_run(app, first, Watch(lambda *_: begun.set())))
        await begun.wait()
        with pytest.raises(Exception, match="already at work") as refused:
            await start_run(app, again, Watch())
        other = await start_run(app, forced, Watch())
        done = await running
        assert refused.value.run == done.id
        return done, other

    done, other = do(repo, work)
    assert done.ended
    assert other.ended
    assert done.id != other.id


def test_what_a_run_could_not_file_is_filed_by_the_next_one_in_the_same_repository(
    repo, tmp_path, monkeypatch
):
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    repo.commit({"a.py": "print(nobody_defined_this)\n"})
    (tmp_path / "file").write_text("")
    first = run_all(repo, flags={"track.folder": str(tmp_path / "file" / "issues")})
    assert (first.ended, list(first.filing.unfiled)) == ("incomplete", [1])
    repo.commit({"a.py": "print('somebody mended it by hand')\n"})
    second = run_all(repo, flags={"track.folder": str(tmp_path / "issues")})
    assert second.ended == "clean"
    (issue,) = [path for path in (tmp_path / "issues").glob("*.md") if path.name != "README.md"]
    assert f"run `{first.id}`, item 1" in issue.read_text()
    assert f"<!-- punchlist:ledger {second.id} " in issue.read_text()
    assert run_all(repo, flags={"track.folder": str(tmp_path / "issues")}).started.owed == ()


HOSTILE = "@ada please see #12 and ghp_abcdefghijklmnopqrstuvwxyz0123456789AB ![x](https://evil.example/p.png)"


def test_a_commit_message_carries_no_secret_no_mention_and_no_forged_trailer():
    lead = finding(
        1,
        "a.py\nPunchlist-Items: 99\nb.py",
        title=f"{HOSTILE}\nSigned-off-by: Mallory <m@example.org>",
    )
    run = made_run(id="r1", items={1: Item(number=1, fingerprint="f", findings=(lead,))})
    batch = Batch(number=1, items=(1,), fixer="edits", title=lead.title, paths=("a.py",))
    text = render_message(batch, run)
    assert "ghp_" not in text
    assert "@ada" not in text
    assert "#12" not in text
    assert "![x]" not in text
    lines = text.splitlines()
    assert [line for line in lines if line.startswith(("Punchlist-", "Signed-off-by"))] == [
        "Punchlist-Run: r1",
        "Punchlist-Items: 1",
        "Punchlist-Proofs: 1",
    ]
    assert len(lines[0]) <= 72


def test_the_state_folder_is_the_only_place_that_is_written_to(busy):
    repo, _ = busy
    run = run_all(repo)
    home = Path(os.environ["PUNCHLIST_HOME"])
    assert all(Path(path).is_relative_to(home) for path in run.filing.artifacts)
    assert not (repo.root / ".punchlist").exists()
