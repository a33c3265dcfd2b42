"""Tests that behave differently alone and in company hide no culprit."""

import subprocess
import sys

import pytest
import shop

from punchlist.model.item.item import Status

STATE = {
    "pkg/__init__.py": "",
    "pkg/state.py": "ready = False\n",
    "pkg/mod.py": "import os\n\n\ndef two():\n    return 2\n",
    "tests/__init__.py": "",
    "tests/test_a.py": "import unittest\n\nfrom pkg import state\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        state.ready = True\n",
}
TEST_B = "import unittest\n\nfrom pkg import mod, state\n\n\nclass B(unittest.TestCase):\n    def test_b(self):\n"
ONLY_IN_COMPANY = "        self.assertTrue(state.ready)\n        self.assertTrue(mod.os.sep)\n"
BROKEN_ONLY_IN_COMPANY = "        if state.ready:\n            self.assertTrue(mod.os.sep)\n"


@pytest.mark.parametrize(
    "body",
    [ONLY_IN_COMPANY, BROKEN_ONLY_IN_COMPANY],
    ids=["passes only in company", "breaks only in company"],
)
def test_a_culprit_is_found_by_whole_runs_where_a_test_alone_says_something_else(
    make_repo, tmp_path, monkeypatch, body
):
    repo = make_repo("order")
    repo.commit({**STATE, "tests/test_b.py": TEST_B + body})
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    place = shop.Place(repo)
    run = place.run()
    (item,) = [item for item in run.items.values() if item.lead.rule == "F401"]
    assert item.status is Status.FILED
    assert "breaks tests.test_b.B.test_b" in [attempt.why for attempt in item.attempts]
    assert run.landing.landed == ()
    assert (
        subprocess.run(
            [sys.executable, "-m", "unittest", "-q"],
            cwd=repo.root,
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )
