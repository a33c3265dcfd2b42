"""A fleet: a database, a queued run, and the worker that drives it."""

import json
import sys
import time
from contextlib import contextmanager, suppress

from beside_commands import UNMEASURED, run_plainly
from beside_process import PATIENCE, Process
from world import ROOT


@contextmanager
def open_database():
    """The address of a database server, or '' where PostgreSQL is missing."""
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres_server import find_programs, start_server

    if not find_programs():
        yield ""
        return
    with start_server() as server:
        server.make_database("beside")
        yield f"{server.url}/beside"


QUEUED = (
    ("store", "upgrade"),
    ("store", "copy", "sqlite", "STORE"),
    ("schedule", "add", "nightly", "--cron", "0 3 * * *", "--yes"),
    ("schedule", "list"),
    ("run", "--queue", "--yes", "--all"),
    ("queue",),
    ("worker",),
    ("queue", "--json"),
    ("fleet", "--json"),
    ("schedule", "remove", "nightly"),
)


def drive_fleet(ground, repo, env, store):
    """Queue a run and let a worker drive it, with the commands that belong to a fleet."""
    if not store:
        return UNMEASURED, "PostgreSQL is missing"
    env = {**env, "PUNCHLIST_STORE": store, "PUNCHLIST_OBJECTS": str(ground.home / "objects")}
    lines = []
    for given in QUEUED:
        words = [store if word == "STORE" else word for word in given]
        if words == ["worker"]:
            lines.append(_work(ground, repo, env))
            continue
        command = ground.command([str(ground.root / "tools/bin/punchlist"), *words])
        code, told = run_plainly(
            command, repo, {**env, "PUNCHLIST_STORE": ""} if "copy" in words else env
        )
        lines.append(f"{' '.join(words)}: {code} {told[-400:]}")
    return 0, "\n".join(lines)


def _work(ground, repo, env):
    """A worker, until nothing is queued or running."""
    worker = Process(ground, repo, env, ["worker", "--drain", "1"])
    command = ground.command([str(ground.root / "tools/bin/punchlist"), "queue", "--json"])
    told, until = "", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        _, told = run_plainly(command, repo, env)
        with suppress(ValueError):
            state = json.loads(told)
            if not any(state.get(each) for each in ("queued", "running", "runs")):
                break
        time.sleep(0.5)
    worker.close()
    return f"worker: {worker.process.returncode} {told[:300]} {(ground.root / 'surface.log').read_text()[-600:]}"


FLEET = (
    "worker",
    "queue",
    "schedule add",
    "schedule list",
    "schedule remove",
    "store upgrade",
    "store copy",
)
