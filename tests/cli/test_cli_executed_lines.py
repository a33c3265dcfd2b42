"""A fix on lines that no test executes is not called checked, and an unsafe one does not land."""

import json

import needs

CODE = """\
def tested(value=None):
    print(value)
    return value == None


def untested(token):
    print(token)
    return token == None
"""
TEST = """\
import unittest

from shop import tested


class Shop(unittest.TestCase):
    def test_it(self):
        self.assertTrue(tested())
"""


def test_what_no_test_executes_is_left_to_the_user_and_the_item_shows_the_share(
    repo, make_punchlist, tmp_path
):
    command = json.dumps([needs.covered_python(), "-m", "unittest"])
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[[checks]]\nname = "tests"\ncommand = {command}\nkind = "unittest"\n')
    repo.commit({"shop.py": CODE, "tests/__init__.py": "", "tests/test_shop.py": TEST})
    punchlist = make_punchlist(repo.root)
    ruff = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=E711,T201")
    ran = punchlist("run", "--all", "--yes", *ruff, PUNCHLIST_CONFIG=str(settings))
    items = json.loads(punchlist("status", "--json").stdout)["report"]["items"]
    assert {(item["line"], item["status"]) for item in items} == {
        (2, "fixed"),
        (3, "fixed"),
        (7, "filed"),
        (8, "filed"),
    }
    shown = " ".join(punchlist("show", "last", str(items[0]["number"])).stdout.split())
    assert "tests: 1 tests as on the base, executing 1 of its 1 changed line" in shown
    assert "no test executes its changed line" in " ".join(ran.stdout.split())
