"""kill -9 with agents at work, then resume: the same end, nobody left running, and no answer paid for twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import wholerun
import workbench
from test_killed import DRIVER, begun, drive, finished, last_run, story
from workbench import fix, fixer, review, scores

from machine import ENVIRONMENT
from needs import SOAK
from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.events import Attempted, Challenged, Reproduced, Reviewed

KILLS = int(ENVIRONMENT.get("KILLS", "2"))
PARTS = 2 if SOAK else 1
BY_AGENTS = (Attempted, Challenged, Reproduced, Reviewed)
CALLS = 12


def script(seconds: float) -> list[dict]:
    """Three faults: one is put off at first, one scores too low at first. Every agent takes so long."""
    lines = [
        review("cheapest", "page", "initials", label="0 technical"),
        review(),
        {"role": "reproducer", "answer": {"tests": []}},
        fixer(fix("cheapest"), fix("page", "deferred", "not sure yet"), fix("initials"), round=1),
        fixer(fix("cheapest"), fix("page"), fix("initials")),
        {**scores(F001=95, F002=95, F003=40), "round": 1},
        scores(F001=95, F002=95, F003=95),
    ]
    return [{**line, "seconds": seconds} for line in lines]


class Peace(NamedTuple):
    """What came of a run that nobody killed: its story, the numbers of the events that are answers, of all, and its seconds."""

    story: dict
    answers: list[int]
    events: int
    seconds: float


class Bench:
    """The repository, and one state folder after another: each for a run that is killed in its own way."""

    def __init__(self, repo, folder, patch) -> None:
        self.repo, self.folder, self._patch = repo, folder, patch
        workbench.homes(folder, patch)
        self._bench = workbench.Workbench(repo, folder)
        self.anew("peace")

    def anew(self, name: str, seconds: float = 0.05) -> None:
        """The same script with a log of its own, and a state of its own."""
        self._patch.setenv("PUNCHLIST_HOME", str(self.folder / name))
        self._bench.play(*script(seconds))
        (self.folder / "calls.jsonl").unlink(missing_ok=True)

    @property
    def asked(self) -> Counter[str]:
        """How often each call came to its end."""
        return Counter(call.label for call in read_calls(self.folder / "calls.jsonl"))

    @property
    def kept(self) -> set[str]:
        """The calls whose answers are written down."""
        home = Path(os.environ["PUNCHLIST_HOME"])
        return {
            json.loads(path.read_bytes())["label"] for path in home.glob("runs/*/answers/*.json")
        }

    def told(self) -> dict:
        """The run's story; agents side by side come to their ends in any order, and so do their commits."""
        run = last_run()
        found = story(run, self.repo)
        found["commits"] = sorted(found["commits"])
        if run.landing.landed:
            self.repo.git("branch", "-D", run.landing.branch)
        return found


@pytest.fixture
def bench(repo, tmp_path, monkeypatch):
    return Bench(repo, tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def runs_in_peace() -> list[Peace]:
    """The run that was not killed, once there was one: it is the same for all tests."""
    return []


@pytest.fixture
def untouched(bench, runs_in_peace):
    """A run that was not killed."""
    if not runs_in_peace:
        runs_in_peace.append(run_in_peace(bench))
    return runs_in_peace[0]


def run_in_peace(bench):
    began = time.monotonic()
    done = drive(bench.repo, "run")
    assert done.returncode == 0, done.stderr.decode()
    took, entries = time.monotonic() - began, ledger()
    assert len(bench.asked) == CALLS
    assert set(bench.asked.values()) == {1}
    return Peace(
        bench.told(),
        [n for n, event in enumerate(entries, 1) if isinstance(event, BY_AGENTS)],
        len(entries),
        took,
    )


def ledger() -> list:
    store = SqliteStore.open(Path(os.environ["PUNCHLIST_HOME"]), readonly=True)
    events = [entry.event for entry in store.read(store.find_run("last"))]
    store.close()
    return events


def moments(peace):
    """Before: the effect is done and not written down, which is the hard case. After: it is written and nothing follows."""
    if not SOAK:
        return [
            ("before", peace.answers[0]),
            ("before", peace.answers[-2]),
            ("after", peace.answers[6]),
        ]
    return [("before", number) for number in range(2, peace.events + 1)] + [
        ("after", number) for number in peace.answers[::5]
    ]


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_an_event_the_run_asks_nobody_again_and_comes_to_the_same_end(
    bench, untouched, part
):
    for when, number in moments(untouched)[part::PARTS]:
        bench.anew(f"{when}-{number}")
        died = drive(bench.repo, "run", when, str(number))
        assert died.returncode == -signal.SIGKILL, died.stderr.decode()
        assert set(bench.asked) == bench.kept
        assert finished(bench.repo)["audit"] == []
        assert bench.told() == untouched.story, f"killed {when} event {number}"
        again = {label: times for label, times in bench.asked.items() if times > 1}
        assert not again, f"killed {when} event {number}"


def shot(bench, word, seconds):
    """A run, or its going on, that is killed after so many seconds; True if there is something to resume."""
    line = [sys.executable, str(DRIVER), str(bench.repo.root), word]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    child.kill()
    child.wait()
    return (Path(os.environ["PUNCHLIST_HOME"]) / "ledger.sqlite3").exists() and begun()


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_random_moments_and_killed_again_no_answer_is_paid_for_twice(
    bench, untouched, part
):
    dice = random.Random(f"agents {part}")
    for kill in range(KILLS // PARTS):
        bench.anew(f"state-{kill}", seconds=0.3)
        if not shot(bench, "run", dice.uniform(0.1, 1) * untouched.seconds):
            continue  # killed before there was anything to resume
        paid = [(bench.kept, bench.asked)]
        shot(bench, "resume", dice.uniform(0.1, 1) * untouched.seconds)
        paid.append((bench.kept, bench.asked))
        assert finished(bench.repo)["audit"] == []
        assert bench.told() == untouched.story
        for kept, asked in paid:
            assert {label: bench.asked[label] for label in kept} == {
                label: asked[label] for label in kept
            }


CREW = Counter(technical=1, fixer=2, challenger=1)
"""How often each is asked in a run with two faults."""
ASIDE = "setsid tail -f /dev/null >/dev/null 2>&1 & echo left something behind"
HELD = "setsid tail -f /dev/null & tail -f /dev/null"


@pytest.mark.agents
@pytest.mark.parametrize("kind", ["codex", pytest.param("claude", marks=pytest.mark.soak)])
def test_killed_with_real_agents_at_work_none_survives_and_none_is_asked_again(
    repo, tmp_path, kind
):
    dice = random.Random(f"real {kind}")
    with wholerun.Company("cheapest", "page") as model:
        shop = wholerun.Project(repo, tmp_path, model)
        for kill in range(max(2, KILLS // 8)):
            shop.use(kind, shared=f"sandbox = {json.dumps(bool(kill % 2))}")
            shop.env["PUNCHLIST_HOME"] = str(tmp_path / f"state-{kill}")
            model.aside, moment = ASIDE, len(model.calls) + dice.randint(1, 16)
            if kill:
                killed_and_resumed(
                    shop, lambda least=moment: len(model.calls) >= least, dice.uniform(0, 0.3)
                )
            else:  # with a shell at work, and what that has put into a session of its own
                model.aside = HELD
                killed_and_resumed(
                    shop,
                    lambda: [line for line in shop.processes().values() if line[0] == "tail"][1:],
                )


def killed_and_resumed(shop, due, later=0.0):
    child = shop.begun(*shop.strict("technical"))
    wholerun.wait_for(lambda: due() or child.poll() is not None, 240)
    time.sleep(later)
    child.kill()
    shop.model.aside = ASIDE
    child.communicate()
    wholerun.wait_for(lambda: not shop.processes(), 10)
    home = Path(shop.env["PUNCHLIST_HOME"])
    kept = [json.loads(path.read_bytes())["label"] for path in home.glob("runs/*/answers/*.json")]
    paid = Counter(role for label in kept for role in CREW if role in label)
    before = shop.model.begun()
    told = shop.told(shop.start("resume", "--json"))
    assert shop.processes() == {}
    assert shop.model.begun() - before == CREW - paid
    facts = [[attempt["fact"] for attempt in item["attempts"]] for item in told["items"]]
    assert facts == [["said-fixed", "committed"]] * 2
    assert shop.branch() == wholerun.fixed("cheapest", "page")
    assert shop.audited()
    shop.repo.git("branch", "-D", told["run"]["branch"])
