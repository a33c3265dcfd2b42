"""The files for CI services, and a small runner for the shell steps of a composite action."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "src" / "punchlist" / "app" / "ci" / "templates"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def install_shim(folder: Path) -> Path:
    """A `python` whose environments have this punchlist, so that nothing is installed."""
    shim = folder / "shim"
    shim.mkdir()
    own = f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m punchlist "$@"\n'
    lines = [
        "#!/bin/sh",
        'test "$1 $2" = "-m venv" || exit 1',
        'mkdir -p "$3/bin"',
        f"cat > \"$3/bin/punchlist\" <<'E'\n{own}E",
        r'printf "#!/bin/sh\nexit 0\n" > "$3/bin/pip"',
        'cp "$3/bin/pip" "$3/bin/python"',
        'chmod +x "$3/bin/"*',
    ]
    for name in ("python", "python3"):
        (shim / name).write_text("\n".join(lines) + "\n")
        (shim / name).chmod(0o755)
    return shim


def run_action(inputs: dict[str, str], cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    """Run the shell steps of the action as a runner does: each with its own `env`, in which inputs are values; the first that fails
    ends it. The steps that use other actions are left out; `tests/ci/test_real_tools.py` runs them all with act.
    """
    given = {name: str(each["default"]) for name, each in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in given.items()}
    values |= {"github.action_path": str(ROOT)}
    log = ""
    for step in ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        own = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], str(value))
            for name, value in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=cwd,
            env=env | own,
            capture_output=True,
            text=True,
            check=False,
        )
        log += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, log
    return 0, log


def job_environment(folder: Path, home: Path, **env: str) -> dict[str, str]:
    """The variables of a job in an otherwise bare environment; `python` is the shim."""
    return {
        "PATH": f"{install_shim(folder)}:{os.environ['PATH']}",
        "HOME": str(home),
        "PUNCHLIST_HOME": str(folder / "state"),
        "PUNCHLIST_ANALYZERS__ENABLED": "ruff",
        "PUNCHLIST_ANALYZERS__SELECT": "F",
        **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
        **env,
    }
