"""Killed with -9 at any moment, and begun again: twenty items are twenty issues."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from github_standin import TOKEN, Github

from needs import rarely

SCRIPT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from conftest import told
from pathlib import Path
from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.style import GITHUB
from punchlist.adapters.trackers.github.issues import GithubIssues
from punchlist.adapters.trackers.issues.tracker import IssueTracker
from punchlist.adapters.rest.retry import Pacing
from punchlist.adapters.rest.remote import make_token_reader

place = ForgePlace(style=GITHUB, token=make_token_reader(GITHUB, "DUMMY_TOKEN"), git=Git(Path("/")), repository="acme/shop", api=sys.argv[2])
filings = asyncio.run(IssueTracker(place, GithubIssues.open, ("tech-debt",), Pacing(between_writes=0.01)).file([told(n) for n in range(1, 21)]))
print(*[filing.ref or filing.failed for filing in filings], sep="\\n")
"""


def start(api):
    here = Path(__file__).parent
    env = {
        **os.environ,
        "DUMMY_TOKEN": TOKEN,
        "PYTHONPATH": os.pathsep.join([str(here.parents[2] / "src"), *sys.path[1:]]),
    }
    command = [sys.executable, "-c", SCRIPT, str(here), api]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.002)


@pytest.mark.parametrize("seed", [0, *rarely(1, 2)])
def test_killed_at_random_moments_twenty_items_are_twenty_issues(standin, seed):
    """Lists show nothing younger than a second: a second try that trusted them alone would file all of it again."""
    chance = random.Random(seed)
    github = standin.github = Github(time.time, list_lag=1.0, search_lag=3600)
    for _ in range(5):
        worker = start(standin.api)
        enough = len(github.asked) + chance.randrange(1, 50)
        wait_until(
            lambda enough=enough, worker=worker: (
                len(github.asked) >= enough or worker.poll() is not None
            )
        )
        time.sleep(chance.random() * 0.02)
        worker.kill()
        worker.communicate()
    last = start(standin.api)
    out, err = last.communicate(timeout=60)
    assert not err
    assert len(set(out.split())) == 20
    assert len(github.issues) == 20, "not even one that was closed again"
    assert len(set(github.fingerprints())) == 20
