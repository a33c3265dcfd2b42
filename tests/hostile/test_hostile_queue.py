"""What a user who may queue runs makes a worker do: nothing that the worker's own settings do not let him."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from msgspec.structs import replace

from fleet_databases import fleet_server, fleet_url, open_fleet
from fleet_world import Fleet, wait_for
from needs import rarely
from punchlist.adapters.git.checkout import Checkout
from punchlist.app.fleet.floor import lay_floor
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.model.checks.check import Check
from punchlist.settings import LoadedSettings, Settings, decode_settings, encode_settings
from punchlist.worker_words import WORDS, Word, find_word, list_leaves

__all__ = ["fleet_server", "fleet_url", "open_fleet"]

EVIL = "/tmp/of-the-queuing-user"
AGENT = "helper"
LOOSENED = sorted(
    name for word, names in WORDS.items() if word not in (Word.RUN, Word.MACHINE) for name in names
)
WORKER = {
    "sandbox.required": "true",
    "limits.time": "50",
    "limits.dollars": "5",
    "track.to": "github",
    "keep.to": "/srv/results",
}
"""What the worker was started with."""


def test_every_setting_declares_whose_word_counts_on_a_worker():
    declared = [name for names in WORDS.values() for name in names]
    assert sorted(declared) == sorted(set(declared)), "declared twice"
    assert sorted(declared) == sorted(list_leaves(Settings)), (
        "declare each setting in worker_words.py: can it name a program, a path, a host or a secret?"
    )


def test_a_setting_that_is_not_declared_is_not_the_runs():
    assert find_word("a.setting-of-tomorrow") is Word.MACHINE


def choose_value(kind: Any, now: Any) -> Any:
    """Return a value of the type that is not the present one."""
    if get_origin(kind) is Annotated:
        return choose_value(get_args(kind)[0], now)
    if type(None) in get_args(kind):
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    if kind is bool:
        return not now
    if kind in (int, float):
        return (now or 0) + 100
    return choose_words(kind, now)


def choose_words(kind: Any, now: Any) -> Any:
    if get_origin(kind) is dict:
        return {"ruff": choose_value(get_args(kind)[1], None)}
    if get_origin(kind) is not tuple:
        return "gitlab" if now == "github" else EVIL
    inner = get_args(kind)[0]
    if inner is str:
        return (EVIL,)
    return (msgspec.convert({"name": "evil", "command": ["/bin/sh", "-c", EVIL]}, inner),)


def find_value(settings: Any, name: str) -> Any:
    for part in name.replace("*", AGENT).split("."):
        if isinstance(settings, dict):
            settings = settings[part]
        else:
            fields = {each.encode_name: each.name for each in msgspec.structs.fields(settings)}
            settings = getattr(settings, fields[part])
    return settings


def set_value(settings: Any, path: list[str], make: Any) -> Any:
    if isinstance(settings, dict):
        return {**settings, path[0]: set_value(settings[path[0]], path[1:], make)}
    field = next(each for each in msgspec.structs.fields(settings) if each.encode_name == path[0])
    now = getattr(settings, field.name)
    new = set_value(now, path[1:], make) if path[1:] else make(field.type, now)
    return replace(settings, **{field.name: new})


class Queue:
    """A run as its user queued it, and the worker that takes it."""

    def __init__(self, repo, home: Path) -> None:
        self.root, self.home = repo.root, home

    def load_own(self, flags):
        """Return the settings of a worker with these flags."""
        return asyncio.run(self._open(flags)).settings().settings

    async def _open(self, flags):
        return Session(self.home, await Checkout.find(self.root), flags)

    async def _prepare(self):
        session = await self._open({})
        ready = await prepare_run(session, Request(workflow="proven", allow_checks=True))
        return ready.started(session.repository)

    def start(self, **changes):
        """Return the first event of a run, with what its user put into it."""
        return replace(asyncio.run(self._prepare()), **changes)

    def drive(self, started, **flags):
        """Return how a worker with these settings of its own drives the run."""
        return asyncio.run(self._drive(started, flags))

    async def _drive(self, started, flags):
        session = await self._open(flags)
        await session.workshop()
        session.source = str(self.root)
        return await lay_floor(session, started)


@pytest.fixture
def queue(repo, tmp_path) -> Queue:
    repo.commit({"a.py": "x = 1\n"})
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"b.py": "import os\n"})
    return Queue(repo, tmp_path / "state")


def ask_agent(started):
    return replace(started, crew={"fixer": (AGENT,)})


@pytest.mark.parametrize("name", LOOSENED)
def test_no_setting_of_a_run_loosens_what_the_worker_has(queue, name):
    started = ask_agent(queue.start())
    own = {**WORKER, f"agent.{AGENT}.kind": "claude"}
    asked = decode_settings(started.settings)
    mine = queue.load_own(own)
    settings = replace(asked.settings, agent=mine.agent, track=mine.track, keep=mine.keep)
    if name.startswith("keep.") and name != "keep.to":
        settings = replace(settings, keep=replace(settings.keep, to="/srv/results"))
    before = find_value(mine, name)
    hostile = set_value(
        settings, name.replace("*", AGENT).split("."), lambda kind, now: choose_value(kind, before)
    )
    assert find_value(hostile, name) != before, "the variant asks for something else"
    # Written as a user can who has the database: encode_settings would leave secrets out.
    pinned = msgspec.json.encode(LoadedSettings(hostile, {})).decode()
    floor = queue.drive(replace(started, settings=pinned), **own)
    if floor.refused:
        assert name.replace("*", AGENT) in floor.refused
        assert "hint: " in floor.refused
        return
    assert find_value(decode_settings(floor.started.settings).settings, name) == before
    told = any(name.replace("*", AGENT) in each for each in floor.overrides)
    assert told == (name != "sandbox.required"), "a run that leaves it out is not told"


def test_what_the_run_says_of_stricter_limits_counts(queue):
    started = queue.start()
    asked = decode_settings(started.settings)
    limits = replace(asked.settings.limits, time=3.0)
    sandbox = replace(asked.settings.sandbox, required=True)
    settings = replace(asked.settings, limits=limits, sandbox=sandbox)
    text = encode_settings(replace(asked, settings=settings))
    floor = queue.drive(replace(started, settings=text), **{"limits.time": "50"})
    counts = decode_settings(floor.started.settings).settings
    assert (floor.refused, floor.overrides) == ("", ())
    assert (counts.limits.time, counts.sandbox.required) == (3, True)


def test_a_run_that_names_an_agent_gets_the_workers_definition_of_it(queue):
    started = ask_agent(queue.start())
    flags = {f"agent.{AGENT}.kind": "command", f"agent.{AGENT}.command": "/opt/agent"}
    floor = queue.drive(started, **flags)
    assert floor.refused == ""
    assert decode_settings(floor.started.settings).settings.agent[AGENT].command == ("/opt/agent",)


@pytest.mark.parametrize(
    "command",
    [
        ("/bin/sh", "-c", "id"),
        *rarely((("python3", "-c", "import os"),), ((sys.executable, "-m", "http.server"),)),
    ],
)
def test_a_check_that_the_base_does_not_have_is_not_run(queue, command):
    forged = Check(name="tests", command=command, origin=".punchlist.toml")
    floor = queue.drive(queue.start(checks=(forged,), checks_allowed=True))
    assert "check tests: neither this worker's own settings nor the base commit" in floor.refused
    allowed = queue.drive(
        queue.start(checks=(forged,), checks_allowed=True), **{"fleet.trust": "queue"}
    )
    assert allowed.refused == ""


def test_checks_that_the_base_has_are_run_unless_the_worker_trusts_only_its_own(repo, tmp_path):
    text = '[[checks]]\nname = "tests"\ncommand = ["/bin/true", "--all"]\n'
    repo.commit({"a.py": "x = 1\n", ".punchlist.toml": text})
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"b.py": "import os\n"})
    queue = Queue(repo, tmp_path / "state")
    started = queue.start(checks_allowed=True)
    assert [check.command for check in started.checks] == [("/bin/true", "--all")]
    assert queue.drive(started).refused == ""
    refused = queue.drive(started, **{"fleet.trust": "own"}).refused
    assert refused.startswith("checks: the run was queued with ")


def test_a_program_that_others_can_replace_is_not_a_check_of_the_base(repo, tmp_path):
    """It has the name and the arguments of the base's, and lies in a folder that all can write to."""
    text = '[[checks]]\nname = "tests"\ncommand = ["true", "--all"]\n'
    repo.commit({"a.py": "x = 1\n", ".punchlist.toml": text})
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "true"
    program.write_text("#!/bin/sh\nid\n")
    program.chmod(0o755)
    queue = Queue(repo, tmp_path / "state")
    (check,) = queue.start(checks_allowed=True).checks
    started = queue.start(
        checks=(replace(check, command=(str(program), "--all")),), checks_allowed=True
    )
    assert queue.drive(started).refused == "", "the worker's own user put it there"
    folder.chmod(0o777)
    assert "check tests: neither" in queue.drive(started).refused


@pytest.mark.parametrize("folder", ["../../out", ".git/hooks", "/etc"])
def test_documents_are_not_written_out_of_the_clone(queue, folder):
    assert folder in queue.drive(queue.start(documents_folder=folder)).refused


def test_a_worker_fetches_only_from_the_sources_that_it_names(queue):
    floor = queue.drive(queue.start(), **{"fleet.sources": "https://forge.example.org/*"})
    assert "this worker does not fetch from" in floor.refused
    assert "fleet.sources" in floor.refused


def test_settings_that_cannot_be_read_are_said_and_break_nothing_off(queue):
    assert "cannot be read" in queue.drive(queue.start(settings='{"settings": 3}')).refused


def test_code_that_a_configuration_loads_is_what_this_worker_finds_in_the_base(queue):
    started = queue.start(configurations=())
    assert queue.drive(started).started.configurations == queue.start().configurations


OUTSIDE = """#!/bin/sh
{{ id; cat {secret}; }} > {marker} 2>&1
echo '{{"findings": [], "summary": "fine"}}'
"""


@pytest.fixture
def fleet(repo, tmp_path, fleet_url, open_fleet):
    folder = tmp_path / "fleet"
    folder.mkdir()
    made = Fleet(repo, folder, fleet_url, open_fleet())
    made.play()
    yield made
    made.close()


def queue_evil(fleet, **more):
    """Queue a run whose user's settings have an agent of his own, without a sandbox."""
    secret, marker, program = (fleet.folder / name for name in ("secret", "marker", "agent.sh"))
    secret.write_text("CANARY\n")
    program.write_text(OUTSIDE.format(secret=secret, marker=marker))
    program.chmod(0o755)
    fleet.push("feature")
    flags = {
        "agents.use": "x",
        "agents.sandbox": "false",
        "agent.x.kind": "command",
        "agent.x.command": str(program),
        **more,
    }
    return fleet.enqueue_here(**flags), marker, str(program)


def test_an_agent_of_the_queuing_user_is_not_started_and_the_run_says_what_to_do(fleet):
    run, marker, _ = queue_evil(fleet)
    worker = fleet.start_worker("a", "--set", "sandbox.required=true")
    wait_for(lambda: fleet.job(run).state == "stopped")
    assert not marker.exists()
    job = fleet.job(run)
    assert "agent.x.kind" in job.note
    assert "fleet.trust=queue" in job.note
    assert fleet.kinds(run)[-2:] == ["resumed", "interrupted"]
    assert "agent.x.kind" in fleet.command("status", run, "--json")
    fine = fleet.enqueue("other")
    fleet.wait_ended(fine)
    assert fleet.job(fine).worker == worker.id, "it goes on with runs of others"
    assert fleet.job(run).deaths == 0


def test_the_sandbox_of_a_worker_holds_for_agents_that_it_has_itself(fleet):
    """The same agent is in the worker's own settings; the run's `agents.sandbox=false` is not."""
    run, marker, program = queue_evil(fleet)
    known = ("--set", "agent.x.kind=command", "--set", f"agent.x.command={program}")
    fleet.start_worker("a", "--set", "sandbox.required=true", *known)
    fleet.wait_ended(run)
    assert not marker.exists() or "CANARY" not in marker.read_text()
    told = "agents.sandbox is true on this worker, not false"
    resumed = next(
        entry.event
        for entry in fleet.state.store.read(run)
        if entry.event.__struct_config__.tag == "resumed"
    )
    assert told in resumed.overrides
    assert told in fleet.command("report", run, "--format", "md")


def test_a_worker_that_trusts_the_queue_starts_the_agents_of_its_users(fleet):
    run, _, program = queue_evil(fleet)
    fleet.start_worker("a", "--set", "fleet.trust=queue", "--set", "agents.sandbox=false")
    fleet.wait_ended(run)
    assert (fleet.folder / "marker").exists(), program
