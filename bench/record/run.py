"""How many tampers of a ledger does `punchlist audit` find, alone and with a commit as anchor? And how many forged commits does
`punchlist prove` agree to?
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

import forgeries
from tampers import ANCHORED, FOUND, Scene

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.anchors import find_anchors
from punchlist.app.after.audit import audit_run
from punchlist.app.session import Session
from punchlist.errors import PunchlistError

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": "import os\nimport json\n\n\ndef total(prices):\n    x = 1\n    return sum(prices)\n\n\ndef free(price):\n    return price == None\n",
    "shop/cart.py": "import re\n\n\ndef count(cart=[]):\n    try:\n        return len(cart)\n    except:\n        return 0\n",
    "tests/__init__.py": "",
    "tests/test_prices.py": "import unittest\n\nfrom shop.cart import count\nfrom shop.prices import free, total\n\n\nclass Prices(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n    def test_free(self):\n        self.assertTrue(free(None))\n\n    def test_count(self):\n        self.assertEqual(count([1]), 1)\n",
}


def make_runs(folder: Path) -> tuple[str, str]:
    """Make a repository with two runs; return the id of the first, and of the second."""
    for name, text in FILES.items():
        (folder / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "repo" / name).write_text(text)
    own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for arguments in (["init", "-q"], ["add", "-A"], [*own, "commit", "-qm", "a shop"]):
        subprocess.run(["git", *arguments], cwd=folder / "repo", check=True)
    command = [sys.executable, "-m", "punchlist", "run", "--all", "--yes", "--quiet", "--force"]
    for _ in range(2):
        subprocess.run(command, cwd=folder / "repo", check=False, stdout=subprocess.DEVNULL)
    with closing(SqliteStore.open(Path(os.environ["PUNCHLIST_HOME"]), readonly=True)) as store:
        newer, older = (row.id for row in store.runs())
    return older, newer


async def audit(repo: Path, run: str, anchor: str = "") -> bool:
    """Return whether the audit finds fault with the ledger."""
    with closing(await Session.open(repo, readonly=True)) as session:
        try:
            anchors = await find_anchors(session, [anchor] if anchor else [])
            return not audit_run(session, run, anchors).ok
        except PunchlistError:
            return True


def measure(folder: Path, count: int, seed: int) -> tuple[Counter, Counter, Counter]:
    run, other = make_runs(folder)
    kept = folder / "kept"
    shutil.copytree(Path(os.environ["PUNCHLIST_HOME"]), kept)
    anchor = f"punchlist/{run}"
    played, alone, anchored = Counter(), Counter(), Counter()
    kinds = (*FOUND, *ANCHORED)
    for number in range(count):
        shutil.rmtree(os.environ["PUNCHLIST_HOME"])
        shutil.copytree(kept, os.environ["PUNCHLIST_HOME"])
        kind = kinds[number % len(kinds)]
        home = Path(os.environ["PUNCHLIST_HOME"])
        scene = Scene(
            home, run, other, find_anchored(home, run, folder / "repo"), Random(f"{seed} {number}")
        )
        kind(scene)
        played[kind.__name__] += 1
        alone[kind.__name__] += asyncio.run(audit(folder / "repo", run))
        anchored[kind.__name__] += asyncio.run(audit(folder / "repo", run, anchor))
    return played, alone, anchored


def find_anchored(home: Path, run: str, repo: Path) -> int:
    """Return the number of the entry that the run's last commit names."""
    asked = [
        "git",
        "log",
        "-1",
        "--format=%(trailers:key=Punchlist-Ledger,valueonly)",
        f"punchlist/{run}",
    ]
    head = subprocess.run(
        asked, cwd=repo, check=True, capture_output=True, text=True
    ).stdout.strip()
    lines = Scene(home, run, "", 0, Random(0)).lines
    return next(at for at, line in enumerate(lines, 1) if json.loads(line)["hash"] == head)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forgeries", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punchlist-tampers-") as name:
        folder = Path(name)
        os.environ["PUNCHLIST_HOME"] = str(folder / "home")
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
        played, alone, anchored = measure(folder, options.count, options.seed)
        print("| tamper | tried | found by `audit` | with `--against` |\n|---|---|---|---|")
        for kind in played:
            print(
                f"| {kind.replace('_', ' ')} | {played[kind]} | {alone[kind]} | {anchored[kind]} |"
            )
        sums = [sum(each.values()) for each in (played, alone, anchored)]
        print("| **all** | {} | {} | {} |".format(*sums))
    with tempfile.TemporaryDirectory(prefix="punchlist-forgeries-") as name:
        done = forgeries.measure(Path(name), options.forgeries, options.seed)
        print("", *forgeries.render_table(done), sep="\n")


if __name__ == "__main__":
    main()
