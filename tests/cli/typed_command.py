"""The command as a user has it, typed in a real repository."""

import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import punchlist as punchlist_package
from punchlist.cli.errors import run_command
from punchlist.cli.root import root

SOURCE = str(Path(punchlist_package.__file__).parents[1])
"""Children start in other folders, where a relative path to the package leads nowhere."""

CART = """\
import os
import sys


def total(prices, discount=None):
    if discount == None:
        discount = 0
    return sum(prices) - discount


def run(command):
    return eval(command)
"""


class Told(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Punchlist:
    """The command as a user has it; `ran` is what came of its first run."""

    ran: "Told"
    analyzers = "ruff"
    """Those of a run that names no others; '' for all that it finds, which takes longer."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.env = {
            **os.environ,
            "PUNCHLIST_HOME": str(home),
            "COLUMNS": "100",
            "PYTHONPATH": SOURCE,
        }

    def __call__(self, *arguments: str, cwd: Path | None = None, **env: str) -> "Told":
        """In this process, for speed; what must be killed, or needs a terminal, is started with `start`."""
        if self.analyzers and arguments[:1] in (("run",), ("review",)):
            arguments = (
                *arguments[:1],
                "--set",
                f"analyzers.enabled={self.analyzers}",
                *arguments[1:],
            )
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.env | env)
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

    def json(self, *arguments: str) -> Any:
        done = self(*arguments, "--json")
        return json.loads(done.stdout)

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "punchlist", *arguments],
            cwd=self.folder,
            env=self.env,
            **streams,
        )
