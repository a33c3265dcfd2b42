"""Nothing of a hostile repository is started beside the sandbox: a sample of bench/obedient/beside.py."""

import os
import shutil

import beside
import beside_payload
import pytest
from beside_commands import STEPS, missing, run_plainly
from beside_world import Ground, Watcher, is_outside
from world import OTHER_UID, choose_ground, find_python

from needs import rarely

UID = OTHER_UID if not os.getuid() else os.getuid()
HELD = ("environment modules", "node", "git hooks", "git transports: ssh")
"""Kinds of payloads that share a repository here."""
USED = ("doctor --json", "review", "run --yes", "apply")
CHOSEN = (
    ".venv: .pth with an import",
    "core.sshCommand by insteadOf of /",
    "core.fsmonitor",
    "hook pre-commit",
    "node_modules/.bin/biome",
    "package.json: test",
    "Makefile: read",
    "json.py in the root",
    "git (PATH, absolute)",
    "promisor remote with missing objects",
)
"""Payloads of many kinds, as scripts, programs, modules and settings."""
MORE = """
from beside_payload import payload


@payload("one of another folder", kind="of another folder", control="./go")
def go(plant):
    plant.program("go")
"""


@pytest.fixture(scope="module", autouse=True)
def payloads():
    beside.load()
    yield
    beside_payload.ALL.clear()


@pytest.fixture
def open_ground(request):
    """Makes grounds outside of temporary folders, each with a watcher."""
    if not find_python(UID) or choose_ground() is None:
        pytest.skip("NOT TESTED HERE: no folder outside /tmp, or no Python that the user can start")

    def open_one(walls=beside.BUBBLEWRAP):
        ground = Ground(UID, bubblewrap=walls == beside.BUBBLEWRAP)
        request.addfinalizer(ground.close)
        watcher = Watcher(ground)
        request.addfinalizer(watcher.close)
        return ground, watcher

    return open_one


def test_every_command_of_the_command_line_is_measured():
    assert missing(STEPS, beside.ELSEWHERE) == []
    assert missing(STEPS[1:], ()) != []


def test_each_payload_leaves_a_mark_outside_when_an_honest_tool_is_run_plainly(open_ground):
    ground, watcher = open_ground()
    for name in CHOSEN:
        each = beside_payload.ALL[name]
        repo = ground.make([each.kind])
        env = ground.variables([each.kind], repo)
        run_plainly(ground.command(["/bin/sh", "-c", each.control]), repo, env)
        marks = [mark for mark in watcher.take("control") if mark["name"] == name]
        assert marks, name
        assert all(is_outside(mark, ground.token) for mark in marks), name
        assert {mark["uid"] for mark in marks} == {UID}, name


def test_payloads_of_another_folder_are_planted_like_our_own(open_ground, tmp_path):
    (tmp_path / "more.py").write_text(MORE)
    beside_payload.load(tmp_path)
    ground, watcher = open_ground()
    assert beside.find_duds(ground, watcher, ["of another folder"]) == ([], [])


@pytest.mark.parametrize("walls", [beside.WALLS[0], *rarely(*beside.WALLS[1:])])
def test_no_command_starts_a_program_of_the_repository_outside_of_the_sandbox(open_ground, walls):
    if walls == beside.BUBBLEWRAP and not shutil.which("bwrap"):
        pytest.skip("NOT TESTED HERE: there is no working bubblewrap on this machine")
    ground, watcher = open_ground(walls)
    uses = [use for use in beside.list_uses((), HELD, "") if use[0] in USED]
    result = beside.measure_kinds(ground, watcher, HELD, uses)
    assert beside.holes(result["outside"]) == []
    assert {mark["name"] for mark in result["inside"]}, "no payload is alive inside"
    assert result["codes"].keys() == set(USED)
