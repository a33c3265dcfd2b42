"""Code that runs in a process of its own, as it must to be refused by the kernel."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[3] / "src"


@pytest.fixture
def apart():
    """What the code says when it is run with the folder as its argument, no file allowed to grow beyond `largest` bytes."""

    def said(code: str, folder: Path, *, largest: int = resource.RLIM_INFINITY) -> str:
        ran = subprocess.run(
            [sys.executable, "-c", code, folder],
            check=True,
            capture_output=True,
            text=True,
            # A file that may not grow further would be a cut .pyc for all who come later.
            env={"PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
        )
        return ran.stdout

    return said
