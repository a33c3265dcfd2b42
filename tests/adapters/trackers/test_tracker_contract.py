"""What every tracker promises: an answer for each item, and one open issue for each that is left, whoever files it."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from gitea_pulls import GiteaServer

from punchlist.adapters.rest.style import GITEA
from punchlist.adapters.trackers.files import INDEX, FilesTracker
from punchlist.adapters.trackers.gitea.issues import GiteaIssues
from punchlist.app.start import tracker as wired
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.settings import load_settings


class Folder:
    def __init__(self, folder):
        self.folder = folder

    def tracker(self):
        return FilesTracker(self.folder / "issues")

    def unreachable(self):
        (self.folder / "file").write_text("")
        return FilesTracker(self.folder / "file" / "issues")

    def texts(self):
        files = [path for path in (self.folder / "issues").glob("*.md") if path.name != INDEX]
        return [text for path in files if "\nStatus: dismissed" not in (text := path.read_text())]


class OnForge:
    def __init__(self, bench):
        self.bench = bench

    def tracker(self):
        return self.bench.tracker()

    def unreachable(self):
        return self.bench.tracker(api=f"http://127.0.0.1:9{self.bench.github.below}")

    def texts(self):
        return [
            f"{issue['title']}\n{[label['name'] for label in issue['labels']]}\n{issue['body']}"
            for issue in self.bench.github.open
        ]


class OnGitea:
    def __init__(self, bench, server):
        self.bench, self.server = bench, server
        server.fresh()

    def tracker(self, **place):
        values = {"style": GITEA, "api": self.server.api, **place}
        return self.bench.tracker(issues=GiteaIssues.open, **values)

    def unreachable(self):
        return self.tracker(api="http://127.0.0.1:9/api/v1")

    def texts(self):
        assert self.server.state.problems == []
        return [
            f"{issue['title']}\n{[label['name'] for label in issue['labels']]}\n{issue['body']}"
            for issue in self.server.state.issues
            if issue["state"] == "open"
        ]


@pytest.fixture(scope="module")
def gitea():
    with GiteaServer() as server:
        yield server


@pytest.fixture(params=["files", "github", "gitlab", "gitea"])
def ground(request, tmp_path, make_bench, gitea):
    if request.param == "gitea":
        return OnGitea(make_bench("github"), gitea)
    return Folder(tmp_path) if request.param == "files" else OnForge(make_bench(request.param))


def filed(tracker, *dossiers):
    return asyncio.run(tracker.file(dossiers))


def test_an_issue_tells_its_item_and_can_be_found_again_by_its_fingerprint(ground, told):
    dossier = told(
        1, detail="It is never read.", suggestion="Remove it.", flags=("weak reason: out of scope",)
    )
    (filing,) = filed(ground.tracker(), dossier)
    assert (filing.item, filing.failed) == (1, "")
    assert filing.ref
    (text,) = ground.texts()
    for part in (
        "[MAJOR] Unused import: os",
        "tech-debt",
        "major",
        "src/a.py:1",
        "It is never read.",
        "Remove it.",
        "weak reason",
    ):
        assert part in text
    assert f"<!-- punchlist:fingerprint {dossier.item.fingerprint} -->" in text
    assert "run `r1`, item 1" in text


def test_filing_twice_makes_one_issue_even_with_other_words(ground, told):
    first = filed(ground.tracker(), told(1))
    again = filed(ground.tracker(), told(1, Severity.CRITICAL, title="Now in other words"), told(2))
    assert again[0].ref == first[0].ref
    assert len(ground.texts()) == 2


def test_a_fixed_item_is_never_filed(ground, told):
    fixed, other = filed(ground.tracker(), told(1, status=Status.FIXED), told(2))
    assert "fixed" in fixed.failed
    assert not fixed.ref
    assert other.ref
    assert len(ground.texts()) == 1


def test_two_workers_make_one_open_issue_an_item(ground, told):
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(filed(ground.tracker(), told(1), told(2))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ground.texts()) == 2
    assert len({tuple(filing.ref for filing in filings) for filings in answers}) == 1


def test_a_tracker_that_cannot_be_reached_says_so_for_each_item(ground, told):
    filings = filed(ground.unreachable(), told(1), told(2))
    assert [filing.item for filing in filings] == [1, 2]
    assert all(filing.failed and not filing.ref for filing in filings)


def test_nothing_to_file_is_nothing_to_do(ground):
    assert list(filed(ground.tracker())) == []


def test_no_secret_no_mention_and_no_command_goes_out(ground, told):
    evil = "ask @octocat <img src=x> ![x](http://e/x.png) token = 'hunter2-hunter2'\n/close\n<!-- punchlist:fingerprint forged -->"
    filed(ground.tracker(), told(1, title=evil, detail=evil, suggestion=evil))
    (text,) = ground.texts()
    for part in (
        "@octocat",
        "<img",
        "![x]",
        "hunter2",
        "\n/close",
        "<!-- punchlist:fingerprint forged",
    ):
        assert part not in text


def test_a_dismissed_issue_is_closed_and_opened_again(ground, told):
    tracker, dossier = ground.tracker(), told(1)
    filed(tracker, dossier, told(2))
    fingerprints = [dossier.item.fingerprint]
    assert tracker.close(fingerprints, "ada", "it is public\n/close @all") == 1
    assert len(ground.texts()) == 1
    assert ground.tracker().reopen(fingerprints) == 1
    assert len(ground.texts()) == 2
    assert "\n/close" not in "".join(ground.texts())


def test_an_entry_in_the_table_is_enough(tmp_path, monkeypatch):
    """For filing, and for closing what a person dismissed; issue files of earlier runs are closed too."""
    own, place = FilesTracker(tmp_path), wired.TrackerPlace(tmp_path, None)
    monkeypatch.setitem(wired._TRACKERS, "own", lambda track, place: own)
    loaded = load_settings(None, {"track.to": "own"})
    workshop = SimpleNamespace(folder=tmp_path, checkout=SimpleNamespace(user_git=None))
    assert wired.make_tracker(loaded, workshop) is own
    earlier = [
        str(tmp_path / "old" / "major-1a2b-title.md"),
        "https://github.example/issues/7",
        "own-3",
    ]
    first, *others = wired.trackers_of(loaded.settings.track, earlier, place)
    assert first is own
    assert [tracker._folder for tracker in others] == [tmp_path / "old"]
