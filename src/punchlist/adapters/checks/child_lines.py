"""Run a Python command under coverage.py, in the project's own Python, and write which lines of
which files ran beside this file.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_INSTALLED = 70
SETTINGS = "[run]\nparallel = true\ndata_file = {}\n"


def main() -> int:
    try:
        coverage = import_module("coverage")
    except ImportError:
        return NOT_INSTALLED
    settings = HERE / "coverage.ini"
    settings.write_text(SETTINGS.format(HERE / "lines"), encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *sys.argv[1:]]
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
