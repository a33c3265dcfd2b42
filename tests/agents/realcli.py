"""The real agents, at the versions of package.json: installed once from the npm registry, and found without their install scripts.

They go to the folder that TEST_AGENTS names, else to `.agents` at the root of the checkout. In CI they must be there;
elsewhere tests that need them are skipped, and say why.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Read now: the tests themselves run with a clean environment.
ROOT = Path(os.environ.get("TEST_AGENTS") or HERE.parents[1] / ".agents")
IN_CI = bool(os.environ.get("CI"))
_ENVIRONMENT = dict(os.environ)
_SYSTEM = platform.system().lower()
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_NATIVE = f"{_SYSTEM}-{_MACHINE}"
_SECONDS = 900

PROGRAMS = {
    "claude": (f"@anthropic-ai/claude-code-{_NATIVE}/claude",),
    "codex": (f"@openai/codex-{_NATIVE}/vendor/*/bin/codex",),
    "gemini": ("node", "@google/gemini-cli/bundle/gemini.js"),
    "qwen": ("node", "@qwen-code/qwen-code/cli-entry.js"),
    "opencode": (f"opencode-{_NATIVE}/bin/opencode",),
    "copilot": (f"@github/copilot-{_NATIVE}/copilot",),
}
"""Where each one really is. Native programs lie in optional packages, and packages cannot run scripts to link them from there."""
_NODE = (f"node-{_NATIVE}/bin/node", "node/bin/node")


def command(kind: str) -> tuple[str, ...]:
    """The command of a real agent; the test is skipped, or in CI fails, where it could not be installed."""
    modules, trouble = installed()
    if not trouble:
        found = tuple(_node(modules) if part == "node" else _found(modules, (part,)) for part in PROGRAMS[kind])
        if all(found):
            return found
        trouble = f"{kind} is not among the installed packages for {_NATIVE}"
    message = f"THE REAL {kind.upper()} IS NOT TESTED: {trouble}"
    return pytest.fail(message) if IN_CI else pytest.skip(message)


def node() -> str:
    """The Node that the agents run on."""
    return _node(installed()[0])


@cache
def installed() -> tuple[Path, str]:
    """The node_modules folder, and why it could not be filled. Test processes side by side install once."""
    modules = ROOT / "node_modules"
    if _complete(modules):
        return modules, ""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trouble = "" if _complete(modules) else _install()
    return modules, trouble


def _install() -> str:
    npm = shutil.which("npm", path=_ENVIRONMENT.get("PATH"))
    if npm is None:
        return "npm is not there to install it with"
    shutil.copyfile(HERE / "package.json", ROOT / "package.json")
    line = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
    try:
        done = subprocess.run(line, cwd=ROOT, env=_ENVIRONMENT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"npm install took longer than {_SECONDS} s"
    if done.returncode or not _complete(ROOT / "node_modules"):
        return f"npm install failed: {done.stderr.strip()[-500:]}"
    return ""


def _complete(modules: Path) -> bool:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    return all(_version(modules / name) == version for name, version in wanted.items()) and bool(_node(modules))


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text()).get("version", ""))
    except (OSError, ValueError):
        return ""


def _node(modules: Path) -> str:
    """The one that came with the agents; where there is no package of it, the machine's own."""
    packaged = _found(modules, _NODE)
    return packaged if packaged or _SYSTEM == "linux" else shutil.which("node", path=_ENVIRONMENT.get("PATH")) or ""


def _found(modules: Path, patterns: tuple[str, ...]) -> str:
    return next((str(path) for pattern in patterns for path in sorted(modules.glob(pattern))), "")
