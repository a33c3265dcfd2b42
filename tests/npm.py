"""Packages of the npm registry at the versions of a package.json, installed once: `python tests/npm.py` before the tests, else the
first test process that needs them.

They go below the folder that TEST_AGENTS names, else below the user's cache folder, by manifest. This module needs no package.
"""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from machine import ENVIRONMENT, HOME, find_program

HERE = Path(__file__).parent
MANIFESTS = (HERE / "adapters" / "agents" / "package.json", HERE / "browser" / "package.json")
_CACHE = Path(ENVIRONMENT.get("XDG_CACHE_HOME") or HOME / ".cache") / "punchlist-tests"
_ROOT = Path(ENVIRONMENT.get("TEST_AGENTS") or _CACHE)
_SECONDS = 900


@cache
def installed(manifest: Path) -> tuple[Path, str]:
    """The node_modules folder, and why it could not be filled. Test processes side by side install once."""
    folder = _ROOT / hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]
    modules = folder / "node_modules"
    if complete(manifest, modules):
        return modules, ""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trouble = "" if complete(manifest, modules) else _install(manifest, folder)
    return modules, trouble


def _install(manifest: Path, folder: Path) -> str:
    npm = find_program("npm")
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


def main() -> None:
    print(
        f"packages for the tests go to {_ROOT} (about 60 s if they are not there) ...", flush=True
    )
    with ThreadPoolExecutor() as pool:
        for modules, trouble in pool.map(installed, MANIFESTS):
            print(
                f"  {modules}: {trouble or 'complete'}", file=sys.stderr if trouble else sys.stdout
            )


if __name__ == "__main__":
    main()
