"""Wheels of packages that are installed here, for installations that fetch nothing."""

import re
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

COVERED = Path(__file__).parents[1] / ".venv-covered"
"""The environment with coverage.py that `make test` and `make refresh` make."""


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def repack(found: Distribution, folder: Path) -> None:
    """Write the wheel that an installed package came from, as far as pip looks at it."""
    about = re.findall(r"^Tag: (.*)", found.read_text("WHEEL"), re.MULTILINE)
    stem = f"{normalize(found.name).replace('-', '_')}-{found.version}"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{stem}-{about[0]}.whl", "w") as wheel:
        info = next(file.parts[0] for file in found.files if file.name == "METADATA")
        for file in found.files:
            path, name = Path(found.locate_file(file)), str(file)
            if file.name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
                continue
            if name.startswith("../"):  # programs; those that pip makes by itself are scripts
                if path.read_bytes()[:2] == b"#!":
                    continue
                name = f"{stem}.data/scripts/{path.name}"
            if path.suffix != ".pyc":
                wheel.write(path, name)
        wheel.writestr(f"{info}/RECORD", "")


def pack_coverage(folder: Path) -> None:
    """Write the wheel of coverage.py into the folder, if `make` installed it here."""
    sites = map(str, COVERED.glob("lib/python*/site-packages"))
    for found in Distribution.discover(name="coverage", path=[*sites]):
        repack(found, folder)
