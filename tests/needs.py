"""What a test needs of the machine and may not find."""

from pathlib import Path

import pytest

from machine import ENVIRONMENT

SOAK = bool(ENVIRONMENT.get("SOAK"))
"""`make soak`: everything that `make test` only does a part of."""


collected: set[str] = set()
"""The tests of `make test`, if all of them are being run."""


def miss(message: str) -> str:
    """Skip the test, or in CI fail it, because something is not there."""
    return pytest.fail(message) if ENVIRONMENT.get("CI") else pytest.skip(message)


def rarely(*parameters: object) -> list[object]:
    """Parameters that `make test` leaves to `make soak`: they tell the same story as those beside them."""
    return [
        pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.soak)
        for each in parameters
    ]


def covered_python() -> str:
    """A Python that has coverage.py, which `make test` installs."""
    found = Path(__file__).parents[1] / ".venv-covered" / "bin" / "python"
    return str(found) if found.exists() else miss("NOT TESTED: there is no Python with coverage.py")
