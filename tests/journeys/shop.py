"""A small shop with defects: some can be fixed, one fix breaks a test, one test fails already."""

import asyncio
import contextlib
import os
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.audit import audit_run
from punchlist.app.drive.drive import resume_run
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.cli.errors import run_command
from punchlist.cli.root import root
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": (
        "import os\n"
        "import json\n"
        "\n\n"
        "def total(prices):\n"
        "    if prices == None:\n"
        "        return 0\n"
        "    return sum(prices)\n"
        "\n\n"
        "def label(price):\n"
        '    return "price: {}".format(price)\n'
    ),
    "shop/compat.py": "from json import dumps\nfrom os import path\n",
    "shop/stock.py": (
        "import sys\n"
        "\n\n"
        "def reorder(level):\n"
        "    try:\n"
        "        return int(level)\n"
        "    except ValueError:\n"
        '        raise RuntimeError("not a level")\n'
    ),
    "tests/__init__.py": "",
    "tests/test_shop.py": (
        "import unittest\n\n"
        "from shop import compat\n"
        "from shop.prices import label, total\n\n\n"
        "class Shop(unittest.TestCase):\n"
        "    def test_total(self):\n"
        "        self.assertEqual(total([1, 2]), 3)\n\n"
        "    def test_no_prices(self):\n"
        "        self.assertEqual(total(None), 0)\n\n"
        "    def test_label(self):\n"
        '        self.assertEqual(label(3), "price: 3")\n\n'
        "    def test_the_old_name_still_works(self):\n"
        '        self.assertEqual(compat.dumps([]), "[]")\n\n'
        "    def test_that_fails_already(self):\n"
        "        self.assertEqual(total([1]), 2)\n"
    ),
}
"""`from json import dumps` in compat.py is unused there (F401), and removing it breaks a test."""

FLAGS = {"analyzers.enabled": "ruff", "analyzers.select": "E,F,B,UP"}


def written(root: Path) -> Path:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def settings(path: Path) -> Path:
    """The user's own settings: a check that starts fast."""
    path.write_text(
        f'[[checks]]\nname = "tests"\ncommand = ["{sys.executable}", "-m", "unittest"]\nkind = "unittest"\n'
    )
    return path


class Watch:
    """Keeps what went by, and may do something when it does."""

    def __init__(self, on_told=None) -> None:
        self.began_keys: list[str] = []
        self.entries = []
        self._on_told = on_told

    def handle_start(self, place, action):
        self.began_keys.append(action.key)

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run):
        self.entries.append(entry)
        if self._on_told:
            self._on_told(entry, run)


class Told(NamedTuple):
    code: int
    out: str
    err: str


def arguments_of(flags=None, **request) -> list[str]:
    """The arguments of `punchlist run` for a request, written as its fields are."""
    asked = Request(**request)
    named = {
        "base": asked.base,
        "workflow": asked.workflow,
        "story": asked.story,
        "title": asked.title,
        "note": asked.notes,
        "rounds": asked.rounds,
        "threshold": asked.threshold,
    }
    several = {
        "findings": asked.findings,
        "spec": asked.specification,
        "set": [f"{name}={value}" for name, value in (flags or {}).items()],
    }
    scopes = {ScopeKind.ALL: "--all", ScopeKind.STAGED: "--staged"}
    checks = {True: "--yes", False: "--no-checks"}
    switches = [
        *filter(None, (scopes.get(asked.kind), checks.get(asked.allow_checks))),
        *(["--force"] if asked.force else []),
    ]
    options = [
        *((name, value) for name, value in named.items() if value not in ("", None)),
        *((name, value) for name, values in several.items() for value in values),
    ]
    told = [part for name, value in options for part in (f"--{name}", str(value))]
    return [*switches, *told, *asked.paths]


class Place:
    """The repository, and the things one does with it."""

    def __init__(self, repo) -> None:
        self.repo = repo

    def do(self, work, flags=None):
        async def main():
            app = await Session.open(self.repo.root, {**FLAGS, **(flags or {})})
            with contextlib.closing(app):
                return await work(app)

        return asyncio.run(main())

    def type(self, *arguments: str, errors=None) -> Told:
        """What a user sees who types `punchlist` and these arguments, in this process."""
        out, err = [TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        with (
            contextlib.chdir(self.repo.root),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = (errors or run_command)(
                lambda: root.main(list(arguments), prog_name="punchlist", standalone_mode=False),
                arguments,
            )
        return Told(int(code), *(stream.buffer.getvalue().decode() for stream in (out, err)))

    def order(self, *arguments: str, watch=None) -> Run:
        """Type a command, let its error be raised, and return the last run as its ledger tells it."""
        self.type(*arguments, errors=lambda work, _: work())
        return self.read_last(watch)

    def read_last(self, watch=None) -> Run:
        """Return the last run as its ledger tells it, also to a watch."""
        store = SqliteStore.open(Path(os.environ["PUNCHLIST_HOME"]), readonly=True)
        with contextlib.closing(store):
            name = store.find_run("last")
            entries = list(store.read(name))
        for entry in entries if watch else ():
            watch.handle_event(entry, None)
        return fold_entries(name, entries)

    def run(self, watch=None, flags=None, **request) -> Run:
        """Type `punchlist run`; one that is watched as it goes runs without the command line."""
        request = {"kind": ScopeKind.ALL, "allow_checks": True, **request}
        if not isinstance(watch, Watch):
            typed = arguments_of({**FLAGS, **(flags or {})}, **request)
            return self.order("run", *typed, watch=watch)

        async def work(app):
            return await start_run(app, await prepare_run(app, Request(**request)), watch)

        return self.do(work, flags)

    def resume(self, watch=None) -> Run:
        if watch is None:
            return self.order("resume", "last")
        return self.do(lambda app: resume_run(app, "last", watch))

    def audit(self):
        async def work(app):
            return audit_run(app, "last")

        return self.do(work)
