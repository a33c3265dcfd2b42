"""An unsafe fix in a test lands nowhere by itself, and the summary says why."""

import json
import sys

CODE = "def one(value=None):\n    return value or 1\n"
TEST = """\
import os
import unittest

import a


class One(unittest.TestCase):
    def test_one(self):
        self.assertTrue((a.one() == None) is False)
"""


def test_an_unsafe_fix_in_a_test_file_is_left_to_the_user_and_a_safe_one_lands_flagged(
    repo, make_punchlist, tmp_path
):
    command = json.dumps([sys.executable, "-m", "unittest"])
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[[checks]]\nname = "tests"\ncommand = {command}\nkind = "unittest"\n')
    repo.commit({"a.py": CODE, "tests/__init__.py": "", "tests/test_a.py": TEST})
    punchlist = make_punchlist(repo.root)
    ruff = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F,E7")
    ran = punchlist("run", "--all", "--yes", *ruff, PUNCHLIST_CONFIG=str(settings))
    report = json.loads(punchlist("status", "--json").stdout)["report"]
    assert {
        item["findings"][0]["rule"]: (item["status"], bool(item["flags"]))
        for item in report["items"]
    } == {"F401": ("fixed", True), "E711": ("filed", False)}
    said = " ".join(ran.stdout.split())
    assert "unsafe fix, not applied: " in said
    assert "it changes tests or CI configuration, which no check judges" in said
