"""Packages of the npm registry at the versions of a package.json: installed once, by whichever test process comes first.

They go below the folder that TEST_AGENTS names, else below `.agents` at the root of the checkout. In CI they must be there;
elsewhere tests that need them are skipped, and say why.
"""

import fcntl
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

# Read now: the tests themselves run with a clean environment.
ENVIRONMENT = dict(os.environ)
ROOT = Path(ENVIRONMENT.get("TEST_AGENTS") or Path(__file__).parents[1] / ".agents")
IN_CI = bool(ENVIRONMENT.get("CI"))
_SECONDS = 900


def missing(message: str) -> str:
    """What a test needs is not there: it is skipped, or in CI fails."""
    return pytest.fail(message) if IN_CI else pytest.skip(message)


@cache
def installed(manifest: Path, folder: Path) -> tuple[Path, str]:
    """The node_modules folder, and why it could not be filled. Test processes side by side install once."""
    modules = folder / "node_modules"
    if complete(manifest, modules):
        return modules, ""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trouble = "" if complete(manifest, modules) else _install(manifest, folder)
    return modules, trouble


def _install(manifest: Path, folder: Path) -> str:
    npm = shutil.which("npm", path=ENVIRONMENT.get("PATH"))
    if npm is None:
        return "npm is not there to install it with"
    shutil.copyfile(manifest, folder / "package.json")
    line = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
    try:
        done = subprocess.run(
            line,
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"npm install took longer than {_SECONDS} s"
    if done.returncode or not complete(manifest, folder / "node_modules"):
        return f"npm install failed: {done.stderr.strip()[-500:]}"
    return ""


def complete(manifest: Path, modules: Path) -> bool:
    wanted = json.loads(manifest.read_text())["dependencies"]
    return all(_version(modules / name) == version for name, version in wanted.items())


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text()).get("version", ""))
    except (OSError, ValueError):
        return ""
