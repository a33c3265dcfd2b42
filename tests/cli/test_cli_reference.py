"""The reference pages say what the code does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_pages_are_what_the_code_says():
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, (
        f"{checked.stdout}{checked.stderr}\nrun: python tools/reference.py"
    )
