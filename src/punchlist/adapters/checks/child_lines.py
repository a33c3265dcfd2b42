"""Run a Python command under coverage.py, in the project's own Python, and write beside this file
which lines of which files ran, and which lines of the files in sources.json can be executed.
"""

import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
NOT_INSTALLED = 70
SETTINGS = "[run]\nparallel = true\ndata_file = {}\n"


def switch_off_others(words: list[str]) -> list[str]:
    """Return the command with pytest-cov off: while it measures, no other coverage can."""
    alone = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or "--disable-plugin-autoload" in words
    if words[:2] != ["-m", "pytest"] or alone or find_spec("pytest_cov") is None:
        return words
    return [*words[:2], "--no-cov", *words[2:]]


def list_statements(coverage: ModuleType, paths: list[str]) -> dict[str, list[int]]:
    """Return the lines that can be executed, by file, with what the project's own settings for
    coverage.py leave out; a file that cannot be parsed has one line, which never runs.
    """
    try:
        known = coverage.Coverage(data_file=None, config_file=True)
    except coverage.CoverageException:
        known = coverage.Coverage(data_file=None, config_file=False)
    omitted = [*(known.get_option("run:omit") or ()), *(known.get_option("report:omit") or ())]
    found = {}
    for path in paths:
        if any(
            fnmatch(name, each) for each in omitted for name in (path, str(Path(path).absolute()))
        ):
            continue
        try:
            found[path] = sorted(known.analysis2(path)[1])
        except coverage.CoverageException:
            found[path] = [0]
    return found


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
    paths = json.loads((HERE / "sources.json").read_text(encoding="utf-8"))
    statements = list_statements(coverage, paths) if paths else {}
    (HERE / "statements.json").write_text(json.dumps(statements), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
