"""Runs or resumes on a repository in a process of its own, which may be told to kill itself at an append to the ledger.

driver.py REPOSITORY run|resume [before|after N | written|shared NAME]

`written` kills it right after a file whose name has NAME in it is stored in the run's folder, `shared` in the object store.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shop import FLAGS

from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.audit import audit_run
from punchlist.app.drive.drive import resume_run
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.patch.change import ScopeKind


class Mortal:
    """A store that kills its process: before the Nth event is written (its effect is done), or right after."""

    def __init__(self, store: SqliteStore, when: str, number: int) -> None:
        self._store, self._when, self._left = store, when, number

    def append(self, *arguments):
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        entry = self._store.append(*arguments)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return entry

    def __getattr__(self, name):
        return getattr(self._store, name)


def die_when_written(name: str, *, shared: bool) -> None:
    """Kill this process as soon as such a file is stored in a run's folder, or in the object store."""
    kind = FolderArtifacts
    if shared:
        from punchlist.adapters.objects.artifacts import ObjectArtifacts as kind  # noqa: N813

    def make_deadly(store):
        def write(self, file: str, content: bytes):
            stored = store(self, file, content)
            if name in file and not file.startswith("prompts/"):  # these are there before the run
                os.kill(os.getpid(), signal.SIGKILL)
            return stored

        return write

    kind.write, kind.create = make_deadly(kind.write), make_deadly(kind.create)


class Silent:
    def handle_start(self, place, action):
        pass

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run):
        pass


async def main(repository: str, what: str, when: str = "", number: str = "0") -> None:
    app = await Session.open(Path(repository), FLAGS)
    with contextlib.closing(app):
        if when in {"written", "shared"}:
            die_when_written(number, shared=when == "shared")
        elif when:
            app.state.store = Mortal(app.store, when, int(number))
        if what == "run":
            run = await start_run(
                app,
                await prepare_run(app, Request(kind=ScopeKind.ALL, allow_checks=True)),
                Silent(),
            )
        else:
            run = await resume_run(app, "last", Silent())
        print(
            json.dumps(
                {
                    "run": run.id,
                    "ended": run.ended,
                    "events": run.seq,
                    "audit": audit_run(app, run.id).problems,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
