"""Tests that run side by side are told as if they had run one after the other, and none is forgotten."""

import subprocess
import sys
from pathlib import Path

CONFTEST = "from processes import pytest_addoption, pytest_runtestloop\n"
TESTS = """
import os
import pytest

def test_good(tmp_path): pass
def test_bad(): print("what it printed"); assert 0, "bad"
def test_skipped(): pytest.skip("no reason")
"""


def run(folder: Path, **files: str) -> str:
    for name, text in {"conftest": CONFTEST, **files}.items():
        (folder / f"{name}.py").write_text(text)
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--processes",
        "2",
        str(folder),
    ]
    env = {
        "PYTHONPATH": str(Path(__file__).parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_DEBUG_TEMPROOT": str(folder),  # it would delete what older test runs have left
    }
    ran = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    return ran.stdout


def test_every_outcome_is_shown_with_its_output(tmp_path):
    told = run(tmp_path, test_a=TESTS, test_b=TESTS)
    assert "2 failed, 2 passed, 2 skipped" in told
    assert told.count("what it printed") == 2 + 2  # the line of code, and its output


def test_a_test_whose_process_dies_has_failed_and_so_has_what_comes_after_it(tmp_path):
    dies = (
        "import os\ndef test_first(): pass\ndef test_dies(): os._exit(0)\ndef test_after(): pass\n"
    )
    told = run(tmp_path, test_a=dies)
    assert "2 failed, 1 passed" in told
    assert "no report came" in told
