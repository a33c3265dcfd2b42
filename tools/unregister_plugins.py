"""Take pytest plugins that only came with other packages out of the tests' environment.

Tests start pytest as the check of a project a hundred times, and each would load them all: two seconds instead of a fifth of one.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

USED = "hypothesis"
"""The package whose plugin the tests of punchlist need."""
_SECTION = re.compile(r"^\[pytest11\]\n(?:(?!\[).*\n?)*", re.MULTILINE)

for package in distributions():
    for file in package.files or ():
        if file.name == "entry_points.txt" and package.name != USED:
            path = Path(str(package.locate_file(file)))
            text = path.read_text()
            if _SECTION.search(text):
                fresh = path.with_suffix(".new")  # installers share files between environments
                fresh.write_text(_SECTION.sub("", text))
                fresh.replace(path)
