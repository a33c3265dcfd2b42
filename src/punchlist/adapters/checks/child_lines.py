"""Run a Python command under coverage.py, in the project's own Python, and write which lines of
which files ran beside this file.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_INSTALLED = 70
SETTINGS = "[run]\nparallel = true\ndata_file = {}\n"


def switch_off_others(words: list[str]) -> list[str]:
    """Return the command with pytest-cov off: while it measures, no other coverage can."""
    alone = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or "--disable-plugin-autoload" in words
    if words[:2] != ["-m", "pytest"] or alone or find_spec("pytest_cov") is None:
        return words
    return [*words[:2], "--no-cov", *words[2:]]


def main() -> int:
    try:
        coverage = import_module("coverage")
    except ImportError:
        return NOT_INSTALLED
    settings = HERE / "coverage.ini"
    settings.write_text(SETTINGS.format(HERE / "lines"), encoding="utf-8")
    words = switch_off_others(sys.argv[1:])
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *words]
    started = {**os.environ, "COVERAGE_PROCESS_START": str(settings)}
    done = subprocess.run(command, env=started, check=False)  # noqa: S603  # the check's own
    measured = coverage.Coverage(config_file=str(settings))
    measured.combine([str(HERE)])
    seen = measured.get_data()
    here = str(Path.cwd()) + os.sep
    lines = {
        file.removeprefix(here): sorted(seen.lines(file) or ())
        for file in seen.measured_files()
        if file.startswith(here)
    }
    (HERE / "lines.json").write_text(json.dumps(lines), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
