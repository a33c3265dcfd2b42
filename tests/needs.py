"""What a test needs of the machine and may not find."""

import pytest

import npm

SOAK = bool(npm.ENVIRONMENT.get("SOAK"))
"""`make soak`: everything that `make test` only does a part of."""


def miss(message: str) -> str:
    """Skip the test, or in CI fail it, because something is not there."""
    return pytest.fail(message) if npm.ENVIRONMENT.get("CI") else pytest.skip(message)
