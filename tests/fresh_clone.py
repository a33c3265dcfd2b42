"""A project as it is right after `git clone`: nothing that it needs is installed, and its package is in a folder of its own."""

import zipfile
from pathlib import Path

BACKEND = '''\
"""Builds the project's wheel; that of an editable install has only a link."""
import os
import zipfile

NAME = "slugs-1.0-py3-none-any.whl"
ABOUT = """Metadata-Version: 2.1
Name: slugs
Version: 1.0
Requires-Dist: text-folding
Provides-Extra: test
"""


def write_wheel(folder, name, text):
    info = "slugs-1.0.dist-info/"
    files = {name: text, info + "METADATA": ABOUT, info + "WHEEL": "Wheel-Version: 1.0\\n"}
    files[info + "RECORD"] = "".join(path + ",,\\n" for path in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(folder, NAME), "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return NAME


def build_editable(folder, *_):
    return write_wheel(folder, "slugs.pth", os.getcwd() + "/lib\\n")


def build_wheel(folder, *_):
    with open("lib/slugs.py") as file:
        return write_wheel(folder, "slugs.py", file.read())
'''
CODE = """\
import os

import text_folding


def slug(text, separator=None):
    if separator == None:
        separator = "-"
    return text_folding.fold(text).replace(" ", separator)
"""
TEST = """\
import unittest

from slugs import slug


class TestSlug(unittest.TestCase):
    def test_slug(self):
        self.assertEqual(slug("A b"), "a-b")
        self.assertEqual(slug("A b", "_"), "a_b")
"""
FILES = {
    "pyproject.toml": (
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "slugs"\nversion = "1.0"\n[project.optional-dependencies]\ntest = []\n'
    ),
    "backend.py": BACKEND,
    "lib/slugs.py": CODE,
    "tests/test_slugs.py": TEST,
}


UV = """#!/bin/sh
# Installs the project as uv does: -e is a link, everything else a copy.
site=$(echo "${4%/bin/python}"/lib/python*/site-packages)
info=slugs-1.0.dist-info
mkdir -p "$site/$info"
echo 'Name: slugs' > "$site/$info/METADATA"
echo 'def fold(text): return text.lower()' > "$site/text_folding.py"
case "$*" in
*" -e "*)
    rm -f "$site/slugs.py"
    echo "import _slugs_finder" > "$site/_slugs.pth"
    echo "PATHS = {'slugs': '$PWD/lib'}" > "$site/__editable___slugs_finder.py"
    printf '%s,,\\n' _slugs.pth __editable___slugs_finder.py "$info/RECORD" > "$site/$info/RECORD"
    linked=true;;
*)
    cp lib/slugs.py "$site/"
    linked=false;;
esac
echo "{\\"url\\": \\"file://$PWD\\", \\"dir_info\\": {\\"editable\\": $linked}}" > "$site/$info/direct_url.json"
"""


def write_installer(folder: Path) -> Path:
    """Write a `uv` that installs the project and what it needs without a registry, in no time."""
    folder.mkdir(parents=True)
    (folder / "uv").write_text(UV)
    (folder / "uv").chmod(0o755)
    return folder


def write_registry(folder: Path) -> dict[str, str]:
    """Write the package that the project needs; return the settings with which pip finds it and nothing else."""
    folder.mkdir()
    info = "text_folding-1.0.dist-info/"
    files = {
        "text_folding.py": "def fold(text):\n    return text.lower()\n",
        f"{info}METADATA": "Metadata-Version: 2.1\nName: text-folding\nVersion: 1.0\n",
        f"{info}WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}RECORD": "",
    }
    with zipfile.ZipFile(folder / "text_folding-1.0-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}
