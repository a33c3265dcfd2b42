"""The real agents, at the versions of package.json: installed from the npm registry, and found without their install scripts."""

import platform
from pathlib import Path

import machine
import needs
import npm

HERE = Path(__file__).parent
_SYSTEM = platform.system().lower()
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_NATIVE = f"{_SYSTEM}-{_MACHINE}"

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
    if not trouble and kind not in ("claude", "codex"):
        modules, trouble = npm.installed(HERE / "others" / "package.json")
    if not trouble:
        found = tuple(
            node() if part == "node" else _found(modules, (part,)) for part in PROGRAMS[kind]
        )
        if all(found):
            return found
        trouble = f"{kind} is not among the installed packages for {_NATIVE}"
    return (needs.miss(f"THE REAL {kind.upper()} IS NOT TESTED: {trouble}"),)


def node() -> str:
    """The Node that the agents run on."""
    return _node(installed()[0])


def installed() -> tuple[Path, str]:
    """The node_modules folder, and why it could not be filled."""
    modules, trouble = npm.installed(HERE / "package.json")
    return modules, trouble or (
        "" if _node(modules) else f"no Node is among the installed packages for {_NATIVE}"
    )


def _node(modules: Path) -> str:
    """The one that came with the agents; where there is no package of it, the machine's own."""
    packaged = _found(modules, _NODE)
    return packaged if packaged or _SYSTEM == "linux" else machine.find_program("node") or ""


def _found(modules: Path, patterns: tuple[str, ...]) -> str:
    return next((str(path) for pattern in patterns for path in sorted(modules.glob(pattern))), "")
