"""A person at a terminal, in a repository that means no good: the real command, a state folder of its own, and what must hold after."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import punchlist
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.cli.errors import run_command
from punchlist.cli.root import root

SOURCE = str(Path(punchlist.__file__).parents[1])
RUFF = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F,E7")

needs_walls = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap",
    reason="NOT TESTED HERE: there is no working bubblewrap on this machine",
)


class Told(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def error(self) -> str:
        """The message of a refusal; a refusal without a remedy is no good one, a traceback none at all."""
        said = self.stdout + self.stderr
        assert "Traceback" not in said, said
        assert "error: " in self.stderr, said
        assert "hint: " in self.stderr, said
        return " ".join(self.stderr.split())


class Ground:
    """A repository, a state folder, and the command."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "PUNCHLIST_HOME": str(self.home),
            "COLUMNS": "200",
            "PYTHONPATH": SOURCE,
            **more,
        }

    def __call__(self, *arguments: str, cwd: Path | None = None, **env: str) -> Told:
        """In this process, for speed."""
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update({**before, **self.environment(**env)})
        out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
        try:
            with chdir(cwd or self.folder), redirect_stdout(out), redirect_stderr(err):
                code = run_command(
                    lambda: root.main(
                        list(arguments), prog_name="punchlist", standalone_mode=False
                    ),
                    arguments,
                )
        finally:
            os.environ.clear()
            os.environ.update(before)
        return Told(int(code), *(stream.buffer.getvalue().decode() for stream in (out, err)))

    def start(
        self, *arguments: str, before: tuple[str, ...] = (), **env: str
    ) -> "subprocess.Popen[str]":
        """In a process of its own; `before` stands in front of the command, to change who or where it is."""
        return subprocess.Popen(
            [*before, sys.executable, "-m", "punchlist", *arguments],
            cwd=self.folder,
            env=self.environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self, *arguments: str, before: tuple[str, ...] = (), **env: str) -> Told:
        process = self.start(*arguments, before=before, **env)
        out, err = process.communicate(timeout=300)
        return Told(process.returncode, out, err)

    def review(self, *arguments: str, **env: str) -> Told:
        """The whole loop over everything, with ruff alone and no checks: what most tests need."""
        return self("run", "--all", "--no-checks", "--json", *RUFF, *arguments, **env)

    def sound(self) -> Any:
        """What the audit of the last run says, having held: the chain, and every finding accounted for."""
        told = self("audit", "--json")
        assert told.code == 0, told.stdout + told.stderr
        return told.json

    def items(self) -> list[dict[str, Any]]:
        return self("show", "--json").json

    def judged(self) -> int:
        """How many runs have their fixes judged, as their ledgers say."""
        ledger = self.home / "ledger.sqlite3"
        if not ledger.exists():
            return 0
        try:
            with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as database:
                return int(
                    database.execute(
                        "SELECT count(DISTINCT run) FROM entries WHERE kind = 'verified'"
                    ).fetchone()[0]
                )
        except sqlite3.OperationalError:  # it is just being made
            return 0

    def ledgers(self) -> int:
        """How many runs have begun."""
        return len(self("list", "--json").json)


def untouched(folder: Path) -> str:
    """A hash of a checkout and its git folder, but for the objects and the branches that punchlist may add."""
    sums = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = os.fsencode(path.relative_to(folder))
        if inside.startswith((b".git/objects", b".git/refs/heads/punchlist")):
            continue
        sums.update(
            inside
            + (
                os.fsencode(path.readlink())
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else b"/"
            )
        )
    return sums.hexdigest()


def notes(told: Told) -> str:
    """What the run says it did not look at, and why."""
    return " ".join(f"{gap['what']} {gap['why']}" for gap in told.json["report"]["not_checked"])
