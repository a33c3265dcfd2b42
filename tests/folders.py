"""Where tests have their folders: in memory if there is room, which saves a tenth of their time."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes that must be free in memory; all tests together leave about 1.5 GB."""


def use_memory(config: pytest.Config) -> Path | None:
    """Put the folders of this session into memory; return the folder to remove, if there is one."""
    if config.option.basetemp is not None or not os.access(MEMORY, os.W_OK):
        return None
    if shutil.disk_usage(MEMORY).free < ROOM:
        return None
    made = Path(tempfile.mkdtemp(prefix="punchlist-tests-", dir=MEMORY))
    config.option.basetemp = made / "folders"
    return made


@pytest.fixture(scope="session")
def tmp_path_factory(request: pytest.FixtureRequest) -> Iterator[pytest.TempPathFactory]:
    """Folders on the disk, for tests that import this: sandboxes hide /dev."""
    with tempfile.TemporaryDirectory(prefix="punchlist-tests-") as name:
        trace = request.config.trace.get("tmpdir")
        yield pytest.TempPathFactory(None, 3, "all", trace, Path(name), _ispytest=True)
