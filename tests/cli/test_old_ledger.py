"""A ledger that version 0.1.0 wrote, before the packages were reorganised, is read, shown, audited and resumed."""

import json
import sqlite3
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from needs import rarely
from punchlist.adapters.store import migrations
from punchlist.model.ledger.hash_chain import verify_lines

OLD = Path(__file__).parents[1] / "data" / "ledgers" / "written-by-0.1.0.jsonl"
FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": """\
import os
import json


def total(prices):
    \"\"\"The sum of all prices.\"\"\"
    return sum(prices)


def is_free(price):
    return price == None
""",
    "tests/__init__.py": "",
    "tests/test_prices.py": """\
import unittest

from shop.prices import is_free, total


class PricesTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_free(self):
        self.assertTrue(is_free(None))
""",
}
"""The project of that run. `Repo` counts dates from a fixed moment, so its commit has the same name."""


@pytest.fixture
def shop(repo, make_punchlist):
    """The command in the project of the old run, with an empty state folder."""
    assert (
        repo.commit(FILES, "a shop")
        == json.loads(OLD.read_bytes().splitlines()[0])["event"]["change"]["head"]
    )
    return make_punchlist(repo.root)


def put(home: Path, lines: list[bytes]) -> str:
    """Writes the lines into a new store, byte for byte, and returns the run's id."""
    home.mkdir(parents=True, exist_ok=True)
    first = json.loads(lines[0])
    with sqlite3.connect(home / "ledger.sqlite3") as database:
        for statement in (*migrations.STEPS[0], "PRAGMA user_version = 1"):
            database.execute(statement)
        row = (first["run"], first["event"]["repository"], first["at"])
        database.execute("INSERT INTO runs (id, repository, started_at) VALUES (?, ?, ?)", row)
        for line in lines:
            entry = json.loads(line)
            values = [entry[name] for name in ("run", "seq", "at", "place", "key")]
            row = (*values, entry["event"]["kind"], entry["hash"], line)
            database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return first["run"]


def moved(lines: list[bytes], places: dict[str, str]) -> list[bytes]:
    """The same lines with other paths, chained anew: what 0.1.0 would have written there."""
    prev, result = "", []
    for line in lines:
        text = line.decode()
        for old, new in places.items():
            text = text.replace(old, new)
        entry = json.loads(text)
        entry["prev"] = prev
        del entry["hash"]
        plain = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()
        prev = sha256(plain).hexdigest()
        result.append(plain[:-1] + b',"hash":"' + prev.encode() + b'"}')
    return result


def places(shop) -> dict[str, str]:
    return {
        "/srv/shop": str(shop.folder),
        "/srv/state": str(shop.home),
        "/opt/punchlist/bin/python3": sys.executable,
    }


def test_its_bytes_are_a_whole_chain():
    assert verify_lines(OLD.read_bytes().splitlines()) == ""


def test_it_is_read_shown_and_audited(shop):
    run = put(shop.home, moved(OLD.read_bytes().splitlines(), places(shop)))
    assert run in shop("list").stdout
    shown = json.loads(shop("show", run, "--json").stdout)
    assert [item["status"] for item in shown] == ["fixed"] * 3
    audit = shop("audit", run)
    assert audit.returncode == 0, audit.stderr


@pytest.mark.parametrize("seen", ["attempted", *rarely("started", "consolidated")])
def test_killed_under_the_old_version_it_is_resumed_by_this_one(shop, seen):
    """As after a kill: the ledger ends in the middle, before anything was committed."""
    lines = OLD.read_bytes().splitlines()
    last = next(i for i, line in enumerate(lines, 1) if json.loads(line)["event"]["kind"] == seen)
    run = put(shop.home, moved(lines, places(shop))[:last])
    resumed = shop("resume", run)
    assert resumed.returncode == 0, resumed.stderr
    shown = json.loads(shop("show", run, "--json").stdout)
    assert [item["status"] for item in shown] == ["fixed"] * 3
    assert shop("audit", run).returncode == 0
